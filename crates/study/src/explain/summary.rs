//! Plain-text summary of an explained query.

use std::collections::BTreeMap;

use duetime_analysis::explain::{Activity, Cause, Names, PendingState, QueryExplanation, Stage};
use duetime_core::Span;
use duetime_results::{QueryRecord, Timer};

use crate::text;

/// Minimum share of the total time for a part to be named.
const MIN_SHARE: f64 = 0.1;
/// Maximum number of largest parts to name. Computing can be named in addition.
const MAX_PARTS: usize = 3;
/// Minimum share for computing, which is named even if it is not among the largest parts.
const MIN_SHARE_OF_COMPUTING: f64 = 0.01;
/// Prefix by which `largest` recognizes the parts spent computing.
const COMPUTING: &str = "computing at";

/// Summarizes a query: its time, the answer that completed it and the largest parts of the time.
pub(super) fn summarize(
    query: &QueryRecord,
    explanation: &QueryExplanation,
    names: &Names,
) -> String {
    let largest = largest(explanation, names);
    match &explanation.pending {
        None => format!(
            "Query {} took {}. {}. {}.",
            query.query,
            budget(query, explanation.total),
            last(query, explanation, names),
            largest.map_or_else(
                || "No single part dominates".to_owned(),
                |(time, what)| format!("Time spent: {time} {what}")
            )
        ),
        Some(pending) => {
            let missing = explanation
                .steps
                .last()
                .map_or("?", |step| names.node(step.node));
            format!(
                "Query {} never received enough answers: {}. Time spent on the missing answer of {missing}: {}.",
                query.query,
                describe_pending(query, pending),
                largest.map_or_else(
                    || "no single part dominates".to_owned(),
                    |(time, what)| format!("{time} {what}")
                )
            )
        }
    }
}

/// Formats the query's time and compares it with the budget.
fn budget(query: &QueryRecord, took: Span) -> String {
    let Some(due) = query.due else {
        let suffix = match query.met() {
            Some(false) => "; too few leaf answers met their own deadlines",
            _ => "",
        };
        return format!("{}{suffix}", time(took));
    };
    let had = due.since(query.start);
    if took <= had {
        return format!("{} of its {} budget", time(took), time(had));
    }
    let over = time(took.saturating_sub(had));
    format!("{}, {over} over its {} budget", time(took), time(had))
}

/// Names the answer that completed the query and the chain of nodes behind it.
fn last(query: &QueryRecord, explanation: &QueryExplanation, names: &Names) -> String {
    let Some(end) = explanation.steps.last() else {
        return "No answer was needed".to_owned();
    };
    let mut parts = vec![format!(
        "The {} answer came from {}",
        ordinal(explanation.answers),
        names.node(end.node)
    )];
    let mut before = end.node;
    for step in explanation.steps.iter().rev() {
        match step.activity {
            Activity::AggregatorTimeout => {
                let node = names.node(step.node);
                parts.push(format!("after {node} timed out waiting for its children"));
                break;
            }
            Activity::Up(..) if step.node != before => {
                parts.push(format!("which had waited for {}", names.node(step.node)));
                before = step.node;
            }
            _ => {}
        }
    }
    if query.leaves > query.children {
        let (needed, leaves) = (query.needed, query.leaves);
        parts.push(format!("reaching the required {needed} of {leaves} leaves"));
    }
    parts.join(", ")
}

/// Lists what the nodes were activity when the last event of the query was seen.
fn describe_pending(query: &QueryRecord, pending: &PendingState) -> String {
    let mut parts = vec![format!(
        "the root needed answers from {1} of {0} leaves and had {2}",
        query.leaves, query.needed, query.leaves_answered
    )];
    let more = [
        (pending.answering, "answers were in flight"),
        (pending.quenched, "answers were quenched by their senders"),
        (
            pending.left_behind,
            "answers arrived too late at an aggregator",
        ),
        (pending.waiting, "aggregators were waiting"),
        (
            pending.computing,
            "leaves were computing or waiting for a server",
        ),
        (pending.asked, "queries were in flight"),
    ];
    let more = more.into_iter().filter(|&(count, _)| count > 0);
    parts.extend(more.map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}

/// Returns the largest part and its label, followed by the other parts to name. Returns `None` if every part is too
/// small.
fn largest(explanation: &QueryExplanation, names: &Names) -> Option<(String, String)> {
    let mut sums: BTreeMap<String, Span> = BTreeMap::new();
    // The time after a missing answer's last event is no part of its delay.
    let parts = explanation.parts().into_iter();
    for ((node, activity), span) in
        parts.filter(|((_, activity), _)| *activity != Activity::Pending)
    {
        *sums.entry(label(node, activity, names)).or_default() += span;
    }
    let mut sums: Vec<(String, Span)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
    let total = sums.iter().map(|(_, span)| span.as_secs_f64()).sum::<f64>();
    let least = total * MIN_SHARE;
    let large = sums.iter().filter(|(_, span)| span.as_secs_f64() >= least);
    let mut named: Vec<&(String, Span)> = large.take(MAX_PARTS).collect();
    // Name computing even if it is small, so that readers can distinguish a slow service from a slow network.
    let least = total * MIN_SHARE_OF_COMPUTING;
    let computing = sums
        .iter()
        .find(|(what, span)| what.starts_with(COMPUTING) && span.as_secs_f64() >= least);
    named.extend(computing.filter(|part| !named.contains(part)));
    let (first, others) = named.split_first()?;
    let others = others
        .iter()
        .map(|(what, span)| format!(", {} {what}", time(*span)));
    let what = std::iter::once(first.0.clone()).chain(others);
    Some((time(first.1), what.collect()))
}

/// Returns a short label for a part of the time.
fn label(node: u32, activity: Activity, names: &Names) -> String {
    match activity {
        Activity::Computing | Activity::Aggregating => format!("{COMPUTING} {}", names.node(node)),
        Activity::Queueing => format!("waiting for a server at {}", names.node(node)),
        Activity::AggregatorTimeout => format!(
            "waiting at {} for answers that missed its timeout",
            names.node(node)
        ),
        Activity::QueryJitter | Activity::AnswerJitter => "start jitter".to_owned(),
        Activity::Hedging => format!("waiting at {} to send a hedge", names.parent(node)),
        Activity::Retrying => format!(
            "waiting at {} to retry {}",
            names.parent(node),
            names.first(node)
        ),
        Activity::Parent => format!("waiting at {} for its query", names.parent(node)),
        Activity::Pending => "after its last event".to_owned(),
        Activity::Untraced => "untraced".to_owned(),
        Activity::Down(Stage::Pause, _) | Activity::Up(Stage::Pause, _) => {
            "paused without a granted rate".to_owned()
        }
        Activity::Down(Stage::Postponed, _) | Activity::Up(Stage::Postponed, _) => {
            "postponed by the receiver's overload check".to_owned()
        }
        Activity::Down(_, cause) | Activity::Up(_, cause) => match cause {
            Cause::Queue(link) => format!("queueing at {}", names.link(link)),
            Cause::Transmission(_) => "transmission".to_owned(),
            Cause::Propagation => "propagation".to_owned(),
            Cause::Reception => "receiving hosts (`receive_delay`, `receive_jitter`)".to_owned(),
            Cause::SendJitter => "send jitter".to_owned(),
            Cause::Timer(timer) => waiting_for(timer).to_owned(),
            Cause::Nic | Cause::ReplyNic => "hosts' NICs busy with other packets".to_owned(),
            Cause::Receiver => "held acknowledgements".to_owned(),
            Cause::Grant => {
                "waiting for a grant while the receiver served more urgent messages".to_owned()
            }
            Cause::Resend => "waiting until the receiver requested lost packets".to_owned(),
            Cause::Aborted => "waiting until it was aborted".to_owned(),
            Cause::EarlierMessages => "earlier messages of the connection".to_owned(),
            Cause::Host => "sending hosts".to_owned(),
            Cause::Untraced => "untraced".to_owned(),
            Cause::Unfinished => "after the last delivery of an unfinished flow".to_owned(),
        },
    }
}

/// Returns a short label for the time before a timer expires.
fn waiting_for(timer: Timer) -> &'static str {
    match timer {
        Timer::Handshake => "waiting to resend an unanswered SYN",
        Timer::Retransmission => "waiting for a retransmission timeout",
        Timer::TailLossProbe => "waiting for a tail loss probe",
        Timer::Reordering => "waiting for reordered segments",
        Timer::DelayedAck => "delayed acknowledgements",
        Timer::Request => "waiting to resend an unanswered rate request",
        Timer::Pause => "paused without a granted rate",
        Timer::Pace => "sending at the allocated rate",
        Timer::Announcement => "waiting to repeat an unanswered announcement",
    }
}

fn time(span: Span) -> String {
    text::seconds(span.as_secs_f64())
}

/// Formats an ordinal number, such as "1st" or "22nd".
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinal_suffixes() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 99, 102, 111].map(ordinal);
        assert_eq!(
            all.join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 99th 102nd 111th"
        );
    }
}
