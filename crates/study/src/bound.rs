//! Best possible results ([`duetime_analysis::bound`]) of all runs of a scenario, and of the points of a plan.

mod rows;

pub use rows::BestRow;

use duetime_analysis::bound::{BestPossible, RunBound, same_demand};
use duetime_scenario::Scenario;
use duetime_sim::topology::Network;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::StudyError;
use crate::plan::Plan;
use crate::pool::each;

/// Name of the best possible result in the place of a transport.
pub const NO_TRANSPORT: &str = "no transport can do better";
/// Name of the online schedule in the place of a transport.
pub const ONLINE: &str = "online EDF of the receivers' links";
/// Name of the online schedule of all links in tables.
pub const NETWORK: &str = "online EDF of all links";

/// Computes the best possible results at the given points of a plan, with one run per core at a time. Points whose
/// differences do not affect the bound share one computation.
pub fn of_points(
    plan: &Plan,
    points: impl Iterator<Item = usize>,
) -> Result<Vec<(usize, BestPossible)>, StudyError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let scenario = |point: usize| &plan.points[point].scenario;
    let mut found: Vec<(usize, BestPossible)> = Vec::new();
    for point in points {
        let known = found
            .iter()
            .find(|(other, _)| same_demand(scenario(*other), scenario(point)));
        let best = match known {
            Some((_, best)) => best.clone(),
            None => of_scenario(scenario(point), cores)?,
        };
        found.push((point, best));
    }
    Ok(found)
}

/// Computes the best possible results of a scenario over all its runs, with up to `jobs` runs at a time.
pub fn of_scenario(scenario: &Scenario, jobs: usize) -> Result<BestPossible, StudyError> {
    let never = AtomicBool::new(false);
    let runs = runs(scenario, jobs, &never)?.unwrap_or_default();
    Ok(BestPossible::over(&runs))
}

/// Computes the bound of each run, in order, with up to `jobs` at a time. Returns `None` if `cancel` was set before all
/// were started.
pub(crate) fn runs(
    scenario: &Scenario,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Option<Vec<RunBound>>, StudyError> {
    let network = Network::build(&scenario.topology)?;
    let stop = || cancel.load(Ordering::Relaxed);
    let run = |run| RunBound::of(scenario, run as u64, &network);
    let runs = each(scenario.seeds as usize, jobs, stop, run, |_| {});
    let all: Option<Vec<_>> = runs.into_iter().collect();
    Ok(all.map(|runs| runs.into_iter().collect()).transpose()?)
}
