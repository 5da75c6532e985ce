//! Runs of a scenario with several transports, and their results so far.

use crate::answer::{self, Row};
use crate::error::Error;
use crate::figure;
use crate::scenario;
use crate::transports;
use duetime_analysis::bound::{Late, RunBound};
use duetime_results::{Class, RunRecords, RunSummary, Summary, digest};
use duetime_scenario::Scenario;
use duetime_sim::Options;
use duetime_sim::topology::Network;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of completion times to draw per transport.
const MAX_DRAWN: usize = 200_000;

/// Runs of a scenario with several transports.
pub struct Study {
    scenario: Scenario,
    network: Network,
    cells: Vec<Cell>,
    best: BTreeMap<u64, RunBound>,
}

/// Finished runs of a transport.
#[derive(Default)]
struct Cell {
    name: String,
    /// Index of the transport in the scenario.
    transport: usize,
    runs: BTreeMap<u64, (RunSummary, Completions)>,
}

/// Completion times in seconds.
#[derive(Default)]
pub struct Completions {
    /// Times of those that finished.
    pub ended: Vec<f64>,
    /// Number of all, finished or not.
    pub all: u64,
}

impl Study {
    /// Starts a study of the named transports, or of all if none are named. Returns the study and the facts about its
    /// scenario.
    ///
    /// # Errors
    /// If the scenario is invalid or too large for a page, or if a transport is unknown.
    pub fn begin(text: &str, transports: &[String]) -> Result<(Self, Value), Error> {
        let (scenario, facts) = scenario::check(text)?;
        let names = scenario.transport_names();
        if let Some(unknown) = transports
            .iter()
            .find(|name| !names.contains(&name.as_str()))
        {
            let message = format!("`{unknown}`: unknown transport of the scenario");
            return Err(Error::plain(message).allowed(names.join(", ")));
        }
        let is_selected = |name: &str| {
            transports.is_empty() || transports.iter().any(|transport| transport == name)
        };
        let cells = names
            .iter()
            .enumerate()
            .filter(|(_, name)| is_selected(name));
        let cells = cells.map(|(transport, name)| Cell {
            name: (*name).to_owned(),
            transport,
            ..Cell::default()
        });
        let cells: Vec<Cell> = cells.collect();
        let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let description = json!({ "facts": facts, "transports": names, "runs": scenario.seeds });
        let network = Network::build(&scenario.topology)?;
        let study = Self {
            network,
            cells,
            best: BTreeMap::new(),
            scenario,
        };
        Ok((study, description))
    }

    /// Simulates a run with one of the study's transports, by index.
    pub fn run(&mut self, transport: usize, run: u64) -> Result<Value, Error> {
        let seeds = u64::from(self.scenario.seeds);
        let Some(cell) = self.cells.get_mut(transport).filter(|_| run < seeds) else {
            return Err(Error::plain("unknown run of the study"));
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

    /// Computes the bound of a run.
    pub fn best(&mut self, run: u64) -> Result<Value, Error> {
        if run >= u64::from(self.scenario.seeds) {
            return Err(Error::plain("unknown run of the study"));
        }
        let best = RunBound::of(&self.scenario, run, &self.network)?;
        let known = best.unknown.is_empty();
        self.best.insert(run, best);
        Ok(json!({ "run": run, "known": known }))
    }

    /// Returns the results so far over the seeds that all started transports have finished, since shares over other
    /// seeds are not comparable.
    pub fn results(&self) -> Value {
        let target = answer::target(&self.scenario);
        let cells: Vec<&Cell> = self
            .cells
            .iter()
            .filter(|cell| !cell.runs.is_empty())
            .collect();
        let seeds = |cell: &Cell| cell.runs.keys().copied().collect::<BTreeSet<u64>>();
        let complete = cells.iter().map(|cell| seeds(cell));
        let complete = complete.reduce(|a, b| &a & &b).unwrap_or_default();
        let (mut rows, mut curves) = (Vec::new(), Vec::new());
        for cell in cells {
            let finished = complete.iter().map(|run| &cell.runs[run]);
            let runs: Vec<RunSummary> = finished
                .clone()
                .map(|(summary, _)| summary.clone())
                .collect();
            rows.push(Row::of(&Summary::of(&cell.name, &runs), &runs, target));
            let mut completions = Completions::default();
            finished.for_each(|(_, times)| completions.add(times));
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

    /// Returns the largest share in time that any transport can reach over these runs, or `None` if it is unknown.
    fn best_share(&self, subject: &str, runs: &BTreeSet<u64>) -> Option<f64> {
        let known = runs.iter().filter_map(|run| self.best.get(run));
        let late = known.map(|run| match subject {
            answer::QUERIES => run.all_queries(),
            _ => run.all,
        });
        let late: Vec<Late> = late.collect::<Option<_>>()?;
        let asked: u64 = late.iter().map(|late| late.asked).sum();
        let sum: u64 = late.iter().map(|late| late.late).sum();
        (asked > 0).then(|| 1.0 - sum as f64 / asked as f64)
    }
}

impl Completions {
    /// Collects the times of a run's queries. Without queries, uses its flows with deadlines, or else all flows except
    /// long ones.
    fn of(records: &RunRecords) -> Self {
        let queries = records.queries.iter().filter(|query| query.measured);
        let queries = queries.map(|query| Some(query.enough?.since(query.start).as_secs_f64()));
        let flows = |deadlines: bool| {
            let flows = records.flows.iter().filter(move |flow| {
                flow.measured
                    && flow.class != Class::Long
                    && (flow.deadline.is_some() || !deadlines)
            });
            flows.map(|flow| Some(flow.completion()?.as_secs_f64()))
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

    /// Adds the times of another run if the total is not too large to draw. Adding only a part of a run would bias the
    /// shares.
    fn add(&mut self, run: &Self) {
        if self.ended.len() + run.ended.len() <= MAX_DRAWN {
            self.all += run.all;
            self.ended.extend(&run.ended);
        }
    }
}
