//! Receive delays of hosts: every packet is later by exactly the delay, in order.

use crate::common::*;
use duetime_core::{Span, Time};
use duetime_proto::tcp;
use duetime_scenario::model::*;
use duetime_sim::{Death, Faults, Options};

const DELAY: Span = Span::from_us(7);

/// Returns TCP that sends `segments` at once and has long timeouts.
fn window(segments: u32) -> Protocol {
    Protocol::Tcp(tcp::Config {
        initial_window: segments,
        rto_min: Span::from_secs(1),
        rto_initial: Span::from_secs(1),
        ..*newreno().window_options().expect("TCP")
    })
}

/// Creates flows of these sizes from one host over a switch to the other, each starting `apart` after the previous one.
fn ping(protocol: Protocol, sizes: &[u64], apart: Span) -> Scenario {
    let list = sizes.iter().zip(0u64..);
    let list: Vec<_> = list
        .map(|(&bytes, number)| (apart * number, 0, 1, bytes, None))
        .collect();
    scenario(chain(&[gigabit(); 2]), protocol, vec![flows(&list)])
}

fn receiving(mut scenario: Scenario, delay: Span, jitter: Gap) -> Scenario {
    scenario.host.receive_delay = delay;
    scenario.host.receive_jitter = jitter;
    scenario
}

#[test]
fn each_packet_is_later_by_the_delay() {
    // The handshake is two packets in sequence, the first window adds one, and each later window two.
    for (bytes, packets) in [(1_000, 3), (2 * 1_460, 3), (6 * 1_460, 5), (14 * 1_460, 7)] {
        let plain = ping(window(2), &[bytes], Span::ZERO);
        let later = |scenario: Scenario| {
            let both = [&plain, &scenario].map(|scenario| finish(&run(scenario).records, 0));
            both[1].since(both[0])
        };
        let with = |delay, jitter| later(receiving(plain.clone(), delay, jitter));
        assert_eq!(with(DELAY, Gap::ZERO), DELAY * packets, "{bytes} B");
        assert_eq!(with(Span::ZERO, Gap::Fixed(DELAY)), DELAY * packets);
        assert_eq!(with(DELAY, Gap::Fixed(DELAY)), DELAY * (2 * packets));
    }
    // On an established connection, a message of one window is delayed once.
    let mut plain = ping(window(2), &[1_000, 1_000], Span::from_ms(10));
    plain.workloads[0].connection = Connection::Persistent;
    let slow = receiving(plain.clone(), DELAY, Gap::ZERO);
    let second = [plain, slow].map(|scenario| finish(&run(&scenario).records, 1));
    assert_eq!(second[1].since(second[0]), DELAY);
}

#[test]
fn receive_delay_does_not_limit_the_rate() {
    let plain = ping(window(1_000), &[1_000 * 1_460], Span::ZERO);
    let slow = receiving(plain.clone(), Span::from_ms(1), Gap::ZERO);
    let both = [plain, slow].map(|scenario| finish(&run(&scenario).records, 0));
    assert_eq!(both[1].since(both[0]), Span::from_ms(3));
}

#[test]
fn packets_of_a_flow_keep_their_order() {
    for protocol in [window(300), dctcp(), linux(), d3(), d3_edge(), rcpdc()] {
        let plain = ping(protocol, &[400_000; 4], Span::from_us(100));
        let mean = Span::from_us(50);
        let slow = receiving(plain, Span::from_us(1), Gap::Exponential(mean));
        let output = run(&slow);
        let case = format!("{:?}", slow.transports[0].protocol);
        for flow in &output.records.flows {
            assert!(flow.finish.is_some(), "{case}: {flow:?}");
            assert_eq!((flow.retransmits, flow.timeouts), (0, 0), "{case}");
        }
        assert_conserved(&output.records, &case);
    }
}

#[test]
fn jitter_has_its_distribution() {
    // One packet at a time: two of the handshake and one of data, each with a separate draw.
    let sizes = vec![1_000; 2_000];
    let plain = ping(window(2), &sizes, Span::from_us(490));
    let alone = run(&plain).records.flows[0]
        .completion()
        .expect("the flow ends");
    let extra = |jitter: Gap| {
        let records = run(&receiving(plain.clone(), DELAY, jitter)).records;
        let extra = records.flows.iter().map(|flow| {
            let took = flow.completion().expect("the flow ends");
            (took - alone - DELAY * 3).as_ps() as f64 / 3e6
        });
        extra.collect::<Vec<f64>>()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let deviation = |values: &[f64]| {
        let middle = mean(values);
        let squares = values
            .iter()
            .map(|value| (value - middle) * (value - middle));
        (squares.sum::<f64>() / values.len() as f64 * 3.0).sqrt()
    };
    // Mean and standard deviation of one draw, in microseconds.
    let us = Span::from_us;
    for (jitter, expected) in [
        (Gap::Exponential(us(10)), (10.0, 10.0)),
        (Gap::Uniform(us(5), us(15)), (10.0, 10.0 / 12_f64.sqrt())),
    ] {
        let found = extra(jitter.clone());
        let (mean, deviation) = (mean(&found), deviation(&found));
        assert!((mean / expected.0 - 1.0).abs() < 0.05, "{jitter:?}: {mean}");
        let off = (deviation / expected.1 - 1.0).abs();
        assert!(off < 0.1, "{jitter:?}: {deviation}");
        if let Gap::Uniform(..) = jitter {
            assert!(found.iter().all(|value| (5.0..=15.0).contains(value)));
        }
    }
}

#[test]
fn dying_host_loses_held_packets() {
    for (protocol, wait) in [(window(2), Span::from_secs(1)), (d3(), Span::from_us(500))] {
        let slow = receiving(
            ping(protocol, &[1_000], Span::ZERO),
            Span::from_ms(1),
            Gap::ZERO,
        );
        let end = |deaths: Vec<Death>| {
            let faults = Faults {
                deaths,
                ..Faults::default()
            };
            let options = Options::with_faults(faults);
            let output = duetime_sim::run(&slow, 0, 0, &options).expect("the scenario runs");
            finish(&output.records, 0)
        };
        let at = Span::from_us(500);
        let alive = end(Vec::new());
        assert!(alive < Time::ZERO + Span::from_ms(6), "{alive}");
        // The first packet is held by the other host and lost before the transport gets it, so it is retransmitted.
        let died = end(vec![Death { at, host: 1 }]);
        assert!(died >= alive + wait, "{died} {alive}");
        // A later death does not matter, because the sender has everything that it waits for.
        let late = Death {
            at: Span::from_ms(100),
            host: 1,
        };
        assert_eq!(end(vec![late]), alive);
    }
}
