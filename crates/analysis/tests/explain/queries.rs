//! Critical paths of queries cover their time without gaps, through every layer and under every transport.

use crate::common::*;
use duetime_analysis::explain::{Activity, Cause, QueryExplanation, QueryStep, Stage, Tree};
use duetime_core::{Bytes, Span, Time};
use duetime_results::QueryRecord;
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, Watch};

fn watched(scenario: &Scenario, query: u64) -> RunOutput {
    let options = Options {
        watch: Watch::Query(query),
        ..Options::default()
    };
    duetime_sim::run(scenario, 0, 0, &options).unwrap()
}

fn explain(output: &RunOutput, query: &QueryRecord, until: Option<Time>) -> QueryExplanation {
    let tree = Tree::new(query, &output.records.flows, &output.traces);
    tree.explain(until)
}

fn assert_tiles(steps: &[QueryStep], from: Time, to: Time, case: &str) {
    let mut at = from;
    for step in steps {
        assert_eq!(step.from, at, "{case}: gap in {steps:#?}");
        assert!(step.to > step.from, "{case}");
        at = step.to;
    }
    assert_eq!(at, to, "{case}: the path must reach the end");
}

fn time(explanation: &QueryExplanation, wanted: fn(Activity) -> bool) -> Span {
    let steps = explanation
        .steps
        .iter()
        .filter(|step| wanted(step.activity));
    steps.fold(Span::ZERO, |sum, step| sum + step.to.since(step.from))
}

fn tree_of(scenario: &mut Scenario) -> &mut Oldi {
    match &mut scenario.workloads[0].kind {
        WorkloadKind::Oldi(oldi) => oldi,
        _ => panic!("the first workload is a tree"),
    }
}

fn is_timeout(activity: Activity) -> bool {
    activity == Activity::AggregatorTimeout
}

fn untraced(activity: Activity) -> bool {
    matches!(
        activity,
        Activity::Untraced | Activity::Down(_, Cause::Untraced) | Activity::Up(_, Cause::Untraced)
    )
}

#[test]
fn paths_cover_the_time_of_queries() {
    let (mut complete, mut timed_out, mut flows) = (0, 0, 0);
    for transport in transports() {
        for (fan_in, complete_at) in [(vec![6], 1.0), (vec![3, 3], 1.0), (vec![2, 3], 0.6)] {
            let mut scenario = mixture(transport.clone());
            let tree = tree_of(&mut scenario);
            tree.layer_share = [1.0, 0.4][..fan_in.len()].to_vec();
            tree.complete_at = complete_at;
            tree.fan_in = fan_in.clone();
            let queries = run(&scenario).records.queries;
            assert!(queries.len() >= 2);
            for query in queries.iter().step_by(queries.len().div_ceil(4)) {
                let case = format!("query {} of {}, {fan_in:?}", query.query, transport.name);
                let output = watched(&scenario, query.query);
                assert!(output.records.queries.contains(query), "{case}: repeated");
                complete += u32::from(query.enough.is_some());
                // Once until enough leaves' answers have arrived, and once until the root has the answers that it waits
                // for.
                for until in [query.enough, query.complete] {
                    let explanation = explain(&output, query, until);
                    let end = query.start + explanation.total;
                    assert_tiles(&explanation.steps, query.start, end, &case);
                    assert_eq!(time(&explanation, untraced), Span::ZERO, "{case}");
                    timed_out += u32::from(time(&explanation, is_timeout) > Span::ZERO);
                    if let Some(until) = until {
                        assert_eq!(end, until, "{case}");
                        assert_eq!(explanation.pending, None, "{case}");
                        assert!(explanation.answers <= query.answered, "{case}");
                    } else {
                        assert!(explanation.pending.is_some(), "{case}");
                    }
                    // One query and one answer per layer, unless an aggregator stopped waiting.
                    let flows = explanation.flows.len();
                    assert!(flows >= 2 && flows <= 2 * fan_in.len(), "{case}");
                }
                for trace in &output.traces {
                    let record = |flow: u64| {
                        let flows = &output.records.flows;
                        flows.iter().find(|record| record.flow == flow).unwrap()
                    };
                    let flow = record(trace.flow);
                    assert_eq!(
                        flow.query,
                        Some(query.query),
                        "{case}: only flows of the query are traced"
                    );
                    let tree = Tree::new(query, &output.records.flows, &output.traces);
                    let before = tree.before(flow.flow).expect("a flow of the query");
                    assert_tiles(&before, query.start, flow.start, &case);
                    flows += 1;
                }
            }
        }
    }
    assert!(
        complete > 20 && timed_out > 0 && flows > 200,
        "{complete} complete, {timed_out} with a timeout, {flows} flows"
    );
}

/// Creates a root, an aggregator and a leaf in a row, with links of 1 Gbps and 20 us. The leaf computes for 300 us.
fn row(timeout: Option<Span>) -> Scenario {
    let mut scenario = mixture(transports().remove(0));
    let tree = tree_of(&mut scenario);
    tree.applications = 1;
    tree.fan_in = vec![1, 1];
    tree.layer_share = vec![1.0, 0.5];
    tree.query = Bytes(100);
    tree.response = vec![bytes(1_000)];
    tree.deadline = vec![timeout.map_or(Deadline::None, |base| Deadline::Added {
        base: base * 2,
        added: 0.0,
    })];
    tree.arrival = QueryArrival::Every(Gap::Fixed(Span::from_ms(8)));
    tree.compute = Gap::Fixed(Span::from_us(300));
    tree.jitter = Gap::Fixed(Span::ZERO);
    tree.share_hosts = false;
    scenario.workloads.truncate(1);
    scenario.topology = Topology::Star {
        hosts: 3,
        link: gigabit(),
    };
    scenario.host.start_jitter = false;
    scenario.record.every = None;
    scenario.record.links.clear();
    scenario
}

#[test]
fn path_through_two_layers_by_hand() {
    let scenario = row(None);
    let query = run(&scenario).records.queries[0].clone();
    let output = watched(&scenario, query.query);
    let explanation = explain(&output, &query, query.enough);
    assert_eq!(
        time(&explanation, |activity| activity == Activity::Computing),
        Span::from_us(300)
    );
    assert_eq!((explanation.flows.len(), explanation.answers), (4, 1));
    // Four flows, each with a handshake in both directions and a packet, over two links of 20 us.
    let propagation = time(&explanation, |activity| {
        matches!(
            activity,
            Activity::Down(_, Cause::Propagation) | Activity::Up(_, Cause::Propagation)
        )
    });
    assert_eq!(propagation, Span::from_us(4 * 6 * 20));
    // Answers: 1000 B and 40 B of headers over two links, twice.
    let sending = |node| {
        let parts = explanation.parts();
        let selected = parts.into_iter().filter(|((place, activity), _)| {
            *place == node
                && matches!(
                    activity,
                    Activity::Up(Stage::Delivery, Cause::Transmission(_))
                )
        });
        selected.fold(Span::ZERO, |sum, (_, part)| sum + part)
    };
    assert_eq!([sending(1), sending(2)], [Span::from_ns(2 * 8_320); 2]);
    assert_eq!(time(&explanation, is_timeout), Span::ZERO);
}

#[test]
fn aggregator_timeout_is_on_the_path() {
    // The leaf's answer is due 200 us after the aggregator received the query, but the leaf computes for 300 us.
    let scenario = row(Some(Span::from_us(200)));
    let query = run(&scenario).records.queries[0].clone();
    let output = watched(&scenario, query.query);
    let explain_until = |until| explain(&output, &query, until);
    let explanation = explain_until(query.complete);
    assert_eq!(time(&explanation, is_timeout), Span::from_us(200));
    assert_eq!(
        time(&explanation, |activity| activity == Activity::Computing),
        Span::ZERO
    );
    assert_eq!(
        explanation.flows.len(),
        2,
        "the query to the aggregator and its answer"
    );
    // The aggregator's answer contains no leaf's answer, so there are never enough; the leaf's own answer came too
    // late.
    let never = explain_until(query.enough);
    let pending = never.pending.expect("never enough");
    assert_eq!((pending.left_behind, pending.held), (1, 1));
    assert_eq!(
        time(&never, |activity| activity == Activity::Computing),
        Span::from_us(300)
    );
    // The time before the leaf's answer is explained as well.
    let leaf = output.traces.iter().filter(|trace| {
        trace.node.is_some_and(|node| node.node == 2) && trace.flow != explanation.flows[0]
    });
    let network = Network::build(&scenario.topology).unwrap();
    assert_eq!(network.hosts(), 3);
    let answer = leaf.max_by_key(|trace| trace.events[0].at).unwrap();
    let tree = Tree::new(&query, &output.records.flows, &output.traces);
    let before = tree.before(answer.flow).unwrap();
    let computing = before
        .iter()
        .find(|step| step.activity == Activity::Computing)
        .unwrap();
    assert_eq!(computing.to.since(computing.from), Span::from_us(300));
}

#[test]
fn incomplete_query_reports_pending_work() {
    // The leaf computes for longer than the run lasts.
    let mut scenario = row(None);
    tree_of(&mut scenario).compute = Gap::Fixed(Span::from_secs(30));
    scenario.drain = Span::from_ms(50);
    let query = run(&scenario).records.queries[0].clone();
    assert_eq!(query.enough, None);
    let explanation = explain(&watched(&scenario, query.query), &query, query.enough);
    let standing = explanation.pending.unwrap();
    assert_eq!(
        (standing.computing, standing.waiting, standing.held),
        (1, 1, 0)
    );
    assert_tiles(
        &explanation.steps,
        query.start,
        query.start + explanation.total,
        "computing",
    );
    assert_eq!(explanation.flows.len(), 2, "the queries to the nodes");
}
