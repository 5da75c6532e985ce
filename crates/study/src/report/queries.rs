//! First part of the page: the share of queries in time, in one sentence and a card for each transport.

use std::collections::BTreeMap;

use duetime_figures::Strip;
use duetime_results::Estimate;
use duetime_results::pool::min_samples;
use duetime_results::summary::{Percentiles, QueryEstimate};
use duetime_scenario::model::WorkloadKind;
use serde::Serialize;

use super::page::Named;
use crate::bound::{NETWORK, NO_TRANSPORT, ONLINE};
use crate::gather::{Cell, Gathered, workload_name};
use crate::looks::known_as;
use crate::objective::{self, objective, objective_of_all, target_of};
use crate::plan::Plan;
use crate::tables::percentile;
use crate::text;

/// Best possible results, if known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Possible {
    /// Upper bound on the share of all queries in time.
    queries: Option<f64>,
    /// Upper bound on the share of all deadlines met.
    deadlines: Option<f64>,
    /// Additional cards by workload: the name and the share of queries in time of each.
    cards: BTreeMap<u16, Vec<(&'static str, Estimate)>>,
}

impl Possible {
    /// Returns the best possible results of a study without a sweep, or none for a sweep.
    pub fn of(plan: &Plan, gathered: &Gathered) -> Self {
        let Some(best) = gathered.best_at(0).filter(|_| plan.points.len() == 1) else {
            return Self::default();
        };
        let cards = best.queries.iter().map(|queries| {
            let network = queries.best.network_in_time();
            let shares = [
                (NO_TRANSPORT, queries.best.in_time()),
                (ONLINE, queries.best.online_in_time()),
            ];
            let shares = shares
                .into_iter()
                .chain(network.map(|share| (NETWORK, share)));
            (queries.workload, shares.collect())
        });
        Self {
            queries: best.objective.map(|bound| bound.in_time().value),
            deadlines: best.deadlines.map(|bound| bound.in_time().value),
            cards: cards.collect(),
        }
    }
}

/// Returns the budget of a workload's queries in seconds, from their arrival at the root, or `None` if it has several
/// or none.
pub fn budget_s(plan: &Plan, workload: u16) -> Option<f64> {
    let objective = plan.base.objective(usize::from(workload))?;
    let (first, others) = objective.within.split_first()?;
    let same = others.iter().all(|other| other == first);
    same.then(|| first.as_secs_f64())
}

/// Cards of one workload.
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
    /// True if the share is below the target.
    short: bool,
    interval: String,
    strip: String,
    marks: Vec<Mark>,
    lines: Vec<String>,
}

/// Percentile of the completion time.
#[derive(Debug, Serialize)]
struct Mark {
    name: &'static str,
    value: String,
    interval: String,
    /// Reason why there is no value; empty if there is one.
    hint: String,
    late: bool,
}

type Pick = fn(&Percentiles<Option<Estimate>>) -> Option<Estimate>;

/// Percentiles on a card.
const PICKS: [(&str, Pick); 4] = [
    ("p50", |p| p.p50),
    ("p90", |p| p.p90),
    ("p99", |p| p.p99),
    ("p99.9", |p| p.p999),
];

/// Ranks of [`PICKS`] in parts per thousand.
const PER_MILLE: [u32; 4] = [500, 900, 990, 999];

/// Returns the first sentence of the page, or `None` if nothing can be late.
pub fn answer(plan: &Plan, gathered: &Gathered, possible: &Possible) -> Option<String> {
    if plan.points.len() > 1 {
        return across(plan, gathered);
    }
    let target = objective::target(&plan.base);
    let share = |cell: &Cell| {
        let objective = cell.summary.objective?;
        Some((objective.in_time.value, objective.queries))
    };
    let Some((best, value, total)) = best_transports(gathered, target, share) else {
        let met = |cell: &Cell| {
            let deadlines = cell.summary.deadlines?;
            Some((deadlines.application_throughput.value, deadlines.flows))
        };
        let (best, value, total) = best_transports(gathered, None, met)?;
        return Some(format!(
            "{} flows with deadlines were in time under {}{}.",
            text::part(value, total),
            text::list(best),
            at_best(possible.deadlines)
        ));
    };
    let wanted = objective_of_all(&plan.base);
    let predicate = wanted.map_or("were in time".to_owned(), |wanted| format!("had {wanted}"));
    Some(format!(
        "{} of {} queries {predicate} under {}{}.",
        text::percent_near(value, target),
        text::count(total as f64),
        text::list(best),
        at_best(possible.queries)
    ))
}

fn at_best(best: Option<f64>) -> String {
    best.map_or(String::new(), |best| {
        format!("; the best possible is {}", text::percent(best))
    })
}

/// Returns the names of the transports with the largest share, by its printed value, the share, and the total that it
/// refers to.
fn best_transports(
    gathered: &Gathered,
    target: Option<f64>,
    share: impl Fn(&Cell) -> Option<(f64, u64)>,
) -> Option<(Vec<String>, f64, u64)> {
    let cells = gathered.cells.iter();
    let all: Vec<(&Cell, f64, u64)> = cells
        .filter_map(|cell| {
            let (share, total) = share(cell)?;
            Some((cell, share, total))
        })
        .collect();
    let &(_, largest, total) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let shown = |share: f64| text::percent_near(share, target);
    let names = all
        .iter()
        .filter(|&&(_, share, _)| shown(share) == shown(largest));
    let names = names.map(|(cell, ..)| known_as(&cell.summary.transport));
    Some((names.collect(), largest, total))
}

/// Returns the sentence of a sweep, with the smallest and the largest share of queries in time.
fn across(plan: &Plan, gathered: &Gathered) -> Option<String> {
    let shares = gathered.cells.iter().filter_map(|cell| {
        let objective = cell.summary.objective?;
        let share = (objective.in_time.value, objective.queries);
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
    let share = |(share, total): (f64, u64)| {
        format!(
            "{} of {}",
            text::percent_near(share, target),
            text::count(total as f64)
        )
    };
    Some(format!(
        "Queries in time: from {} ({}) to {} ({}).",
        share(fewest.0),
        fewest.1,
        share(most.0),
        most.1
    ))
}

/// Returns the cards of every workload with queries that can be late. A sweep has none; its results are in a table.
pub fn services(plan: &Plan, gathered: &Gathered, possible: &Possible) -> Vec<Service> {
    if plan.points.len() > 1 {
        return Vec::new();
    }
    let judged = |cell: &Cell, workload: u16| {
        let mut all = cell.summary.queries.iter();
        all.find(|queries| queries.workload == workload && queries.objective.is_some())
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
        let picked = |queries: &QueryEstimate| PICKS.map(|(_, pick)| pick(&queries.completion_s));
        let values = found
            .iter()
            .flat_map(|(_, queries)| picked(queries))
            .flatten();
        let ends = values
            .map(|percentile| percentile.value)
            .chain(budget)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        let best = possible.cards.get(&workload).into_iter().flatten();
        Some(Service {
            title: format!(
                "Queries in time: {}",
                workload_name(plan, first.0, workload)
            ),
            note: note(plan, workload, &wanted, &first.1),
            cards: found
                .iter()
                .map(|(cell, queries)| card(plan, cell, queries, budget, ends))
                .collect(),
            best: best
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

fn note(plan: &Plan, workload: u16, wanted: &str, queries: &QueryEstimate) -> String {
    let target = target_of(&plan.base, workload).map_or(String::new(), |share| {
        format!(" The target is {} of the queries.", text::percent(share))
    });
    format!(
        "A query is in time if it has {wanted}, counted from its arrival at the root. {} queries per transport, over \
         all runs.{target} The strips show percentiles of the completion time on a common scale; the range beyond the \
         budget is shaded. A dash means too few queries for the percentile, or too many that never had enough answers.",
        text::count(queries.queries as f64)
    )
}

/// Returns the card of one transport. `budget` is in seconds. `low` and `high` are the ends of the common scale.
fn card(
    plan: &Plan,
    cell: &Cell,
    queries: &QueryEstimate,
    budget: Option<f64>,
    (low, high): (f64, f64),
) -> Card {
    let target = target_of(&plan.base, queries.workload);
    let (share, interval) = queries
        .objective
        .map(|objective| {
            text::estimate(&objective.in_time, |share| {
                text::percent_near(share, target)
            })
        })
        .unwrap_or_default();
    let value = |pick: Pick| pick(&queries.completion_s).map(|percentile| percentile.value);
    let unit = if high < 1e-3 {
        (1e6, "us")
    } else {
        (1e3, "ms")
    };
    // With too few queries, a percentile is unknown. With enough queries, a missing percentile is beyond all values.
    let marks = PICKS
        .iter()
        .zip(PER_MILLE)
        .filter_map(|((name, pick), per_mille)| {
            let value = value(*pick).map(|seconds| seconds * unit.0);
            let is_known = value.is_some() || queries.queries >= min_samples(per_mille);
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
    let in_time = queries
        .objective
        .map_or(1.0, |objective| objective.in_time.value);
    // Without a percentile, the share in time shows on which side of the budget it is.
    let late = |share: f64, value: Option<f64>| match (value, budget) {
        (_, None) => false,
        (None, Some(_)) => in_time < share,
        (Some(value), Some(budget)) => value > budget,
    };
    let mut lines = Vec::new();
    if let Some(answers) = queries.answers_in_time {
        lines.push(format!(
            "{} requested answers were in time",
            text::part(answers.value, queries.asked)
        ));
    }
    let is_deep = match &plan.base.workloads[usize::from(queries.workload)].kind {
        WorkloadKind::Oldi(oldi) => oldi.fan_in.len() > 1,
        WorkloadKind::Spans(spans) => spans.has_aggregators(),
        _ => false,
    };
    if let Some(leaves) = queries.leaf_coverage.filter(|_| is_deep) {
        lines.push(format!(
            "{} leaves reached the root in time",
            text::part(leaves.value, queries.leaves)
        ));
    }
    if queries.gave_up > 0 {
        lines.push(format!(
            "{} aggregator timeouts",
            text::count(queries.gave_up as f64)
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
                let shown = percentile(
                    pick(&queries.completion_s),
                    queries.queries,
                    per_mille,
                    text::seconds,
                );
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
