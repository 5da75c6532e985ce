//! Runs what is missing of a campaign, on several cores. A batch of seeds of one point is one file, so that a campaign
//! that was killed takes up where it was and leaves the same bytes as one that was not.

mod cost;
mod pool;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use duetime_store::{PointFolder, StoreError};
use serde::{Deserialize, Serialize};

use super::expand::{self, Point};
use super::experiment::Experiment;
use super::results::Results;
use super::sums::Sums;
use duetime_study::{StudyError, before_runs, warnings};
use duetime_study::{Engine, Execution};
use duetime_study::{Event, Listener, RunName};
use pool::{End, Pool};

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

/// What became of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CampaignOutcome {
    /// Runs whose sums are in the folder.
    pub finished: usize,
    /// Of those, the ones that were there before.
    pub kept: usize,
    /// Files that were not as written, and why; their runs were made again.
    pub damaged: Vec<String>,
    /// Runs that failed, and why.
    pub failures: Vec<(String, String)>,
    /// Runs that were stopped or not begun; also those after a file that could not be written.
    pub missing: usize,
    /// Whether it was stopped.
    pub cancelled: bool,
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
            let find = |name: &str| {
                experiments
                    .iter()
                    .position(|other| other.paper == of.paper && other.name == name)
            };
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
) -> Result<(Results<'a>, CampaignOutcome), StudyError> {
    let began = Instant::now();
    let folder = PointFolder::create(&path.join("points"))?;
    let batches = campaign.batches();
    let total = batches.iter().map(Batch::runs).sum();
    let mut outcome = CampaignOutcome::default();
    let mut done: HashMap<String, Vec<Kept>> = HashMap::new();
    let mut missing: Vec<Batch> = Vec::new();
    for batch in batches {
        let point = &campaign.points[batch.point];
        let file = point.file((batch.from, batch.to));
        match folder.read::<Vec<Kept>>(&file) {
            Ok(Some(kept)) if kept.len() == batch.runs() => {
                outcome.kept += batch.runs();
                done.insert(file, kept);
                continue;
            }
            Ok(None) => {}
            found => {
                let why = match found {
                    Err(error @ StoreError::Damaged { .. }) => error.to_string(),
                    Err(error) => return Err(error.into()),
                    Ok(_) => format!(
                        "`{}` has another number of runs",
                        folder.file(&file).display()
                    ),
                };
                let name = campaign.describe(point, batch.from);
                let told = format!("{} of {}: {why}; run again", name.transport, name.point);
                listener.on(&Event::PointDamaged { name, reason: why });
                outcome.damaged.push(told);
            }
        }
        missing.push(batch);
    }
    let mut told = BTreeSet::new();
    let points = missing.iter().filter(|batch| told.insert(batch.point));
    let points = points.map(|batch| {
        let point = &campaign.points[batch.point];
        let name = campaign.describe(point, batch.from);
        (
            format!("{} {}", name.point, name.transport),
            &point.scenario,
        )
    });
    let described = before_runs(points, execution.jobs.clamp(1, missing.len().max(1)))?;
    listener.on(&Event::StudyStarted {
        name: "papers".to_owned(),
        folder: path.display().to_string(),
        runs: total,
        kept: outcome.kept,
    });
    for warning in warnings::of_points(&described) {
        listener.on(&Event::Warning(warning));
    }
    probes_first(&mut missing, &campaign.points);
    let pool = Pool {
        campaign,
        folder: &folder,
        execution,
        engine,
        listener,
        kept: outcome.kept,
        missing: &missing,
        total,
        packet_hops: AtomicU64::new(0),
        unwritable: AtomicBool::new(false),
        began,
    };
    outcome.finished = outcome.kept;
    for (batch, end) in missing.iter().zip(pool.run()) {
        let point = &campaign.points[batch.point];
        match end {
            End::Kept(kept) => {
                outcome.finished += kept.len();
                done.insert(point.file((batch.from, batch.to)), kept);
            }
            End::Failed(run, error) => {
                outcome
                    .failures
                    .push((campaign.describe(point, run).to_string(), error));
            }
            End::Missing => outcome.missing += batch.runs(),
        }
    }
    outcome.failures.sort();
    outcome.cancelled = execution.cancel.load(Ordering::Relaxed);
    listener.on(&Event::StudyFinished {
        finished: outcome.finished,
        failed: outcome.failures.len(),
        missing: outcome.missing,
        wall_s: began.elapsed().as_secs_f64(),
        cancelled: outcome.cancelled,
    });
    Ok((results(campaign, done), outcome))
}

/// One batch of every scheme of every experiment comes first, the smallest before the others, so that the time left can
/// soon be told.
fn probes_first(missing: &mut Vec<Batch>, points: &[Point]) {
    let mut seen: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (index, batch) in missing.iter().enumerate() {
        let point = &points[batch.point];
        seen.entry((point.experiment, point.scheme))
            .or_default()
            .push(index);
    }
    // The middle one of each: neither the cheapest nor the dearest.
    let mut probes: Vec<(f64, usize)> = seen
        .values()
        .map(|of| of[of.len() / 2])
        .map(|index| {
            let batch = &missing[index];
            let work = cost::work(&points[batch.point].scenario);
            (work * batch.runs() as f64, index)
        })
        .collect();
    probes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let chosen: BTreeSet<usize> = probes.iter().map(|&(_, index)| index).collect();
    let rest = (0..missing.len()).filter(|index| !chosen.contains(index));
    *missing = probes
        .iter()
        .map(|&(_, index)| index)
        .chain(rest)
        .map(|index| missing[index])
        .collect();
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
