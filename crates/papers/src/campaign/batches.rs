//! Batches of runs: consecutive seeds of one point, stored in one file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use duetime_results::RunRecords;
use duetime_scenario::Scenario;
use duetime_sim::Options;
use duetime_sim::topology::Network;
use duetime_store::{Journal, StoreError};
use duetime_study::{Engine, Found, Made, RunName, StudyError, Work};
use serde::{Deserialize, Serialize};

use super::super::expand::Point;
use super::super::ideal;
use super::super::sums::Sums;
use super::Campaign;

/// Maximum number of seeds per file.
const MAX_SEEDS: u32 = 20;

/// Result of one run, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// Sums of the simulation, or `None` if nothing was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Sums>,
    /// Sums of the ideal schedulers on the same flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ideal: Vec<Sums>,
}

/// Result of one run, shared by all points that need it.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// Sums of the simulation, or `None` if nothing was simulated.
    pub own: Option<Arc<Sums>>,
    /// Sums of the ideal schedulers on the same flows.
    pub ideal: Vec<Arc<Sums>>,
}

impl From<Stored> for Shared {
    fn from(stored: Stored) -> Self {
        Self {
            own: stored.own.map(Arc::new),
            ideal: stored.ideal.into_iter().map(Arc::new).collect(),
        }
    }
}

/// Consecutive seeds of one point, stored in one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// Index of the point.
    pub point: usize,
    /// First seed.
    pub from: u32,
    /// End of the seeds.
    pub to: u32,
}

impl Batch {
    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        (self.to - self.from) as usize
    }
}

impl Point {
    /// Returns the seed ranges of the point's files. One ends with the seeds of a quick campaign, so that others reuse
    /// them.
    pub(super) fn cuts(&self) -> Vec<(u32, u32)> {
        let step = self.quick_seeds.clamp(1, MAX_SEEDS);
        let mut ends: BTreeSet<u32> = (step..self.seeds).step_by(step as usize).collect();
        ends.insert(self.quick_seeds.min(self.seeds));
        ends.insert(self.seeds);
        let mut from = 0;
        ends.into_iter()
            .map(|to| (std::mem::replace(&mut from, to), to))
            .collect()
    }

    /// Returns the path of the file of a seed range.
    pub(super) fn file(&self, (from, to): (u32, u32)) -> String {
        format!("{}/{}/{from}-{to}.json", &self.digest[..2], self.digest)
    }
}

/// Batches of a campaign, without duplicates of those that several points share, and their journal. A task is the index
/// of a batch.
pub(super) struct Batches<'c, 'a> {
    pub campaign: &'c Campaign,
    pub all: Vec<Batch>,
    pub journal: &'a Journal,
    pub engine: &'a dyn Engine,
}

impl Batches<'_, '_> {
    /// Returns the point of a task.
    pub fn point(&self, task: usize) -> &Point {
        &self.campaign.points[self.all[task].point]
    }

    /// Returns the path of a task's file.
    pub fn file(&self, task: usize) -> String {
        let batch = self.all[task];
        self.point(task).file((batch.from, batch.to))
    }

    /// Looks up a batch in the journal.
    pub fn found(&self, task: usize) -> Result<Found<Vec<Shared>>, StoreError> {
        let file = self.file(task);
        match self.journal.read::<Vec<Stored>>(&file) {
            Ok(Some(stored)) if stored.len() == self.all[task].runs() => {
                Ok(Found::Kept(shared(stored)))
            }
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

impl Work for Batches<'_, '_> {
    type Made = Stored;
    type Kept = Vec<Shared>;

    fn runs(&self, task: usize) -> Range<u32> {
        self.all[task].from..self.all[task].to
    }

    fn name(&self, task: usize, run: u32) -> RunName {
        self.campaign.describe(self.point(task), run)
    }

    fn scenario(&self, task: usize) -> &Scenario {
        &self.point(task).scenario
    }

    fn make(
        &self,
        task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<Stored>>, String> {
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
                what: Stored { own: None, ideal },
                simulated_s: 0.0,
                packet_hops: 0,
            }));
        }
        let Some(made) = Made::of(self.engine.run(scenario, 0, number, options)?) else {
            return Ok(None);
        };
        let ideal = ideals(&made.what.records)?;
        Ok(Some(made.map(|output| Stored {
            own: Some(Sums::of(scenario, number, &output.records, point.keep)),
            ideal,
        })))
    }

    fn keep(
        &self,
        task: usize,
        runs: Vec<Stored>,
        _wall_s: f64,
    ) -> Result<Vec<Shared>, StudyError> {
        self.journal.write(&self.file(task), &runs)?;
        Ok(shared(runs))
    }

    fn place(&self, task: usize) -> String {
        self.journal.file(&self.file(task)).display().to_string()
    }
}

fn shared(stored: Vec<Stored>) -> Vec<Shared> {
    stored.into_iter().map(Shared::from).collect()
}
