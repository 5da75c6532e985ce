//! Options of [`run`](crate::run()), and the state that it shares with the caller.

use crate::faults::Faults;
use duetime_core::Span;
use duetime_results::{FlowEventKind, Timer};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Number of threads; 0 and 1 both mean one. Results do not depend on it. A run that is watched packet by packet,
    /// for a trace or a capture, uses one thread.
    pub threads: usize,
    /// Number of sub-partitions per thread, which run one after the other; 0 chooses a number that suits the size of
    /// the network. Results do not depend on it. A run that is watched packet by packet, or whose windows are sampled,
    /// uses one.
    pub subpartitions: usize,
    /// Measures how the rounds of several threads share the work, in [`RunOutput::rounds`](crate::RunOutput::rounds).
    /// Needs 4 bytes per round and thread.
    pub measures_rounds: bool,
    /// Progress of the run, with a flag to cancel it.
    pub progress: Option<Arc<Progress>>,
    /// Flows to watch.
    pub watch: Watch,
    /// Events of the watched flows to keep.
    pub keep: Keep,
    /// Sampling period of the windows of TCP senders, or `None` for no samples.
    pub windows: Option<Span>,
    /// Faults to inject.
    pub faults: Faults,
}

impl Options {
    /// Returns the options of a run with faults.
    #[must_use]
    pub fn with_faults(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }
}

/// Selection of flows that are watched event by event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// No flows.
    #[default]
    Nothing,
    /// These flows, by `FlowRecord::flow`, from their submission on.
    Flows(BTreeSet<u64>),
    /// These flows, by `FlowRecord::flow`, each from its submission to its delivery.
    Deliveries(BTreeSet<u64>),
    /// All messages of this query, by `QueryRecord::query`, each from its submission to its delivery.
    Query(u64),
}

/// Selection of the events that are kept of watched flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All events.
    #[default]
    All,
    /// Events at the port of this link, by index in the network, and events that show a flow's progress: submission,
    /// deliveries, end, timeouts, pauses and granted rates. This is at most a third of all events.
    Port(u32),
}

impl Keep {
    /// Returns true if the event is kept.
    pub fn holds(self, kind: &FlowEventKind) -> bool {
        let Self::Port(port) = self else { return true };
        match *kind {
            FlowEventKind::Departed { link, .. }
            | FlowEventKind::Dropped { link }
            | FlowEventKind::Lost { link }
            | FlowEventKind::Marked { link }
            | FlowEventKind::Denied { link } => link == port,
            FlowEventKind::Submitted
            | FlowEventKind::Delivered { .. }
            | FlowEventKind::Timer(
                Timer::Handshake | Timer::Retransmission | Timer::Announcement,
            )
            | FlowEventKind::Granted { .. }
            | FlowEventKind::Paused
            | FlowEventKind::Finished => true,
            FlowEventKind::Permitted { .. }
            | FlowEventKind::ResendRequested { .. }
            | FlowEventKind::Sent { .. }
            | FlowEventKind::Received { .. }
            | FlowEventKind::Acked { .. }
            | FlowEventKind::Timer(_)
            | FlowEventKind::Ready
            | FlowEventKind::ReplyQueued { .. }
            | FlowEventKind::Behind
            | FlowEventKind::Aborted
            | FlowEventKind::RequestSent { .. }
            | FlowEventKind::Established => false,
        }
    }
}

impl Watch {
    /// Selects one flow.
    pub fn flow(flow: u64) -> Self {
        Self::Flows(BTreeSet::from([flow]))
    }
}

/// Progress of a run, shared between the run and the code that displays it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Simulated time in picoseconds.
    pub simulated_ps: AtomicU64,
    /// Number of packet-hops so far.
    pub packet_hops: AtomicU64,
    /// Number of unfinished measured flows; after the duration, the flows that the run still waits for.
    pub open_flows: AtomicU64,
    /// Set by the caller to end the run early.
    pub cancel: AtomicBool,
}
