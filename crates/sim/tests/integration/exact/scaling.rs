//! Time scaling: with all rates doubled and all times halved, every flow takes half its time, to the picosecond. For
//! D3, the quantum of its rates doubles (`scale`) and its update interval halves. A lost request waits for a fixed
//! millisecond at least, so D3 has unlimited buffers here.

use crate::common::*;
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span};
use duetime_proto::window::CongestionControl;
use duetime_proto::{d3, tcp};
use duetime_results::RunRecords;
use duetime_scenario::model::*;

/// Creates bursts from 12 hosts into one, with several sizes and deadlines, and long transfers between the others, with
/// drops, marks and timeouts. Rates are multiplied and times divided by `factor`.
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
        load_balancing: LoadBalancing::Flows,
    };
    let protocol = &mut scenario.transports[0].protocol;
    if let Protocol::Tcp(config) = protocol {
        *config = tcp::Config {
            rto_min: config.rto_min / factor,
            rto_initial: config.rto_initial / factor,
            rto_max: config.rto_max / factor,
            delayed_ack_timeout: config.delayed_ack_timeout / factor,
            ..*config
        };
    }
    if let Protocol::D3(config) = protocol {
        *config = config.with(|c| {
            c.wire.scale = Some(d3::Config::scale_for(Rate::from_gbps(factor)));
            c.router.update_interval = Some(config.interval() / factor);
            c.host.rto_min = config.host.rto_min / factor;
        });
        scenario.switch.buffer = Buffer::Unlimited;
    }
    scenario.duration = scenario.duration / factor;
    scenario.drain = Span::from_secs(60) / factor;
    scenario
}

#[test]
fn doubled_rates_halve_completion_times() {
    // CUBIC and HyStart++ have absolute times.
    let windows = transports().into_iter().filter(|transport| {
        matches!(transport.protocol, Protocol::Tcp(_)) && transport.name != "linux"
    });
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
            assert_half(&once, &twice, &transport.name);
            seen += 1;
        }
    }
    assert!(seen >= 6);
}

/// Uses grants that are sent as bursts, since the time between paced packets is rounded, and fixed port capacities,
/// since adaptation samples each port at a phase drawn in picoseconds, which does not halve. With phases that do halve,
/// D3 scales exactly with its default gains, too.
#[test]
fn d3_without_capacity_adaptation_scales() {
    for ignore_deadlines in [true, false] {
        let protocol = Protocol::D3(d3::Config::default().with(|c| {
            c.host.ignore_deadlines = ignore_deadlines;
            c.router.alpha_256 = 0;
            c.router.beta_256 = 0;
            c.host.pacing = false;
        }));
        let transport = Transport {
            name: "d3".into(),
            protocol,
            priorities: 1,
        };
        let (once, twice) = (scaled(&transport, 1), scaled(&transport, 2));
        let (once, twice) = (run(&once).records, run(&twice).records);
        let denials: u32 = once.flows.iter().map(|flow| flow.denials).sum();
        assert!(ignore_deadlines || denials > 100, "{denials} denials");
        assert_half(&once, &twice, "d3");
    }
}

/// Asserts that every flow took half as long the second time.
fn assert_half(once: &RunRecords, twice: &RunRecords, name: &str) {
    assert_eq!(once.flows.len(), twice.flows.len());
    for (one, half) in once.flows.iter().zip(&twice.flows) {
        let case = format!("{name}, flow {}", one.flow);
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
}
