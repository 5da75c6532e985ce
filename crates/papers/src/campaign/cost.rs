//! Estimate of the remaining time of a campaign. Run times differ by a factor of thousands between experiments and of
//! tens along an axis, so runs are weighted by their offered bytes and the pace measured so far.

use std::collections::{BTreeMap, BTreeSet};

use duetime_analysis::describe;
use duetime_scenario::Scenario;
use duetime_study::{ActiveRun, Estimator};

/// Finished and remaining work, in offered bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    spent_s: f64,
    finished: f64,
    left: f64,
}

/// Runs that are stored together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Experiment and scheme, within which runs have similar pace.
    pub kind: (usize, usize),
    /// Work of one run, in offered bytes.
    pub work: f64,
    /// Number of runs.
    pub runs: usize,
}

/// Time spent and work left by experiment and scheme.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    tasks: &'a BTreeMap<usize, Task>,
    tallies: BTreeMap<(usize, usize), Tally>,
}

impl<'a> Costs<'a> {
    /// Creates costs of tasks of which none is expected yet.
    pub fn new(tasks: &'a BTreeMap<usize, Task>) -> Self {
        let tallies = BTreeMap::new();
        Self { tasks, tallies }
    }
}

/// Returns the order in which to start the tasks `wanted`. The estimate of the remaining time needs one of each kind, so
/// these start first, by increasing work. The others start by decreasing work, so that all cores end at about the same
/// time.
pub(super) fn order(wanted: &[usize], tasks: &BTreeMap<usize, Task>) -> Vec<usize> {
    let mut kinds: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for &task in wanted {
        kinds.entry(tasks[&task].kind).or_default().push(task);
    }
    let work = |task: &usize| tasks[task].work * tasks[task].runs as f64;
    let by_work = |a: &usize, b: &usize| work(a).total_cmp(&work(b)).then(a.cmp(b));
    // The middle task of a kind is neither the fastest nor the slowest.
    let mut order: Vec<usize> = kinds.values().map(|kind| kind[kind.len() / 2]).collect();
    order.sort_by(by_work);
    let first: BTreeSet<usize> = order.iter().copied().collect();
    let mut others: Vec<usize> = wanted.to_vec();
    others.retain(|task| !first.contains(task));
    others.sort_by(|a, b| by_work(b, a));
    order.extend(others);
    order
}

impl Estimator for Costs<'_> {
    fn expect(&mut self, tasks: &[usize]) {
        for task in tasks {
            let Task { kind, work, runs } = self.tasks[task];
            self.tallies.entry(kind).or_default().left += work * runs as f64;
        }
    }

    fn ended(&mut self, task: usize, wall_s: f64, _packet_hops: u64) {
        let Task { kind, work, .. } = self.tasks[&task];
        let tally = self.tallies.entry(kind).or_default();
        tally.spent_s += wall_s;
        tally.finished += work;
        tally.left = (tally.left - work).max(0.0);
    }

    fn left_s(&mut self, _: f64, _: &[ActiveRun], _: &[usize], workers: usize) -> Option<f64> {
        left_s(&self.tallies).map(|seconds| seconds / workers as f64)
    }
}

/// Returns the remaining time on one core, in seconds. Unmeasured schemes get the pace of their experiment, unmeasured
/// experiments that of all others; returns `None` while the latter are most of the work.
fn left_s(tallies: &BTreeMap<(usize, usize), Tally>) -> Option<f64> {
    let pace = |selected: &dyn Fn(usize, usize) -> bool| {
        let tallies = tallies.iter().filter(|((a, b), _)| selected(*a, *b));
        let (spent_s, finished) = tallies.fold((0.0, 0.0), |(spent_s, finished), (_, tally)| {
            (spent_s + tally.spent_s, finished + tally.finished)
        });
        (finished > 0.0).then(|| spent_s / finished)
    };
    let all = pace(&|_, _| true)?;
    let (mut seconds, mut work, mut guessed) = (0.0, 0.0, 0.0);
    for (&(experiment, scheme), tally) in tallies {
        let measured =
            pace(&|a, b| (a, b) == (experiment, scheme)).or_else(|| pace(&|a, _| a == experiment));
        seconds += tally.left * measured.unwrap_or(all);
        work += tally.left;
        if measured.is_none() {
            guessed += tally.left;
        }
    }
    (guessed <= work / 2.0).then_some(seconds)
}

/// Returns the bytes that a run is expected to carry. Endless flows count as one full access link.
pub(super) fn work(scenario: &Scenario) -> f64 {
    let duration_s = scenario.duration.as_secs_f64();
    let offered_bps = describe(scenario).map_or(0.0, |described| {
        let access_bps = described
            .topology
            .rates
            .iter()
            .filter(|rate| rate.host_links > 0)
            .map(|rate| rate.rate_bps as f64)
            .fold(0.0, f64::max);
        let offered = described
            .workloads
            .iter()
            .map(|workload| workload.offered_bps);
        offered.map(|bps| bps.unwrap_or(access_bps)).sum()
    });
    (offered_bps * duration_s / 8.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(spent_s: f64, finished: f64, left: f64) -> Tally {
        Tally {
            spent_s,
            finished,
            left,
        }
    }

    #[test]
    fn schemes_have_separate_paces() {
        // 1,000 cheap runs and 10 of a hundred times the cost; one of each is finished.
        let tallies = BTreeMap::from([
            ((0, 0), tally(0.01, 1.0, 999.0)),
            ((1, 0), tally(1.0, 1.0, 9.0)),
        ]);
        let left = left_s(&tallies).expect("measured");
        assert!((left - (9.99 + 9.0)).abs() < 1e-9, "{left}");
    }

    #[test]
    fn unmeasured_scheme_uses_nearest_pace() {
        let tallies = BTreeMap::from([
            ((0, 0), tally(2.0, 1.0, 0.0)),
            ((1, 0), tally(4.0, 1.0, 0.0)),
            // The pace of its experiment is 4 s per unit, the pace of all 3 s.
            ((1, 1), tally(0.0, 0.0, 10.0)),
            ((2, 0), tally(0.0, 0.0, 5.0)),
        ]);
        assert_eq!(left_s(&tallies), Some(40.0 + 15.0));
    }

    #[test]
    fn no_estimate_while_mostly_unmeasured() {
        let mut tallies = BTreeMap::from([((0, 0), tally(0.0, 0.0, 5.0))]);
        assert_eq!(left_s(&tallies), None);
        tallies.insert((0, 0), tally(1.0, 1.0, 4.0));
        tallies.insert((1, 0), tally(0.0, 0.0, 5.0));
        assert_eq!(left_s(&tallies), None);
        tallies.insert((1, 0), tally(2.0, 1.0, 4.0));
        assert_eq!(left_s(&tallies), Some(4.0 + 8.0));
    }

    #[test]
    fn work_grows_with_senders_and_repeats() {
        let scenario = |senders: u32, repeat: u32| {
            let text = format!(
                "transport = \"tcp\"\n\
                 topology = {{ kind = \"star\", hosts = 41, link = {{ rate = \"1 Gbps\", latency = \"20 us\" }} }}\n\
                 [[workload]]\nkind = \"burst\"\nsenders = {senders}\nsize = \"20 KB\"\nrepeat = {repeat}\nevery = \"5 ms\"\n"
            );
            let files = duetime_store::Files::relative_to(std::path::Path::new("scenario.toml"));
            let scenario = duetime_scenario::load(&text, "scenario.toml", &[], &files);
            work(&scenario.unwrap_or_else(|error| panic!("{error}")))
        };
        let one = scenario(5, 10);
        for (more, times) in [(scenario(40, 10), 8.0), (scenario(5, 100), 10.0)] {
            let ratio = more / one;
            assert!(
                (ratio / times - 1.0).abs() < 0.05,
                "{ratio} instead of {times}"
            );
        }
    }
}
