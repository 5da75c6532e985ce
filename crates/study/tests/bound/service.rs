//! Tests of bounds on services: tightness, counts, and unknown demand.

use super::scenario;
use duetime_results::Class;
use duetime_study::bound::of_scenario;

/// `scenarios/search-fanout.toml` on a fifth of its hosts and half its time.
const SEARCH: &str = r#"
    transport = ["tcp"]
    seeds = 2
    duration = "1500 ms"
    [topology]
    kind = "leaf-spine"
    racks = 5
    hosts_per_rack = 41
    host_link = { rate = "1 Gbps", latency = "20 us" }
    uplink = { rate = "40 Gbps", latency = "20 us" }
    [[workload]]
    kind = "oldi"
    name = "search"
    applications = 5
    fan_in = 40
    share_hosts = true
    response = ["20 KB", "60 KB", "100 KB", "140 KB", "180 KB"]
    deadline = { base = ["20 ms", "30 ms", "35 ms", "40 ms", "45 ms"], variation = "uniform 50%" }
    load = 0.15
"#;

#[test]
fn online_schedule_is_within_a_point() {
    for load in ["load = 0.15", "load = 0.3", "load = 0.5"] {
        let best = of_scenario(&scenario(&SEARCH.replace("load = 0.15", load)), 1)
            .expect("it can be set up");
        let answers = best.group(0, Class::Response).expect("has deadlines");
        let (late, online) = (answers.late.value, answers.online.value);
        assert!(late > 0.001 && answers.asked > 4_000, "{load}: {answers:?}");
        assert!(
            late <= online && online - late < 0.01,
            "{load}: {late} {online}"
        );
        assert!(answers.if_prompt, "clocks start at the leaves");
        let queries = best.queries_of(0).expect("judged");
        assert!(
            queries.late.value <= queries.online.value,
            "{load}: {queries:?}"
        );
    }
}

#[test]
fn bound_does_not_depend_on_jobs() {
    let scenario = scenario(SEARCH);
    let one = of_scenario(&scenario, 1).expect("it can be set up");
    assert_eq!(one, of_scenario(&scenario, 3).expect("it can be set up"));
    assert_eq!(
        (one.runs, one.deadlines.expect("has deadlines").asked),
        (2, one.groups[0].best.asked)
    );
}

/// Two layers with leaves that compute for far longer than the deadline.
#[test]
fn slow_leaves_are_late_in_all_layers() {
    let text = r#"
        transport = ["tcp"]
        duration = "200 ms"
        [topology]
        kind = "star"
        hosts = 30
        link = { rate = "10 Gbps", latency = "5 us" }
        [[workload]]
        kind = "oldi"
        fan_in = [4, 5]
        response = "4 KB"
        deadline = "4 ms"
        deadline_from = "query"
        compute = "300 ms"
        give_up = "never"
        every = "20 ms"
    "#;
    let best = of_scenario(&scenario(text), 1).expect("it can be set up");
    let queries = best.queries_of(0).expect("judged");
    let answers = best.group(0, Class::Response).expect("has deadlines");
    assert_eq!((queries.asked, queries.late.value), (10, 1.0));
    assert_eq!((answers.asked, answers.late.value), (240, 1.0));
}

/// The links between the racks have a tenth of the hosts' capacity.
#[test]
fn links_between_racks_count() {
    let text = r#"
        transport = ["tcp"]
        [topology]
        kind = "leaf-spine"
        racks = 2
        hosts_per_rack = 10
        spines = 2
        host_link = { rate = "1 Gbps", latency = "5 us" }
        uplink = { rate = "500 Mbps", latency = "5 us" }
        [[workload]]
        kind = "permutation"
        size = "100 KB"
        deadline = "2 ms"
    "#;
    let mut crossing = 0.0;
    for seed in 1..6 {
        let text = format!("seed = {seed}\n{text}");
        let best = of_scenario(&scenario(&text), 1).expect("it can be set up");
        crossing += best.deadlines.expect("has deadlines").late.value;
    }
    // A rack's uplinks can carry two flows of 0.8 ms in time, and about five of ten flows leave the rack.
    assert!(crossing > 0.5, "{crossing}");
}

#[test]
fn no_bound_on_back_to_back_queries() {
    let text = r#"
        transport = ["tcp"]
        duration = "20 ms"
        [topology]
        kind = "star"
        hosts = 12
        link = { rate = "1 Gbps", latency = "5 us" }
        [[workload]]
        kind = "oldi"
        fan_in = 10
        response = "4 KB"
        deadline = "100 us"
        arrival = "back-to-back"
        [[workload]]
        kind = "burst"
        senders = 10
        size = "20 KB"
        deadline = "400 us"
    "#;
    let best = of_scenario(&scenario(text), 1).expect("it can be set up");
    assert_eq!(best.unknown, [0]);
    assert!(best.deadlines.is_none() && best.queries.is_empty());
    let burst = best.group(1, Class::Flow).expect("has deadlines");
    // Ten flows of 164 us share one link; two fit into 400 us.
    assert_eq!((burst.asked, burst.late.value), (10, 0.8));
}
