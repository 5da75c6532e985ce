//! What a partition writes down while it runs.

mod measured;
mod observe;
mod records;
mod series;

pub use observe::Observed;
pub use records::{Finish, PartRecords, merge};

use super::context::Context;
use super::events::Events;
use super::wire::Wire;
use crate::output::WindowSample;
use crate::partition::Cut;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_results::{Class, FlowEventKind};
use duetime_scenario::Scenario;
use measured::Measured;
use series::Sampler;

/// What a partition writes down while it runs.
pub struct Recorder {
    /// Flows and the rest that is told at the end.
    pub records: PartRecords,
    series: Sampler,
    measured: Measured,
    observed: Option<Box<Observed>>,
    /// Sampling period of windows.
    windows: Option<Span>,
    /// Finite flows in the measurement window: those submitted here minus those that ended here. The sum over
    /// partitions is what is open.
    open: i64,
}

impl Recorder {
    /// Nothing is recorded; partition `index` of `cut` records.
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
        }
    }

    /// Asks for the first samples of everything that is sampled.
    pub fn start(&self, setup: &Setup, events: &mut Events) {
        self.series.start(events);
        self.schedule_windows(setup, events);
    }

    /// Asks for the next sample of the windows, if they are sampled.
    fn schedule_windows(&self, setup: &Setup, events: &mut Events) {
        let Some(every) = self.windows else { return };
        let at = events.now + every;
        if at <= Time::ZERO + setup.duration {
            events.schedule_windows(at);
        }
    }

    /// Whether packets are watched.
    #[inline(always)]
    pub fn is_observing(&self) -> bool {
        self.observed.is_some()
    }

    /// Records an event of the connection whose packets carry `hash`, if it is watched.
    #[inline]
    pub fn observe(&mut self, now: Time, hash: u32, what: FlowEventKind) {
        if let Some(observed) = &mut self.observed {
            observed.record(hash, now, what);
        }
    }

    /// Finite flows in the measurement window: those submitted here minus those that ended here.
    pub fn open(&self) -> i64 {
        self.open
    }

    /// The run waits for as many more events of workloads.
    pub fn wait_for(&mut self, more: i64) {
        self.open += more;
    }

    /// A message is submitted; returns the number of its record.
    pub fn submitted(&mut self, message: &Message) -> u32 {
        self.records.flows.push(message.record());
        self.open += i64::from(is_waited_for(message));
        self.records.flows.len() as u32 - 1
    }

    /// The sender of a message gave it up before its receiver knew of it, or its receiver learnt of that.
    pub fn given_up(&mut self, message: &Message) {
        self.open -= i64::from(is_waited_for(message));
    }

    /// The last byte of a message was delivered at `at`, after `marks` marked segments.
    pub fn delivered(&mut self, message: &Message, at: Time, marks: u32) {
        self.records.finishes.push(Finish {
            flow: message.flow,
            at,
            marks,
        });
        self.open -= i64::from(is_waited_for(message));
        self.observe_end(message.flow, at);
    }

    /// The next end of the measurement window: the run must stop there, with every event before it processed and none
    /// after.
    pub fn next_mark(&self) -> Time {
        self.measured.next_mark()
    }

    /// Every event before `reached` has been processed, and no later one: notes what is to be noted by then.
    pub fn mark(&mut self, reached: Time, wire: &mut Wire) {
        self.measured.mark(reached, wire);
    }
}

impl Context {
    /// Samples a link, which is number `position` among those that are sampled here.
    pub fn sample(&mut self, wire: &mut Wire, position: u32) {
        self.recorder
            .series
            .sample(&mut self.events, wire, position);
    }

    /// Records samples of the windows, and asks for the next ones.
    pub fn sample_windows(&mut self, windows: Vec<WindowSample>) {
        self.recorder.records.windows.extend(windows);
        self.recorder
            .schedule_windows(&self.setup, &mut self.events);
    }

    /// Completes the records of what flows and ports did, at the end of the run.
    pub fn finish_records(&mut self, wire: &mut Wire) -> PartRecords {
        let end = self.events.now;
        let recorder = &mut self.recorder;
        let mut records = std::mem::take(&mut recorder.records);
        records.traces = recorder
            .observed
            .take()
            .map_or_else(Vec::new, |observed| observed.into_traces());
        records.series = recorder.series.take();
        [records.ports, records.whole_ports] =
            recorder
                .measured
                .port_records(end, wire, &self.setup.network);
        records.totals = wire.totals();
        records.totals.end = end;
        // Every packet-hop is one event; the loop counts the others.
        records.totals.events = self.events.processed + records.totals.packet_hops;
        records
    }
}

/// Whether the run waits for the end of a message.
fn is_waited_for(message: &Message) -> bool {
    message.measured && message.class != Class::Long
}
