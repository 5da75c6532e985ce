//! One row per flow, per query, per port and per sample. Times are absolute; relative ones are derived.

use duetime_core::{Span, Time};
use serde::{Deserialize, Serialize};

/// What a flow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A query on its way down a tree.
    Query,
    /// An answer on its way up a tree.
    Response,
    /// A flow of any other workload.
    Flow,
    /// A flow without an end.
    Long,
}

impl Class {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Response => "response",
            Self::Flow => "flow",
            Self::Long => "long",
        }
    }
}

/// One flow. "Clock of a flow": from hand-over by the application to in-order delivery of its last byte.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// Unique in the run, the same for any number of threads.
    pub flow: u64,
    /// Index of its workload in the scenario.
    pub workload: u16,
    /// What it is for.
    pub class: Class,
    /// The query it belongs to: `QueryRecord::query`.
    pub query: Option<u64>,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes; for long flows `u64::MAX`.
    pub size_bytes: u64,
    /// Bytes delivered in order by the end of the run.
    pub delivered_bytes: u64,
    /// Hand-over by the application.
    pub start: Time,
    /// Delivery of the last byte, or `None`: unfinished, quenched or reset.
    pub finish: Option<Time>,
    /// Absolute deadline.
    pub deadline: Option<Time>,
    /// Ended early by its sender (D3 §6.1.3).
    pub quenched: bool,
    /// In the measurement window: started within [warm-up, duration).
    pub measured: bool,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Data segments that arrived with CE.
    pub marks: u32,
    /// D3: requests granted less than they asked for.
    pub denials: u32,
    /// D3: of those, the ones while a later deadline held more than the base rate (D2TCP Table 1).
    pub inversions: u32,
    /// D3: rate requests sent.
    pub requests: u32,
    /// Leaves whose answers it holds; 0 but for answers, and for those of aggregators that gave up empty-handed.
    pub leaves: u32,
}

impl FlowRecord {
    /// Whether it has an end: all but long flows.
    pub fn is_finite(&self) -> bool {
        self.class != Class::Long && self.size_bytes != u64::MAX
    }

    /// Deadline minus finish in picoseconds, negative when late; `None` without either.
    pub fn slack_ps(&self) -> Option<i64> {
        Some(self.deadline?.as_ps().wrapping_sub(self.finish?.as_ps()) as i64)
    }

    /// Completion time.
    pub fn completion(&self) -> Option<Span> {
        self.finish.map(|finish| finish.since(self.start))
    }

    /// An answer that holds something and arrived by its deadline, or has none.
    pub fn is_answer_in_time(&self) -> bool {
        self.class == Class::Response
            && self.leaves > 0
            && self.finish.is_some()
            && self.met() != Some(false)
    }

    /// Delivered by its deadline; `None` without one.
    pub fn met(&self) -> Option<bool> {
        self.deadline
            .map(|deadline| self.finish.is_some_and(|finish| finish <= deadline))
    }
}

/// One query of one tree, as its root sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRecord {
    /// Unique in the run.
    pub query: u64,
    /// Index of its workload in the scenario.
    pub workload: u16,
    /// Application within the workload.
    pub application: u16,
    /// The root's host.
    pub root: u32,
    /// Arrival at the root.
    pub start: Time,
    /// When enough answers were in, or `None`.
    pub complete: Option<Time>,
    /// Children of the root.
    pub children: u32,
    /// Their answers that arrived at all by the end of the run.
    pub answered: u32,
    /// Their answers that arrived by their deadlines.
    pub in_time: u32,
    /// In the measurement window: arrived within [warm-up, duration).
    pub measured: bool,
    /// Answers that it asks for in all layers: one of every node below the root.
    pub asked: u32,
    /// Leaves of its tree.
    pub leaves: u32,
    /// Leaves whose answers are enough.
    pub needed: u32,
    /// Whether anything says when it is late: a budget of its own, or deadlines of its answers.
    pub judged: bool,
    /// The end of its budget, or `None`: each leaf's answer is judged by its own deadline.
    pub due: Option<Time>,
    /// When the root held the answers of enough leaves, or `None`.
    pub enough: Option<Time>,
    /// Leaves whose answers the root held at the end of the run.
    pub leaves_answered: u32,
    /// Of them, those in time: at the root by `due`, or, without one, by their own deadlines.
    pub leaves_in_time: u32,
    /// Aggregators that stopped waiting for their children.
    pub gave_up: u32,
}

impl QueryRecord {
    /// Whether enough leaves' answers were there in time; `None` where nothing says when it is late.
    pub fn met(&self) -> Option<bool> {
        self.judged.then(|| match self.due {
            Some(due) => self.enough.is_some_and(|enough| enough <= due),
            None => self.leaves_in_time >= self.needed,
        })
    }

    /// The share of the answers that arrived by their deadlines, in [0, 1]. A query without children is complete.
    pub fn completeness(&self) -> f64 {
        match self.children {
            0 => 1.0,
            children => f64::from(self.in_time) / f64::from(children),
        }
    }
}

/// One directed link over the run, with the port that feeds it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortRecord {
    /// `from->to`, by node names.
    pub link: String,
    /// Packets that left.
    pub packets: u64,
    /// Bytes that left, on the wire.
    pub bytes: u64,
    /// Packets dropped for want of buffer.
    pub drops: u64,
    /// Bytes of the packets dropped for want of buffer.
    pub drop_bytes: u64,
    /// Packets lost by seeded loss.
    pub losses: u64,
    /// Bytes of the packets lost by seeded loss.
    pub loss_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest queue, the packet in service included, in bytes.
    pub queue_max_bytes: u64,
    /// Time average of the queue, the packet in service included, in bytes.
    pub queue_mean_bytes: f64,
    /// Share of the time that the link was sending, in [0, 1].
    pub utilisation: f64,
}

/// One sample of one sampled link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesSample {
    /// Index into [`RunRecords::sampled_links`].
    pub link: u32,
    /// When.
    pub at: Time,
    /// Bytes queued, the packet in service included.
    pub queue_bytes: u64,
    /// Packets queued, the packet in service included.
    pub queue_packets: u32,
    /// Bytes that left since the last sample.
    pub sent_bytes: u64,
}

/// Everything one run leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecords {
    /// By `flow`.
    pub flows: Vec<FlowRecord>,
    /// By `query`.
    pub queries: Vec<QueryRecord>,
    /// By node order of the topology.
    pub ports: Vec<PortRecord>,
    /// Names of the sampled links.
    pub sampled_links: Vec<String>,
    /// By time, then link.
    pub series: Vec<SeriesSample>,
    /// Counts of the whole run.
    pub totals: Totals,
}

/// Counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Simulated time at the end.
    pub end: Time,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Bytes that entered the network at hosts.
    pub injected_bytes: u64,
    /// Bytes that arrived at hosts.
    pub arrived_bytes: u64,
    /// Bytes dropped or lost.
    pub dropped_bytes: u64,
    /// Bytes still queued or on a wire at the end.
    pub in_flight_bytes: u64,
}

#[cfg(test)]
pub(crate) mod sample;
