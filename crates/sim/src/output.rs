//! Output of a run.

use duetime_core::Time;
use duetime_results::{CapturedPacket, FlowTrace, PortRecord, RunRecords};
use std::time::Duration;

/// Work of the rounds of a run on several threads. In a round, each thread processes the events of its
/// partition before a common horizon; then all exchange packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// Number of rounds.
    pub count: u64,
    /// Packet-hops of the busiest partition of each round, summed over the rounds. All packet-hops over these is the
    /// largest speed-up that the threads can reach.
    pub longest_hops: u64,
    /// Packets that crossed from one partition to another.
    pub crossings: u64,
    /// Time that the threads spent on events and on packets of other partitions, summed over the threads. The rest of
    /// their time, they waited for each other, or for the start and the end of the run.
    pub work: Duration,
}

/// Output of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutput {
    /// Records of flows, queries and ports, series and totals.
    pub records: RunRecords,
    /// Port records over the whole run; `records.ports` covers the measurement window.
    pub whole_ports: Vec<PortRecord>,
    /// Traces of the watched flows that were submitted, by flow.
    pub traces: Vec<FlowTrace>,
    /// Captured packets, by time.
    pub captures: Vec<CapturedPacket>,
    /// Window samples of TCP senders, by time, then flow.
    pub windows: Vec<WindowSample>,
    /// Index and name of each captured link, as in `CapturedPacket::link`.
    pub capture_links: Vec<(u32, String)>,
    /// Final states of the D3 routers that received a request or police, by link.
    pub allocators: Vec<AllocatorState>,
    /// Number of packet-hops of each partition, which shows how the threads shared the work.
    pub partition_hops: Vec<u64>,
    /// Rounds of a run on several threads, if [`Options::measures_rounds`](crate::Options::measures_rounds) is set.
    pub rounds: Option<Rounds>,
    /// False if the run was cancelled.
    pub complete: bool,
}

/// Final state of the D3 router of one port. All sums are zero if all flows have ended and nothing was lost (D3 §4.3).
/// Rates are in 1/256 of an encoded unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorState {
    /// Directed link behind the port, as `from->to`.
    pub link: String,
    /// N: number of flows.
    pub flows: u64,
    /// D: sum of desired rates.
    pub demand: u64,
    /// A: sum of allocations.
    pub allocated: u64,
    /// C: adapted capacity.
    pub capacity: u64,
    /// Packets dropped because their link exceeded its grants (`d3.police`); also counted in the port's drops.
    pub policed: u64,
}

/// State of a TCP sender at one moment, while its connection is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSample {
    /// Flow that opened the connection, by `FlowRecord::flow`.
    pub flow: u64,
    /// Time of the sample.
    pub at: Time,
    /// Congestion window in bytes.
    pub window_bytes: u64,
    /// α, the congestion controller's estimate of the fraction of marked bytes, in [0, 1].
    pub alpha: f64,
}
