//! A query's time in a sentence.

use std::collections::BTreeMap;

use duetime_core::Span;
use duetime_results::QueryRecord;
use duetime_results::explain::query::{Doing, QueryExplanation, Standing};
use duetime_results::explain::{Cause, Stage};

use super::Names;
use crate::text;

/// Parts of less than this share are not worth a word.
const WORTH: f64 = 0.1;
/// Parts that are named at most.
const MOST: usize = 3;
/// Of what the service itself did, this share.
const WORTH_OF_COMPUTING: f64 = 0.01;
const COMPUTING: &str = "computing at";

/// How long it took, who was last, and what most of it went into.
pub(super) fn of(query: &QueryRecord, told: &QueryExplanation, names: &Names) -> String {
    let largest = largest(told, names);
    match &told.standing {
        None => format!(
            "Query {} took {}: {}; {}.",
            query.query,
            budget(query, told.total),
            last(query, told, names),
            largest.map_or_else(
                || "no part of it stands out".to_owned(),
                |(time, what)| format!("{time} of it went into {what}")
            )
        ),
        Some(standing) => {
            let missing = told.steps.last().map_or("?", |step| names.node(step.node));
            format!(
                "Query {} never had enough answers: {}; of the time of one that is missing, {missing}'s, {}.",
                query.query,
                stood(query, standing),
                largest.map_or_else(
                    || "no part stands out".to_owned(),
                    |(time, what)| format!("{time} went into {what}")
                )
            )
        }
    }
}

/// How long it took, against what it had.
fn budget(query: &QueryRecord, took: Span) -> String {
    let Some(due) = query.due else {
        let own = match query.met() {
            Some(false) => {
                ", and too few of its leaves' answers were in time by their own deadlines"
            }
            _ => "",
        };
        return format!("{}{own}", time(took));
    };
    let had = due.since(query.start);
    if took <= had {
        return format!("{} of the {} it had", time(took), time(had));
    }
    let over = time(took.saturating_sub(had));
    format!("{}, {over} more than the {} it had", time(took), time(had))
}

/// Whose answer came last.
fn last(query: &QueryRecord, told: &QueryExplanation, names: &Names) -> String {
    let Some(end) = told.steps.last() else {
        return "it needed no answer".to_owned();
    };
    let mut parts = vec![format!(
        "the {} answer came from {}",
        ordinal(told.answers),
        names.node(end.node)
    )];
    let mut before = end.node;
    for step in told.steps.iter().rev() {
        match step.doing {
            Doing::Patience => {
                let node = names.node(step.node);
                parts.push(format!("where {node} had stopped waiting for its own"));
                break;
            }
            Doing::Up(..) if step.node != before => {
                parts.push(format!("which had waited for {}", names.node(step.node)));
                before = step.node;
            }
            _ => {}
        }
    }
    if query.leaves > query.children {
        let (needed, leaves) = (query.needed, query.leaves);
        parts.push(format!(
            "and with it those of {needed} of {leaves} leaves were there"
        ));
    }
    parts.join(", ")
}

fn stood(query: &QueryRecord, standing: &Standing) -> String {
    let mut parts = vec![format!(
        "of {} leaves {} were needed and the root held {}",
        query.leaves, query.needed, query.leaves_answered
    )];
    let more = [
        (standing.answering, "answers were on their way"),
        (standing.quenched, "answers were given up by their senders"),
        (standing.left_behind, "had come too late for an aggregator"),
        (standing.waiting, "aggregators still waited"),
        (standing.computing, "leaves still computed"),
        (standing.asked, "queries were on their way down"),
    ];
    let more = more.into_iter().filter(|&(count, _)| count > 0);
    parts.extend(more.map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}

/// What most of the time went into: how long, and into what, with what else it went into.
fn largest(told: &QueryExplanation, names: &Names) -> Option<(String, String)> {
    let mut sums: BTreeMap<String, Span> = BTreeMap::new();
    // What came after a missing answer's own time says nothing about it.
    let parts = told.parts().into_iter();
    for ((node, doing), span) in parts.filter(|((_, doing), _)| *doing != Doing::Standing) {
        *sums.entry(what(node, doing, names)).or_default() += span;
    }
    let mut sums: Vec<(String, Span)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
    let whole = sums.iter().map(|(_, span)| span.as_secs_f64()).sum::<f64>();
    let least = whole * WORTH;
    let worth = sums.iter().filter(|(_, span)| span.as_secs_f64() >= least);
    let mut named: Vec<&(String, Span)> = worth.take(MOST).collect();
    // A reader asks first whether it was the network or the service itself.
    let least = whole * WORTH_OF_COMPUTING;
    let own = sums
        .iter()
        .find(|(what, span)| what.starts_with(COMPUTING) && span.as_secs_f64() >= least);
    named.extend(own.filter(|own| !named.contains(own)));
    let (first, others) = named.split_first()?;
    let others = others
        .iter()
        .map(|(what, span)| format!(", {} into {what}", time(*span)));
    let what = std::iter::once(first.0.clone()).chain(others);
    Some((time(first.1), what.collect()))
}

/// What a piece went into, in few words.
fn what(node: u32, doing: Doing, names: &Names) -> String {
    match doing {
        Doing::Computing => format!("{COMPUTING} {}", names.node(node)),
        Doing::Patience => format!(
            "waiting at {} for answers that came too late",
            names.node(node)
        ),
        Doing::Asking | Doing::Joining => "the hosts' start jitter".to_owned(),
        Doing::Standing => "what came after its last event".to_owned(),
        Doing::Untraced => "what was not traced".to_owned(),
        Doing::Down(Stage::Pause, _) | Doing::Up(Stage::Pause, _) => {
            "pauses without a granted rate".to_owned()
        }
        Doing::Down(_, cause) | Doing::Up(_, cause) => match cause {
            Cause::Queue(link) => format!("the queue of {}", names.link(link)),
            Cause::Transmission(_) => "transmission".to_owned(),
            Cause::Propagation => "propagation".to_owned(),
            Cause::Reception => {
                "the receiving hosts (`receive_delay`, `receive_jitter`)".to_owned()
            }
            Cause::RtoIdle => "silence until a retransmission timeout".to_owned(),
            Cause::Receiver => "acknowledgements held back".to_owned(),
            Cause::Host => "the sending host (jitter, its link busy, earlier messages)".to_owned(),
            Cause::Untraced => "what was not traced".to_owned(),
            Cause::Unfinished => "a flow that never finished".to_owned(),
        },
    }
}

fn time(span: Span) -> String {
    text::seconds(span.as_secs_f64())
}

/// 1st, 2nd, 3rd, 4th.
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
    fn ordinals_read_well() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 99, 102, 111].map(ordinal);
        assert_eq!(
            all.join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 99th 102nd 111th"
        );
    }
}
