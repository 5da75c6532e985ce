//! Discipline of pFabric (Alizadeh et al., SIGCOMM 2013, §4.2): packets have priorities, and a full port drops the
//! packet with the lowest one.

use super::{Offer, Port, Sent, byte_time};
use crate::Frame;
use duetime_core::Time;

/// Waiting packets, in the order of arrival. Queues are short, so scans are faster than an index.
#[derive(Clone, Debug)]
pub(super) struct Ranked<F> {
    waiting: Vec<Waiting<F>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting<F> {
    /// Priority; 0 is the highest.
    priority: u32,
    flow: u32,
    /// Arrival at the port.
    since: Time,
    frame: F,
}

impl<F: Frame> Ranked<F> {
    pub(super) const fn new() -> Self {
        Self {
            waiting: Vec::new(),
        }
    }

    /// Returns the waiting packets with their arrival times at the port.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.waiting
            .iter()
            .map(|packet| (packet.since, packet.frame))
    }

    /// Returns the position of the last packet of the lowest priority among those before `bound` in the order of
    /// dropping, or `None` if there is none.
    fn worst(&self, bound: (u32, usize)) -> Option<usize> {
        let mut worst = None;
        let mut lowest = 0;
        for (position, packet) in self.waiting.iter().enumerate() {
            let priority = packet.priority;
            if priority >= lowest && (priority, position) < bound {
                (worst, lowest) = (Some(position), priority);
            }
        }
        worst
    }

    /// Removes and returns the earliest packet of the flow with the highest-priority packet, so that an early packet
    /// with a lower priority does not starve (pFabric §4.2). Among equal priorities, the first packet decides.
    fn pop(&mut self) -> Option<Waiting<F>> {
        let best = self.waiting.iter().min_by_key(|packet| packet.priority)?;
        let flow = best.flow;
        let earliest = self.waiting.iter().position(|packet| packet.flow == flow)?;
        Some(self.waiting.remove(earliest))
    }
}

impl<F: Frame> Port<F> {
    /// Replaces FIFO by pFabric's discipline. The driver must use [`Port::offer_ranked`] and [`Port::departure_ranked`].
    /// The port does not mark.
    #[must_use]
    pub fn with_ranks(mut self) -> Self {
        self.rare.ranked = Some(Ranked::new());
        self
    }

    /// Offers a packet of this priority (0 is the highest) and flow at `now`. Packets of a flow leave in the order of
    /// arrival. If the packet exceeds the limit, drops the last packet of the lowest priority, which may be the
    /// arriving packet, and further ones until the arriving packet fits (pFabric §4.2). The packet in service
    /// is never dropped. All dropped packets are added to `dropped`; if the result is [`Offer::Dropped`], the arriving
    /// packet is the only one.
    ///
    /// # Panics
    /// Panics if the port was not set up with [`Port::with_ranks`].
    pub fn offer_ranked(
        &mut self,
        now: Time,
        (priority, flow): (u32, u32),
        frame: F,
        dropped: &mut Vec<F>,
    ) -> Offer {
        self.drain(now);
        let is_departure_due = self.waiting > 0;
        if !self.admits(frame.wire_bytes()) && !self.make_room(now, priority, frame, dropped) {
            dropped.push(frame);
            return self.refuse(frame);
        }
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes += frame.wire_bytes();
        self.queue_max_bytes = self.queue_max_bytes.max(self.queue_bytes);
        if !is_departure_due && self.is_idle(now) {
            return Offer::Sent(self.transmit(now, now, frame));
        }
        self.ranked().waiting.push(Waiting {
            priority,
            flow,
            since: now,
            frame,
        });
        self.waiting += 1;
        Offer::Queued {
            wake: (!is_departure_due).then_some(self.busy_until),
        }
    }

    /// Sends the next packet when the link becomes free at `now`. Returns the packet and, if more packets wait, the
    /// time of the next call. Must be called at the time that [`Port::offer_ranked`] or this function returned.
    pub fn departure_ranked(&mut self, now: Time) -> Option<(Sent, Option<Time>)> {
        let next = self.ranked().pop()?;
        self.waiting -= 1;
        let sent = self.transmit(now, next.since, next.frame);
        Some((sent, (self.waiting != 0).then_some(self.busy_until)))
    }

    fn ranked(&mut self) -> &mut Ranked<F> {
        let ranked = self.rare.ranked.as_mut();
        ranked.expect("the port was set up with ranks")
    }

    /// Drops waiting packets until the arriving packet fits. Returns false, and drops nothing, if the arriving packet
    /// must be dropped instead.
    #[cold]
    fn make_room(&mut self, now: Time, priority: u32, frame: F, dropped: &mut Vec<F>) -> bool {
        let occupancy = self.queue_packets();
        let (mut count, mut freed) = (0, 0);
        let mut bound = (u32::MAX, usize::MAX);
        loop {
            let ranked = self.ranked();
            let Some(position) = ranked.worst(bound) else {
                return false;
            };
            let worst = ranked.waiting[position];
            // The arriving packet is the last one, so it is dropped first among equals.
            if worst.priority <= priority {
                return false;
            }
            bound = (worst.priority, position);
            (count, freed) = (count + 1, freed + worst.frame.wire_bytes());
            let bytes = u64::from(self.queue_bytes - freed) + u64::from(frame.wire_bytes());
            if occupancy - count < self.limit_packets && bytes <= u64::from(self.limit_bytes) {
                break;
            }
        }
        for _ in 0..count {
            let ranked = self.ranked();
            if let Some(position) = ranked.worst((u32::MAX, usize::MAX)) {
                let worst = ranked.waiting.remove(position);
                self.evict(now, worst.since, worst.frame);
                dropped.push(worst.frame);
            }
        }
        true
    }

    /// Counts a waiting packet, which arrived at `since`, as dropped instead of accepted.
    fn evict(&mut self, now: Time, since: Time, frame: F) {
        self.waiting -= 1;
        self.queue_bytes -= frame.wire_bytes();
        self.accepted_bytes -= u64::from(frame.wire_bytes());
        self.integrate(byte_time(frame, since, now));
        self.refuse(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use crate::sample::Sample;
    use duetime_core::{Rate, Span};

    /// Port of 1 Gbps that holds this number of packets; 1,500 B take 12 us.
    fn port(packets: u32) -> Port<Sample> {
        let port = Port::new(Rate::from_gbps(1), Span::ZERO).with_ranks();
        port.with_limit(Limit::Packets(packets))
    }

    /// Creates packet `number`; `class` only names it.
    fn packet(number: usize) -> Sample {
        Sample {
            class: number,
            ..Sample::new(1_500)
        }
    }

    /// Offers packet `number` at time 0. Returns the numbers of the dropped packets.
    fn offer(port: &mut Port<Sample>, number: usize, priority: u32, flow: u32) -> Vec<usize> {
        let mut dropped = Vec::new();
        let rank = (priority, flow);
        let offer = port.offer_ranked(Time::ZERO, rank, packet(number), &mut dropped);
        assert_eq!(offer == Offer::Dropped, dropped.contains(&packet(number)));
        dropped.iter().map(Frame::class).collect()
    }

    /// Returns the numbers of the waiting packets in the order of departure.
    fn departures(port: &mut Port<Sample>) -> Vec<usize> {
        let mut numbers = Vec::new();
        while port.departure_ranked(port.busy_until()).is_some() {
            numbers.push(port.last_sent().expect("just sent").class);
        }
        numbers
    }

    #[test]
    fn last_packet_of_lowest_priority_is_dropped() {
        let mut port = port(4);
        for (number, priority, flow) in [(0, 9_000, 1), (1, 9_000, 1), (2, 9_000, 1), (3, 500, 2)] {
            assert!(offer(&mut port, number, priority, flow).is_empty());
        }
        assert_eq!(offer(&mut port, 4, 8_000, 3), [2]);
        assert_eq!(port.counters().drops, 1);
        assert_eq!(port.queue_packets(), 4);
        assert_eq!(departures(&mut port), [3, 4, 1]);
    }

    #[test]
    fn arriving_packet_of_lowest_priority_is_dropped() {
        let mut port = port(3);
        for number in 0..3 {
            assert!(offer(&mut port, number, 700, number as u32).is_empty());
        }
        assert_eq!(offer(&mut port, 3, 701, 3), [3]);
        // Equal to the lowest: the arriving packet is the last one.
        assert_eq!(offer(&mut port, 4, 700, 4), [4]);
        assert_eq!(departures(&mut port), [1, 2]);
    }

    #[test]
    fn earliest_packet_of_the_best_flow_leaves_first() {
        let mut port = port(10);
        // The remaining size of flow 1 falls, so its last packet has the best priority.
        for (number, priority, flow) in [
            (0, 1, 9),
            (1, 6_000, 1),
            (2, 5_000, 2),
            (3, 4_000, 1),
            (4, 2_000, 1),
        ] {
            assert!(offer(&mut port, number, priority, flow).is_empty());
        }
        assert_eq!(departures(&mut port), [1, 3, 4, 2]);
    }

    #[test]
    fn shorter_flow_preempts() {
        let mut port = port(20);
        for number in 0..5 {
            offer(&mut port, number, 100_000, 1);
        }
        for number in 5..8 {
            offer(&mut port, number, 3_000, 2);
        }
        // Packet 0 was in service when the shorter flow arrived.
        assert_eq!(departures(&mut port), [5, 6, 7, 1, 2, 3, 4]);
    }

    #[test]
    fn short_packets_make_room_together_or_not_at_all() {
        let new = || {
            let port = Port::new(Rate::from_gbps(1), Span::ZERO).with_ranks();
            let mut port = port.with_limit(Limit::Bytes(3_100));
            for (bytes, priority) in [(1_500, 1), (100, 9), (100, 8), (1_400, 2)] {
                let rank = (priority, priority);
                port.offer_ranked(Time::ZERO, rank, Sample::new(bytes), &mut Vec::new());
            }
            port
        };
        let offer = |port: &mut Port<Sample>, bytes, priority| {
            let rank = (priority, 0);
            let mut dropped = Vec::new();
            port.offer_ranked(Time::ZERO, rank, Sample::new(bytes), &mut dropped);
            dropped.iter().map(Frame::wire_bytes).collect::<Vec<_>>()
        };
        assert_eq!(offer(&mut new(), 150, 3), [100, 100]);
        // Without both, the packet would still not fit, and the third has a higher priority than it.
        let mut port = new();
        assert_eq!(offer(&mut port, 300, 3), [300]);
        assert_eq!(port.queue_bytes(), 3_100);
    }

    #[test]
    fn departure_is_requested_once() {
        let mut port = port(2);
        let mut wakes = Vec::new();
        for priority in [5, 4, 3, 2] {
            let rank = (priority, priority);
            let offer = port.offer_ranked(Time::ZERO, rank, packet(0), &mut Vec::new());
            wakes.push(matches!(offer, Offer::Queued { wake: Some(_) }));
        }
        assert_eq!(wakes, [false, true, false, false]);
    }
}
