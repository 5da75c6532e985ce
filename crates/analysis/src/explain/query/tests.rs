use super::*;
use crate::sample;
use duetime_results::FlowEventKind as Kind;
use duetime_results::{FlowEvent, Question, Timer};
use proptest::prelude::*;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn query(start: u64) -> QueryRecord {
    QueryRecord {
        start: us(start),
        ..sample::records().queries[0].clone()
    }
}

/// Flows of a tree without hops, so that each flow is one part.
#[derive(Default)]
struct Flows {
    records: Vec<FlowRecord>,
    traces: Vec<FlowTrace>,
}

impl Flows {
    fn add(&mut self, class: Class, node: TreeNode, start: u64, finish: Option<u64>) {
        let flow = self.records.len() as u64;
        let mut record = sample::flow(flow, 0, None, None);
        record.class = class;
        record.query = Some(0);
        record.start = us(start);
        record.finish = finish.map(us);
        self.records.push(record);
        let mut events = vec![FlowEvent {
            at: us(start),
            what: Kind::Submitted,
        }];
        events.extend(finish.map(|at| FlowEvent {
            at: us(at),
            what: Kind::Finished,
        }));
        self.traces.push(FlowTrace {
            flow,
            node: Some(node),
            events,
        });
    }

    fn tree(&self, query: &QueryRecord) -> Tree<'_> {
        Tree::new(query, &self.records, &self.traces)
    }
}

fn leaf(node: u32, parent: u32) -> TreeNode {
    TreeNode {
        node,
        parent,
        ..TreeNode::default()
    }
}

/// Sets the computation and the start jitter, in microseconds.
fn after(node: TreeNode, computing: u64, jitter: u64) -> TreeNode {
    TreeNode {
        computing: Span::from_us(computing),
        jitter: Span::from_us(jitter),
        ..node
    }
}

fn covers(steps: &[QueryStep], from: Time, to: Time) {
    let mut at = from;
    for step in steps {
        assert_eq!(step.from, at, "a gap in {steps:#?}");
        assert!(step.to > step.from);
        at = step.to;
    }
    assert_eq!(at, to, "{steps:#?}");
}

/// Root 0 queries aggregator 1, which needs one answer of its leaves 3 and 4, and leaf 2.
fn tree() -> Flows {
    let between = TreeNode {
        node: 1,
        parent: 0,
        children: 2,
        needed: 1,
        ..TreeNode::default()
    };
    let mut flows = Flows::default();
    flows.add(Class::Query, after(between, 0, 10), 1_010, Some(1_100));
    flows.add(Class::Query, leaf(2, 0), 1_000, Some(1_080));
    flows.add(Class::Query, after(leaf(3, 1), 0, 20), 1_120, Some(1_200));
    flows.add(Class::Query, leaf(4, 1), 1_100, Some(1_190));
    let answers = [
        (after(leaf(3, 1), 240, 10), 1_450, 1_600),
        (after(leaf(4, 1), 610, 0), 1_800, 1_900),
        (after(between, 5, 2), 1_607, 2_000),
        (after(leaf(2, 0), 420, 0), 1_500, 1_700),
    ];
    for (node, start, finish) in answers {
        flows.add(Class::Response, node, start, Some(finish));
    }
    flows
}

#[test]
fn path_follows_the_needed_answer() {
    let (flows, query) = (tree(), query(1_000));
    let explanation = flows.tree(&query).explain(Some(us(2_000)));
    covers(&explanation.steps, us(1_000), us(2_000));
    // Node 1 needs only its first leaf; the slow leaf is not on the path.
    assert_eq!(explanation.flows, [0, 2, 4, 6]);
    assert_eq!((explanation.answers, explanation.pending), (2, None));
    let parts: Vec<(u32, bool, u64)> = explanation
        .steps
        .iter()
        .map(|step| {
            let under_way = matches!(step.activity, Activity::Down(..) | Activity::Up(..));
            (
                step.node,
                under_way,
                step.to.since(step.from).as_ps() / 1_000_000,
            )
        })
        .collect();
    assert_eq!(
        parts,
        [
            (1, false, 10),  // start jitter of the root
            (1, true, 90),   // query to node 1
            (3, false, 20),  // start jitter of node 1
            (3, true, 80),   // query to the leaf
            (3, false, 240), // computation
            (3, false, 10),  // start jitter of the leaf
            (3, true, 150),  // answer to node 1
            (1, false, 5),   // computation
            (1, false, 2),   // start jitter of node 1
            (1, true, 393),  // answer to the root
        ]
    );
    let parts = explanation.parts();
    assert_eq!(parts[&(3, Activity::Computing)], Span::from_us(240));
    assert_eq!(parts[&(3, Activity::AnswerJitter)], Span::from_us(10));
    assert_eq!(parts[&(3, Activity::QueryJitter)], Span::from_us(20));
    assert_eq!(parts[&(1, Activity::Aggregating)], Span::from_us(5));
    assert_eq!(parts[&(1, Activity::AnswerJitter)], Span::from_us(2));
    // If one answer is enough, leaf 2's answer completes the query.
    let explanation = flows.tree(&query).explain(Some(us(1_700)));
    covers(&explanation.steps, us(1_000), us(1_700));
    assert_eq!(explanation.flows, [1, 7]);
    assert_eq!(explanation.answers, 1);
}

#[test]
fn aggregator_timeout_is_a_part() {
    let (mut flows, query) = (tree(), query(1_000));
    for record in &mut flows.records[4..6] {
        record.finish = record.finish.map(|finish| finish + Span::from_us(200));
    }
    let explanation = flows.tree(&query).explain(Some(us(2_000)));
    covers(&explanation.steps, us(1_000), us(2_000));
    assert_eq!(explanation.flows, [0, 6]);
    assert_eq!(
        explanation.parts()[&(1, Activity::AggregatorTimeout)],
        Span::from_us(500)
    );
    assert_eq!(
        explanation.parts()[&(1, Activity::Aggregating)],
        Span::from_us(5)
    );
}

#[test]
fn missing_answer_is_followed() {
    let (mut flows, query) = (tree(), query(1_000));
    // Node 2's answer is in flight; an answer reached node 1 too late.
    flows.records[7].finish = None;
    flows.traces[7].events[1].what = Kind::Timer(Timer::Retransmission);
    let explanation = flows.tree(&query).explain(None);
    covers(&explanation.steps, us(1_000), us(2_000));
    assert_eq!(explanation.flows, [1, 7]);
    let pending = PendingState {
        held: 1,
        answering: 1,
        left_behind: 1,
        ..PendingState::default()
    };
    assert_eq!(explanation.pending, Some(pending));
    assert_eq!(explanation.answers, 1);
    assert_eq!(
        explanation.parts()[&(2, Activity::Pending)],
        Span::from_us(300)
    );

    // A quenched answer is not in flight.
    flows.records[7].quenched = true;
    let pending = flows.tree(&query).explain(None).pending.unwrap();
    assert_eq!((pending.answering, pending.quenched), (0, 1));
    flows.records[7].quenched = false;

    // Nothing is in flight: the answer that came too late is missing.
    flows.records[7].finish = Some(us(1_700));
    let explanation = flows.tree(&query).explain(None);
    covers(&explanation.steps, us(1_000), us(2_000));
    assert_eq!(explanation.flows, [0, 3, 5]);

    // A leaf computes.
    flows.records.truncate(4);
    let explanation = flows.tree(&query).explain(None);
    covers(&explanation.steps, us(1_000), us(1_200));
    let pending = explanation.pending.unwrap();
    assert_eq!((pending.computing, pending.waiting), (3, 1));
    assert_eq!(explanation.flows, [1]);

    // An aggregator has not queried its leaves.
    let mut early = tree();
    early.records.truncate(1);
    let explanation = early.tree(&query).explain(None);
    covers(&explanation.steps, us(1_000), us(1_100));
    assert_eq!(explanation.pending.unwrap().waiting, 1);
    assert_eq!(explanation.flows, [0]);

    // A query is in flight.
    for record in &mut flows.records {
        record.finish = None;
    }
    let explanation = flows.tree(&query).explain(None);
    assert_eq!(explanation.pending.unwrap().asked, 4);
    assert_eq!(explanation.flows, [1]);
}

#[test]
fn path_before_a_flow_begins_at_the_root() {
    let (flows, query) = (tree(), query(1_000));
    let tree = flows.tree(&query);
    for record in &flows.records {
        let before = tree.before(record.flow).expect("one of the query's");
        covers(&before, us(1_000), record.start);
    }
    let computing = |flow| {
        let parts = by_activity(&tree.before(flow).unwrap());
        let of = parts
            .iter()
            .find(|((_, activity), _)| *activity == Activity::Computing);
        of.map(|(_, &span)| span)
    };
    assert_eq!(computing(7), Some(Span::from_us(420)));
    assert_eq!(computing(5), Some(Span::from_us(610)));
    assert_eq!(computing(3), None);
    assert_eq!(tree.before(99), None);
}

/// Root 0 queries leaf 1 at 1,010 us, hedges at 1,300 us and retries at 1,400 and 1,800 us.
fn hedged_and_retried(answered: u32) -> Flows {
    let mut flows = Flows::default();
    let questions = [
        (Question::First, 1_010),
        (Question::Hedge, 1_300),
        (Question::Retry, 1_400),
        (Question::Retry, 1_800),
    ];
    for (attempt, (question, start)) in (0..).zip(questions) {
        let node = TreeNode {
            question,
            ..leaf(1, 0)
        };
        let jitter = if question == Question::First { 10 } else { 0 };
        flows.add(
            Class::Query,
            after(node, 0, jitter),
            start,
            Some(start + 50),
        );
        flows.records.last_mut().unwrap().attempt.0 = attempt;
        // Every query is answered; the answer to `answered` counts.
        flows.add(
            Class::Response,
            after(node, 100, 0),
            start + 150,
            Some(start + 200),
        );
        let record = flows.records.last_mut().unwrap();
        record.attempt.0 = attempt;
        record.spare = (attempt != answered).into();
    }
    flows
}

#[test]
fn hedges_and_retries_are_parts() {
    let query = query(1_000);
    for (answered, activity, waited, end) in [
        (1, Activity::Hedging, 290, 1_500),
        (2, Activity::Retrying, 390, 1_600),
        (3, Activity::Retrying, 790, 2_000),
    ] {
        let flows = hedged_and_retried(answered);
        let explanation = flows.tree(&query).explain(Some(us(end)));
        covers(&explanation.steps, us(1_000), us(end));
        let parts = explanation.parts();
        assert_eq!(parts[&(1, activity)], Span::from_us(waited));
        assert_eq!(parts[&(1, Activity::QueryJitter)], Span::from_us(10));
        assert_eq!(parts[&(1, Activity::Computing)], Span::from_us(100));
        assert!(!parts.contains_key(&(1, Activity::Parent)));
        // Queries and answers that did not count are explained as well.
        let tree = flows.tree(&query);
        for record in &flows.records {
            let before = tree.before(record.flow).expect("one of the query's");
            covers(&before, us(1_000), record.start);
        }
    }
}

#[test]
fn cancelled_answer_is_ignored() {
    let query = query(1_000);
    let mut flows = hedged_and_retried(2);
    // The first query was cancelled too late to abort its answer, which never arrives.
    flows.records[1].finish = None;
    flows.records[1].spare = false.into();
    let explanation = flows.tree(&query).explain(Some(us(1_600)));
    covers(&explanation.steps, us(1_000), us(1_600));
    assert_eq!(explanation.flows, [4, 5]);
    assert_eq!(
        explanation.parts()[&(1, Activity::Retrying)],
        Span::from_us(390)
    );
}

#[test]
fn discarded_answers_are_left_behind() {
    let query = query(1_000);
    let mut flows = hedged_and_retried(3);
    // The answer to the last query never arrives; the others arrived after their queries were cancelled.
    flows.records.truncate(7);
    let explanation = flows.tree(&query).explain(None);
    covers(&explanation.steps, us(1_000), us(1_850));
    assert_eq!(explanation.flows, [6]);
    let pending = explanation.pending.unwrap();
    assert_eq!((pending.computing, pending.held), (1, 0));
    assert_eq!(
        explanation.parts()[&(1, Activity::Retrying)],
        Span::from_us(790)
    );
}

proptest! {
    /// The parts cover the query's time for any records, even inconsistent ones.
    #[test]
    fn parts_always_cover_the_time(
        drawn in proptest::collection::vec(
            (any::<bool>(), 1u32..6, 0u32..6, 0u32..3, 0u32..3, 0u64..500, proptest::option::of(0u64..900)),
            0..14,
        ),
        start in 0u64..300,
        length in proptest::option::of(0u64..900),
    ) {
        let mut flows = Flows::default();
        for (down, node, parent, children, needed, from, finish) in drawn {
            // Parents have smaller indices than their children.
            let node = TreeNode { node, parent: parent.min(node - 1), children, needed, ..TreeNode::default() };
            let class = if down { Class::Query } else { Class::Response };
            flows.add(class, node, from, finish.map(|finish| finish.max(from)));
        }
        let query = query(start);
        let enough = length.map(|length| us(start + length));
        let tree = flows.tree(&query);
        let explanation = tree.explain(enough);
        covers(&explanation.steps, query.start, query.start + explanation.total);
        for record in &flows.records {
            if let Some(before) = tree.before(record.flow) {
                covers(&before, query.start, record.start.max(query.start));
            }
        }
    }
}
