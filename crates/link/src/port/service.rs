//! The link behind the port: which packet it sends next, how long that takes, and the arrival at the far end.

use super::{Port, Sent, Service, byte_time};
use crate::Frame;
use duetime_core::{Span, Time};

impl<F: Frame> Port<F> {
    /// Strict priority: the link is free at `now`; sends the next packet of the first class that has one. Returns
    /// it and when to call again, if packets still wait. Comes before all offers at `now`, which would else compete.
    pub fn departure(&mut self, now: Time) -> Option<(Sent, Option<Time>)> {
        if self.waiting == 0 {
            return None;
        }
        let sent = self.transmit_next(now);
        Some((sent, (self.waiting != 0).then_some(self.busy_until)))
    }

    /// Strict priority on demand: sends what the link has begun to send by `until`.
    #[inline(never)]
    pub(super) fn serve(&mut self, until: Time) {
        if self.rare.service == Service::OnDemand {
            while self.waiting != 0 && self.busy_until <= until {
                self.transmit_next(self.busy_until);
            }
        }
    }

    /// Puts the first packet of the first class that has one, which there must be, into service at `now`.
    #[inline(always)]
    fn transmit_next(&mut self, now: Time) -> Sent {
        let classes = self.rare.classes.as_mut().expect("a packet waits in them");
        let first = classes.pop();
        self.waiting -= 1;
        self.transmit(now, first.arrival, first.frame)
    }

    /// Puts a packet that came at `since` into service at `now`.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, since: Time, frame: F) -> Sent {
        self.busy_until = Time::from_ps(now.as_ps() + self.transmission_ps(frame));
        self.queue_integral += byte_time(frame, since, self.busy_until);
        self.put_on_wire(self.busy_until.as_ps(), frame)
    }

    #[inline(always)]
    pub(super) fn put_on_wire(&mut self, departure_ps: u64, frame: F) -> Sent {
        let arrival = Time::from_ps(departure_ps + self.latency.as_ps());
        let first = self.wire.is_empty();
        self.wire.push(arrival, frame);
        self.staying += 1;
        Sent { arrival, first }
    }

    #[inline(always)]
    pub(super) fn transmission_ps(&self, frame: F) -> u64 {
        if self.ps_per_byte != 0 {
            return u64::from(frame.wire_bytes()) * u64::from(self.ps_per_byte);
        }
        self.divided_ps(frame)
    }

    /// At a rate that has no whole number of picoseconds per byte.
    #[cold]
    #[inline(never)]
    fn divided_ps(&self, frame: F) -> u64 {
        self.rare.cost.of(frame.wire_bytes()).as_ps()
    }

    /// Lets the packet that has just been sent leave later by `by`, at the cost of the gap behind it and not of the
    /// link's time: the next one is not put off. To keep the packets in order, `by` must be at most the transmission
    /// time of the smallest.
    pub fn delay_last(&mut self, sent: Sent, by: Span) -> Sent {
        let arrival = sent.arrival + by;
        self.wire.delay_last(arrival);
        Sent { arrival, ..sent }
    }

    /// Takes the packet that arrives at the far end now.
    ///
    /// # Panics
    /// If nothing is on the way; unchecked in release builds.
    #[inline(always)]
    pub fn arrive(&mut self) -> F {
        let frame = self.arriving();
        self.arrived(frame);
        frame
    }

    /// The packet that arrives at the far end next.
    ///
    /// # Panics
    /// If nothing is on the way; unchecked in release builds.
    #[inline(always)]
    pub fn arriving(&self) -> F {
        self.wire.first()
    }

    /// [`Port::arriving`], which is given, has arrived at the far end; gives when the one after it does. The two in turn
    /// are [`Port::arrive`] with a copy less.
    #[inline(always)]
    pub fn arrived(&mut self, frame: F) -> Option<Time> {
        let next = self.wire.drop_first();
        let left = self.wire.len();
        if self.staying > left {
            self.staying = left;
            self.queue_bytes -= frame.wire_bytes();
        }
        next
    }

    /// As [`Port::arrived`], at `now`, of a port that may have classes: the next packet, if there is one, has then begun to
    /// leave.
    #[inline]
    pub fn arrived_classed(&mut self, now: Time, frame: F) -> Option<Time> {
        let next = self.arrived(frame);
        if self.waiting != 0 && self.busy_until.as_ps() + self.latency.as_ps() <= now.as_ps() {
            // What came to the port after this packet had left is none of the far end's business yet: its clock may be
            // ahead of the port's by as much as the link takes.
            self.serve(now - self.latency);
            return self.wire.next_arrival();
        }
        next
    }

    /// When the next packet arrives at the far end.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        self.wire.next_arrival()
    }

    /// Whether the next packet that is sent takes more memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.wire.is_full()
    }

    /// For a link whose far end lies elsewhere: forgets packets that have left. Their arrivals are the driver's.
    pub fn forget_departed(&mut self, now: Time) {
        self.drain(now);
        self.wire.keep_last(self.staying);
    }
}
