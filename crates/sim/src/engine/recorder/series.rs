//! Sampled series of queue lengths and throughput.

use crate::engine::events::Events;
use crate::packet::Packet;
use crate::partition::Cut;
use crate::setup::Setup;
use duetime_core::{Span, Time};
use duetime_link::Port;
use duetime_results::SeriesSample;
use duetime_scenario::Scenario;

/// Sampler of this partition's links.
#[derive(Default)]
pub struct Sampler {
    every: Span,
    until: Time,
    /// Link, its index among the run's sampled links, and the bytes that had departed at the last sample.
    links: Vec<(u32, u32, u64)>,
    samples: Vec<SeriesSample>,
}

impl Sampler {
    pub(super) fn new(scenario: &Scenario, setup: &Setup, index: u16, cut: &Cut) -> Self {
        let Some(every) = scenario.record.every else {
            return Self::default();
        };
        let links = setup
            .sampled_links
            .iter()
            .enumerate()
            .filter(|(_, link)| cut.port_in[**link as usize] == index)
            .map(|(index, &link)| (link, index as u32, 0))
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

    /// Schedules the first sample of each link.
    pub(super) fn start(&self, events: &mut Events) {
        for position in 0..self.links.len() {
            self.schedule(events, position);
        }
    }

    fn schedule(&self, events: &mut Events, position: usize) {
        let at = events.now + self.every;
        if at <= self.until {
            let link = self.links[position].0;
            events.schedule_sample(at, link, position as u32);
        }
    }

    /// Returns the link with index `position` among those sampled by this partition.
    pub(super) fn link(&self, position: u32) -> u32 {
        self.links[position as usize].0
    }

    /// Samples a link, whose port is `port`, and schedules its next sample. Packets that have left must have been
    /// removed from the port.
    pub(super) fn sample(&mut self, events: &mut Events, port: &Port<Packet>, position: u32) {
        let (_, index, before) = self.links[position as usize];
        let sent = port.departed_bytes();
        self.samples.push(SeriesSample {
            link: index,
            at: events.now,
            queue_bytes: port.queue_bytes(),
            queue_packets: port.queue_packets(),
            sent_bytes: sent - before,
        });
        self.links[position as usize].2 = sent;
        self.schedule(events, position as usize);
    }
}
