//! A query's critical path tiles its time, through every layer, under every transport.

use crate::common::*;
use duetime_core::{Bytes, Span, Time};
use duetime_results::QueryRecord;
use duetime_results::explain::query::{Doing, QueryExplanation, QueryStep, Tree};
use duetime_results::explain::{Cause, Stage};
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

fn told(output: &RunOutput, query: &QueryRecord, until: Option<Time>) -> QueryExplanation {
    let tree = Tree::new(query, &output.records.flows, &output.traces);
    tree.explain(until)
}

fn assert_tiles(steps: &[QueryStep], from: Time, to: Time, case: &str) {
    let mut at = from;
    for step in steps {
        assert_eq!(step.from, at, "{case}: without gaps: {steps:#?}");
        assert!(step.to > step.from, "{case}");
        at = step.to;
    }
    assert_eq!(at, to, "{case}: to the end");
}

fn time(told: &QueryExplanation, wanted: fn(Doing) -> bool) -> Span {
    let steps = told.steps.iter().filter(|step| wanted(step.doing));
    steps.fold(Span::ZERO, |sum, step| sum + step.to.since(step.from))
}

fn tree_of(scenario: &mut Scenario) -> &mut Oldi {
    match &mut scenario.workloads[0].kind {
        WorkloadKind::Oldi(oldi) => oldi,
        _ => panic!("a tree comes first"),
    }
}

fn is_patience(doing: Doing) -> bool {
    doing == Doing::Patience
}

fn untraced(doing: Doing) -> bool {
    matches!(
        doing,
        Doing::Untraced | Doing::Down(_, Cause::Untraced) | Doing::Up(_, Cause::Untraced)
    )
}

#[test]
fn the_path_of_any_query_tiles_its_time() {
    let (mut complete, mut patient, mut flows) = (0, 0, 0);
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
                // Until enough leaves' answers were there, and until the root had as many answers as it waits for.
                for until in [query.enough, query.complete] {
                    let told = told(&output, query, until);
                    let end = query.start + told.total;
                    assert_tiles(&told.steps, query.start, end, &case);
                    assert_eq!(time(&told, untraced), Span::ZERO, "{case}");
                    patient += u32::from(time(&told, is_patience) > Span::ZERO);
                    if let Some(until) = until {
                        assert_eq!(end, until, "{case}");
                        assert_eq!(told.standing, None, "{case}");
                        assert!(told.answers <= query.answered, "{case}");
                    } else {
                        assert!(told.standing.is_some(), "{case}");
                    }
                    // A way down and up for each layer, unless a node between stopped waiting.
                    let flows = told.flows.len();
                    assert!(flows >= 2 && flows <= 2 * fan_in.len(), "{case}");
                }
                for trace in &output.traces {
                    let of = |flow: u64| {
                        let flows = &output.records.flows;
                        flows.iter().find(|record| record.flow == flow).unwrap()
                    };
                    let flow = of(trace.flow);
                    assert_eq!(flow.query, Some(query.query), "{case}: no other is watched");
                    let tree = Tree::new(query, &output.records.flows, &output.traces);
                    let before = tree.before(flow.flow).expect("one of its flows");
                    assert_tiles(&before, query.start, flow.start, &case);
                    flows += 1;
                }
            }
        }
    }
    assert!(
        complete > 20 && patient > 0 && flows > 200,
        "{complete} complete, {patient} with patience, {flows} flows"
    );
}

/// A root, an aggregator and a leaf in a row, each link 1 Gbps and 20 us; the leaf computes for 300 us.
fn row(give_up_in: Option<Span>) -> Scenario {
    let mut scenario = mixture(transports().remove(0));
    let tree = tree_of(&mut scenario);
    tree.applications = 1;
    tree.fan_in = vec![1, 1];
    tree.layer_share = vec![1.0, 0.5];
    tree.query = Bytes(100);
    tree.response = vec![bytes(1_000)];
    tree.deadline = vec![give_up_in.map_or(Deadline::None, |base| Deadline::Added {
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
fn a_path_through_two_layers_by_hand() {
    let scenario = row(None);
    let query = run(&scenario).records.queries[0].clone();
    let output = watched(&scenario, query.query);
    let told = told(&output, &query, query.enough);
    assert_eq!(
        time(&told, |doing| doing == Doing::Computing),
        Span::from_us(300)
    );
    assert_eq!((told.flows.len(), told.answers), (4, 1));
    // Four flows: each a handshake there and back and a packet, over two links of 20 us.
    let propagation = time(&told, |doing| {
        matches!(
            doing,
            Doing::Down(_, Cause::Propagation) | Doing::Up(_, Cause::Propagation)
        )
    });
    assert_eq!(propagation, Span::from_us(4 * 6 * 20));
    // Up: 1000 B and headers of 40 B over two links, twice.
    let sending = |node| {
        let parts = told.parts();
        let of = parts.into_iter().filter(|((of, doing), _)| {
            *of == node && matches!(doing, Doing::Up(Stage::Delivery, Cause::Transmission(_)))
        });
        of.fold(Span::ZERO, |sum, (_, part)| sum + part)
    };
    assert_eq!([sending(1), sending(2)], [Span::from_ns(2 * 8_320); 2]);
    assert_eq!(time(&told, is_patience), Span::ZERO);
}

#[test]
fn an_aggregator_that_stops_waiting_spends_its_patience() {
    // The leaf's answer is due 200 us after the aggregator got the query, and the leaf computes for 300.
    let scenario = row(Some(Span::from_us(200)));
    let query = run(&scenario).records.queries[0].clone();
    let output = watched(&scenario, query.query);
    let told_until = |until| told(&output, &query, until);
    let told = told_until(query.complete);
    assert_eq!(time(&told, is_patience), Span::from_us(200));
    assert_eq!(time(&told, |doing| doing == Doing::Computing), Span::ZERO);
    assert_eq!(
        told.flows.len(),
        2,
        "the way down to the aggregator and its answer"
    );
    // No leaf's answer is in it, so that there are never enough; the leaf's own came too late.
    let never = told_until(query.enough);
    let standing = never.standing.expect("never enough");
    assert_eq!((standing.left_behind, standing.held), (1, 1));
    assert_eq!(
        time(&never, |doing| doing == Doing::Computing),
        Span::from_us(300)
    );
    // What came before the leaf's answer is told all the same.
    let leaf = output.traces.iter().filter(|trace| {
        trace.node.is_some_and(|node| node.node == 2) && trace.flow != told.flows[0]
    });
    let network = Network::build(&scenario.topology).unwrap();
    assert_eq!(network.hosts(), 3);
    let answer = leaf.max_by_key(|trace| trace.events[0].at).unwrap();
    let tree = Tree::new(&query, &output.records.flows, &output.traces);
    let before = tree.before(answer.flow).unwrap();
    let computing = before
        .iter()
        .find(|step| step.doing == Doing::Computing)
        .unwrap();
    assert_eq!(computing.to.since(computing.from), Span::from_us(300));
}

#[test]
fn a_query_without_enough_answers_tells_where_it_stood() {
    // The leaf computes for longer than the run goes on.
    let mut scenario = row(None);
    tree_of(&mut scenario).compute = Gap::Fixed(Span::from_secs(30));
    scenario.drain = Span::from_ms(50);
    let query = run(&scenario).records.queries[0].clone();
    assert_eq!(query.enough, None);
    let told = told(&watched(&scenario, query.query), &query, query.enough);
    let standing = told.standing.unwrap();
    assert_eq!(
        (standing.computing, standing.waiting, standing.held),
        (1, 1, 0)
    );
    assert_tiles(
        &told.steps,
        query.start,
        query.start + told.total,
        "computing",
    );
    assert_eq!(told.flows.len(), 2, "the ways down");
}
