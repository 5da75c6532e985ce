//! Validity of a run: network and applications must have had enough processor time.

use duetime_core::{Span, Time};
use duetime_scenario::Scenario;
use duetime_sim::topology::Network;
use duetime_switch::{D3Report, Report};
use serde::{Deserialize, Serialize};

use crate::linux::lateness::LatenessSummary;
use crate::linux::thread::Shares;
use crate::linux::traffic::Results;
use crate::linux::tuning::Refused;

/// Maximum share of the time that a thread may wait for a processor.
const MAX_WAITING: f64 = 0.05;
/// Maximum share of the time that a thread may run; beyond it, simultaneous events cannot be processed in time.
const MAX_RUNNING: f64 = 0.9;
/// Lateness that 1 % of packets and 1 % of wake-ups may exceed, in full packets on the slowest link; at least a base
/// round trip.
const LATE_PACKETS: u64 = 4;
/// 1 % of packets may be read after later events by more than this fraction of a full packet's time on the slowest
/// link. Hosts that send within microseconds of each other, as with D3's timers, are read in either order.
const BEHIND_PART: u64 = 4;

/// Fidelity report of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Transport name.
    pub transport: String,
    /// Run number.
    pub run: u64,
    /// Number of earlier invalid attempts.
    pub repeated: u32,
    /// Reasons for which the run is invalid; empty if it is valid.
    pub invalid: Vec<String>,
    /// Wall time of the run, in seconds.
    pub seconds: f64,
    /// Share of all processors that was busy, including other programs.
    pub processors_busy: f64,
    /// Shares of the applications' thread.
    pub applications: Shares,
    /// Shares of the switch's thread.
    pub switch: Shares,
    /// Lateness of the workloads' wake-ups.
    pub wake_lateness: LatenessSummary,
    /// Lateness of the switch's transmissions.
    pub switch_lateness: LatenessSummary,
    /// Limit of the lateness that 1 % of both may exceed, in µs.
    pub allowed_lateness_us: f64,
    /// Number of packets that the switch read after later events, and the maximum delay, in µs.
    pub behind: (u64, f64),
    /// Delay that 1 % of packets exceeded, in µs.
    pub behind_p99_us: f64,
    /// Limit of this delay, in µs.
    pub allowed_behind_us: f64,
    /// Packets lost where the scenario has no loss: in the kernel's ring, for lack of buffers, at interfaces.
    pub lost: u64,
    /// Packets longer than a frame, because an offload was enabled.
    pub too_long: u64,
    /// Packets that found the marking threshold reached.
    pub marks_asked: u64,
    /// Packets that were marked.
    pub marks_made: u64,
    /// Link with the highest utilisation, and its mean rate over the run in bit/s.
    pub busiest_link: (String, f64),
    /// Capacity of that link, in bit/s.
    pub busiest_capacity: f64,
    /// Connections opened.
    pub connections: u64,
    /// Connections with ECN, among those whose controller reacts to marks, and the number of the latter.
    pub with_ecn: (u64, u64),
    /// Deadlines passed to the kernel.
    pub deadlines_set: u64,
    /// Ports whose D3 allocator received requests, hosts' uplinks first; empty under other transports.
    pub d3: Vec<D3Port>,
    /// Settings of the scenario that the kernel does not support.
    pub refused: Vec<Refused>,
    /// Connection failures.
    pub failures: Vec<String>,
}

/// Port with a D3 allocator: N, D, A, C and requests. Hosts do not count the requests at their uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct D3Port {
    /// Name, `from->to`.
    pub link: String,
    /// State at the end of the measurement window if flows continue after it, otherwise after the run.
    pub at_end: D3Report,
    /// State after the run, when all flows have ended or been abandoned: N, D and A should be zero.
    pub after: D3Report,
}

/// Measurements of a run.
pub struct Measured<'a> {
    /// Scaled scenario.
    pub scenario: &'a Scenario,
    /// Network of the scenario.
    pub network: &'a Network,
    /// Final report of the switch.
    pub report: &'a Report,
    /// Results of the applications.
    pub results: &'a Results,
    /// Shares of the applications' thread.
    pub applications: Shares,
    /// Shares of the switch's thread.
    pub switch: Shares,
    /// Share of all processors that was busy.
    pub processors_busy: f64,
    /// Settings that the kernel does not support.
    pub refused: &'a [Refused],
    /// Report of the switch at the end of the measurement window, if flows continue after it.
    pub window_end: Option<&'a Report>,
}

impl Fidelity {
    /// Checks a run of a transport.
    pub fn of(transport: &str, run: u64, repeated: u32, measured: &Measured<'_>) -> Self {
        let Measured {
            report,
            results,
            network,
            ..
        } = measured;
        let seconds = results.end.since(Time::ZERO).as_secs_f64();
        let allowed = allowed_lateness(network);
        let us = |ns: u64| ns as f64 / 1e3;
        let sum = |field: fn(&duetime_switch::InterfaceReport) -> u64| -> u64 {
            report.interfaces.iter().map(field).sum()
        };
        let busiest = network
            .links
            .iter()
            .enumerate()
            .filter_map(|(number, link)| {
                let name = network.link_name(number as u32);
                let port = report.ports.iter().find(|port| port.name == name)?;
                let rate = (port.bytes * 8) as f64 / seconds.max(f64::MIN_POSITIVE);
                Some((name, rate, link.rate.as_bps() as f64))
            })
            .max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
        let (name, rate, capacity) = busiest.unwrap_or_default();
        let lateness = report.lateness;
        let mut fidelity = Self {
            transport: transport.to_owned(),
            run,
            repeated,
            invalid: Vec::new(),
            seconds,
            processors_busy: measured.processors_busy,
            applications: measured.applications,
            switch: measured.switch,
            wake_lateness: results.lateness.summary(),
            switch_lateness: LatenessSummary {
                count: lateness.packets,
                p50_us: us(lateness.p50_ns),
                p99_us: us(lateness.p99_ns),
                max_us: us(lateness.max_ns),
            },
            allowed_lateness_us: allowed.as_ps() as f64 / 1e6,
            behind: (report.behind_packets, us(report.behind_max_ns)),
            behind_p99_us: us(report.behind_p99_ns),
            allowed_behind_us: allowed_behind(network).as_ps() as f64 / 1e6,
            lost: report.kernel_drops
                + sum(|interface| interface.unsent + interface.no_buffer + interface.runts),
            too_long: sum(|interface| interface.too_long),
            marks_asked: report.ports.iter().map(|port| port.marks_asked).sum(),
            marks_made: report.ports.iter().map(|port| port.marks_made).sum(),
            busiest_link: (name, rate),
            busiest_capacity: capacity,
            connections: results.connections,
            with_ecn: (results.with_ecn, results.asked_for_ecn),
            deadlines_set: results.deadlines_set,
            d3: d3_ports(measured),
            refused: measured.refused.to_vec(),
            failures: results.failures.clone(),
        };
        fidelity.invalid = fidelity.timing_errors();
        fidelity.invalid.extend(fidelity.network_errors());
        fidelity
    }

    /// Returns true if the results may be reported.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Returns true if the machine provided too little processor time, so that an idle machine may give a valid run.
    pub fn is_late(&self) -> bool {
        !self.timing_errors().is_empty()
    }

    fn timing_errors(&self) -> Vec<String> {
        let mut invalid = Vec::new();
        for (name, shares) in [("applications", self.applications), ("switch", self.switch)] {
            if shares.waited > MAX_WAITING {
                invalid.push(format!(
                    "the {name} thread waited for a processor {:.1} % of the time; limit {:.0} %",
                    shares.waited * 100.0,
                    MAX_WAITING * 100.0
                ));
            }
            if shares.ran > MAX_RUNNING {
                invalid.push(format!(
                    "the {name} thread was busy {:.1} % of the time; limit {:.0} %",
                    shares.ran * 100.0,
                    MAX_RUNNING * 100.0
                ));
            }
        }
        let allowed = self.allowed_lateness_us;
        for (label, lateness) in [
            ("wake-ups of the workloads", self.wake_lateness),
            ("packets from the switch", self.switch_lateness),
        ] {
            if lateness.p99_us > allowed {
                invalid.push(format!(
                    "1 % of {label} were late by at least {:.0} us; limit {allowed:.0} us",
                    lateness.p99_us
                ));
            }
        }
        if self.behind_p99_us > self.allowed_behind_us {
            invalid.push(format!(
                "the switch read 1 % of packets at least {:.0} us after later events; limit {:.0} us",
                self.behind_p99_us, self.allowed_behind_us
            ));
        }
        invalid
    }

    fn network_errors(&self) -> Vec<String> {
        let mut invalid = Vec::new();
        if self.lost > 0 {
            invalid.push(format!(
                "{} packets were lost outside the scenario's buffers",
                self.lost
            ));
        }
        if self.too_long > 0 {
            invalid.push(format!(
                "{} packets were longer than a frame: an offload was enabled",
                self.too_long
            ));
        }
        let (with, total) = self.with_ecn;
        if with < total {
            invalid.push(format!(
                "{} of {total} connections did not negotiate ECN",
                total - with
            ));
        }
        if let Some(failure) = self.failures.first() {
            invalid.push(format!("connections failed: {failure}"));
        }
        invalid
    }
}

fn d3_ports(measured: &Measured<'_>) -> Vec<D3Port> {
    let Measured {
        network,
        report,
        results,
        window_end,
        ..
    } = measured;
    let [at_end, after] = results.uplinks.clone().unwrap_or_default();
    let uplinks = (0..network.hosts()).zip(at_end.into_iter().zip(after));
    let mut ports: Vec<D3Port> = uplinks
        .map(|(host, (at_end, after))| D3Port {
            link: network.link_name(network.uplink[host as usize]),
            at_end,
            after,
        })
        .filter(|port| port.at_end != port.after || port.after.flows > 0)
        .collect();
    for port in &report.ports {
        let Some(after) = port.d3.filter(|d3| d3.requests > 0) else {
            continue;
        };
        let before =
            window_end.and_then(|report| report.ports.iter().find(|other| other.name == port.name));
        ports.push(D3Port {
            link: port.name.clone(),
            at_end: before.and_then(|before| before.d3).unwrap_or(after),
            after,
        });
    }
    ports
}

/// Returns the transmission time of `bytes` on the slowest link.
fn slowest(network: &Network, bytes: u64) -> Span {
    let slowest = network.links.iter().map(|link| link.rate).min();
    slowest.map_or(Span::ZERO, |rate| rate.transmit(bytes))
}

fn allowed_behind(network: &Network) -> Span {
    slowest(network, 1500 / BEHIND_PART)
}

/// Returns the lateness that 1 % may exceed.
fn allowed_lateness(network: &Network) -> Span {
    let packets = slowest(network, 1500 * LATE_PACKETS);
    let latency = network.links.iter().map(|link| link.latency).max();
    let round_trip = latency.unwrap_or_default() * u64::from(2 * network.longest_path());
    packets.max(round_trip)
}
