//! Clock of a partition and its pending events.
//!
//! There is one event per packet-hop: a link's packets in flight are in its port's ring, and the queue holds only the
//! next arrival of each busy link; arrivals over inlets bypass it (see `wire::inlets`). Events are ordered by (time,
//! kind, hash, number). The hash is keyed by the link or host and by the number of events it has had. The order
//! therefore depends neither on when an event was inserted nor on the number of partitions (see `queue`).

use super::wheel::Wheel;
use super::wire::Arrival;
use crate::partition::Subpartitions;
use crate::queue::{EventQueue, order};
use crate::setup::Setup;
use duetime_core::prefetch::prefetch;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};

/// Kinds of event, in the order of simultaneous events.
const DEPARTURE: u64 = 0;
const TICK: u64 = 1;
const ARRIVAL: u64 = 2;
const TIMER: u64 = 3;

/// Flag in the number of a tick: sample the link instead of running its port's program.
const SAMPLE: u32 = 1 << 31;
/// Number of a tick that samples the windows of TCP senders.
const WINDOWS: u32 = u32::MAX;

/// Bytes of a full frame.
pub(super) const FULL_FRAME: u64 = 1_538;
/// Approximate number of wheel slots within the reach of the queue's calendars.
const SLOTS_IN_REACH: u64 = 8;

/// Minimum number of links for adapting the bucket width of the calendar. Buckets of smaller networks are wide enough.
const MANY_LINKS: u32 = 512;
/// Number of calls of `adapt_width` per adaptation.
const ADAPT_INTERVAL: u32 = 16;
/// Range of buckets per event; outside it, the buckets are made narrower or wider. Wide buckets touch fewer cache lines;
/// narrow buckets rarely hold two events.
const BUCKETS_PER_EVENT: std::ops::RangeInclusive<u64> = 2..=9;
/// Maximum bucket width, as a binary logarithm relative to the initial width.
const MAX_WIDENING: u32 = 6;

/// Clock of a partition and its pending events.
pub struct Events {
    /// Simulated time.
    pub now: Time,
    pub(super) queue: EventQueue,
    /// Single events that are not in the queue yet.
    wheel: Wheel,
    /// Largest distance from the next event at which single events are moved into the queue.
    reach: Span,
    density: Density,
    /// Number of processed events, packet-hops excluded.
    pub(super) processed: u64,
    links: u32,
    /// Inlets of each sub-partition. Empty if there is only one.
    pub(super) inlets: Vec<Inlets>,
    /// Sub-partition of each switch.
    of_switch: Vec<u16>,
    /// Sub-partition of each link's far end, by link.
    pub(super) of_target: Vec<u16>,
    /// Sub-partition of each host.
    of_host: Vec<u16>,
}

/// Density of events in time, which determines the bucket width of the calendar.
#[derive(Default)]
struct Density {
    /// Shift of the narrowest buckets, as [`EventQueue::shift`].
    narrowest: u32,
    /// Calls since the last adaptation.
    calls: u32,
    /// Time and event count at the last adaptation.
    last: (Time, u64),
}

/// Action of a single event.
pub enum Single {
    /// A host's timer in slot `slot` fires.
    Timer { host: u32, slot: u32 },
    /// The program at the port of a link runs.
    Program { link: u32 },
    /// A link is sampled; `position` is its index among the links that the partition samples.
    Sample { position: u32 },
    /// The windows of TCP senders are sampled.
    Windows,
}

/// Packets that arrive in a sub-partition over inlets and are gathered by window (see `wire::inlets`).
#[derive(Clone)]
pub(super) struct Inlets {
    /// Time before which none arrives: that of the next arrival, or [`Time::MAX`].
    pub(super) next: Time,
    /// Packets, in any order, except those in the rings of backlogged links.
    pub(super) arrivals: Vec<Arrival>,
    /// Backlogged links, with the number of packets at the front of their rings that are among `arrivals`.
    pub(super) backlogged: Vec<(u32, u32)>,
}

impl Inlets {
    const IDLE: Self = Self {
        next: Time::MAX,
        arrivals: Vec::new(),
        backlogged: Vec::new(),
    };
}

impl Events {
    /// Creates an empty set of events at time zero.
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
        let subpartition = |node: u32| subpartitions.of_node[node as usize];
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
            processed: 0,
            links,
            inlets: if subpartitions.len() > 1 {
                vec![Inlets::IDLE; subpartitions.len()]
            } else {
                Vec::new()
            },
            of_switch: subpartitions.of_node[network.hosts.len()..].to_vec(),
            of_target: (network.links.iter())
                .map(|link| subpartition(link.to))
                .collect(),
            of_host: (network.hosts.iter())
                .map(|&node| subpartition(node))
                .collect(),
        }
    }

    /// Returns the time of the next event, or [`Time::MAX`] if none is pending.
    pub fn next(&self) -> Time {
        let scheduled = Time::from_ps(self.queue.next_time().min(self.wheel.next_time_ps()));
        (self.inlets.iter()).fold(scheduled, |next, inlets| next.min(inlets.next))
    }

    /// Returns true if sub-partition `number` has an event before `end`.
    pub(super) fn has_event_before(&self, number: usize, end: Time) -> bool {
        let last_ps = end.as_ps().saturating_sub(1);
        self.inlets[number].next < end || self.queue.is_due_in(number, last_ps)
    }

    /// Prefetches the state of a sub-partition that is not open, if it exists.
    #[inline]
    pub(super) fn prefetch_subpartition(&self, number: usize) {
        if let Some(inlets) = self.inlets.get(number) {
            prefetch(inlets);
            self.queue.prefetch_closed(number);
        }
    }

    /// Moves single events that are due before `end` from the wheel into the queue, as far as the queue's calendars
    /// reach. There is no event before `next`. Returns the time before which the queue is complete. Calls `on_timer` with
    /// the host and slot of each timer moved.
    pub(super) fn complete_queue(
        &mut self,
        next: Time,
        end: Time,
        on_timer: impl FnMut(u32, u32),
    ) -> Time {
        if next >= end {
            return end;
        }
        let until = end.min(next + self.reach);
        self.release(until, on_timer);
        until
    }

    /// Moves single events that are due before `until` from the wheel into the queue. Calls `on_timer` with the host and
    /// slot of each timer moved.
    pub(super) fn release(&mut self, until: Time, mut on_timer: impl FnMut(u32, u32)) {
        let Self {
            wheel,
            queue,
            of_host,
            of_target,
            ..
        } = self;
        wheel.release(until.as_ps(), |time_ps, order| {
            if order >> 62 == TIMER {
                on_timer(entity(order), order as u32);
            }
            queue.push_single_to(subpartition_of(order, of_host, of_target), time_ps, order);
        });
    }

    /// Adapts the bucket width to the density of events. `hops` is the number of packet-hops so far. Call only if there
    /// is a single sub-partition.
    pub(super) fn adapt_width(&mut self, hops: u64) {
        self.density.calls += 1;
        if self.density.calls < ADAPT_INTERVAL || self.links < MANY_LINKS {
            return;
        }
        let events = hops + self.processed;
        let (since, before) = std::mem::replace(&mut self.density.last, (self.now, events));
        self.density.calls = 0;
        let shift = self.queue.shift();
        let buckets = self.now.since(since).as_ps() >> shift;
        let events = (events - before).max(1);
        let narrowest = self.density.narrowest;
        if buckets > BUCKETS_PER_EVENT.end() * events && shift < narrowest + MAX_WIDENING {
            self.queue.change_width(shift + 1);
        } else if buckets < BUCKETS_PER_EVENT.start() * events && shift > narrowest {
            self.queue.change_width(shift - 1);
        }
    }

    /// Schedules the next arrival at the far end of `link`, which is in the open sub-partition. `ALONE` is true if
    /// there is only one sub-partition.
    #[inline(always)]
    pub fn schedule_arrival<const ALONE: bool>(&mut self, at: Time, link: u32) {
        self.queue.push::<ALONE>(at.as_ps(), link);
    }

    /// Schedules the next arrival at the far end of `link`, in whichever sub-partition that is.
    #[inline(always)]
    pub fn schedule_arrival_anywhere(&mut self, at: Time, link: u32) {
        let target = usize::from(self.of_target[link as usize]);
        self.queue.push_to(target, at.as_ps(), link);
    }

    /// Adds the arrival of a packet over an inlet.
    #[inline(always)]
    pub fn expect_arrival(&mut self, arrival: Arrival) {
        let inlets = self.inlets_at(arrival.switch);
        inlets.next = arrival.at.min(inlets.next);
        inlets.arrivals.push(arrival);
    }

    /// Returns the inlets of a switch's sub-partition.
    #[inline(always)]
    pub(super) fn inlets_at(&mut self, switch: u32) -> &mut Inlets {
        &mut self.inlets[usize::from(self.of_switch[switch as usize])]
    }

    /// Schedules the arrival with index `number` at the far end of `link`. The index orders simultaneous events and
    /// counts the arrivals of the link in all partitions.
    #[inline(always)]
    pub fn schedule_numbered_arrival(&mut self, at: Time, link: u32, number: u32) {
        self.queue.set_turn(link, number);
        if self.queue.is_one() {
            self.schedule_arrival::<true>(at, link);
        } else {
            self.schedule_arrival_anywhere(at, link);
        }
    }

    /// Schedules the next departure from the port of `link`.
    #[inline]
    pub fn schedule_departure<const ALONE: bool>(&mut self, at: Time, link: u32) {
        self.queue.push::<ALONE>(at.as_ps(), self.links + link);
    }

    /// Schedules the program at the port of `link`.
    pub fn schedule_program(&mut self, at: Time, link: u32) {
        self.schedule_tick(at, link, link);
    }

    /// Schedules the program of `link` at the host behind it.
    pub fn schedule_program_at_host(&mut self, at: Time, link: u32) {
        // The reverse link starts at that host.
        self.schedule_tick(at, link ^ 1, link);
    }

    /// Schedules a sample of `link`, whose index among the links sampled by the partition is `position`.
    pub fn schedule_sample(&mut self, at: Time, link: u32, position: u32) {
        self.schedule_tick(at, link, position | SAMPLE);
    }

    /// Schedules a sample of the windows of TCP senders.
    pub fn schedule_windows(&mut self, at: Time) {
        self.schedule_tick(at, 0, WINDOWS);
    }

    fn schedule_tick(&mut self, at: Time, link: u32, number: u32) {
        self.schedule_single(at, order(TICK, link, number));
    }

    /// Schedules the timer of `host` in slot `slot`.
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

    /// Returns the action of a single event that was popped, and frees its id.
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

/// Returns the sub-partition of a single event from its order.
fn subpartition_of(order: u64, of_host: &[u16], of_target: &[u16]) -> usize {
    let entity = entity(order) as usize;
    usize::from(if order >> 62 == TIMER {
        of_host[entity]
    } else {
        // The reverse link ends where the port is.
        of_target[entity ^ 1]
    })
}

/// Returns the link or host of an event from its order.
const fn entity(order: u64) -> u32 {
    (order >> 32) as u32 & (u32::MAX >> 2)
}
