//! Memory shared by the ports of a switch, with a dynamic threshold per port (Choudhury and Hahne, 1998).

use crate::{Frame, Offer, Port, Sent};
use duetime_core::{Span, Time};

/// Shared memory of one switch.
///
/// A packet is charged in full until its last bit has left. The total is updated lazily: between sweeps it is an upper
/// bound. A packet that fits under the upper bound also fits under the exact total, so all ports are drained only when
/// the packet does not fit.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    capacity_bytes: u64,
    /// α of the dynamic threshold, in units of 1/256.
    alpha_256: u64,
    /// Upper bound on the bytes now held by all member ports.
    charged_bytes: u64,
    /// Indices of the ports that share the memory.
    members: Vec<u32>,
}

impl SharedBuffer {
    /// Creates a memory of `capacity_bytes`, at most 4 GiB, for the ports `members`. Each port may hold up to `alpha ×
    /// free`.
    pub fn new(capacity_bytes: u64, alpha: f64, members: Vec<u32>) -> Self {
        Self {
            capacity_bytes: capacity_bytes.min(u64::from(u32::MAX)),
            alpha_256: (alpha * 256.0 + 0.5) as u64,
            charged_bytes: 0,
            members,
        }
    }

    /// Offers a packet to the member port at index `to` of `ports`. Member ports must receive all packets through this
    /// method or [`Self::offer_fifo`].
    #[inline(always)]
    pub fn offer<F: Frame>(
        &mut self,
        ports: &mut [Port<F>],
        to: u32,
        now: Time,
        frame: F,
    ) -> Offer {
        let mut accepted = frame;
        if self.charge_surely(&mut ports[to as usize], now, frame) {
            ports[to as usize].count_accepted(frame.wire_bytes());
        } else if self.charge(ports, to, now, frame, Port::admits) {
            let port = &mut ports[to as usize];
            accepted = port.admit(frame, port.queue_packets());
        } else {
            return ports[to as usize].refuse(frame);
        }
        ports[to as usize].place(now, accepted)
    }

    /// Offers a packet to a port without classes. Returns `None` if the packet is dropped.
    #[inline]
    pub fn offer_fifo<F: Frame>(
        &mut self,
        ports: &mut [Port<F>],
        to: u32,
        now: Time,
        frame: F,
    ) -> Option<Sent> {
        let port = &mut ports[to as usize];
        if self.charge_surely(port, now, frame) {
            return Some(port.accept_fifo_unmarked(now, frame, Span::ZERO));
        }
        if self.charge(ports, to, now, frame, Port::admits_fifo) {
            return Some(ports[to as usize].accept_fifo(now, frame, Span::ZERO));
        }
        ports[to as usize].refuse(frame);
        None
    }

    /// Charges the packet to the port if it is admitted without a mark even by the upper bounds of the occupancies, so
    /// that no drain is necessary. Returns true if it is.
    #[inline(always)]
    fn charge_surely<F: Frame>(&mut self, port: &mut Port<F>, now: Time, frame: F) -> bool {
        let bytes = frame.wire_bytes();
        let admits = port.surely_admits(now, bytes) && self.admits(port, bytes);
        if admits {
            self.charged_bytes += u64::from(bytes);
            port.charge(bytes);
        }
        admits
    }

    /// Charges the packet to the port if both the memory and the port admit it. Returns true if they do.
    #[inline(always)]
    fn charge<F: Frame>(
        &mut self,
        ports: &mut [Port<F>],
        to: u32,
        now: Time,
        frame: F,
        port_admits: impl Fn(&Port<F>, u32) -> bool,
    ) -> bool {
        let bytes = frame.wire_bytes();
        let port = &mut ports[to as usize];
        port.drain(now);
        self.charged_bytes -= port.settle();
        if !(self.admits(port, bytes) && port_admits(port, bytes)) {
            self.sweep(ports, now);
            let port = &ports[to as usize];
            if !(self.admits(port, bytes) && port_admits(port, bytes)) {
                return false;
            }
        }
        self.charged_bytes += u64::from(bytes);
        ports[to as usize].charge(bytes);
        true
    }

    #[inline]
    fn admits<F: Frame>(&self, port: &Port<F>, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let free = self.capacity_bytes.saturating_sub(self.charged_bytes);
        bytes <= free && (port.queue_bytes() + bytes) * 256 <= self.alpha_256 * free
    }

    #[cold]
    fn sweep<F: Frame>(&mut self, ports: &mut [Port<F>], now: Time) {
        for &member in &self.members {
            let port = &mut ports[member as usize];
            port.drain(now);
            self.charged_bytes -= port.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use duetime_core::{Rate, Span};

    /// Two 1 Gbps ports: 1500 B leave in 12 µs.
    fn ports() -> [Port<Sample>; 2] {
        [(); 2].map(|()| Port::new(Rate::from_gbps(1), Span::ZERO))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn packet_holds_memory_until_fully_sent() {
        let (mut ports, mut memory) = (ports(), SharedBuffer::new(3_000, 8.0, vec![0, 1]));
        let mut fits =
            |to, us| memory.offer(&mut ports, to, at(us), Sample::new(1_500)) != Offer::Dropped;
        assert_eq!(
            [fits(0, 0), fits(0, 0), fits(1, 0), fits(1, 11)],
            [true, true, false, false]
        );
        // The full memory forces a drain of port 0.
        assert_eq!([fits(1, 12), fits(1, 12), fits(1, 24)], [true, false, true]);
    }

    #[test]
    fn bytes_removed_by_an_arrival_are_released() {
        let (mut ports, mut memory) = (ports(), SharedBuffer::new(1_500, 8.0, vec![0, 1]));
        assert!(matches!(
            memory.offer(&mut ports, 0, at(0), Sample::new(1_500)),
            Offer::Sent(_)
        ));
        ports[0].arrive();
        assert_eq!(memory.charged_bytes, 1_500, "an upper bound");
        assert!(matches!(
            memory.offer(&mut ports, 1, at(12), Sample::new(1_500)),
            Offer::Sent(_)
        ));
        assert_eq!(memory.charged_bytes, 1_500);
    }

    #[test]
    fn port_is_limited_to_alpha_times_free() {
        let (mut ports, mut memory) = (ports(), SharedBuffer::new(9_000, 1.0, vec![0, 1]));
        // With 1, 2, 3, 4 and 5 KB in the port, 9, 8, 7, 6 and 5 KB are free: the fifth packet just fits.
        for _ in 0..4 {
            assert!(memory.offer(&mut ports, 0, at(0), Sample::new(1_000)) != Offer::Dropped);
        }
        assert!(memory.offer(&mut ports, 0, at(0), Sample::new(1_001)) == Offer::Dropped);
        assert!(memory.offer(&mut ports, 0, at(0), Sample::new(1_000)) != Offer::Dropped);
        assert!(memory.offer(&mut ports, 0, at(0), Sample::new(1)) == Offer::Dropped);
        // The other port can use the remaining 4 KB.
        assert!(memory.offer(&mut ports, 1, at(0), Sample::new(4_001)) == Offer::Dropped);
        assert!(memory.offer(&mut ports, 1, at(0), Sample::new(4_000)) != Offer::Dropped);
        assert_eq!(ports[0].counters().drops + ports[1].counters().drops, 3);
    }
}
