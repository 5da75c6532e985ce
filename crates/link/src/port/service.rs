//! Link of the port: choice of the next packet, transmission time, and arrival at the far end.

use super::{Port, Sent, Service, byte_time};
use crate::Frame;
use duetime_core::{Span, Time};

impl<F: Frame> Port<F> {
    /// Called under strict priority when the link becomes free at `now`: sends the first packet of the highest-priority
    /// non-empty class. Returns the packet and, if more packets wait, the time of the next call. Must be called before
    /// all offers at `now`, which would otherwise compete.
    pub fn departure(&mut self, now: Time) -> Option<(Sent, Option<Time>)> {
        if self.waiting == 0 {
            return None;
        }
        let sent = self.transmit_next(now);
        Some((sent, (self.waiting != 0).then_some(self.busy_until)))
    }

    /// Sends the packets whose transmission has begun by `until` (strict priority on demand).
    #[inline(never)]
    pub(super) fn serve(&mut self, until: Time) {
        if self.rare.service == Service::OnDemand {
            while self.waiting != 0 && self.busy_until <= until {
                self.transmit_next(self.busy_until);
            }
        }
    }

    /// Returns the packets on the wire whose transmission begins after `now` to their classes, which must be empty, as
    /// if they had arrived at `now`. Returns true if there are any.
    #[inline(never)]
    pub(super) fn recall(&mut self, now: Time) -> bool {
        let mut count = 0;
        while count < self.staying {
            let frame = self.wire.back(count + 1).frame;
            let begin = self.busy_until.as_ps() - self.transmission_ps(frame);
            if begin <= now.as_ps() {
                break;
            }
            self.integrate(byte_time(frame, now, self.busy_until).wrapping_neg());
            self.busy_until = Time::from_ps(begin);
            count += 1;
        }
        let classes = self.rare.classes.as_mut().expect("the port has classes");
        for number in (1..=count).rev() {
            classes.push(now, self.wire.back(number).frame);
        }
        self.wire.drop_last(count);
        self.staying -= count;
        self.waiting += count;
        count != 0
    }

    /// Puts the first packet of the highest-priority non-empty class into service at `now`. At least one packet must be
    /// waiting.
    #[inline(always)]
    fn transmit_next(&mut self, now: Time) -> Sent {
        let classes = self.rare.classes.as_mut().expect("a packet waits in them");
        let first = classes.pop();
        self.waiting -= 1;
        self.transmit(now, first.arrival, first.frame)
    }

    /// Puts a packet that arrived at `since` into service at `now`.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, since: Time, frame: F) -> Sent {
        self.busy_until = Time::from_ps(now.as_ps() + self.transmission_ps(frame));
        self.integrate(byte_time(frame, since, self.busy_until));
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

    /// Returns the transmission time at a rate without a whole number of picoseconds per byte.
    #[cold]
    #[inline(never)]
    fn divided_ps(&self, frame: F) -> u64 {
        self.rare.cost.of(frame.wire_bytes()).as_ps()
    }

    /// Delays the departure of the packet that was just sent by `by`. The link's schedule does not change: the delay
    /// shortens the gap behind the packet, and the next packet is not postponed. To keep packets in order, `by` must be
    /// at most the transmission time of the smallest packet.
    pub fn delay_last(&mut self, sent: Sent, by: Span) -> Sent {
        let arrival = sent.arrival + by;
        self.wire.delay_last(arrival);
        Sent { arrival, ..sent }
    }

    /// Removes and returns the packet that arrives at the far end now.
    ///
    /// # Panics
    /// Panics if no packet is in flight; unchecked in release builds.
    #[inline(always)]
    pub fn arrive(&mut self) -> F {
        let frame = self.arriving();
        self.arrived(frame);
        frame
    }

    /// Returns the packet that arrives at the far end next.
    ///
    /// # Panics
    /// Panics if no packet is in flight; unchecked in release builds.
    #[inline(always)]
    pub fn arriving(&self) -> F {
        self.wire.first()
    }

    /// Removes the packet returned by [`Port::arriving`], which is passed back, and returns the next arrival time.
    /// Calling both is the same as [`Port::arrive`] with one copy less.
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

    /// Removes the packets that arrive at the far end before `end` from a port without classes, and passes them to `take`
    /// with their arrival times and their numbers among all that the link has carried, modulo 2³², first to last. Returns
    /// the time of the next arrival.
    #[inline(always)]
    pub fn take_arriving_before(
        &mut self,
        end: Time,
        mut take: impl FnMut(Time, F, u32),
    ) -> Option<Time> {
        debug_assert!(!self.has_classes());
        let (staying, mut departed_bytes) = (self.staying, 0);
        let behind_last = self.carried().wrapping_add(1);
        let next = self.wire.take_before(end, |arrival, frame, position| {
            if position <= staying {
                departed_bytes += frame.wire_bytes();
            }
            take(arrival, frame, behind_last.wrapping_sub(position));
        });
        self.staying = staying.min(self.wire.len());
        self.queue_bytes -= departed_bytes;
        next
    }

    /// Removes the packet returned by [`Port::arriving`] at `now` and returns the next arrival time, for a port that
    /// may have classes: the next packet, if any, has begun transmission by then.
    #[inline]
    pub fn arrived_classed(&mut self, now: Time, frame: F) -> Option<Time> {
        let next = self.arrived(frame);
        if next.is_some() || self.waiting == 0 {
            return next;
        }
        // Packets that reached the port after this one had left must not be served yet: the far end's clock may be
        // ahead of the port's by up to the link latency.
        self.serve(now - self.latency);
        self.wire.next_arrival()
    }

    /// Returns the arrival time of the next packet at the far end.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        self.wire.next_arrival()
    }

    /// Returns true if sending the next packet must allocate memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.wire.is_full()
    }

    /// Removes packets that have left. For links whose far end is simulated elsewhere; the driver handles their
    /// arrivals.
    pub fn forget_departed(&mut self, now: Time) {
        self.drain(now);
        self.wire.keep_last(self.staying);
    }

    /// Same as [`Port::forget_departed`] for a port without classes if all packets have left; otherwise does nothing.
    #[inline(always)]
    pub fn forget_if_idle(&mut self, now: Time) {
        debug_assert!(!self.has_classes());
        if self.busy_until <= now {
            self.wire.keep_last(0);
            (self.staying, self.queue_bytes) = (0, 0);
        }
    }
}
