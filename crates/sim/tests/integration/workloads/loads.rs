//! Background flows at a given load.

use super::fake::run;
use super::setup::{flows_per_second, kilobytes, near, scenario};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::model::*;
use duetime_sim::workload::Message;
use std::collections::BTreeSet;

#[test]
fn background_sources_offer_the_given_load() {
    let size = Size::Uniform(Bytes(10_000), Bytes(90_000));
    let kind = WorkloadKind::Background {
        count: 8,
        size: size.clone(),
        deadline: Deadline::None,
        every: SourceGap::AtLoad(0.3),
        to_roots_of: None,
    };
    let mut scenario = scenario(16, vec![kind]);
    scenario.duration = Span::from_secs(20);
    let messages = run(&scenario).messages;
    // A source starts N = 15,000 flows on average, with a mean of m = 50 KB and a standard deviation of s = 23 KB. The
    // sum of a Poisson number of them has a standard deviation of sqrt(N (m² + s²)), a share sqrt((1 + (s/m)²) / N) =
    // 0.9 % of its mean; for all 8 sources it is 0.32 %. The bounds are five standard deviations.
    let wire = |messages: &mut dyn Iterator<Item = &Message>| -> f64 {
        let bytes =
            messages.map(|message| (message.bytes + 40 * message.bytes.div_ceil(1460)) as f64);
        bytes.sum()
    };
    let expected_bytes = 0.3 * 1e9 / 8.0 * 20.0;
    near(wire(&mut messages.iter()), 8.0 * expected_bytes, 0.016);
    let flows = flows_per_second(0.3 * 1e9, &size);
    near(messages.len() as f64, 8.0 * flows * 20.0, 0.016);
    let sources: BTreeSet<u32> = messages.iter().map(|message| message.source).collect();
    assert_eq!(sources.len(), 8);
    for source in sources {
        let of_source = |message: &&Message| message.source == source;
        near(
            wire(&mut messages.iter().filter(of_source)),
            expected_bytes,
            0.045,
        );
    }
}

#[test]
fn background_load_is_per_source_link() {
    let link = |gbps| Link {
        rate: Rate::from_gbps(gbps),
        latency: Span::from_us(20),
        loss: 0.0,
    };
    let node = |name: &str, host| Node {
        name: name.to_owned(),
        host,
    };
    let edge = |a, gbps| Edge {
        a,
        b: 0,
        link: link(gbps),
    };
    let kind = WorkloadKind::Background {
        count: 3,
        size: kilobytes(50),
        deadline: Deadline::None,
        every: SourceGap::AtLoad(0.2),
        to_roots_of: None,
    };
    let mut scenario = scenario(3, vec![kind]);
    scenario.topology = Topology::Graph {
        nodes: vec![
            node("switch", false),
            node("slow", true),
            node("fast", true),
            node("fastest", true),
        ],
        edges: vec![edge(1, 1), edge(2, 4), edge(3, 10)],
    };
    scenario.duration = Span::from_secs(10);
    let messages = run(&scenario).messages;
    for (host, gbps) in [(0, 1.0), (1, 4.0), (2, 10.0)] {
        // A flow of 50 KB has 35 segments, 51,400 B on the wire. With at least 4,864 flows, five standard deviations
        // are 7.2 %.
        let flows = messages
            .iter()
            .filter(|message| message.source == host)
            .count() as f64;
        near(flows, 0.2 * gbps * 1e9 * 10.0 / 8.0 / 51_400.0, 0.072);
    }
}
