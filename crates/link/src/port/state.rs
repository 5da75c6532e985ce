//! What can be read of a port: its queue, its counters, and the packets in it and on its link.

use super::{Counters, Port, Service, byte_time};
use crate::Frame;
use crate::classes::Classes;
use duetime_core::Time;

impl<F: Frame> Port<F> {
    /// Whether the link is free: nothing is being sent, and in a FIFO port nothing waits either. Strict priority: as of
    /// the last drain.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// When the link is next free.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Whether packets are served by class.
    pub fn has_classes(&self) -> bool {
        self.rare.service != Service::Fifo
    }

    /// Bytes in the port as of the last drain, the packet in service included.
    #[inline(always)]
    pub fn queue_bytes(&self) -> u64 {
        u64::from(self.queue_bytes)
    }

    /// Packets in the port as of the last drain, the packet in service included.
    #[inline]
    pub fn queue_packets(&self) -> u32 {
        self.staying + self.waiting
    }

    /// Bytes in the port as of the last drain without the packet in service (D3's q).
    pub fn queue_bytes_waiting(&self) -> u64 {
        if self.staying == 0 {
            return self.queue_bytes();
        }
        u64::from(self.queue_bytes - self.wire.back(self.staying).frame.wire_bytes())
    }

    /// Bytes whose packets had left whole by the last drain, since the start (D3's u is a difference of two).
    pub fn departed_bytes(&self) -> u64 {
        self.accepted_bytes - self.queue_bytes()
    }

    /// What the port has done.
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

    /// Forgets the largest occupancy so far: from here on it is the largest since the last drain.
    pub fn restart_maximum(&mut self) {
        self.queue_max_bytes = self.queue_bytes;
    }

    /// The time integral of the queue, the packet in service included, up to `now`, to which the port was drained;
    /// in bytes × 1024 ps. A delay ([`Port::delay_last`]) is no time in the queue: the link may send the next packet
    /// meanwhile.
    pub fn queue_integral(&self, now: Time) -> u64 {
        // From the last packet back: the link sends what stays without a gap.
        let mut end = self.busy_until;
        let mut ahead = 0;
        for count in 1..=self.staying {
            let frame = self.wire.back(count).frame;
            ahead += byte_time(frame, now.min(end), end);
            end = Time::from_ps(end.as_ps() - self.transmission_ps(frame));
        }
        let waiting = self
            .waiting_in_classes()
            .map(|(since, frame)| byte_time(frame, since, now));
        self.queue_integral + waiting.sum::<u64>() - ahead
    }

    /// The packet that was sent last, if it has not been taken.
    pub fn last_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(1).frame)
    }

    /// The packet that arrives next.
    #[inline]
    pub fn first_sent(&self) -> Option<F> {
        (!self.wire.is_empty()).then(|| self.wire.back(self.wire.len()).frame)
    }

    /// Packets in the port or on the link.
    pub fn frames(&self) -> impl Iterator<Item = F> + '_ {
        self.sent_frames().chain(self.waiting_frames())
    }

    /// Packets in service or on the link; of a FIFO port also those that wait.
    pub fn sent_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.wire.iter()
    }

    /// Packets that wait in the classes of a strict-priority port.
    pub fn waiting_frames(&self) -> impl Iterator<Item = F> + '_ {
        self.waiting_in_classes().map(|(_, frame)| frame)
    }

    fn waiting_in_classes(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.rare.classes.iter().flat_map(Classes::iter)
    }
}
