//! Goodput and timeouts of selective acknowledgements, RACK, tail loss probes and Linux's profile, compared with
//! NewReno under random loss and in incasts.

use crate::lab::{star, trace, workload};
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp::{self, Recovery};
use duetime_proto::window::{CongestionControl, Cubic};
use duetime_results::FlowRecord;
use duetime_scenario::model::{
    Amount, Buffer, Deadline, Protocol, Scenario, Size, Topology, TraceFlow, WorkloadKind,
};
use duetime_sim::Options;

/// Returns the compared recoveries; all use Linux's windows, acknowledgements and timers, but a minimum timeout of 10
/// ms.
fn styles() -> [(&'static str, tcp::Config); 4] {
    let newreno = tcp::Config {
        initial_window: 10,
        slow_start_limit: 1_000,
        rto_initial: Span::from_secs(1),
        quick_ack: 16,
        ..tcp::Config::default()
    };
    let sack = tcp::Config {
        recovery: Recovery::Sack,
        rate_reduction: true,
        ..newreno
    };
    let rack = tcp::Config {
        rack: true,
        tail_loss_probe: true,
        ..sack
    };
    let cubic = CongestionControl::Cubic(Cubic {
        hystart: true,
        ..Cubic::default()
    });
    let with_cubic = tcp::Config {
        congestion_control: cubic,
        ..rack
    };
    [
        ("NewReno", newreno),
        ("SACK", sack),
        ("RACK-TLP", rack),
        ("with CUBIC", with_cubic),
    ]
}

/// Compared minimum timeouts: the papers' and Linux's.
const TIMEOUTS: [Span; 2] = [Span::from_ms(10), Span::from_ms(200)];

fn scenario(hosts: u32, config: tcp::Config) -> Scenario {
    let rate = Rate::from_gbps(1);
    let protocol = Protocol::Tcp(config);
    let mut scenario = star(
        hosts,
        rate,
        Span::from_us(20),
        protocol,
        Span::from_secs(10),
    );
    scenario.drain = Span::from_secs(3_000);
    scenario
}

fn flows(scenario: &Scenario, repetition: u64) -> Vec<FlowRecord> {
    let output = duetime_sim::run(scenario, 0, repetition, &Options::default());
    let flows = output.expect("a valid scenario").records.flows;
    assert!(flows.iter().all(|flow| flow.finish.is_some()));
    flows
}

/// Mean goodput per flow while active, and the timeouts and retransmissions of all flows.
#[derive(Clone, Copy, Debug)]
struct Measurements {
    goodput_mbps: f64,
    timeouts: u32,
    retransmits: u32,
}

impl Measurements {
    fn new(flows: &[FlowRecord]) -> Self {
        let rate = |flow: &FlowRecord| {
            let seconds = flow.completion().expect("a finished flow").as_secs_f64();
            flow.size_bytes as f64 * 8e-6 / seconds
        };
        Self {
            goodput_mbps: flows.iter().map(rate).sum::<f64>() / flows.len() as f64,
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            retransmits: flows.iter().map(|flow| flow.retransmits).sum(),
        }
    }
}

/// Runs eight flows of 10 MB between disjoint pairs of hosts, whose paths lose the given share of packets.
fn under_loss(config: tcp::Config, path_loss: f64) -> Measurements {
    const PAIRS: u32 = 8;
    let mut scenario = scenario(2 * PAIRS, config);
    if let Topology::Star { link, .. } = &mut scenario.topology {
        link.loss = path_loss / 2.0; // two links each way
    }
    let flow = |pair| TraceFlow {
        start: Span::ZERO,
        source: pair,
        destination: PAIRS + pair,
        size: Bytes(10_000_000),
        deadline: None,
    };
    scenario.workloads = vec![trace((0..PAIRS).map(flow).collect())];
    Measurements::new(&flows(&scenario, 0))
}

#[test]
fn rack_copes_best_with_random_loss() {
    println!(
        "Eight flows of 10 MB at 1 Gbps, round trip 83 us: goodput of a flow in Mbps, timeouts of all flows, \
         retransmissions:"
    );
    println!("| RTOmin | lost | NewReno | SACK | RACK-TLP | with CUBIC |");
    println!("|---|---|---|---|---|---|");
    let mut sums = [0; 4];
    for rto_min in TIMEOUTS {
        for loss in [0.001, 0.003, 0.01, 0.03, 0.05] {
            let figures = styles().map(|(_, style)| {
                let config = tcp::Config { rto_min, ..style };
                under_loss(config, loss)
            });
            let cells = figures.map(|measurements| {
                let Measurements {
                    goodput_mbps,
                    timeouts,
                    retransmits,
                } = measurements;
                format!("{goodput_mbps:.1}, {timeouts}, {retransmits}")
            });
            println!("| {rto_min} | {} % | {} |", loss * 100.0, cells.join(" | "));
            let [newreno, _, rack, _] = figures;
            assert!(rack.timeouts <= newreno.timeouts, "{loss}: {figures:?}");
            // With few losses, every recovery fills the link.
            let min_share = if loss < 0.01 { 0.98 } else { 1.0 };
            let share = rack.goodput_mbps / newreno.goodput_mbps;
            assert!(share > min_share, "{loss}: {figures:?}");
            for (sum, figures) in sums.iter_mut().zip(figures) {
                *sum += figures.timeouts;
            }
        }
    }
    assert!(4 * sums[2] < sums[0] && sums[2] < sums[1], "{sums:?}");
}

/// Runs simultaneous flows into a port of 100 packets and returns the flows with a timeout, the timeouts, and the mean
/// over repetitions of the slowest flow's completion in ms.
fn incast(config: tcp::Config, senders: u32, size: u64) -> (usize, u32, f64) {
    const REPETITIONS: u64 = 10;
    let mut scenario = scenario(senders + 1, config);
    scenario.switch.buffer = Buffer::Static(Amount::Packets(100));
    scenario.workloads = vec![workload(
        "incast",
        WorkloadKind::Burst {
            senders,
            receiver: Some(0),
            from: None,
            size: Size::Fixed(Bytes(size)),
            deadline: Deadline::None,
            at: Span::ZERO,
            repeat: 1,
            every: Span::from_secs(1),
            jitter: Span::ZERO,
        },
    )];
    let (mut affected, mut timeouts, mut slowest) = (0, 0, 0.0);
    for repetition in 0..REPETITIONS {
        let flows = flows(&scenario, repetition);
        affected += flows.iter().filter(|flow| flow.timeouts > 0).count();
        timeouts += Measurements::new(&flows).timeouts;
        let last = flows.iter().filter_map(FlowRecord::completion).max();
        slowest += last.expect("flows").as_secs_f64() * 1e3;
    }
    (affected, timeouts, slowest / REPETITIONS as f64)
}

#[test]
fn rack_reduces_incast_timeouts() {
    println!(
        "Flows into 100 packets at 1 Gbps, ten repetitions: flows with a timeout, timeouts, slowest flow in ms:"
    );
    println!("| RTOmin | flows | NewReno | SACK | RACK-TLP | with CUBIC |");
    println!("|---|---|---|---|---|---|");
    let mut sums = [0; 4];
    for rto_min in TIMEOUTS {
        for (senders, size) in [(16, 64_000), (40, 64_000), (16, 500_000), (40, 500_000)] {
            let figures = styles().map(|(_, style)| {
                let config = tcp::Config { rto_min, ..style };
                incast(config, senders, size)
            });
            let cells = figures.map(|(affected, timeouts, slowest)| {
                format!("{affected}, {timeouts}, {slowest:.1}")
            });
            let size = size / 1_000;
            println!(
                "| {rto_min} | {senders} × {size} KB | {} |",
                cells.join(" | ")
            );
            let [newreno, _, rack, _] = figures.map(|figure| figure.1);
            assert!(rack <= newreno, "{senders} × {size} KB: {figures:?}");
            for (sum, figures) in sums.iter_mut().zip(figures) {
                *sum += figures.1;
            }
        }
    }
    assert!(10 * sums[2] < 7 * sums[0], "{sums:?}");
}
