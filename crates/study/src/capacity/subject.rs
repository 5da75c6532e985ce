//! What a capacity search varies in a scenario: its senders, its rate, its deadlines or the budget of its queries; and
//! what must be in time.

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

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The most senders: those of a burst, or the fan-in of a tree.
    Senders,
    /// The largest fan-in of a layer of trees, the root's is 1; `None`: of the only one.
    FanIn(Option<u32>),
    /// The highest rate: flows or queries per second, or the load where the scenario gives that.
    Rate,
    /// The highest load.
    Load,
    /// The tightest deadlines, as a share of those in the scenario. Budgets of queries shrink with them.
    Deadline,
    /// The tightest budget of queries, as a time. Deadlines shrink in proportion.
    Budget,
}

impl Quantity {
    /// The share of deadlines that must be met unless another is asked for: 99 %; of tighter deadlines, 95 %.
    pub const fn target(self) -> Target {
        match self {
            Self::Deadline => Target::N95,
            _ => Target::N99,
        }
    }
}

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
    on: On,
}

#[derive(Clone, Debug, PartialEq)]
enum Varied {
    /// The value of a key of the workload, with the unit written behind it.
    Key {
        path: String,
        unit: &'static str,
        /// What the values count, where they have no unit.
        counts: &'static str,
    },
    /// Queries per second of all trees together, by the gaps between them.
    QueryRate {
        /// The least and the largest load that one query per second means to the workloads, where it is known.
        loads: Option<(f64, f64)>,
    },
    /// All deadlines, by a factor.
    Deadlines,
    /// The budget of queries, this one in the scenario.
    Budget(Span),
}

impl Subject {
    /// Finds what `quantity` is in the scenario. `workloads` names those that change; empty: all that have deadlines,
    /// if they agree. `step` is the resolution: `2`, `50 /s`, `1%`, of deadlines `0.01`, of a budget `0.1 ms`.
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

    /// The same with another kind of target.
    ///
    /// # Errors
    /// Nothing of that kind can be late in this scenario.
    pub fn on(mut self, on: On) -> Result<Self, StudyError> {
        if on == On::Queries && !self.base.workloads.iter().any(Workload::is_judged) {
            return Err(StudyError::Choice(format!(
                "{}: no workload has queries that can be late: --on answers counts flows",
                self.request.file.display()
            )));
        }
        self.on = on;
        Ok(self)
    }

    /// What must be in time: queries where a workload that changes has an objective of its own.
    pub fn judges(&self) -> On {
        self.on
    }

    /// What is measured, in words.
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

    /// The share that must be in time unless another is asked for: of queries, the largest that an objective names, or
    /// 99 %; of answers, [`Quantity::target`].
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
        let without = |&&i: &&usize| !has_deadline(&self.base.workloads[i]);
        if let Some(&without) = self.workloads.iter().find(without) {
            let name = &self.base.workloads[without].name;
            return Err(format!("{name}: its flows have no deadline to vary"));
        }
        if let Some(step) = step {
            self.step = step_of(step, "")?;
        }
        if self.step > MICRO {
            let step = decimal(self.step);
            return Err(format!("a step of {step}: at most 1, such as 0.01"));
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
            return Err(format!("a step of {step} ms: at most the budget, {now} ms"));
        }
        self.workloads = workloads;
        self.varied = Varied::Budget(budget);
        self.count_down(now);
        Ok(())
    }

    /// The values from [`LONGEST_SCALE`] times `now` down to one step.
    fn count_down(&mut self, now: u64) {
        let last = (LONGEST_SCALE * now / self.step).min(MOST_STEPS);
        let start = ((now + self.step / 2) / self.step).clamp(1, last);
        self.last = u32::try_from(last).unwrap_or(u32::MAX);
        self.start = u32::try_from(last + 1 - start).unwrap_or(u32::MAX);
    }

    fn vary_key(&mut self, quantity: Quantity, step: Option<&str>) -> Result<(), String> {
        let (workloads, key) = agreed(&self.base, &self.workloads, |of| key(of, quantity))?;
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
            return Err(format!("a step of {step} {counts}: a whole number"));
        }
        self.start = ((key.now + self.step / 2) / self.step).clamp(1, MOST_STEPS) as u32;
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

    /// The scenario as the file has it.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// What was asked about the file.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// What is varied, as key paths.
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

    /// The unit of [`Subject::value`]: `senders`, `children`, `/s`, `%`, `ms`, or `x` for a factor on deadlines.
    pub fn unit(&self) -> &'static str {
        match self.varied {
            Varied::Key { counts, .. } if !counts.is_empty() => counts,
            Varied::Key { unit, .. } => unit,
            Varied::QueryRate { .. } => "/s",
            Varied::Deadlines => "x",
            Varied::Budget(_) => "ms",
        }
    }

    /// The value at a position, in [`Subject::unit`]. Position 0, where nothing is carried, has the value 0, and no
    /// value where deadlines would have to be infinite.
    pub fn value(&self, position: u32) -> Option<f64> {
        let micros = self.micros(position)?;
        Some(micros as f64 / MICRO as f64)
    }

    /// The value with its unit: `26 senders`, `1300 /s`, `15 %`, `4.2 ms`, `x 0.85`; the last with the deadlines that it
    /// makes, where these are fixed: `x 0.85 (17 ms)`. A rate of queries with the load that it means: `1300 /s (load 15 %)`.
    pub fn text(&self, position: u32) -> String {
        self.text_with(position, None)
    }

    /// The value with its unit, and with its interval in brackets: `4.25 ms [3.25, 5.25]`, `1300 /s [1250, 1400] (load 15 %)`.
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

    /// An interval between two positions in brackets, in [`Subject::unit`]: `[3.25, 5.25]`. `None` where both are the same
    /// value, or there is none.
    pub fn interval(&self, between: Option<(u32, u32)>) -> Option<String> {
        let (low, high) = rising(self, between.filter(|(one, other)| one != other)?);
        let number = |position| self.micros(position).map_or("none".to_owned(), decimal);
        Some(format!("[{}, {}]", number(low), number(high)))
    }

    /// The least and the largest load that the rate at a position means to the workloads that change, as shares of each
    /// root's link; where the rate of queries is varied by gaps.
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

    /// The shortest and the longest deadline at a position, in milliseconds, where deadlines are varied and all of them
    /// are fixed.
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

    /// The scenario at a position, from 1.
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

    /// The scenario with `micros` millionths of a query per second.
    fn at_query_rate(&self, micros: u64) -> Result<Scenario, StudyError> {
        let mut scenario = self.base.clone();
        for &index in &self.workloads {
            set_query_rate(&mut scenario.workloads[index], micros).map_err(|why| {
                StudyError::Choice(format!("{}: {why}", self.request.file.display()))
            })?;
        }
        Ok(scenario)
    }

    /// The scenario with all deadlines multiplied by `number / of`.
    fn scaled(&self, number: u64, of: u64) -> Scenario {
        let mut scenario = self.base.clone();
        for &index in &self.workloads {
            scale_deadlines(&mut scenario.workloads[index], number, of);
        }
        scenario
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

#[cfg(test)]
mod tests;
