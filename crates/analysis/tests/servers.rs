//! Loads of servers, and explanations of the waits for them.

#[path = "../../sim/tests/integration/queueing/mod.rs"]
#[expect(dead_code, reason = "other tests also use the theoretical waits")]
mod queueing;

use duetime_analysis::describe;
use duetime_analysis::explain::{Activity, Tree};
use duetime_core::Span;
use duetime_results::Class;
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, Watch, run};

fn scenario(slots: u32, utilisation: f64, compute: &str, duration_s: f64) -> Scenario {
    let text = queueing::service(slots, utilisation, compute, 20.0, duration_s);
    load(&text, "servers.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn overloaded_servers_are_predicted() {
    let describe_servers = |slots, utilisation| {
        let scenario = scenario(slots, utilisation, "exponential 100 us", 1.0);
        describe(&scenario).expect("a valid scenario").servers
    };
    let over = describe_servers(8, 2.5);
    assert_eq!((over.slots, over.of_hosts), (Some(8), 1));
    assert_eq!((over.heavy_hosts, over.overloaded_hosts), (1, 1));
    let host = &over.hosts[0];
    assert!((host.load - 2.5).abs() < 1e-9 && (host.offered_slots - 20.0).abs() < 1e-9);
    let under = describe_servers(8, 0.5);
    assert_eq!((under.heavy_hosts, under.overloaded_hosts), (0, 0));
    assert!((under.mean_load - 0.5).abs() < 1e-9);
    let mut scenario = scenario(8, 0.5, "exponential 100 us", 1.0);
    scenario.host.servers = duetime_scenario::model::Servers::Unlimited;
    let unlimited = describe(&scenario).expect("a valid scenario").servers;
    assert!(unlimited.computes && unlimited.slots.is_none() && unlimited.hosts.is_empty());
}

#[test]
fn waits_for_servers_are_explained() {
    let compute = Span::from_us(100);
    let scenario = scenario(1, 0.85, "100 us", 0.001);
    let records = run(&scenario, 0, 0, &Options::default())
        .expect("a valid scenario")
        .records;
    let mut waits = 0;
    for query in records.queries.iter().take(100) {
        let options = Options {
            watch: Watch::Query(query.query),
            ..Options::default()
        };
        let output = run(&scenario, 0, 0, &options).expect("a valid scenario");
        let of_class = |class| {
            let mut flows = records.flows.iter();
            let flow = flows.find(|flow| flow.query == Some(query.query) && flow.class == class);
            flow.expect("one query and one answer")
        };
        let arrived = of_class(Class::Query).finish.expect("the query arrives");
        let waited = of_class(Class::Response).start.since(arrived) - compute;
        let tree = Tree::new(query, &output.records.flows, &output.traces);
        let parts = tree.explain(query.enough).parts();
        let part = |activity| parts.get(&(1, activity)).copied().unwrap_or_default();
        assert_eq!(part(Activity::Queueing), waited);
        assert_eq!(part(Activity::Computing), compute);
        let sum = parts.values().fold(Span::ZERO, |sum, &part| sum + part);
        assert_eq!(query.start + sum, query.enough.expect("an answer"));
        waits += u32::from(waited > Span::ZERO);
    }
    assert!(waits > 10, "{waits}");
}
