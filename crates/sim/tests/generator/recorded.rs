//! Recorded queries that replace some of the flow traces.

use super::{Budget, Draw};
use duetime_core::{Bytes, Span};
use duetime_scenario::model::{
    Deadline, DeadlineFrom, GiveUp, Objective, RecordedNode, RecordedQuery, Spans, TraceFlow,
    Workload, WorkloadKind,
};

/// Converts the flows of some traces to queries: each flow becomes an answer in a tree.
pub(super) fn queries(draw: &mut Draw, budget: &Budget, hosts: u32, workloads: &mut [Workload]) {
    for workload in workloads {
        if let WorkloadKind::Trace { flows } = &workload.kind
            && draw.flag(0.5)
        {
            workload.kind = WorkloadKind::Spans(spans(draw, budget, hosts, flows));
        }
    }
}

fn spans(draw: &mut Draw, budget: &Budget, hosts: u32, flows: &[TraceFlow]) -> Spans {
    let named = draw.flag(0.5);
    let mut left = flows;
    let mut queries = Vec::new();
    while !left.is_empty() {
        let (answers, others) = left.split_at((draw.scale(1, 40) as usize).min(left.len()));
        left = others;
        let mut nodes = tree(draw, budget, answers);
        if named {
            place(draw, hosts, &mut nodes);
        }
        queries.push(RecordedQuery {
            start: answers[0].start,
            took: Span::ZERO,
            nodes,
        });
    }
    let deadline = draw.one_of(&[
        Deadline::None,
        Deadline::Added {
            base: budget.duration / 2,
            added: 0.5,
        },
    ]);
    Spans {
        queries,
        deadline,
        deadline_from: draw.one_of(&[DeadlineFrom::Query, DeadlineFrom::Response]),
        complete_at: draw.one_of(&[1.0, 1.0, 0.5]),
        objective: Objective {
            within: if draw.flag(0.5) {
                vec![budget.duration / 3]
            } else {
                Vec::new()
            },
            answers: draw.one_of(&[1.0, 0.9, 0.5]),
            share: None,
        },
        give_up: draw.one_of(&[
            GiveUp::Children,
            GiveUp::Own,
            GiveUp::Never,
            GiveUp::After(budget.duration / 5),
        ]),
        outside: 0,
    }
}

/// Creates a tree of a root and a node for each answer, in breadth-first order.
fn tree(draw: &mut Draw, budget: &Budget, answers: &[TraceFlow]) -> Vec<RecordedNode> {
    let mut nodes = vec![RecordedNode {
        parent: 0,
        children: 0,
        host: None,
        request: Bytes(0),
        response: Bytes(0),
        compute: Span::ZERO,
        took: Span::ZERO,
        waited: Span::ZERO,
        network: None,
    }];
    // Parents in order, so that children are adjacent.
    let mut parent = 0;
    for (position, answer) in answers.iter().enumerate() {
        if nodes[parent].children > 0 && parent < position && draw.flag(0.2) {
            parent += 1;
        }
        nodes[parent].children += 1;
        nodes.push(RecordedNode {
            parent: parent as u32,
            children: 0,
            host: None,
            request: Bytes(draw.one_of(&[1, 100, 1_460, 5_000])),
            response: answer.size,
            compute: draw.span(Span::from_ps(1), budget.duration / 10),
            took: Span::ZERO,
            waited: Span::ZERO,
            network: None,
        });
    }
    nodes
}

/// Places each node on a host other than its parent's.
fn place(draw: &mut Draw, hosts: u32, nodes: &mut [RecordedNode]) {
    for position in 0..nodes.len() {
        let step = draw.between(1, u64::from(hosts) - 1) as u32;
        let above = nodes[nodes[position].parent as usize].host;
        let host = above.map_or(step, |above| (above + step) % hosts);
        nodes[position].host = Some(host);
    }
}
