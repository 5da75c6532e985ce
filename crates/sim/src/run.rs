//! One run: on one thread, or split by rack over several with the latency of the links between them as lookahead.

use crate::engine::{Observed, PartRecords, Partition, merge};
use crate::faults::Faults;
use crate::setup::Setup;
use crate::workload::Workloads;
use crate::{SetupError, partition};
use duetime_core::{Span, Time};
use duetime_results::{CapturedPacket, FlowTrace, PortRecord, RunRecords};
use duetime_scenario::Scenario;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that the run is split over; 0 and 1 are one. Results do not depend on it. A run that is watched packet
    /// by packet, for a trace or a capture, takes one.
    pub threads: usize,
    /// Regions that each thread's part is run in, one after the other; 0: as many as the size of the network makes
    /// worth while. Results do not depend on it. A run that is watched packet by packet or whose windows are sampled
    /// takes one.
    pub regions: usize,
    /// Where to say how far the run is, and where to be told to stop.
    pub progress: Option<Arc<Progress>>,
    /// The flows whose events are wanted.
    pub watch: Watch,
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
    /// These, by `FlowRecord::flow`; from the hand-over on.
    Flows(BTreeSet<u64>),
    /// All of this query, by `QueryRecord::query`: its ways down and its answers, each from hand-over to delivery.
    Query(u64),
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

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct RunOutput {
    /// Flows, queries, ports, series and totals.
    pub records: RunRecords,
    /// The ports over the whole run, as `records.ports` has them over the measurement window.
    pub whole_ports: Vec<PortRecord>,
    /// The watched flows that were handed over, by flow.
    pub traces: Vec<FlowTrace>,
    /// Captured packets, by time.
    pub captures: Vec<CapturedPacket>,
    /// Windows of TCP senders, by time, then flow.
    pub windows: Vec<WindowSample>,
    /// Names of the captured links, by `CapturedPacket::link`.
    pub capture_links: Vec<(u32, String)>,
    /// D3: what the routers that were asked for anything held at the end, by link.
    pub allocators: Vec<AllocatorState>,
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

/// Between two looks at whether the run is over and what it may report.
const STRIDE: Span = Span::from_ms(1);

/// Runs the scenario under its transport number `transport`; `run` numbers the repetition and so its random streams.
pub fn run(
    scenario: &Scenario,
    transport: usize,
    run: u64,
    options: &Options,
) -> Result<RunOutput, SetupError> {
    let setup = Arc::new(Setup::new(scenario, transport, run)?);
    let workloads = Workloads::new(scenario, &setup.network, &setup.streams)?;
    let taps = setup.tapped_links(scenario)?;
    let watched = options.watch != Watch::Nothing || !taps.is_empty();
    let observed = || {
        watched.then(|| {
            Box::new(Observed::new(
                options.watch.clone(),
                taps.clone(),
                scenario.record.snap_length,
            ))
        })
    };
    let cut = partition::cut(&setup.network, if watched { 1 } else { options.threads });
    let partition_of = Arc::new(cut.partition_of);
    let parts: Vec<Partition> = (0..cut.parts as u16)
        .map(|index| {
            Partition::new(
                scenario,
                &setup,
                workloads.clone(),
                index,
                &partition_of,
                observed(),
                options,
            )
        })
        .collect();
    drop(workloads);
    let clock = Clock {
        setup: &setup,
        progress: options.progress.as_deref(),
    };
    let (parts, end, complete) = clock.run(parts, cut.lookahead);
    let mut records: Vec<PartRecords> = parts.into_iter().map(|part| part.finish(end)).collect();
    let mut allocators: Vec<_> = records
        .iter_mut()
        .flat_map(|part| part.allocators.drain(..))
        .collect();
    allocators.sort_unstable_by_key(|(link, _)| *link);
    let allocators = allocators.into_iter().map(|(_, state)| state).collect();
    let names = setup
        .sampled_links
        .iter()
        .map(|&link| setup.network.link_name(link))
        .collect();
    let merged = merge(records, names);
    let capture_links = taps
        .iter()
        .map(|&link| (link, setup.network.link_name(link)))
        .collect();
    Ok(RunOutput {
        capture_links,
        allocators,
        complete,
        ..merged
    })
}

/// When a run is over, and who is told how far it is.
pub(crate) struct Clock<'a> {
    setup: &'a Setup,
    progress: Option<&'a Progress>,
}

impl Clock<'_> {
    /// The first stride boundary after `reached` that has an event before it, at most the cut.
    pub(crate) fn next_boundary(&self, next_event: Time, reached: Time) -> Time {
        let time = next_event.max(reached);
        let strides = time.as_ps() / STRIDE.as_ps() + 1;
        Time::from_ps(strides.saturating_mul(STRIDE.as_ps())).min(self.cut())
    }

    fn cut(&self) -> Time {
        Time::ZERO + self.setup.cut
    }

    /// Whether the run ends at `boundary`: every measured flow is done and no source will start another.
    pub(crate) fn is_over(&self, boundary: Time, open: i64, wakes: bool, events: bool) -> bool {
        let sources_stopped = boundary >= Time::ZERO + self.setup.duration || !wakes;
        boundary >= self.cut()
            || !events
            || (open == 0 && sources_stopped && self.ends_when_done(boundary))
    }

    /// Long flows alone keep a run going until its duration.
    fn ends_when_done(&self, boundary: Time) -> bool {
        !self.setup.has_long_flows || boundary >= Time::ZERO + self.setup.duration
    }

    /// Tells how far the run is; false if it shall stop.
    pub(crate) fn report(&self, boundary: Time, packet_hops: u64, open: i64) -> bool {
        let Some(progress) = self.progress else {
            return true;
        };
        progress
            .simulated_ps
            .store(boundary.as_ps(), Ordering::Relaxed);
        progress.packet_hops.store(packet_hops, Ordering::Relaxed);
        let open = u64::try_from(open).unwrap_or(0);
        progress.open_flows.store(open, Ordering::Relaxed);
        !progress.cancel.load(Ordering::Relaxed)
    }

    fn run(&self, parts: Vec<Partition>, lookahead: Span) -> (Vec<Partition>, Time, bool) {
        #[cfg(feature = "threads")]
        if parts.len() > 1 {
            return crate::parallel::run(self, parts, lookahead);
        }
        let _ = lookahead;
        self.run_alone(parts)
    }

    fn run_alone(&self, mut parts: Vec<Partition>) -> (Vec<Partition>, Time, bool) {
        let part = &mut parts[0];
        let mut boundary = Time::ZERO;
        loop {
            boundary = self.next_boundary(part.next_event(), boundary);
            while part.next_mark() < boundary {
                let mark = part.next_mark();
                part.run_before(mark);
                part.mark(mark);
            }
            part.run_before(boundary);
            part.mark(boundary);
            let going = self.report(boundary, part.packet_hops(), part.open());
            let events = part.next_event() != Time::MAX;
            if !going || self.is_over(boundary, part.open(), part.has_wakes(), events) {
                return (parts, boundary, going);
            }
        }
    }
}
