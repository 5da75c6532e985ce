//! `duetime explain`

mod digits;

use std::io::{Write, stdout};

use duetime_core::Span;
use duetime_results::explain::{Cause, Stage};
use duetime_results::{FlowEvent, FlowEventKind};
use duetime_study::{Explained, RunChoice, Simulator};
use serde_json::json;

use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use digits::Digits;
use duetime_study::text;

/// Repeats one run and shows where one flow's time went.
pub fn explain(args: &args::Explain) -> Result<(), Failure> {
    let choice = args.flow.parse()?;
    let (plan, folder) = super::report::open(&args.dir)?;
    let which = RunChoice {
        at: args.at.clone(),
        transport: args.transport.clone(),
        run: args.run,
    };
    let explained = duetime_study::explain(&folder, &plan, &which, choice, &Simulator)?;
    let mut out = stdout().lock();
    if args.json {
        writeln!(out, "{}", to_json(&explained, args.events))?;
        return Ok(());
    }
    writeln!(out, "{}\n", head(&explained))?;
    write!(out, "{}", parts(&explained))?;
    for line in incidents(&explained) {
        writeln!(out, "{line}")?;
    }
    if args.events {
        writeln!(out)?;
        for event in &explained.events {
            let at = event.at.since(explained.flow.start);
            writeln!(
                out,
                "{:>14}  {}",
                moment(at),
                happened(event, &explained.links)
            )?;
        }
    }
    Ok(())
}

/// Who the flow was and how it ended.
fn head(of: &Explained) -> String {
    let flow = &of.flow;
    let [source, destination] = &of.hosts;
    let who = format!(
        "flow {} of {}: {}, {source} -> {destination}, {} B, handed over at {}",
        flow.flow,
        of.run,
        of.workload,
        flow.size_bytes,
        text::seconds(flow.start.as_secs_f64())
    );
    let deadline = flow.deadline.map(|deadline| deadline.since(flow.start));
    let end = match (flow.completion(), deadline) {
        (Some(took), None) => format!("completed in {}; no deadline", time(took)),
        (Some(took), Some(deadline)) if took <= deadline => {
            let early = deadline.saturating_sub(took);
            format!(
                "completed in {}, {} before its deadline",
                time(took),
                time(early)
            )
        }
        (Some(took), Some(deadline)) => {
            let late = took.saturating_sub(deadline);
            format!(
                "completed in {}, {} after its deadline",
                time(took),
                time(late)
            )
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

/// The breakdown, largest first, with its sum. What is printed adds up.
fn parts(of: &Explained) -> Table {
    let mut parts: Vec<_> = of
        .explanation
        .parts()
        .into_iter()
        .filter(|&(_, time)| time > Span::ZERO)
        .collect();
    parts.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    let total = of.explanation.total;
    let mut table = Table::new(&[
        ("time", Align::Right),
        ("share", Align::Right),
        ("while waiting for", Align::Left),
        ("spent on", Align::Left),
    ]);
    let times: Vec<Span> = parts.iter().map(|&(_, time)| time).collect();
    let (large, small) = times.split_at(digits::own_rows(total, &times));
    let mut rows = large.to_vec();
    rows.extend(
        (!small.is_empty()).then(|| small.iter().fold(Span::ZERO, |sum, &part| sum + part)),
    );
    let digits = Digits::of(total);
    let printed = digits.parts(total, &rows);
    for (row, (&time, printed)) in rows.iter().zip(printed).enumerate() {
        let (stage, cause) = match parts.get(row).filter(|_| row < large.len()) {
            Some(&((stage, cause), _)) => (waited(stage).to_owned(), spent(cause, &of.links)),
            None => (format!("{} smaller parts", small.len()), String::new()),
        };
        let share = time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        table.row(vec![printed, text::percent(share), stage, cause]);
    }
    let end = if of.explanation.finished {
        "completion time"
    } else {
        "until its last event"
    };
    table.row(vec![
        digits.show(total),
        text::percent(1.0),
        end.to_owned(),
        String::new(),
    ]);
    table
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
                .map(|(&link, count)| format!("{count} at {}", name(link, &of.links)))
                .collect();
            lines.push(format!("{what}: {}", each.join(", ")));
        }
    }
    lines
}

fn to_json(of: &Explained, events: bool) -> serde_json::Value {
    let part = |((stage, cause), time): ((Stage, Cause), Span)| json!({ "waiting_for": waited(stage), "spent_on": spent(cause, &of.links), "ps": time.as_ps() });
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
    });
    if events {
        let event = |event: &FlowEvent| json!({ "at_ps": event.at.as_ps(), "what": happened(event, &of.links) });
        value["events"] = of.events.iter().map(event).collect();
    }
    value
}

fn waited(stage: Stage) -> &'static str {
    match stage {
        Stage::Handshake => "the handshake",
        Stage::Window => "room in the window",
        Stage::Rate => "the next grant, sending",
        Stage::Denied => "the next grant, denied the asked rate",
        Stage::Pause => "a grant, paused",
        Stage::Delivery => "delivery of the last packet",
    }
}

fn spent(cause: Cause, links: &[String]) -> String {
    match cause {
        Cause::Queue(link) => format!("queue of {}", name(link, links)),
        Cause::Transmission(link) => format!("transmission on {}", name(link, links)),
        Cause::Propagation => "propagation".to_owned(),
        Cause::RtoIdle => "silence until the retransmission timeout".to_owned(),
        Cause::Receiver => "receiver holding the acknowledgement".to_owned(),
        Cause::Host => "sending host: jitter, its card, earlier messages".to_owned(),
        Cause::Untraced => "network, hops not traced".to_owned(),
        Cause::Unfinished => "never finished".to_owned(),
    }
}

fn happened(event: &FlowEvent, links: &[String]) -> String {
    use FlowEventKind as Kind;
    match event.what {
        Kind::HandedOver => "handed over".to_owned(),
        Kind::Sent {
            seq,
            len,
            retransmit: false,
        } => format!("sent {seq}+{len}"),
        Kind::Sent {
            seq,
            len,
            retransmit: true,
        } => format!("sent again {seq}+{len}"),
        Kind::Departed {
            link,
            seq,
            len,
            waited,
            sending,
        } => format!(
            "left {} {seq}+{len} (waited {}, sending {})",
            name(link, links),
            moment(waited),
            moment(sending)
        ),
        Kind::Dropped { link } => format!("dropped at {}", name(link, links)),
        Kind::Lost { link } => format!("lost on {}", name(link, links)),
        Kind::Marked { link } => format!("marked at {}", name(link, links)),
        Kind::Delivered { seq, len } => format!("delivered {seq}+{len}"),
        Kind::Acked { seq } => format!("acknowledged to {seq}"),
        Kind::Timeout => "timeout".to_owned(),
        Kind::RequestSent { desired_bps } => {
            format!("request for {}", text::rate(desired_bps as f64))
        }
        Kind::Granted { allocation_bps } => {
            format!("granted {}", text::rate(allocation_bps as f64))
        }
        Kind::Denied { link } => format!("denied at {}", name(link, links)),
        Kind::Paused => "paused".to_owned(),
        Kind::Established => "established".to_owned(),
        Kind::Finished => "finished".to_owned(),
    }
}

fn name(link: u32, links: &[String]) -> &str {
    links.get(link as usize).map_or("?", String::as_str)
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
