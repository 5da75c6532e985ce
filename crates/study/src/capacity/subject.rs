//! Subject of a capacity search: the varied quantity of a scenario (senders, rate, deadlines or budget), and the unit
//! that must be in time.

mod rate;
mod step;
mod varied;

use duetime_core::Span;
use duetime_scenario::Scenario;
use duetime_scenario::model::Workload;

use super::{On, Search, Target, rising};
use crate::error::StudyError;
use crate::plan::{Plan, Request};
use crate::text;
use rate::{between_loads, loads_of_a_query, set_query_rate};
use step::{MICRO, decimal, round_number, step_of};
use varied::{
    agreed, budget, choose, fixed_deadlines, has_deadline, has_objective, key, scale_deadlines,
};

/// Quantity to vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Largest number of senders: the senders of a burst, or the fan-in of a tree.
    Senders,
    /// Largest fan-in of a layer of trees; 1 is the root's layer, and `None` the only layer.
    FanIn(Option<u32>),
    /// Highest rate in flows or queries per second, or the highest load if the scenario sets a load.
    Rate,
    /// Highest load.
    Load,
    /// Tightest deadlines, as a share of the scenario's deadlines. Budgets of queries shrink with them.
    Deadline,
    /// Tightest budget of queries, as a time. Deadlines shrink in proportion.
    Budget,
}

impl Quantity {
    /// Returns the default share of deadlines to meet: 95 % for [`Quantity::Deadline`], otherwise 99 %.
    pub const fn target(self) -> Target {
        match self {
            Self::Deadline => Target::N95,
            _ => Target::N99,
        }
    }
}

/// Maximum number of steps. The scenario usually allows fewer.
const MAX_STEPS: u64 = 1_000_000;
/// Maximum factor on deadlines.
const MAX_SCALE: u64 = 16;

/// Scenario as a function of the position of a [`Search`]; position 1 is the easiest.
#[derive(Clone, Debug)]
pub struct Subject {
    request: Request,
    base: Scenario,
    /// Indices of the varied workloads.
    workloads: Vec<usize>,
    varied: Varied,
    /// Step between positions, in millionths of the unit.
    step: u64,
    last: u32,
    start: u32,
    on: On,
}

#[derive(Clone, Debug, PartialEq)]
enum Varied {
    /// Key of the workload.
    Key {
        path: String,
        unit: &'static str,
        /// Counted items, if the values have no unit.
        counts: &'static str,
    },
    /// Queries per second of all trees together, set through the gaps between queries.
    QueryRate {
        /// Smallest and largest load of the workloads at one query per second, if known.
        loads: Option<(f64, f64)>,
    },
    /// Factor on all deadlines.
    Deadlines,
    /// Budget of queries, with its value in the scenario.
    Budget(Span),
}

impl Subject {
    /// Creates a subject that varies `quantity`. `workloads` names the workloads to vary; if empty, all workloads with
    /// deadlines are varied, and they must agree. `step` is the resolution, such as `2`, `50 /s` or `1%`, `0.01` for
    /// deadlines, or `0.1 ms` for a budget.
    ///
    /// # Errors
    /// If the scenario is invalid or has no deadlines, if the workloads lack the quantity or disagree on it, or if the
    /// step is invalid.
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
            let why = "no flow has a deadline: set `deadline` in a [[workload]]";
            return Err(wrong(why.to_owned()));
        }
        let chosen = choose(&base, workloads).map_err(wrong)?;
        let on = if chosen.iter().any(|&i| has_objective(&base.workloads[i])) {
            On::Queries
        } else {
            On::Answers
        };
        let mut subject = Self {
            request,
            base,
            workloads: chosen,
            varied: Varied::Deadlines,
            step: MICRO / 20,
            last: 1,
            start: 1,
            on,
        };
        match quantity {
            Quantity::Deadline => subject.vary_deadlines(step),
            Quantity::Budget => subject.vary_budget(step),
            _ => subject.vary_key(quantity, step),
        }
        .map_err(wrong)?;
        if let Varied::Key { .. } | Varied::QueryRate { .. } = subject.varied {
            subject.last = subject.last_allowed()?;
            subject.start = subject.start.min(subject.last);
        }
        Ok(subject)
    }

    /// Sets the unit that must be in time.
    ///
    /// # Errors
    /// If the scenario has no queries that can be late and `on` is [`On::Queries`].
    pub fn on(mut self, on: On) -> Result<Self, StudyError> {
        if on == On::Queries && !self.base.workloads.iter().any(Workload::can_be_late) {
            return Err(StudyError::Choice(format!(
                "{}: no workload has queries that can be late; use --on answers to count flows",
                self.request.file.display()
            )));
        }
        self.on = on;
        Ok(self)
    }

    /// Returns the unit that must be in time. By default, it is queries if a varied workload has an objective,
    /// otherwise answers.
    pub fn judges(&self) -> On {
        self.on
    }

    /// Returns the name of the measured items.
    pub fn what(&self) -> &'static str {
        let is_tree = |index: &usize| self.base.objective(*index).is_some();
        let late = |index: &usize| has_deadline(&self.base.workloads[*index]);
        let mut able = (0..self.base.workloads.len()).filter(late);
        let trees = able.clone().filter(is_tree).count();
        match self.on {
            On::Queries => "queries",
            On::Answers if trees == 0 => "flows with deadlines",
            On::Answers if able.all(|index| is_tree(&index)) => "answers",
            On::Answers => "answers and other flows with deadlines",
        }
    }

    /// Returns the default share that must be in time: for queries, the largest share of the objectives, or 99 %; for
    /// answers, [`Quantity::target`].
    pub fn target(&self, quantity: Quantity) -> Target {
        if self.on == On::Answers {
            return quantity.target();
        }
        let chosen = self.workloads.iter();
        let shares = chosen.filter_map(|&index| self.base.objective(index)?.share);
        shares
            .reduce(f64::max)
            .and_then(Target::new)
            .unwrap_or(Target::N99)
    }

    fn vary_deadlines(&mut self, step: Option<&str>) -> Result<(), String> {
        let without = |&&index: &&usize| !has_deadline(&self.base.workloads[index]);
        if let Some(&without) = self.workloads.iter().find(without) {
            let name = &self.base.workloads[without].name;
            return Err(format!("{name}: its flows have no deadline to vary"));
        }
        if let Some(step) = step {
            self.step = step_of(step, "")?;
        }
        if self.step > MICRO {
            let step = decimal(self.step);
            return Err(format!(
                "a step of {step} is too large: at most 1, such as 0.01"
            ));
        }
        self.count_down(MICRO);
        Ok(())
    }

    fn vary_budget(&mut self, step: Option<&str>) -> Result<(), String> {
        let (workloads, budget) = agreed(&self.base, &self.workloads, budget)?;
        // A millionth of a millisecond is a nanosecond.
        let now = (budget.as_ps() + 500) / 1_000;
        self.step = match step {
            Some(step) => step_of(step, "ms")?,
            None => round_number(now / 20),
        };
        if self.step > now {
            let (step, now) = (decimal(self.step), decimal(now));
            return Err(format!(
                "a step of {step} ms is larger than the budget, {now} ms"
            ));
        }
        self.workloads = workloads;
        self.varied = Varied::Budget(budget);
        self.count_down(now);
        Ok(())
    }

    /// Sets the positions to the values from [`MAX_SCALE`] times `now` down to one step.
    fn count_down(&mut self, now: u64) {
        let last = (MAX_SCALE * now / self.step).min(MAX_STEPS);
        let start = ((now + self.step / 2) / self.step).clamp(1, last);
        self.last = u32::try_from(last).unwrap_or(u32::MAX);
        self.start = u32::try_from(last + 1 - start).unwrap_or(u32::MAX);
    }

    fn vary_key(&mut self, quantity: Quantity, step: Option<&str>) -> Result<(), String> {
        let (workloads, key) = agreed(&self.base, &self.workloads, |workload| {
            key(workload, quantity)
        })?;
        let counts = match quantity {
            Quantity::Senders => "senders",
            Quantity::FanIn(_) => "children",
            _ => "",
        };
        self.step = match step {
            Some(text) => step_of(text, key.unit)?,
            None if !counts.is_empty() => MICRO,
            None => round_number(key.now / 20),
        };
        if !counts.is_empty() && !self.step.is_multiple_of(MICRO) {
            let step = decimal(self.step);
            return Err(format!("a step of {step} {counts} is not a whole number"));
        }
        self.start = ((key.now + self.step / 2) / self.step).clamp(1, MAX_STEPS) as u32;
        self.workloads = workloads;
        self.varied = if key.by_gaps {
            let loads = loads_of_a_query(&self.base, &self.workloads);
            Varied::QueryRate { loads }
        } else {
            Varied::Key {
                path: key.path,
                unit: key.unit,
                counts,
            }
        };
        Ok(())
    }

    /// Returns the hardest position for which the scenario is valid. A burst, for example, cannot have more senders
    /// than hosts.
    fn last_allowed(&self) -> Result<u32, StudyError> {
        let allowed = |position: u32| self.scenario(position).is_ok();
        if !allowed(self.start) {
            self.scenario(1)?;
            return Ok(between(1, self.start, allowed));
        }
        let mut good = self.start;
        while u64::from(good) < MAX_STEPS {
            let next = (u64::from(good) * 2).min(MAX_STEPS) as u32;
            if !allowed(next) {
                return Ok(between(good, next, allowed));
            }
            good = next;
        }
        Ok(good)
    }

    /// Returns a search that starts at the scenario's value, with steps of a quarter of it.
    pub fn search(&self, target: Target) -> Search {
        let now = match self.varied {
            Varied::Key { .. } | Varied::QueryRate { .. } => self.start,
            Varied::Deadlines | Varied::Budget(_) => self.last + 1 - self.start,
        };
        Search {
            start: self.start,
            stride: (now / 4).max(1),
            ..Search::within(target, self.last)
        }
    }

    /// Returns the scenario of the file.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// Returns the request for the study.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the full keys of the varied settings.
    pub fn keys(&self) -> Vec<String> {
        let key = match &self.varied {
            Varied::Key { path, .. } => path,
            Varied::QueryRate { .. } => "rate",
            Varied::Deadlines => "deadline",
            Varied::Budget(_) => "objective.within",
        };
        let path = |&index: &usize| format!("workload.{}.{key}", self.base.workloads[index].name);
        self.workloads.iter().map(path).collect()
    }

    /// Returns the unit of [`Subject::value`]: `senders`, `children`, `/s`, `%`, `ms`, or `x` for a factor on
    /// deadlines.
    pub fn unit(&self) -> &'static str {
        match self.varied {
            Varied::Key { counts, .. } if !counts.is_empty() => counts,
            Varied::Key { unit, .. } => unit,
            Varied::QueryRate { .. } => "/s",
            Varied::Deadlines => "x",
            Varied::Budget(_) => "ms",
        }
    }

    /// Returns the value at a position, in [`Subject::unit`]. Position 0, at which nothing is carried, has the value 0,
    /// or `None` for deadlines and budgets, which would be infinite.
    pub fn value(&self, position: u32) -> Option<f64> {
        let micros = self.micros(position)?;
        Some(micros as f64 / MICRO as f64)
    }

    /// Formats the value with its unit: `26 senders`, `1300 /s`, `15 %`, `4.2 ms`, `x 0.85`. A factor on fixed
    /// deadlines is followed by the deadlines, as in `x 0.85 (17 ms)`, and a rate of queries by its load, as in `1300
    /// /s (load 15 %)`.
    pub fn text(&self, position: u32) -> String {
        self.text_with(position, None)
    }

    /// Formats the value with its unit and interval: `4.25 ms [3.25, 5.25]`, `1300 /s [1250, 1400] (load 15 %)`.
    pub fn text_with(&self, position: u32, interval: Option<(u32, u32)>) -> String {
        let value = match self.micros(position) {
            None => "none".to_owned(),
            Some(micros) if self.varied == Varied::Deadlines => format!("x {}", decimal(micros)),
            Some(micros) => format!("{} {}", decimal(micros), self.unit()),
        };
        let meaning = match (self.deadlines_ms(position), self.loads(position)) {
            (Some((low, high)), _) if low < high => Some(format!(
                "({} to {} ms)",
                text::significant(low),
                text::significant(high)
            )),
            (Some((low, _)), _) => Some(format!("({} ms)", text::significant(low))),
            (None, Some((low, high))) => Some(format!("(load {})", between_loads(low, high))),
            (None, None) => None,
        };
        let parts = [Some(value), self.interval(interval), meaning];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(" ")
    }

    /// Formats the interval between two positions in [`Subject::unit`], such as `[3.25, 5.25]`. Returns `None` without
    /// an interval, or if both positions are the same.
    pub fn interval(&self, between: Option<(u32, u32)>) -> Option<String> {
        let (low, high) = rising(self, between.filter(|(one, other)| one != other)?);
        let number = |position| self.micros(position).map_or("none".to_owned(), decimal);
        Some(format!("[{}, {}]", number(low), number(high)))
    }

    /// Returns the smallest and the largest load of the varied workloads at a position, as shares of each root's link.
    /// Returns `None` unless the rate of queries is varied by gaps.
    pub fn loads(&self, position: u32) -> Option<(f64, f64)> {
        let Varied::QueryRate {
            loads: Some((low, high)),
        } = self.varied
        else {
            return None;
        };
        let rate = self.value(position)?;
        Some((low * rate, high * rate))
    }

    /// Returns the shortest and the longest deadline at a position, in milliseconds. Returns `None` unless deadlines
    /// are varied and all of them are fixed.
    pub fn deadlines_ms(&self, position: u32) -> Option<(f64, f64)> {
        if self.varied != Varied::Deadlines {
            return None;
        }
        let factor = self.value(position)?;
        let fixed = |&index: &usize| fixed_deadlines(&self.base.workloads[index]);
        let all: Vec<(Span, Span)> = self.workloads.iter().map(fixed).collect::<Option<_>>()?;
        let ms = |span: Span| span.as_secs_f64() * 1e3 * factor;
        let low = all.iter().map(|&(low, _)| low).min()?;
        let high = all.iter().map(|&(_, high)| high).max()?;
        Some((ms(low), ms(high)))
    }

    fn micros(&self, position: u32) -> Option<u64> {
        match self.varied {
            Varied::Key { .. } | Varied::QueryRate { .. } => {
                Some(u64::from(position).saturating_mul(self.step))
            }
            _ if position == 0 => None,
            _ => Some(u64::from(self.last + 1 - position) * self.step),
        }
    }

    /// Returns the scenario at a position, from 1.
    pub fn scenario(&self, position: u32) -> Result<Scenario, StudyError> {
        let micros = self.micros(position).unwrap_or_default();
        let (path, unit) = match &self.varied {
            Varied::Key { path, unit, .. } => (path, *unit),
            Varied::QueryRate { .. } => return self.at_query_rate(micros),
            Varied::Deadlines => return Ok(self.scaled(micros, MICRO)),
            Varied::Budget(budget) => return Ok(self.scaled(micros * 1_000, budget.as_ps())),
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
            .map(|index| (format!("workload[{index}].{path}"), value.clone()));
        request.settings.extend(settings);
        Ok(Plan::new(request)?.base)
    }

    /// Returns the scenario with a rate of `micros` millionths of a query per second.
    fn at_query_rate(&self, micros: u64) -> Result<Scenario, StudyError> {
        let mut scenario = self.base.clone();
        for &index in &self.workloads {
            set_query_rate(&mut scenario.workloads[index], micros).map_err(|why| {
                StudyError::Choice(format!("{}: {why}", self.request.file.display()))
            })?;
        }
        Ok(scenario)
    }

    /// Returns the scenario with all deadlines multiplied by `numerator / denominator`.
    fn scaled(&self, numerator: u64, denominator: u64) -> Scenario {
        let mut scenario = self.base.clone();
        for &index in &self.workloads {
            scale_deadlines(&mut scenario.workloads[index], numerator, denominator);
        }
        scenario
    }
}

/// Returns the largest allowed position between `good`, which is allowed, and `bad`, which is not.
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

#[cfg(test)]
mod tests;
