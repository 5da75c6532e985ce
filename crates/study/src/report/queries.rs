//! What the page says first: how many queries were in time, in one sentence and a card per transport.

use std::collections::BTreeMap;

use duetime_figures::Strip;
use duetime_results::Estimate;
use duetime_results::pool::min_samples;
use duetime_results::summary::{Percentiles, QueryEstimate};
use duetime_scenario::model::WorkloadKind;
use serde::Serialize;

use super::page::Named;
use crate::bound::{NO_TRANSPORT, ONLINE};
use crate::gather::{Cell, Gathered, workload_name};
use crate::looks::known_as;
use crate::objective::{self, objective, objective_of_all, target_of};
use crate::plan::Plan;
use crate::tables::percentile;
use crate::text;

/// What any transport could reach at most, where it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Possible {
    /// Share of all queries in time.
    queries: Option<f64>,
    /// Share of all deadlines met.
    deadlines: Option<f64>,
    /// By workload: the cards beside those of the transports, with the share of queries in time of each.
    beside: BTreeMap<u16, Vec<(&'static str, Estimate)>>,
}

impl Possible {
    /// Of a study without a sweep.
    pub fn of(plan: &Plan, gathered: &Gathered) -> Self {
        let Some(best) = gathered.best_at(0).filter(|_| plan.points.len() == 1) else {
            return Self::default();
        };
        let beside = best.queries.iter().map(|of| {
            let shares = [
                (NO_TRANSPORT, of.best.in_time()),
                (ONLINE, of.best.online_in_time()),
            ];
            (of.workload, shares.to_vec())
        });
        Self {
            queries: best.objective.map(|of| of.in_time().value),
            deadlines: best.deadlines.map(|of| of.in_time().value),
            beside: beside.collect(),
        }
    }
}

/// The budget of a workload's queries in seconds, from their arrival at the root; `None` where it has several or none.
pub fn budget_s(plan: &Plan, workload: u16) -> Option<f64> {
    let objective = plan.base.objective(usize::from(workload))?;
    let (first, others) = objective.within.split_first()?;
    let same = others.iter().all(|other| other == first);
    same.then(|| first.as_secs_f64())
}

/// The cards of one workload.
#[derive(Debug, Serialize)]
pub struct Service {
    title: String,
    note: String,
    cards: Vec<Card>,
    best: Vec<Named>,
}

#[derive(Debug, Serialize)]
struct Card {
    name: String,
    share: String,
    /// Whether it is less than the target.
    short: bool,
    interval: String,
    strip: String,
    marks: Vec<Mark>,
    lines: Vec<String>,
}

/// One percentile of the completion time.
#[derive(Debug, Serialize)]
struct Mark {
    name: &'static str,
    value: String,
    interval: String,
    /// Why there is no value; empty if there is one.
    hint: String,
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

/// Ranks of [`PICKS`] in parts per thousand.
const PER_MILLE: [u32; 4] = [500, 900, 990, 999];

/// The page's first sentence; `None` where nothing says when anything is late.
pub fn answer(plan: &Plan, gathered: &Gathered, possible: &Possible) -> Option<String> {
    if plan.points.len() > 1 {
        return across(plan, gathered);
    }
    let target = objective::target(&plan.base);
    let share = |cell: &Cell| {
        let of = cell.summary.objective?;
        Some((of.in_time.value, of.queries))
    };
    let Some((most, value, asked)) = most(gathered, target, share) else {
        let met = |cell: &Cell| {
            let of = cell.summary.deadlines?;
            Some((of.application_throughput.value, of.flows))
        };
        let (most, value, asked) = self::most(gathered, None, met)?;
        return Some(format!(
            "{} flows with deadlines met theirs under {}{}.",
            text::part(value, asked),
            text::list(most),
            at_best(possible.deadlines)
        ));
    };
    let wanted = objective_of_all(&plan.base);
    let words = wanted.map_or("were in time".to_owned(), |wanted| format!("had {wanted}"));
    Some(format!(
        "{} of {} queries {words} under {}{}.",
        text::percent_near(value, target),
        text::count(asked as f64),
        text::list(most),
        at_best(possible.queries)
    ))
}

fn at_best(best: Option<f64>) -> String {
    best.map_or(String::new(), |best| {
        format!("; the best possible is {}", text::percent(best))
    })
}

/// The transports with the largest share, as it is shown, by name; the share, and of how many it is.
fn most(
    gathered: &Gathered,
    target: Option<f64>,
    share: impl Fn(&Cell) -> Option<(f64, u64)>,
) -> Option<(Vec<String>, f64, u64)> {
    let cells = gathered.cells.iter();
    let all: Vec<(&Cell, f64, u64)> = cells
        .filter_map(|cell| {
            let (share, of) = share(cell)?;
            Some((cell, share, of))
        })
        .collect();
    let &(_, largest, asked) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let shown = |share: f64| text::percent_near(share, target);
    let names = all.iter().filter(|of| shown(of.1) == shown(largest));
    let names = names.map(|(cell, ..)| known_as(&cell.summary.transport));
    Some((names.collect(), largest, asked))
}

/// Of a sweep: where the most and the fewest queries were in time.
fn across(plan: &Plan, gathered: &Gathered) -> Option<String> {
    let shares = gathered.cells.iter().filter_map(|cell| {
        let of = cell.summary.objective?;
        let share = (of.in_time.value, of.queries);
        let place = format!(
            "{} at {}",
            known_as(&cell.summary.transport),
            plan.points[cell.point].label()
        );
        Some((share, place))
    });
    let shares: Vec<((f64, u64), String)> = shares.collect();
    let most = shares.iter().max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    let fewest = shares.iter().min_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    let target = objective::target(&plan.base);
    let share = |(share, of): (f64, u64)| {
        format!(
            "{} of {}",
            text::percent_near(share, target),
            text::count(of as f64)
        )
    };
    Some(format!(
        "Between {} queries ({}) and {} ({}) were in time.",
        share(fewest.0),
        fewest.1,
        share(most.0),
        most.1
    ))
}

/// Cards of every workload with queries that can be late. A sweep has none: its numbers are in a table.
pub fn services(plan: &Plan, gathered: &Gathered, possible: &Possible) -> Vec<Service> {
    if plan.points.len() > 1 {
        return Vec::new();
    }
    let judged = |cell: &Cell, workload: u16| {
        let mut all = cell.summary.queries.iter();
        all.find(|of| of.workload == workload && of.objective.is_some())
            .cloned()
    };
    let service = |workload: u16| {
        let wanted = objective(&plan.base, workload)?;
        let cells = gathered.cells.iter();
        let found: Vec<(&Cell, QueryEstimate)> = cells
            .filter_map(|cell| Some((cell, judged(cell, workload)?)))
            .collect();
        let first = found.first()?;
        let budget = budget_s(plan, workload);
        let picked = |of: &QueryEstimate| PICKS.map(|(_, pick)| pick(&of.completion_s));
        let values = found.iter().flat_map(|(_, of)| picked(of)).flatten();
        let ends = values
            .map(|of| of.value)
            .chain(budget)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        let beside = possible.beside.get(&workload).into_iter().flatten();
        Some(Service {
            title: format!(
                "Queries in time: {}",
                workload_name(plan, first.0, workload)
            ),
            note: note(plan, workload, &wanted, &first.1),
            cards: found
                .iter()
                .map(|(cell, of)| card(plan, cell, of, budget, ends))
                .collect(),
            best: beside
                .map(|(name, share)| {
                    let (value, interval) = text::estimate(share, text::percent);
                    Named {
                        name: (*name).to_owned(),
                        value,
                        interval: interval.unwrap_or_default(),
                    }
                })
                .collect(),
        })
    };
    (0..)
        .take(plan.base.workloads.len())
        .filter_map(service)
        .collect()
}

fn note(plan: &Plan, workload: u16, wanted: &str, of: &QueryEstimate) -> String {
    let target = target_of(&plan.base, workload).map_or(String::new(), |share| {
        format!(" The target is {} of the queries.", text::percent(share))
    });
    format!(
        "A query is in time if it has {wanted}, counted from its arrival at the root. {} queries per transport, over all \
         runs.{target} The strips show percentiles of the completion time on one scale; what is beyond the budget is \
         shaded. A dash: too few queries for that percentile, or so many never had enough answers.",
        text::count(of.queries as f64)
    )
}

/// One transport's card. `budget` in seconds; `low` and `high` are the ends of the scale of all cards.
fn card(
    plan: &Plan,
    cell: &Cell,
    of: &QueryEstimate,
    budget: Option<f64>,
    (low, high): (f64, f64),
) -> Card {
    let target = target_of(&plan.base, of.workload);
    let (share, interval) = of
        .objective
        .map(|of| text::estimate(&of.in_time, |share| text::percent_near(share, target)))
        .unwrap_or_default();
    let value = |pick: Pick| pick(&of.completion_s).map(|of| of.value);
    let unit = if high < 1e-3 {
        (1e6, "us")
    } else {
        (1e3, "ms")
    };
    // What too few queries have is unknown; what enough of them lack lies beyond all others.
    let marks = PICKS
        .iter()
        .zip(PER_MILLE)
        .filter_map(|((name, pick), per_mille)| {
            let value = value(*pick).map(|of| of * unit.0);
            let is_known = value.is_some() || of.queries >= min_samples(per_mille);
            is_known.then(|| ((*name).to_owned(), value))
        });
    let strip = Strip {
        name: cell.summary.transport.clone(),
        palette: crate::palette(),
        description: format!(
            "Percentiles of the completion time of queries under {}",
            known_as(&cell.summary.transport)
        ),
        unit: unit.1.to_owned(),
        ends: (low * unit.0, high * unit.0),
        marks: marks.collect(),
        budget: budget.map(|budget| budget * unit.0),
    };
    let in_time = of.objective.map_or(1.0, |of| of.in_time.value);
    // Where there is no percentile, the share in time says on which side of the budget it lies.
    let late = |share: f64, value: Option<f64>| match (value, budget) {
        (_, None) => false,
        (None, Some(_)) => in_time < share,
        (Some(value), Some(budget)) => value > budget,
    };
    let mut lines = Vec::new();
    if let Some(answers) = of.answers_in_time {
        lines.push(format!(
            "{} answers asked for were in time",
            text::part(answers.value, of.asked)
        ));
    }
    let is_deep = match &plan.base.workloads[usize::from(of.workload)].kind {
        WorkloadKind::Oldi(oldi) => oldi.fan_in.len() > 1,
        WorkloadKind::Spans(spans) => spans.has_aggregators(),
        _ => false,
    };
    if let Some(leaves) = of.leaf_coverage.filter(|_| is_deep) {
        lines.push(format!(
            "{} leaves' answers were at the root in time",
            text::part(leaves.value, of.leaves)
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
        short: target.is_some_and(|target| in_time < target),
        interval: interval.unwrap_or_default(),
        strip: strip.to_svg(),
        marks: PICKS
            .iter()
            .zip(PER_MILLE)
            .map(|((name, pick), per_mille)| {
                let shown =
                    percentile(pick(&of.completion_s), of.queries, per_mille, text::seconds);
                Mark {
                    name,
                    value: shown.value,
                    interval: shown.interval,
                    hint: shown.hint,
                    late: late(f64::from(per_mille) / 1e3, value(*pick)),
                }
            })
            .collect(),
        lines,
    }
}
