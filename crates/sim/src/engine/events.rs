//! The clock of a partition and its pending events.
//!
//! One event per packet-hop: a link's packets in flight lie in its port's ring, and the queue holds each busy link's
//! next arrival only. The order of events is (time, kind, keyed hash of link or host and of how many events it has had,
//! number), which never depends on when an event was put in nor on how many partitions there are (see `queue`).

use super::windows::Windows;
use crate::partition::Subpartitions;
use crate::queue::{EventQueue, order};
use crate::setup::Setup;
use duetime_core::Time;
use duetime_core::random::Purpose;

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

/// The clock of a partition and its pending events.
pub struct Events {
    /// The simulated time.
    pub now: Time,
    pub(super) queue: EventQueue,
    pub(super) windows: Windows,
    /// Processed so far, packet-hops left out.
    pub(super) processed: u64,
    links: u32,
    /// The sub-partition of each link's far end.
    of_target: Vec<u16>,
    /// The sub-partition of each host.
    of_host: Vec<u16>,
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
            .map(|longest| longest + setup.send_jitter.as_ps());
        let of = |node: u32| subpartitions.of_node[node as usize];
        Self {
            now: Time::ZERO,
            queue: EventQueue::new(
                slowest.unwrap_or(0),
                fixed(ARRIVAL).chain(fixed(DEPARTURE)).collect(),
                setup.streams.key(0, Purpose::Order),
                subpartitions.len(),
            ),
            windows: Windows::new(subpartitions),
            processed: 0,
            links,
            of_target: network.links.iter().map(|link| of(link.to)).collect(),
            of_host: network.hosts.iter().map(|&node| of(node)).collect(),
        }
    }

    /// When the next event is due, or [`Time::MAX`].
    pub fn next(&mut self) -> Time {
        Time::from_ps(self.queue.next_time())
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

    /// The next departure from the port of `link`.
    #[inline]
    pub fn schedule_departure(&mut self, at: Time, link: u32) {
        self.queue.push::<false>(at.as_ps(), self.links + link);
    }

    /// Runs the program at the port of `link`.
    pub fn schedule_program(&mut self, at: Time, link: u32) {
        self.schedule_tick(at, link, link);
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
        // The other direction of the same link ends where the port is.
        let port = usize::from(self.of_target[link as usize ^ 1]);
        self.queue
            .push_single_to(port, at.as_ps(), order(TICK, link, number));
    }

    /// The timer `slot` of `host`.
    pub fn schedule_timer(&mut self, at: Time, host: u32, slot: u32) {
        let host_in = usize::from(self.of_host[host as usize]);
        self.queue
            .push_single_to(host_in, at.as_ps(), order(TIMER, host, slot));
    }

    /// The same for a time that is far ahead, by as much as for most others: when a closed connection is forgotten.
    pub fn schedule_forgetting(&mut self, at: Time, host: u32, slot: u32) {
        let host_in = usize::from(self.of_host[host as usize]);
        self.queue
            .push_far_to(host_in, at.as_ps(), order(TIMER, host, slot));
    }

    /// Takes what a single event that was popped asks for; its number is free again.
    pub(super) fn retire(&mut self, id: u32) -> Single {
        let order = self.queue.retire(id);
        let (entity, number) = ((order >> 32) as u32 & (u32::MAX >> 2), order as u32);
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
