//! The clock of a partition and its pending events.
//!
//! One event per packet-hop: a link's packets in flight lie in its port's ring, and the queue holds each busy link's
//! next arrival only. The order of events is (time, kind, keyed hash of link or host and of how many events it has had,
//! number), which never depends on when an event was put in nor on how many partitions there are (see `queue`).

use super::wheel::Wheel;
use super::windows::Windows;
use crate::partition::Subpartitions;
use crate::queue::{EventQueue, order};
use crate::setup::Setup;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};

/// Kinds of event, in their order among simultaneous ones.
const DEPARTURE: u64 = 0;
const TICK: u64 = 1;
const ARRIVAL: u64 = 2;
const TIMER: u64 = 3;

/// In the number of a tick: it samples the link instead of running its port's program.
const SAMPLE: u32 = 1 << 31;
/// The number of a tick that samples the windows of TCP senders.
const WINDOWS: u32 = u32::MAX;

/// A full frame, in bytes.
const FULL_FRAME: u64 = 1_538;
/// Slots of the wheel within the reach of the queue's calendars, about.
const SLOTS_IN_REACH: u64 = 8;

/// Links from which on the width of the calendar's buckets follows the events: the buckets of a smaller network are wide
/// anyway.
const MANY_LINKS: u32 = 512;
/// The width is looked at when the queue has been completed so many times.
const LOOK_EVERY: u32 = 16;
/// Buckets per event: with fewer they are made narrower, with more wider. Wider ones take fewer cache lines, and narrower
/// ones rarely have two events.
const BUCKETS_PER_EVENT: std::ops::RangeInclusive<u64> = 2..=9;
/// The widest buckets are 2 to the power of this times as wide as the first ones.
const WIDEST: u32 = 6;

/// The clock of a partition and its pending events.
pub struct Events {
    /// The simulated time.
    pub now: Time,
    pub(super) queue: EventQueue,
    /// Single events that are not in the queue yet.
    wheel: Wheel,
    /// Single events are moved into the queue when they lie at most so far ahead.
    reach: Span,
    pub(super) windows: Windows,
    density: Density,
    /// Processed so far, packet-hops left out.
    pub(super) processed: u64,
    links: u32,
    /// The sub-partition of each link's far end.
    of_target: Vec<u16>,
    /// The sub-partition of each host.
    of_host: Vec<u16>,
}

/// How many events there are in a time: what the width of the calendar's buckets follows.
#[derive(Default)]
struct Density {
    /// Of the narrowest buckets, as [`EventQueue::shift`].
    narrowest: u32,
    /// How often the queue has been completed since the last look.
    windows: u32,
    /// When that was, and how many events there had been.
    last: (Time, u64),
}

/// What a single event asks for.
pub enum Single {
    /// The timer `slot` of a host.
    Timer { host: u32, slot: u32 },
    /// The program at the port of a link.
    Program { link: u32 },
    /// A sample of a link, by its position among those that the partition samples.
    Sample { position: u32 },
    /// A sample of the windows of TCP senders.
    Windows,
}

impl Events {
    /// No events, at time zero.
    pub fn new(setup: &Setup, subpartitions: &Subpartitions) -> Self {
        let network = &setup.network;
        let links = network.links.len() as u32;
        let fixed = |kind: u64| (0..links).map(move |link| order(kind, link, 0));
        let slowest = network
            .links
            .iter()
            .map(|link| (link.rate.transmit(FULL_FRAME) + link.latency).as_ps())
            .max()
            .map(|longest| longest + setup.send_jitter.as_ps() + setup.usual_reception().as_ps());
        let of = |node: u32| subpartitions.of_node[node as usize];
        let queue = EventQueue::new(
            slowest.unwrap_or(0),
            fixed(ARRIVAL).chain(fixed(DEPARTURE)).collect(),
            setup.streams.key(0, Purpose::Order),
            subpartitions.len(),
        );
        let slot_ps = queue.reach_ps() / SLOTS_IN_REACH;
        Self {
            now: Time::ZERO,
            reach: Span::from_ps(queue.reach_ps() - slot_ps),
            wheel: Wheel::new(slot_ps),
            density: Density {
                narrowest: queue.shift(),
                ..Density::default()
            },
            queue,
            windows: Windows::new(subpartitions),
            processed: 0,
            links,
            of_target: network.links.iter().map(|link| of(link.to)).collect(),
            of_host: network.hosts.iter().map(|&node| of(node)).collect(),
        }
    }

    /// When the next event is due, or [`Time::MAX`].
    pub fn next(&self) -> Time {
        Time::from_ps(self.queue.next_time().min(self.wheel.next_time_ps()))
    }

    /// Moves single events from the wheel into the queue: all that are due before `end`, or as many as the queue's
    /// calendars reach. Returns until when the queue is complete then. `look` is called for each timer, with its host and
    /// slot.
    pub(super) fn complete_queue(&mut self, end: Time, mut look: impl FnMut(u32, u32)) -> Time {
        let next = self.next();
        if next >= end {
            return end;
        }
        let until = end.min(next + self.reach);
        let Self {
            wheel,
            queue,
            of_host,
            of_target,
            ..
        } = self;
        wheel.give_out(until.as_ps(), |time_ps, order| {
            if order >> 62 == TIMER {
                look(entity(order), order as u32);
            }
            queue.push_single_to(subpartition_of(order, of_host, of_target), time_ps, order);
        });
        until
    }

    /// Lets the width of the buckets follow the density of events; `hops` of them were packet-hops so far. Only where there
    /// is one sub-partition.
    pub(super) fn follow_density(&mut self, hops: u64) {
        self.density.windows += 1;
        if self.density.windows < LOOK_EVERY || self.links < MANY_LINKS {
            return;
        }
        let events = hops + self.processed;
        let (since, before) = std::mem::replace(&mut self.density.last, (self.now, events));
        self.density.windows = 0;
        let shift = self.queue.shift();
        let buckets = self.now.since(since).as_ps() >> shift;
        let events = (events - before).max(1);
        let narrowest = self.density.narrowest;
        if buckets > BUCKETS_PER_EVENT.end() * events && shift < narrowest + WIDEST {
            self.queue.change_width(shift + 1);
        } else if buckets < BUCKETS_PER_EVENT.start() * events && shift > narrowest {
            self.queue.change_width(shift - 1);
        }
    }

    /// The next arrival at the far end of `link`, which lies in the sub-partition that is open; `ALONE`: it is the only
    /// one.
    #[inline(always)]
    pub fn schedule_arrival<const ALONE: bool>(&mut self, at: Time, link: u32) {
        self.queue.push::<ALONE>(at.as_ps(), link);
    }

    /// The same wherever the far end lies.
    #[inline(always)]
    pub fn schedule_arrival_anywhere(&mut self, at: Time, link: u32) {
        let target = usize::from(self.of_target[link as usize]);
        self.queue.push_to(target, at.as_ps(), link);
    }

    /// The same of an arrival that is number `number` of those at the far end of the link, which other partitions have
    /// too.
    #[inline(always)]
    pub fn schedule_numbered_arrival(&mut self, at: Time, link: u32, number: u32) {
        self.queue.set_turn(link, number);
        if self.queue.is_one() {
            self.schedule_arrival::<true>(at, link);
        } else {
            self.schedule_arrival_anywhere(at, link);
        }
    }

    /// The next departure from the port of `link`.
    #[inline]
    pub fn schedule_departure(&mut self, at: Time, link: u32) {
        self.queue.push::<false>(at.as_ps(), self.links + link);
    }

    /// Runs the program at the port of `link`.
    pub fn schedule_program(&mut self, at: Time, link: u32) {
        self.schedule_tick(at, link, link);
    }

    /// Runs the program of `link` at the host behind it.
    pub fn schedule_program_at_host(&mut self, at: Time, link: u32) {
        // The other direction of the same link begins there.
        self.schedule_tick(at, link ^ 1, link);
    }

    /// Samples `link`, which is number `position` among those that the partition samples.
    pub fn schedule_sample(&mut self, at: Time, link: u32, position: u32) {
        self.schedule_tick(at, link, position | SAMPLE);
    }

    /// Samples the windows of TCP senders.
    pub fn schedule_windows(&mut self, at: Time) {
        self.schedule_tick(at, 0, WINDOWS);
    }

    fn schedule_tick(&mut self, at: Time, link: u32, number: u32) {
        self.schedule_single(at, order(TICK, link, number));
    }

    /// The timer `slot` of `host`.
    pub fn schedule_timer(&mut self, at: Time, host: u32, slot: u32) {
        self.schedule_single(at, order(TIMER, host, slot));
    }

    fn schedule_single(&mut self, at: Time, order: u64) {
        let time_ps = at.as_ps();
        if !self.wheel.put(time_ps, order) {
            let subpartition = subpartition_of(order, &self.of_host, &self.of_target);
            self.queue.push_single_to(subpartition, time_ps, order);
        }
    }

    /// Takes what a single event that was popped asks for; its number is free again.
    pub(super) fn retire(&mut self, id: u32) -> Single {
        let order = self.queue.retire(id);
        let (entity, number) = (entity(order), order as u32);
        if order >> 62 == TIMER {
            Single::Timer {
                host: entity,
                slot: number,
            }
        } else if number == WINDOWS {
            Single::Windows
        } else if number & SAMPLE != 0 {
            Single::Sample {
                position: number & !SAMPLE,
            }
        } else {
            Single::Program { link: number }
        }
    }
}

/// The sub-partition of a single event, by its order.
fn subpartition_of(order: u64, of_host: &[u16], of_target: &[u16]) -> usize {
    let entity = entity(order) as usize;
    usize::from(if order >> 62 == TIMER {
        of_host[entity]
    } else {
        // The other direction of the same link ends where the port is.
        of_target[entity ^ 1]
    })
}

/// The link or host of an event, by its order.
const fn entity(order: u64) -> u32 {
    (order >> 32) as u32 & (u32::MAX >> 2)
}
