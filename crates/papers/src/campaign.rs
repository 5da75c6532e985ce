//! Runs what is missing of a campaign, on several cores. A batch of seeds of one point is one file, so that a campaign
//! that was killed takes up where it was and leaves the same bytes as one that was not.

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
    before_runs, resume, warnings,
};
use serde::{Deserialize, Serialize};

use super::expand::{self, Point};
use super::experiment::Experiment;
use super::ideal;
use super::results::Results;
use super::sums::Sums;
use cost::Costs;

/// Most seeds of one file.
const MOST_SEEDS: u32 = 20;

/// Some experiments, expanded.
#[derive(Debug)]
pub struct Campaign {
    /// All experiments of the library.
    pub experiments: Vec<Experiment>,
    /// Those asked for, by index.
    pub chosen: Vec<usize>,
    /// Fewer repetitions and points.
    pub quick: bool,
    /// The points of those asked for, and of those that their checks read.
    points: Vec<Point>,
}

/// What is kept of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// The simulated run; none where nothing was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Sums>,
    /// The ideal schedulers on its flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ideal: Vec<Sums>,
}

/// Some seeds of one point: one file.
#[derive(Clone, Copy, Debug)]
struct Batch {
    point: usize,
    from: u32,
    to: u32,
}

impl Campaign {
    /// Expands the experiments asked for, and those that their checks read.
    pub fn new(
        experiments: Vec<Experiment>,
        chosen: Vec<usize>,
        quick: bool,
    ) -> Result<Self, StudyError> {
        let mut needed: BTreeSet<usize> = chosen.iter().copied().collect();
        for &index in &chosen {
            let of = &experiments[index];
            let find = |name: &str| of.beside(name, &experiments);
            needed.extend(of.others().into_iter().filter_map(find));
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

    /// How many runs it has; those that several points share count once.
    pub fn runs(&self) -> usize {
        self.batches().iter().map(Batch::runs).sum()
    }

    /// How many runs one experiment has of its own, those shared with others included.
    pub fn own_runs(&self, experiment: usize) -> usize {
        let own = |point: &&Point| point.experiment == experiment;
        self.points
            .iter()
            .filter(own)
            .map(|point| point.seeds as usize)
            .sum()
    }

    /// The files, each once however many points share it.
    fn batches(&self) -> Vec<Batch> {
        let mut seen = BTreeSet::new();
        let mut batches = Vec::new();
        for (point, of) in self.points.iter().enumerate() {
            for (from, to) in of.cuts() {
                if seen.insert((of.digest.as_str(), from, to)) {
                    batches.push(Batch { point, from, to });
                }
            }
        }
        batches
    }

    /// A point in words.
    fn describe(&self, point: &Point, run: u32) -> RunName {
        let of = &self.experiments[point.experiment];
        let words = [
            of.id(),
            of.panels[point.panel].name.clone(),
            of.axis.values[point.value].clone(),
        ];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        RunName {
            point: words.join(" "),
            transport: of.schemes[point.scheme].name.clone(),
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
    /// Where its seeds are cut into files: after those of a quick campaign, so that a full one takes them over, and
    /// after every so many.
    fn cuts(&self) -> Vec<(u32, u32)> {
        let step = self.quick_seeds.clamp(1, MOST_SEEDS);
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

/// Runs whatever the folder at `path` does not hold yet, and gives everything that the campaign's experiments measured.
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
    let is_missing = |of: &Found<_>| !matches!(of, Found::Kept(_));
    let missing = found.iter().filter(|of| is_missing(of)).count();
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
    let described = before_runs(
        points.into_values(),
        execution.jobs.clamp(1, missing.max(1)),
    )?;
    let of = Resume {
        name: "papers",
        folder: path,
        execution,
        listener,
        warnings: warnings::of_points(&described),
        effort: None,
    };
    let order = |missing| probes_first(missing, &batches);
    let (ends, mut outcome) = resume(of, &batches, found, order, &mut costs);
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

/// The batches of a campaign, into its journal. A task is a batch.
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

    /// What the journal holds of a batch.
    fn found(&self, task: usize) -> Result<Found<Vec<Kept>>, StoreError> {
        let file = self.file(task);
        match self.journal.read::<Vec<Kept>>(&file) {
            Ok(Some(kept)) if kept.len() == self.all[task].runs() => Ok(Found::Kept(kept)),
            Ok(Some(_)) => Ok(Found::Damaged(format!(
                "`{}` has another number of runs",
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
            let network = network()?;
            let sums = |&(of, _)| ideal::sums(of, scenario, number, records, &network, point.keep);
            Ok(point.ideals.iter().map(sums).collect())
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

/// One batch of every scheme of every experiment comes first, the smallest before the others, so that the time left can
/// soon be told.
fn probes_first(missing: Vec<usize>, batches: &Batches<'_>) -> Vec<usize> {
    let mut seen: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for &task in &missing {
        let point = batches.point(task);
        let kind = (point.experiment, point.scheme);
        seen.entry(kind).or_default().push(task);
    }
    // The middle one of each: neither the fastest nor the slowest.
    let middle = seen.values().map(|of| of[of.len() / 2]);
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

/// Sorts what was kept by experiment, panel, scheme and axis value.
fn results(campaign: &Campaign, mut done: HashMap<String, Vec<Kept>>) -> Results<'_> {
    /// Of one seed: the simulated run, and the ideal schedulers on its flows.
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
            // Seeds are paired by their order: none may be left out before the last.
            let Some(runs) = shared.get(&file) else {
                break;
            };
            for (own, ideal) in runs {
                let of = (point.experiment, point.panel, point.value);
                if let Some(own) = own {
                    results.add(of, point.scheme, Arc::clone(own));
                }
                for ((_, scheme), sums) in point.ideals.iter().zip(ideal) {
                    results.add(of, *scheme, Arc::clone(sums));
                }
            }
        }
        results.set_workloads(point.experiment, &point.scenario);
    }
    results
}
