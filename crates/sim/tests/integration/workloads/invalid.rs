//! Errors of invalid workloads.

use super::setup::{burst, kilobytes, oldi, place, scenario};
use duetime_core::{Bytes, Span};
use duetime_scenario::model::*;

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
        let found = place(&scenario(10, vec![kind])).unwrap_err().to_string();
        assert!(
            found.contains(expected) && found.contains("workload `test`"),
            "{found:?} should contain {expected:?}"
        );
    }
}
