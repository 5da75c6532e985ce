//! What the page says first: how many queries were in time, in one sentence and a card per transport.

use duetime_figures::Strip;
use duetime_results::summary::{Percentiles, QueryEstimate};
use duetime_results::{Estimate, RunRecords};
use duetime_scenario::model::WorkloadKind;
use serde::Serialize;

use super::Beside;
use crate::gather::{Cell, Gathered, workload_name};
use crate::plan::Plan;
use crate::text;

/// What one workload promises of its queries, as its records have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Leaves whose answers are enough, and all; `None` where queries differ.
    enough: Option<(u32, u32)>,
    /// Seconds from the query's arrival at the root; `None` where queries differ or have no budget of their own.
    within_s: Option<f64>,
    /// Whether each leaf's answer has a deadline instead.
    by_answer: bool,
}

impl Promise {
    /// Of a workload's counted queries, together with what was known before.
    pub fn join(before: Option<Self>, records: &RunRecords, workload: u16) -> Option<Self> {
        let own = records.queries.iter();
        let judged =
            own.filter(|query| query.counted && query.judged && query.workload == workload);
        judged.fold(before, |known, query| {
            let new = Self {
                enough: Some((query.needed, query.leaves)),
                within_s: query.due.map(|due| due.since(query.start).as_secs_f64()),
                by_answer: query.due.is_none(),
            };
            Some(known.map_or(new, |known| {
                Self {
                    enough: known.enough.filter(|enough| new.enough == Some(*enough)),
                    within_s: known
                        .within_s
                        .filter(|within| new.within_s == Some(*within)),
                    by_answer: known.by_answer && new.by_answer,
                }
            }))
        })
    }

    /// The budget in seconds.
    pub fn within_s(&self) -> Option<f64> {
        self.within_s
    }

    /// After "94 % of queries": `had 99 of 100 answers within 5 ms`.
    fn words(&self) -> String {
        let enough = match self.enough {
            Some((1, 1)) => "its answer".to_owned(),
            Some((needed, leaves)) if needed == leaves => format!("all {leaves} answers"),
            Some((needed, leaves)) => format!("{needed} of {leaves} answers"),
            None => "enough answers".to_owned(),
        };
        match self.within_s {
            Some(within) => format!("had {enough} within {}", text::seconds(within)),
            None if self.by_answer => format!("had {enough} by their deadlines"),
            None => format!("had {enough} within their budget"),
        }
    }
}

/// The cards of one workload.
#[derive(Debug, Serialize)]
pub struct Service {
    title: String,
    note: String,
    cards: Vec<Card>,
    best: Option<BestCard>,
}

#[derive(Debug, Serialize)]
struct Card {
    name: String,
    share: String,
    interval: String,
    strip: String,
    marks: Vec<Mark>,
    lines: Vec<String>,
}

#[derive(Debug, Serialize)]
struct BestCard {
    name: &'static str,
    share: String,
    note: String,
}

/// One percentile of the completion time.
#[derive(Debug, Serialize)]
struct Mark {
    name: &'static str,
    value: String,
    late: bool,
}

type Pick = fn(&Percentiles<Option<Estimate>>) -> Option<Estimate>;

/// The percentiles on a card.
const PICKS: [(&str, Pick); 4] = [
    ("p50", |of| of.p50),
    ("p90", |of| of.p90),
    ("p99", |of| of.p99),
    ("p99.9", |of| of.p999),
];

/// The page's first sentence; `None` where nothing says when anything is late.
pub fn answer(
    plan: &Plan,
    gathered: &Gathered,
    promises: &[Option<Promise>],
    beside: &Beside,
) -> Option<String> {
    if plan.points.len() > 1 {
        return across(plan, gathered);
    }
    let share = |cell: &Cell| Some(cell.summary.objective?.in_time.value);
    let Some((most, value)) = most(gathered, share) else {
        let met = |cell: &Cell| Some(cell.summary.deadlines?.application_throughput.value);
        let (most, value) = self::most(gathered, met)?;
        let best = beside.best.as_ref().and_then(|best| best.deadlines_met);
        return Some(format!(
            "{} of the flows with deadlines met theirs under {}{}.",
            text::percent(value),
            most.join(" and "),
            possible(best)
        ));
    };
    let known: Vec<&Promise> = promises.iter().flatten().collect();
    let words = match known.as_slice() {
        [one] => one.words(),
        _ => "were in time".to_owned(),
    };
    let best = beside.best.as_ref().and_then(|best| best.queries_in_time);
    Some(format!(
        "{} of queries {words} under {}{}.",
        text::percent(value),
        most.join(" and "),
        possible(best)
    ))
}

fn possible(best: Option<f64>) -> String {
    best.map_or(String::new(), |best| {
        format!("; the best possible is {}", text::percent(best))
    })
}

/// The transports with the largest value, as it is shown, by name.
fn most(gathered: &Gathered, value: impl Fn(&Cell) -> Option<f64>) -> Option<(Vec<String>, f64)> {
    let all = || {
        gathered
            .cells
            .iter()
            .filter_map(|cell| Some((cell, value(cell)?)))
    };
    let largest = all()
        .map(|(_, value)| value)
        .fold(f64::NEG_INFINITY, f64::max);
    let shown = |value: f64| text::percent(value) == text::percent(largest);
    let names = all().filter(|&(_, value)| shown(value));
    let names: Vec<String> = names
        .map(|(cell, _)| known_as(&cell.summary.transport))
        .collect();
    (!names.is_empty()).then_some((names, largest))
}

/// Of a sweep: where the most and the fewest queries were in time.
fn across(plan: &Plan, gathered: &Gathered) -> Option<String> {
    let shares = gathered.cells.iter().filter_map(|cell| {
        let share = cell.summary.objective?.in_time.value;
        let place = format!(
            "{} at {}",
            known_as(&cell.summary.transport),
            plan.points[cell.point].label()
        );
        Some((share, place))
    });
    let shares: Vec<(f64, String)> = shares.collect();
    let most = shares.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let fewest = shares.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "Between {} ({}) and {} ({}) of queries were in time.",
        text::percent(fewest.0),
        fewest.1,
        text::percent(most.0),
        most.1
    ))
}

/// A transport as a reader knows it.
fn known_as(transport: &str) -> String {
    let known = [
        ("tcp", "TCP"),
        ("dctcp", "DCTCP"),
        ("d2tcp", "D2TCP"),
        ("d3", "D3"),
        ("rcpdc", "RCPdc"),
        ("tcp-prio", "TCP with priorities"),
    ];
    let found = known.iter().find(|(name, _)| *name == transport);
    found.map_or(transport, |(_, words)| words).to_owned()
}

/// Cards of every workload with queries that can be late. A sweep has none: its numbers are in a table.
pub fn services(
    plan: &Plan,
    gathered: &Gathered,
    promises: &[Option<Promise>],
    beside: &Beside,
) -> Vec<Service> {
    if plan.points.len() > 1 {
        return Vec::new();
    }
    let judged = |cell: &Cell, workload: u16| {
        let mut all = cell.summary.queries.iter();
        all.find(|of| of.workload == workload && of.objective.is_some())
            .cloned()
    };
    let workloads = promises.iter().enumerate();
    let workloads: Vec<(u16, &Promise)> = workloads
        .filter_map(|(workload, promise)| Some((workload as u16, promise.as_ref()?)))
        .collect();
    let service = |&(workload, promise): &(u16, &Promise)| {
        let cells = gathered.cells.iter();
        let found: Vec<(&Cell, QueryEstimate)> = cells
            .filter_map(|cell| Some((cell, judged(cell, workload)?)))
            .collect();
        let first = found.first()?;
        let name = workload_name(plan, first.0, workload);
        let values = found
            .iter()
            .flat_map(|(_, of)| PICKS.iter().filter_map(|(_, pick)| pick(&of.completion_s)))
            .map(|of| of.value)
            .chain(promise.within_s);
        let ends = values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
        // A bound on all queries is one on these only where there are no others.
        let best = beside.best.as_ref().filter(|_| workloads.len() == 1);
        let best = best.and_then(|best| {
            Some(BestCard {
                name: "no transport can do better",
                share: text::percent(best.queries_in_time?),
                note: best.note.clone(),
            })
        });
        Some(Service {
            title: format!("Queries in time: {name}"),
            note: note(promise, &first.1, plan, workload),
            cards: found
                .iter()
                .map(|(cell, of)| card(cell, of, promise, ends))
                .collect(),
            best,
        })
    };
    workloads.iter().filter_map(service).collect()
}

fn note(promise: &Promise, of: &QueryEstimate, plan: &Plan, workload: u16) -> String {
    let of_plan = plan.base.workloads.get(usize::from(workload));
    let target = of_plan.and_then(|of| match &of.kind {
        WorkloadKind::Oldi(oldi) => oldi.objective.share,
        _ => None,
    });
    let target = target.map_or(String::new(), |share| {
        format!(" The target is {} of the queries.", text::percent(share))
    });
    format!(
        "A query is in time if it {}, counted from its arrival at the root. {} queries per transport, over all runs.{target} \
         The strips show percentiles of the completion time on one scale; what is beyond the budget is shaded.",
        promise.words(),
        text::count(of.queries as f64)
    )
}

fn card(cell: &Cell, of: &QueryEstimate, promise: &Promise, (low, high): (f64, f64)) -> Card {
    let (share, interval) = of
        .objective
        .map(|of| text::estimate(&of.in_time, text::percent))
        .unwrap_or_default();
    let value = |pick: Pick| pick(&of.completion_s).map(|of| of.value);
    let unit = if high < 1e-3 {
        (1e6, "us")
    } else {
        (1e3, "ms")
    };
    let marks = PICKS.map(|(name, pick)| (name.to_owned(), value(pick).map(|of| of * unit.0)));
    let strip = Strip {
        name: cell.summary.transport.clone(),
        description: format!(
            "Percentiles of the completion time of queries under {}",
            known_as(&cell.summary.transport)
        ),
        unit: unit.1.to_owned(),
        ends: (low * unit.0, high * unit.0),
        marks: marks.to_vec(),
        budget: promise.within_s.map(|within| within * unit.0),
    };
    let late = |value: Option<f64>| match (value, promise.within_s) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(value), Some(within)) => value > within,
    };
    let mut lines = Vec::new();
    if let Some(answers) = of.answers_in_time {
        lines.push(format!(
            "{} of {} answers asked for were in time",
            text::percent(answers.value),
            text::count(of.asked as f64)
        ));
    }
    let leaves = promise.enough.map_or(0, |(_, leaves)| u64::from(leaves));
    let is_deep = of.asked > of.queries * leaves;
    if let Some(leaves) = of.leaf_coverage.filter(|_| is_deep) {
        lines.push(format!(
            "{} of the leaves' answers were at the root in time",
            text::percent(leaves.value)
        ));
    }
    if of.gave_up > 0 {
        lines.push(format!(
            "{} aggregators gave up waiting",
            text::count(of.gave_up as f64)
        ));
    }
    Card {
        name: cell.summary.transport.clone(),
        share,
        interval: interval.unwrap_or_default(),
        strip: strip.to_svg(),
        marks: PICKS
            .iter()
            .map(|(name, pick)| Mark {
                name,
                value: value(*pick).map_or("never".to_owned(), text::seconds),
                late: late(value(*pick)),
            })
            .collect(),
        lines,
    }
}
