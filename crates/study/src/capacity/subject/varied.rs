//! Settings that a search varies: a key of some workloads, their query rate, their deadlines, or the budget of their
//! queries.

use duetime_core::Span;
use duetime_scenario::Scenario;
use duetime_scenario::model::{
    Deadline, Intensity, Oldi, QueryArrival, SourceGap, Workload, WorkloadKind,
};

use super::Quantity;
use super::rate::query_rate;
use super::step::MICRO;

/// Varied key of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Path within the workload, such as `senders` or `fan_in[1]`.
    pub(super) path: String,
    /// Unit of a value in the scenario file.
    pub(super) unit: &'static str,
    /// Current value in millionths of the unit.
    pub(super) now: u64,
    /// True for the rate of queries that arrive at gaps, which the file may set by another key.
    pub(super) by_gaps: bool,
}

impl Key {
    fn new(path: impl Into<String>, unit: &'static str, now: u64) -> Self {
        let path = path.into();
        Self {
            path,
            unit,
            now,
            by_gaps: false,
        }
    }
}

/// Returns the workloads with these names, or all workloads with deadlines if there are no names.
pub(super) fn choose(scenario: &Scenario, names: &[String]) -> Result<Vec<usize>, String> {
    let all = &scenario.workloads;
    if names.is_empty() {
        return Ok((0..all.len())
            .filter(|&index| has_deadline(&all[index]))
            .collect());
    }
    names
        .iter()
        .map(|name| {
            let found = all.iter().position(|workload| workload.name == *name);
            found.ok_or_else(|| {
                let known = scenario.workload_names().join(", ");
                format!("no workload is named `{name}`; available: {known}")
            })
        })
        .collect()
}

/// Returns the chosen workloads for which `find` succeeds, and its common result.
pub(super) fn agreed<T: PartialEq>(
    scenario: &Scenario,
    chosen: &[usize],
    find: impl Fn(&Workload) -> Result<T, String>,
) -> Result<(Vec<usize>, T), String> {
    let name = |index: usize| scenario.workloads[index].name.as_str();
    let mut found: Vec<(usize, T)> = Vec::new();
    let mut why = String::new();
    for &index in chosen {
        match find(&scenario.workloads[index]) {
            Ok(one) => found.push((index, one)),
            Err(wrong) if why.is_empty() => why = wrong,
            Err(_) => {}
        }
    }
    let Some((_, first)) = found.first() else {
        return Err(why);
    };
    if found.iter().any(|(_, one)| one != first) {
        let names: Vec<&str> = found.iter().map(|&(index, _)| name(index)).collect();
        return Err(format!(
            "{} have different values: select the workloads to vary with --workload",
            names.join(" and ")
        ));
    }
    let indices = found.iter().map(|&(index, _)| index).collect();
    found
        .into_iter()
        .next()
        .map(|(_, one)| (indices, one))
        .ok_or(why)
}

/// Returns the key of a workload that sets the quantity.
pub(super) fn key(workload: &Workload, quantity: Quantity) -> Result<Key, String> {
    let name = &workload.name;
    let whole = |value: u32| u64::from(value) * MICRO;
    match (quantity, &workload.kind) {
        (Quantity::Senders, WorkloadKind::Burst { senders, .. }) => {
            Ok(Key::new("senders", "", whole(*senders)))
        }
        (Quantity::Senders, WorkloadKind::Oldi(oldi)) => match oldi.fan_in[..] {
            [fan_in] => Ok(Key::new("fan_in", "", whole(fan_in))),
            _ => Err(format!(
                "{name}: its trees have several layers: select one with --of fan-in --layer, such as --layer 1 for the \
                 root"
            )),
        },
        (Quantity::Senders, _) => Err(format!(
            "{name}: only workloads of kind burst (`senders`) and oldi (`fan_in`) have senders to vary"
        )),
        (Quantity::FanIn(layer), WorkloadKind::Oldi(oldi)) => fan_in(name, oldi, layer),
        (Quantity::FanIn(_), _) => Err(format!(
            "{name}: only workloads of kind oldi have a `fan_in` to vary"
        )),
        (Quantity::Rate | Quantity::Load, WorkloadKind::Poisson { intensity, .. }) => {
            match intensity {
                Intensity::Load(load) => Ok(Key::new("load", "%", micros(load * 100.0))),
                Intensity::FlowsPerSecond(rate) if quantity == Quantity::Rate => {
                    Ok(Key::new("rate", "/s", micros(*rate)))
                }
                Intensity::FlowsPerSecond(_) => Err(format!(
                    "{name}: it has a `rate` and no `load`: use --of rate"
                )),
            }
        }
        (Quantity::Rate | Quantity::Load, WorkloadKind::Oldi(oldi)) => match oldi.arrival {
            QueryArrival::Load { load, .. } => Ok(Key::new("load", "%", micros(load * 100.0))),
            QueryArrival::Every(ref gap) if quantity == Quantity::Rate => Ok(Key {
                by_gaps: true,
                ..Key::new("rate", "/s", micros(query_rate(oldi, gap)).max(1))
            }),
            QueryArrival::Every(_) => Err(format!(
                "{name}: it has a `rate`, or `every`, and no `load`: use --of rate"
            )),
            QueryArrival::BackToBack => Err(format!(
                "{name}: its queries follow each other (`arrival = \"back-to-back\"`) and have no rate to vary: set \
                 `load`, `rate` or `every`"
            )),
        },
        (Quantity::Rate | Quantity::Load, WorkloadKind::Background { every, .. }) => match every {
            SourceGap::AtLoad(load) => Ok(Key::new("load", "%", micros(load * 100.0))),
            SourceGap::Given(_) => Err(format!(
                "{name}: its sources have no `load` to vary: set `load` instead of `every`"
            )),
        },
        (Quantity::Rate, _) => Err(format!(
            "{name}: only workloads of kind poisson (`rate` or `load`), oldi (`rate`, `load` or `every`) and \
             background (`load`) have a rate to vary"
        )),
        (Quantity::Load, _) => Err(format!(
            "{name}: only workloads of kind poisson, oldi and background have a `load` to vary"
        )),
        (Quantity::Deadline | Quantity::Budget, _) => Err(format!(
            "{name}: deadlines and budgets are not set by one key"
        )),
    }
}

/// Returns the key of the fan-in of a layer; 1 is the root's layer, and `None` the only layer.
fn fan_in(name: &str, oldi: &Oldi, layer: Option<u32>) -> Result<Key, String> {
    let layers = oldi.fan_in.len();
    let layer = match layer {
        None if layers == 1 => {
            return Ok(Key::new("fan_in", "", u64::from(oldi.fan_in[0]) * MICRO));
        }
        None => {
            return Err(format!(
                "{name}: its trees have {layers} layers: select one with --layer, the root's is 1"
            ));
        }
        Some(layer) => layer,
    };
    let index = (layer as usize).checked_sub(1);
    let Some((index, &fan_in)) = index.and_then(|index| Some((index, oldi.fan_in.get(index)?)))
    else {
        return Err(format!(
            "{name}: --layer {layer}: its trees have layers 1 to {layers}"
        ));
    };
    let path = if layers == 1 {
        "fan_in".to_owned()
    } else {
        format!("fan_in[{index}]")
    };
    Ok(Key::new(path, "", u64::from(fan_in) * MICRO))
}

/// Returns the budget of the workload's queries, the longest of all applications.
pub(super) fn budget(workload: &Workload) -> Result<Span, String> {
    let name = &workload.name;
    let Some(objective) = workload.objective() else {
        return Err(format!(
            "{name}: only workloads of kind oldi, and traces of spans, have queries"
        ));
    };
    objective.within.iter().copied().max().ok_or_else(|| {
        format!(
            "{name}: its queries have no budget: set `within` in its `objective`, or vary its deadlines with --of \
             deadline"
        )
    })
}

/// Returns true if anything of the workload can be late.
pub(super) fn has_deadline(workload: &Workload) -> bool {
    let is = |deadline: &Deadline| *deadline != Deadline::None;
    match &workload.kind {
        WorkloadKind::Oldi(oldi) => {
            workload.answers_have_deadlines()
                || is(&oldi.query_deadline)
                || !oldi.objective.within.is_empty()
        }
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => is(deadline),
        WorkloadKind::Spans(spans) => spans.can_be_late(),
        WorkloadKind::Long { .. } => false,
        WorkloadKind::Trace { flows } => flows.iter().any(|flow| flow.deadline.is_some()),
    }
}

/// Returns true if the workload's objective sets a budget or a share of the queries.
pub(super) fn has_objective(workload: &Workload) -> bool {
    let objective = workload.objective();
    objective.is_some_and(|objective| !objective.within.is_empty() || objective.share.is_some())
}

/// Multiplies every deadline of the workload, and the budget of its queries, by `numerator / denominator`.
pub(super) fn scale_deadlines(workload: &mut Workload, numerator: u64, denominator: u64) {
    let span = |span: &mut Span| {
        let ps = u128::from(span.as_ps()) * u128::from(numerator) / u128::from(denominator);
        *span = Span::from_ps(u64::try_from(ps.max(1)).unwrap_or(u64::MAX));
    };
    let scale = |deadline: &mut Deadline| deadline.spans_mut().for_each(span);
    match &mut workload.kind {
        WorkloadKind::Oldi(oldi) => {
            oldi.deadline.iter_mut().for_each(scale);
            scale(&mut oldi.query_deadline);
            oldi.objective.within.iter_mut().for_each(span);
        }
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => scale(deadline),
        WorkloadKind::Spans(spans) => {
            scale(&mut spans.deadline);
            spans.objective.within.iter_mut().for_each(span);
        }
        WorkloadKind::Long { .. } => {}
        WorkloadKind::Trace { flows } => {
            let deadlines = flows.iter_mut().filter_map(|flow| flow.deadline.as_mut());
            deadlines.for_each(span);
        }
    }
}

/// Returns the shortest and the longest deadline of the workload, or `None` unless all its deadlines are fixed.
pub(super) fn fixed_deadlines(workload: &Workload) -> Option<(Span, Span)> {
    let all: Vec<Span> = match &workload.kind {
        WorkloadKind::Oldi(oldi) => oldi
            .deadline
            .iter()
            .map(Deadline::fixed)
            .collect::<Option<_>>()?,
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => vec![deadline.fixed()?],
        WorkloadKind::Spans(spans) => vec![spans.deadline.fixed()?],
        WorkloadKind::Long { .. } | WorkloadKind::Trace { .. } => return None,
    };
    Some((*all.iter().min()?, *all.iter().max()?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values of scenarios are positive, and casts from floats saturate"
)]
fn micros(value: f64) -> u64 {
    (value * MICRO as f64).round() as u64
}
