//! One query, for people and programs.

use std::collections::BTreeMap;
use std::io::Write;

use duetime_core::Span;
use duetime_results::explain::query::{Doing, QueryStep, sums};
use duetime_study::{ExplainedQuery, Names, text};
use serde_json::{Value, json};

use super::words::{doing, happened};
use super::{breakdown, moment};

/// The columns of a breakdown behind its times.
pub const COLUMNS: [&str; 3] = ["where", "while waiting for", "spent on"];

/// The sentence, the stations in their order, the breakdown.
pub fn human(out: &mut impl Write, of: &ExplainedQuery, events: bool) -> std::io::Result<()> {
    let query = &of.query;
    writeln!(
        out,
        "query {} of {}: {}, at {}, came at {}",
        query.query,
        of.run,
        of.workload,
        of.names.node(0),
        text::seconds(query.start.as_secs_f64())
    )?;
    writeln!(out, "{}\n", of.summary)?;
    let told = &of.explanation;
    let stations = stations(&told.steps);
    for &(node, what, time) in &stations {
        let time = text::seconds(time.as_secs_f64());
        let [place, _, spent] = doing(node, what, &of.names);
        let under_way = matches!(what, Doing::Down(..) | Doing::Up(..));
        let spent = if under_way { String::new() } else { spent };
        let text = [place, spent].join(" ");
        writeln!(out, "{time:>12}  {}", text.trim())?;
    }
    let end = if told.standing.is_none() {
        "until enough answers were there"
    } else {
        "until the last event"
    };
    let rows = rows(&told.steps, &of.names);
    write!(out, "\n{}", breakdown(told.total, rows, &COLUMNS, end))?;
    if events {
        for (flow, trace) in &of.flows {
            writeln!(out, "\nflow {}, {:?}:", flow.flow, flow.class)?;
            for event in &trace.events {
                let at = event.at.since(query.start);
                writeln!(out, "{:>14}  {}", moment(at), happened(event, &of.names))?;
            }
        }
    }
    Ok(())
}

/// The same for programs.
pub fn to_json(of: &ExplainedQuery, events: bool) -> Value {
    let (query, told) = (&of.query, &of.explanation);
    let mut value = json!({
        "event": "query-explanation",
        "run": of.run,
        "query": query.query,
        "workload": of.workload,
        "root": of.names.node(0),
        "start_ps": query.start.as_ps(),
        "summary": of.summary,
        "budget_ps": query.due.map(|due| due.since(query.start).as_ps()),
        "leaves": query.leaves,
        "needed": query.needed,
        "leaves_answered": query.leaves_answered,
        "met": query.met(),
        "complete": told.standing.is_none(),
        "total_ps": told.total.as_ps(),
        "answers": told.answers,
        "flows": told.flows,
        "parts": parts_json(&told.parts(), &of.names),
    });
    if let Some(standing) = told.standing {
        value["standing"] = json!(standing);
    }
    if events {
        let flows = of.flows.iter().map(|(flow, trace)| {
            let events = trace.events.iter().map(
                |event| json!({ "at_ps": event.at.as_ps(), "what": happened(event, &of.names) }),
            );
            json!({ "flow": flow.flow, "class": flow.class, "events": events.collect::<Vec<_>>() })
        });
        value["events"] = flows.collect();
    }
    value
}

/// The parts of a path with their words, for a breakdown.
pub fn rows(steps: &[QueryStep], names: &Names) -> Vec<(Span, Vec<String>)> {
    let parts = sums(steps).into_iter();
    parts
        .map(|((node, what), time)| (time, doing(node, what, names).to_vec()))
        .collect()
}

/// The parts of a path as JSON; they sum to its length.
pub fn parts_json(parts: &BTreeMap<(u32, Doing), Span>, names: &Names) -> Vec<Value> {
    let part = |(&(node, what), time): (&(u32, Doing), &Span)| {
        let [place, waiting, spent] = doing(node, what, names);
        json!({ "where": place, "waiting_for": waiting, "spent_on": spent, "ps": time.as_ps() })
    };
    parts.iter().map(part).collect()
}

/// The stations of a path in their order: consecutive pieces at one node, or of one flow under way, taken together.
fn stations(steps: &[QueryStep]) -> Vec<(u32, Doing, Span)> {
    let same = |a: Doing, b: Doing| {
        matches!(
            (a, b),
            (Doing::Down(..), Doing::Down(..)) | (Doing::Up(..), Doing::Up(..))
        ) || a == b
    };
    let mut stations: Vec<(u32, Doing, Span)> = Vec::new();
    for step in steps {
        let time = step.to.since(step.from);
        match stations.last_mut() {
            Some((node, doing, sum)) if *node == step.node && same(*doing, step.doing) => {
                *sum += time;
            }
            _ => stations.push((step.node, step.doing, time)),
        }
    }
    stations
}
