//! Offers of packets: admission, marking, and placement in the queue or on the wire.

use super::{Offer, Port, Sent, Service, byte_time};
use crate::Frame;
use duetime_core::{Span, Time};

impl<F: Frame> Port<F> {
    /// Offers a packet at `now`.
    pub fn offer(&mut self, now: Time, frame: F) -> Offer {
        if self.surely_admits(now, frame.wire_bytes()) {
            return self.accept_unmarked(now, frame);
        }
        self.drain(now);
        if self.admits(frame.wire_bytes()) {
            self.accept(now, frame)
        } else {
            self.refuse(frame)
        }
    }

    /// Offers a packet at `now` to a port without classes. Returns `None` if the packet is dropped.
    #[inline(always)]
    pub fn offer_fifo(&mut self, now: Time, frame: F) -> Option<Sent> {
        self.offer_fifo_delayed(now, frame, Span::ZERO)
    }

    /// Offers a packet that leaves `delay` later than it otherwise would; see [`Port::offer_fifo`], and
    /// [`Port::delay_last`] for the bound on the delay.
    #[inline(always)]
    pub fn offer_fifo_delayed(&mut self, now: Time, frame: F, delay: Span) -> Option<Sent> {
        let admitted = self.offer_fifo_admitted(now, frame, delay);
        admitted.map(|(_, sent)| sent)
    }

    /// Same as [`Port::offer_fifo_delayed`], but also returns the packet, which may have been marked.
    #[inline(always)]
    pub fn offer_fifo_admitted(&mut self, now: Time, frame: F, delay: Span) -> Option<(F, Sent)> {
        debug_assert!(!self.has_classes());
        let bytes = frame.wire_bytes();
        if self.is_low(self.staying, bytes) {
            return Some((frame, self.accept_fifo_unmarked(now, frame, delay)));
        }
        self.remove_departed(now);
        if !self.admits_fifo(bytes) {
            self.refuse(frame);
            return None;
        }
        let frame = self.admit(frame, self.staying);
        Some((frame, self.append(now, frame, delay)))
    }

    /// Sends a packet at `now` from an idle port without classes, limits or marking, as a pulling NIC does. The packet
    /// leaves `delay` later; see [`Port::delay_last`].
    #[inline(always)]
    pub fn send_at_once(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        debug_assert!(!self.has_classes() && self.is_idle(now));
        self.staying = 0;
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes = frame.wire_bytes();
        self.update_maximum();
        let sending = self.transmission_ps(frame);
        self.busy_until = Time::from_ps(now.as_ps() + sending);
        self.integrate(byte_time(frame, now, self.busy_until));
        self.put_on_wire(self.busy_until.as_ps() + delay.as_ps(), frame)
    }

    /// Returns true if the outcome of an offer of `bytes` is known without a drain: with `packets` in the port, the
    /// packet is accepted without a mark, and the largest occupancy so far stays the largest. Without a drain, the
    /// recorded occupancy is an upper bound.
    #[inline(always)]
    fn is_low(&self, packets: u32, bytes: u32) -> bool {
        packets < self.sure_packets
            && self.queue_bytes() + u64::from(bytes) <= u64::from(self.sure_bytes)
    }

    /// Returns true if the port's own limit admits `bytes` more without a mark and no drain at `now` is necessary
    /// before [`Port::accept_unmarked`].
    #[inline(always)]
    pub(crate) fn surely_admits(&self, now: Time, bytes: u32) -> bool {
        self.is_low(self.queue_packets(), bytes) && (self.waiting == 0 || self.busy_until > now)
    }

    /// Accepts a packet after [`Port::surely_admits`] returned true.
    #[inline(always)]
    pub(crate) fn accept_unmarked(&mut self, now: Time, frame: F) -> Offer {
        self.count_accepted(frame.wire_bytes());
        self.place(now, frame)
    }

    /// Same as [`Port::accept_unmarked`] for a port without classes; the packet leaves `delay` later than it otherwise
    /// would.
    #[inline(always)]
    pub(crate) fn accept_fifo_unmarked(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        self.count_accepted(frame.wire_bytes());
        self.append(now, frame, delay)
    }

    /// Returns true if the port's own limit admits `bytes` more, as of the last drain.
    #[inline]
    pub fn admits(&self, bytes: u32) -> bool {
        self.queue_packets() < self.limit_packets && self.fits(bytes)
    }

    /// Same check as [`Port::admits`] for a port without classes.
    #[inline]
    pub(crate) fn admits_fifo(&self, bytes: u32) -> bool {
        self.staying < self.limit_packets && self.fits(bytes)
    }

    #[inline(always)]
    fn fits(&self, bytes: u32) -> bool {
        self.queue_bytes() + u64::from(bytes) <= u64::from(self.limit_bytes)
    }

    /// Counts a packet as dropped.
    #[cold]
    pub fn refuse(&mut self, frame: F) -> Offer {
        self.rare.drops += 1;
        self.rare.drop_bytes += u64::from(frame.wire_bytes());
        Offer::Dropped
    }

    /// Accepts a packet that passed the admission check, after a drain at `now`.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, frame: F) -> Offer {
        let frame = self.admit(frame, self.queue_packets());
        self.place(now, frame)
    }

    /// Puts an accepted packet on the wire, or adds it to its class.
    #[inline(always)]
    pub(crate) fn place(&mut self, now: Time, frame: F) -> Offer {
        if self.leaves_last(now, frame) {
            Offer::Sent(self.append(now, frame, Span::ZERO))
        } else {
            self.enqueue(now, frame)
        }
    }

    /// Returns true if a packet that arrives at `now` leaves after all packets in the port, unless later arrivals
    /// overtake it.
    #[inline(always)]
    fn leaves_last(&mut self, now: Time, frame: F) -> bool {
        let is_idle = self.waiting == 0 && self.busy_until <= now;
        match self.rare.service {
            Service::Fifo => true,
            Service::OnDemand => is_idle || (self.waiting == 0 && !self.overtakes(now, frame)),
            Service::AtDeparture => is_idle,
        }
    }

    /// Adds an accepted packet to its class.
    fn enqueue(&mut self, now: Time, frame: F) -> Offer {
        let classes = self.rare.classes.as_mut().expect("the port has classes");
        classes.push(now, frame);
        self.waiting += 1;
        let must_wake = self.rare.service == Service::AtDeparture && self.waiting == 1;
        let wake = must_wake.then_some(self.busy_until);
        Offer::Queued { wake }
    }

    /// Returns true if a packet that arrives at `now` leaves before packets that wait on the wire, which are then
    /// returned to their classes.
    #[inline(always)]
    fn overtakes(&mut self, now: Time, frame: F) -> bool {
        // The waiting packets are in order of class.
        frame.class() < self.wire.back(1).frame.class() && self.recall(now)
    }

    /// Accepts a packet at a port without classes; the packet leaves `delay` later than it otherwise would.
    #[inline(always)]
    pub(crate) fn accept_fifo(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        let frame = self.admit(frame, self.staying);
        self.append(now, frame, delay)
    }

    /// Appends an accepted packet to the queue; the packet leaves `delay` later than it otherwise would.
    #[inline(always)]
    fn append(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        let departure = self.busy_until.max(now).as_ps() + self.transmission_ps(frame);
        self.busy_until = Time::from_ps(departure);
        self.integrate(byte_time(frame, now, self.busy_until));
        self.put_on_wire(departure + delay.as_ps(), frame)
    }

    /// Marks (if due) and counts a packet that finds `packets` in the port.
    #[inline(always)]
    pub(crate) fn admit(&mut self, mut frame: F, packets: u32) -> F {
        // D2TCP §3: compare the instantaneous occupancy before this packet with K.
        if (packets >= self.mark_packets || self.queue_bytes >= self.mark_bytes)
            && frame.is_ecn_capable()
        {
            frame.mark();
            self.rare.marks += 1;
        }
        self.count_accepted(frame.wire_bytes());
        self.update_maximum();
        frame
    }

    /// Updates the largest occupancy, and the bound that depends on it, after a packet was accepted.
    #[inline(always)]
    fn update_maximum(&mut self) {
        if self.queue_bytes > self.queue_max_bytes {
            self.queue_max_bytes = self.queue_bytes;
            self.sure_bytes = self
                .queue_max_bytes
                .min(self.mark_bytes)
                .min(self.limit_bytes);
        }
    }

    /// Counts an accepted packet of `bytes`.
    #[inline(always)]
    pub(crate) fn count_accepted(&mut self, bytes: u32) {
        self.accepted_bytes += u64::from(bytes);
        self.queue_bytes += bytes;
    }

    /// Removes every packet whose last bit has left by `now` from the port.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        if self.waiting != 0 && self.busy_until <= now {
            self.serve(now);
        }
        self.remove_departed(now);
    }

    /// Drains the port if no packets wait in classes; see [`Port::drain`].
    #[inline(always)]
    fn remove_departed(&mut self, now: Time) {
        let horizon = now.as_ps() + self.latency.as_ps();
        let (mut staying, mut departed_bytes) = (self.staying, 0);
        while staying != 0 {
            let slot = self.wire.back(staying);
            if slot.arrival.as_ps() > horizon {
                break;
            }
            departed_bytes += slot.frame.wire_bytes();
            staying -= 1;
        }
        self.staying = staying;
        self.queue_bytes -= departed_bytes;
    }

    /// Adds to the bytes that a shared memory, which is smaller than 2³² bytes, has charged to this port.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32) {
        self.charged_bytes += bytes;
    }

    /// Reduces the charged bytes to the occupancy at the last drain and returns the difference.
    #[inline]
    pub(crate) fn settle(&mut self) -> u64 {
        let released = self.charged_bytes - self.queue_bytes;
        self.charged_bytes = self.queue_bytes;
        u64::from(released)
    }
}
