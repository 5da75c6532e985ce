//! Questionable settings and infeasible deadlines. Each is reported once, with the first point of a sweep that has it.

use duetime_analysis::{DeadlineKind, Description, InfeasibleDeadlines, QuestionableSetting};

use super::{About, Warning, at_points};
use crate::text;

/// Maximum number of warnings about infeasible deadlines.
const MAX_SHOWN: usize = 4;

/// Returns the warnings about questionable settings and about deadlines that no transport can meet.
pub(super) fn warn(points: &[(String, Description)]) -> Vec<Warning> {
    let doubts = |about, matches: fn(&QuestionableSetting) -> bool| {
        first(points, about, |point| {
            let doubts = point.doubts.iter().filter(|doubt| matches(doubt));
            doubts.map(describe_doubt).collect()
        })
    };
    let deadlines = |point: &Description| {
        let more = point.hopeless.len().saturating_sub(MAX_SHOWN);
        let shown = point.hopeless.iter().take(MAX_SHOWN).enumerate();
        let texts = shown.map(|(index, deadlines)| match describe_infeasible(deadlines) {
            last if index + 1 == MAX_SHOWN && more > 0 => {
                format!("{last} {more} more such warnings are not shown.")
            }
            text => text,
        });
        texts.collect()
    };
    [
        doubts(About::EcnThreshold, |doubt| {
            matches!(doubt, QuestionableSetting::NeverMarks { .. })
        }),
        doubts(About::UpdateInterval, |doubt| {
            matches!(doubt, QuestionableSetting::ShortInterval { .. })
        }),
        doubts(About::Hedge, |doubt| {
            matches!(doubt, QuestionableSetting::LateHedges { .. })
        }),
        doubts(About::Spans, |doubt| {
            matches!(doubt, QuestionableSetting::SpansOutside { .. })
        }),
        first(points, About::Deadline, deadlines),
    ]
    .concat()
}

/// Returns the warnings of the first point that has any, with the number of other points that have some.
fn first(
    points: &[(String, Description)],
    about: About,
    texts: impl Fn(&Description) -> Vec<String>,
) -> Vec<Warning> {
    let found = points.iter().map(|(label, point)| (label, texts(point)));
    let mut affected = found.filter(|(_, texts)| !texts.is_empty());
    let Some((label, texts)) = affected.next() else {
        return Vec::new();
    };
    let at = at_points(label, affected.count(), points.len());
    let texts = texts.into_iter();
    texts
        .map(|text| Warning {
            about,
            text: text.replace("{at}", &at),
        })
        .collect()
}

fn ns(ns: u64) -> String {
    text::seconds(ns as f64 * 1e-9)
}

/// Describes a questionable setting. `{at}` is a placeholder for the point.
fn describe_doubt(doubt: &QuestionableSetting) -> String {
    match doubt {
        QuestionableSetting::NeverMarks {
            transports,
            rate_bps,
            threshold,
            finds,
        } => format!(
            "No marks reach {} at ports of {}{{at}}: `ecn_threshold` is {threshold}, but a full-size packet finds at \
             most {finds} queued before the port drops.",
            transports.join(", "),
            text::rate(*rate_bps as f64)
        ),
        QuestionableSetting::SpansOutside {
            workload,
            requests,
            of,
        } => format!(
            "{} of {} recorded requests of `{workload}` start before or end after the span that caused them{{at}}: the \
             hosts' clocks differed, or the caller did not wait for them. They are replayed like all others, from \
             their durations alone.",
            text::count(*requests as f64),
            text::count(*of as f64)
        ),
        QuestionableSetting::LateHedges {
            workload,
            known_after_ns,
            unknown,
        } => format!(
            "Parents of `{workload}` do not hedge in the first {} of the measurement window{{at}}: each needs \
             `hedge.samples` answers to know the percentile of `hedge.after`, which takes {}. Increase `warm_up` to \
             that time, set `hedge.after` to a time, or set `compute`, which gives parents initial samples.",
            text::percent(*unknown),
            ns(*known_after_ns)
        ),
        QuestionableSetting::ShortInterval {
            transport,
            update_interval_ns,
            round_trip_ns,
        } => format!(
            "`update_interval` of {transport} is {}{{at}}, but the longest idle round trip takes {}: D3's routers \
             reallocate before they see the effect of the last allocation (D3 §4.4 requires an interval longer than \
             the round trip).",
            ns(*update_interval_ns),
            ns(*round_trip_ns)
        ),
    }
}

/// Describes infeasible deadlines or budgets. `{at}` is a placeholder for the point.
fn describe_infeasible(deadlines: &InfeasibleDeadlines) -> String {
    let (kind, limit) = match deadlines.of {
        DeadlineKind::Flows => ("flows", "deadline"),
        DeadlineKind::Answers => ("answers", "deadline"),
        DeadlineKind::QueryMessages => ("query messages", "deadline"),
        DeadlineKind::Queries => ("queries", "budget"),
    };
    let (workload, share) = (&deadlines.workload, deadlines.share);
    let begin = if share > 0.9999 {
        format!("No {kind} of `{workload}` can be in time")
    } else {
        let share = text::percent(share);
        format!("About {share} of the {kind} of `{workload}` cannot be in time")
    };
    let alone = match (ns(deadlines.alone_ns), ns(deadlines.most_alone_ns)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    format!(
        "{begin}{{at}} under any transport: the shortest {limit} is {}, but propagation and transmission alone take \
         {alone} (see `duetime bound`).",
        ns(deadlines.shortest_ns)
    )
}
