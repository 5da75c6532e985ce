//! `duetime explain`.

mod digits;
mod labels;
mod query;

use std::io::Write;

use duetime_analysis::explain::{Cause, Names, QueryStep, Stage, by_activity};
use duetime_core::{Span, Time};
use duetime_results::FlowEvent;
use duetime_study::{Explained, ExplainedFlow, RunChoice, Simulator, text};
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::stdout;
use digits::Digits;
use labels::{cause_label, event_label, stage_label};

/// Repeats a run and breaks down the time of one flow or query.
pub fn explain(args: &args::Explain) -> Result<(), Failure> {
    let choice = args.what.parse()?;
    let (plan, folder) = super::report::open(&args.dir)?;
    let which = RunChoice {
        at: args.at.clone(),
        transport: args.transport.clone(),
        run: args.run,
    };
    let explained = duetime_study::explain(&folder, &plan, &which, choice, &Simulator)?;
    let mut out = stdout();
    match (&explained, args.json) {
        (Explained::Flow(flow), true) => writeln!(out, "{}", to_json(flow, args.events))?,
        (Explained::Flow(flow), false) => human(&mut out, flow, args.events)?,
        (Explained::Query(query), true) => writeln!(out, "{}", query::to_json(query, args.events))?,
        (Explained::Query(query), false) => query::human(&mut out, query, args.events)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, explained: &ExplainedFlow, events: bool) -> std::io::Result<()> {
    writeln!(out, "{}\n", summary(explained))?;
    write!(out, "{}", parts(explained))?;
    for line in incidents(explained) {
        writeln!(out, "{line}")?;
    }
    if let (Some(first), Some(last)) = (explained.before.first(), explained.before.last()) {
        let total = last.to.since(first.from);
        writeln!(
            out,
            "\nbefore its submission, since the query arrived at its root {}:\n",
            explained.names.node(0)
        )?;
        let parts = query::rows(&explained.before, &explained.names);
        write!(
            out,
            "{}",
            breakdown(total, parts, &query::COLUMNS, "until the submission")
        )?;
    }
    if events {
        writeln!(out)?;
        write_events(
            out,
            &explained.events,
            explained.flow.start,
            &explained.names,
        )?;
    }
    Ok(())
}

/// Prints the events of a flow, with their times since `start`.
fn write_events(
    out: &mut impl Write,
    events: &[FlowEvent],
    start: Time,
    names: &Names,
) -> std::io::Result<()> {
    for event in events {
        let at = event.at.since(start);
        writeln!(out, "{:>14}  {}", moment(at), event_label(event, names))?;
    }
    Ok(())
}

/// Describes the flow and its completion.
fn summary(explained: &ExplainedFlow) -> String {
    let flow = &explained.flow;
    let [source, destination] = &explained.hosts;
    let identity = format!(
        "flow {} of {}: {}, {source} -> {destination}, {} B, submitted at {}",
        flow.flow,
        explained.run,
        explained.workload,
        flow.size_bytes,
        text::seconds(flow.start.as_secs_f64())
    );
    let deadline = flow.deadline.map(|deadline| deadline.since(flow.start));
    let end = match (flow.completion(), deadline) {
        (Some(took), None) => format!("completed in {}; no deadline", time(took)),
        (Some(took), Some(deadline)) => {
            let (gap, side) = if took <= deadline {
                (deadline.saturating_sub(took), "before")
            } else {
                (took.saturating_sub(deadline), "after")
            };
            let (took, gap) = (time(took), time(gap));
            format!("completed in {took}, {gap} {side} its deadline")
        }
        (None, deadline) => {
            let why = if flow.quenched {
                "ended early by its sender"
            } else {
                "not completed"
            };
            let deadline = deadline.map_or("no deadline".to_owned(), |d| {
                format!("deadline {}", time(d))
            });
            format!(
                "{why}: {} of {} B delivered; {deadline}",
                flow.delivered_bytes, flow.size_bytes
            )
        }
    };
    let mut counts = vec![
        format!(
            "{} consecutive round trips",
            explained.explanation.round_trips
        ),
        format!("{} timeouts", flow.timeouts),
        format!("{} retransmissions", flow.retransmits),
        format!("{} marks", flow.marks),
    ];
    if flow.requests > 0 {
        counts.push(format!(
            "{} of {} requests denied",
            flow.denials, flow.requests
        ));
        counts.push(format!("{} inversions", flow.inversions));
    }
    format!("{identity}\n{end}\n{}", counts.join(", "))
}

/// Breaks down the completion time of a flow.
fn parts(explained: &ExplainedFlow) -> Table {
    let parts = explained.explanation.parts().into_iter();
    let parts = parts.map(|((stage, cause), time)| {
        let cells = vec![
            stage_label(stage).to_owned(),
            cause_label(cause, &explained.names),
        ];
        (time, cells)
    });
    let end = if explained.explanation.finished {
        "completion time"
    } else {
        "until its last event"
    };
    let columns = ["while waiting for", "spent on"];
    breakdown(explained.explanation.total, parts.collect(), &columns, end)
}

/// Tabulates the parts of `total`, largest first, and their sum, labelled `end`. The printed values add up.
fn breakdown(
    total: Span,
    mut parts: Vec<(Span, Vec<String>)>,
    columns: &[&str],
    end: &str,
) -> Table {
    parts.retain(|(time, _)| *time > Span::ZERO);
    parts.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let times: Vec<Span> = parts.iter().map(|(time, _)| *time).collect();
    let separate = digits::separate_rows(total, &times);
    if separate < parts.len() {
        let small = parts.split_off(separate);
        let sum = small.iter().fold(Span::ZERO, |sum, (time, _)| sum + *time);
        let label = format!("{} smaller parts", small.len());
        parts.push((sum, label_row(label, columns.len())));
    }
    let mut head = vec![("time", Align::Right), ("share", Align::Right)];
    head.extend(columns.iter().map(|&column| (column, Align::Left)));
    let mut table = Table::new(&head);
    let digits = Digits::of(total);
    let times: Vec<Span> = parts.iter().map(|(time, _)| *time).collect();
    for ((time, cells), printed) in parts.into_iter().zip(digits.parts(total, &times)) {
        let share = time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut row = vec![printed, text::percent(share)];
        row.extend(cells);
        table.row(row);
    }
    let mut row = vec![digits.show(total), text::percent(1.0)];
    row.extend(label_row(end.to_owned(), columns.len()));
    table.row(row);
    table
}

/// Returns a row with a label in its first cell and empty cells after it.
fn label_row(label: String, cells: usize) -> Vec<String> {
    let mut row = vec![String::new(); cells];
    row[0] = label;
    row
}

/// Lists the losses, marks and denials by link.
fn incidents(explained: &ExplainedFlow) -> Vec<String> {
    let kinds = [
        ("lost", &explained.explanation.losses),
        ("marked", &explained.explanation.marks),
        ("requests denied", &explained.explanation.denials),
    ];
    let mut lines = Vec::new();
    for (label, counts) in kinds {
        if !counts.is_empty() {
            let each: Vec<String> = counts
                .iter()
                .map(|(&link, count)| format!("{count} at {}", explained.names.link(link)))
                .collect();
            lines.push(format!("{label}: {}", each.join(", ")));
        }
    }
    lines
}

fn to_json(explained: &ExplainedFlow, events: bool) -> Value {
    let part = |((stage, cause), time): ((Stage, Cause), Span)| json!({ "waiting_for": stage_label(stage), "spent_on": cause_label(cause, &explained.names), "ps": time.as_ps() });
    let mut value = json!({
        "event": "explanation",
        "run": explained.run,
        "flow": explained.flow.flow,
        "workload": explained.workload,
        "source": explained.hosts[0],
        "destination": explained.hosts[1],
        "size_bytes": explained.flow.size_bytes,
        "start_ps": explained.flow.start.as_ps(),
        "completion_ps": explained.flow.completion().map(Span::as_ps),
        "deadline_ps": explained.flow.deadline.map(|deadline| deadline.since(explained.flow.start).as_ps()),
        "met": explained.flow.met(),
        "total_ps": explained.explanation.total.as_ps(),
        "round_trips": explained.explanation.round_trips,
        "parts": explained.explanation.parts().into_iter().map(part).collect::<Vec<_>>(),
        "before": before_json(&explained.before, &explained.names),
    });
    if events {
        let event = |event: &FlowEvent| json!({ "at_ps": event.at.as_ps(), "what": event_label(event, &explained.names) });
        value["events"] = explained.events.iter().map(event).collect();
    }
    value
}

/// Returns the parts of the time before the submission, or null if the flow does not belong to a query.
fn before_json(before: &[QueryStep], names: &Names) -> Value {
    let total = match (before.first(), before.last()) {
        (Some(first), Some(last)) => last.to.since(first.from),
        _ => return Value::Null,
    };
    json!({ "total_ps": total.as_ps(), "parts": query::parts_json(&by_activity(before), names) })
}

/// Formats a span with the digits that suit it.
fn time(span: Span) -> String {
    Digits::of(span).show(span)
}

/// Formats a span in microseconds, to the nanosecond.
fn moment(span: Span) -> String {
    let ns = (span.as_ps() + 500) / 1_000;
    format!("{}.{:03} us", ns / 1_000, ns % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_nanosecond_precision() {
        assert_eq!(moment(Span::from_ps(12_345_678_901)), "12345.679 us");
        assert_eq!(moment(Span::from_us(40)), "40.000 us");
        assert_eq!(moment(Span::from_ps(1)), "0.000 us");
    }
}
