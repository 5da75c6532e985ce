//! Arrivals over inlets, which are links between sub-partitions (see `windows`) or partitions (see `crossing`).
//!
//! All packets that arrive over an inlet within a window have been sent when the window begins. They are therefore
//! gathered and sorted together, which costs less than passing each through the event queue.
//!
//! A packet that finds the port of an inlet with few packets is added to the arrivals at the far end as soon as it is
//! sent, so that its arrival touches neither the port nor its ring. The packets of a backlogged link are found in the
//! ring when they arrive, because they would be among the arrivals for many windows.

use super::{Link, Wire};
use crate::engine::context::Context;
use crate::engine::events::Inlets;
use crate::packet::Packet;
use crate::queue::EventQueue;
use duetime_core::{Span, Time};
use duetime_link::Port;

/// Number of bits of a key that are an arrival's index. More arrivals would take a gigabyte.
const INDEX_BITS: u32 = 24;
/// Longest time in a key.
const LONGEST_PS: u64 = u64::MAX >> INDEX_BITS;
/// Number of packets in a port from which on its link is backlogged.
const BACKLOG: u32 = 4;

/// Arrivals of a window, in order.
#[derive(Default)]
pub struct Gathered {
    /// Arrivals, in any order.
    arrivals: Vec<Arrival>,
    /// Time before which there is none.
    first: Time,
    /// Keys of the arrivals, in their order: the time since the first one in picoseconds, at most [`LONGEST_PS`], then
    /// the index.
    keys: Vec<u64>,
}

/// Arrival of a packet at a switch.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub packet: Packet,
    /// Link over which it arrives.
    pub link: u32,
    /// Number of packets that the link has carried, including this one, modulo 2³². The arrival has this number in
    /// whichever partition it occurs.
    pub number: u32,
    /// Index of the switch.
    pub switch: u32,
    /// Link by which the packet leaves the switch.
    pub out: u32,
}

impl Gathered {
    /// Returns the arrivals in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        self.keys.iter().map(|&key| &self.arrivals[index_of(key)])
    }

    /// Sorts the arrivals.
    pub fn sort(&mut self, queue: &EventQueue) {
        let Self {
            arrivals,
            keys,
            first,
        } = self;
        assert!(arrivals.len() < 1 << INDEX_BITS, "too many arrivals");
        keys.clear();
        keys.extend((0..).zip(&*arrivals).map(|(index, arrival): (u64, _)| {
            let after_ps = arrival.at.since(*first).as_ps().min(LONGEST_PS);
            (after_ps << INDEX_BITS) | index
        }));
        keys.sort_unstable();
        // Arrivals with the same time are in order of their indices so far.
        let is_tied = |a: &u64, b: &u64| a >> INDEX_BITS == b >> INDEX_BITS;
        for tied in keys.chunk_by_mut(is_tied).filter(|tied| tied.len() > 1) {
            tied.sort_unstable_by_key(|&key| {
                let Arrival {
                    at, link, number, ..
                } = arrivals[index_of(key)];
                (at, queue.precedence_at(link, number))
            });
        }
    }
}

/// Returns the index of the arrival with this key.
const fn index_of(key: u64) -> usize {
    (key & ((1 << INDEX_BITS) - 1)) as usize
}

/// Restarts the ring of a port if it is that of an inlet without backlog and all packets have left it, so that a lightly
/// loaded link uses one cache line of its ring.
#[inline(always)]
pub(super) fn restart_if_idle(port: &mut Port<Packet>, now: Time) {
    if Link::of(port).special & (Link::INLET | Link::BACKLOGGED) == Link::INLET {
        port.forget_if_idle(now);
    }
}

/// Adds the arrival at `at` of `packet`, which was just sent over the inlet `link`, unless the link is backlogged: then
/// the packet is gathered from the ring of its port.
#[inline(always)]
pub(super) fn expect_arrival(
    context: &mut Context,
    port: &mut Port<Packet>,
    link: u32,
    (packet, at): (Packet, Time),
) {
    let Link { target, special } = Link::of(port);
    if special & Link::BACKLOGGED != 0 {
        return;
    }
    let routing = &context.setup.routing;
    context.events.expect_arrival(Arrival {
        at,
        packet,
        link,
        number: port.carried(),
        switch: target,
        out: routing.next_at_switch(target, packet.destination(), packet.flow, at),
    });
    if port.sent_packets() >= BACKLOG {
        note_backlog(context, port, link);
    }
}

/// Forgets the packets that left the port of the inlet `link`. If many remain, the link is backlogged.
#[inline(never)]
fn note_backlog(context: &mut Context, port: &mut Port<Packet>, link: u32) {
    port.forget_departed(context.now());
    let known = port.sent_packets();
    if known >= BACKLOG {
        let switch = Link::of(port).target;
        context
            .events
            .inlets_at(switch)
            .backlogged
            .push((link, known));
        Link::set_backlogged(port, true);
    }
}

impl Wire {
    /// Removes the packets that arrive before `end` over the inlets of a sub-partition and puts them into `gathered`.
    pub fn gather(
        &mut self,
        context: &mut Context,
        subpartition: usize,
        end: Time,
        gathered: &mut Gathered,
    ) {
        let taken = &mut gathered.arrivals;
        taken.clear();
        let mut next = Time::MAX;
        let Context { setup, events, .. } = &mut *context;
        let Inlets {
            arrivals,
            backlogged,
            next: next_arrival,
        } = &mut events.inlets[subpartition];
        if *next_arrival >= end {
            return;
        }
        self.prefetch_rings(backlogged);
        arrivals.retain(|arrival| {
            let stays = arrival.at >= end;
            if stays {
                next = arrival.at.min(next);
            } else {
                self.ports[arrival.out as usize].prefetch_offer();
                taken.push(*arrival);
            }
            stays
        });
        backlogged.retain_mut(|(link, known)| {
            let (link, before) = (*link, taken.len());
            let port = &mut self.ports[link as usize];
            let switch = Link::of(port).target;
            let left = port.take_arriving_before(end, |at, packet, number| {
                if *known > 0 {
                    *known -= 1;
                    return;
                }
                let (to, flow) = (packet.destination(), packet.flow);
                taken.push(Arrival {
                    at,
                    packet,
                    link,
                    number,
                    switch,
                    out: setup.routing.next_at_switch(switch, to, flow, at),
                });
            });
            if left.is_none() {
                Link::set_backlogged(port, false);
            }
            for arrival in &taken[before..] {
                self.ports[arrival.out as usize].prefetch_offer();
            }
            next = next.min(left.unwrap_or(Time::MAX));
            left.is_some()
        });
        gathered.first = std::mem::replace(next_arrival, next);
    }

    /// Prefetches what an arrival needs outside of the port, which [`Wire::gather`] prefetched.
    #[inline(always)]
    pub fn prefetch_gathered(&self, context: &Context, arrival: &Arrival) {
        let port = &self.ports[arrival.out as usize];
        self.prefetch_offered(port);
        if Link::of(port).special & Link::CROSSING != 0 {
            context.extras.prefetch(&arrival.packet);
        }
    }

    /// Prefetches the packets on backlogged links.
    fn prefetch_rings(&self, backlogged: &[(u32, u32)]) {
        for &(link, _) in backlogged {
            self.ports[link as usize].prefetch_arrival();
        }
        for &(link, _) in backlogged {
            self.ports[link as usize].prefetch_on_link();
        }
    }

    /// Forwards a packet that arrives over an inlet now.
    #[inline(always)]
    pub fn forward_gathered(&mut self, context: &mut Context, arrival: &Arrival) {
        self.totals.packet_hops += 1;
        self.send::<false>(context, arrival.out, arrival.packet, Span::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::order;
    use duetime_core::random::mix;

    /// Arrivals are in the order in which the event queue would have them, ties included.
    #[test]
    fn arrivals_are_sorted_like_events() {
        const LINKS: u32 = 8;
        let orders: Vec<u64> = (0..LINKS).map(|link| order(2, link, 0)).collect();
        for (count, span_ps) in [
            (0, 1),
            (1, 1),
            (2, 1),
            (100, 1),
            (300, 20),
            (300, 1 << 40),
            (300, 1 << 50),
        ] {
            let queue = EventQueue::new(1, orders.clone(), 7, 1);
            let mut gathered = Gathered::default();
            let times = (0..count).map(|number| 5 + mix(number, span_ps) % span_ps);
            for (number, time) in times.enumerate() {
                let link = number as u32 % LINKS;
                gathered.arrivals.push(Arrival {
                    at: Time::from_ps(time),
                    packet: Packet::new(0, 0, 0, 0, 0, 0),
                    link,
                    number: number as u32,
                    switch: 0,
                    out: 0,
                });
            }
            let times = gathered.arrivals.iter().map(|arrival| arrival.at);
            gathered.first = times.min().unwrap_or(Time::MAX);
            gathered.sort(&queue);
            let rank =
                |at, arrival: &Arrival| (at, queue.precedence_at(arrival.link, arrival.number));
            let sorted: Vec<_> = gathered
                .iter()
                .map(|arrival| rank(arrival.at, arrival))
                .collect();
            let all = gathered.arrivals.iter();
            let mut expected: Vec<_> = all.map(|arrival| rank(arrival.at, arrival)).collect();
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }
}
