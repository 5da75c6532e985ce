//! Event loop of a partition: all events of a small network in order, or those of a large one window by window (see
//! `windows`).

use super::Partition;
use crate::engine::context::Context;
use crate::engine::endpoints::{dispatch, dispatch_packet};
use crate::engine::events::Single;
use crate::engine::family::Handle;
use crate::engine::hosts::Owner;
use crate::engine::prefetch::{self, Prefetch};
use crate::engine::size::{LARGE, LARGE_LINKS, MEDIUM, MEDIUM_LINKS, SMALL};
use crate::engine::wire::{Arrival, Arrived, Gathered};
use crate::packet::{NONE, Packet};
use duetime_core::Time;

/// Number of gathered arrivals whose state is prefetched before they are due.
const AHEAD: usize = 12;

impl Partition {
    /// Processes every event before `end`.
    pub fn run_before(&mut self, end: Time) {
        if self.windows.clocks.len() > 1 {
            return self.run_in_windows(end);
        }
        loop {
            let until = self.complete_queue(self.next_event(), end);
            self.context.events.adapt_width(self.wire.packet_hops());
            match self.wire.links() {
                LARGE_LINKS.. => self.run::<LARGE, true>(until),
                MEDIUM_LINKS.. => self.run::<MEDIUM, true>(until),
                _ => self.run::<SMALL, true>(until),
            }
            if until == end {
                return;
            }
        }
    }

    /// Moves the single events that are due before `end` into the queue, as far as the calendar reaches. There is no event
    /// before `next`. Returns the time before which the queue is complete. Prefetches the owners of all moved timers
    /// together, because their state has been idle for long.
    fn complete_queue(&mut self, next: Time, end: Time) -> Time {
        let (hosts, endpoints) = (&self.hosts, &self.endpoints);
        self.context.events.complete_queue(next, end, |host, slot| {
            prefetch::owner(endpoints, hosts.owner(host, slot));
        })
    }

    fn run_in_windows(&mut self, end: Time) {
        loop {
            let next = self.next_event().max(self.windows.reached());
            if next >= end {
                self.windows.is_busy = false;
                return;
            }
            let end = self.complete_queue(next, end);
            if self.windows.of_side.is_some() {
                let (side, end) = self.windows.sides.open_window(next, end);
                self.run_side(side, end);
            } else {
                self.run_subpartitions(next, end);
            }
        }
    }

    /// Processes events of all sub-partitions, each until another one may affect it, but not beyond `end`. `next` is the
    /// time of the first one.
    fn run_subpartitions(&mut self, next: Time, end: Time) {
        // No sub-partition sends anything before the next event of the partition.
        let clocks = &mut self.windows.clocks;
        for clock in &mut *clocks {
            *clock = next.max(*clock);
        }
        for subpartition in 0..clocks.len() {
            let horizon = self.windows.horizon(subpartition).min(end);
            self.windows.clocks[subpartition] = horizon;
            (self.context.events).prefetch_subpartition(subpartition + 1);
            self.run_window(subpartition, horizon);
        }
    }

    /// Processes every event of side `side` of the network before `end`. No event of the other side, in any partition,
    /// that has not been processed may affect them.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has partitions")
    )]
    pub fn run_side_before(&mut self, side: usize, end: Time) {
        let (hosts, endpoints) = (&self.hosts, &self.endpoints);
        self.context.events.release(end, |host, slot| {
            prefetch::owner(endpoints, hosts.owner(host, slot));
        });
        self.run_side(side, end);
    }

    /// Processes the events of the sub-partitions of a side before `end`.
    fn run_side(&mut self, side: usize, end: Time) {
        let hops = self.wire.packet_hops();
        let of_side = self.windows.of_side.take().expect("the network has sides");
        for (&subpartition, following) in of_side[side].iter().zip(1..) {
            if let Some(&following) = of_side[side].get(following) {
                (self.context.events).prefetch_subpartition(usize::from(following));
            }
            self.run_window(usize::from(subpartition), end);
        }
        self.windows.of_side = Some(of_side);
        let hops = self.wire.packet_hops() - hops;
        self.windows.is_busy = hops >= self.windows.clocks.len() as u64;
    }

    /// Processes the events of a sub-partition before `end`: arrivals over its inlets, and those of its queue.
    #[inline(never)]
    fn run_window(&mut self, subpartition: usize, end: Time) {
        let events = &mut self.context.events;
        if !events.has_event_before(subpartition, end) {
            return;
        }
        events.queue.enter(subpartition);
        let mut gathered = std::mem::take(&mut self.windows.gathered);
        self.prepare_window(subpartition, end, &mut gathered);
        self.run_gathered(&gathered);
        self.windows.gathered = gathered;
        self.run::<SMALL, false>(end);
    }

    /// Gathers the arrivals over the inlets of the open sub-partition before `end`, and prefetches the state that they
    /// and the events of its queue need. The steps of both alternate, so that none waits for the one before it.
    #[inline(always)]
    fn prepare_window(&mut self, subpartition: usize, end: Time, gathered: &mut Gathered) {
        let mut due = std::mem::take(&mut self.windows.due);
        let queue = &self.context.events.queue;
        queue.append_first_due(end.as_ps(), &mut due);
        self.wire
            .gather(&mut self.context, subpartition, end, gathered);
        let Context {
            setup,
            events,
            extras,
            ..
        } = &self.context;
        events.queue.append_other_due(&mut due);
        let prefetch = Prefetch {
            setup,
            wire: &self.wire,
            hosts: &self.hosts,
            endpoints: &self.endpoints,
            extras,
            of_target: &events.of_target,
        };
        for ids in due.chunks(prefetch::MAX_EVENTS) {
            prefetch.follow_all::<true>(&events.queue, ids.iter().copied());
        }
        due.clear();
        self.windows.due = due;
        gathered.sort(&self.context.events.queue);
    }

    /// Processes arrivals over the inlets of the open sub-partition, and the events of its queue before them.
    #[inline(always)]
    fn run_gathered(&mut self, gathered: &Gathered) {
        for arrival in gathered.iter().take(AHEAD) {
            self.wire.prefetch_gathered(&self.context, arrival);
        }
        let mut following = gathered.iter().skip(AHEAD);
        for arrival in gathered.iter() {
            if let Some(following) = following.next() {
                self.wire.prefetch_gathered(&self.context, following);
            }
            let at = arrival.at;
            if self.context.events.queue.is_due(at.as_ps()) {
                self.run::<SMALL, false>(at);
                if self.context.events.queue.is_due(at.as_ps()) {
                    self.run_tied(at, arrival);
                }
            }
            self.context.events.now = at;
            self.wire.forward_gathered(&mut self.context, arrival);
        }
    }

    /// Processes the events of the open sub-partition's queue that are due at `at` and rank before `arrival`.
    #[cold]
    fn run_tied(&mut self, at: Time, arrival: &Arrival) {
        let turn = (arrival.link, arrival.number);
        while let Some(id) = self.context.events.queue.pop_tied(at.as_ps(), turn) {
            self.handle::<SMALL, false>(at, id);
        }
    }

    #[inline(never)]
    fn run<const SIZE: u8, const ALONE: bool>(&mut self, end: Time) {
        self.context.events.queue.set_end(end.as_ps());
        #[cfg(debug_assertions)]
        let mut last = 0;
        loop {
            let Context {
                setup,
                events,
                extras,
                ..
            } = &mut self.context;
            let queue = &mut events.queue;
            let (time, id) = if SIZE == LARGE {
                queue.pop_prefetched(|queue| {
                    let prefetch = Prefetch {
                        setup,
                        wire: &self.wire,
                        hosts: &self.hosts,
                        endpoints: &self.endpoints,
                        extras,
                        of_target: &[],
                    };
                    let current = queue.current().iter().map(|event| event.id);
                    prefetch.follow_all::<false>(queue, current);
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
                port.prefetch_first();
            }
            if !self.handle::<SIZE, ALONE>(Time::from_ps(time), id) {
                return;
            }
        }
    }

    /// Handles an event of the queue. Returns false if there is none.
    #[inline(always)]
    fn handle<const SIZE: u8, const ALONE: bool>(&mut self, time: Time, id: u32) -> bool {
        let events = &mut self.context.events;
        // The bound is written as in `Wire::arrival`, so that the compiler drops its check there.
        if (id as usize) < self.wire.links() {
            events.now = time;
            let arrived = self.wire.arrival::<ALONE>(&mut self.context, id);
            if let Some(Arrived { host, packet, rest }) = arrived {
                self.receive(host, packet);
                if rest != NONE {
                    self.receive_rest::<ALONE>(rest);
                }
            }
            return true;
        }
        if id == NONE {
            return false;
        }
        events.now = time;
        events.processed += 1;
        let links = self.wire.links() as u32;
        if id < 2 * links {
            if SIZE == SMALL && ALONE {
                self.rare_departure(id - links);
            } else {
                self.departure::<ALONE>(id - links);
            }
        } else {
            self.process(id);
        }
        true
    }

    /// Handles a departure event of `link`.
    #[inline(always)]
    fn departure<const ALONE: bool>(&mut self, link: u32) {
        let Self {
            context,
            wire,
            hosts,
            endpoints,
            ..
        } = self;
        hosts.departure::<ALONE>(context, wire, endpoints, link);
    }

    /// Handles a departure event in a small network, where one switch is often the bottleneck and hosts rarely wait.
    /// The loop without it keeps more values in registers.
    #[inline(never)]
    fn rare_departure(&mut self, link: u32) {
        self.departure::<true>(link);
    }

    /// Passes a packet that reached `host` to its endpoint.
    #[inline(always)]
    fn receive(&mut self, host: u32, packet: Packet) {
        dispatch_packet!(packet, T => self.data::<T>(host, packet), self.acknowledgement::<T>(packet));
    }

    /// Passes the remaining packets that `link` has delivered by now to the host's endpoints.
    #[inline(never)]
    fn receive_rest<const ALONE: bool>(&mut self, link: u32) {
        while let Some(Arrived { host, packet, rest }) =
            self.wire.arrival::<ALONE>(&mut self.context, link)
        {
            self.receive(host, packet);
            if rest == NONE {
                return;
            }
        }
    }

    /// Performs the action of a single event.
    #[inline(never)]
    fn process(&mut self, id: u32) {
        match self.context.events.retire(id) {
            Single::Timer { host, slot } => self.timer(host, slot),
            Single::Program { link } => self.tick(link),
            Single::Sample { position } => self.sample(position),
            Single::Windows => self.sample_windows(),
        }
    }

    /// Runs the program at the port of `link`.
    #[inline(never)]
    fn tick(&mut self, link: u32) {
        let (hosts, endpoints) = (&self.hosts, &self.endpoints);
        self.wire.tick(&mut self.context, link, |host| {
            let ready = hosts.ready(host);
            ready.map(|sender| endpoints.overdue(sender)).sum()
        });
    }

    /// Samples the link with this index among those that the partition samples.
    #[inline(never)]
    fn sample(&mut self, position: u32) {
        let Context {
            events, recorder, ..
        } = &mut self.context;
        let link = recorder.sampled_link(position);
        let port = self.wire.drained(link, events.now);
        recorder.sample(events, port, position);
    }

    /// Samples the windows of TCP senders.
    #[inline(never)]
    fn sample_windows(&mut self) {
        let windows = self.endpoints.windows(self.context.now());
        let Context {
            setup,
            events,
            recorder,
            ..
        } = &mut self.context;
        recorder.sample_windows(setup, events, windows);
    }

    /// Handles a timer of `host` that is due.
    #[inline(never)]
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
}
