//! `duetime explain`

mod digits;
mod query;
mod words;

use std::io::Write;

use duetime_core::Span;
use duetime_results::FlowEvent;
use duetime_results::explain::query::{QueryStep, sums};
use duetime_results::explain::{Cause, Stage};
use duetime_study::{Explained, Names, RunChoice, Simulator, Told, text};
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::stdout;
use digits::Digits;
use words::{happened, spent, waited};

/// Repeats one run and shows where the time of one flow or one query went.
pub fn explain(args: &args::Explain) -> Result<(), Failure> {
    let choice = args.what.parse()?;
    let (plan, folder) = super::report::open(&args.dir)?;
    let which = RunChoice {
        at: args.at.clone(),
        transport: args.transport.clone(),
        run: args.run,
    };
    let told = duetime_study::explain(&folder, &plan, &which, choice, &Simulator)?;
    let mut out = stdout();
    match (&told, args.json) {
        (Told::Flow(flow), true) => writeln!(out, "{}", to_json(flow, args.events))?,
        (Told::Flow(flow), false) => human(&mut out, flow, args.events)?,
        (Told::Query(of), true) => writeln!(out, "{}", query::to_json(of, args.events))?,
        (Told::Query(of), false) => query::human(&mut out, of, args.events)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, of: &Explained, events: bool) -> std::io::Result<()> {
    writeln!(out, "{}\n", head(of))?;
    write!(out, "{}", parts(of))?;
    for line in incidents(of) {
        writeln!(out, "{line}")?;
    }
    if let (Some(first), Some(last)) = (of.before.first(), of.before.last()) {
        let total = last.to.since(first.from);
        writeln!(
            out,
            "\nbefore its submission, since the query came to its root, {}:\n",
            of.names.node(0)
        )?;
        let parts = query::rows(&of.before, &of.names);
        write!(
            out,
            "{}",
            breakdown(total, parts, &query::COLUMNS, "until the submission")
        )?;
    }
    if events {
        writeln!(out)?;
        for event in &of.events {
            let at = event.at.since(of.flow.start);
            writeln!(out, "{:>14}  {}", moment(at), happened(event, &of.names))?;
        }
    }
    Ok(())
}

/// Who the flow was and how it ended.
fn head(of: &Explained) -> String {
    let flow = &of.flow;
    let [source, destination] = &of.hosts;
    let who = format!(
        "flow {} of {}: {}, {source} -> {destination}, {} B, submitted at {}",
        flow.flow,
        of.run,
        of.workload,
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
        format!("{} round trips in a row", of.explanation.round_trips),
        format!("{} timeouts", flow.timeouts),
        format!("{} segments sent again", flow.retransmits),
        format!("{} marks", flow.marks),
    ];
    if flow.requests > 0 {
        counts.push(format!(
            "{} of {} requests denied",
            flow.denials, flow.requests
        ));
        counts.push(format!("{} inversions", flow.inversions));
    }
    format!("{who}\n{end}\n{}", counts.join(", "))
}

/// The breakdown of a flow's completion time.
fn parts(of: &Explained) -> Table {
    let parts = of.explanation.parts().into_iter();
    let parts = parts.map(|((stage, cause), time)| {
        let cells = vec![waited(stage).to_owned(), spent(cause, &of.names)];
        (time, cells)
    });
    let end = if of.explanation.finished {
        "completion time"
    } else {
        "until its last event"
    };
    let columns = ["while waiting for", "spent on"];
    breakdown(of.explanation.total, parts.collect(), &columns, end)
}

/// Parts of `total`, largest first, and their sum, called `end`. What is printed adds up.
fn breakdown(
    total: Span,
    mut parts: Vec<(Span, Vec<String>)>,
    columns: &[&str],
    end: &str,
) -> Table {
    parts.retain(|(time, _)| *time > Span::ZERO);
    parts.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let times: Vec<Span> = parts.iter().map(|(time, _)| *time).collect();
    let own = digits::own_rows(total, &times);
    if own < parts.len() {
        let small = parts.split_off(own);
        let sum = small.iter().fold(Span::ZERO, |sum, (time, _)| sum + *time);
        let words = format!("{} smaller parts", small.len());
        parts.push((sum, alone(words, columns.len())));
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
    row.extend(alone(end.to_owned(), columns.len()));
    table.row(row);
    table
}

/// One cell with words, the others empty.
fn alone(words: String, cells: usize) -> Vec<String> {
    let mut row = vec![String::new(); cells];
    row[0] = words;
    row
}

/// Losses, marks and denials by link.
fn incidents(of: &Explained) -> Vec<String> {
    let kinds = [
        ("lost", &of.explanation.losses),
        ("marked", &of.explanation.marks),
        ("requests denied", &of.explanation.denials),
    ];
    let mut lines = Vec::new();
    for (what, counts) in kinds {
        if !counts.is_empty() {
            let each: Vec<String> = counts
                .iter()
                .map(|(&link, count)| format!("{count} at {}", of.names.link(link)))
                .collect();
            lines.push(format!("{what}: {}", each.join(", ")));
        }
    }
    lines
}

fn to_json(of: &Explained, events: bool) -> Value {
    let part = |((stage, cause), time): ((Stage, Cause), Span)| json!({ "waiting_for": waited(stage), "spent_on": spent(cause, &of.names), "ps": time.as_ps() });
    let mut value = json!({
        "event": "explanation",
        "run": of.run,
        "flow": of.flow.flow,
        "workload": of.workload,
        "source": of.hosts[0],
        "destination": of.hosts[1],
        "size_bytes": of.flow.size_bytes,
        "start_ps": of.flow.start.as_ps(),
        "completion_ps": of.flow.completion().map(Span::as_ps),
        "deadline_ps": of.flow.deadline.map(|deadline| deadline.since(of.flow.start).as_ps()),
        "met": of.flow.met(),
        "total_ps": of.explanation.total.as_ps(),
        "round_trips": of.explanation.round_trips,
        "parts": of.explanation.parts().into_iter().map(part).collect::<Vec<_>>(),
        "before": before_json(&of.before, &of.names),
    });
    if events {
        let event = |event: &FlowEvent| json!({ "at_ps": event.at.as_ps(), "what": happened(event, &of.names) });
        value["events"] = of.events.iter().map(event).collect();
    }
    value
}

/// What came before the submission; null for a flow of no query.
fn before_json(before: &[QueryStep], names: &Names) -> Value {
    let total = match (before.first(), before.last()) {
        (Some(first), Some(last)) => last.to.since(first.from),
        _ => return Value::Null,
    };
    json!({ "total_ps": total.as_ps(), "parts": query::parts_json(&sums(before), names) })
}

/// A span by itself.
fn time(span: Span) -> String {
    Digits::of(span).show(span)
}

/// Microseconds with nanoseconds.
fn moment(span: Span) -> String {
    let ns = (span.as_ps() + 500) / 1_000;
    format!("{}.{:03} us", ns / 1_000, ns % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_to_the_nanosecond() {
        assert_eq!(moment(Span::from_ps(12_345_678_901)), "12345.679 us");
        assert_eq!(moment(Span::from_us(40)), "40.000 us");
        assert_eq!(moment(Span::from_ps(1)), "0.000 us");
    }
}
