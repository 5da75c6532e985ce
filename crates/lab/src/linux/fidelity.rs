//! Whether a run can be believed: was there processor time enough that the network and the applications were on time?

use duetime_core::{Span, Time};
use duetime_scenario::Scenario;
use duetime_sim::topology::Network;
use duetime_switch::{D3Report, Report};
use serde::{Deserialize, Serialize};

use crate::linux::lateness::LatenessSummary;
use crate::linux::thread::Shares;
use crate::linux::traffic::Left;
use crate::linux::tuning::Refused;

/// Share of the time that a thread may wait for a processor.
const MOST_WAITING: f64 = 0.05;
/// Share of the time that a thread may run: beyond it there is nothing left for what comes at once.
const MOST_RUNNING: f64 = 0.9;
/// Lateness that is allowed to one packet in a hundred and to one wake-up in a hundred: as many full packets on the
/// slowest link, or a base round trip where that is longer.
const LATE_PACKETS: u64 = 4;
/// One packet in a hundred may be read after later things have happened by more than this part of the time that a full
/// packet takes on the slowest link. Hosts that send within microseconds of each other, as D3's do when their timers
/// agree, are read in either order.
const BEHIND_PART: u64 = 4;

/// What a run says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// The transport's name.
    pub transport: String,
    /// The run's number.
    pub run: u64,
    /// Attempts before this one that were invalid.
    pub repeated: u32,
    /// Why the run is invalid; empty: it is valid.
    pub invalid: Vec<String>,
    /// Wall time of the run, s.
    pub seconds: f64,
    /// Share of all processors of the machine that was busy, other programs included.
    pub processors_busy: f64,
    /// The thread of all applications.
    pub applications: Shares,
    /// The thread of the switch.
    pub switch: Shares,
    /// How late the workloads' wake-ups were.
    pub wake_lateness: LatenessSummary,
    /// How late the switch sent packets.
    pub switch_lateness: LatenessSummary,
    /// The largest lateness that one in a hundred of both may have, µs.
    pub allowed_lateness_us: f64,
    /// Packets that the switch read late, behind others; and the most by which one was, µs.
    pub behind: (u64, f64),
    /// What one in a hundred packets exceeded by which it was behind, µs.
    pub behind_p99_us: f64,
    /// The largest that this may be, µs.
    pub allowed_behind_us: f64,
    /// Packets lost where the scenario loses none: in the kernel's ring, for want of memory, at interfaces.
    pub lost: u64,
    /// Packets longer than a frame: an offload was on.
    pub too_long: u64,
    /// Packets that found the marking threshold reached, and those of them that could be marked and were.
    pub marks_asked: u64,
    /// Packets that were marked.
    pub marks_made: u64,
    /// The link that carried most for its rate: its name, and its mean rate over the run, bit/s.
    pub busiest_link: (String, f64),
    /// Its capacity, bit/s.
    pub busiest_capacity: f64,
    /// Connections opened.
    pub connections: u64,
    /// Of the connections whose controller answers marks: those that agreed on ECN.
    pub with_ecn: (u64, u64),
    /// Deadlines given to the kernel.
    pub deadlines_set: u64,
    /// Every port whose D3 allocator was asked for a rate, hosts' uplinks first; empty under other transports.
    pub d3: Vec<D3Port>,
    /// What the kernel does not do as the scenario asks.
    pub refused: Vec<Refused>,
    /// Connections that failed.
    pub failures: Vec<String>,
}

/// A port with a D3 allocator: N, D, A, C and its requests. Hosts do not count the requests at their uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct D3Port {
    /// `from->to`.
    pub link: String,
    /// At the end of the measurement window, where flows go on beyond it; otherwise after the run.
    pub at_end: D3Report,
    /// After the run, when all of its flows have ended or have been given up: N, D and A should be zero.
    pub after: D3Report,
}

/// What was measured of a run.
pub struct Measured<'a> {
    /// The scenario, scaled.
    pub scenario: &'a Scenario,
    /// Its network.
    pub network: &'a Network,
    /// The switch's last report.
    pub report: &'a Report,
    /// What the applications left.
    pub left: &'a Left,
    /// The thread of all applications.
    pub applications: Shares,
    /// The thread of the switch.
    pub switch: Shares,
    /// Share of all processors that was busy.
    pub processors_busy: f64,
    /// What the kernel refused.
    pub refused: &'a [Refused],
    /// The switch's report at the end of the measurement window, where flows go on beyond it.
    pub window_end: Option<&'a Report>,
}

impl Fidelity {
    /// Judges a run of a transport.
    pub fn of(transport: &str, run: u64, repeated: u32, of: &Measured<'_>) -> Self {
        let Measured {
            report,
            left,
            network,
            ..
        } = of;
        let seconds = left.end.since(Time::ZERO).as_secs_f64();
        let allowed = allowed_lateness(network);
        let us = |ns: u64| ns as f64 / 1e3;
        let sum = |what: fn(&duetime_switch::InterfaceReport) -> u64| -> u64 {
            report.interfaces.iter().map(what).sum()
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
            processors_busy: of.processors_busy,
            applications: of.applications,
            switch: of.switch,
            wake_lateness: left.lateness.summary(),
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
            lost: report.kernel_drops + sum(|of| of.unsent + of.no_buffer + of.runts),
            too_long: sum(|of| of.too_long),
            marks_asked: report.ports.iter().map(|port| port.marks_asked).sum(),
            marks_made: report.ports.iter().map(|port| port.marks_made).sum(),
            busiest_link: (name, rate),
            busiest_capacity: capacity,
            connections: left.connections,
            with_ecn: (left.with_ecn, left.asked_for_ecn),
            deadlines_set: left.deadlines_set,
            d3: d3_ports(of),
            refused: of.refused.to_vec(),
            failures: left.failures.clone(),
        };
        fidelity.invalid = fidelity.too_late();
        fidelity.invalid.extend(fidelity.not_as_asked());
        fidelity
    }

    /// Whether its results may be reported.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Whether the machine gave too little processor time. A quieter machine may give a valid run.
    pub fn is_late(&self) -> bool {
        !self.too_late().is_empty()
    }

    fn too_late(&self) -> Vec<String> {
        let mut invalid = Vec::new();
        for (name, shares) in [("applications", self.applications), ("switch", self.switch)] {
            if shares.waited > MOST_WAITING {
                invalid.push(format!(
                    "the thread of the {name} waited {:.1} % of the time for a processor; at most {:.0} %",
                    shares.waited * 100.0,
                    MOST_WAITING * 100.0
                ));
            }
            if shares.ran > MOST_RUNNING {
                invalid.push(format!(
                    "the thread of the {name} ran {:.1} % of the time; at most {:.0} %",
                    shares.ran * 100.0,
                    MOST_RUNNING * 100.0
                ));
            }
        }
        let allowed = self.allowed_lateness_us;
        for (what, lateness) in [
            ("wake-ups of the workloads", self.wake_lateness),
            ("packets from the switch", self.switch_lateness),
        ] {
            if lateness.p99_us > allowed {
                invalid.push(format!(
                    "one in a hundred {what} was late by {:.0} us or more; at most {allowed:.0} us",
                    lateness.p99_us
                ));
            }
        }
        if self.behind_p99_us > self.allowed_behind_us {
            invalid.push(format!(
                "the switch read one in a hundred packets behind others by {:.0} us or more; at most {:.0} us",
                self.behind_p99_us, self.allowed_behind_us
            ));
        }
        invalid
    }

    fn not_as_asked(&self) -> Vec<String> {
        let mut invalid = Vec::new();
        if self.lost > 0 {
            invalid.push(format!(
                "{} packets were lost outside the scenario's buffers",
                self.lost
            ));
        }
        if self.too_long > 0 {
            invalid.push(format!(
                "{} packets were longer than a frame: an offload was on",
                self.too_long
            ));
        }
        let (with, asked) = self.with_ecn;
        if with < asked {
            invalid.push(format!(
                "{} of {asked} connections did not agree on ECN",
                asked - with
            ));
        }
        if let Some(failure) = self.failures.first() {
            invalid.push(format!("connections failed: {failure}"));
        }
        invalid
    }
}

fn d3_ports(of: &Measured<'_>) -> Vec<D3Port> {
    let Measured {
        network,
        report,
        left,
        window_end,
        ..
    } = of;
    let [at_end, after] = left.uplinks.clone().unwrap_or_default();
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
        let before = window_end.and_then(|of| of.ports.iter().find(|it| it.name == port.name));
        ports.push(D3Port {
            link: port.name.clone(),
            at_end: before.and_then(|before| before.d3).unwrap_or(after),
            after,
        });
    }
    ports
}

/// The time of so many bytes on the slowest link.
fn slowest(network: &Network, bytes: u64) -> Span {
    let slowest = network.links.iter().map(|link| link.rate).min();
    slowest.map_or(Span::ZERO, |rate| rate.transmit(bytes))
}

fn allowed_behind(network: &Network) -> Span {
    slowest(network, 1500 / BEHIND_PART)
}

/// The largest lateness that one in a hundred may have.
fn allowed_lateness(network: &Network) -> Span {
    let packets = slowest(network, 1500 * LATE_PACKETS);
    let latency = network.links.iter().map(|link| link.latency).max();
    let round_trip = latency.unwrap_or_default() * u64::from(2 * network.longest_path());
    packets.max(round_trip)
}
