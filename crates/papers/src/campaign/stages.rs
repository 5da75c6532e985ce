//! Stages of a campaign that repeats its points until its verdicts are settled.
//!
//! Each point starts with the repetitions of a quick campaign. After a stage, the points that an unsettled verdict
//! needs get twice as many, at least [`MIN_SEEDS`] and up to those of a full campaign. Points that are only drawn keep
//! theirs. The runs depend only on earlier results, not on the number of jobs or on interruptions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use duetime_study::{End, Event, Listener};

use super::super::expand::Point;
use super::super::results::{Cell, Results};
use super::super::rows::Settling;
use super::Extent;
use super::batches::{Batches, Shared};
use super::cost::{self, Task};

/// Smallest number of repetitions that settle a verdict.
const MIN_SEEDS: u32 = 4;

/// Stages of a campaign.
pub(super) struct Stages<'c, 'a> {
    batches: &'a Batches<'c, 'a>,
    /// Tasks that were not stored at the start.
    tasks: &'a BTreeMap<usize, Task>,
    listener: &'a dyn Listener,
    /// Number of seeds of each point so far.
    seeds: Vec<u32>,
    settling: Settling,
    is_begun: bool,
}

impl<'c, 'a> Stages<'c, 'a> {
    /// Creates the first stage, or the only one unless the campaign ends when its verdicts are settled.
    pub fn new(
        batches: &'a Batches<'c, 'a>,
        tasks: &'a BTreeMap<usize, Task>,
        listener: &'a dyn Listener,
    ) -> Self {
        let campaign = batches.campaign;
        let seeds = |point: &Point| match campaign.extent {
            Extent::Settled => point.seeds_from(point.quick_seeds),
            Extent::Quick | Extent::Full => point.seeds,
        };
        Self {
            batches,
            tasks,
            listener,
            seeds: campaign.points.iter().map(seeds).collect(),
            settling: Settling::default(),
            is_begun: false,
        }
    }

    /// Returns the tasks to make next, or none if all verdicts are settled or have all repetitions.
    pub fn next(&mut self, ends: &[End<Vec<Shared>>]) -> Vec<usize> {
        loop {
            let missing = self.missing(ends);
            if !missing.is_empty() {
                self.is_begun = true;
                return cost::order(&missing, self.tasks);
            }
            if self.batches.campaign.extent != Extent::Settled || !self.grow(ends) {
                return Vec::new();
            }
        }
    }

    /// Returns the results of the seeds so far.
    pub fn results(&self, ends: &[End<Vec<Shared>>]) -> Results<'c> {
        let campaign = self.batches.campaign;
        let mut runs = HashMap::new();
        for (task, end) in ends.iter().enumerate() {
            if let End::Kept(kept) = end {
                runs.insert(self.batches.file(task), kept);
            }
        }
        let mut results = Results::new(campaign);
        for (point, &seeds) in campaign.points.iter().zip(&self.seeds) {
            let place = (point.experiment, point.panel, point.value);
            for cut in point.cuts().into_iter().filter(|cut| cut.1 <= seeds) {
                // Seeds are paired by position, so stop at the first missing batch.
                let Some(runs) = runs.get(&point.file(cut)) else {
                    break;
                };
                for Shared { own, ideal } in *runs {
                    if let Some(own) = own {
                        results.add(place, point.scheme, own.clone());
                    }
                    for ((_, scheme), sums) in point.ideals.iter().zip(ideal) {
                        results.add(place, *scheme, sums.clone());
                    }
                }
            }
            results.set_workloads(point.experiment, &point.scenario);
        }
        results
    }

    /// Returns the tasks of the seeds so far that are not stored.
    fn missing(&self, ends: &[End<Vec<Shared>>]) -> Vec<usize> {
        let points = self.batches.campaign.points.iter().zip(&self.seeds);
        let wanted: BTreeSet<String> = points
            .flat_map(|(point, &seeds)| {
                let cuts = point.cuts().into_iter().filter(move |cut| cut.1 <= seeds);
                cuts.map(|cut| point.file(cut))
            })
            .collect();
        let missing = duetime_study::pending(ends).into_iter();
        missing
            .filter(|&task| wanted.contains(&self.batches.file(task)))
            .collect()
    }

    /// Gives more seeds to the points that unsettled verdicts need. Returns false if there are none.
    fn grow(&mut self, ends: &[End<Vec<Shared>>]) -> bool {
        let results = self.results(ends);
        let needed = self.settling.unsettled(&results);
        let mut has_grown = false;
        for (point, seeds) in self.batches.campaign.points.iter().zip(&mut self.seeds) {
            if *seeds < point.seeds && point.cells().any(|cell| needed.contains(&cell)) {
                *seeds = point.seeds_from((2 * *seeds).max(MIN_SEEDS));
                has_grown = true;
            }
        }
        if self.is_begun && has_grown {
            self.listener.on(&Event::Unsettled {
                verdicts: self.settling.open(),
                of: self.settling.all(),
            });
        }
        has_grown
    }
}

impl Point {
    /// Returns the end of the first batch that completes `seeds` seeds, or all seeds.
    fn seeds_from(&self, seeds: u32) -> u32 {
        let ends = self.cuts().into_iter().map(|(_, to)| to);
        ends.into_iter()
            .find(|&to| to >= seeds)
            .unwrap_or(self.seeds)
    }

    /// Returns the cells that the point's runs fill: that of its scheme and those of the ideal schedulers.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        let place = (self.experiment, self.panel, self.value);
        let ideals = self.ideals.iter().map(|&(_, scheme)| scheme);
        std::iter::once(self.scheme)
            .chain(ideals)
            .map(move |scheme| (place, scheme))
    }
}
