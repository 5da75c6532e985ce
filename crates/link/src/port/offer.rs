//! Offers: the limit, the mark, and the place in the queue or on the wire.

use super::{Offer, Port, Sent, Service, byte_time};
use crate::Frame;
use duetime_core::{Span, Time};

impl<F: Frame> Port<F> {
    /// Offers a packet at `now`.
    pub fn offer(&mut self, now: Time, frame: F) -> Offer {
        self.drain(now);
        if self.admits(frame.wire_bytes()) {
            self.accept(now, frame)
        } else {
            self.refuse(frame)
        }
    }

    /// Offers a packet at `now` to a port without classes; `None`: dropped.
    #[inline(always)]
    pub fn offer_fifo(&mut self, now: Time, frame: F) -> Option<Sent> {
        self.offer_fifo_delayed(now, frame, Span::ZERO)
    }

    /// Offers a packet that leaves `delay` later than it could; otherwise as [`Port::offer_fifo`]. What bounds the delay:
    /// [`Port::delay_last`].
    #[inline(always)]
    pub fn offer_fifo_delayed(&mut self, now: Time, frame: F, delay: Span) -> Option<Sent> {
        debug_assert!(!self.has_classes());
        let bytes = frame.wire_bytes();
        // Without a drain the port seems to hold more than it does. Where even that is below the limit, the threshold
        // and the largest occupancy so far, what has left since changes nothing.
        if self.staying < self.sure_packets
            && self.queue_bytes() + u64::from(bytes)
                <= u64::from(self.queue_max_bytes.min(self.sure_bytes))
        {
            self.accepted_bytes += u64::from(bytes);
            self.queue_bytes += bytes;
            return Some(self.append(now, frame, delay));
        }
        self.let_go(now);
        if !self.admits_fifo(bytes) {
            self.refuse(frame);
            return None;
        }
        Some(self.accept_fifo(now, frame, delay))
    }

    /// Sends a packet at `now` from an idle port without classes, limits or marking: a NIC that pulls. The
    /// packet leaves later by `delay`; see [`Port::delay_last`].
    #[inline(always)]
    pub fn send_at_once(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        debug_assert!(!self.has_classes() && self.is_idle(now));
        self.staying = 0;
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes = frame.wire_bytes();
        self.queue_max_bytes = self.queue_max_bytes.max(self.queue_bytes);
        let sending = self.transmission_ps(frame);
        self.busy_until = Time::from_ps(now.as_ps() + sending);
        self.queue_integral += byte_time(frame, now, self.busy_until);
        self.put_on_wire(self.busy_until.as_ps() + delay.as_ps(), frame)
    }

    /// Whether the port's own limit admits `bytes` more, as of the last drain.
    #[inline]
    pub fn admits(&self, bytes: u32) -> bool {
        self.queue_packets() < self.limit_packets && self.fits(bytes)
    }

    /// As [`Port::admits`], of a port without classes.
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

    /// Accepts a packet that was found to fit, after a drain at `now`.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, frame: F) -> Offer {
        if !self.has_classes() {
            return Offer::Sent(self.accept_fifo(now, frame, Span::ZERO));
        }
        let frame = self.admit(frame, self.queue_packets());
        if self.busy_until > now || self.waiting != 0 {
            let classes = self.rare.classes.as_mut().expect("checked above");
            classes.push(now, frame);
            self.waiting += 1;
            let tells = self.rare.service == Service::AtDeparture && self.waiting == 1;
            let wake = tells.then_some(self.busy_until);
            return Offer::Queued { wake };
        }
        Offer::Sent(self.transmit(now, now, frame))
    }

    /// Accepts a packet at a port without classes, as [`Port::accept`]; it leaves `delay` later than it could.
    #[inline(always)]
    pub(crate) fn accept_fifo(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        let frame = self.admit(frame, self.staying);
        self.append(now, frame, delay)
    }

    /// Appends an accepted packet to the queue; it leaves `delay` later than it could.
    #[inline(always)]
    fn append(&mut self, now: Time, frame: F, delay: Span) -> Sent {
        let departure = self.busy_until.max(now).as_ps() + self.transmission_ps(frame);
        self.busy_until = Time::from_ps(departure);
        self.queue_integral += byte_time(frame, now, self.busy_until);
        self.put_on_wire(departure + delay.as_ps(), frame)
    }

    /// Marks and counts a packet that finds `packets` in the port.
    #[inline(always)]
    fn admit(&mut self, mut frame: F, packets: u32) -> F {
        // D2TCP §3: instantaneous occupancy before the packet is added, against K.
        if (packets >= self.mark_packets || self.queue_bytes >= self.mark_bytes)
            && frame.is_ecn_capable()
        {
            frame.mark();
            self.rare.marks += 1;
        }
        self.accepted_bytes += u64::from(frame.wire_bytes());
        self.queue_bytes += frame.wire_bytes();
        self.queue_max_bytes = self.queue_max_bytes.max(self.queue_bytes);
        frame
    }

    /// Lets every packet whose last bit has left by `now` go.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        if self.waiting != 0 && self.busy_until <= now {
            self.serve(now);
        }
        self.let_go(now);
    }

    /// As [`Port::drain`], where nothing waits in classes.
    #[inline(always)]
    fn let_go(&mut self, now: Time) {
        let horizon = now.as_ps() + self.latency.as_ps();
        while self.staying != 0 {
            let slot = self.wire.back(self.staying);
            if slot.arrival.as_ps() > horizon {
                break;
            }
            self.queue_bytes -= slot.frame.wire_bytes();
            self.staying -= 1;
        }
    }

    /// Adds to what a shared memory, which is smaller than 2³² bytes, believes this port to hold.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: u32) {
        self.charged_bytes += bytes;
    }

    /// Sets what a shared memory believes to what the port held at the last drain; returns the difference.
    #[inline]
    pub(crate) fn settle(&mut self) -> u64 {
        let released = self.charged_bytes - self.queue_bytes;
        self.charged_bytes = self.queue_bytes;
        u64::from(released)
    }
}
