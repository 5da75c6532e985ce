//! What selective acknowledgements, RACK, tail loss probes and Linux's profile are worth, beside NewReno: goodput and
//! timeouts under random loss, and in incasts.
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod lab;

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp::{self, Recovery};
use duetime_proto::window::{CongestionControl, Cubic};
use duetime_results::FlowRecord;
use duetime_scenario::model::{
    Amount, Buffer, Deadline, Protocol, Scenario, Size, Topology, TraceFlow, WorkloadKind,
};
use duetime_sim::Options;
use lab::{star, trace, workload};

/// All have the windows, acknowledgements and timers of Linux, but for a timeout of 10 ms, and differ in their recovery.
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

/// The shortest timeouts that are compared: the papers', and Linux's.
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
    let flows = output.expect("a sound scenario").records.flows;
    assert!(flows.iter().all(|flow| flow.finish.is_some()));
    flows
}

/// Mean goodput of a flow while it is active, in Mbps; timeouts and segments sent again, of all flows.
#[derive(Clone, Copy, Debug)]
struct Figures {
    goodput_mbps: f64,
    timeouts: u32,
    retransmits: u32,
}

impl Figures {
    fn of(flows: &[FlowRecord]) -> Self {
        let rate = |flow: &FlowRecord| {
            let took = flow.completion().expect("it has finished").as_secs_f64();
            flow.size_bytes as f64 * 8e-6 / took
        };
        Self {
            goodput_mbps: flows.iter().map(rate).sum::<f64>() / flows.len() as f64,
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            retransmits: flows.iter().map(|flow| flow.retransmits).sum(),
        }
    }
}

/// Eight flows of 10 MB between pairs of hosts of their own, on links that lose this share of the packets.
fn under_loss(config: tcp::Config, loss_of_path: f64) -> Figures {
    const PAIRS: u32 = 8;
    let mut scenario = scenario(2 * PAIRS, config);
    if let Topology::Star { link, .. } = &mut scenario.topology {
        link.loss = loss_of_path / 2.0; // two links each way
    }
    let flow = |pair| TraceFlow {
        start: Span::ZERO,
        source: pair,
        destination: PAIRS + pair,
        size: Bytes(10_000_000),
        deadline: None,
    };
    scenario.workloads = vec![trace((0..PAIRS).map(flow).collect())];
    Figures::of(&flows(&scenario, 0))
}

#[test]
fn losses_at_random_cost_less_goodput_and_fewer_timeouts() {
    println!(
        "Eight flows of 10 MB at 1 Gbps, round trip 83 us: goodput of a flow in Mbps, timeouts of all flows, segments sent again:"
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
            let cells = figures.map(|it| {
                let Figures {
                    goodput_mbps,
                    timeouts,
                    retransmits,
                } = it;
                format!("{goodput_mbps:.1}, {timeouts}, {retransmits}")
            });
            println!("| {rto_min} | {} % | {} |", loss * 100.0, cells.join(" | "));
            let [newreno, _, rack, _] = figures;
            assert!(rack.timeouts <= newreno.timeouts, "{loss}: {figures:?}");
            // With so few losses all fill the link.
            let least = if loss < 0.01 { 0.98 } else { 1.0 };
            let share = rack.goodput_mbps / newreno.goodput_mbps;
            assert!(share > least, "{loss}: {figures:?}");
            for (sum, figures) in sums.iter_mut().zip(figures) {
                *sum += figures.timeouts;
            }
        }
    }
    assert!(4 * sums[2] < sums[0] && sums[2] < sums[1], "{sums:?}");
}

/// Flows of this size that start together, into a port of 100 packets: those with a timeout, and the slowest, of so many
/// repetitions.
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
    let (mut hit, mut timeouts, mut slowest) = (0, 0, 0.0);
    for repetition in 0..REPETITIONS {
        let flows = flows(&scenario, repetition);
        hit += flows.iter().filter(|flow| flow.timeouts > 0).count();
        timeouts += Figures::of(&flows).timeouts;
        let last = flows.iter().filter_map(FlowRecord::completion).max();
        slowest += last.expect("flows").as_secs_f64() * 1e3;
    }
    (hit, timeouts, slowest / REPETITIONS as f64)
}

#[test]
fn incasts_have_fewer_timeouts() {
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
            let cells =
                figures.map(|(hit, timeouts, slowest)| format!("{hit}, {timeouts}, {slowest:.1}"));
            let size = size / 1_000;
            println!(
                "| {rto_min} | {senders} × {size} KB | {} |",
                cells.join(" | ")
            );
            let [newreno, _, rack, _] = figures.map(|it| it.1);
            assert!(rack <= newreno, "{senders} × {size} KB: {figures:?}");
            for (sum, figures) in sums.iter_mut().zip(figures) {
                *sum += figures.1;
            }
        }
    }
    assert!(10 * sums[2] < 7 * sums[0], "{sums:?}");
}
