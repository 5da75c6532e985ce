//! Settings that are allowed, but hardly meant.

use crate::mark_at;
use crate::topology::Network;
use crate::workload::{Workloads, oldi};
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_proto::d3;
use duetime_scenario::model::{
    Amount, Buffer, Protocol, Scenario, Transport, Workload, WorkloadKind,
};
use serde::Serialize;

/// A setting that is allowed, but hardly meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
    /// Ports never mark a full packet: they drop before they hold as much as their ECN threshold.
    NeverMarks {
        /// The transports that wait for marks.
        transports: Vec<String>,
        /// The slowest ports of switches that this holds for.
        rate_bps: u64,
        /// Their threshold, in packets or bytes.
        threshold: String,
        /// The most that a full packet finds there, in the same unit, when it is not dropped.
        finds: String,
    },
    /// Recorded requests start before the span that causes them, or end after it: hosts' clocks differed, or a request
    /// was not waited for.
    SpansOutside {
        /// Name of the workload.
        workload: String,
        /// Such requests.
        requests: u64,
        /// All of them.
        of: u64,
    },
    /// D3's routers allocate anew before they can see what their last allocation did.
    ShortInterval {
        /// The transport.
        transport: String,
        /// Its `update_interval`.
        update_interval_ns: u64,
        /// The longest idle round trip.
        round_trip_ns: u64,
    },
    /// Parents do not know the percentile at which they hedge for a large part of the measurement window.
    LateHedges {
        /// Name of the workload.
        workload: String,
        /// Mean time until a parent knows the percentile; of the slowest tree.
        known_after_ns: u64,
        /// Share of the measurement window that is over by then, up to 1.
        unknown: f64,
    },
}

/// Shares of the measurement window without hedges below this are not reported.
const UNHEDGED: f64 = 0.1;

/// The doubts about switches and transports.
pub(super) fn of(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    round_trip_ns: u64,
) -> Vec<Doubt> {
    let own = scenario
        .workloads
        .iter()
        .filter_map(|it| it.transport.as_ref());
    let mut used: Vec<&Transport> = Vec::new();
    for transport in scenario.transports.iter().chain(own) {
        if used.iter().all(|other| other.name != transport.name) {
            used.push(transport);
        }
    }
    let slowest = network.links.iter().map(|link| link.rate).min();
    let interval = |config: &d3::Config| {
        slowest.map_or(config.interval(), |slowest| {
            config.for_slowest(slowest).interval()
        })
    };
    let mut doubts: Vec<Doubt> = scenario.workloads.iter().filter_map(outside).collect();
    doubts.extend(never_marks(scenario, network, &used));
    doubts.extend(
        used.iter()
            .filter_map(|transport| match &transport.protocol {
                Protocol::D3(config) if interval(config) < Span::from_ns(round_trip_ns) => {
                    Some(Doubt::ShortInterval {
                        transport: transport.name.clone(),
                        update_interval_ns: interval(config).as_ns(),
                        round_trip_ns,
                    })
                }
                _ => None,
            }),
    );
    let all = scenario.workloads.iter().enumerate();
    doubts.extend(
        all.filter_map(|(at, workload)| late_hedges(scenario, &workload.name, workloads.oldi(at)?)),
    );
    doubts
}

/// Returns the doubt about a workload whose parents start without an estimate, and need long for one.
fn late_hedges(scenario: &Scenario, name: &str, trees: &oldi::Oldi) -> Option<Doubt> {
    let known_after = trees.blind_times().max()?;
    let window = scenario.duration.saturating_sub(scenario.warm_up);
    let blind = known_after.saturating_sub(scenario.warm_up);
    let unknown = blind.min(window).as_ps() as f64 / window.as_ps().max(1) as f64;
    (unknown > UNHEDGED).then(|| Doubt::LateHedges {
        workload: name.to_owned(),
        known_after_ns: known_after.as_ns(),
        unknown,
    })
}

/// The recorded requests that are not within the spans that cause them.
fn outside(workload: &Workload) -> Option<Doubt> {
    let WorkloadKind::Spans(spans) = &workload.kind else {
        return None;
    };
    let requests = spans
        .queries
        .iter()
        .map(|query| query.nodes.len() as u64 - 1);
    (spans.outside > 0).then(|| Doubt::SpansOutside {
        workload: workload.name.clone(),
        requests: spans.outside,
        of: requests.sum(),
    })
}

/// Whether some ports of switches cannot mark, though a transport waits for marks.
fn never_marks(scenario: &Scenario, network: &Network, used: &[&Transport]) -> Option<Doubt> {
    let waits = |transport: &&&Transport| match &transport.protocol {
        Protocol::Tcp(config) => config.congestion_control.uses_marks(),
        Protocol::D3(_) => false,
    };
    let waiting: Vec<&Transport> = used.iter().filter(waits).copied().collect();
    let packet = waiting
        .iter()
        .map(|it| it.protocol.largest_packet(u64::MAX))
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
                let finds = found(scenario.switch.buffer, packet)?.packets;
                let shown = (format!("{threshold} packets"), format!("{finds} packets"));
                (u64::from(threshold) > finds).then_some(shown)?
            }
            Limit::Bytes(threshold) => {
                let finds = found(scenario.switch.buffer, packet)?.bytes;
                let shown = (format!("{threshold} B"), format!("{finds} B"));
                (threshold > finds).then_some(shown)?
            }
        };
        Some(Doubt::NeverMarks {
            transports: waiting.iter().map(|it| it.name.clone()).collect(),
            rate_bps: rate.as_bps(),
            threshold,
            finds,
        })
    })
}

/// What a port holds, in full packets and in bytes.
struct Held {
    packets: u64,
    bytes: u64,
}

/// The most that a full packet of `packet` bytes finds in a port that takes it in, all other ports of the switch being
/// empty and all packets full; `None` without a limit.
fn found(buffer: Buffer, packet: u64) -> Option<Held> {
    let in_bytes = |bytes: u64| Held {
        packets: bytes / packet,
        bytes,
    };
    Some(match buffer {
        Buffer::Unlimited => return None,
        Buffer::Static(Amount::Packets(packets)) => Held {
            packets: u64::from(packets) - 1,
            bytes: (u64::from(packets) - 1) * packet,
        },
        Buffer::Static(Amount::Bytes(bytes)) => in_bytes(bytes.saturating_sub(packet)),
        // The packet fits where queue + packet ≤ alpha × (pool − queue), and into what is free.
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

    /// The most bytes that a packet of 1500 B finds in a port that takes it in, of packets that all come at once.
    fn by_filling(buffer: Buffer) -> u64 {
        let port = Port::new(Rate::from_gbps(1), Span::ZERO);
        let mut ports = [match buffer {
            Buffer::Static(amount) => port.with_limit(crate::limit_of(amount)),
            _ => port,
        }];
        let mut pool = match buffer {
            Buffer::Dynamic { pool, alpha } => Some(SharedBuffer::new(pool.0, alpha, vec![0])),
            _ => None,
        };
        let mut taken = 0;
        loop {
            let offer = match &mut pool {
                Some(pool) => pool.offer(&mut ports, 0, Time::ZERO, Full),
                None => ports[0].offer(Time::ZERO, Full),
            };
            if offer == Offer::Dropped {
                return (taken - 1) * 1_500;
            }
            taken += 1;
        }
    }

    #[test]
    fn what_a_packet_finds_at_most_is_what_a_port_holds() {
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
            let held = found(buffer, 1_500).expect("a limit");
            let filled = by_filling(buffer);
            assert!(
                (filled..filled + 1_500).contains(&held.bytes) && held.packets == filled / 1_500,
                "{buffer:?}: {} B, {} packets, filled {filled} B",
                held.bytes,
                held.packets
            );
        }
        assert!(found(Buffer::Unlimited, 1_500).is_none());
    }
}
