//! The measurement window of the ports' statistics: from the warm-up to `duration`, when sources stop; where all
//! sources stop by themselves, as bursts and traces do, to the end of the run, since what they start may take much
//! longer than they do.
//!
//! At both ends the counters of all ports are noted, so that nothing is counted per packet.

use crate::engine::wire::Wire;
use crate::topology::Network;
use duetime_core::Time;
use duetime_link::Counters;
use duetime_results::PortRecord;
use duetime_scenario::Scenario;
use std::collections::VecDeque;

/// Where the measurement window begins and ends, and what was noted there.
pub(super) struct Measured {
    /// Ends of the window that have not been reached.
    marks: VecDeque<(Time, Mark)>,
    from: Time,
    /// Until when; `None`: the end of the run.
    until: Option<Time>,
    /// At the warm-up; empty where there is none.
    before: Vec<Noted>,
    /// At the end of the window.
    after: Vec<Noted>,
}

#[derive(Clone, Copy, Debug)]
enum Mark {
    Begin,
    End,
}

/// What a port has done by some time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noted {
    counters: Counters,
    /// Packets and bytes that have left.
    left: (u64, u64),
    /// Time integral of the queue, in bytes x 1024 ps.
    queue_integral: u64,
    /// Packets and bytes lost on the link.
    lost: (u64, u64),
}

impl Measured {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let from = Time::ZERO + scenario.warm_up;
        let until = scenario
            .never_stops()
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

    /// The next end of the measurement window, or [`Time::MAX`].
    pub(super) fn next_mark(&self) -> Time {
        self.marks.front().map_or(Time::MAX, |mark| mark.0)
    }

    /// Every event before `reached` has been processed, and no later one: notes what is to be noted by then.
    pub(super) fn mark(&mut self, reached: Time, wire: &mut Wire) {
        while let Some((at, mark)) = self.marks.pop_front_if(|(at, _)| *at <= reached) {
            let noted = note(wire, at);
            match mark {
                Mark::Begin => {
                    self.before = noted;
                    wire.restart_maxima();
                }
                Mark::End => self.after = noted,
            }
        }
    }

    /// The records of all ports that did anything: over the measurement window, and over the whole run.
    pub(super) fn port_records(
        &self,
        end: Time,
        wire: &mut Wire,
        network: &Network,
    ) -> [Vec<(u32, PortRecord)>; 2] {
        let whole = note(wire, end);
        // A run may be over before its duration, or before its warm-up.
        let until = self.until.map_or(end, |until| until.min(end));
        let after = match &self.after[..] {
            [] => &whole[..],
            noted => noted,
        };
        let measured = if self.from < end {
            records_between(network, &self.before, after, self.from, until)
        } else {
            Vec::new()
        };
        let mut all = whole.clone();
        for (all, before) in all.iter_mut().zip(&self.before) {
            let most = &mut all.counters.queue_max_bytes;
            *most = before.counters.queue_max_bytes.max(*most);
        }
        let whole = records_between(network, &[], &all, Time::ZERO, end);
        [measured, whole]
    }
}

/// What all ports have done by `at`.
fn note(wire: &mut Wire, at: Time) -> Vec<Noted> {
    (0..wire.links() as u32)
        .map(|link| Noted::of(wire, link, at))
        .collect()
}

fn records_between(
    network: &Network,
    before: &[Noted],
    after: &[Noted],
    from: Time,
    until: Time,
) -> Vec<(u32, PortRecord)> {
    let seconds = until.since(from).as_secs_f64().max(f64::MIN_POSITIVE);
    let mut records = Vec::new();
    for (number, after) in after.iter().enumerate() {
        let before = before.get(number).copied().unwrap_or_default();
        let (was, is) = (before.counters, after.counters);
        let idle = (is.packets, is.drops) == (was.packets, was.drops)
            && (after.left, after.lost) == (before.left, before.lost)
            && after.queue_integral == before.queue_integral;
        if idle {
            continue;
        }
        let info = &network.links[number];
        let bytes = after.left.1 - before.left.1;
        let integral = after.queue_integral - before.queue_integral;
        let record = PortRecord {
            link: network.link_name(number as u32),
            packets: after.left.0 - before.left.0,
            bytes,
            drops: is.drops - was.drops,
            drop_bytes: is.drop_bytes - was.drop_bytes,
            losses: after.lost.0 - before.lost.0,
            loss_bytes: after.lost.1 - before.lost.1,
            marks: is.marks - was.marks,
            queue_max_bytes: is.queue_max_bytes,
            queue_mean_bytes: integral as f64 * 1024e-12 / seconds,
            // A packet belongs to the time in which its last bit leaves, so the first may be longer than that.
            utilisation: (info.rate.transmit(bytes).as_secs_f64() / seconds).min(1.0),
        };
        records.push((number as u32, record));
    }
    records
}

impl Noted {
    fn of(wire: &mut Wire, link: u32, at: Time) -> Self {
        let lost = wire.lost(link);
        let port = wire.drained(link, at);
        let counters = port.counters();
        Self {
            left: (
                counters.packets - u64::from(port.queue_packets()),
                port.departed_bytes(),
            ),
            queue_integral: port.queue_integral(at),
            lost,
            counters,
        }
    }
}
