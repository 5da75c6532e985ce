//! Runs a scenario at the values that a search asks for, on several cores, and keeps what every run saw.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use duetime_results::{Class, RunSummary};
use duetime_scenario::model::WorkloadKind;
use duetime_scenario::{Scenario, resolved_json};
use duetime_sim::{Options, Progress};
use duetime_store::{Damage, Journal, StoreError, checksum};
use serde::{Deserialize, Serialize};

use super::search::search_telling;
use super::subject::answers_have_deadlines;
use super::{Capacity, Deadlines, On, Search, SearchError, Subject};
use crate::demand::before_runs;
use crate::error::StudyError;
use crate::execute::{Engine, TICK, panic_text};
use crate::warnings::{self, Warning};

/// Something happened. Serialised, each is one JSON line with the tag `event`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Moment {
    /// Something to know of a value before its runs; told once for all transports.
    Warning(Warning),
    /// A value is tried.
    ValueStarted {
        /// The transport.
        transport: String,
        /// The value with its unit.
        value: String,
        /// Runs in all.
        runs: u32,
        /// Runs that the journal holds already.
        kept: u32,
    },
    /// One more of its runs is done.
    RunFinished {
        /// The transport.
        transport: String,
        /// The value with its unit.
        value: String,
        /// Runs done, those that were there included.
        done: u32,
        /// Runs in all.
        runs: u32,
    },
    /// All of its runs are done.
    ValueFinished {
        /// The transport.
        transport: String,
        /// The value with its unit.
        value: String,
        /// Measured queries, or answers, that were in time.
        met: u64,
        /// Measured queries, or answers, that could be late.
        measured: u64,
        /// Whether that reaches the target.
        reached: bool,
        /// Values that bisection still tries at most for this transport; none until one fell short. Those that are
        /// tried out of doubt come on top.
        values_left: Option<u32>,
        /// What their runs take at the pace of the dearest value so far, s; none where all of this one's were kept.
        eta_s: Option<f64>,
    },
}

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
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Checksum of the resolved scenario with this one transport, and of the version.
    scenario: String,
    transport: String,
    value: String,
    run: u32,
    /// Answers and other flows with deadlines.
    met: u64,
    /// Older journals say `counted`.
    #[serde(alias = "counted")]
    measured: u64,
    /// Queries; journals of old do not have them.
    queries_met: Option<u64>,
    #[serde(alias = "queries_counted")]
    queries_measured: Option<u64>,
}

/// What a run saw.
#[derive(Clone, Copy, Debug)]
struct Seen {
    answers: Deadlines,
    queries: Option<Deadlines>,
}

impl Seen {
    fn of(entry: &Entry) -> Self {
        let queries = entry.queries_met.zip(entry.queries_measured);
        Self {
            answers: Deadlines {
                met: entry.met,
                measured: entry.measured,
            },
            queries: queries.map(|(met, measured)| Deadlines { met, measured }),
        }
    }

    fn on(self, on: On) -> Option<Deadlines> {
        match on {
            On::Answers => Some(self.answers),
            On::Queries => self.queries,
        }
    }
}

/// Makes the runs of searches; those that its journal holds are not made again, whatever search they were made for.
pub struct Prober<'a> {
    engine: &'a dyn Engine,
    jobs: usize,
    cancel: Arc<AtomicBool>,
    listener: &'a (dyn Fn(&Moment) + Sync),
    book: Mutex<Book>,
}

struct Book {
    journal: Journal,
    known: HashMap<(String, u32), Seen>,
    /// Texts of the warnings that were told.
    warned: HashSet<String>,
}

impl<'a> Prober<'a> {
    /// With `jobs` runs at a time and a journal at `path`; the lines of it that are damaged are given back, and what
    /// they held is run again. `cancel` is set to stop.
    pub fn new(
        engine: &'a dyn Engine,
        jobs: usize,
        cancel: Arc<AtomicBool>,
        path: &Path,
        listener: &'a (dyn Fn(&Moment) + Sync),
    ) -> Result<(Self, Vec<Damage>), StoreError> {
        let (journal, entries, damages) = Journal::open::<Entry>(path)?;
        let known = entries
            .into_iter()
            .map(|entry| {
                let seen = Seen::of(&entry);
                ((entry.scenario, entry.run), seen)
            })
            .collect();
        let prober = Self {
            engine,
            jobs,
            cancel,
            listener,
            book: Mutex::new(Book {
                journal,
                known,
                warned: HashSet::new(),
            }),
        };
        Ok((prober, damages))
    }

    /// Searches for what `transport`, an index into the transports of the subject's scenario, carries.
    pub fn find(
        &self,
        subject: &Subject,
        transport: usize,
        of: &Search,
    ) -> Result<Capacity, Stopped> {
        let name = &subject.base().transports[transport].name;
        // The dearest value so far: what is left lies close to the answer, and easy values are cheap.
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
            let pooled = runs
                .iter()
                .fold(Deadlines::default(), |sum, run| Deadlines {
                    met: sum.met + run.met,
                    measured: sum.measured + run.measured,
                });
            (self.listener)(&Moment::ValueFinished {
                transport: name.clone(),
                value,
                met: pooled.met,
                measured: pooled.measured,
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
        let at_once = self.jobs.clamp(1, scenario.seeds.max(1) as usize);
        let described = before_runs([(value.to_owned(), scenario)], at_once)?;
        for warning in warnings::of_points(&described) {
            let mut book = self.book.lock().expect("no panic holds it");
            if book.warned.insert(warning.text.clone()) {
                (self.listener)(&Moment::Warning(warning));
            }
        }
        Ok(())
    }

    /// What each run of the scenario's one transport sees, in the order of the seeds; and how many were made for it.
    fn probe(
        &self,
        scenario: &Scenario,
        value: &str,
        on: On,
    ) -> Result<(Vec<Deadlines>, u32), Stopped> {
        let transport = &scenario.transports[0].name;
        let id = identity(scenario);
        let runs = scenario.seeds;
        let missing: Vec<u32> = {
            let book = self.book.lock().expect("no panic holds it");
            (0..runs)
                .filter(|&run| {
                    let seen = book.known.get(&(id.clone(), run));
                    seen.and_then(|seen| seen.on(on)).is_none()
                })
                .collect()
        };
        let kept = runs - missing.len() as u32;
        (self.listener)(&Moment::ValueStarted {
            transport: transport.clone(),
            value: value.to_owned(),
            runs,
            kept,
        });
        let next = AtomicUsize::new(0);
        let done = Mutex::new(kept);
        let failure: Mutex<Option<StudyError>> = Mutex::new(None);
        // One for all: it is only used to stop them.
        let progress = Arc::new(Progress::default());
        let (alive, all_left) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, missing.len().max(1)) {
                let alive = alive.clone();
                let (next, done, failure, missing) = (&next, &done, &failure, &missing);
                let (progress, id) = (&progress, &id);
                scope.spawn(move || {
                    while !self.cancel.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&run) = missing.get(index) else {
                            break;
                        };
                        match self.one(scenario, value, id, run, progress) {
                            Ok(true) => {}
                            Ok(false) => break,
                            Err(error) => {
                                *failure.lock().expect("no panic holds it") = Some(error);
                                next.store(missing.len(), Ordering::Relaxed);
                                break;
                            }
                        }
                        let mut done = done.lock().expect("no panic holds it");
                        *done += 1;
                        (self.listener)(&Moment::RunFinished {
                            transport: transport.clone(),
                            value: value.to_owned(),
                            done: *done,
                            runs,
                        });
                    }
                    drop(alive);
                });
            }
            drop(alive);
            // The channel carries nothing: it closes when the last worker has left.
            while all_left.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if self.cancel.load(Ordering::Relaxed) {
                    progress.cancel.store(true, Ordering::Relaxed);
                }
            }
        });
        if let Some(error) = failure.into_inner().expect("no panic holds it") {
            return Err(Stopped::Failed(error));
        }
        let book = self.book.lock().expect("no panic holds it");
        let seen = (0..runs).map(|run| book.known.get(&(id.clone(), run))?.on(on));
        let seen = seen.collect::<Option<_>>().ok_or(Stopped::Cancelled)?;
        Ok((seen, runs - kept))
    }

    /// Makes one run and keeps what it saw; false if it was stopped.
    fn one(
        &self,
        scenario: &Scenario,
        value: &str,
        id: &str,
        run: u32,
        progress: &Arc<Progress>,
    ) -> Result<bool, StudyError> {
        let transport = &scenario.transports[0].name;
        let options = Options {
            threads: 1,
            progress: Some(Arc::clone(progress)),
            ..Options::default()
        };
        let make = || self.engine.run(scenario, 0, u64::from(run), &options);
        let output = catch_unwind(AssertUnwindSafe(make))
            .unwrap_or_else(|panic| Err(panic_text(&*panic)))
            .map_err(|why| {
                StudyError::Choice(format!("{transport} run {run} at {value}: {why}"))
            })?;
        if !output.complete {
            return Ok(false);
        }
        let summary = RunSummary::of(u64::from(run), &output.records);
        let answers = answers(scenario, &summary);
        let (queries_met, queries_measured) = summary.queries_in_time();
        let entry = Entry {
            scenario: id.to_owned(),
            transport: transport.clone(),
            value: value.to_owned(),
            run,
            met: answers.met,
            measured: answers.measured,
            queries_met: Some(queries_met),
            queries_measured: Some(queries_measured),
        };
        let seen = Seen::of(&entry);
        let mut book = self.book.lock().expect("no panic holds it");
        book.journal.keep(&entry)?;
        book.known.insert((entry.scenario, run), seen);
        Ok(true)
    }
}

/// Answers of trees over all that were asked for, whether they were sent or not, and other flows with deadlines.
fn answers(scenario: &Scenario, summary: &RunSummary) -> Deadlines {
    let tree = |workload: u16| match scenario.workloads.get(usize::from(workload)) {
        Some(of) => matches!(&of.kind, WorkloadKind::Oldi(oldi) if answers_have_deadlines(oldi)),
        None => false,
    };
    let groups = summary.groups.iter();
    let others = groups.filter(|group| !(tree(group.workload) && group.class == Class::Response));
    let others = others.map(|group| (group.met, group.deadline_flows));
    let queries = summary.queries.iter().filter(|of| tree(of.workload));
    let asked = queries.map(|of| (of.answers_in_time, of.asked));
    let (met, measured) = others
        .chain(asked)
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Deadlines { met, measured }
}

/// What a run depends on beside its number.
fn identity(scenario: &Scenario) -> String {
    let mut alone = scenario.clone();
    alone.seeds = 1;
    alone.name.clear();
    let text = format!("{} {}", duetime_store::VERSION, resolved_json(&alone));
    checksum(text.as_bytes())
}
