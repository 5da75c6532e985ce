//! Scenarios for the tests.

use crate::bare;
use duetime_core::random::Streams;
use duetime_core::{Bytes, Rate, Span};
use duetime_results::record::Class;
use duetime_scenario::model::*;
use duetime_sim::SetupError;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Message, Workloads, draw};

pub fn star(hosts: u32) -> Topology {
    Topology::Star {
        hosts,
        link: link(),
    }
}

pub fn link() -> Link {
    Link {
        rate: Rate::from_gbps(1),
        latency: Span::from_us(20),
        loss: 0.0,
    }
}

/// Returns a scenario of one second on a star of 1 Gbps links, without start jitter.
pub fn scenario(hosts: u32, kinds: Vec<WorkloadKind>) -> Scenario {
    let workloads = kinds.into_iter().map(|kind| bare::workload("test", kind));
    Scenario {
        drain: Span::from_secs(1),
        ..bare::scenario(star(hosts), workloads.collect())
    }
}

/// Places the workloads of a scenario on its hosts.
pub fn place(scenario: &Scenario) -> Result<Workloads, SetupError> {
    let network = Network::build(&scenario.topology)?;
    Workloads::new(scenario, &network, &Streams::new(scenario.seed, 0))
}

/// Returns two applications of one tree each with a fan-in of 4, and a query every 10 ms with answers of 10 KB within
/// 30 ms.
pub fn oldi() -> Oldi {
    Oldi {
        applications: 2,
        trees: 1,
        fan_in: vec![4],
        query: Bytes(100),
        response: vec![kilobytes(10)],
        deadline: vec![fixed_deadline(30)],
        layer_share: vec![1.0],
        deadline_from: DeadlineFrom::Query,
        query_deadline: Deadline::None,
        arrival: QueryArrival::Every(Gap::Fixed(Span::from_ms(10))),
        compute: Gap::Fixed(Span::ZERO),
        jitter: Gap::Fixed(Span::ZERO),
        complete_at: 1.0,
        objective: Objective {
            within: Vec::new(),
            answers: 1.0,
            share: None,
        },
        hedge: None,
        retry: None,
        cancel_spares: false,
        aggregate_compute: Gap::ZERO,
        layer_response: Vec::new(),
        give_up: GiveUp::Children,
        share_hosts: false,
    }
}

pub fn of_class(messages: &[Message], class: Class) -> impl Iterator<Item = &Message> + Clone {
    messages
        .iter()
        .filter(move |message| message.class == class)
}

pub fn kilobytes(kb: u64) -> Size {
    Size::Fixed(Bytes(1_000 * kb))
}

pub fn fixed_deadline(ms: u64) -> Deadline {
    Deadline::Added {
        base: Span::from_ms(ms),
        added: 0.0,
    }
}

pub fn burst(senders: u32, receiver: Option<u32>) -> WorkloadKind {
    WorkloadKind::Burst {
        senders,
        receiver,
        from: None,
        size: kilobytes(10),
        deadline: Deadline::None,
        at: Span::from_ms(1),
        repeat: 1,
        every: Span::ZERO,
        jitter: Span::ZERO,
    }
}

/// Returns the number of flows per second of a mean size that offer `bps` bits per second on the wire.
pub fn flows_per_second(bps: f64, size: &Size) -> f64 {
    bps / 8.0 / draw::mean_wire(size, 40)
}

pub fn near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{found} should be {expected} within {share}"
    );
}
