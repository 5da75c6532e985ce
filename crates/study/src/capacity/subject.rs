//! What a capacity search varies in a scenario: its senders, its rate or its deadlines.

use duetime_core::Span;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Deadline, Intensity, QueryArrival, Workload, WorkloadKind};

use super::{Search, Target};
use crate::error::StudyError;
use crate::plan::{Plan, Request};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The most senders: those of a burst, or the fan-in of a tree.
    Senders,
    /// The highest rate: flows per second, or the load where the scenario gives that.
    Rate,
    /// The tightest deadlines, as a share of those in the scenario.
    Deadline,
}

impl Quantity {
    /// The share of deadlines that must be met unless another is asked for: 99 %; of tighter deadlines, 95 %.
    pub const fn target(self) -> Target {
        match self {
            Self::Senders | Self::Rate => Target::N99,
            Self::Deadline => Target::N95,
        }
    }
}

/// Numbers of a subject are whole millionths of its unit, so that their texts are exact.
const MICRO: u64 = 1_000_000;
/// The most steps; the scenario itself usually allows fewer.
const MOST_STEPS: u64 = 1_000_000;
/// Deadlines are stretched this many times at most.
const LONGEST_SCALE: u64 = 16;

/// One scenario, and how it changes with the position that a [`Search`] asks for: 1 is the easiest.
#[derive(Clone, Debug)]
pub struct Subject {
    request: Request,
    base: Scenario,
    /// Which workloads change.
    workloads: Vec<usize>,
    varied: Varied,
    /// One position, in millionths of the unit.
    step: u64,
    last: u32,
    start: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Varied {
    /// The value of a key, with the unit written behind it.
    Key {
        key: &'static str,
        unit: &'static str,
    },
    /// All deadlines, by a factor.
    Deadlines,
}

impl Subject {
    /// Finds what `quantity` is in the scenario. `workloads` names those that change; empty: all that have deadlines,
    /// if they agree. `step` is the resolution: `2`, `50 /s`, `1%` or, of deadlines, `0.01`.
    ///
    /// # Errors
    /// A scenario that cannot be understood; one without deadlines; workloads that have no such quantity, or that
    /// disagree on it; a step that is none.
    pub fn new(
        request: Request,
        quantity: Quantity,
        workloads: &[String],
        step: Option<&str>,
    ) -> Result<Self, StudyError> {
        let base = Plan::new(request.clone())?.base;
        let file = request.file.display().to_string();
        let wrong = |why: String| StudyError::Choice(format!("{file}: {why}"));
        if !base.workloads.iter().any(has_deadline) {
            let why = "no flow has a deadline, so there is none to meet: give a [[workload]] a `deadline`";
            return Err(wrong(why.to_owned()));
        }
        let chosen = choose(&base, workloads).map_err(wrong)?;
        if quantity == Quantity::Deadline {
            if let Some(&without) = chosen.iter().find(|&&i| !has_deadline(&base.workloads[i])) {
                let name = &base.workloads[without].name;
                return Err(wrong(format!("{name}: its flows have no deadline to vary")));
            }
            let step = match step {
                None => MICRO / 20,
                Some(text) => step_of(text, "").map_err(wrong)?,
            };
            if step > MICRO {
                let why = format!("a step of {}: at most 1, such as 0.01", decimal(step));
                return Err(wrong(why));
            }
            let last = (LONGEST_SCALE * MICRO / step) as u32;
            return Ok(Self {
                request,
                base,
                workloads: chosen,
                varied: Varied::Deadlines,
                step,
                last,
                start: last + 1 - ((MICRO + step / 2) / step) as u32,
            });
        }
        let (chosen, key, unit, now) = varied(&base, &chosen, quantity).map_err(wrong)?;
        let step = match step {
            Some(text) => step_of(text, unit).map_err(wrong)?,
            None if quantity == Quantity::Senders => MICRO,
            None => round_number(now / 20),
        };
        if quantity == Quantity::Senders && step % MICRO != 0 {
            let why = format!("a step of {} senders: a whole number", decimal(step));
            return Err(wrong(why));
        }
        let mut subject = Self {
            request,
            base,
            workloads: chosen,
            varied: Varied::Key { key, unit },
            step,
            last: 1,
            start: (((now + step / 2) / step).clamp(1, MOST_STEPS)) as u32,
        };
        subject.last = subject.last_allowed()?;
        subject.start = subject.start.min(subject.last);
        Ok(subject)
    }

    /// The hardest position that the scenario allows: more senders, say, than its topology has hosts are refused.
    fn last_allowed(&self) -> Result<u32, StudyError> {
        let allowed = |position: u32| self.scenario(position).is_ok();
        if !allowed(self.start) {
            self.scenario(1)?;
            return Ok(between(1, self.start, allowed));
        }
        let mut good = self.start;
        while u64::from(good) < MOST_STEPS {
            let next = (u64::from(good) * 2).min(MOST_STEPS) as u32;
            if !allowed(next) {
                return Ok(between(good, next, allowed));
            }
            good = next;
        }
        Ok(good)
    }

    /// The search that suits: from what the file says, in steps of a quarter of it.
    pub fn search(&self, target: Target) -> Search {
        let quarter = match self.varied {
            Varied::Key { .. } => self.start / 4,
            Varied::Deadlines => (MICRO / self.step / 4) as u32,
        };
        Search {
            start: self.start,
            stride: quarter.max(1),
            ..Search::within(target, self.last)
        }
    }

    /// The scenario as the file has it.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// What is varied, as key paths; `deadline × …` for deadlines.
    pub fn keys(&self) -> Vec<String> {
        let name = |&index: &usize| &self.base.workloads[index].name;
        match self.varied {
            Varied::Key { key, .. } => {
                let path = |index: &usize| format!("workload.{}.{key}", name(index));
                self.workloads.iter().map(path).collect()
            }
            Varied::Deadlines => {
                let path = |index: &usize| format!("workload.{}.deadline", name(index));
                self.workloads.iter().map(path).collect()
            }
        }
    }

    /// The unit of [`Subject::value`]: `senders`, `/s`, `%`, or `x` for a factor on deadlines.
    pub fn unit(&self) -> &'static str {
        match self.varied {
            Varied::Key { unit: "", .. } => "senders",
            Varied::Key { unit, .. } => unit,
            Varied::Deadlines => "x",
        }
    }

    /// The value at a position, in [`Subject::unit`]. Position 0, where nothing is carried, has the value 0, and no
    /// value where deadlines would have to be infinite.
    pub fn value(&self, position: u32) -> Option<f64> {
        let micros = self.micros(position)?;
        Some(micros as f64 / MICRO as f64)
    }

    /// The value with its unit: `26 senders`, `1300 /s`, `15 %`, `x 0.85`.
    pub fn text(&self, position: u32) -> String {
        match self.micros(position) {
            None => "none".to_owned(),
            Some(micros) if self.varied == Varied::Deadlines => format!("x {}", decimal(micros)),
            Some(micros) => format!("{} {}", decimal(micros), self.unit()),
        }
    }

    fn micros(&self, position: u32) -> Option<u64> {
        match self.varied {
            Varied::Key { .. } => Some(u64::from(position).saturating_mul(self.step)),
            Varied::Deadlines if position == 0 => None,
            Varied::Deadlines => Some(u64::from(self.last + 1 - position) * self.step),
        }
    }

    /// The scenario at a position, from 1.
    pub fn scenario(&self, position: u32) -> Result<Scenario, StudyError> {
        let micros = self.micros(position).unwrap_or_default();
        let Varied::Key { key, unit } = self.varied else {
            let mut scenario = self.base.clone();
            for &index in &self.workloads {
                scale_deadlines(&mut scenario.workloads[index], micros);
            }
            return Ok(scenario);
        };
        let mut request = self.request.clone();
        let value = match unit {
            "/s" => format!("\"{} /s\"", decimal(micros)),
            "%" => format!("\"{}%\"", decimal(micros)),
            _ => decimal(micros),
        };
        let settings = self
            .workloads
            .iter()
            .map(|index| (format!("workload[{index}].{key}"), value.clone()));
        request.settings.extend(settings);
        Ok(Plan::new(request)?.base)
    }
}

/// The largest allowed position from `good`, which is allowed, to before `bad`, which is not.
fn between(mut good: u32, mut bad: u32, allowed: impl Fn(u32) -> bool) -> u32 {
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if allowed(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// The workloads of these names; without names, all that have deadlines.
fn choose(scenario: &Scenario, names: &[String]) -> Result<Vec<usize>, String> {
    let all = &scenario.workloads;
    if names.is_empty() {
        return Ok((0..all.len())
            .filter(|&index| has_deadline(&all[index]))
            .collect());
    }
    names
        .iter()
        .map(|name| {
            all.iter().position(|of| of.name == *name).ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
                format!("no workload is called `{name}`: {}", known.join(", "))
            })
        })
        .collect()
}

type Choice = (Vec<usize>, &'static str, &'static str, u64);

/// The key that is varied in these workloads, its unit, and its value now in millionths.
fn varied(scenario: &Scenario, chosen: &[usize], quantity: Quantity) -> Result<Choice, String> {
    let keys: Vec<_> = chosen
        .iter()
        .map(|&index| key(&scenario.workloads[index], quantity).map(|key| (index, key)))
        .collect();
    let good: Vec<_> = keys.iter().flatten().collect();
    let Some(&&(_, first)) = good.first() else {
        return Err(keys.into_iter().find_map(Result::err).unwrap_or_default());
    };
    if good.iter().any(|(_, key)| *key != first) {
        let names: Vec<&str> = good
            .iter()
            .map(|(index, _)| scenario.workloads[*index].name.as_str())
            .collect();
        return Err(format!(
            "{} have deadlines and differ: name those that shall change with --workload",
            names.join(" and ")
        ));
    }
    let (key, unit, now) = first;
    Ok((
        good.iter().map(|(index, _)| *index).collect(),
        key,
        unit,
        now,
    ))
}

/// The key that says how many senders, or at which rate; its unit; its value now in millionths.
fn key(
    workload: &Workload,
    quantity: Quantity,
) -> Result<(&'static str, &'static str, u64), String> {
    let micros = |value: f64| (value * MICRO as f64).round() as u64;
    let name = &workload.name;
    match (quantity, &workload.kind) {
        (Quantity::Senders, WorkloadKind::Burst { senders, .. }) => {
            Ok(("senders", "", u64::from(*senders) * MICRO))
        }
        (Quantity::Senders, WorkloadKind::Oldi(oldi)) => match oldi.fan_in[..] {
            [fan_in] => Ok(("fan_in", "", u64::from(fan_in) * MICRO)),
            _ => Err(format!(
                "{name}: a tree of several layers has several fan-ins"
            )),
        },
        (Quantity::Senders, _) => Err(format!(
            "{name}: only workloads of kind burst (`senders`) and oldi (`fan_in`) have senders to vary"
        )),
        (Quantity::Rate, WorkloadKind::Poisson { intensity, .. }) => Ok(match intensity {
            Intensity::FlowsPerSecond(rate) => ("rate", "/s", micros(*rate)),
            Intensity::Load(load) => ("load", "%", micros(load * 100.0)),
        }),
        (Quantity::Rate, WorkloadKind::Oldi(oldi)) => match oldi.arrival {
            QueryArrival::Load { load, .. } => Ok(("load", "%", micros(load * 100.0))),
            _ => Err(format!("{name}: its queries have no `load` to vary")),
        },
        (Quantity::Rate | Quantity::Deadline, _) => Err(format!(
            "{name}: only workloads of kind poisson (`rate` or `load`) and oldi (`load`) have a rate to vary"
        )),
    }
}

fn has_deadline(workload: &Workload) -> bool {
    let is = |deadline: &Deadline| *deadline != Deadline::None;
    match &workload.kind {
        WorkloadKind::Oldi(oldi) => oldi.deadline.iter().any(is) || is(&oldi.query_deadline),
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => is(deadline),
        WorkloadKind::Long { .. } => false,
        WorkloadKind::Trace { flows } => flows.iter().any(|flow| flow.deadline.is_some()),
    }
}

/// Multiplies every deadline of the workload by so many millionths.
fn scale_deadlines(workload: &mut Workload, micros: u64) {
    let span = |span: &mut Span| *span = scaled(*span, micros);
    let scale = |deadline: &mut Deadline| match deadline {
        Deadline::None => {}
        // The variation is a share of the base already.
        Deadline::Added { base, .. } | Deadline::Around { base, .. } => span(base),
        Deadline::Exponential { mean, floor } => [mean, floor].into_iter().for_each(span),
        Deadline::AddedExponential { base, mean } => [base, mean].into_iter().for_each(span),
    };
    match &mut workload.kind {
        WorkloadKind::Oldi(oldi) => {
            oldi.deadline.iter_mut().for_each(scale);
            scale(&mut oldi.query_deadline);
        }
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => scale(deadline),
        WorkloadKind::Long { .. } => {}
        WorkloadKind::Trace { flows } => {
            let deadlines = flows.iter_mut().filter_map(|flow| flow.deadline.as_mut());
            deadlines.for_each(span);
        }
    }
}

fn scaled(span: Span, micros: u64) -> Span {
    let ps = u128::from(span.as_ps()) * u128::from(micros) / u128::from(MICRO);
    Span::from_ps(ps.clamp(1, u128::from(u64::MAX)) as u64)
}

/// A step as typed, in millionths of `unit`.
fn step_of(text: &str, unit: &str) -> Result<u64, String> {
    let (number, share) = match text.trim().strip_suffix('%') {
        // A percentage of deadlines is a share of them.
        Some(number) if unit.is_empty() => (number, 100.0),
        Some(number) => (number, 1.0),
        None => (text.trim().strip_suffix(unit).unwrap_or(text.trim()), 1.0),
    };
    let example = match unit {
        "/s" => "50 /s",
        "%" => "1%",
        _ => "1, or 0.01 for deadlines",
    };
    let wrong = || format!("--step {text}: a number above 0, such as {example}");
    if unit == "/s" && text.contains('%') {
        return Err(wrong());
    }
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let micros = (number / share * MICRO as f64).round();
    if (1.0..=1e15).contains(&micros) {
        Ok(micros as u64)
    } else {
        Err(wrong())
    }
}

/// The largest of 1, 2 or 5 times a power of ten that `micros` reaches; at least one millionth.
fn round_number(micros: u64) -> u64 {
    let power = 10_u64.pow(micros.max(1).ilog10());
    [5, 2]
        .into_iter()
        .map(|n| n * power)
        .find(|&n| n <= micros)
        .unwrap_or(power)
}

/// Millionths, as the shortest decimal.
fn decimal(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / MICRO, micros % MICRO);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
