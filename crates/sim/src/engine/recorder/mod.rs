//! Recorder of a partition: flow records, samples, port counters and traces.

mod measured;
mod observe;
mod records;
mod series;

pub use measured::{Mark, Snapshot};
pub use observe::Observed;
pub use records::{Finish, PartRecords, merge};

use super::events::Events;
use crate::output::WindowSample;
use crate::packet::Packet;
use crate::partition::Cut;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Port;
use duetime_results::{Class, FlowEventKind, Totals};
use duetime_scenario::Scenario;
use measured::Measured;
use rustc_hash::FxHashMap;
use series::Sampler;

/// Recorder of a partition.
pub struct Recorder {
    /// Flow records, and everything else that is returned at the end of the run.
    pub records: PartRecords,
    series: Sampler,
    measured: Measured,
    observed: Option<Box<Observed>>,
    /// Sampling period of windows, or `None`.
    windows: Option<Span>,
    /// Finite flows in the measurement window submitted here minus those that ended here. The sum over all partitions
    /// is the number of open flows.
    open: i64,
    /// Flows that were delivered in this partition: bit masks of 64 consecutive messages of a host. A set of a million
    /// flows would miss the processor's caches at each insertion.
    ended: FxHashMap<u64, u64>,
}

impl Recorder {
    /// Creates an empty recorder for partition `index` of `cut`.
    pub fn new(
        scenario: &Scenario,
        setup: &Setup,
        index: u16,
        cut: &Cut,
        observed: Option<Box<Observed>>,
        windows: Option<Span>,
    ) -> Self {
        Self {
            records: PartRecords::default(),
            series: Sampler::new(scenario, setup, index, cut),
            measured: Measured::new(scenario),
            observed,
            windows,
            open: 0,
            ended: FxHashMap::default(),
        }
    }

    /// Schedules the first samples of links and windows.
    pub fn start(&self, setup: &Setup, events: &mut Events) {
        self.series.start(events);
        self.schedule_windows(setup, events);
    }

    /// Schedules the next sample of the windows, if they are sampled.
    fn schedule_windows(&self, setup: &Setup, events: &mut Events) {
        let Some(every) = self.windows else { return };
        let at = events.now + every;
        if at <= Time::ZERO + setup.duration {
            events.schedule_windows(at);
        }
    }

    /// Returns true if packets are watched.
    #[inline(always)]
    pub fn is_observing(&self) -> bool {
        self.observed.is_some()
    }

    /// Records an event of the connection whose packets carry `hash`, if the connection is watched.
    #[inline]
    pub fn observe(&mut self, now: Time, hash: u32, kind: FlowEventKind) {
        if let Some(observed) = &mut self.observed {
            observed.record(hash, now, kind);
        }
    }

    /// Returns the number of finite flows in the measurement window submitted here minus those that ended here.
    pub fn open(&self) -> i64 {
        self.open
    }

    /// Makes the run wait for `more` further events of workloads.
    pub fn wait_for(&mut self, more: i64) {
        self.open += more;
    }

    /// Records the submission of a message. Returns the index of its record.
    pub fn submitted(&mut self, message: &Message) -> u32 {
        self.records.flows.push(message.record());
        self.open += i64::from(is_awaited(message));
        self.records.flows.len() as u32 - 1
    }

    /// Records that a message will not be delivered: its sender quenched it before the receiver knew of it, or the
    /// receiver was notified of the quenching.
    pub fn abandoned(&mut self, message: &Message) {
        self.open -= i64::from(is_awaited(message));
    }

    /// Records the delivery of a message's last byte at `at`, after `marks` marked segments. Returns false, and records
    /// nothing, if the message was delivered before.
    pub fn delivered(&mut self, message: &Message, at: Time, marks: u32) -> bool {
        let ended = self.ended.entry(message.flow / 64).or_default();
        let bit = 1 << (message.flow % 64);
        if *ended & bit != 0 {
            return false;
        }
        *ended |= bit;
        self.records.finishes.push(Finish {
            flow: message.flow,
            at,
            marks,
        });
        self.open -= i64::from(is_awaited(message));
        self.observe_end(message.flow, at);
        true
    }

    /// Returns the next boundary of the measurement window, or [`Time::MAX`]. The run must stop there, after every
    /// earlier event and before any later one.
    pub fn next_mark(&self) -> Time {
        self.measured.next_mark()
    }

    /// Removes and returns the next boundary of the measurement window, with its time, if it is due by `reached`. Its
    /// snapshots are passed to [`Self::keep`].
    pub fn next_due(&mut self, reached: Time) -> Option<(Time, Mark)> {
        self.measured.next_due(reached)
    }

    /// Keeps the counters of all ports at a boundary of the measurement window.
    pub fn keep(&mut self, mark: Mark, snapshots: Vec<Snapshot>) {
        self.measured.keep(mark, snapshots);
    }

    /// Returns the link with index `position` among those sampled by this partition.
    pub fn sampled_link(&self, position: u32) -> u32 {
        self.series.link(position)
    }

    /// Samples the link with index `position` among those sampled by this partition. Packets that have left must have
    /// been removed from its port.
    pub fn sample(&mut self, events: &mut Events, port: &Port<Packet>, position: u32) {
        self.series.sample(events, port, position);
    }

    /// Records samples of the windows and schedules the next ones.
    pub fn sample_windows(
        &mut self,
        setup: &Setup,
        events: &mut Events,
        windows: Vec<WindowSample>,
    ) {
        self.records.windows.extend(windows);
        self.schedule_windows(setup, events);
    }

    /// Completes and returns the records of flows and ports at the end of the run. `ports` has the counters of all
    /// ports then, and `totals` those of packets and bytes.
    pub fn finish(
        &mut self,
        setup: &Setup,
        events: &Events,
        ports: &[Snapshot],
        totals: Totals,
    ) -> PartRecords {
        let end = events.now;
        let mut records = std::mem::take(&mut self.records);
        let observed = self.observed.take();
        records.traces = observed.map_or_else(Vec::new, |observed| observed.into_traces());
        records.series = self.series.take();
        [records.ports, records.whole_ports] =
            self.measured.port_records(end, ports, &setup.network);
        // Every packet-hop is one event; `processed` counts the others.
        records.totals = Totals {
            end,
            events: events.processed + totals.packet_hops,
            ..totals
        };
        records
    }
}

/// Returns true if the run waits for the end of the message.
fn is_awaited(message: &Message) -> bool {
    message.measured && message.class != Class::Long
}
