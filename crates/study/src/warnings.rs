//! Warnings about a study: overloaded links and servers, questionable settings, runs that measure nothing or are not
//! stationary.

mod effects;
mod servers;
mod settings;

pub use servers::slots_of;

use duetime_analysis::stationary::NonStationarity;
use duetime_analysis::{Description, HEAVY, WorkloadLoad, describe};
use serde::Serialize;

use crate::error::StudyError;
use crate::gather::{Cell, Gathered, workload_name};
use crate::plan::Plan;
use crate::text;

/// Topic of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// A link is offered more than 90 % of its rate.
    Load,
    /// The servers of a host are offered more than 90 % of their capacity.
    Servers,
    /// Ports drop packets before their queue reaches the ECN threshold.
    EcnThreshold,
    /// D3's `update_interval` is shorter than the round trip.
    UpdateInterval,
    /// Parents do not know the percentile at which they hedge for a large part of the measurement window.
    Hedge,
    /// Recorded requests start before or end after the spans that caused them.
    Spans,
    /// A setting or a point of a sweep has no effect.
    NoEffect,
    /// Too few queries will be measured to show the target.
    FewQueries,
    /// Deadlines or budgets are shorter than the time that the idle network needs.
    Deadline,
    /// Nothing, or almost nothing, is measured.
    NothingMeasured,
    /// The backlog grew, or the halves of the measurement window differ, so the results depend on the duration of the
    /// runs.
    NotStationary,
}

/// Warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Topic.
    pub about: About,
    /// Complete sentences.
    pub text: String,
}

impl Warning {
    /// Returns the line that commands print.
    pub fn line(&self) -> String {
        format!("WARNING  {}", self.text)
    }
}

/// Describes the points of a plan. Each description is paired with the point's label, which is empty without a sweep.
pub(crate) fn described(plan: &Plan) -> Result<Vec<(String, Description)>, StudyError> {
    let points = plan.points.iter();
    points
        .map(|point| Ok((point.label(), describe(&point.scenario)?)))
        .collect()
}

/// Returns the warnings about described scenarios before they run. Each description is paired with its point's label,
/// which is empty without a sweep.
pub fn of_points(points: &[(String, Description)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(load(points));
    warnings.extend(servers::load(points));
    warnings.extend(settings::warn(points));
    warnings.extend(nothing_to_measure(points));
    warnings
}

/// Returns the warnings about a plan before it runs. `described` holds the descriptions of its points in order.
pub fn of_plan(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
    let mut warnings = of_points(described);
    warnings.extend(effects::warn(plan, described));
    warnings
}

/// Returns the warnings that follow from the runs.
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
            "Nothing was measured ({}): no flow started between `warm_up` and `duration`.",
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

/// Returns a warning for each transport and kind of drift, with the first affected point and the number of others.
fn not_stationary(plan: &Plan, gathered: &Gathered) -> Vec<Warning> {
    type Kind<'a> = (&'a str, Option<String>);
    let mut found: Vec<(Kind<'_>, &Cell, &NonStationarity, usize)> = Vec::new();
    for cell in &gathered.cells {
        for drift in &cell.drifts {
            let workload = match drift {
                NonStationarity::Backlog { .. } => None,
                NonStationarity::Share { workload, .. } => {
                    Some(workload_name(plan, cell, *workload))
                }
            };
            let kind = (cell.summary.transport.as_str(), workload);
            match found.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., others)) => *others += 1,
                None => found.push((kind, cell, drift, 0)),
            }
        }
    }
    let warning = |((transport, _), cell, drift, others): (
        Kind<'_>,
        &Cell,
        &NonStationarity,
        usize,
    )| {
        let at = at_points(&plan.points[cell.point].label(), others, plan.points.len());
        let place = if others > 0 {
            "at the first point "
        } else {
            ""
        };
        Warning {
            about: About::NotStationary,
            text: format!(
                "{transport} was not stationary{at}, so its results depend on `duration`: {place}{}.",
                drifting(plan, cell, drift)
            ),
        }
    };
    found.into_iter().map(warning).collect()
}

/// Describes a drift.
fn drifting(plan: &Plan, cell: &Cell, drift: &NonStationarity) -> String {
    match drift {
        NonStationarity::Backlog {
            second_quarter_bytes,
            last_quarter_bytes,
            of_started,
        } => format!(
            "the backlog grew from {} in the second quarter of the measurement window to {} in the last quarter, by {} \
             of the bytes started in half the window",
            text::bytes(*second_quarter_bytes),
            text::bytes(*last_quarter_bytes),
            text::percent(*of_started)
        ),
        NonStationarity::Share {
            workload,
            first,
            second,
            ..
        } => format!(
            "{} of `{}` were late in the first half of the measurement window, {} in the second",
            text::percent(*first),
            workload_name(plan, cell, *workload),
            text::percent(*second)
        ),
    }
}

/// Returns ` at POINT`, or an empty string without a sweep.
fn at_point(label: &str) -> String {
    if label.is_empty() {
        String::new()
    } else {
        format!(" at {label}")
    }
}

/// Returns ` at POINT, and at 3 more of 8 points`, or an empty string without a sweep.
fn at_points(label: &str, others: usize, points: usize) -> String {
    match others {
        0 => at_point(label),
        others => format!(
            "{}, and at {others} more of {points} points",
            at_point(label)
        ),
    }
}

/// Lists the first few of many names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns a warning about the busiest link of all points, if it is busy enough.
fn load(points: &[(String, Description)]) -> Option<Warning> {
    let busiest = |point: &Description| point.load.links.first().map_or(0.0, |link| link.load);
    let heavy = || points.iter().filter(|(_, point)| busiest(point) > HEAVY);
    let (label, worst) = heavy().max_by(|a, b| busiest(&a.1).total_cmp(&busiest(&b.1)))?;
    let link = worst.load.links.first()?;
    let loaded = &worst.load;
    let others = match (loaded.overloaded_links, loaded.heavy_links) {
        (0 | 1, 1) => String::new(),
        (0, heavy) => format!(
            ", and {heavy} of {} links in total are offered more than 90 %",
            loaded.of_links
        ),
        (over, _) => format!(
            ", and {over} of {} links in total are overloaded",
            loaded.of_links
        ),
    };
    let effect = if link.load > 1.0 {
        "The backlog grows as long as the sources send, so the results depend on `duration`."
    } else {
        "This is close to its capacity: queues are long, and short runs do not show the longest."
    };
    let extent = match heavy().count() {
        _ if points.len() == 1 => String::new(),
        count => format!(
            " At {count} of {} points a link is offered more than 90 %; this is the highest load.",
            points.len()
        ),
    };
    let text = format!(
        "`{}` is offered {} of its {}{} ({}){others}. {effect}{extent}",
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

/// Formats loads by workload, such as `storage 120.6 %, feed 0.70 %`.
pub fn shares(loads: &[WorkloadLoad]) -> String {
    let shares: Vec<String> = loads
        .iter()
        .map(|load| format!("{} {}", load.workload, text::percent(load.load)))
        .collect();
    shares.join(", ")
}

fn nothing_to_measure(points: &[(String, Description)]) -> Option<Warning> {
    let expected = |point: &Description| {
        let workloads = point.workloads.iter();
        workloads
            .map(|workload| workload.expected_measured)
            .sum::<Option<f64>>()
    };
    let (label, point) = points
        .iter()
        .find(|(_, point)| expected(point).is_some_and(|expected| expected < 1.0))?;
    let at = at_point(label);
    let text = if point.measures_nothing() {
        format!("Nothing will be measured{at}: no flow starts between `warm_up` and `duration`.")
    } else {
        format!(
            "Less than one flow or query is expected to start between `warm_up` and `duration`{at}: possibly nothing \
             will be measured."
        )
    };
    Some(Warning {
        about: About::NothingMeasured,
        text,
    })
}
