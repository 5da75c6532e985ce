//! Arrivals over inlets, which are links between sub-partitions (see `windows`) or partitions (see `crossing`).
//!
//! All packets that arrive over an inlet within a window are on the link when the window begins. They are therefore
//! gathered and sorted together, which costs less than passing each through the event queue.

use super::{Link, Wire};
use crate::engine::context::Context;
use crate::packet::Packet;
use crate::queue::{EventQueue, Precedence};
use duetime_core::{Span, Time};

/// Number of arrivals in one interval of time above which they are not sorted by insertion.
const MANY: u32 = 32;

/// Arrivals of a window, in order.
#[derive(Default)]
pub struct Gathered {
    /// Arrivals, by link.
    arrivals: Vec<Arrival>,
    /// Times, with indices into `arrivals`, in order.
    order: Vec<(Time, u32)>,
    /// Number of arrivals by interval of time, while sorting.
    counts: Vec<u32>,
}

/// Arrival of a packet at a switch.
#[derive(Clone, Copy)]
pub struct Arrival {
    packet: Packet,
    at: Time,
    /// Inlet.
    link: u32,
    /// Number of the arrival at the inlet, modulo 2³².
    turn: u32,
    /// Link by which the packet leaves.
    out: u32,
}

impl Gathered {
    /// Returns the arrivals with their times, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, &Arrival)> {
        let arrival = |&(at, index): &(Time, u32)| (at, &self.arrivals[index as usize]);
        self.order.iter().map(arrival)
    }

    /// Sorts the arrivals, which are between `first` and `last`: by about as many intervals of time as there are
    /// arrivals, and then by insertion, or with the library's sort if they are not spread evenly.
    fn sort(&mut self, queue: &EventQueue, first: Time, last: Time) {
        let Self {
            arrivals,
            order,
            counts,
        } = self;
        let intervals = arrivals.len().next_power_of_two();
        let span = last.since(first).as_ps();
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(intervals.trailing_zeros());
        let interval = |at: Time| (at.since(first).as_ps() >> shift) as usize;
        counts.clear();
        counts.resize(intervals, 0);
        for arrival in &*arrivals {
            counts[interval(arrival.at)] += 1;
        }
        let (mut before, mut most) = (0, 0);
        for count in &mut *counts {
            most = most.max(*count);
            before += std::mem::replace(count, before);
        }
        order.clear();
        order.resize(arrivals.len(), (first, 0));
        for (index, arrival) in (0..).zip(&*arrivals) {
            let place = &mut counts[interval(arrival.at)];
            order[*place as usize] = (arrival.at, index);
            *place += 1;
        }
        let compare = |a: &(Time, u32), b: &(Time, u32)| {
            let rank = |index: u32| {
                let Arrival { link, turn, .. } = arrivals[index as usize];
                queue.precedence_at(link, turn)
            };
            a.0.cmp(&b.0).then_with(|| rank(a.1).cmp(&rank(b.1)))
        };
        if most > MANY {
            return order.sort_unstable_by(compare);
        }
        for end in 1..order.len() {
            let arrival = order[end];
            let mut place = end;
            while place > 0 && compare(&order[place - 1], &arrival).is_gt() {
                order[place] = order[place - 1];
                place -= 1;
            }
            if place < end {
                order[place] = arrival;
            }
        }
    }
}

impl Arrival {
    /// Returns the rank among simultaneous events.
    pub fn precedence(&self, context: &Context) -> Precedence {
        context.events.queue.precedence_at(self.link, self.turn)
    }
}

impl Wire {
    /// Removes the packets that arrive before `end` from the inlets of a sub-partition and puts them into `gathered`.
    pub fn gather(
        &mut self,
        context: &mut Context,
        subpartition: usize,
        end: Time,
        gathered: &mut Gathered,
    ) {
        let Gathered { arrivals, .. } = gathered;
        arrivals.clear();
        let (mut first, mut last, mut next) = (Time::MAX, Time::ZERO, Time::MAX);
        let mut busy = std::mem::take(&mut context.events.inlets[subpartition].busy);
        self.prefetch_inlets(context, &busy);
        busy.retain(|&link| {
            let port = &mut self.ports[link as usize];
            let Link { target, .. } = Link::of(port);
            let Context { setup, events, .. } = &mut *context;
            let before = arrivals.len();
            let left = port.take_arriving_before(end, |at, packet| {
                let (to, flow) = (packet.destination(), packet.flow);
                arrivals.push(Arrival {
                    packet,
                    at,
                    link,
                    turn: events.queue.take_turn(link),
                    out: setup.routing.next_at_switch(target, to, flow, at),
                });
            });
            let taken = &arrivals[before..];
            for arrival in taken {
                self.ports[arrival.out as usize].prefetch_offer();
            }
            if let [earliest, .., latest] | [earliest @ latest] = taken {
                first = first.min(earliest.at);
                last = last.max(latest.at);
            }
            next = next.min(left.unwrap_or(Time::MAX));
            left.is_some()
        });
        let left = (self.crossings).take_arriving_before(subpartition, end, |message| {
            self.ports[message.out as usize].prefetch_offer();
            first = first.min(message.arrival);
            last = last.max(message.arrival);
            arrivals.push(Arrival {
                packet: message.packet,
                at: message.arrival,
                link: message.link,
                turn: message.number,
                out: message.out,
            });
        });
        next = next.min(left);
        let inlets = &mut context.events.inlets[subpartition];
        (inlets.next, inlets.busy) = (next, busy);
        for arrival in &gathered.arrivals {
            let port = &self.ports[arrival.out as usize];
            port.prefetch_wire();
            if Link::of(port).special & Link::CROSSING != 0 {
                context.extras.prefetch(&arrival.packet);
            }
        }
        gathered.sort(&context.events.queue, first, last);
    }

    /// Prefetches the packets on inlets, and the numbers of their arrivals.
    fn prefetch_inlets(&self, context: &Context, inlets: &[u32]) {
        for &link in inlets {
            self.ports[link as usize].prefetch_arrival();
            context.events.queue.prefetch(link);
        }
        for &link in inlets {
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
        for (count, span_ps) in [(0, 1), (1, 1), (2, 1), (100, 1), (300, 20), (300, 1 << 40)] {
            let mut queue = EventQueue::new(1, orders.clone(), 7, 1);
            let mut gathered = Gathered::default();
            let times = (0..count).map(|number| 5 + mix(number, span_ps) % span_ps);
            for (number, time) in times.enumerate() {
                let link = number as u32 % LINKS;
                gathered.arrivals.push(Arrival {
                    packet: Packet::new(0, 0, 0, 0, 0, 0),
                    at: Time::from_ps(time),
                    link,
                    turn: queue.take_turn(link),
                    out: 0,
                });
            }
            let times = gathered.arrivals.iter().map(|arrival| arrival.at);
            let (first, last) = (times.clone().min(), times.max());
            let ends = first.zip(last).unwrap_or((Time::MAX, Time::ZERO));
            gathered.sort(&queue, ends.0, ends.1);
            let rank =
                |at, arrival: &Arrival| (at, queue.precedence_at(arrival.link, arrival.turn));
            let sorted: Vec<_> = gathered
                .iter()
                .map(|(at, arrival)| rank(at, arrival))
                .collect();
            let all = gathered.arrivals.iter();
            let mut expected: Vec<_> = all.map(|arrival| rank(arrival.at, arrival)).collect();
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }
}
