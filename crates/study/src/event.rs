//! What a study, a search or a campaign tells while it works.

use serde::Serialize;

use crate::effort::Effort;
use crate::warnings::Warning;

/// One run, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// The point of the sweep, such as `workload.fan_in=40`, or the value that a search tries; empty without either.
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
    /// A study or campaign begins.
    StudyStarted {
        /// Name of the scenario; `papers` of a campaign.
        name: String,
        /// Where results go.
        folder: String,
        /// Runs in all.
        runs: usize,
        /// Runs that were there already.
        kept: usize,
        /// What the runs take, to first order; none where some were there already, or where it cannot be told.
        effort: Option<Effort>,
    },
    /// Something to know before the runs; follows the beginning.
    Warning(Warning),
    /// A search tries a value.
    ValueStarted {
        /// The transport.
        transport: String,
        /// The value with its unit.
        value: String,
        /// Runs in all.
        runs: usize,
        /// Runs that the journal holds already.
        kept: usize,
    },
    /// A run begins.
    RunStarted {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its task's number. Of each task one run is at work at a time.
        job: usize,
        /// The simulated time until its sources stop, s; what is open then is still finished.
        of_s: f64,
    },
    /// A run is at work; a few times per second for each.
    Progress {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its task's number.
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
    /// All runs of the study, campaign or value; a few times per second.
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
    /// A run is done and kept.
    RunFinished {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its task's number.
        job: usize,
        /// Wall time, s.
        wall_s: f64,
        /// Simulated time at the end, s.
        simulated_s: f64,
        /// Packets that crossed a link.
        packet_hops: u64,
        /// Wall time per packet-hop, ns.
        ns_per_packet_hop: f64,
        /// Where it is kept: a folder, or a file of a journal.
        folder: String,
    },
    /// A run failed. The others go on, unless they would fail as well.
    RunFailed {
        /// Which.
        #[serde(flatten)]
        name: RunName,
        /// Its task's number.
        job: usize,
        /// Why.
        error: String,
    },
    /// Finished runs are not as they were written; they, and only they, are made again.
    Damaged {
        /// The first of them.
        #[serde(flatten)]
        name: RunName,
        /// The file, and what is wrong with it.
        reason: String,
    },
    /// All runs of a value are done.
    ValueFinished {
        /// The transport.
        transport: String,
        /// The value with its unit.
        value: String,
        /// Queries, or answers, in the measurement window that were in time.
        met: u64,
        /// Queries, or answers, in the measurement window that could be late.
        measured: u64,
        /// Share that shall be in time.
        target: f64,
        /// Whether that reaches the target.
        reached: bool,
        /// Values that bisection still tries at most for this transport; none until one fell short. Those that are
        /// tried out of doubt come on top.
        values_left: Option<u32>,
        /// What their runs take at the pace of the slowest value so far, s; none where all of this one's were kept.
        eta_s: Option<f64>,
    },
    /// Runs are repeated to explain their late queries; a few times per second, after the study has ended.
    Explaining {
        /// Runs explained.
        done: usize,
        /// Runs to explain in all.
        runs: usize,
        /// Wall time still needed, s; none until one is done.
        eta_s: Option<f64>,
    },
    /// A study or campaign ends.
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
