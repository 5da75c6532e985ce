//! What holds for every run, whatever was lost.

mod minimum;
mod ports;
mod starvation;

pub use ports::check_captures;

use crate::generator::Case;
use duetime_core::Time;
use duetime_proto::d3::{Allocation, BaseRate};
use duetime_proto::tcp;
use duetime_results::{Class, FlowRecord, QueryRecord, RunRecords};
use duetime_scenario::model::{Deadline, GiveUp, Oldi, Protocol, Workload, WorkloadKind};
use duetime_sim::RunOutput;
use minimum::Minimum;
use starvation::Starvation;

/// Fails with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// Checks everything that a run left behind.
pub fn check(case: &Case, output: &RunOutput) -> Result<(), String> {
    let records = &output.records;
    let cut = Time::ZERO + (case.scenario.duration + case.scenario.drain);
    ensure!(output.complete, "cancelled by nobody");
    ensure!(
        records.totals.end <= cut,
        "ended at {:?}, after the cut at {cut:?}",
        records.totals.end
    );
    flows(case, records)?;
    queries(case, records)?;
    ports::check_measured(case, output)?;
    // What goes in comes out over the whole run.
    let whole = RunRecords {
        ports: output.whole_ports.clone(),
        ..records.clone()
    };
    endings(case, &whole)?;
    ports::check(case, &whole, &output.allocators)
}

fn flows(case: &Case, records: &RunRecords) -> Result<(), String> {
    let minimum = Minimum::of(&case.network);
    let end = records.totals.end;
    ensure!(
        records.flows.is_sorted_by(|a, b| a.flow < b.flow),
        "flows are not in order, or one is there twice"
    );
    for flow in &records.flows {
        ends(case, flow)?;
        let FlowRecord {
            size_bytes,
            delivered_bytes,
            start,
            finish,
            ..
        } = flow;
        ensure!(
            delivered_bytes <= size_bytes,
            "more delivered than sent: {flow:?}"
        );
        ensure!(
            flow.is_finite() || finish.is_none(),
            "a flow without an end has ended: {flow:?}"
        );
        ensure!(*start <= end, "started after the end: {flow:?}");
        // Queries and answers count with the arrival of their query at its root.
        let asked = flow.query.map_or(Ok(*start), |query| {
            records
                .queries
                .binary_search_by_key(&query, |of| of.query)
                .map(|at| records.queries[at].start)
                .map_err(|_| format!("a flow of no query: {flow:?}"))
        })?;
        let since = asked.since(Time::ZERO);
        let measured = case.scenario.warm_up <= since && since < case.scenario.duration;
        ensure!(
            flow.measured == measured,
            "wrongly measured or not: {flow:?}"
        );
        if let Some(finish) = *finish {
            ensure!(
                delivered_bytes == size_bytes,
                "finished, but not all is there: {flow:?}"
            );
            ensure!(!flow.quenched, "both quenched and finished: {flow:?}");
            ensure!(finish <= end, "finished after the end {end:?}: {flow:?}");
            let least = minimum.of_flow(case, flow);
            ensure!(
                finish >= *start + least,
                "faster than its links allow ({least}): {flow:?}"
            );
        } else {
            ensure!(
                delivered_bytes < size_bytes,
                "everything is there, but it is not finished: {flow:?}"
            );
        }
        counters(case, flow)?;
    }
    Ok(())
}

/// Whom a flow joins.
fn ends(case: &Case, flow: &FlowRecord) -> Result<(), String> {
    let hosts = case.network.hosts();
    ensure!(
        flow.source < hosts && flow.destination < hosts,
        "no such hosts: {flow:?}"
    );
    ensure!(flow.source != flow.destination, "to itself: {flow:?}");
    ensure!(
        (flow.flow >> 32) as u32 == flow.source,
        "numbered by another host: {flow:?}"
    );
    let kind = &case.scenario.workloads[usize::from(flow.workload)].kind;
    let of_a_tree = matches!(kind, WorkloadKind::Oldi(_) | WorkloadKind::Spans(_));
    ensure!(
        flow.query.is_some() == of_a_tree,
        "of a query or not? {flow:?}"
    );
    Ok(())
}

/// What its transport can have counted.
fn counters(case: &Case, flow: &FlowRecord) -> Result<(), String> {
    match case.protocol(flow.workload) {
        Protocol::Tcp(tcp::Config {
            congestion_control, ..
        }) => {
            let of_d3 = (flow.requests, flow.denials, flow.inversions, flow.quenched);
            ensure!(of_d3 == (0, 0, 0, false), "TCP asks no router: {flow:?}");
            ensure!(
                congestion_control.uses_marks() || flow.marks == 0,
                "marked without ECN: {flow:?}"
            );
        }
        Protocol::D3(config) => {
            ensure!(flow.marks == 0, "D3 is not marked: {flow:?}");
            ensure!(
                config.quench || config.speculative || !flow.quenched || flow.spare.0,
                "quenched without being told to: {flow:?}"
            );
            ensure!(
                flow.inversions <= flow.denials,
                "more inversions than denials: {flow:?}"
            );
            ensure!(
                flow.delivered_bytes == 0 || flow.requests > 0,
                "delivered without a request: {flow:?}"
            );
        }
    }
    Ok(())
}

/// A measured flow ends, or the run has done what it could.
fn endings(case: &Case, records: &RunRecords) -> Result<(), String> {
    let cut = Time::ZERO + (case.scenario.duration + case.scenario.drain);
    let open = |flow: &&FlowRecord| {
        let ends = flow.measured && flow.is_finite() && flow.finish.is_none();
        // An answer that was aborted is spare.
        ends && !flow.quenched && !flow.spare.0
    };
    if case.patient {
        let starvation = Starvation::of(case, records)?;
        let late = records.flows.iter().filter(open).find(|flow| {
            !is_drowned(case, records, flow)
                && !is_crowded_out(case, records, flow)
                && !starvation.reaches(flow)
        });
        ensure!(
            late.is_none(),
            "never finished, with all the time in the world: {late:?}"
        );
    }
    if records.totals.end < cut {
        // D3 gives a flow up when nothing comes back for long enough.
        let gives_up = |flow: &&FlowRecord| matches!(case.protocol(flow.workload), Protocol::D3(_));
        let stuck = records
            .flows
            .iter()
            .filter(open)
            .find(|flow| !gives_up(flow));
        ensure!(
            stuck.is_none(),
            "the run ended early at {:?} without {stuck:?}",
            records.totals.end
        );
    }
    if case.is_lossless() {
        // One path per flow, first in first out: without a timeout nothing is sent twice, but for tail loss probes.
        let probes =
            |protocol: &Protocol| matches!(protocol, Protocol::Tcp(tcp) if tcp.tail_loss_probe);
        let timeouts: u32 = records.flows.iter().map(|flow| flow.timeouts).sum();
        let again = records.flows.iter().find(|flow| flow.retransmits > 0);
        ensure!(
            timeouts > 0 || again.is_none() || case.protocols().any(probes),
            "sent again, but nothing was lost: {again:?}"
        );
    }
    Ok(())
}

/// Requests of paused flows are not accounted for (D3 §4.5). Where more flows are paused than requests fit into a round
/// trip, requests fill the link, and capacity adaptation leaves nothing to grant.
fn is_drowned(case: &Case, records: &RunRecords, flow: &FlowRecord) -> bool {
    let Protocol::D3(config) = case.protocol(flow.workload) else {
        return false;
    };
    let full = records.ports.iter().any(|port| port.utilisation > 0.8);
    config.base_rate == BaseRate::HeaderOnly && full
}

/// Where the edge allocates, nobody does between the switches. A link there that is slower than what its flows are
/// granted at their hosts stays full, and answers come later than their requests are given up.
fn is_crowded_out(case: &Case, records: &RunRecords, flow: &FlowRecord) -> bool {
    let Protocol::D3(config) = case.protocol(flow.workload) else {
        return false;
    };
    let network = &case.network;
    let is_full = |name: &str| {
        let ports = records.ports.iter();
        ports
            .filter(|port| port.link == name)
            .any(|port| port.utilisation > 0.8)
    };
    let is_switch = |node: u32| network.nodes[node as usize].host.is_none();
    let mut links = (0..).zip(&network.links);
    config.allocation == Allocation::Edge
        && links.any(|(number, link)| {
            is_switch(link.from) && is_switch(link.to) && is_full(&network.link_name(number))
        })
}

fn queries(case: &Case, records: &RunRecords) -> Result<(), String> {
    ensure!(
        records.queries.is_sorted_by(|a, b| a.query < b.query),
        "queries are not in order, or one is there twice"
    );
    for query in &records.queries {
        let QueryRecord {
            start,
            complete,
            children,
            answered,
            in_time,
            ..
        } = *query;
        ensure!(query.root < case.network.hosts(), "no such host: {query:?}");
        ensure!(
            in_time <= answered && answered <= children,
            "more answers than children: {query:?}"
        );
        let since = start.since(Time::ZERO);
        let measured = case.scenario.warm_up <= since && since < case.scenario.duration;
        ensure!(
            query.measured == measured,
            "wrongly measured or not: {query:?}"
        );
        let wanted = Wanted::of(case, query)?;
        ensure!(
            children == wanted.children,
            "{} children were wanted: {query:?}",
            wanted.children
        );
        let enough =
            f64::from(answered) >= wanted.complete_at * f64::from(children) - 1e-6 && answered > 0;
        ensure!(complete.is_some() == enough, "complete or not? {query:?}");
        ensure!(
            complete.is_none_or(|at| start < at && at <= records.totals.end),
            "complete too early or late: {query:?}"
        );
        let judged = wanted.has_deadlines.map(|has| has || query.due.is_some());
        ensure!(
            query.leaves == wanted.leaves && judged.is_none_or(|judged| judged == query.judged),
            "other leaves or another judgement were wanted: {query:?}"
        );
        ensure!(
            query.leaves_in_time <= query.leaves_answered && query.leaves_answered <= wanted.leaves,
            "more leaves than there are: {query:?}"
        );
        ensure!(
            query.enough.is_some() == (query.leaves_answered >= query.needed),
            "enough or not? {query:?}"
        );
        ensure!(
            query.due.is_none() || query.met() == Some(query.leaves_in_time >= query.needed),
            "in time or not? {query:?}"
        );
        again(wanted.oldi, query)?;
        ensure!(
            wanted.give_up != GiveUp::Never || query.gave_up == 0,
            "gave up, which none may: {query:?}"
        );
        if wanted.is_flat {
            answers(records, query)?;
        }
    }
    Ok(())
}

/// Leaves are asked again no more often than the workload says.
fn again(oldi: Option<&Oldi>, query: &QueryRecord) -> Result<(), String> {
    let times = oldi
        .and_then(|oldi| oldi.retry)
        .map_or(0, |retry| retry.times);
    let hedges = if oldi.is_some_and(|oldi| oldi.hedge.is_some()) {
        query.leaves
    } else {
        0
    };
    ensure!(
        query.hedges.0 <= hedges && query.retries.0 <= times * query.leaves,
        "asked again too often: {query:?}"
    );
    ensure!(
        query.hedges_won.0 <= query.hedges.0 && query.retries_won.0 <= query.retries.0,
        "won more often than asked: {query:?}"
    );
    ensure!(
        query.extra_computes.0 <= query.hedges.0 + query.retries.0,
        "computed more often than asked: {query:?}"
    );
    Ok(())
}

/// What a query must be like.
struct Wanted<'c> {
    /// The workload, if the query is none that was recorded.
    oldi: Option<&'c Oldi>,
    children: u32,
    leaves: u32,
    complete_at: f64,
    give_up: GiveUp,
    /// Whether its answers have deadlines; `None` where that differs between applications.
    has_deadlines: Option<bool>,
    /// Whether all children of the root are leaves.
    is_flat: bool,
}

impl<'c> Wanted<'c> {
    fn of(case: &'c Case, query: &QueryRecord) -> Result<Self, String> {
        let number = usize::from(query.workload);
        match &case.scenario.workloads[number].kind {
            WorkloadKind::Oldi(oldi) => Ok(Self {
                oldi: Some(oldi),
                children: oldi.fan_in[0],
                leaves: oldi.fan_in.iter().product(),
                complete_at: oldi.complete_at,
                give_up: oldi.give_up,
                has_deadlines: (oldi.deadline.len() == 1)
                    .then_some(oldi.deadline[0] != Deadline::None),
                is_flat: oldi.fan_in.len() == 1,
            }),
            WorkloadKind::Spans(spans) => {
                let before = case.scenario.workloads[..number].iter().map(trees);
                let tree = (query.query >> 32) as usize - before.sum::<usize>();
                let recorded = &spans.queries[tree];
                ensure!(
                    query.start == Time::ZERO + recorded.start
                        && recorded.nodes[0].host.is_none_or(|host| host == query.root)
                        && query.asked as usize == recorded.nodes.len() - 1,
                    "not as it was recorded: {query:?}, {recorded:?}"
                );
                let leaves = recorded.nodes.iter().filter(|node| node.children == 0);
                Ok(Self {
                    oldi: None,
                    children: recorded.nodes[0].children,
                    leaves: leaves.count() as u32,
                    complete_at: spans.complete_at,
                    give_up: spans.give_up,
                    has_deadlines: Some(spans.deadline != Deadline::None),
                    is_flat: recorded.nodes[1..].iter().all(|node| node.children == 0),
                })
            }
            _ => Err(format!("a query of a workload without trees: {query:?}")),
        }
    }
}

/// The trees of a workload.
fn trees(workload: &Workload) -> usize {
    match &workload.kind {
        WorkloadKind::Oldi(oldi) => (oldi.applications * oldi.trees) as usize,
        WorkloadKind::Spans(spans) => spans.queries.len(),
        _ => 0,
    }
}

/// The answers of a tree of one layer are its flows.
fn answers(records: &RunRecords, query: &QueryRecord) -> Result<(), String> {
    let all = records
        .flows
        .iter()
        .filter(|flow| flow.query == Some(query.query) && flow.class == Class::Response)
        .filter(|flow| !flow.spare.0);
    let (mut answered, mut in_time) = (0, 0);
    let mut finishes = Vec::new();
    for flow in all {
        ensure!(
            flow.destination == query.root,
            "an answer to somebody else: {flow:?} of {query:?}"
        );
        answered += u32::from(flow.finish.is_some());
        finishes.extend(flow.finish);
        in_time += u32::from(flow.finish.is_some() && flow.met() != Some(false));
    }
    finishes.sort_unstable();
    let enough = finishes.get(query.needed as usize - 1).copied();
    ensure!(
        enough == query.enough,
        "its flows say that {enough:?} was enough: {query:?}"
    );
    let by_due = query
        .due
        .map(|due| finishes.iter().filter(|&&at| at <= due).count() as u32);
    ensure!(
        query.leaves_in_time == by_due.unwrap_or(in_time),
        "its flows say {by_due:?} or {in_time} in time: {query:?}"
    );
    let found = (answered, in_time, answered, 0);
    ensure!(
        found
            == (
                query.answered,
                query.in_time,
                query.leaves_answered,
                query.gave_up
            ),
        "its flows say {found:?}: {query:?}"
    );
    Ok(())
}
