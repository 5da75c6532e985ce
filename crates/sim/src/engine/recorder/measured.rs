//! Measurement window of the port statistics.
//!
//! The window lasts from the warm-up until `duration`, when sources stop. If all sources stop by themselves, as bursts
//! and traces do, it lasts until the end of the run, because their flows may take much longer than the sources.
//!
//! The counters of all ports are copied at both boundaries, so that nothing is counted per packet.

use crate::packet::Packet;
use crate::topology::Network;
use duetime_core::Time;
use duetime_link::{Counters, Port};
use duetime_results::PortRecord;
use duetime_scenario::Scenario;
use std::collections::VecDeque;

/// Boundaries of the measurement window, and the ports' counters there.
pub(super) struct Measured {
    /// Boundaries that have not been reached.
    marks: VecDeque<(Time, Mark)>,
    from: Time,
    /// End of the window, or `None` for the end of the run.
    until: Option<Time>,
    /// Counters at the warm-up; empty without a warm-up.
    before: Vec<Snapshot>,
    /// Counters at the end of the window.
    after: Vec<Snapshot>,
}

/// Boundary of the measurement window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Begin,
    End,
}

/// Counters of a port at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    counters: Counters,
    /// Packets and bytes that departed.
    departed: (u64, u64),
    /// Time integral of the queue, in bytes × 1024 ps.
    queue_integral: u64,
    /// Packets and bytes lost on the link.
    lost: (u64, u64),
}

impl Measured {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let from = Time::ZERO + scenario.warm_up;
        let until = scenario
            .is_endless()
            .then(|| Time::ZERO + scenario.duration);
        let mut marks = VecDeque::new();
        if from > Time::ZERO {
            marks.push_back((from, Mark::Begin));
        }
        marks.extend(until.map(|until| (until, Mark::End)));
        Self {
            marks,
            from,
            until,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Returns the next boundary of the measurement window, or [`Time::MAX`].
    pub(super) fn next_mark(&self) -> Time {
        self.marks.front().map_or(Time::MAX, |mark| mark.0)
    }

    /// Removes and returns the next boundary, with its time, if it is due by `reached`.
    pub(super) fn next_due(&mut self, reached: Time) -> Option<(Time, Mark)> {
        self.marks.pop_front_if(|(at, _)| *at <= reached)
    }

    /// Keeps the counters of all ports at a boundary.
    pub(super) fn keep(&mut self, mark: Mark, snapshots: Vec<Snapshot>) {
        match mark {
            Mark::Begin => self.before = snapshots,
            Mark::End => self.after = snapshots,
        }
    }

    /// Returns the records of all active ports: first over the measurement window, then over the whole run. `whole` has
    /// the counters at `end`, the end of the run.
    pub(super) fn port_records(
        &self,
        end: Time,
        whole: &[Snapshot],
        network: &Network,
    ) -> [Vec<(u32, PortRecord)>; 2] {
        // A run may end before its duration or even before its warm-up.
        let until = self.until.map_or(end, |until| until.min(end));
        let after = match &self.after[..] {
            [] => whole,
            snapshots => snapshots,
        };
        let measured = if self.from < end {
            records_between(network, &self.before, after, self.from, until)
        } else {
            Vec::new()
        };
        let mut all = whole.to_vec();
        for (all, before) in all.iter_mut().zip(&self.before) {
            let max = &mut all.counters.queue_max_bytes;
            *max = before.counters.queue_max_bytes.max(*max);
        }
        let whole = records_between(network, &[], &all, Time::ZERO, end);
        [measured, whole]
    }
}

fn records_between(
    network: &Network,
    before: &[Snapshot],
    after: &[Snapshot],
    from: Time,
    until: Time,
) -> Vec<(u32, PortRecord)> {
    let seconds = until.since(from).as_secs_f64().max(f64::MIN_POSITIVE);
    let mut records = Vec::new();
    for (link, after) in after.iter().enumerate() {
        let before = before.get(link).copied().unwrap_or_default();
        let (was, is) = (before.counters, after.counters);
        let idle = (is.packets, is.drops) == (was.packets, was.drops)
            && (after.departed, after.lost) == (before.departed, before.lost)
            && after.queue_integral == before.queue_integral;
        if idle {
            continue;
        }
        let info = &network.links[link];
        let bytes = after.departed.1 - before.departed.1;
        let integral = after.queue_integral.wrapping_sub(before.queue_integral);
        let record = PortRecord {
            link: network.link_name(link as u32),
            packets: after.departed.0 - before.departed.0,
            bytes,
            drops: is.drops - was.drops,
            drop_bytes: is.drop_bytes - was.drop_bytes,
            losses: after.lost.0 - before.lost.0,
            loss_bytes: after.lost.1 - before.lost.1,
            marks: is.marks - was.marks,
            queue_max_bytes: is.queue_max_bytes,
            queue_mean_bytes: integral as f64 * 1024e-12 / seconds,
            // A packet counts where its last bit leaves, so the first one may take longer than the window.
            utilisation: (info.rate.transmit(bytes).as_secs_f64() / seconds).min(1.0),
        };
        records.push((link as u32, record));
    }
    records
}

impl Snapshot {
    /// Copies the counters of a port at time `at`. Packets that have left by then must have been removed from the port.
    /// `lost` is the number of packets and bytes lost on the link.
    pub fn take(port: &Port<Packet>, lost: (u64, u64), at: Time) -> Self {
        let counters = port.counters();
        Self {
            departed: (
                counters.packets - u64::from(port.queue_packets()),
                port.departed_bytes(),
            ),
            queue_integral: port.queue_integral(at),
            lost,
            counters,
        }
    }
}
