//! The runs of one scenario under several transports, as far as they are made.

use crate::answer::{self, Row};
use crate::error::Error;
use crate::figure;
use crate::scenario;
use crate::transports;
use duetime_results::{Class, RunRecords, RunSummary, Summary, digest};
use duetime_scenario::Scenario;
use duetime_sim::Options;
use duetime_sim::bound::{Late, RunBest};
use duetime_sim::topology::Network;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Completion times of a transport that are drawn, at most.
const MOST_DRAWN: usize = 200_000;

/// The runs of one scenario under several transports.
pub struct Study {
    scenario: Scenario,
    network: Network,
    cells: Vec<Cell>,
    best: BTreeMap<u64, RunBest>,
}

/// One transport.
#[derive(Default)]
struct Cell {
    name: String,
    /// Its number in the scenario.
    transport: usize,
    runs: BTreeMap<u64, (RunSummary, Completions)>,
}

/// How long what a study asks about took, in seconds.
#[derive(Default)]
pub struct Completions {
    /// Of those that ended.
    pub ended: Vec<f64>,
    /// All of them.
    pub all: u64,
}

impl Study {
    /// A study of the scenario under those of its transports that are named, and what it contains.
    ///
    /// # Errors
    /// If the text is no scenario, is too large for a page, or has no transport of such a name.
    pub fn begin(text: &str, transports: &[String]) -> Result<(Self, Value), Error> {
        let (scenario, facts) = scenario::check(text)?;
        let names = scenario.transport_names();
        if let Some(unknown) = transports.iter().find(|of| !names.contains(&of.as_str())) {
            let message = format!("`{unknown}`: the scenario has no such transport");
            return Err(Error::plain(message).allowed(names.join(", ")));
        }
        let wanted = |name: &str| transports.is_empty() || transports.iter().any(|of| of == name);
        let cells = names.iter().enumerate().filter(|(_, name)| wanted(name));
        let cells = cells.map(|(transport, name)| Cell {
            name: (*name).to_owned(),
            transport,
            ..Cell::default()
        });
        let cells: Vec<Cell> = cells.collect();
        let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let told = json!({ "facts": facts, "transports": names, "runs": scenario.seeds });
        let network = Network::build(&scenario.topology)?;
        let study = Self {
            network,
            cells,
            best: BTreeMap::new(),
            scenario,
        };
        Ok((study, told))
    }

    /// Makes run number `run` of the study's transport number `transport`, once.
    pub fn run(&mut self, transport: usize, run: u64) -> Result<Value, Error> {
        let seeds = u64::from(self.scenario.seeds);
        let Some(cell) = self.cells.get_mut(transport).filter(|_| run < seeds) else {
            return Err(Error::plain("the study has no such run"));
        };
        let output = duetime_sim::run(&self.scenario, cell.transport, run, &Options::default())?;
        let summary = RunSummary::of(run, &output.records);
        let completions = Completions::of(&output.records);
        cell.runs.insert(run, (summary, completions));
        Ok(json!({
            "transport": cell.name,
            "run": run,
            "packet_hops": output.records.totals.packet_hops,
            "digest": digest(&output.records).to_string(),
        }))
    }

    /// Finds the best possible in run number `run`.
    pub fn best(&mut self, run: u64) -> Result<Value, Error> {
        if run >= u64::from(self.scenario.seeds) {
            return Err(Error::plain("the study has no such run"));
        }
        let best = RunBest::of(&self.scenario, run, &self.network)?;
        let known = best.unknown.is_empty();
        self.best.insert(run, best);
        Ok(json!({ "run": run, "known": known }))
    }

    /// Returns the results so far: of the transports that have run, over the seeds that all of them have finished. A share
    /// over other seeds is not comparable.
    pub fn results(&self) -> Value {
        let target = answer::target(&self.scenario);
        let cells: Vec<&Cell> = self.cells.iter().filter(|of| !of.runs.is_empty()).collect();
        let seeds = |cell: &Cell| cell.runs.keys().copied().collect::<BTreeSet<u64>>();
        let complete = cells.iter().map(|cell| seeds(cell));
        let complete = complete.reduce(|a, b| &a & &b).unwrap_or_default();
        let (mut rows, mut curves) = (Vec::new(), Vec::new());
        for cell in cells {
            let made = complete.iter().map(|run| &cell.runs[run]);
            let runs: Vec<RunSummary> = made.clone().map(|(summary, _)| summary.clone()).collect();
            rows.push(Row::of(&Summary::of(&cell.name, &runs), &runs, target));
            let mut completions = Completions::default();
            made.for_each(|(_, of)| completions.add(of));
            curves.push((cell.name.as_str(), completions));
        }
        curves.retain(|(_, completions)| completions.all > 0);
        let subject = answer::subject(&rows);
        let best = self.best_share(subject, &complete);
        let done = self.cells.iter().map(|cell| cell.runs.len()).sum::<usize>();
        json!({
            "answer": answer::sentence(&rows, best),
            "subject": subject,
            "best": best,
            "target": target,
            "rows": rows,
            "done": done,
            "of": self.cells.len() * self.scenario.seeds as usize,
            "figure": figure::tails(
                &curves,
                answer::budget_s(&self.scenario),
                transports::palette(&self.scenario),
            ),
        })
    }

    /// Returns the largest share in time that any transport can reach over these runs, or `None` if none of them is known.
    fn best_share(&self, subject: &str, runs: &BTreeSet<u64>) -> Option<f64> {
        let known = runs.iter().filter_map(|run| self.best.get(run));
        let late = known.map(|run| match subject {
            answer::QUERIES => run.all_queries(),
            _ => run.all,
        });
        let late: Vec<Late> = late.collect::<Option<_>>()?;
        let asked: u64 = late.iter().map(|of| of.asked).sum();
        let sum: u64 = late.iter().map(|of| of.late).sum();
        (asked > 0).then(|| 1.0 - sum as f64 / asked as f64)
    }
}

impl Completions {
    /// Takes the times of a run's queries; of a run without queries, of its flows with deadlines, or of all flows that have
    /// an end.
    fn of(records: &RunRecords) -> Self {
        let queries = records.queries.iter().filter(|query| query.measured);
        let queries = queries.map(|of| Some(of.enough?.since(of.start).as_secs_f64()));
        let flows = |deadlines: bool| {
            let flows = records.flows.iter().filter(move |of| {
                of.measured && of.class != Class::Long && (of.deadline.is_some() || !deadlines)
            });
            flows.map(|of| Some(of.completion()?.as_secs_f64()))
        };
        let mut times: Vec<Option<f64>> = queries.collect();
        if times.is_empty() {
            times = flows(true).collect();
        }
        if times.is_empty() {
            times = flows(false).collect();
        }
        Self {
            all: times.len() as u64,
            ended: times.into_iter().flatten().collect(),
        }
    }

    /// Adds the times of another run, unless they would be too many to draw. A part of a run would be a wrong share.
    fn add(&mut self, run: &Self) {
        if self.ended.len() + run.ended.len() <= MOST_DRAWN {
            self.all += run.all;
            self.ended.extend(&run.ended);
        }
    }
}
