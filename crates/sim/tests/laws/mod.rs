//! Laws that every run obeys, whatever was lost.

mod minimum;
mod ports;
mod starvation;

pub use ports::check_captures;

use crate::generator::Case;
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::Allocation;
use duetime_results::{Class, FlowRecord, QueryRecord, RunRecords};
use duetime_scenario::model::{Deadline, GiveUp, Oldi, Protocol, Workload, WorkloadKind};
use duetime_sim::{AllocatorState, RunOutput};
use minimum::Minimum;
use starvation::Starvation;

/// Returns an error with the given message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// Number of unanswered requests and retransmission timeouts in a row that a sender of D3 tolerates.
const MAX_SILENCE: u32 = 32;
/// Minimum time for which a sender of D3 waits for an answer.
const MIN_REQUEST_WAIT: Span = Span::from_ms(1);

/// Checks every law against the output of a run.
pub fn check(case: &Case, output: &RunOutput) -> Result<(), String> {
    let records = &output.records;
    let cut = Time::ZERO + (case.scenario.duration + case.scenario.drain);
    ensure!(output.complete, "incomplete, although nothing cancelled it");
    ensure!(
        records.totals.end <= cut,
        "ended at {:?}, after the cut at {cut:?}",
        records.totals.end
    );
    flows(case, records)?;
    queries(case, records)?;
    ports::check_measured(case, output)?;
    // Traffic balances only over the whole run, not over the measurement window.
    let whole = RunRecords {
        ports: output.whole_ports.clone(),
        ..records.clone()
    };
    endings(case, &whole, &output.allocators)?;
    ports::check(case, &whole, &output.allocators)
}

fn flows(case: &Case, records: &RunRecords) -> Result<(), String> {
    let minimum = Minimum::new(case);
    let end = records.totals.end;
    ensure!(
        records.flows.is_sorted_by(|a, b| a.flow < b.flow),
        "flows are out of order or repeated"
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
            "delivered more than its size: {flow:?}"
        );
        ensure!(
            flow.is_finite() || finish.is_none(),
            "an endless flow finished: {flow:?}"
        );
        ensure!(*start <= end, "started after the end: {flow:?}");
        // Flows of a query are measured if their query arrived in the measurement window.
        let arrival = flow.query.map_or(Ok(*start), |query| {
            records
                .queries
                .binary_search_by_key(&query, |record| record.query)
                .map(|index| records.queries[index].start)
                .map_err(|_| format!("its query was not recorded: {flow:?}"))
        })?;
        let since = arrival.since(Time::ZERO);
        let measured = case.scenario.warm_up <= since && since < case.scenario.duration;
        ensure!(flow.measured == measured, "`measured` is wrong: {flow:?}");
        if let Some(finish) = *finish {
            ensure!(
                delivered_bytes == size_bytes,
                "finished before all was delivered: {flow:?}"
            );
            ensure!(!flow.quenched, "quenched, but finished: {flow:?}");
            ensure!(finish <= end, "finished after the end {end:?}: {flow:?}");
            let min_time = minimum.flow_time(case, flow);
            ensure!(
                finish >= *start + min_time,
                "faster than its links allow ({min_time}): {flow:?}"
            );
        } else {
            ensure!(
                delivered_bytes < size_bytes,
                "all delivered, but not finished: {flow:?}"
            );
        }
        counters(case, flow)?;
    }
    Ok(())
}

/// Checks the ends of a flow.
fn ends(case: &Case, flow: &FlowRecord) -> Result<(), String> {
    let hosts = case.network.hosts();
    ensure!(
        flow.source < hosts && flow.destination < hosts,
        "unknown host: {flow:?}"
    );
    ensure!(flow.source != flow.destination, "sends to itself: {flow:?}");
    ensure!(
        (flow.flow >> 32) as u32 == flow.source,
        "numbered for another source: {flow:?}"
    );
    let kind = &case.scenario.workloads[usize::from(flow.workload)].kind;
    let expects_query = matches!(kind, WorkloadKind::Oldi(_) | WorkloadKind::Spans(_));
    ensure!(
        flow.query.is_some() == expects_query,
        "`query` is wrong for its workload: {flow:?}"
    );
    Ok(())
}

/// Checks that a flow's counters are possible for its transport.
fn counters(case: &Case, flow: &FlowRecord) -> Result<(), String> {
    let protocol = case.protocol(flow.workload);
    ensure!(
        protocol.reacts_to_marks() || flow.marks == 0,
        "marked without ECN: {flow:?}"
    );
    if protocol.router_program().is_none() {
        let counters = (flow.requests, flow.denials, flow.inversions, flow.quenched);
        ensure!(
            counters == (0, 0, 0, false),
            "requests without routers: {flow:?}"
        );
    }
    if let Protocol::D3(config) = protocol {
        ensure!(
            config.host.policy.quench
                || config.host.policy.speculative
                || !flow.quenched
                || flow.spare.0,
            "quenched without a reason: {flow:?}"
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
    if let Protocol::Pdq(config) = protocol {
        ensure!(
            config.early_termination || !flow.quenched || flow.spare.0 || flow.timeouts > 0,
            "terminated without a reason: {flow:?}"
        );
        ensure!(
            flow.delivered_bytes == 0 || flow.requests > 0,
            "delivered without a packet: {flow:?}"
        );
    }
    Ok(())
}

/// Checks that measured flows finished, unless the run could not finish them.
fn endings(case: &Case, records: &RunRecords, allocators: &[AllocatorState]) -> Result<(), String> {
    let cut = Time::ZERO + (case.scenario.duration + case.scenario.drain);
    let open = |flow: &&FlowRecord| {
        let pending = flow.measured && flow.is_finite() && flow.finish.is_none();
        // Cancelled answers are spare and never finish.
        pending && !flow.quenched && !flow.spare.0
    };
    if case.lenient {
        let starvation = Starvation::new(case, records, allocators)?;
        let stuck = records.flows.iter().filter(open).find(|flow| {
            !is_drowned(case, records, &starvation, flow)
                && !is_crowded_out(case, records, flow)
                && !starvation.reaches(flow)
        });
        ensure!(
            stuck.is_none(),
            "never finished despite ample time: {stuck:?}"
        );
    }
    if records.totals.end < cut {
        // Senders of D3 and PDQ close their flow after a long silence.
        let gives_up = |flow: &&FlowRecord| {
            let protocol = case.protocol(flow.workload);
            matches!(protocol, Protocol::D3(_) | Protocol::Pdq(_))
        };
        let stuck = records
            .flows
            .iter()
            .filter(open)
            .find(|flow| !gives_up(flow));
        ensure!(
            stuck.is_none(),
            "the run ended early at {:?} with {stuck:?} unfinished",
            records.totals.end
        );
    }
    // Routers that police drop packets although buffers are unlimited.
    let is_policed = records.ports.iter().any(|port| port.drops > 0);
    if case.is_lossless() && !is_policed {
        // Without spraying, each flow has one path and queues are first in, first out, so only timeouts and tail loss
        // probes cause retransmissions.
        // Receivers of `due`, Homa and SIRD request packets again after silence, which sources do not count as timeouts.
        let probes = |protocol: &Protocol| match protocol {
            Protocol::Tcp(tcp) => tcp.tail_loss_probe,
            Protocol::Due(_) | Protocol::Homa(_) | Protocol::Sird(_) => true,
            Protocol::D3(_) | Protocol::PFabric(_) | Protocol::Pdq(_) => false,
        };
        let timeouts: u32 = records.flows.iter().map(|flow| flow.timeouts).sum();
        let resent = records.flows.iter().find(|flow| flow.retransmits > 0);
        ensure!(
            timeouts > 0 || resent.is_none() || case.sprays() || case.protocols().any(probes),
            "retransmitted without a loss: {resent:?}"
        );
    }
    Ok(())
}

/// Returns true if requests of paused flows may have taken all capacity from `flow`.
///
/// The routers of D3 and PDQ do not account for requests of paused flows (D3 §4.5, PDQ §3.3). If more flows are paused
/// than requests fit into a round trip, requests fill the link. Its queue leaves nothing to grant (D3 §4.4, PDQ §3.3.3),
/// and delays answers until senders of D3 abandon their flows.
fn is_drowned(
    case: &Case,
    records: &RunRecords,
    starvation: &Starvation,
    flow: &FlowRecord,
) -> bool {
    let mut links = case.network.links.iter().zip(0..);
    let mut is_any_full =
        || links.any(|(link, index)| is_full(case, records, flow, (index, link.rate)));
    match case.protocol(flow.workload) {
        Protocol::D3(config) => !starvation.has_base(config) && is_any_full(),
        Protocol::Pdq(_) => is_any_full(),
        _ => false,
    }
}

/// Returns true if a link was full for most of the run, or once delayed answers until a sender of D3 abandons its flow:
/// after [`MAX_SILENCE`] unanswered requests and retransmission timeouts.
fn is_full(
    case: &Case,
    records: &RunRecords,
    flow: &FlowRecord,
    (link, rate): (u32, Rate),
) -> bool {
    let name = case.network.link_name(link);
    let silence = MIN_REQUEST_WAIT * u64::from(MAX_SILENCE);
    let may_abandon = flow.requests + flow.timeouts > MAX_SILENCE;
    let mut ports = records.ports.iter().filter(|port| port.link == name);
    ports.any(|port| {
        port.utilisation > 0.8 || may_abandon && rate.transmit(port.queue_max_bytes) >= silence
    })
}

/// Returns true if a full link between switches may keep `flow` from finishing.
///
/// With edge allocation, nothing allocates the links between switches. Such a link stays full if it is slower than the
/// rates granted at the hosts, and answers then arrive after senders abandoned their requests.
fn is_crowded_out(case: &Case, records: &RunRecords, flow: &FlowRecord) -> bool {
    let Protocol::D3(config) = case.protocol(flow.workload) else {
        return false;
    };
    let network = &case.network;
    let is_switch = |node: u32| network.nodes[node as usize].host.is_none();
    let mut links = (0..).zip(&network.links);
    config.router.allocation == Allocation::Edge
        && links.any(|(index, link)| {
            is_switch(link.from)
                && is_switch(link.to)
                && is_full(case, records, flow, (index, link.rate))
        })
}

fn queries(case: &Case, records: &RunRecords) -> Result<(), String> {
    ensure!(
        records.queries.is_sorted_by(|a, b| a.query < b.query),
        "queries are out of order or repeated"
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
        ensure!(query.root < case.network.hosts(), "unknown host: {query:?}");
        ensure!(
            in_time <= answered && answered <= children,
            "more answers than children: {query:?}"
        );
        let since = start.since(Time::ZERO);
        let measured = case.scenario.warm_up <= since && since < case.scenario.duration;
        ensure!(query.measured == measured, "`measured` is wrong: {query:?}");
        let expected = Expected::new(case, query)?;
        ensure!(
            children == expected.children,
            "expected {} children: {query:?}",
            expected.children
        );
        let enough = f64::from(answered) >= expected.complete_at * f64::from(children) - 1e-6
            && answered > 0;
        ensure!(
            complete.is_some() == enough,
            "`complete` is wrong: {query:?}"
        );
        ensure!(
            complete.is_none_or(|time| start < time && time <= records.totals.end),
            "completed before its start or after the end: {query:?}"
        );
        let judged = expected.has_deadlines.map(|has| has || query.due.is_some());
        ensure!(
            query.leaves == expected.leaves && judged.is_none_or(|judged| judged == query.judged),
            "wrong `leaves` or `judged`: {query:?}"
        );
        ensure!(
            query.leaves_in_time <= query.leaves_answered
                && query.leaves_answered <= expected.leaves,
            "more leaves answered than exist: {query:?}"
        );
        ensure!(
            query.enough.is_some() == (query.leaves_answered >= query.needed),
            "`enough` is wrong: {query:?}"
        );
        ensure!(
            query.due.is_none() || query.met() == Some(query.leaves_in_time >= query.needed),
            "wrong outcome: {query:?}"
        );
        check_attempts(expected.oldi, query)?;
        ensure!(
            expected.give_up != GiveUp::Never || query.gave_up == 0,
            "timed out, although the workload forbids it: {query:?}"
        );
        if expected.is_flat {
            check_answers(records, query)?;
        }
    }
    Ok(())
}

/// Checks that leaves were retried and hedged no more often than the workload allows.
fn check_attempts(oldi: Option<&Oldi>, query: &QueryRecord) -> Result<(), String> {
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
        "too many hedges or retries: {query:?}"
    );
    ensure!(
        query.hedges_won.0 <= query.hedges.0 && query.retries_won.0 <= query.retries.0,
        "won more hedges or retries than were sent: {query:?}"
    );
    ensure!(
        query.extra_computes.0 <= query.hedges.0 + query.retries.0,
        "more extra computations than hedges and retries: {query:?}"
    );
    Ok(())
}

/// Expected properties of a query.
struct Expected<'c> {
    /// Tree workload of the query; `None` for recorded queries.
    oldi: Option<&'c Oldi>,
    children: u32,
    leaves: u32,
    complete_at: f64,
    give_up: GiveUp,
    /// True if its answers have deadlines; `None` if that differs between applications.
    has_deadlines: Option<bool>,
    /// True if all children of the root are leaves.
    is_flat: bool,
}

impl<'c> Expected<'c> {
    fn new(case: &'c Case, query: &QueryRecord) -> Result<Self, String> {
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
                    "differs from the recording: {query:?}, {recorded:?}"
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
            _ => Err(format!("the workload has no queries: {query:?}")),
        }
    }
}

/// Returns the number of trees of a workload.
fn trees(workload: &Workload) -> usize {
    match &workload.kind {
        WorkloadKind::Oldi(oldi) => (oldi.applications * oldi.trees) as usize,
        WorkloadKind::Spans(spans) => spans.queries.len(),
        _ => 0,
    }
}

/// Checks the answers of a query with one layer against its flows.
fn check_answers(records: &RunRecords, query: &QueryRecord) -> Result<(), String> {
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
            "an answer to another host: {flow:?} of {query:?}"
        );
        answered += u32::from(flow.finish.is_some());
        finishes.extend(flow.finish);
        in_time += u32::from(flow.finish.is_some() && flow.met() != Some(false));
    }
    finishes.sort_unstable();
    let enough = finishes.get(query.needed as usize - 1).copied();
    ensure!(
        enough == query.enough,
        "its flows give {enough:?} for `enough`: {query:?}"
    );
    let by_due = query
        .due
        .map(|due| finishes.iter().filter(|&&time| time <= due).count() as u32);
    ensure!(
        query.leaves_in_time == by_due.unwrap_or(in_time),
        "its flows give {by_due:?} or {in_time} leaves in time: {query:?}"
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
        "its flows give {found:?}: {query:?}"
    );
    Ok(())
}
