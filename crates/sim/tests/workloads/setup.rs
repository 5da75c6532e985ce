//! Scenarios for the tests, and the errors of invalid workloads.

use crate::bare;
use duetime_core::{Bytes, Rate, Span};
use duetime_results::record::Class;
use duetime_scenario::model::*;
use duetime_sim::describe::describe;
use duetime_sim::workload::Message;

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

pub fn near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{found} should be {expected} within {share}"
    );
}

#[test]
fn invalid_workloads_are_rejected() {
    let flow = |source, destination| TraceFlow {
        start: Span::ZERO,
        source,
        destination,
        size: Bytes(1),
        deadline: None,
    };
    let with = |change: &dyn Fn(&mut Oldi)| {
        let mut oldi = oldi();
        change(&mut oldi);
        WorkloadKind::Oldi(oldi)
    };
    let at = Span::ZERO;
    let poisson = |destination| WorkloadKind::Poisson {
        size: kilobytes(1),
        deadline: Deadline::None,
        intensity: Intensity::Load(0.1),
        destination,
    };
    let background = |every| WorkloadKind::Background {
        count: 1,
        size: kilobytes(1),
        deadline: Deadline::None,
        every,
        to_roots_of: None,
    };
    let cases = [
        (
            with(&|oldi| oldi.fan_in = vec![9]),
            "2 trees of 10 nodes needs 20 hosts, but the topology has 10",
        ),
        (with(&|oldi| oldi.fan_in = vec![4, 0]), "`fan_in` is [4, 0]"),
        (with(&|oldi| oldi.trees = 0), "2 applications of 0 trees"),
        (
            with(&|oldi| oldi.complete_at = 0.0),
            "`complete_at` is 0; allowed: above 0, at most 1",
        ),
        (
            with(&|oldi| {
                oldi.arrival = QueryArrival::Load {
                    load: 0.0,
                    poisson: true,
                    each_tree: true,
                }
            }),
            "`load` is 0",
        ),
        (
            with(&|oldi| oldi.arrival = QueryArrival::Every(Gap::Exponential(Span::ZERO))),
            "must be longer",
        ),
        (burst(3, Some(10)), "`receiver` is host 10; allowed: 0 to 9"),
        (
            WorkloadKind::Long {
                pairs: vec![(0, 1), (3, 3)],
                at,
                jitter: Span::ZERO,
            },
            "`pairs[1]` goes from host 3 to itself",
        ),
        (
            WorkloadKind::Trace {
                flows: vec![flow(0, 1), flow(0, 12)],
            },
            "destination of flow 2 of the trace is host 12",
        ),
        (poisson(Destination::Host(77)), "`destination` is host 77"),
        (
            background(SourceGap::Given(Gap::Fixed(Span::ZERO))),
            "`every` is zero",
        ),
        (background(SourceGap::AtLoad(1e30)), "lower the load"),
    ];
    for (kind, expected) in cases {
        let found = describe(&scenario(10, vec![kind])).unwrap_err().to_string();
        assert!(
            found.contains(expected) && found.contains("workload `test`"),
            "{found:?} should contain {expected:?}"
        );
    }
}
