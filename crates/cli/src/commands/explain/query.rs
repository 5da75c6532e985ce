//! Explanation of a query as text and JSON.

use std::collections::BTreeMap;
use std::io::Write;

use duetime_analysis::explain::{Activity, Names, QueryStep, by_activity};
use duetime_core::Span;
use duetime_study::{ExplainedQuery, text};
use serde_json::{Value, json};

use super::labels::{activity_labels, event_label};
use super::{breakdown, write_events};

/// Columns of a breakdown after the times.
pub const COLUMNS: [&str; 3] = ["where", "while waiting for", "spent on"];

/// Prints the summary of a query, the stations of its critical path and the breakdown of its time.
pub fn human(
    out: &mut impl Write,
    explained: &ExplainedQuery,
    events: bool,
) -> std::io::Result<()> {
    let query = &explained.query;
    writeln!(
        out,
        "query {} of {}: {}, at {}, arrived at {}",
        query.query,
        explained.run,
        explained.workload,
        explained.names.node(0),
        text::seconds(query.start.as_secs_f64())
    )?;
    writeln!(out, "{}\n", explained.summary)?;
    let explanation = &explained.explanation;
    let stations = stations(&explanation.steps);
    for &(node, activity, time) in &stations {
        let time = text::seconds(time.as_secs_f64());
        let [place, _, spent] = activity_labels(node, activity, &explained.names);
        let in_transit = matches!(activity, Activity::Down(..) | Activity::Up(..));
        let spent = if in_transit { String::new() } else { spent };
        let text = [place, spent].join(" ");
        writeln!(out, "{time:>12}  {}", text.trim())?;
    }
    let end = if explanation.pending.is_none() {
        "until enough answers arrived"
    } else {
        "until the last event"
    };
    let rows = rows(&explanation.steps, &explained.names);
    write!(
        out,
        "\n{}",
        breakdown(explanation.total, rows, &COLUMNS, end)
    )?;
    if events {
        for (flow, trace) in &explained.flows {
            writeln!(out, "\nflow {}, {:?}:", flow.flow, flow.class)?;
            write_events(out, &trace.events, query.start, &explained.names)?;
        }
    }
    Ok(())
}

/// Converts the explanation of a query to JSON.
pub fn to_json(explained: &ExplainedQuery, events: bool) -> Value {
    let (query, explanation) = (&explained.query, &explained.explanation);
    let mut value = json!({
        "event": "query-explanation",
        "run": explained.run,
        "query": query.query,
        "workload": explained.workload,
        "root": explained.names.node(0),
        "start_ps": query.start.as_ps(),
        "summary": explained.summary,
        "budget_ps": query.due.map(|due| due.since(query.start).as_ps()),
        "leaves": query.leaves,
        "needed": query.needed,
        "leaves_answered": query.leaves_answered,
        "met": query.met(),
        "complete": explanation.pending.is_none(),
        "total_ps": explanation.total.as_ps(),
        "answers": explanation.answers,
        "flows": explanation.flows,
        "parts": parts_json(&explanation.parts(), &explained.names),
    });
    if let Some(pending) = explanation.pending {
        value["standing"] = json!(pending);
    }
    if events {
        let flows = explained.flows.iter().map(|(flow, trace)| {
            let events = trace.events.iter().map(
                |event| json!({ "at_ps": event.at.as_ps(), "what": event_label(event, &explained.names) }),
            );
            json!({ "flow": flow.flow, "class": flow.class, "events": events.collect::<Vec<_>>() })
        });
        value["events"] = flows.collect();
    }
    value
}

/// Returns the parts of a path with their labels.
pub fn rows(steps: &[QueryStep], names: &Names) -> Vec<(Span, Vec<String>)> {
    let parts = by_activity(steps).into_iter();
    parts
        .map(|((node, activity), time)| (time, activity_labels(node, activity, names).to_vec()))
        .collect()
}

/// Converts the parts of a path to JSON. They add up to the path's time.
pub fn parts_json(parts: &BTreeMap<(u32, Activity), Span>, names: &Names) -> Vec<Value> {
    let part = |(&(node, activity), time): (&(u32, Activity), &Span)| {
        let [place, waiting, spent] = activity_labels(node, activity, names);
        json!({ "where": place, "waiting_for": waiting, "spent_on": spent, "ps": time.as_ps() })
    };
    parts.iter().map(part).collect()
}

/// Merges consecutive steps at a node, or of a flow in transit, into the stations of a path.
fn stations(steps: &[QueryStep]) -> Vec<(u32, Activity, Span)> {
    let same = |a: Activity, b: Activity| {
        matches!(
            (a, b),
            (Activity::Down(..), Activity::Down(..)) | (Activity::Up(..), Activity::Up(..))
        ) || a == b
    };
    let mut stations: Vec<(u32, Activity, Span)> = Vec::new();
    for step in steps {
        let time = step.to.since(step.from);
        match stations.last_mut() {
            Some((node, activity, sum)) if *node == step.node && same(*activity, step.activity) => {
                *sum += time;
            }
            _ => stations.push((step.node, step.activity, time)),
        }
    }
    stations
}
