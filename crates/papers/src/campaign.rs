//! Runs the missing points of a campaign on several cores. Each batch of seeds of a point is one file, so a killed
//! campaign resumes where it stopped and writes the same bytes as an uninterrupted one.

mod cost;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use duetime_results::RunRecords;
use duetime_scenario::Scenario;
use duetime_sim::Options;
use duetime_sim::topology::Network;
use duetime_store::{Journal, StoreError};
use duetime_study::{
    End, Engine, Execution, Found, Listener, Made, Outcome, Resume, RunName, StudyError, Work,
    describe_checked, resume, warnings,
};
use serde::{Deserialize, Serialize};

use super::expand::{self, Point};
use super::experiment::Experiment;
use super::ideal;
use super::results::Results;
use super::sums::Sums;
use cost::Costs;

/// Maximum number of seeds per file.
const MAX_SEEDS: u32 = 20;

/// Selected experiments, expanded to points.
#[derive(Debug)]
pub struct Campaign {
    /// All experiments of the library.
    pub experiments: Vec<Experiment>,
    /// Indices of the selected experiments.
    pub chosen: Vec<usize>,
    /// True for a quick campaign: fewer repetitions and points.
    pub quick: bool,
    /// Points of the selected experiments and of those that their checks read.
    points: Vec<Point>,
}

/// Stored result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// Sums of the simulation, or `None` if nothing was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Sums>,
    /// Sums of the ideal schedulers on the same flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ideal: Vec<Sums>,
}

/// Consecutive seeds of one point, stored in one file.
#[derive(Clone, Copy, Debug)]
struct Batch {
    point: usize,
    from: u32,
    to: u32,
}

impl Campaign {
    /// Expands the selected experiments and those that their checks read.
    pub fn new(
        experiments: Vec<Experiment>,
        chosen: Vec<usize>,
        quick: bool,
    ) -> Result<Self, StudyError> {
        let mut needed: BTreeSet<usize> = chosen.iter().copied().collect();
        for &index in &chosen {
            let experiment = &experiments[index];
            let find = |name: &str| experiment.sibling(name, &experiments);
            needed.extend(experiment.others().into_iter().filter_map(find));
        }
        let mut points = Vec::new();
        for index in needed {
            points.extend(expand::points(index, &experiments[index], quick)?);
        }
        Ok(Self {
            experiments,
            chosen,
            quick,
            points,
        })
    }

    /// Returns the number of runs; runs that several points share count once.
    pub fn runs(&self) -> usize {
        self.batches().iter().map(Batch::runs).sum()
    }

    /// Returns the number of runs of one experiment, including runs shared with others.
    pub fn own_runs(&self, experiment: usize) -> usize {
        self.points
            .iter()
            .filter(|point| point.experiment == experiment)
            .map(|point| point.seeds as usize)
            .sum()
    }

    /// Returns the batches, without duplicates of those that several points share.
    fn batches(&self) -> Vec<Batch> {
        let mut seen = BTreeSet::new();
        let mut batches = Vec::new();
        for (index, point) in self.points.iter().enumerate() {
            for (from, to) in point.cuts() {
                if seen.insert((point.digest.as_str(), from, to)) {
                    batches.push(Batch {
                        point: index,
                        from,
                        to,
                    });
                }
            }
        }
        batches
    }

    /// Returns the displayed name of a run.
    fn describe(&self, point: &Point, run: u32) -> RunName {
        let experiment = &self.experiments[point.experiment];
        let parts = [
            experiment.id(),
            experiment.panels[point.panel].name.clone(),
            experiment.axis.values[point.value].clone(),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        RunName {
            point: parts.join(" "),
            transport: experiment.schemes[point.scheme].name.clone(),
            run,
        }
    }
}

impl Batch {
    fn runs(&self) -> usize {
        (self.to - self.from) as usize
    }
}

impl Point {
    /// Returns the seed ranges of the point's files. One ends with the seeds of a quick campaign, so that a full
    /// campaign reuses them.
    fn cuts(&self) -> Vec<(u32, u32)> {
        let step = self.quick_seeds.clamp(1, MAX_SEEDS);
        let mut ends: BTreeSet<u32> = (step..self.seeds).step_by(step as usize).collect();
        ends.insert(self.quick_seeds.min(self.seeds));
        ends.insert(self.seeds);
        let mut from = 0;
        ends.into_iter()
            .map(|to| (std::mem::replace(&mut from, to), to))
            .collect()
    }

    fn file(&self, (from, to): (u32, u32)) -> String {
        format!("{}/{}/{from}-{to}.json", &self.digest[..2], self.digest)
    }
}

/// Runs the batches that are missing in the folder `path`. Returns all results of the campaign, including stored ones,
/// and the outcome of the new runs.
pub fn run_campaign<'a>(
    campaign: &'a Campaign,
    path: &Path,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<(Results<'a>, Outcome), StudyError> {
    let journal = Journal::open(&path.join("points"))?;
    let batches = Batches {
        campaign,
        all: campaign.batches(),
        journal: &journal,
        engine,
    };
    let tasks = 0..batches.all.len();
    let found = tasks.map(|task| batches.found(task));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let is_missing = |batch: &Found<_>| !matches!(batch, Found::Kept(_));
    let missing = found.iter().filter(|batch| is_missing(batch)).count();
    let mut works = BTreeMap::new();
    let mut points = BTreeMap::new();
    let mut costs = Costs::default();
    for (task, batch) in batches.all.iter().enumerate() {
        if is_missing(&found[task]) {
            let point = batches.point(task);
            points.entry(batch.point).or_insert_with(|| {
                let name = campaign.describe(point, batch.from);
                (
                    format!("{} {}", name.point, name.transport),
                    &point.scenario,
                )
            });
            let work = works.entry(batch.point);
            let work = *work.or_insert_with(|| cost::work(&point.scenario));
            costs.expect(task, (point.experiment, point.scheme), work, batch.runs());
        }
    }
    let described = describe_checked(
        points.into_values(),
        execution.jobs.clamp(1, missing.max(1)),
    )?;
    let request = Resume {
        name: "papers",
        folder: path,
        execution,
        listener,
        warnings: warnings::of_points(&described),
        effort: None,
    };
    let order = |missing| probes_first(missing, &batches);
    let (ends, mut outcome) = resume(request, &batches, found, order, &mut costs);
    let mut done = HashMap::new();
    for (task, end) in ends.into_iter().enumerate() {
        if let End::Kept(kept) = end {
            done.insert(batches.file(task), kept);
        }
    }
    outcome
        .failures
        .sort_by_cached_key(|(name, _)| name.to_string());
    Ok((results(campaign, done), outcome))
}

/// The batches of a campaign and their journal. A task is the index of a batch.
struct Batches<'a> {
    campaign: &'a Campaign,
    all: Vec<Batch>,
    journal: &'a Journal,
    engine: &'a dyn Engine,
}

impl Batches<'_> {
    fn point(&self, task: usize) -> &Point {
        &self.campaign.points[self.all[task].point]
    }

    fn file(&self, task: usize) -> String {
        let batch = self.all[task];
        self.point(task).file((batch.from, batch.to))
    }

    /// Looks up a batch in the journal.
    fn found(&self, task: usize) -> Result<Found<Vec<Kept>>, StoreError> {
        let file = self.file(task);
        match self.journal.read::<Vec<Kept>>(&file) {
            Ok(Some(kept)) if kept.len() == self.all[task].runs() => Ok(Found::Kept(kept)),
            Ok(Some(_)) => Ok(Found::Damaged(format!(
                "`{}` has the wrong number of runs",
                self.journal.file(&file).display()
            ))),
            Ok(None) => Ok(Found::Missing),
            Err(error @ StoreError::Damaged { .. }) => Ok(Found::Damaged(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

impl Work for Batches<'_> {
    type Made = Kept;
    type Kept = Vec<Kept>;

    fn runs(&self, task: usize) -> Range<u32> {
        self.all[task].from..self.all[task].to
    }

    fn name(&self, task: usize, run: u32) -> RunName {
        self.campaign.describe(self.point(task), run)
    }

    fn scenario(&self, task: usize) -> &Scenario {
        &self.point(task).scenario
    }

    fn make(&self, task: usize, run: u32, options: &Options) -> Result<Option<Made<Kept>>, String> {
        let point = self.point(task);
        let (scenario, number) = (&point.scenario, u64::from(run));
        let network = || Network::build(&scenario.topology).map_err(|error| error.to_string());
        let ideals = |records: &RunRecords| -> Result<Vec<Sums>, String> {
            if point.ideals.is_empty() {
                return Ok(Vec::new());
            }
            let ideals = point.ideals.iter().map(|&(ideal, _)| ideal);
            ideal::all(ideals, scenario, number, records, &network()?, point.keep)
                .map_err(|error| error.to_string())
        };
        if !point.simulated {
            let offered = ideal::offered(scenario, number, &network()?);
            let ideal = ideals(&offered.map_err(|error| error.to_string())?)?;
            return Ok(Some(Made {
                what: Kept { own: None, ideal },
                simulated_s: 0.0,
                packet_hops: 0,
            }));
        }
        let Some(made) = Made::of(self.engine.run(scenario, 0, number, options)?) else {
            return Ok(None);
        };
        let ideal = ideals(&made.what.records)?;
        Ok(Some(made.map(|output| Kept {
            own: Some(Sums::of(scenario, number, &output.records, point.keep)),
            ideal,
        })))
    }

    fn keep(&self, task: usize, runs: Vec<Kept>, _wall_s: f64) -> Result<Vec<Kept>, StudyError> {
        self.journal.write(&self.file(task), &runs)?;
        Ok(runs)
    }

    fn place(&self, task: usize) -> String {
        self.journal.file(&self.file(task)).display().to_string()
    }
}

/// Orders tasks so that one batch of each scheme of each experiment runs first, smallest first: the estimate of the
/// remaining time needs one measurement of each.
fn probes_first(missing: Vec<usize>, batches: &Batches<'_>) -> Vec<usize> {
    let mut seen: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for &task in &missing {
        let point = batches.point(task);
        let kind = (point.experiment, point.scheme);
        seen.entry(kind).or_default().push(task);
    }
    // The middle batch of each kind is neither the fastest nor the slowest.
    let middle = seen.values().map(|tasks| tasks[tasks.len() / 2]);
    let mut probes: Vec<(f64, usize)> = middle
        .map(|task| {
            let runs = batches.all[task].runs() as f64;
            (cost::work(&batches.point(task).scenario) * runs, task)
        })
        .collect();
    probes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let probes: Vec<usize> = probes.into_iter().map(|(_, task)| task).collect();
    let chosen: BTreeSet<usize> = probes.iter().copied().collect();
    let rest = missing.into_iter().filter(|task| !chosen.contains(task));
    probes.iter().copied().chain(rest).collect()
}

/// Groups the stored runs by experiment, panel, scheme and axis value.
fn results(campaign: &Campaign, mut done: HashMap<String, Vec<Kept>>) -> Results<'_> {
    /// Results of one seed: of the simulation and of the ideal schedulers.
    type Shared = (Option<Arc<Sums>>, Vec<Arc<Sums>>);
    let mut shared: HashMap<String, Vec<Shared>> = HashMap::new();
    let mut results = Results::new(campaign);
    for point in &campaign.points {
        for cut in point.cuts() {
            let file = point.file(cut);
            if let Some(kept) = done.remove(&file) {
                let share = |kept: Kept| {
                    let ideal = kept.ideal.into_iter().map(Arc::new).collect();
                    (kept.own.map(Arc::new), ideal)
                };
                shared.insert(file.clone(), kept.into_iter().map(share).collect());
            }
            // Seeds are paired by position, so stop at the first missing batch.
            let Some(runs) = shared.get(&file) else {
                break;
            };
            for (own, ideal) in runs {
                let place = (point.experiment, point.panel, point.value);
                if let Some(own) = own {
                    results.add(place, point.scheme, Arc::clone(own));
                }
                for ((_, scheme), sums) in point.ideals.iter().zip(ideal) {
                    results.add(place, *scheme, Arc::clone(sums));
                }
            }
        }
        results.set_workloads(point.experiment, &point.scenario);
    }
    results
}
