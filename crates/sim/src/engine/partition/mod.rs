//! A partition: its parts, their construction, and their records at the end of the run.
//!
//! `run` is the event loop. The other modules handle its events: `applications` those of workloads, `sending` and
//! `receiving` those of endpoints, and `deaths` the deaths of hosts.

mod applications;
mod deaths;
mod receiving;
mod run;
mod sending;

use super::applications::Applications;
use super::context::Context;
use super::endpoint::Table;
use super::endpoints::{Endpoints, Listed};
use super::events::Events;
use super::extras::Extras;
use super::faults;
use super::hosts::Hosts;
use super::recorder::{Mark, Observed, PartRecords, Recorder};
use super::windows::{Windows, subpartitions};
use super::wire::{Messages, Wire, WireFaults};
use crate::options::Options;
use crate::partition::{Cut, Subpartitions};
use crate::setup::Setup;
use crate::workload::Workloads;
use duetime_core::Time;
use duetime_scenario::Scenario;
use std::sync::Arc;

/// Part of the network that one thread simulates.
pub struct Partition {
    context: Context,
    wire: Wire,
    hosts: Hosts,
    endpoints: Endpoints,
    applications: Applications,
    windows: Windows,
}

impl Partition {
    /// Creates partition `index` of `cut` and schedules its first events.
    pub fn new(
        scenario: &Scenario,
        setup: &Arc<Setup>,
        workloads: Workloads,
        index: u16,
        cut: &Arc<Cut>,
        observed: Option<Box<Observed>>,
        options: &Options,
    ) -> Self {
        let network = &setup.network;
        let count = subpartitions(setup, options, observed.is_some());
        let subpartitions = Subpartitions::cut(network, cut, index, count);
        let faults = faults::State::new(&options.faults);
        let wire_faults = WireFaults {
            loses_requests: (faults.as_ref()).is_some_and(|state| state.loses_requests()),
            kills_hosts: !options.faults.deaths.is_empty(),
        };
        let wire = Wire::new(
            scenario,
            setup,
            cut,
            index,
            &subpartitions,
            observed.is_some(),
            wire_faults,
        );
        let mut partition = Self {
            hosts: Hosts::new(setup, &wire),
            wire,
            endpoints: Endpoints::new(setup),
            applications: Applications::new(workloads),
            windows: Windows::new(&subpartitions),
            context: Context {
                setup: Arc::clone(setup),
                frame_overhead: setup.frame_overhead,
                events: Events::new(setup, &subpartitions),
                recorder: Recorder::new(scenario, setup, index, cut, observed, options.windows),
                extras: Extras::default(),
                faults,
            },
        };
        let owned = |host: u32| cut.partition_of[network.hosts[host as usize] as usize] == index;
        let context = &mut partition.context;
        context.recorder.start(setup, &mut context.events);
        partition.schedule_deaths(&options.faults, &owned);
        partition.start_applications(&owned);
        partition
    }

    /// Returns the time of the next event, or [`Time::MAX`] if none is pending. If the last window had many events, returns
    /// zero, because the search takes longer than a window without events.
    pub fn next_event(&self) -> Time {
        if self.windows.is_busy {
            return Time::ZERO;
        }
        self.context.events.next()
    }

    /// Returns the number of finite flows in the measurement window submitted here minus those that ended here.
    pub fn open(&self) -> i64 {
        self.context.recorder.open()
    }

    /// Returns true if a workload of this partition has a wake-up scheduled.
    pub fn has_wakes(&self) -> bool {
        self.applications.has_wakes()
    }

    /// Returns true if the two sides of the network may run in turn; see [`Partition::run_side_before`].
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has sides")
    )]
    pub fn has_sides(&self) -> bool {
        self.windows.of_side.is_some()
    }

    /// Returns the number of packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.wire.packet_hops()
    }

    /// Returns the next boundary of the measurement window, or [`Time::MAX`]. The run must stop there, after every
    /// earlier event and before any later one.
    pub fn next_mark(&self) -> Time {
        self.context.recorder.next_mark()
    }

    /// Takes the snapshots that are due by `reached`. Every event before `reached`, and no later one, must have been
    /// processed.
    pub fn mark(&mut self, reached: Time) {
        let recorder = &mut self.context.recorder;
        while let Some((at, mark)) = recorder.next_due(reached) {
            recorder.keep(mark, self.wire.snapshots(at));
            if mark == Mark::Begin {
                self.wire.restart_maxima();
            }
        }
    }

    /// Swaps the packets bound for partition `to` with the empty buffer `messages`, whose memory is reused. Returns the
    /// arrival time of the first packet, or [`Time::MAX`] if there is none.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn exchange_messages(&mut self, to: usize, messages: &mut Messages) -> Time {
        self.wire.crossings.exchange(to, messages)
    }

    /// Receives packets from another partition and empties `messages`.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn receive_messages(&mut self, messages: &mut Messages) {
        self.wire.receive(&mut self.context, messages);
    }

    /// Returns the parts that an endpoint needs, and its family's table.
    #[inline(always)]
    fn parts<T: Listed>(&mut self) -> (&mut Context, &mut Wire, &mut Hosts, &mut Table<T>) {
        let table = T::table(&mut self.endpoints);
        (&mut self.context, &mut self.wire, &mut self.hosts, table)
    }

    /// Ends the run of this partition at `end` and returns its records.
    pub fn finish(mut self, end: Time) -> PartRecords {
        self.context.events.now = end;
        self.endpoints.finish(&mut self.context);
        let ports = self.wire.snapshots(end);
        let Context {
            setup,
            events,
            recorder,
            ..
        } = &mut self.context;
        let totals = self.wire.totals(events);
        let mut records = recorder.finish(setup, events, &ports, totals);
        (records.queries, records.notes) = self.applications.finish();
        records.servers = self.applications.servers(end, &self.context.setup.network);
        records.allocators = self.wire.allocators(&self.context.setup);
        records
    }
}
