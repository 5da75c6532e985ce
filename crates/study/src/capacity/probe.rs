//! Runs of a scenario at the values of a search, on several cores, with their results kept in a journal.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use duetime_results::{Class, RunSummary};
use duetime_scenario::model::Workload;
use duetime_scenario::{Scenario, resolved_json};
use duetime_sim::Options;
use duetime_store::{Journal, StoreError, checksum};
use serde::{Deserialize, Serialize};

use super::search::search_with_progress;
use super::{Capacity, Deadlines, On, Search, SearchError, Subject};
use crate::demand::describe_checked;
use crate::effort::Effort;
use crate::error::StudyError;
use crate::eta::Eta;
use crate::event::{Event, Listener, RunName};
use crate::plan::Plan;
use crate::pool::{Conduct, End, Engine, Execution, Made, Work, conduct};
use crate::warnings::{self, Warning};

/// Reason why a search ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// The search was stopped. Finished runs are in the journal.
    #[error("stopped")]
    Cancelled,
    /// A run failed, or the scenario is invalid at some value.
    #[error(transparent)]
    Failed(#[from] StudyError),
}

/// Run as stored in the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// Checksum of the resolved scenario with this transport alone, and of the version.
    scenario: String,
    transport: String,
    value: String,
    run: u32,
    /// Answers and other flows with deadlines that were met.
    met: u64,
    measured: u64,
    /// Queries in time.
    queries_met: u64,
    queries_measured: u64,
}

impl Entry {
    fn on(&self, on: On) -> Deadlines {
        let (met, measured) = match on {
            On::Answers => (self.met, self.measured),
            On::Queries => (self.queries_met, self.queries_measured),
        };
        Deadlines { met, measured }
    }
}

/// Maker of the runs of searches. Runs in the journal are reused, also those of other searches.
pub struct Prober<'a> {
    engine: &'a dyn Engine,
    execution: &'a Execution,
    listener: &'a dyn Listener,
    journal: Journal,
    /// Reported warnings, each with its transport.
    reported: Mutex<Vec<(String, Warning)>>,
}

impl<'a> Prober<'a> {
    /// Creates a prober with a journal in the folder at `path`.
    pub fn new(
        engine: &'a dyn Engine,
        execution: &'a Execution,
        path: &Path,
        listener: &'a dyn Listener,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            engine,
            execution,
            listener,
            journal: Journal::open(path)?,
            reported: Mutex::default(),
        })
    }

    /// Searches for the capacity of a transport, an index into the transports of the subject's scenario.
    pub fn find(
        &self,
        subject: &Subject,
        transport: usize,
        search: &Search,
    ) -> Result<Capacity, Stopped> {
        let name = &subject.base().transports[transport].name;
        // Use the slowest value so far: the remaining values are close to the answer, and easy values are fast.
        let mut seconds_per_run = 0.0_f64;
        let found = search_with_progress(search, |position, values_left| {
            let mut scenario = subject.scenario(position)?;
            // The journal identifies a run by what it depends on, so drop the other transports.
            scenario.transports = vec![scenario.transports.swap_remove(transport)];
            // The search only needs what is in time.
            scenario.record.every = None;
            scenario.record.pcap.clear();
            let value = subject.text(position);
            self.before(&scenario, &value)?;
            let began = Instant::now();
            let (runs, made) = self.probe(&scenario, &value, subject.judges())?;
            let this_value = began.elapsed().as_secs_f64() / f64::from(made.max(1));
            seconds_per_run = seconds_per_run.max(this_value);
            let eta_s =
                |values: u32| seconds_per_run * f64::from(values) * f64::from(scenario.seeds);
            let pooled = Deadlines::pooled(&runs);
            self.listener.on(&Event::ValueFinished {
                transport: name.clone(),
                value,
                met: pooled.met,
                measured: pooled.measured,
                target: search.target.share(),
                reached: search.target.is_reached(pooled),
                values_left,
                eta_s: values_left.filter(|_| made > 0).map(eta_s),
            });
            Ok(runs)
        });
        found.map_err(|error| match error {
            SearchError::Probe(stopped) => stopped,
            SearchError::NoDeadlines(position) => {
                let value = subject.text(position);
                let unit = match subject.judges() {
                    On::Answers => "flow with a deadline",
                    On::Queries => "query that can be late",
                };
                Stopped::Failed(StudyError::Choice(format!(
                    "{name} at {value}: no {unit} was measured: check `warm_up`, `duration` and `deadline`"
                )))
            }
            SearchError::Runs { .. } => unreachable!("every value has as many runs as there are seeds"),
        })
    }

    /// Reports the start of a search with the estimated effort of one value.
    pub(super) fn announce(&self, subject: &Subject) {
        self.listener.on(&Event::SearchStarted {
            name: subject.base().name.clone(),
            effort: self.effort_per_value(subject),
        });
    }

    fn effort_per_value(&self, subject: &Subject) -> Option<Effort> {
        let plan = Plan::new(subject.request().clone()).ok()?;
        let points = plan.points.iter();
        let points = points.map(|point| (point.label(), &point.scenario));
        let described = describe_checked(points, self.execution.jobs).ok()?;
        Effort::of(&plan, &described, self.execution.jobs)
    }

    /// Checks that the runs of a value fit into memory, and reports its warnings.
    fn before(&self, scenario: &Scenario, value: &str) -> Result<(), StudyError> {
        let at_once = self.execution.jobs.clamp(1, scenario.seeds.max(1) as usize);
        let described = describe_checked([(value.to_owned(), scenario)], at_once)?;
        let transport = &scenario.transports[0].name;
        let mut reported = self.reported.lock().expect("no panic holds it");
        // Harder values of a transport repeat the warnings of the first value with other numbers, so report only the
        // first. Warnings that do not depend on the transport are the same for all of them.
        let is_reported = |new: &Warning| {
            let matches = |(name, known): &(String, Warning)| {
                known.text == new.text || (name == transport && known.about == new.about)
            };
            reported.iter().any(matches)
        };
        let mut new = warnings::of_points(&described);
        new.retain(|warning| !is_reported(warning));
        for warning in new {
            self.listener.on(&Event::Warning(warning.clone()));
            reported.push((transport.clone(), warning));
        }
        Ok(())
    }

    /// Returns the warnings reported so far.
    pub fn warnings(&self) -> Vec<Warning> {
        let reported = self.reported.lock().expect("no panic holds it");
        reported
            .iter()
            .map(|(_, warning)| warning.clone())
            .collect()
    }

    /// Returns the deadlines of each run of the scenario's only transport, in the order of the seeds, and the number of
    /// runs that were not in the journal.
    fn probe(
        &self,
        scenario: &Scenario,
        value: &str,
        on: On,
    ) -> Result<(Vec<Deadlines>, u32), Stopped> {
        let work = Runs {
            prober: self,
            scenario,
            value,
            id: identity(scenario),
        };
        let mut seen: Vec<Option<Deadlines>> = Vec::new();
        let mut damaged = Vec::new();
        for run in 0..scenario.seeds {
            let entry: Option<Entry> = match self.journal.read(&work.file(run)) {
                Ok(entry) => entry,
                Err(error @ StoreError::Damaged { .. }) => {
                    let name = work.name(run as usize, run);
                    let reason = error.to_string();
                    damaged.push(Event::Damaged { name, reason });
                    None
                }
                Err(error) => return Err(Stopped::Failed(error.into())),
            };
            seen.push(entry.map(|entry| entry.on(on)));
        }
        let missing: Vec<usize> = (0..seen.len()).filter(|&run| seen[run].is_none()).collect();
        let kept = seen.len() - missing.len();
        self.listener.on(&Event::ValueStarted {
            transport: scenario.transports[0].name.clone(),
            value: value.to_owned(),
            runs: seen.len(),
            kept,
        });
        for event in &damaged {
            self.listener.on(event);
        }
        let conducted = Conduct {
            execution: self.execution,
            listener: self.listener,
            runs: seen.len(),
            kept,
            stop_at_failure: true,
        };
        let mut eta = Eta::new(vec![0.0], vec![(0, 0); seen.len()]);
        let ends = conduct(&conducted, &work, &missing, &mut eta);
        for (&run, end) in missing.iter().zip(ends) {
            match end {
                End::Kept(entry) => seen[run] = Some(entry.on(on)),
                End::Failed(name, why) => {
                    return Err(Stopped::Failed(StudyError::Choice(format!(
                        "{name}: {why}"
                    ))));
                }
                End::Missing => {}
            }
        }
        let seen: Option<Vec<Deadlines>> = seen.into_iter().collect();
        Ok((seen.ok_or(Stopped::Cancelled)?, count(missing.len())))
    }
}

/// Runs of a scenario's only transport at one value. A task is a run.
struct Runs<'a> {
    prober: &'a Prober<'a>,
    scenario: &'a Scenario,
    value: &'a str,
    /// Identity of the scenario, without the number of runs.
    id: String,
}

/// Converts a number of runs, which is below 2³².
fn count(runs: usize) -> u32 {
    u32::try_from(runs).expect("runs are numbered by 32 bits")
}

impl Runs<'_> {
    fn file(&self, run: u32) -> String {
        format!("{}/{}/{run}.json", &self.id[..2], self.id)
    }
}

impl Work for Runs<'_> {
    type Made = Entry;
    type Kept = Entry;

    fn runs(&self, task: usize) -> Range<u32> {
        count(task)..count(task) + 1
    }

    fn name(&self, _task: usize, run: u32) -> RunName {
        RunName {
            point: self.value.to_owned(),
            transport: self.scenario.transports[0].name.clone(),
            run,
        }
    }

    fn scenario(&self, _task: usize) -> &Scenario {
        self.scenario
    }

    fn make(
        &self,
        _task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<Entry>>, String> {
        let (engine, number) = (self.prober.engine, u64::from(run));
        let Some(made) = Made::of(engine.run(self.scenario, 0, number, options)?) else {
            return Ok(None);
        };
        Ok(Some(made.map(|output| {
            let summary = RunSummary::of(number, &output.records);
            let answers = answers(self.scenario, &summary);
            let (queries_met, queries_measured) = summary.queries_in_time();
            Entry {
                scenario: self.id.clone(),
                transport: self.scenario.transports[0].name.clone(),
                value: self.value.to_owned(),
                run,
                met: answers.met,
                measured: answers.measured,
                queries_met,
                queries_measured,
            }
        })))
    }

    fn keep(&self, _task: usize, runs: Vec<Entry>, _wall_s: f64) -> Result<Entry, StudyError> {
        let entry = runs.into_iter().next().expect("a task is a run");
        self.prober.journal.write(&self.file(entry.run), &entry)?;
        Ok(entry)
    }

    fn place(&self, task: usize) -> String {
        let file = self.file(count(task));
        self.prober.journal.file(&file).display().to_string()
    }
}

/// Returns the answers of trees in time out of all requested answers, sent or not, plus other flows with deadlines.
fn answers(scenario: &Scenario, summary: &RunSummary) -> Deadlines {
    let tree = |workload: u16| {
        let workload = scenario.workloads.get(usize::from(workload));
        workload.is_some_and(Workload::answers_have_deadlines)
    };
    let deadlines = |met, measured| Deadlines { met, measured };
    let groups = summary.groups.iter();
    let others = groups.filter(|group| !(tree(group.workload) && group.class == Class::Response));
    let others = others.map(|group| deadlines(group.met, group.deadline_flows));
    let queries = summary
        .queries
        .iter()
        .filter(|queries| tree(queries.workload));
    let asked = queries.map(|queries| deadlines(queries.answers_in_time, queries.asked));
    Deadlines::pooled(others.chain(asked))
}

/// Returns a checksum of all that a run depends on, except its index.
fn identity(scenario: &Scenario) -> String {
    let mut alone = scenario.clone();
    alone.seeds = 1;
    alone.name.clear();
    let text = format!("{} {}", duetime_store::VERSION, resolved_json(&alone));
    checksum(text.as_bytes())
}
