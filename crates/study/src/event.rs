//! Progress events of studies, searches and campaigns.

use serde::Serialize;

use crate::effort::Effort;
use crate::warnings::Warning;

/// Name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// Point of the sweep, such as `workload.fan_in=40`, or the value that a search tries. Empty without either.
    pub point: String,
    /// Name of the transport.
    pub transport: String,
    /// Index of the run, from 0.
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

/// Progress event. Serialised as one JSON line with the tag `event`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A study or campaign started.
    StudyStarted {
        /// Name of the scenario, or `papers` for a campaign.
        name: String,
        /// Folder of the results.
        folder: String,
        /// Number of runs. A campaign adds more if its verdicts need them.
        runs: usize,
        /// Runs that the folder already holds.
        kept: usize,
        /// First-order estimate of the effort. `None` if the folder already holds some runs, or if it cannot be
        /// estimated.
        effort: Option<Effort>,
    },
    /// A search started.
    SearchStarted {
        /// Name of the scenario.
        name: String,
        /// First-order estimate of the effort of one value, over all transports, at the scenario's own value. `None` if
        /// it cannot be estimated.
        effort: Option<Effort>,
    },
    /// Warning about the study. Follows the start event.
    Warning(Warning),
    /// A search started the runs of a value.
    ValueStarted {
        /// Name of the transport.
        transport: String,
        /// Value with its unit.
        value: String,
        /// Total number of runs.
        runs: usize,
        /// Runs that the journal already holds.
        kept: usize,
    },
    /// A campaign needs more runs to settle its verdicts.
    Unsettled {
        /// Number of verdicts that are not settled.
        verdicts: usize,
        /// Number of all verdicts.
        of: usize,
    },
    /// A run started.
    RunStarted {
        /// Name of the run.
        #[serde(flatten)]
        name: RunName,
        /// Index of the task. Each task has at most one active run.
        job: usize,
        /// Simulated time at which the sources stop, in seconds. Open flows may finish later.
        of_s: f64,
    },
    /// Progress of an active run, a few times per second.
    Progress {
        /// Name of the run.
        #[serde(flatten)]
        name: RunName,
        /// Index of the task.
        job: usize,
        /// Simulated time so far, in seconds.
        simulated_s: f64,
        /// Simulated time at which the sources stop, in seconds. Open flows may finish later.
        of_s: f64,
        /// Packets that crossed a link so far.
        packet_hops: u64,
        /// Mean packet-hops per second of wall time.
        packet_hops_per_s: f64,
    },
    /// Overall progress of the study, campaign or value, a few times per second.
    Overall {
        /// Runs that finished or failed, including runs kept from before.
        done: usize,
        /// Total number of runs.
        runs: usize,
        /// Packet-hops per second of wall time, summed over the active runs.
        packet_hops_per_s: f64,
        /// Remaining wall time in seconds, or `None` if it cannot be estimated yet.
        eta_s: Option<f64>,
    },
    /// A run finished and was stored.
    RunFinished {
        /// Name of the run.
        #[serde(flatten)]
        name: RunName,
        /// Index of the task.
        job: usize,
        /// Wall time in seconds.
        wall_s: f64,
        /// Simulated time at the end, in seconds.
        simulated_s: f64,
        /// Packets that crossed a link.
        packet_hops: u64,
        /// Wall time per packet-hop in nanoseconds.
        ns_per_packet_hop: f64,
        /// Folder or journal file that holds the run.
        folder: String,
    },
    /// A run failed. The other runs continue, unless they would fail too.
    RunFailed {
        /// Name of the run.
        #[serde(flatten)]
        name: RunName,
        /// Index of the task.
        job: usize,
        /// Reason.
        error: String,
    },
    /// Stored runs are damaged. Only these runs are repeated.
    Damaged {
        /// First damaged run.
        #[serde(flatten)]
        name: RunName,
        /// File and damage.
        reason: String,
    },
    /// All runs of a value finished.
    ValueFinished {
        /// Name of the transport.
        transport: String,
        /// Value with its unit.
        value: String,
        /// Measured queries or answers that were in time.
        met: u64,
        /// Measured queries or answers that could be late.
        measured: u64,
        /// Share that must be in time.
        target: f64,
        /// True if the target is reached.
        reached: bool,
        /// Maximum number of values that bisection still tries for this transport, or `None` while no value has failed.
        /// Confirmations of uncertain values are not included.
        values_left: Option<u32>,
        /// Wall time of their runs in seconds, at the pace of the slowest value so far, or `None` if all runs of this
        /// value were stored already.
        eta_s: Option<f64>,
    },
    /// Progress of repeating runs to explain their late queries, a few times per second, after the study has finished.
    Explaining {
        /// Runs explained.
        done: usize,
        /// Total number of runs to explain.
        runs: usize,
        /// Remaining wall time in seconds, or `None` until one run is done.
        eta_s: Option<f64>,
    },
    /// A study or campaign ended.
    StudyFinished {
        /// Runs that the folder holds now.
        finished: usize,
        /// Runs that failed.
        failed: usize,
        /// Runs that were not started or not finished because of a stop.
        missing: usize,
        /// Wall time of this call in seconds.
        wall_s: f64,
        /// True if the study was stopped.
        cancelled: bool,
    },
}

/// Receiver of progress events. Called from several threads.
pub trait Listener: Sync {
    /// Handles an event.
    fn on(&self, event: &Event);
}

/// Listener that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {
    fn on(&self, _event: &Event) {}
}
