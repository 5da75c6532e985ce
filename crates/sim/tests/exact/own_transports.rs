//! Workloads that bring a transport along get that one, however many they are.

use crate::common::{chain, d3, finish, flows, gigabit, newreno, run, scenario, workload};
use duetime_core::Span;
use duetime_scenario::model::{Protocol, Scenario, Transport};
use duetime_sim::{Options, SetupError};

/// One flow per workload, one after another on a chain of two links. All start with windows of their own choice, so
/// that no two transports take equally long.
fn many(count: u32, window: impl Fn(u32) -> u32) -> Scenario {
    let flow = |number: u32| {
        let start = Span::from_ms(10 * u64::from(number));
        let mut one = workload(flows(&[(start, 0, 1, 500_000, None)]));
        let mut protocol = newreno();
        let Protocol::Tcp(config) = &mut protocol else {
            unreachable!("TCP");
        };
        config.initial_window = window(number);
        one.transport = Some(Transport {
            name: format!("window-{}", window(number)),
            protocol,
            priorities: 1,
        });
        one
    };
    let mut scenario = scenario(chain(&[gigabit(); 2]), d3(), Vec::new());
    scenario.duration = Span::from_secs(100);
    scenario.workloads = (0..count).map(flow).collect();
    scenario
}

#[test]
fn the_last_of_many_workloads_gets_its_own_transport() {
    let records = run(&many(600, |number| if number == 0 { 1 } else { 10 })).records;
    let takes = |flow: usize| finish(&records, flow).since(records.flows[flow].start);
    assert!(takes(0) > takes(1));
    for flow in 2..600 {
        assert_eq!(takes(flow), takes(1), "flow {flow}");
    }
}

#[test]
fn as_many_transports_as_can_be_numbered_run_and_one_more_is_refused() {
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
