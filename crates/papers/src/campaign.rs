//! Runs the missing points of a campaign on several cores. Each batch of seeds of a point is one file, so a killed
//! campaign resumes where it stopped and writes the same bytes as an uninterrupted one.

mod batches;
mod cost;
mod stages;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use duetime_store::Journal;
use duetime_study::{
    Engine, Execution, Found, Listener, Outcome, Resume, RunName, StudyError, describe_checked,
    resume, warnings,
};
use serde::{Deserialize, Serialize};

use super::expand::{self, Point};
use super::experiment::Experiment;
use super::results::Results;
use batches::{Batch, Batches};
use cost::{Costs, Task};
use stages::Stages;

/// Number of runs of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Few repetitions and points.
    Quick,
    /// All points, each repeated until the verdicts that need it are settled.
    Settled,
    /// All points and repetitions.
    Full,
}

/// Selected experiments, expanded to points.
#[derive(Debug)]
pub struct Campaign {
    /// All experiments of the library.
    pub experiments: Vec<Experiment>,
    /// Indices of the selected experiments.
    pub chosen: Vec<usize>,
    /// Number of runs.
    pub extent: Extent,
    /// Points of the selected experiments and of those that their checks read.
    points: Vec<Point>,
}

impl Campaign {
    /// Expands the selected experiments and those that their checks read.
    pub fn new(
        experiments: Vec<Experiment>,
        chosen: Vec<usize>,
        extent: Extent,
    ) -> Result<Self, StudyError> {
        let mut needed: BTreeSet<usize> = chosen.iter().copied().collect();
        for &index in &chosen {
            let experiment = &experiments[index];
            let find = |name: &str| experiment.sibling(name, &experiments);
            needed.extend(experiment.others().into_iter().filter_map(find));
        }
        let mut points = Vec::new();
        for index in needed {
            points.extend(expand::points(
                index,
                &experiments[index],
                extent == Extent::Quick,
            )?);
        }
        Ok(Self {
            experiments,
            chosen,
            extent,
            points,
        })
    }

    /// Returns true for few repetitions and points.
    pub fn is_quick(&self) -> bool {
        self.extent == Extent::Quick
    }

    /// Returns the largest number of runs; runs that several points share count once.
    pub fn runs(&self) -> usize {
        self.batches().iter().map(Batch::runs).sum()
    }

    /// Returns the largest number of runs of one experiment, including runs shared with others.
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

/// Runs the batches that are missing in the folder `path`. Returns the results of the campaign, including stored ones,
/// and the outcome of the new runs. Runs in the folder that the campaign does not need are not used.
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
    let found = (0..batches.all.len()).map(|task| batches.found(task));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let missing = || {
        let found = found.iter().enumerate();
        found.filter(|(_, batch)| !matches!(batch, Found::Kept(_)))
    };
    let mut works = BTreeMap::new();
    let mut points = BTreeMap::new();
    let mut tasks = BTreeMap::new();
    for (task, _) in missing() {
        let (batch, point) = (batches.all[task], batches.point(task));
        points.entry(batch.point).or_insert_with(|| {
            let name = campaign.describe(point, batch.from);
            (
                format!("{} {}", name.point, name.transport),
                &point.scenario,
            )
        });
        let work = works.entry(batch.point);
        let cost = Task {
            kind: (point.experiment, point.scheme),
            work: *work.or_insert_with(|| cost::work(&point.scenario)),
            runs: batch.runs(),
        };
        tasks.insert(task, cost);
    }
    let described = describe_checked(
        points.into_values(),
        execution.jobs.clamp(1, missing().count().max(1)),
    )?;
    let request = Resume {
        name: "papers",
        folder: path,
        execution,
        listener,
        warnings: warnings::of_points(&described),
        effort: None,
    };
    let mut stages = Stages::new(&batches, &tasks, listener);
    let next = |ends: &[_]| stages.next(ends);
    let (ends, mut outcome) = resume(request, &batches, found, next, &mut Costs::new(&tasks));
    outcome
        .failures
        .sort_by_cached_key(|(name, _)| name.to_string());
    Ok((stages.results(&ends), outcome))
}
