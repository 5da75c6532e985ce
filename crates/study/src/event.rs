//! What a study tells while it works.

use serde::Serialize;

use crate::warnings::Warning;

/// One run of a study, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// The point of the sweep, e.g. `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// The transport.
    pub transport: String,
    /// The run, from 0.
    pub run: u32,
}

impl std::fmt::Display for RunName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} run {}", self.transport, self.run)?;
        if self.point.is_empty() {
            Ok(())
        } else {
            write!(f, " at {}", self.point)
        }
    }
}

/// Something happened. Serialised, each is one JSON line with the tag `event`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The study begins.
    StudyStarted {
        /// Name of the scenario.
        name: String,
        /// Where results go.
        folder: String,
        /// Runs in all.
        runs: usize,
        /// Runs that were there already.
        kept: usize,
    },
    /// Something to know before the runs; follows the beginning.
    Warning(Warning),
    /// A run begins.
    RunStarted {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its number among the jobs, for a listener's own books.
        job: usize,
        /// The simulated time until its sources stop, s; what is open then is still finished.
        of_s: f64,
    },
    /// A run is at work; a few times per second for each.
    Progress {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its number among the jobs.
        job: usize,
        /// Simulated time so far, s.
        simulated_s: f64,
        /// The simulated time until its sources stop, s; what is open then is still finished.
        of_s: f64,
        /// Packets that crossed a link so far.
        packet_hops: u64,
        /// The same per second of wall time, since the run began.
        packet_hops_per_s: f64,
    },
    /// The whole study; a few times per second.
    Overall {
        /// Runs finished or failed, those that were there already included.
        done: usize,
        /// Runs in all.
        runs: usize,
        /// Packet-hops per second of wall time, over all runs at work.
        packet_hops_per_s: f64,
        /// Wall time still needed, s; none until it can be told.
        eta_s: Option<f64>,
    },
    /// A run is done and its folder is written.
    RunFinished {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its number among the jobs.
        job: usize,
        /// Wall time, s.
        wall_s: f64,
        /// Simulated time at the end, s.
        simulated_s: f64,
        /// Packets that crossed a link.
        packet_hops: u64,
        /// Wall time per packet-hop, ns.
        ns_per_packet_hop: f64,
        /// Its folder.
        folder: String,
    },
    /// A run failed; the others go on.
    RunFailed {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its number among the jobs.
        job: usize,
        /// Why.
        error: String,
    },
    /// A file of finished runs is not as it was written; its runs, and only those, are made again.
    PointDamaged {
        /// The first of them.
        #[serde(flatten)]
        name: RunName,
        /// The file, and what is wrong with it.
        reason: String,
    },
    /// The study ends.
    StudyFinished {
        /// Runs that are in the folder now.
        finished: usize,
        /// Runs that failed.
        failed: usize,
        /// Runs that were not begun or not finished because of a stop.
        missing: usize,
        /// Wall time of this call, s.
        wall_s: f64,
        /// Whether it was stopped.
        cancelled: bool,
    },
}

/// Hears what a study tells. Called from several threads.
pub trait Listener: Sync {
    /// Takes one event.
    fn on(&self, event: &Event);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {
    fn on(&self, _event: &Event) {}
}
