//! No unit of time is built in: where all rates double and all times halve, every flow ends after half its time, to the
//! picosecond. D3 is left out: its rates are multiples of a quantum and its requests wait for a fixed time at least.

use crate::common::*;
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span};
use duetime_proto::tcp;
use duetime_proto::window::CongestionControl;
use duetime_scenario::model::*;

/// Bursts from 12 hosts into one, of several sizes and deadlines, and long transfers between the others, with drops,
/// marks and timeouts; rates are multiplied and times divided by `factor`.
fn scaled(transport: &Transport, factor: u64) -> Scenario {
    let mut draw = Streams::new(11, 0).stream(0, Purpose::Size);
    let mut list = Vec::new();
    for round in 0..8 {
        for sender in 1..=12 {
            let start = Span::from_ns(round * 3_000_000 + draw.below(20_000));
            let deadline = Span::from_ns(1_000_000 + draw.below(9_000_000));
            let bytes = draw.between(3_000, 90_000);
            let deadline = draw.chance(0.7).then_some(deadline / factor);
            list.push((start / factor, sender, 0, bytes, deadline));
        }
        list.push((Span::from_ms(round) / factor, 13, 14, 700_000, None));
        list.push((Span::from_ms(round) / factor, 14, 0, 400_000, None));
    }
    let topology = Topology::Star {
        hosts: 15,
        link: link(Rate::from_gbps(factor), Span::from_us(20) / factor),
    };
    let mut scenario = scenario(topology, transport.protocol.clone(), vec![flows(&list)]);
    scenario.transports = vec![transport.clone()];
    scenario.switch = Switch {
        buffer: Buffer::Static(Amount::Packets(60)),
        ecn_threshold: vec![(Rate::default(), Amount::Packets(20))],
    };
    if let Protocol::Tcp(config) = &mut scenario.transports[0].protocol {
        *config = tcp::Config {
            rto_min: config.rto_min / factor,
            rto_initial: config.rto_initial / factor,
            rto_max: config.rto_max / factor,
            delayed_ack_timeout: config.delayed_ack_timeout / factor,
            ..*config
        };
    }
    scenario.duration = scenario.duration / factor;
    scenario.drain = Span::from_secs(60) / factor;
    scenario
}

#[test]
fn twice_the_rates_and_half_the_times_give_half_the_completion_times() {
    let windows = transports()
        .into_iter()
        .filter(|transport| matches!(transport.protocol, Protocol::Tcp(_)));
    let mut seen = 0;
    for transport in windows {
        let prioritised = Transport {
            name: format!("{} in three classes", transport.name),
            priorities: 3,
            ..transport.clone()
        };
        for transport in [transport, prioritised] {
            let (once, twice) = (scaled(&transport, 1), scaled(&transport, 2));
            let (once, twice) = (run(&once).records, run(&twice).records);
            let timeouts: u32 = once.flows.iter().map(|flow| flow.timeouts).sum();
            let marks = once.ports.iter().map(|port| port.marks).sum::<u64>();
            if let Protocol::Tcp(config) = &transport.protocol {
                assert!(
                    config.congestion_control == CongestionControl::NewReno || marks > 100,
                    "{}: marks",
                    transport.name
                );
            }
            assert!(timeouts > 20, "{}: {timeouts} timeouts", transport.name);
            assert_eq!(once.flows.len(), twice.flows.len());
            for (one, half) in once.flows.iter().zip(&twice.flows) {
                let case = format!("{}, flow {}", transport.name, one.flow);
                assert_eq!(
                    (one.flow, one.timeouts),
                    (half.flow, half.timeouts),
                    "{case}"
                );
                let (one, half) = (
                    one.completion().expect(&case),
                    half.completion().expect(&case),
                );
                assert_eq!(one.as_ps(), 2 * half.as_ps(), "{case}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 6);
}
