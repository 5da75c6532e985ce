//! Page of a capacity search.

use duetime_figures::{Axis, Guide, Panel, Point, Series, Style};

use super::{Figure, Headline, Named, Term, View, file_name, lead, render};
use crate::capacity::{Found, Search, Subject};
use crate::error::StudyError;
use crate::report::draw::on_page;
use crate::report::tables::Drawn;
use crate::tables::{capacities, capacity_sentence};
use crate::text;
use crate::warnings::Warning;

/// Renders the page of the results. `command` is the command line that reproduces them.
///
/// # Errors
/// If the page cannot be rendered.
pub fn html(
    subject: &Subject,
    search: &Search,
    found: &[Found],
    warnings: &[Warning],
    command: &str,
) -> Result<String, StudyError> {
    let base = subject.base();
    let request = subject.request();
    let sentences = found
        .iter()
        .map(|row| capacity_sentence(subject, search, row));
    let table = capacities(subject, search, found);
    let view = View {
        title: &format!("{}: capacity", base.name),
        style: crate::report::PAGE_STYLE,
        script: crate::report::page_script(),
        version: duetime_store::VERSION,
        answer: Some(sentences.collect::<Vec<_>>().join("\n")),
        lead: lead(request, base),
        facts: facts(subject, search, found),
        warnings: warnings
            .iter()
            .map(|warning| warning.text.as_str())
            .collect(),
        headline: Some(headline(subject, search, found)),
        tables: vec![Drawn::of(&table, false, &[])],
        figures: figure(subject, search, found).into_iter().collect(),
        command: command.to_owned(),
        file: file_name(request),
        scenario: &request.text,
        terms: TERMS,
        ..View::default()
    };
    render(&view)
}

/// Returns the capacities of the transports and of the best possible.
fn headline(subject: &Subject, search: &Search, found: &[Found]) -> Headline {
    let bar = |row: &Found| Named {
        name: row.name(subject.base()).to_owned(),
        value: match row.capacity.value {
            0 => "none".to_owned(),
            value if row.capacity.at_limit => format!("{} or more", subject.text(value)),
            value => subject.text(value),
        },
        interval: subject.interval(row.capacity.interval).unwrap_or_default(),
    };
    Headline {
        title: "Capacity".to_owned(),
        note: format!(
            "Hardest value of {} up to which {} of the {} are in time. In brackets: 95 % interval over runs.",
            subject.keys().join(", "),
            search.target,
            subject.what()
        ),
        bars: found.iter().map(bar).collect(),
    }
}

fn facts(subject: &Subject, search: &Search, found: &[Found]) -> Vec<Named> {
    let fact = |name: &str, value: String| Named {
        name: name.to_owned(),
        value,
        interval: String::new(),
    };
    let base = subject.base();
    let transports = found.iter().filter(|row| row.transport.is_some());
    let tried: usize = transports.map(|row| row.capacity.curve.len()).sum();
    vec![
        fact("target", search.target.to_string()),
        fact("values tried", tried.to_string()),
        fact("runs per value", base.seeds.to_string()),
        fact("seed", base.seed.to_string()),
        fact(
            "measurement window",
            text::seconds(base.duration.as_secs_f64() - base.warm_up.as_secs_f64()),
        ),
    ]
}

/// Maximum ratio of the ends of a linear axis. Larger ratios get a logarithmic axis.
const MAX_LINEAR_RATIO: f64 = 50.0;

/// Returns the figure of the share in time at every tried value.
fn figure(subject: &Subject, search: &Search, found: &[Found]) -> Option<Figure> {
    let percent = |share: f64| share * 100.0;
    let target = percent(search.target.share());
    let transports = || found.iter().filter(|row| row.transport.is_some());
    let lowest = transports().flat_map(|row| &row.capacity.curve);
    let lowest = lowest.map(|tried| percent(tried.throughput.value));
    // The transports determine the lower end of the axis. The bound may fall below it.
    let floor = (lowest.fold(target, f64::min) / 10.0 - 0.2).floor() * 10.0;
    let floor = if floor < 50.0 { 0.0 } else { floor };
    let mut series = Vec::new();
    for row in found {
        let name = row.name(subject.base());
        let mut points: Vec<Point> = row
            .capacity
            .curve
            .iter()
            .filter_map(|tried| {
                let x = subject.value(tried.x)?;
                Some(Point::of(x, &tried.throughput, 100.0))
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        series.push(Series::new(name, Style::Line, points));
        let here = row
            .at(row.capacity.value)
            .zip(subject.value(row.capacity.value));
        if let Some((tried, x)) = here {
            let share = percent(tried.throughput.value);
            let down = vec![Point::new(x, floor), Point::new(x, share)];
            series.push(Series::new(name, Style::Line, down));
        }
    }
    let (label, unit) = match subject.unit() {
        "/s" => ("rate", "/s"),
        "%" => ("load", "%"),
        "ms" => ("budget", "ms"),
        "x" => ("factor on the deadlines in the file", ""),
        counted => (counted, ""),
    };
    // A search doubles its steps, so the tried values are dense at one end.
    let values = found.iter().flat_map(|row| &row.capacity.curve);
    let values = values.filter_map(|tried| subject.value(tried.x));
    let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let x = if most > MAX_LINEAR_RATIO * least {
        Axis::log(label, unit)
    } else {
        Axis::linear(label, unit)
    };
    let y = Axis::linear(&format!("{} in time", subject.what()), "%").between(floor, 100.0);
    let mut panel = Panel::new(x, y, series);
    panel.guides.push(Guide {
        vertical: false,
        at: target,
        label: format!("target, {}", search.target),
    });
    on_page(
        "Share in time at each tried value",
        "Bands: 95 % intervals over runs. The vertical line marks the capacity.",
        vec![panel],
    )
}

const TERMS: &[Term] = &[
    Term {
        name: "Capacity",
        meaning: "The hardest value such that all tried values up to it reach the target. The search skips values \
                  that are very likely to reach it; --check-all tries every value.",
    },
    Term {
        name: "No transport can do better",
        meaning: "Result of the same search on a lower bound of what must be late under any transport.",
    },
    Term {
        name: "Intervals",
        meaning: "95 %, by bootstrap over runs, with the same draw at every value. One run gives no interval.",
    },
];
