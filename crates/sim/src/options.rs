//! How to run: what the caller of [`run`](crate::run()) chooses and watches.

use crate::faults::Faults;
use duetime_core::Span;
use duetime_results::{FlowEventKind, Timer};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that the run is split over; 0 and 1 are one. Results do not depend on it. A run that is watched packet
    /// by packet, for a trace or a capture, takes one.
    pub threads: usize,
    /// Sub-partitions that each thread's partition is run in, one after the other; 0: as many as pay at the network's
    /// size. Results do not depend on it. A run that is watched packet by packet or whose windows are sampled takes
    /// one.
    pub subpartitions: usize,
    /// Where to say how far the run is, and where to be told to stop.
    pub progress: Option<Arc<Progress>>,
    /// The flows whose events are wanted.
    pub watch: Watch,
    /// Which of their events are kept.
    pub keep: Keep,
    /// Sampling period of the windows of TCP senders; `None`: no samples.
    pub windows: Option<Span>,
    /// What goes wrong on purpose.
    pub faults: Faults,
}

/// Flows that are watched event by event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// None.
    #[default]
    Nothing,
    /// These, by `FlowRecord::flow`; from their submission on.
    Flows(BTreeSet<u64>),
    /// These, each from submission to delivery.
    Deliveries(BTreeSet<u64>),
    /// All of this query, by `QueryRecord::query`: its ways down and its answers, each from submission to delivery.
    Query(u64),
}

/// Which events of the watched flows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// What happens at the port of this link, by its number in the network, and what tells how far a flow is: its
    /// submission, deliveries and end, timeouts, pauses and the rates that it is granted. A third of all or less.
    Port(u32),
}

impl Keep {
    /// Whether this one is.
    pub fn holds(self, what: &FlowEventKind) -> bool {
        let Self::Port(port) = self else { return true };
        match *what {
            FlowEventKind::Departed { link, .. }
            | FlowEventKind::Dropped { link }
            | FlowEventKind::Lost { link }
            | FlowEventKind::Marked { link }
            | FlowEventKind::Denied { link } => link == port,
            FlowEventKind::Submitted
            | FlowEventKind::Delivered { .. }
            | FlowEventKind::Timer(Timer::Handshake | Timer::Retransmission)
            | FlowEventKind::Granted { .. }
            | FlowEventKind::Paused
            | FlowEventKind::Finished => true,
            FlowEventKind::Sent { .. }
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
    /// One flow.
    pub fn flow(flow: u64) -> Self {
        Self::Flows(BTreeSet::from([flow]))
    }
}

/// How far a run is; shared between the run and whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Simulated picoseconds.
    pub simulated_ps: AtomicU64,
    /// Packets that have crossed a link.
    pub packet_hops: AtomicU64,
    /// Measured flows that are not finished; from the duration on they are what the run still waits for.
    pub open_flows: AtomicU64,
    /// Set from outside to end the run early.
    pub cancel: AtomicBool,
}
