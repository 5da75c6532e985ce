//! Sampled series of queue lengths and throughput.

use super::{Partition, SAMPLE, WINDOWS};
use crate::setup::Setup;
use duetime_core::{Span, Time};
use duetime_results::SeriesSample;
use duetime_scenario::Scenario;
use std::sync::Arc;

/// The links that this partition samples.
#[derive(Default)]
pub struct Sampler {
    every: Span,
    until: Time,
    /// (link, its number among the run's sampled links, bytes that had left at the last sample).
    links: Vec<(u32, u32, u64)>,
    samples: Vec<SeriesSample>,
}

impl Sampler {
    pub(super) fn new(
        scenario: &Scenario,
        setup: &Setup,
        index: u16,
        partition_of: &Arc<Vec<u16>>,
    ) -> Self {
        let Some(every) = scenario.record.every else {
            return Self::default();
        };
        let links = setup
            .sampled_links
            .iter()
            .enumerate()
            .filter(|(_, link)| {
                partition_of[setup.network.links[**link as usize].from as usize] == index
            })
            .map(|(number, &link)| (link, number as u32, 0))
            .collect();
        Self {
            every,
            until: Time::ZERO + setup.duration,
            links,
            samples: Vec::new(),
        }
    }

    pub(super) fn take(&mut self) -> Vec<SeriesSample> {
        std::mem::take(&mut self.samples)
    }
}

impl Partition {
    pub(super) fn start_sampling(&mut self) {
        for position in 0..self.series.links.len() {
            self.schedule_sample(position);
        }
    }

    /// Asks for the next sample of the windows, if they are sampled.
    pub(super) fn schedule_windows(&mut self) {
        let Some(every) = self.windows else { return };
        let at = self.now + every;
        if at <= Time::ZERO + self.setup.duration {
            self.schedule_tick(at, 0, WINDOWS);
        }
    }

    fn schedule_sample(&mut self, position: usize) {
        let at = self.now + self.series.every;
        if at <= self.series.until {
            let link = self.series.links[position].0;
            self.schedule_tick(at, link, position as u32 | SAMPLE);
        }
    }

    pub(super) fn sample(&mut self, position: u32) {
        let (link, number, before) = self.series.links[position as usize];
        let port = &mut self.ports[link as usize];
        port.drain(self.now);
        let sent = port.departed_bytes();
        self.series.samples.push(SeriesSample {
            link: number,
            at: self.now,
            queue_bytes: port.queue_bytes(),
            queue_packets: port.queue_packets(),
            sent_bytes: sent - before,
        });
        self.series.links[position as usize].2 = sent;
        self.schedule_sample(position as usize);
    }
}
