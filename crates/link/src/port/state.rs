//! Read access to a port: its queue, its counters, and the packets in it and on its link.

use super::{Counters, Port, Ranked, Service, byte_time};
use crate::Frame;
use crate::classes::Classes;
use duetime_core::Time;

impl<F: Frame> Port<F> {
    /// Returns true if the link is free: no packet is in transmission and, in a FIFO port, none is waiting. Under
    /// strict priority, as of the last drain.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// Returns the time at which the link becomes free.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Returns true if packets are served by class.
    pub fn has_classes(&self) -> bool {
        self.rare.service != Service::Fifo
    }

    /// Returns the bytes in the port as of the last drain, the packet in service included.
    #[inline(always)]
    pub fn queue_bytes(&self) -> u64 {
        u64::from(self.queue_bytes)
    }

    /// Returns the packets in the port as of the last drain, the packet in service included.
    #[inline]
    pub fn queue_packets(&self) -> u32 {
        self.staying + self.waiting
    }

    /// Returns true if packets wait in the classes of the port, as of the last drain.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waiting != 0 && self.has_classes()
    }

    /// Returns the bytes in the port as of the last drain, without the packet in service (D3's q).
    pub fn queue_bytes_waiting(&self) -> u64 {
        if self.staying == 0 {
            return self.queue_bytes();
        }
        u64::from(self.queue_bytes - self.wire.back(self.staying).frame.wire_bytes())
    }

    /// Returns the cumulative bytes of packets that had left completely by the last drain (D3's u is the difference of
    /// two values).
    pub fn departed_bytes(&self) -> u64 {
        self.accepted_bytes - self.queue_bytes()
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        Counters {
            packets: self.wire.pushed() + u64::from(self.waiting),
            bytes: self.accepted_bytes,
            drops: self.rare.drops,
            drop_bytes: self.rare.drop_bytes,
            marks: self.rare.marks,
            queue_max_bytes: u64::from(self.queue_max_bytes),
            queue_integral: self.queue_integral,
        }
    }

    /// Resets the maximum occupancy to the occupancy at the last drain.
    pub fn restart_maximum(&mut self) {
        self.queue_max_bytes = self.queue_bytes;
        self.sure_bytes = self.sure_bytes.min(self.queue_bytes);
    }

    /// Returns the time integral of the queue up to `now`, the packet in service included, in bytes × 1024 ps. The port
    /// must be drained to `now`. Delays ([`Port::delay_last`]) do not count, because the link may already send the next
    /// packet.
    pub fn queue_integral(&self, now: Time) -> u64 {
        // Going back from the last packet works because the link sends the remaining packets without a gap.
        let mut end = self.busy_until;
        let mut ahead = 0u64;
        for count in 1..=self.staying {
            let frame = self.wire.back(count).frame;
            ahead = byte_time(frame, now.min(end), end).wrapping_add(ahead);
            end = Time::from_ps(end.as_ps() - self.transmission_ps(frame));
        }
        let waiting = self
            .waiting_in_classes()
            .map(|(since, frame)| byte_time(frame, since, now));
        self.queue_integral
            .wrapping_add(waiting.sum())
            .wrapping_sub(ahead)
    }

    /// Adds the time of a packet in the queue. The sum counts the future time of all queued packets: with a long queue it
    /// wraps, and subtracting that time again wraps back.
    #[inline(always)]
    pub(super) fn integrate(&mut self, byte_time: u64) {
        self.queue_integral = self.queue_integral.wrapping_add(byte_time);
    }

    /// Returns the number of packets ever sent, modulo 2³², including those that wait in a FIFO port.
    #[inline(always)]
    pub fn carried(&self) -> u32 {
        self.wire.pushed() as u32
    }

    /// Returns the number of packets that [`Port::sent_frames`] returns.
    #[inline(always)]
    pub fn sent_packets(&self) -> u32 {
        self.wire.len()
    }

    /// Returns the packet that was sent last, or `None` if it has been taken.
    pub fn last_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(1).frame)
    }

    /// Returns the packet that arrives next, or `None` if none is in flight.
    #[inline]
    pub fn first_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(self.wire.len()).frame)
    }

    /// Returns the packets in the port or on the link.
    pub fn frames(&self) -> impl Iterator<Item = F> + '_ {
        self.sent_frames().chain(self.waiting_frames())
    }

    /// Returns the packets in service or on the link; in a FIFO port, also the waiting packets.
    pub fn sent_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.wire.iter()
    }

    /// Returns the packets that wait in the classes or ranks of a port.
    pub fn waiting_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.waiting_in_classes().map(|(_, frame)| frame)
    }

    fn waiting_in_classes(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        let ranked = self.rare.ranked.iter().flat_map(Ranked::iter);
        let classes = self.rare.classes.iter().flat_map(Classes::iter);
        classes.chain(ranked)
    }
}
