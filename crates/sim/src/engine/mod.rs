//! One partition of a run: the event loop over the hosts, switches and links of the partition. A run on one thread has
//! one partition.
//!
//! Each part has its own state: the [wire] with ports and links, the [hosts] with NICs and timers, the
//! [endpoints](endpoint) of the transports, and the [applications]. The [context] is shared by all parts: the clock
//! with the pending [events], and the [recorder].
//!
//! To add a family of transports, write a module like `tcp` or `d3` and add a line to the list in `family`. To add a port
//! discipline, add it to `wire::discipline`.

mod applications;
mod contents;
pub mod context;
mod d3;
pub mod due;
pub mod endpoint;
mod endpoints;
mod events;
mod extras;
mod family;
mod faults;
mod homa;
mod hosts;
mod pdq;
mod pfabric;
mod prefetch;
mod recorder;
mod sird;
mod tcp;
mod wheel;
mod windows;
pub mod wire;

pub use recorder::{Observed, PartRecords, merge};
pub use wire::Messages;

use crate::options::Options;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, Subpartitions};
use crate::queue::EventQueue;
use crate::setup::Setup;
use crate::workload::Workloads;
use applications::Applications;
use context::Context;
use duetime_core::Time;
use duetime_scenario::Scenario;
use endpoints::{Endpoints, dispatch};
use events::{Events, Single};
use extras::Extras;
use family::{Family, Handle};
use hosts::{Hosts, Owner};
use prefetch::Prefetch;
use recorder::{Mark, Recorder};
use std::sync::Arc;
use wire::{Arrived, Wire, WireFaults};

/// Network sizes by the share of the state that the processor's caches hold when it is needed: all, most, little.
const SMALL: u8 = 0;
const MEDIUM: u8 = 1;
const LARGE: u8 = 2;

/// Returns the number of sub-partitions of each partition. `observed` is true if packets are watched, which requires
/// one.
pub fn subpartitions(setup: &Setup, options: &Options, observed: bool) -> usize {
    match options.subpartitions {
        _ if observed || options.windows.is_some() => 1,
        0 => windows::default_subpartitions(&setup.network),
        count => count.min(EventQueue::MAX_SUBPARTITIONS),
    }
}

/// Part of the network that one thread simulates.
pub struct Partition {
    context: Context,
    wire: Wire,
    hosts: Hosts,
    endpoints: Endpoints,
    applications: Applications,
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
        let subpartitions = Subpartitions::cut(network, &cut.partition_of, index, count);
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

    #[inline(never)]
    fn run<const SIZE: u8, const ALONE: bool>(&mut self, end: Time) {
        let links = self.wire.links() as u32;
        self.context.events.queue.set_end(end.as_ps());
        #[cfg(debug_assertions)]
        let mut last = 0;
        loop {
            let Context { setup, events, .. } = &mut self.context;
            let queue = &mut events.queue;
            let (time, id) = if SIZE == LARGE {
                queue.pop_prefetched(|queue| {
                    let prefetch = Prefetch {
                        setup,
                        wire: &self.wire,
                        hosts: &self.hosts,
                        endpoints: &self.endpoints,
                    };
                    prefetch.read::<false>(queue, queue.current());
                })
            } else {
                queue.pop::<ALONE>()
            };
            #[cfg(debug_assertions)]
            if id != NONE {
                assert!(time >= last, "{time} ps after {last} ps");
                last = time;
            }
            if SIZE == MEDIUM
                && let Some(port) = self.wire.ports().get(queue.likely_next::<ALONE>() as usize)
            {
                std::hint::black_box(port.prefetch_first());
            }
            // The bound is written as in `Wire::arrival`, so that the compiler drops its check there.
            if (id as usize) < self.wire.links() {
                events.now = Time::from_ps(time);
                let arrived = self.wire.arrival::<ALONE>(&mut self.context, id);
                if let Some(Arrived { host, packet, more }) = arrived {
                    self.receive(host, packet);
                    if more {
                        self.receive_rest::<ALONE>(id);
                    }
                }
                continue;
            }
            if id == NONE {
                return;
            }
            events.now = Time::from_ps(time);
            events.processed += 1;
            if id < 2 * links {
                let Self {
                    context,
                    wire,
                    hosts,
                    endpoints,
                    ..
                } = self;
                hosts.departure(context, wire, endpoints, id - links);
            } else {
                let single = events.retire(id);
                self.process(&single);
            }
        }
    }

    /// Passes a packet that reached `host` to its endpoint.
    #[inline(always)]
    fn receive(&mut self, host: u32, packet: Packet) {
        dispatch!(Family::of(&packet), T => if packet.is_reverse() {
            self.acknowledgement::<T>(packet);
        } else {
            self.data::<T>(host, packet);
        });
    }

    /// Passes the remaining packets that `link` has delivered by now to the host's endpoints.
    #[inline(never)]
    fn receive_rest<const ALONE: bool>(&mut self, link: u32) {
        while let Some(Arrived { host, packet, more }) =
            self.wire.arrival::<ALONE>(&mut self.context, link)
        {
            self.receive(host, packet);
            if !more {
                return;
            }
        }
    }

    /// Performs the action of a single event.
    fn process(&mut self, single: &Single) {
        match *single {
            Single::Timer { host, slot } => self.timer(host, slot),
            Single::Program { link } => {
                let (hosts, endpoints) = (&self.hosts, &self.endpoints);
                self.wire.tick(&mut self.context, link, |host| {
                    let ready = hosts.ready(host);
                    ready.map(|sender| endpoints.overdue(sender)).sum()
                });
            }
            Single::Sample { position } => {
                let Context {
                    events, recorder, ..
                } = &mut self.context;
                let link = recorder.sampled_link(position);
                let port = self.wire.drained(link, events.now);
                recorder.sample(events, port, position);
            }
            Single::Windows => {
                let windows = self.endpoints.windows(self.context.now());
                let Context {
                    setup,
                    events,
                    recorder,
                    ..
                } = &mut self.context;
                recorder.sample_windows(setup, events, windows);
            }
        }
    }

    /// Handles a timer of `host` that is due.
    fn timer(&mut self, host: u32, slot: u32) {
        match self.hosts.owner(host, slot) {
            Owner::Free => {}
            Owner::Sender(Handle { family, index }) => {
                dispatch!(family, T => self.sender_timer::<T>(index));
            }
            Owner::Receiver(Handle { family, index }) => {
                dispatch!(family, T => self.receiver_timer::<T>(index));
            }
            Owner::Death { at } => {
                if at == self.context.now() {
                    self.hosts.free_slot(host, slot);
                    self.die(host);
                }
            }
            Owner::Wake {
                workload,
                token,
                at,
            } => {
                if at == self.context.now() {
                    self.hosts.free_slot(host, slot);
                    self.wake(host, workload, token);
                }
            }
        }
    }

    /// Returns the time of the next event, or [`Time::MAX`] if none is pending.
    pub fn next_event(&self) -> Time {
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
        self.wire.crossings.receive(&mut self.context, messages);
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
        let mut records = recorder.finish(setup, events, &ports, self.wire.totals());
        (records.queries, records.notes) = self.applications.finish();
        records.servers = self.applications.servers(end, &self.context.setup.network);
        records.allocators = self.wire.allocators(&self.context.setup);
        records
    }
}
