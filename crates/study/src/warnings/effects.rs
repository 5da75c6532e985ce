//! Settings without effect, and runs too few for what they shall show.

use duetime_proto::window::CongestionControl;
use duetime_scenario::Scenario;
use duetime_scenario::model::Protocol;
use duetime_sim::describe::Description;
use duetime_store::Files;

use super::{About, Warning, at_point, some_of};
use crate::objective::target_of;
use crate::plan::{Plan, resolve};
use crate::text;

/// What the points of a plan show by themselves.
pub(super) fn of(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
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

/// Transports that answer to marks where no port marks.
fn no_marks(plan: &Plan) -> Vec<Warning> {
    for point in &plan.points {
        let of = &point.scenario;
        let without: Vec<String> = of
            .transports
            .iter()
            .filter(|transport| of.switch.ecn_threshold.is_empty() && marks(&transport.protocol))
            .map(|transport| transport.name.clone())
            .collect();
        if !without.is_empty() {
            return no_effect(format!(
                "`ecn_threshold` is off{}: {} gets no marks and answers to losses alone.",
                at_point(&point.label()),
                some_of(&without)
            ));
        }
    }
    Vec::new()
}

fn marks(protocol: &Protocol) -> bool {
    use CongestionControl::{D2tcp, Dctcp};
    matches!(protocol, Protocol::Tcp(config)
        if matches!(config.congestion_control, Dctcp(_) | D2tcp(..)))
}

/// Points of a sweep that run the same.
fn equal_points(plan: &Plan) -> Vec<Warning> {
    let points = &plan.points;
    let mut equal = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let mut earlier = points[..at].iter();
        if let Some(earlier) = earlier.find(|earlier| earlier.scenario == point.scenario) {
            equal.push(format!("{} runs as {}", point.label(), earlier.label()));
        }
    }
    if equal.is_empty() {
        return Vec::new();
    }
    no_effect(format!(
        "Points of the sweep do not differ: {}. Nothing that runs reads what differs, or the values are equal.",
        some_of(&equal)
    ))
}

/// Settings of the command line that leave the scenario as it is.
fn unread(plan: &Plan) -> Vec<Warning> {
    let settings = &plan.request.settings;
    let files = Files::beside(&plan.request.file);
    let without = |at: usize| -> Option<Scenario> {
        let mut request = plan.request.clone();
        request.settings.remove(at);
        resolve(&request, &plan.points[0].settings, &files).ok()
    };
    let unread = (0..settings.len()).filter(|&at| {
        // To state the number of runs again is no mistake.
        if ["seeds", "seed"].contains(&settings[at].0.as_str()) {
            return false;
        }
        let is_set_twice = settings[at + 1..]
            .iter()
            .any(|(key, _)| *key == settings[at].0);
        !is_set_twice && without(at).as_ref() == Some(&plan.points[0].scenario)
    });
    let unread: Vec<String> = unread
        .map(|at| format!("`{}={}`", settings[at].0, settings[at].1))
        .collect();
    if unread.is_empty() {
        return Vec::new();
    }
    no_effect(format!(
        "{} changes nothing: the file says the same, or nothing that runs reads it.",
        some_of(&unread)
    ))
}

/// Workloads with too few queries to show their target: were none late, the 95 % interval of the share in time would still
/// reach below it. Of n queries without a late one it reaches down to 0.05^(1/n).
fn few_queries(plan: &Plan, described: &[(String, Description)]) -> Vec<Warning> {
    for (point, (label, of)) in plan.points.iter().zip(described) {
        for (at, workload) in of.workloads.iter().enumerate() {
            let target = u16::try_from(at)
                .ok()
                .and_then(|at| target_of(&point.scenario, at));
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
                        "About {} queries of `{}` will count{}, which cannot show {}: at least {} are needed. Raise \
                         `seeds` or `duration`.",
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
