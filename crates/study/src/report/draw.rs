//! Figures of a study without a sweep.

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style};
use duetime_results::summary::{GroupEstimate, Percentiles};
use duetime_results::{Class, Estimate};

use super::page;
use super::samples::{Sample, Samples};
use crate::gather::{Cell, Gathered, group_name, is_bulk, workload_name};
use crate::plan::Plan;
use crate::text;

/// Number of points of a drawn curve. More would not be visible.
const MAX_POINTS: usize = 240;

/// Returns all figures, in the order of the page.
pub fn figures(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Vec<page::Figure> {
    let mut figures = Vec::new();
    if plan.points.len() > 1 {
        figures.extend(super::curves::figures(plan, gathered));
    } else {
        figures.extend(queries(plan, gathered, samples));
        figures.extend(bars(
            plan,
            gathered,
            "Missed deadlines",
            Axis::linear("missed", "%"),
            100.0,
            |group| group.deadlines.is_some(),
            |group| group.deadlines.map(|deadlines| deadlines.missed),
        ));
        figures.extend(completions(plan, gathered, samples));
        figures.extend(percentiles(plan, gathered));
        figures.extend(completeness(gathered, samples));
        figures.extend(shares(gathered, samples));
        figures.extend(slack(gathered, samples));
        figures.extend(deadlines(gathered, samples));
        figures.extend(bars(
            plan,
            gathered,
            "Goodput of flows without deadlines",
            Axis::linear("mean goodput per flow", "Mbps"),
            8e-6,
            is_bulk,
            |group| group.goodput_bytes_per_s.mean,
        ));
        figures.extend(queues(gathered, samples));
        figures.extend(throughput(gathered, samples));
    }
    figures
}

/// Draws a figure for the page, or returns `None` if no panel has data. The title is in the page and not in the
/// drawing.
pub fn on_page(title: &str, note: &str, mut panels: Vec<Panel>) -> Option<page::Figure> {
    panels.retain(|panel| panel.series.iter().any(|series| !series.points.is_empty()));
    if panels.is_empty() {
        return None;
    }
    let description = format!("{title}. {note}");
    let svg = Figure {
        title: String::new(),
        description,
        panels,
        palette: crate::palette(),
    }
    .to_svg_with_data();
    Some(page::Figure {
        title: title.to_owned(),
        note: note.to_owned(),
        svg,
    })
}

/// Returns the names of the groups that `selects` accepts, in order.
fn group_names(
    plan: &Plan,
    gathered: &Gathered,
    selects: impl Fn(&GroupEstimate) -> bool,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in &gathered.cells {
        for group in cell.summary.groups.iter().filter(|group| selects(group)) {
            let name = group_name(plan, cell, group);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Draws a bar for each transport and each group that `selects` accepts.
fn bars(
    plan: &Plan,
    gathered: &Gathered,
    title: &str,
    y: Axis,
    factor: f64,
    selects: impl Fn(&GroupEstimate) -> bool,
    value: impl Fn(&GroupEstimate) -> Option<Estimate>,
) -> Option<page::Figure> {
    let names = group_names(plan, gathered, selects);
    let series = |cell: &Cell| {
        let point = |group: &GroupEstimate| {
            let name = group_name(plan, cell, group);
            let place = names.iter().position(|known| *known == name)?;
            Some(Point::of(place as f64, &value(group)?, factor))
        };
        let points = cell.summary.groups.iter().filter_map(point).collect();
        Series::new(&cell.summary.transport, Style::Bars, points)
    };
    let series = gathered.cells.iter().map(series).collect();
    let panel = Panel::new(Axis::names("", names), y, series);
    on_page(title, "Error bars: 95 % intervals over runs.", vec![panel])
}

/// Draws the distribution of the time until a query has enough answers, and its tail on a logarithmic scale.
fn queries(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let mut panels = Vec::new();
    let workloads = (0..).take(plan.base.workloads.len());
    for workload in workloads {
        let curves = gathered.cells.iter().filter_map(|cell| {
            let completions = samples.transports[cell.transport].queries.get(&workload)?;
            let milliseconds = completions.took_s.iter().map(|seconds| seconds * 1e3);
            Some((
                cell.summary.transport.as_str(),
                milliseconds.collect(),
                completions.all,
            ))
        });
        let budget = super::queries::budget_s(plan, workload);
        let [mut all, tail] = distribution_and_tail(
            &Axis::log("from arrival at the root", "ms"),
            ("queries with enough answers", "queries without"),
            budget.map(|within| ("budget", within * 1e3)),
            curves,
        );
        if let Some(first) = gathered.cells.first() {
            all.title = workload_name(plan, first, workload);
        }
        let has_data = |panel: &Panel| panel.series.iter().any(|series| !series.points.is_empty());
        if has_data(&all) {
            panels.extend([all, tail]);
        }
    }
    if let [only, _] = panels.as_mut_slice() {
        only.title.clear();
    }
    let note = "Top: share of the queries with enough answers by each time. Bottom: the remaining queries on a \
                logarithmic scale, including those that never had enough answers.";
    on_page("Query completion times", note, panels)
}

/// Returns the cumulative share of the values and the remaining share, in per cent of `all`. Values missing from `all`
/// are infinite.
fn cumulative(mut values: Vec<f64>, all: usize) -> (Vec<Point>, Vec<Point>) {
    values.sort_by(f64::total_cmp);
    let point = |rank: usize| {
        let share = 100.0 * (rank + 1) as f64 / all as f64;
        let at = values[rank];
        (Point::new(at, share), Point::new(at, 100.0 - share))
    };
    ranks(values.len(), all).into_iter().map(point).unzip()
}

/// Returns two panels: the cumulative distribution, and its tail on a logarithmic scale. Each curve has a name, its
/// values and the total number of values.
fn distribution_and_tail<'n>(
    x: &Axis,
    (done_label, remaining_label): (&str, &str),
    guide: Option<(&str, f64)>,
    curves: impl Iterator<Item = (&'n str, Vec<f64>, usize)>,
) -> [Panel; 2] {
    let guide = guide.map(|(label, at)| Guide {
        vertical: true,
        at,
        label: label.to_owned(),
    });
    let panel = |y: Axis, series| Panel {
        guides: guide.iter().cloned().collect(),
        ..Panel::new(x.clone(), y, series)
    };
    let curve = |(name, values, all)| {
        let (done, remaining) = cumulative(values, all);
        let step = |points| Series::new(name, Style::Step, points);
        (step(done), step(remaining))
    };
    let (all, tail) = curves.map(curve).unzip();
    let done = Axis::linear(done_label, "%").between(0.0, 100.0);
    [
        panel(done, all),
        panel(Axis::log(remaining_label, "%"), tail),
    ]
}

/// Draws the completion times of flows, with a panel for each workload and class with data.
fn completions(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let is_data = |group: &GroupEstimate| !matches!(group.class, Class::Query | Class::Cancel);
    let panel = |name: &String| {
        let curve = |cell: &Cell| {
            let mut groups = cell.summary.groups.iter();
            let group = groups.find(|group| group_name(plan, cell, group) == *name)?;
            let completions = samples.transports[cell.transport]
                .completions
                .get(&(group.workload, group.class))?;
            let milliseconds = completions.took_s.iter();
            let milliseconds = milliseconds.map(|seconds| seconds * 1e3).collect();
            let (done, _) = cumulative(milliseconds, completions.all);
            Some(Series::new(&cell.summary.transport, Style::Step, done))
        };
        Panel {
            title: name.clone(),
            ..Panel::new(
                Axis::log("completion time", "ms"),
                Axis::linear("delivered", "%").between(0.0, 100.0),
                gathered.cells.iter().filter_map(curve).collect(),
            )
        }
    };
    let names = group_names(plan, gathered, is_data);
    let note = "Share of the flows delivered by each time. A line that ends below 100 % has flows that never finished.";
    on_page("Completion times", note, names.iter().map(panel).collect())
}

/// Draws the distribution of slack (deadline minus completion time) on a logarithmic scale.
fn slack(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let flows = samples
        .transports
        .iter()
        .flat_map(|sample| &sample.deadlines);
    let longest = flows.fold(0.0, |most: f64, (allowed, _)| most.max(*allowed)) * 1e3;
    let mut ends = (0.0_f64, 0.0_f64);
    let mut curve = |cell: &Cell| {
        let sample = &samples.transports[cell.transport];
        let slack = sample.deadlines.iter();
        let mut slack: Vec<f64> = slack
            .map(|(allowed, took)| (allowed - took) * 1e3)
            .collect();
        slack.sort_by(f64::total_cmp);
        let never = sample.deadline_flows - slack.len();
        // Points are densest at the smallest slack, and exact at the deadline itself.
        let dense = ranks(slack.len(), slack.len());
        let mut shown: Vec<usize> = dense.iter().map(|rank| slack.len() - 1 - rank).collect();
        let late = slack.partition_point(|slack| *slack < 0.0);
        shown.extend(late.checked_sub(1));
        shown.sort_unstable();
        shown.dedup();
        let points = shown.into_iter().map(|rank| {
            let share = (never + rank + 1) as f64 / sample.deadline_flows as f64;
            Point::new(slack[rank], 100.0 * share)
        });
        let points: Vec<Point> = points.collect();
        if let (Some(first), Some(last)) = (slack.first(), slack.last()) {
            ends = (ends.0.min(*first), ends.1.max(*last));
        }
        Series::new(&cell.summary.transport, Style::Step, points)
    };
    let series: Vec<Series> = gathered.cells.iter().map(&mut curve).collect();
    // Showing flows that are later than a whole deadline would compress all others.
    let x = Axis::linear("slack", "ms").between(ends.0.max(-longest), ends.1);
    let panel = Panel {
        guides: vec![Guide {
            vertical: true,
            at: 0.0,
            label: "deadline".to_owned(),
        }],
        ..Panel::new(x, Axis::log("flows with at most this slack", "%"), series)
    };
    let note = "Deadline minus completion time; negative if late. A line crosses the deadline at the share of flows \
                that missed it, including flows that never finished. Lateness beyond the longest deadline is not \
                shown.";
    on_page("Slack", note, vec![panel])
}

/// Maximum number of flows of a transport that are drawn individually.
const MAX_FLOWS: usize = 400;

/// Returns an even sample of a transport's finished flows: allowed time and completion time in seconds.
fn sampled(sample: &Sample) -> impl Iterator<Item = (f64, f64)> {
    let flows = &sample.deadlines;
    let shown = flows.len().min(MAX_FLOWS);
    (0..shown).map(move |i| flows[i * flows.len() / shown])
}

/// Draws a sample of flows by allowed time and completion time, or by transport and completion time if the allowed time
/// is the same for all.
fn deadlines(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let flows = samples
        .transports
        .iter()
        .flat_map(|sample| &sample.deadlines);
    let (least, most) = flows.fold((f64::INFINITY, 0.0_f64), |(least, most), (allowed, _)| {
        (least.min(*allowed), most.max(*allowed))
    });
    if most <= least * 1.001 {
        return one_deadline(gathered, samples, most);
    }
    let panel = |cell: &Cell| {
        let sample = &samples.transports[cell.transport];
        let mut pairs: Vec<(f64, f64)> = sampled(sample).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = pairs
            .iter()
            .map(|(allowed, took)| Point::new(allowed * 1e3, took * 1e3));
        let transport = &cell.summary.transport;
        let never = sample.deadline_flows - sample.deadlines.len();
        let never = match never {
            0 => String::new(),
            _ => format!("; {} never finished", text::count(never as f64)),
        };
        Panel {
            title: format!(
                "{transport}: {} of {} flows{never}",
                text::count(pairs.len() as f64),
                text::count(sample.deadline_flows as f64)
            ),
            diagonal: "just in time".to_owned(),
            ..Panel::new(
                Axis::log("time allowed", "ms"),
                Axis::log("completion time", "ms"),
                vec![Series::new(transport, Style::Dots, points.collect())],
            )
        }
    };
    let note = "Sample of the flows with deadlines. Flows above the line were late.";
    let panels = gathered.cells.iter().map(panel).collect();
    on_page("Deadlines and completion times", note, panels)
}

/// Draws the completion times of flows with the same allowed time, in seconds.
fn one_deadline(gathered: &Gathered, samples: &Samples, allowed: f64) -> Option<page::Figure> {
    /// Width of the spread of a transport's flows, as a share of its column.
    const SPREAD: f64 = 0.7;
    let column = |(place, cell): (usize, &Cell)| {
        let flows = sampled(&samples.transports[cell.transport]).enumerate();
        let point = |(i, (_, took)): (usize, (f64, f64))| {
            // Fractional parts of multiples of the golden ratio are evenly spread for any number of flows.
            let aside = (i as f64 * 0.618_033_988_749_895).fract() - 0.5;
            Point::new(place as f64 + SPREAD * aside, took * 1e3)
        };
        let mut points: Vec<Point> = flows.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(&cell.summary.transport, Style::Dots, points)
    };
    let names = gathered.cells.iter().map(|cell| &cell.summary.transport);
    let panel = Panel {
        guides: vec![Guide {
            vertical: false,
            at: allowed * 1e3,
            label: "deadline".to_owned(),
        }],
        ..Panel::new(
            Axis::names("", names),
            Axis::log("completion time", "ms"),
            gathered.cells.iter().enumerate().map(column).collect(),
        )
    };
    let note = format!(
        "All deadlines are {} after the start. Sample of at most {MAX_FLOWS} finished flows per transport. Flows above \
         the line were late.",
        text::seconds(allowed)
    );
    on_page("Deadline and completion times", &note, vec![panel])
}

/// Draws the distribution of completion time over deadline, and its tail.
fn shares(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let curves = gathered.cells.iter().map(|cell| {
        let sample = &samples.transports[cell.transport];
        let shares = sample
            .deadlines
            .iter()
            .map(|(allowed, took)| took / allowed);
        (
            cell.summary.transport.as_str(),
            shares.collect(),
            sample.deadline_flows,
        )
    });
    let panels = distribution_and_tail(
        &Axis::log("completion time / deadline", ""),
        ("delivered", "not yet delivered"),
        Some(("deadline", 1.0)),
        curves,
    );
    let note = "Top: share of the flows with deadlines delivered by each time. Bottom: the remaining flows on a \
                logarithmic scale.";
    on_page("Completion time over deadline", note, panels.into())
}

/// Returns the ranks to draw of `n` sorted values out of `all`: evenly spread, and increasingly dense towards the end.
fn ranks(n: usize, all: usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..MAX_POINTS).map(|i| i * n / MAX_POINTS).collect();
    let mut remaining = all;
    while remaining > 0 {
        ranks.extend((all - remaining < n).then_some(all - remaining));
        remaining = remaining * 24 / 25;
    }
    ranks.extend(n.checked_sub(1));
    ranks.retain(|&rank| rank < n);
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

fn percentiles(plan: &Plan, gathered: &Gathered) -> Option<page::Figure> {
    type Pick = fn(&Percentiles<Option<Estimate>>) -> Option<Estimate>;
    let picks: [(&str, Pick); 5] = [
        ("p50", |p| p.p50),
        ("p90", |p| p.p90),
        ("p95", |p| p.p95),
        ("p99", |p| p.p99),
        ("p99.9", |p| p.p999),
    ];
    let panel = |name: &String| {
        let series = |cell: &Cell| {
            let group = cell
                .summary
                .groups
                .iter()
                .find(|group| group_name(plan, cell, group) == *name)?;
            let point = |(place, (_, pick)): (usize, &(&str, Pick))| {
                Some(Point::of(place as f64, &pick(&group.completion_s)?, 1e3))
            };
            let points = picks.iter().enumerate().filter_map(point).collect();
            Some(Series::new(&cell.summary.transport, Style::Line, points))
        };
        let names = Axis::names("", picks.map(|(name, _)| name));
        let series = gathered.cells.iter().filter_map(series).collect();
        Panel {
            title: name.clone(),
            ..Panel::new(names, Axis::log("completion time", "ms"), series)
        }
    };
    let names = group_names(plan, gathered, |group| group.completion_s.p50.is_some());
    let note = "Bands: 95 % intervals over runs. A line ends where there are too few flows for the percentile, or too \
                many that never finished.";
    on_page(
        "Completion time percentiles",
        note,
        names.iter().map(panel).collect(),
    )
}

fn completeness(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let series = |cell: &Cell| {
        let mut values = samples.transports[cell.transport].completeness.clone();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let point =
            |rank: usize| Point::new(values[rank] * 100.0, 100.0 * (rank + 1) as f64 / n as f64);
        // Values repeat often, so draw only the last of each.
        let steps = (0..n).filter(|&rank| rank + 1 == n || values[rank + 1] > values[rank]);
        let first = values.first().map(|&value| Point::new(value * 100.0, 0.0));
        Series::new(
            &cell.summary.transport,
            Style::Step,
            first.into_iter().chain(steps.map(point)).collect(),
        )
    };
    let panel = Panel::new(
        Axis::linear("answers in time", "%"),
        Axis::linear("queries with at most this share", "%").between(0.0, 100.0),
        gathered.cells.iter().map(series).collect(),
    );
    let note = "Share of a root's direct children whose answers met their deadlines, per query. Lower lines are \
                better.";
    on_page("Answers in time per query", note, vec![panel])
}

fn queues(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let (from, to) = samples.window()?;
    let link = samples.link.as_ref()?;
    let panel = |cell: &Cell| {
        let queue = &samples.transports[cell.transport].queue;
        let shown: Vec<(f64, f64)> = queue
            .iter()
            .copied()
            .filter(|&(at, _)| from <= at && at <= to)
            .collect();
        // Keep the maximum of each piece, so that no peak is lost.
        let piece = shown.len().div_ceil(2 * MAX_POINTS).max(1);
        let longest = |piece: &[(f64, f64)]| {
            let (at, bytes) =
                piece.iter().fold(
                    (0.0, -1.0),
                    |best, &now| if now.1 > best.1 { now } else { best },
                );
            Point::new(at * 1e3, bytes * 1e-3)
        };
        let series = Series::new(
            &cell.summary.transport,
            Style::Step,
            shown.chunks(piece).map(longest).collect(),
        );
        let x = Axis::linear("simulated time", "ms").between(from * 1e3, to * 1e3);
        // State the maximum, because a short queue is invisible on the common axis.
        let most = series
            .points
            .iter()
            .map(|point| point.y)
            .fold(0.0, f64::max);
        Panel {
            title: format!(
                "{}: at most {}",
                cell.summary.transport,
                text::bytes(most * 1e3)
            ),
            ..Panel::new(x, Axis::linear("queue", "KB"), vec![series])
        }
    };
    let note =
        format!("Queue of {link} in the first run, around its maximum under the first transport.");
    on_page(
        "Link queue",
        &note,
        gathered.cells.iter().map(panel).collect(),
    )
}

fn throughput(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let (from, to) = samples.window()?;
    let link = samples.link.as_ref()?;
    let panel = |cell: &Cell| {
        let sent = &samples.transports[cell.transport].sent;
        let last = samples.transports[cell.transport].queue.last();
        let end = last.map_or(to, |&(at, _)| at);
        let until = |i: usize| sent.get(i).map_or(end, |&(at, _)| at);
        let first = sent.partition_point(|&(at, _)| at < from);
        let beyond = sent.partition_point(|&(at, _)| at < to);
        let piece = (beyond - first).div_ceil(2 * MAX_POINTS).max(1);
        // Mean of each piece, starting at its beginning.
        let point = |i: usize| {
            let next = (i + piece).min(beyond);
            let bytes: f64 = sent[i..next].iter().map(|(_, bytes)| bytes).sum();
            let rate = bytes * 8.0 / (until(next) - sent[i].0).max(1e-12);
            Point::new(sent[i].0 * 1e3, rate * 1e-9)
        };
        let mut points: Vec<Point> = (first..beyond).step_by(piece).map(point).collect();
        let end = points
            .last()
            .map(|last| Point::new(until(beyond) * 1e3, last.y));
        points.extend(end);
        let x = Axis::linear("simulated time", "ms").between(from * 1e3, to * 1e3);
        Panel {
            title: cell.summary.transport.clone(),
            ..Panel::new(
                x,
                Axis::linear("throughput", "Gbps"),
                vec![Series::new(&cell.summary.transport, Style::Step, points)],
            )
        }
    };
    let note = format!(
        "Bytes sent on {link} in the first run, headers included, in the same time window as the queue."
    );
    on_page(
        "Link throughput",
        &note,
        gathered.cells.iter().map(panel).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_few_and_keep_the_tail() {
        let ranks = ranks(100_000, 100_000);
        assert!(ranks.len() < 2 * MAX_POINTS + 60, "{}", ranks.len());
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((ranks[0], *ranks.last().unwrap()), (0, 99_999));
        assert!(
            ranks.iter().filter(|&&rank| rank >= 99_000).count() > 20,
            "the tail is drawn"
        );
        assert!(super::ranks(0, 10).is_empty());
        assert_eq!(super::ranks(1, 10), [0]);
    }
}
