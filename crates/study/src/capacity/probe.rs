//! Runs a scenario at the values that a search asks for, on several cores, and keeps what every run saw.

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

use super::search::search_telling;
use super::{Capacity, Deadlines, On, Search, SearchError, Subject};
use crate::demand::before_runs;
use crate::error::StudyError;
use crate::eta::Eta;
use crate::event::{Event, Listener, RunName};
use crate::pool::{Conduct, End, Engine, Execution, Made, Work, conduct};
use crate::warnings::{self, Warning};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// It was asked to stop; what is finished is in the journal.
    #[error("stopped")]
    Cancelled,
    /// A run failed, or the scenario is wrong at some value.
    #[error(transparent)]
    Failed(#[from] StudyError),
}

/// One run, as the journal keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// Checksum of the resolved scenario with this one transport, and of the version.
    scenario: String,
    transport: String,
    value: String,
    run: u32,
    /// Answers and other flows with deadlines.
    met: u64,
    measured: u64,
    /// Queries.
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

/// Makes the runs of searches; those that its journal holds are not made again, whatever search they were made for.
pub struct Prober<'a> {
    engine: &'a dyn Engine,
    execution: &'a Execution,
    listener: &'a dyn Listener,
    journal: Journal,
    /// The warnings that were told, each with its transport.
    warned: Mutex<Vec<(String, Warning)>>,
}

impl<'a> Prober<'a> {
    /// With a journal in the folder at `path`.
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
            warned: Mutex::default(),
        })
    }

    /// Searches for what `transport`, an index into the transports of the subject's scenario, carries.
    pub fn find(
        &self,
        subject: &Subject,
        transport: usize,
        of: &Search,
    ) -> Result<Capacity, Stopped> {
        let name = &subject.base().transports[transport].name;
        // The slowest value so far: what is left lies close to the answer, and easy values are fast.
        let mut seconds_per_run = 0.0_f64;
        let found = search_telling(of, |position, values_left| {
            let mut scenario = subject.scenario(position)?;
            // The journal shall know a run by what it depends on: not by what it was compared with.
            scenario.transports = vec![scenario.transports.swap_remove(transport)];
            // Only what is in time is looked at.
            scenario.record.every = None;
            scenario.record.pcap.clear();
            let value = subject.text(position);
            self.before(&scenario, &value)?;
            let began = Instant::now();
            let (runs, made) = self.probe(&scenario, &value, subject.judges())?;
            let own = began.elapsed().as_secs_f64() / f64::from(made.max(1));
            seconds_per_run = seconds_per_run.max(own);
            let eta_s =
                |values: u32| seconds_per_run * f64::from(values) * f64::from(scenario.seeds);
            let pooled = Deadlines::pooled(&runs);
            self.listener.on(&Event::ValueFinished {
                transport: name.clone(),
                value,
                met: pooled.met,
                measured: pooled.measured,
                target: of.target.share(),
                reached: of.target.is_reached(pooled),
                values_left,
                eta_s: values_left.filter(|_| made > 0).map(eta_s),
            });
            Ok(runs)
        });
        found.map_err(|error| match error {
            SearchError::Probe(stopped) => stopped,
            SearchError::NoDeadlines(position) => {
                let value = subject.text(position);
                let what = match subject.judges() {
                    On::Answers => "flow with a deadline",
                    On::Queries => "query that can be late",
                };
                Stopped::Failed(StudyError::Choice(format!(
                    "{name} at {value}: no {what} was measured: see `warm_up`, `duration` and `deadline`"
                )))
            }
            SearchError::Runs { .. } => unreachable!("every value has as many runs as there are seeds"),
        })
    }

    /// Checks that the runs of a value fit into memory, and tells what to know of it beforehand.
    fn before(&self, scenario: &Scenario, value: &str) -> Result<(), StudyError> {
        let at_once = self.execution.jobs.clamp(1, scenario.seeds.max(1) as usize);
        let described = before_runs([(value.to_owned(), scenario)], at_once)?;
        let transport = &scenario.transports[0].name;
        let mut warned = self.warned.lock().expect("no panic holds it");
        // Of a transport, harder values have the same warnings with other numbers: the first value's are enough. Of several
        // transports, those that do not depend on them are the same.
        let is_told = |new: &Warning| {
            let like = |(of, told): &(String, Warning)| {
                told.text == new.text || (of == transport && told.about == new.about)
            };
            warned.iter().any(like)
        };
        let mut new = warnings::of_points(&described);
        new.retain(|warning| !is_told(warning));
        for warning in new {
            self.listener.on(&Event::Warning(warning.clone()));
            warned.push((transport.clone(), warning));
        }
        Ok(())
    }

    /// The warnings that were told so far.
    pub fn warnings(&self) -> Vec<Warning> {
        let warned = self.warned.lock().expect("no panic holds it");
        warned.iter().map(|(_, warning)| warning.clone()).collect()
    }

    /// What each run of the scenario's one transport sees, in the order of the seeds; and how many were made for it.
    fn probe(
        &self,
        scenario: &Scenario,
        value: &str,
        on: On,
    ) -> Result<(Vec<Deadlines>, u32), Stopped> {
        let of = Runs {
            prober: self,
            scenario,
            value,
            id: identity(scenario),
        };
        let mut seen: Vec<Option<Deadlines>> = Vec::new();
        let mut damaged = Vec::new();
        for run in 0..scenario.seeds {
            let entry: Option<Entry> = match self.journal.read(&of.file(run)) {
                Ok(entry) => entry,
                Err(error @ StoreError::Damaged { .. }) => {
                    let name = of.name(run as usize, run);
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
        let ends = conduct(&conducted, &of, &missing, &mut eta);
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

/// The runs of a scenario's one transport at one value. A task is a run.
struct Runs<'a> {
    prober: &'a Prober<'a>,
    scenario: &'a Scenario,
    value: &'a str,
    /// What a run depends on beside its number.
    id: String,
}

/// A number of runs, of which a scenario has fewer than 2³².
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

/// Answers of trees over all that were asked for, whether they were sent or not, and other flows with deadlines.
fn answers(scenario: &Scenario, summary: &RunSummary) -> Deadlines {
    let tree = |workload: u16| {
        let workload = scenario.workloads.get(usize::from(workload));
        workload.is_some_and(Workload::answers_have_deadlines)
    };
    let deadlines = |met, measured| Deadlines { met, measured };
    let groups = summary.groups.iter();
    let others = groups.filter(|group| !(tree(group.workload) && group.class == Class::Response));
    let others = others.map(|group| deadlines(group.met, group.deadline_flows));
    let queries = summary.queries.iter().filter(|of| tree(of.workload));
    let asked = queries.map(|of| deadlines(of.answers_in_time, of.asked));
    Deadlines::pooled(others.chain(asked))
}

/// What a run depends on beside its number.
fn identity(scenario: &Scenario) -> String {
    let mut alone = scenario.clone();
    alone.seeds = 1;
    alone.name.clear();
    let text = format!("{} {}", duetime_store::VERSION, resolved_json(&alone));
    checksum(text.as_bytes())
}
