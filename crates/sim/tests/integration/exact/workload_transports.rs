//! Workloads with their own transport use it, for any number of workloads.

use crate::common::{chain, d3, finish, flows, gigabit, newreno, run, scenario, workload};
use duetime_core::Span;
use duetime_scenario::model::{Protocol, Scenario, Transport};
use duetime_sim::{Options, SetupError};

/// Creates one flow per workload, one after another on a chain of two links. Each transport has a different initial
/// window, so that completion times differ.
fn many(count: u32, window: impl Fn(u32) -> u32) -> Scenario {
    let flow = |number: u32| {
        let start = Span::from_ms(10 * u64::from(number));
        let mut workload = workload(flows(&[(start, 0, 1, 500_000, None)]));
        let mut protocol = newreno();
        let Protocol::Tcp(config) = &mut protocol else {
            unreachable!("TCP");
        };
        config.initial_window = window(number);
        workload.transport = Some(Transport {
            name: format!("window-{}", window(number)),
            protocol,
            priorities: 1,
        });
        workload
    };
    let mut scenario = scenario(chain(&[gigabit(); 2]), d3(), Vec::new());
    scenario.duration = Span::from_secs(100);
    scenario.workloads = (0..count).map(flow).collect();
    scenario
}

#[test]
fn last_workload_gets_its_transport() {
    let records = run(&many(600, |number| if number == 0 { 1 } else { 10 })).records;
    let takes = |flow: usize| finish(&records, flow).since(records.flows[flow].start);
    assert!(takes(0) > takes(1));
    for flow in 2..600 {
        assert_eq!(takes(flow), takes(1), "flow {flow}");
    }
}

#[test]
fn too_many_transports_are_rejected() {
    let records = run(&many(255, |number| 1 + number)).records;
    let takes = |flow: usize| finish(&records, flow).since(records.flows[flow].start);
    assert!(takes(254) < takes(0));
    let refused = duetime_sim::run(&many(256, |number| 1 + number), 0, 0, &Options::default());
    match refused {
        Err(SetupError::Workload { what, .. }) => assert_eq!(
            what,
            "transport `window-256` exceeds the limit of 255 different transports"
        ),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}
