//! What a run gives.

use duetime_core::Time;
use duetime_results::{CapturedPacket, FlowTrace, PortRecord, RunRecords};

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct RunOutput {
    /// Flows, queries, ports, series and totals.
    pub records: RunRecords,
    /// The ports over the whole run, as `records.ports` has them over the measurement window.
    pub whole_ports: Vec<PortRecord>,
    /// The watched flows that were submitted, by flow.
    pub traces: Vec<FlowTrace>,
    /// Captured packets, by time.
    pub captures: Vec<CapturedPacket>,
    /// Windows of TCP senders, by time, then flow.
    pub windows: Vec<WindowSample>,
    /// Names of the captured links, by `CapturedPacket::link`.
    pub capture_links: Vec<(u32, String)>,
    /// D3: what the routers that were asked for anything, or police, held at the end, by link.
    pub allocators: Vec<AllocatorState>,
    /// Packet-hops of each partition: how the threads shared the work.
    pub partition_hops: Vec<u64>,
    /// False if the run was cancelled.
    pub complete: bool,
}

/// What the D3 router of one port holds: nothing, if all flows have ended and nothing was lost (D3 §4.3). Rates are in
/// 1/256 of an encoded unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorState {
    /// The directed link behind the port, as `from->to`.
    pub link: String,
    /// N: flows.
    pub flows: u64,
    /// D: sum of desired rates.
    pub demand: u64,
    /// A: sum of allocations.
    pub allocated: u64,
    /// C: adapted capacity.
    pub capacity: u64,
    /// Packets dropped because more came over their link than was granted (`d3.police`); the port's drops hold them too.
    pub policed: u64,
}

/// A TCP sender's state at one moment, while its connection is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSample {
    /// The flow that opened the connection, by `FlowRecord::flow`.
    pub flow: u64,
    /// When.
    pub at: Time,
    /// Its congestion window, in bytes.
    pub window_bytes: u64,
    /// α, the fraction of marked bytes that the congestion controller has estimated, in [0, 1].
    pub alpha: f64,
}
