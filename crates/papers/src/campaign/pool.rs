//! The workers that make a campaign's runs, and how far they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use duetime_results::RunRecords;
use duetime_sim::topology::Network;
use duetime_sim::{Options, Progress};
use duetime_store::PointFolder;

use super::super::expand::Point;
use super::super::ideal;
use super::super::sums::Sums;
use super::cost::Costs;
use super::{Batch, Campaign, Kept};
use duetime_study::{Engine, Execution, TICK, panic_text};
use duetime_study::{Event, Listener};

/// How a batch ended.
pub(super) enum End {
    Kept(Vec<Kept>),
    /// The run, and why.
    Failed(u32, String),
    Missing,
}

/// The workers, and what they share.
pub(super) struct Pool<'a> {
    pub campaign: &'a Campaign,
    pub folder: &'a PointFolder,
    pub execution: &'a Execution,
    pub engine: &'a dyn Engine,
    pub listener: &'a dyn Listener,
    pub kept: usize,
    pub missing: &'a [Batch],
    pub total: usize,
    pub packet_hops: AtomicU64,
    /// Set once a file cannot be written: further runs would be made for nothing.
    pub unwritable: AtomicBool,
    pub began: Instant,
}

impl Pool<'_> {
    /// Runs all missing batches; the ends are in their order.
    pub fn run(&self) -> Vec<End> {
        let next = AtomicUsize::new(0);
        let ends: Vec<Mutex<End>> = self
            .missing
            .iter()
            .map(|_| Mutex::new(End::Missing))
            .collect();
        let mut costs = Costs::default();
        for batch in self.missing {
            costs.expect(
                batch.point,
                &self.campaign.points[batch.point],
                batch.runs(),
            );
        }
        let costs = Mutex::new(costs);
        let working: Mutex<Vec<Arc<Progress>>> = Mutex::default();
        let (done, all_done) = mpsc::channel::<()>();
        let workers = self.execution.jobs.clamp(1, self.missing.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let done = done.clone();
                let (next, ends, costs, working) = (&next, &ends, &costs, &working);
                scope.spawn(move || {
                    while !self.is_stopped() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(batch) = self.missing.get(index) else {
                            break;
                        };
                        let progress = Arc::new(Progress::default());
                        working
                            .lock()
                            .expect("no panic holds it")
                            .push(Arc::clone(&progress));
                        let end = self.batch(batch, &progress, costs);
                        working
                            .lock()
                            .expect("no panic holds it")
                            .retain(|other| !Arc::ptr_eq(other, &progress));
                        *ends[index].lock().expect("no panic holds it") = end;
                    }
                    drop(done);
                });
            }
            drop(done);
            // The channel carries nothing: it closes when the last worker has left.
            while all_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if self.execution.cancel.load(Ordering::Relaxed) {
                    for progress in working.lock().expect("no panic holds it").iter() {
                        progress.cancel.store(true, Ordering::Relaxed);
                    }
                }
                self.tell(&costs.lock().expect("no panic holds it"), workers);
            }
        });
        ends.into_iter()
            .map(|end| end.into_inner().expect("no panic holds it"))
            .collect()
    }

    /// Some seeds of a point, from the first packet to the file.
    fn batch(&self, batch: &Batch, progress: &Arc<Progress>, costs: &Mutex<Costs>) -> End {
        let point = &self.campaign.points[batch.point];
        let failed = |run: u32, error: String| {
            self.listener.on(&Event::RunFailed {
                name: self.campaign.describe(point, run),
                job: batch.point,
                error: error.clone(),
            });
            End::Failed(run, error)
        };
        let mut all = Vec::with_capacity(batch.runs());
        for run in batch.from..batch.to {
            let began = Instant::now();
            // A bug in one run must not take the other runs with it.
            let made = catch_unwind(AssertUnwindSafe(|| self.one(point, run, progress)))
                .unwrap_or_else(|panic| Err(panic_text(&*panic)));
            if self.execution.cancel.load(Ordering::Relaxed) {
                return End::Missing;
            }
            match made {
                Ok(kept) => all.push(kept),
                Err(error) => return failed(run, error),
            }
            costs.lock().expect("no panic holds it").made(
                batch.point,
                point,
                began.elapsed().as_secs_f64(),
            );
        }
        match self.folder.write(&point.file((batch.from, batch.to)), &all) {
            Ok(()) => End::Kept(all),
            Err(error) => {
                self.unwritable.store(true, Ordering::Relaxed);
                failed(batch.from, error.to_string())
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.execution.cancel.load(Ordering::Relaxed) || self.unwritable.load(Ordering::Relaxed)
    }

    fn one(&self, point: &Point, run: u32, progress: &Arc<Progress>) -> Result<Kept, String> {
        let (scenario, number) = (&point.scenario, u64::from(run));
        let network = || Network::build(&scenario.topology).map_err(|error| error.to_string());
        let (own, records): (_, RunRecords) = if point.simulated {
            let options = Options {
                threads: self.execution.threads,
                progress: Some(Arc::clone(progress)),
                ..Options::default()
            };
            let records = self.engine.run(scenario, 0, number, &options)?.records;
            self.packet_hops
                .fetch_add(records.totals.packet_hops, Ordering::Relaxed);
            (
                Some(Sums::of(scenario, number, &records, point.keep)),
                records,
            )
        } else {
            let offered = ideal::offered(scenario, number, &network()?);
            (None, offered.map_err(|error| error.to_string())?)
        };
        let mut ideals = Vec::with_capacity(point.ideals.len());
        if !point.ideals.is_empty() {
            let network = network()?;
            for &(of, _) in &point.ideals {
                ideals.push(ideal::sums(
                    of, scenario, number, &records, &network, point.keep,
                ));
            }
        }
        Ok(Kept { own, ideal: ideals })
    }

    /// Tells how far things are.
    fn tell(&self, costs: &Costs, workers: usize) {
        let hops = self.packet_hops.load(Ordering::Relaxed) as f64;
        self.listener.on(&Event::Overall {
            done: self.kept + costs.runs(),
            runs: self.total,
            packet_hops_per_s: hops / self.began.elapsed().as_secs_f64().max(1e-9),
            eta_s: costs.left_s().map(|seconds| seconds / workers as f64),
        });
    }
}
