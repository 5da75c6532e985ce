//! The page's figures.

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style};
use duetime_results::summary::{GroupEstimate, Percentiles};
use duetime_results::{Class, Estimate};

use super::page;
use super::samples::{Sample, Samples};
use crate::gather::{Cell, Gathered, group_name, is_bulk, workload_name};
use crate::plan::Plan;
use crate::text;

/// Points of a drawn curve: more cannot be seen.
const MOST_POINTS: usize = 240;

/// All figures, in the order of the page.
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
            |group| group.deadlines.map(|of| of.missed),
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

/// A drawn figure with its place on the page. The title stands in the page, not in the drawing.
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

/// The names of the groups that have what `of` asks for, in order.
fn group_names(
    plan: &Plan,
    gathered: &Gathered,
    of: impl Fn(&GroupEstimate) -> bool,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in &gathered.cells {
        for group in cell.summary.groups.iter().filter(|group| of(group)) {
            let name = group_name(plan, cell, group);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A bar per transport for each group that `of` asks for.
fn bars(
    plan: &Plan,
    gathered: &Gathered,
    title: &str,
    y: Axis,
    factor: f64,
    of: impl Fn(&GroupEstimate) -> bool,
    value: impl Fn(&GroupEstimate) -> Option<Estimate>,
) -> Option<page::Figure> {
    let names = group_names(plan, gathered, of);
    let series = |cell: &Cell| {
        let point = |group: &GroupEstimate| {
            let name = group_name(plan, cell, group);
            let place = names.iter().position(|of| *of == name)?;
            Some(Point::of(place as f64, &value(group)?, factor))
        };
        let points = cell.summary.groups.iter().filter_map(point).collect();
        Series::new(&cell.summary.transport, Style::Bars, points)
    };
    let series = gathered.cells.iter().map(series).collect();
    let panel = Panel::new(Axis::names("", names), y, series);
    on_page(title, "Error bars: 95 % intervals over runs.", vec![panel])
}

/// Until enough answers were there: the share of queries, and that still waiting on a logarithmic scale.
fn queries(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let mut panels = Vec::new();
    let workloads = (0..).take(plan.base.workloads.len());
    for workload in workloads {
        let curves = gathered.cells.iter().filter_map(|cell| {
            let of = samples.transports[cell.transport].queries.get(&workload)?;
            let milliseconds = of.took_s.iter().map(|seconds| seconds * 1e3);
            Some((
                cell.summary.transport.as_str(),
                milliseconds.collect(),
                of.all,
            ))
        });
        let budget = super::queries::budget_s(plan, workload);
        let [mut all, tail] = came_and_left(
            &Axis::log("from arrival at the root", "ms"),
            ("queries with enough answers", "queries still waiting"),
            budget.map(|within| ("budget", within * 1e3)),
            curves,
        );
        if let Some(first) = gathered.cells.first() {
            all.title = workload_name(plan, first, workload);
        }
        let there = |panel: &Panel| panel.series.iter().any(|series| !series.points.is_empty());
        if there(&all) {
            panels.extend([all, tail]);
        }
    }
    if let [only, _] = panels.as_mut_slice() {
        only.title.clear();
    }
    let note = "Above: share of the queries with enough answers by then. Below: the rest, on a logarithmic scale; queries \
                that never had enough stay there.";
    on_page("Completion of queries", note, panels)
}

/// Of `all` values, of which those not given never came: the share that came by then and the rest, in per cent.
fn cumulative(mut values: Vec<f64>, all: usize) -> (Vec<Point>, Vec<Point>) {
    values.sort_by(f64::total_cmp);
    let point = |rank: usize| {
        let share = 100.0 * (rank + 1) as f64 / all as f64;
        let at = values[rank];
        (Point::new(at, share), Point::new(at, 100.0 - share))
    };
    ranks(values.len(), all).into_iter().map(point).unzip()
}

/// What came by then, and the rest on a logarithmic scale: a curve in each for every name with its values, of so many.
fn came_and_left<'n>(
    x: &Axis,
    (came, left): (&str, &str),
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
        let (came, left) = cumulative(values, all);
        let step = |points| Series::new(name, Style::Step, points);
        (step(came), step(left))
    };
    let (all, tail) = curves.map(curve).unzip();
    let came = Axis::linear(came, "%").between(0.0, 100.0);
    [panel(came, all), panel(Axis::log(left, "%"), tail)]
}

/// How long flows took, a panel for each workload and class that has data.
fn completions(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let is_data = |group: &GroupEstimate| !matches!(group.class, Class::Query | Class::Cancel);
    let panel = |name: &String| {
        let curve = |cell: &Cell| {
            let mut groups = cell.summary.groups.iter();
            let group = groups.find(|group| group_name(plan, cell, group) == *name)?;
            let of = samples.transports[cell.transport]
                .completions
                .get(&(group.workload, group.class))?;
            let milliseconds = of.took_s.iter().map(|seconds| seconds * 1e3).collect();
            let (came, _) = cumulative(milliseconds, of.all);
            Some(Series::new(&cell.summary.transport, Style::Step, came))
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
    let note = "Share of the flows delivered by then; a line that ends below 100 % leaves flows that never finished.";
    on_page("Completion times", note, names.iter().map(panel).collect())
}

/// Deadline minus completion: the share of flows that had so little, on a logarithmic scale.
fn slack(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let allowed = samples.transports.iter().flat_map(|of| &of.deadlines);
    let longest = allowed.fold(0.0, |most: f64, of| most.max(of.0)) * 1e3;
    let mut ends = (0.0_f64, 0.0_f64);
    let mut curve = |cell: &Cell| {
        let sample = &samples.transports[cell.transport];
        let slack = sample.deadlines.iter();
        let mut slack: Vec<f64> = slack
            .map(|(allowed, took)| (allowed - took) * 1e3)
            .collect();
        slack.sort_by(f64::total_cmp);
        let never = sample.deadline_flows - slack.len();
        // Densest where there is least; that at the deadline itself is exact.
        let dense = ranks(slack.len(), slack.len());
        let mut shown: Vec<usize> = dense.iter().map(|rank| slack.len() - 1 - rank).collect();
        let late = slack.partition_point(|of| *of < 0.0);
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
    // What is later than by a whole deadline would leave no space for the rest.
    let x = Axis::linear("slack", "ms").between(ends.0.max(-longest), ends.1);
    let panel = Panel {
        guides: vec![Guide {
            vertical: true,
            at: 0.0,
            label: "deadline".to_owned(),
        }],
        ..Panel::new(x, Axis::log("flows with at most that", "%"), series)
    };
    let note = "Deadline minus completion time, negative when late: where a line crosses the deadline is the share that \
                missed it, flows that never finished included. Lateness beyond the longest deadline is not drawn.";
    on_page("Slack", note, vec![panel])
}

/// Flows of a transport that are drawn one by one.
const FLOWS_SHOWN: usize = 400;

/// Evenly spread ones of a transport's flows that finished: seconds allowed, seconds taken.
fn sampled(sample: &Sample) -> impl Iterator<Item = (f64, f64)> {
    let of = &sample.deadlines;
    let shown = of.len().min(FLOWS_SHOWN);
    (0..shown).map(move |i| of[i * of.len() / shown])
}

/// Each flow by what it was allowed and what it took; a sample of them. Where all are allowed the same, a column for each
/// transport says more.
fn deadlines(gathered: &Gathered, samples: &Samples) -> Option<page::Figure> {
    let allowed = samples.transports.iter().flat_map(|of| &of.deadlines);
    let (least, most) = allowed.fold((f64::INFINITY, 0.0_f64), |(least, most), of| {
        (least.min(of.0), most.max(of.0))
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
    let note = "Flows with deadlines, evenly sampled; those above the line were late.";
    let panels = gathered.cells.iter().map(panel).collect();
    on_page("Deadlines and completion times", note, panels)
}

/// What flows took that were all allowed `allowed` seconds.
fn one_deadline(gathered: &Gathered, samples: &Samples, allowed: f64) -> Option<page::Figure> {
    /// Share of its column over which the flows of a transport are spread.
    const SPREAD: f64 = 0.7;
    let column = |(place, cell): (usize, &Cell)| {
        let flows = sampled(&samples.transports[cell.transport]).enumerate();
        let point = |(i, (_, took)): (usize, (f64, f64))| {
            // Multiples of the golden ratio are spread evenly, however many there are.
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
        "All flows with deadlines were allowed {}; at most {FLOWS_SHOWN} of each transport are drawn, evenly sampled, and \
         none that never finished. Those above the line were late.",
        text::seconds(allowed)
    );
    on_page("Deadline and completion times", &note, vec![panel])
}

/// Completion time over deadline: all of it, and its tail.
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
    let panels = came_and_left(
        &Axis::log("completion time / deadline", ""),
        ("delivered", "not delivered yet"),
        Some(("deadline", 1.0)),
        curves,
    );
    let note = "Above: share of deadline flows delivered by then. Below: the rest, on a logarithmic scale.";
    on_page("Completion time over deadline", note, panels.into())
}

/// The ranks drawn of `n` sorted values out of `all`: evenly spread, and ever denser towards the end.
fn ranks(n: usize, all: usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..MOST_POINTS).map(|i| i * n / MOST_POINTS).collect();
    let mut left = all;
    while left > 0 {
        ranks.extend((all - left < n).then_some(all - left));
        left = left * 24 / 25;
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
        ("p50", |of| of.p50),
        ("p90", |of| of.p90),
        ("p95", |of| of.p95),
        ("p99", |of| of.p99),
        ("p99.9", |of| of.p999),
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
    let note = "Bands: 95 % intervals over runs. A line ends where flows never finished, or are too few for the percentile.";
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
        // Values are few and repeat: the last of each is the step.
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
        Axis::linear("queries with at most that", "%").between(0.0, 100.0),
        gathered.cells.iter().map(series).collect(),
    );
    let note = "Per query: the share of its root's own children whose answers met their deadlines. The lower the line stays, the better.";
    on_page("Completeness of queries", note, vec![panel])
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
        // The longest of each piece stays, so that no peak is lost.
        let piece = shown.len().div_ceil(2 * MOST_POINTS).max(1);
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
        // On the common axis a short queue is a line at the bottom.
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
    let note = format!("Queue of {link} in the first run, around its fullest moment.");
    on_page(
        "Queue of a link",
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
        let piece = (beyond - first).div_ceil(2 * MOST_POINTS).max(1);
        // The mean of each piece, from its beginning on.
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
        "What left {link} in the first run, at the same time as above; headers are within."
    );
    on_page(
        "Throughput of that link",
        &note,
        gathered.cells.iter().map(panel).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_ranks_are_few_and_keep_the_tail() {
        let ranks = ranks(100_000, 100_000);
        assert!(ranks.len() < 2 * MOST_POINTS + 60, "{}", ranks.len());
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
