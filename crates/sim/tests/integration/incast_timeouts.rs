//! Effect of limited transmit (RFC 3042) on incasts: flows of 64 KB that meet at a port of 100 packets.

use crate::lab::{star, workload};
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp;
use duetime_results::{FlowEventKind, FlowRecord, Timer};
use duetime_scenario::model::{Amount, Buffer, Deadline, Protocol, Scenario, Size, WorkloadKind};
use duetime_sim::{Options, Watch};

const REPETITIONS: u64 = 10;

fn incast(flows: u32, initial_window: u32, delayed_ack: u32, limited_transmit: bool) -> Scenario {
    let protocol = Protocol::Tcp(tcp::Config {
        initial_window,
        delayed_ack,
        limited_transmit,
        ..tcp::Config::default()
    });
    let second = Span::from_secs(1);
    let mut scenario = star(
        flows + 1,
        Rate::from_gbps(1),
        Span::from_us(20),
        protocol,
        second,
    );
    scenario.drain = second * 20;
    scenario.host.send_jitter = Span::from_ns(1); // the default of scenarios
    scenario.switch.buffer = Buffer::Static(Amount::Packets(100));
    scenario.workloads = vec![workload(
        "incast",
        WorkloadKind::Burst {
            senders: flows,
            receiver: Some(0),
            from: None,
            size: Size::Fixed(Bytes(64_000)),
            deadline: Deadline::None,
            at: Span::ZERO,
            repeat: 1,
            every: second,
            jitter: Span::ZERO,
        },
    )];
    scenario
}

fn flows(scenario: &Scenario, repetition: u64) -> Vec<FlowRecord> {
    let output = duetime_sim::run(scenario, 0, repetition, &Options::default());
    let flows = output.expect("a valid scenario").records.flows;
    assert!(flows.iter().all(|flow| flow.finish.is_some()));
    flows
}

/// Cause of a flow's first timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Nothing that was in flight arrived, so only the timer could detect the loss.
    WholeWindow,
    /// One or two duplicate acknowledgements arrived, too few for a fast retransmit.
    FewDuplicates,
    /// The third duplicate arrived, but the retransmission was lost too, or repairing all losses took longer than the
    /// timer.
    RepairLost,
}

fn cause(scenario: &Scenario, repetition: u64, flow: u64) -> Cause {
    let options = Options {
        watch: Watch::flow(flow),
        ..Options::default()
    };
    let output = duetime_sim::run(scenario, 0, repetition, &options).expect("a valid scenario");
    let events = output.traces.into_iter().flat_map(|trace| trace.events);
    let (mut highest, mut duplicates) = (0, 0);
    for event in events {
        match event.what {
            FlowEventKind::Acked { seq } if seq > highest => (highest, duplicates) = (seq, 0),
            FlowEventKind::Acked { .. } => duplicates += 1,
            FlowEventKind::Timer(Timer::Handshake | Timer::Retransmission) => {
                return match duplicates {
                    0 => Cause::WholeWindow,
                    1 | 2 => Cause::FewDuplicates,
                    _ => Cause::RepairLost,
                };
            }
            _ => {}
        }
    }
    panic!("the trace of a flow with a timeout must contain it");
}

#[derive(Default)]
struct Cell {
    /// Flows with a timeout, without and with limited transmit.
    hit: [usize; 2],
    timeouts: [u32; 2],
    /// Flows by the cause of their first timeout.
    whole: [usize; 2],
    few: [usize; 2],
    repair: [usize; 2],
    /// Completion time of the slowest flow in milliseconds, summed over the repetitions.
    slowest: [f64; 2],
}

fn measure(senders: u32, initial_window: u32, delayed_ack: u32) -> Cell {
    let mut cell = Cell::default();
    for (which, limited_transmit) in [false, true].into_iter().enumerate() {
        let scenario = incast(senders, initial_window, delayed_ack, limited_transmit);
        for repetition in 0..REPETITIONS {
            let flows = flows(&scenario, repetition);
            for flow in flows.iter().filter(|flow| flow.timeouts > 0) {
                cell.hit[which] += 1;
                cell.timeouts[which] += flow.timeouts;
                match cause(&scenario, repetition, flow.flow) {
                    Cause::WholeWindow => cell.whole[which] += 1,
                    Cause::FewDuplicates => cell.few[which] += 1,
                    Cause::RepairLost => cell.repair[which] += 1,
                }
            }
            let slowest = flows.iter().filter_map(FlowRecord::completion).max();
            cell.slowest[which] += slowest.expect("flows").as_secs_f64() * 1e3;
        }
    }
    cell
}

#[test]
fn limited_transmit_avoids_incast_timeouts() {
    println!(
        "Flows of 64 KB into 100 packets, {REPETITIONS} repetitions; without / with limited transmit, flows by the cause of their first timeout:"
    );
    println!(
        "| an acknowledgement for | initial window | flows | with a timeout | whole window lost | fewer than three duplicates | repair lost | slowest flow, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut broken = Vec::new();
    for delayed_ack in [1, 2] {
        let mut all = [0, 0];
        for (initial_window, senders) in [2, 10]
            .into_iter()
            .flat_map(|window| [16, 24, 32, 40].map(|senders| (window, senders)))
        {
            let cell = measure(senders, initial_window, delayed_ack);
            let ms = cell.slowest.map(|sum| sum / REPETITIONS as f64);
            println!(
                "| {delayed_ack} | {initial_window} | {senders} | {} / {} | {} / {} | {} / {} | {} / {} | {:.1} / {:.1} |",
                cell.hit[0],
                cell.hit[1],
                cell.whole[0],
                cell.whole[1],
                cell.few[0],
                cell.few[1],
                cell.repair[0],
                cell.repair[1],
                ms[0],
                ms[1],
            );
            all = [all[0] + cell.hit[0], all[1] + cell.hit[1]];
            // Cells with fewer than 10 of 160 flows are not significant.
            let more = cell.hit[1] > cell.hit[0].max(9);
            let left = cell.few[1] * 2 > cell.few[0].max(9);
            if more || left {
                broken.push((delayed_ack, initial_window, senders));
            }
        }
        println!(
            "| {delayed_ack} | both | all | {} / {} | | | | |",
            all[0], all[1]
        );
        assert!(all[1] * 10 <= all[0] * 8, "{all:?}");
    }
    assert!(
        broken.is_empty(),
        "more flows with a timeout than expected with limited transmit: {broken:?}"
    );
}
