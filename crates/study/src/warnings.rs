//! What a reader must know before any number: links that are offered more than they carry, runs that count nothing or
//! are not stationary.

mod doubts;
mod effects;
mod servers;

pub use servers::slots_of;

use duetime_results::summary::Drift;
use duetime_sim::describe::{Description, HEAVY, WorkloadLoad, describe};
use serde::Serialize;

use crate::error::StudyError;
use crate::gather::{Cell, Gathered, workload_name};
use crate::plan::Plan;
use crate::text;

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// Some link is offered more than 90 % of what it carries.
    Load,
    /// The servers of some host are offered more than 90 % of the computation that their slots can do.
    Servers,
    /// Ports drop before they hold as much as their ECN threshold.
    EcnThreshold,
    /// D3's `update_interval` is below the round trip.
    UpdateInterval,
    /// Parents hedge at a percentile that they do not know for a large part of the measurement window.
    Hedge,
    /// Recorded requests are not within the spans that cause them.
    Spans,
    /// A setting, or a point of a sweep, changes nothing.
    NoEffect,
    /// Too few queries will count to show the target.
    FewQueries,
    /// Deadlines or budgets are shorter than the network alone takes.
    Deadline,
    /// Nothing counts, or hardly anything.
    NothingMeasured,
    /// The backlog grew, or the halves of the measurement window differ: figures depend on how long the runs were.
    NotStationary,
}

/// One warning, in plain sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What it is about.
    pub about: About,
    /// What to know.
    pub text: String,
}

impl Warning {
    /// The warning as a command prints it.
    pub fn line(&self) -> String {
        format!("WARNING  {}", self.text)
    }
}

/// The points of a plan, each with its label, which is empty without a sweep.
pub(crate) fn described(plan: &Plan) -> Result<Vec<(String, Description)>, StudyError> {
    let points = plan.points.iter();
    points
        .map(|point| Ok((point.label(), describe(&point.scenario)?)))
        .collect()
}

/// What can be told of scenarios before they run; each with its point of the sweep, which is empty without one.
pub fn of_points(points: &[(String, Description)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(load(points));
    warnings.extend(servers::load(points));
    warnings.extend(doubts::of(points));
    warnings.extend(nothing_will_count(points));
    warnings
}

/// What can be told of a plan before it runs; `described` has its points in their order.
pub fn of_plan(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
    let mut warnings = of_points(described);
    warnings.extend(effects::of(plan, described));
    warnings
}

/// What the runs themselves show.
pub(crate) fn afterwards(plan: &Plan, gathered: &Gathered) -> Vec<Warning> {
    let empty: Vec<String> = gathered
        .cells
        .iter()
        .filter(|cell| cell.measured_nothing())
        .map(|cell| {
            let at = at_point(&plan.points[cell.point].label());
            format!("{}{at}", cell.summary.transport)
        })
        .collect();
    let mut warnings = Vec::new();
    if !empty.is_empty() {
        let text = format!(
            "Nothing was measured ({}): no flow started from `warm_up` on and before `duration`.",
            some_of(&empty)
        );
        warnings.push(Warning {
            about: About::NothingMeasured,
            text,
        });
    }
    warnings.extend(not_stationary(plan, gathered));
    warnings
}

/// A warning for each transport and way of drifting, with the first point that has it and the number of others.
fn not_stationary(plan: &Plan, gathered: &Gathered) -> Vec<Warning> {
    type Kind<'a> = (&'a str, Option<String>);
    let mut found: Vec<(Kind<'_>, &Cell, &Drift, usize)> = Vec::new();
    for cell in &gathered.cells {
        for drift in &cell.drifts {
            let of = match drift {
                Drift::Backlog { .. } => None,
                Drift::Share { workload, .. } => Some(workload_name(plan, cell, *workload)),
            };
            let kind = (cell.summary.transport.as_str(), of);
            match found.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., others)) => *others += 1,
                None => found.push((kind, cell, drift, 0)),
            }
        }
    }
    let warning = |((transport, _), cell, drift, others): (Kind<'_>, &Cell, &Drift, usize)| {
        let at = at_points(&plan.points[cell.point].label(), others, plan.points.len());
        let there = if others > 0 {
            "at the first of them "
        } else {
            ""
        };
        Warning {
            about: About::NotStationary,
            text: format!(
                "{transport} was not stationary{at}, so its figures depend on `duration`: {there}{}.",
                drifting(plan, cell, drift)
            ),
        }
    };
    found.into_iter().map(warning).collect()
}

/// What drifted, in words.
fn drifting(plan: &Plan, cell: &Cell, drift: &Drift) -> String {
    match drift {
        Drift::Backlog {
            second_quarter_bytes,
            last_quarter_bytes,
            of_started,
        } => format!(
            "the backlog grew from {} in the second quarter of the measurement window to {} in the last, by {} of what was \
             started in half of it",
            text::bytes(*second_quarter_bytes),
            text::bytes(*last_quarter_bytes),
            text::percent(*of_started)
        ),
        Drift::Share {
            workload,
            first,
            second,
            ..
        } => format!(
            "{} of `{}` was late in the first half of the measurement window, {} in the second",
            text::percent(*first),
            workload_name(plan, cell, *workload),
            text::percent(*second)
        ),
    }
}

/// ` at POINT`, or nothing without a sweep.
fn at_point(label: &str) -> String {
    if label.is_empty() {
        String::new()
    } else {
        format!(" at {label}")
    }
}

/// ` at POINT, and at 3 more of 8 points`, or nothing without a sweep.
fn at_points(label: &str, others: usize, points: usize) -> String {
    match others {
        0 => at_point(label),
        others => format!(
            "{}, and at {others} more of {points} points",
            at_point(label)
        ),
    }
}

/// The first few of many names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The busiest link of all points, if it is busy enough to be warned of.
fn load(points: &[(String, Description)]) -> Option<Warning> {
    let busiest = |of: &Description| of.load.links.first().map_or(0.0, |link| link.load);
    let heavy = || points.iter().filter(|(_, of)| busiest(of) > HEAVY);
    let (label, worst) = heavy().max_by(|a, b| busiest(&a.1).total_cmp(&busiest(&b.1)))?;
    let link = worst.load.links.first()?;
    let loaded = &worst.load;
    let others = match (loaded.overloaded_links, loaded.heavy_links) {
        (0 | 1, 1) => String::new(),
        (0, heavy) => format!(
            ", and {heavy} of {} links in all more than 90 %",
            loaded.of_links
        ),
        (over, _) => format!(
            ", and {over} of {} links in all more than they carry",
            loaded.of_links
        ),
    };
    let so = if link.load > 1.0 {
        "Backlog grows for as long as sources send, so results depend on `duration`."
    } else {
        "That is near what it carries: queues are long and short runs do not show the longest."
    };
    let where_ = match heavy().count() {
        _ if points.len() == 1 => String::new(),
        count => format!(
            " At {count} of {} points a link is offered more than 90 %; this is the most.",
            points.len()
        ),
    };
    let text = format!(
        "`{}` is offered {} of its {}{} ({}){others}. {so}{where_}",
        link.link,
        text::percent(link.load),
        text::rate(link.rate_bps as f64),
        at_point(label),
        shares(&link.by_workload)
    );
    Some(Warning {
        about: About::Load,
        text,
    })
}

/// `storage 120.6 %, feed 0.70 %`
pub fn shares(of: &[WorkloadLoad]) -> String {
    let shares: Vec<String> = of
        .iter()
        .map(|of| format!("{} {}", of.workload, text::percent(of.load)))
        .collect();
    shares.join(", ")
}

fn nothing_will_count(points: &[(String, Description)]) -> Option<Warning> {
    let expected = |of: &Description| {
        let expected = of.workloads.iter().map(|of| of.expected_measured);
        expected.sum::<Option<f64>>()
    };
    let (label, of) = points
        .iter()
        .find(|(_, of)| expected(of).is_some_and(|expected| expected < 1.0))?;
    let at = at_point(label);
    let text = if of.counts_nothing() {
        format!("Nothing will count{at}: no flow starts from `warm_up` on and before `duration`.")
    } else {
        format!(
            "Less than one flow or query is expected to start from `warm_up` on and before `duration`{at}: perhaps \
             nothing will count."
        )
    };
    Some(Warning {
        about: About::NothingMeasured,
        text,
    })
}
