//! Warnings about settings that are valid but probably unintended.

use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_scenario::model::{Amount, Buffer, Scenario, Transport, Workload, WorkloadKind};
use duetime_sim::mark_at;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Trees, Workloads};
use serde::Serialize;

/// A setting that is valid but probably unintended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum QuestionableSetting {
    /// Ports never mark a full-size packet: they drop before the queue reaches the ECN threshold.
    NeverMarks {
        /// Transports that rely on marks.
        transports: Vec<String>,
        /// Slowest rate of the affected switch ports.
        rate_bps: u64,
        /// ECN threshold, in packets or bytes.
        threshold: String,
        /// Maximum queue that a full-size packet finds without being dropped, in the same unit.
        finds: String,
    },
    /// Recorded requests start before the span that causes them or end after it: the hosts' clocks differed, or the
    /// span did not wait for the request.
    SpansOutside {
        /// Name of the workload.
        workload: String,
        /// Number of such requests.
        requests: u64,
        /// Number of all requests.
        of: u64,
    },
    /// D3's routers allocate again before they can observe the effect of their last allocation.
    ShortInterval {
        /// Name of the transport.
        transport: String,
        /// `update_interval` of the transport.
        update_interval_ns: u64,
        /// Longest idle round trip.
        round_trip_ns: u64,
    },
    /// Parents cannot estimate the percentile at which they hedge for a large part of the measurement window.
    LateHedges {
        /// Name of the workload.
        workload: String,
        /// Mean time until a parent can estimate the percentile, in the slowest tree.
        known_after_ns: u64,
        /// Share of the measurement window that is over by then, at most 1.
        unknown: f64,
    },
}

/// Minimum share of the measurement window without hedges that is reported.
const UNHEDGED: f64 = 0.1;

/// Returns the warnings about recorded spans, switches, transports and hedges.
pub(super) fn find(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    round_trip_ns: u64,
) -> Vec<QuestionableSetting> {
    let overrides = scenario
        .workloads
        .iter()
        .filter_map(|workload| workload.transport.as_ref());
    let mut used: Vec<&Transport> = Vec::new();
    for transport in scenario.transports.iter().chain(overrides) {
        if used.iter().all(|other| other.name != transport.name) {
            used.push(transport);
        }
    }
    let slowest = network.links.iter().map(|link| link.rate).min();
    let mut warnings: Vec<QuestionableSetting> = (scenario.workloads.iter())
        .filter_map(spans_outside)
        .collect();
    warnings.extend(never_marks(scenario, network, &used));
    let transports = used.iter();
    warnings.extend(
        transports.filter_map(|transport| short_interval(transport, slowest, round_trip_ns)),
    );
    let all = scenario.workloads.iter().enumerate();
    warnings.extend(all.filter_map(|(index, workload)| {
        late_hedges(scenario, &workload.name, workloads.trees(index)?)
    }));
    warnings
}

/// Returns a warning if routers allocate more often than once per round trip.
fn short_interval(
    transport: &Transport,
    slowest: Option<Rate>,
    round_trip_ns: u64,
) -> Option<QuestionableSetting> {
    let mut protocol = transport.protocol.clone();
    if let Some(slowest) = slowest {
        protocol.adapt_to(slowest);
    }
    let interval = protocol.router_program()?.interval();
    (interval < Span::from_ns(round_trip_ns)).then(|| QuestionableSetting::ShortInterval {
        transport: transport.name.clone(),
        update_interval_ns: interval.as_ns(),
        round_trip_ns,
    })
}

/// Returns a warning if a workload's parents start without an estimate and need long for one.
fn late_hedges(scenario: &Scenario, name: &str, trees: &Trees) -> Option<QuestionableSetting> {
    let known_after = trees.estimate_times().max()?;
    let window = scenario.duration.saturating_sub(scenario.warm_up);
    let unhedged = known_after.saturating_sub(scenario.warm_up);
    let unknown = unhedged.min(window).as_ps() as f64 / window.as_ps().max(1) as f64;
    (unknown > UNHEDGED).then(|| QuestionableSetting::LateHedges {
        workload: name.to_owned(),
        known_after_ns: known_after.as_ns(),
        unknown,
    })
}

/// Returns a warning if recorded requests are not within the spans that cause them.
fn spans_outside(workload: &Workload) -> Option<QuestionableSetting> {
    let WorkloadKind::Spans(spans) = &workload.kind else {
        return None;
    };
    let requests = spans
        .queries
        .iter()
        .map(|query| query.nodes.len() as u64 - 1);
    (spans.outside > 0).then(|| QuestionableSetting::SpansOutside {
        workload: workload.name.clone(),
        requests: spans.outside,
        of: requests.sum(),
    })
}

/// Returns a warning if switch ports cannot mark although a transport relies on marks.
fn never_marks(
    scenario: &Scenario,
    network: &Network,
    used: &[&Transport],
) -> Option<QuestionableSetting> {
    let reacts = |transport: &&Transport| transport.protocol.reacts_to_marks();
    let marked: Vec<&Transport> = used.iter().copied().filter(reacts).collect();
    let packet = marked
        .iter()
        .map(|transport| transport.protocol.largest_packet(u64::MAX))
        .min()?;
    let packet = packet + u64::from(scenario.host.frame_overhead);
    let mut rates: Vec<Rate> = network
        .links
        .iter()
        .filter(|link| link.from >= network.hosts())
        .map(|link| link.rate)
        .collect();
    rates.sort_unstable();
    rates.dedup();
    rates.into_iter().find_map(|rate| {
        let (threshold, finds) = match mark_at(&scenario.switch.ecn_threshold, rate) {
            Limit::Unlimited => return None,
            Limit::Packets(threshold) => {
                let finds = max_queue(scenario.switch.buffer, packet)?.packets;
                let shown = (format!("{threshold} packets"), format!("{finds} packets"));
                (u64::from(threshold) > finds).then_some(shown)?
            }
            Limit::Bytes(threshold) => {
                let finds = max_queue(scenario.switch.buffer, packet)?.bytes;
                let shown = (format!("{threshold} B"), format!("{finds} B"));
                (threshold > finds).then_some(shown)?
            }
        };
        Some(QuestionableSetting::NeverMarks {
            transports: (marked.iter())
                .map(|transport| transport.name.clone())
                .collect(),
            rate_bps: rate.as_bps(),
            threshold,
            finds,
        })
    })
}

/// Queue of a port, in full packets and in bytes.
struct Queue {
    packets: u64,
    bytes: u64,
}

/// Returns the maximum queue that a full packet of `packet` bytes finds in a port that accepts it, if all packets are
/// full and all other ports of the switch are empty. Returns `None` without a limit.
fn max_queue(buffer: Buffer, packet: u64) -> Option<Queue> {
    let in_bytes = |bytes: u64| Queue {
        packets: bytes / packet,
        bytes,
    };
    Some(match buffer {
        Buffer::Unlimited => return None,
        Buffer::Static(Amount::Packets(packets)) => Queue {
            packets: u64::from(packets) - 1,
            bytes: (u64::from(packets) - 1) * packet,
        },
        Buffer::Static(Amount::Bytes(bytes)) => in_bytes(bytes.saturating_sub(packet)),
        // The packet is accepted if queue + packet ≤ alpha × (pool − queue) and if it fits into the free memory.
        Buffer::Dynamic { pool, alpha } => {
            let by_share = (alpha * pool.0 as f64 - packet as f64) / (1.0 + alpha);
            let free = pool.0.saturating_sub(packet);
            in_bytes(free.min(by_share.max(0.0) as u64))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::{Bytes, Time};
    use duetime_link::{Frame, Offer, Port, SharedBuffer};

    #[derive(Clone, Copy, Debug)]
    struct Full;

    impl Frame for Full {
        fn wire_bytes(&self) -> u32 {
            1_500
        }
        fn is_ecn_capable(&self) -> bool {
            true
        }
        fn mark(&mut self) {}
        fn class(&self) -> usize {
            0
        }
    }

    /// Returns the maximum queue that a 1500 B packet finds in a port that accepts it, by filling the port at once.
    fn max_queue_by_filling(buffer: Buffer) -> u64 {
        let port = Port::new(Rate::from_gbps(1), Span::ZERO);
        let mut ports = [match buffer {
            Buffer::Static(amount) => port.with_limit(duetime_sim::limit_of(amount)),
            _ => port,
        }];
        let mut pool = match buffer {
            Buffer::Dynamic { pool, alpha } => Some(SharedBuffer::new(pool.0, alpha, vec![0])),
            _ => None,
        };
        let mut accepted = 0;
        loop {
            let offer = match &mut pool {
                Some(pool) => pool.offer(&mut ports, 0, Time::ZERO, Full),
                None => ports[0].offer(Time::ZERO, Full),
            };
            if offer == Offer::Dropped {
                return (accepted - 1) * 1_500;
            }
            accepted += 1;
        }
    }

    #[test]
    fn max_queue_matches_filled_port() {
        let dynamic = |bytes, alpha| Buffer::Dynamic {
            pool: Bytes(bytes),
            alpha,
        };
        for buffer in [
            Buffer::Static(Amount::Packets(10)),
            Buffer::Static(Amount::Bytes(100_000)),
            dynamic(100_000, 1.0),
            dynamic(100_000, 8.0),
            dynamic(300_000, 0.25),
            dynamic(1_000_000, 1_000.0),
        ] {
            let queue = max_queue(buffer, 1_500).expect("a limit");
            let filled = max_queue_by_filling(buffer);
            assert!(
                (filled..filled + 1_500).contains(&queue.bytes) && queue.packets == filled / 1_500,
                "{buffer:?}: {} B, {} packets, filled {filled} B",
                queue.bytes,
                queue.packets
            );
        }
        assert!(max_queue(Buffer::Unlimited, 1_500).is_none());
    }
}
