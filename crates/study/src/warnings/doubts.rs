//! Settings that are allowed, but hardly meant: each once, with the first point of a sweep that has it.

use duetime_sim::describe::{Description, Doubt, Hopeless, Judged};

use super::{About, Warning, at_points};
use crate::text;

/// Deadlines and budgets of so many workloads are told of one by one.
const SHOWN: usize = 4;

/// What is said of settings, and of deadlines that no transport meets.
pub(super) fn of(points: &[(String, Description)]) -> Vec<Warning> {
    let marks = |of: &Description| {
        let all = of.doubts.iter();
        let never = all.filter(|it| matches!(it, Doubt::NeverMarks { .. }));
        never.map(doubt).collect()
    };
    let intervals = |of: &Description| {
        let all = of.doubts.iter();
        let short = all.filter(|it| matches!(it, Doubt::ShortInterval { .. }));
        short.map(doubt).collect()
    };
    let spans = |of: &Description| {
        let all = of.doubts.iter();
        let outside = all.filter(|it| matches!(it, Doubt::SpansOutside { .. }));
        outside.map(doubt).collect()
    };
    let hedges = |of: &Description| {
        let all = of.doubts.iter();
        let late = all.filter(|it| matches!(it, Doubt::LateHedges { .. }));
        late.map(doubt).collect()
    };
    let deadlines = |of: &Description| {
        let more = of.hopeless.len().saturating_sub(SHOWN);
        let shown = of.hopeless.iter().take(SHOWN).enumerate();
        let said = shown.map(|(at, it)| match hopeless(it) {
            last if at + 1 == SHOWN && more > 0 => format!("{last} So it is with {more} more."),
            text => text,
        });
        said.collect()
    };
    [
        first(points, About::EcnThreshold, marks),
        first(points, About::UpdateInterval, intervals),
        first(points, About::Hedge, hedges),
        first(points, About::Spans, spans),
        first(points, About::Deadline, deadlines),
    ]
    .concat()
}

/// What is said of the first point of which anything is said, with how many others are like it.
fn first(
    points: &[(String, Description)],
    about: About,
    said: impl Fn(&Description) -> Vec<String>,
) -> Vec<Warning> {
    let mut found = points.iter().map(|(label, of)| (label, said(of)));
    let mut with = found.by_ref().filter(|(_, said)| !said.is_empty());
    let Some((label, texts)) = with.next() else {
        return Vec::new();
    };
    let more = at_points(label, with.count(), points.len());
    let texts = texts.into_iter();
    texts
        .map(|text| Warning {
            about,
            text: text.replace("{at}", &more),
        })
        .collect()
}

fn ns(ns: u64) -> String {
    text::seconds(ns as f64 * 1e-9)
}

/// A doubt in words; `{at}` stands for the point.
fn doubt(of: &Doubt) -> String {
    match of {
        Doubt::NeverMarks {
            transports,
            rate_bps,
            threshold,
            finds,
        } => format!(
            "No marks reach {} at ports of {}{{at}}: `ecn_threshold` is {threshold} there, and a full packet finds at \
             most {finds} before the port drops.",
            transports.join(", "),
            text::rate(*rate_bps as f64)
        ),
        Doubt::SpansOutside {
            workload,
            requests,
            of,
        } => format!(
            "{} of {} recorded requests of `{workload}` start before the span that causes them, or end after it{{at}}: the \
             hosts' clocks differed, or nobody waited for them. They are replayed like all others, from their durations \
             alone.",
            text::count(*requests as f64),
            text::count(*of as f64)
        ),
        Doubt::LateHedges {
            workload,
            known_after_ns,
            unknown,
        } => format!(
            "Parents of `{workload}` do not hedge in the first {} of the measurement window{{at}}: each knows the \
             percentile of `hedge.after` only after {}, when it has received `hedge.samples` answers. Lengthen `warm_up` to \
             that, state a time in `hedge.after`, or declare `compute`, from which parents then start.",
            text::percent(*unknown),
            ns(*known_after_ns)
        ),
        Doubt::ShortInterval {
            transport,
            update_interval_ns,
            round_trip_ns,
        } => format!(
            "`update_interval` of {transport} is {}{{at}}, and the longest idle round trip {}: D3's routers allocate \
             anew before they see what they allocated (D3 §4.4 wants it longer than the round trip).",
            ns(*update_interval_ns),
            ns(*round_trip_ns)
        ),
    }
}

/// Deadlines that cannot be met, in words; `{at}` stands for the point.
fn hopeless(of: &Hopeless) -> String {
    let (what, limit) = match of.of {
        Judged::Flows => ("flows", "deadlines"),
        Judged::Answers => ("answers", "deadlines"),
        Judged::QueryMessages => ("query messages", "deadlines"),
        Judged::Queries => ("queries", "budgets"),
    };
    let (workload, share) = (&of.workload, of.share);
    let begin = if share > 0.9999 {
        format!("No {what} of `{workload}` can be in time")
    } else {
        let share = text::percent(share);
        format!("About {share} of the {what} of `{workload}` cannot be in time")
    };
    let alone = match (ns(of.alone_ns), ns(of.most_alone_ns)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    format!(
        "{begin}{{at}}, whatever carries them: {limit} go down to {}, and alone in the network they take {alone} \
         (propagation and transmission; `duetime bound` counts them).",
        ns(of.shortest_ns)
    )
}
