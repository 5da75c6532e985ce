//! Warnings about settings without effect and about too few queries.

use duetime_analysis::Description;
use duetime_scenario::Scenario;
use duetime_store::Files;

use super::{About, Warning, at_point, some_of};
use crate::objective::target_of;
use crate::plan::{Plan, resolve};
use crate::text;

/// Returns the warnings that follow from the points of a plan.
pub(super) fn warn(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
    [
        no_marks(plan),
        equal_points(plan),
        unread(plan),
        few_queries(plan, described),
    ]
    .concat()
}

fn no_effect(text: String) -> Vec<Warning> {
    vec![Warning {
        about: About::NoEffect,
        text,
    }]
}

/// Warns about transports that react to ECN marks if no port marks.
fn no_marks(plan: &Plan) -> Vec<Warning> {
    for point in &plan.points {
        let scenario = &point.scenario;
        let without: Vec<String> = scenario
            .transports
            .iter()
            .filter(|transport| {
                scenario.switch.ecn_threshold.is_empty() && transport.protocol.reacts_to_marks()
            })
            .map(|transport| transport.name.clone())
            .collect();
        if !without.is_empty() {
            return no_effect(format!(
                "`ecn_threshold` is off{}: {} receives no marks and reacts to losses only.",
                at_point(&point.label()),
                some_of(&without)
            ));
        }
    }
    Vec::new()
}

/// Warns about identical points of a sweep.
fn equal_points(plan: &Plan) -> Vec<Warning> {
    let points = &plan.points;
    let mut equal = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let mut earlier = points[..at].iter();
        if let Some(earlier) = earlier.find(|earlier| earlier.scenario == point.scenario) {
            equal.push(format!("{} equals {}", point.label(), earlier.label()));
        }
    }
    if equal.is_empty() {
        return Vec::new();
    }
    no_effect(format!(
        "Some points of the sweep are identical: {}. The varied setting has no effect, or its values are the same.",
        some_of(&equal)
    ))
}

/// Warns about settings of the command line that do not change the scenario.
fn unread(plan: &Plan) -> Vec<Warning> {
    let settings = &plan.request.settings;
    let files = Files::relative_to(&plan.request.file);
    let without = |index: usize| -> Option<Scenario> {
        let mut request = plan.request.clone();
        request.settings.remove(index);
        resolve(&request, &plan.points[0].settings, &files).ok()
    };
    let unread = (0..settings.len()).filter(|&index| {
        // Repeating the number of runs from the file is not a mistake.
        if ["seeds", "seed"].contains(&settings[index].0.as_str()) {
            return false;
        }
        let is_set_twice = settings[index + 1..]
            .iter()
            .any(|(key, _)| *key == settings[index].0);
        !is_set_twice && without(index).as_ref() == Some(&plan.points[0].scenario)
    });
    let unread: Vec<String> = unread
        .map(|index| format!("`{}={}`", settings[index].0, settings[index].1))
        .collect();
    if unread.is_empty() {
        return Vec::new();
    }
    no_effect(format!(
        "{} has no effect: the file sets the same value, or no selected transport or workload uses the setting.",
        some_of(&unread)
    ))
}

/// Warns about workloads with too few queries to show their target: even if all queries were in time, the 95 % interval
/// of the share in time would reach below the target. For n queries, all in time, the interval reaches down to
/// 0.05^(1/n).
fn few_queries(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
    for (point, (label, description)) in plan.points.iter().zip(described) {
        for (index, workload) in description.workloads.iter().enumerate() {
            let target = u16::try_from(index)
                .ok()
                .and_then(|index| target_of(&point.scenario, index));
            let (Some(target), Some(expected)) = (target, workload.expected_measured) else {
                continue;
            };
            let seeds = point.scenario.seeds;
            let queries = expected * f64::from(seeds);
            let needed = libm::ceil(libm::log(0.05) / libm::log(target));
            if target < 1.0 && queries >= 1.0 && queries < needed {
                return vec![Warning {
                    about: About::FewQueries,
                    text: format!(
                        "About {} queries of `{}` will be measured{}, too few to show {}: at least {} are needed. \
                         Increase `seeds` or `duration`.",
                        text::count(libm::round(queries)),
                        workload.name,
                        at_point(label),
                        text::percent(target),
                        text::count(needed)
                    ),
                }];
            }
        }
    }
    Vec::new()
}
