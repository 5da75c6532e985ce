//! One memory shared by the ports of a switch, with a dynamic threshold per port (Choudhury and Hahne, 1998).

use crate::{Frame, Offer, Port};
use duetime_core::Time;

/// The shared memory of one switch.
///
/// A packet is charged whole until its last bit has left. The total is drained lazily: between sweeps it is an upper
/// bound, and a packet that fits under the upper bound fits under the exact total, so all ports are drained only when
/// the answer depends on it.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    capacity_bytes: u64,
    /// The dynamic threshold's α in 1/256.
    alpha_256: u64,
    /// At least the bytes now held by all member ports.
    charged_bytes: u64,
    /// Indices of the ports that share the memory.
    members: Vec<u32>,
}

impl SharedBuffer {
    /// A memory of `capacity_bytes` for the ports `members`; each may hold up to `alpha × free`.
    pub fn new(capacity_bytes: u64, alpha: f64, members: Vec<u32>) -> Self {
        let alpha_256 = (alpha * 256.0 + 0.5) as u64;
        Self { capacity_bytes, alpha_256, charged_bytes: 0, members }
    }

    /// Offers a packet to the member port at index `to` of `ports`.
    #[inline]
    pub fn offer<F: Frame>(&mut self, ports: &mut [Port<F>], to: u32, now: Time, frame: F) -> Offer {
        let port = &mut ports[to as usize];
        port.drain(now);
        self.charged_bytes -= port.settle();
        if !self.admits(port, frame.wire_bytes()) {
            self.sweep(ports, now);
            if !self.admits(&ports[to as usize], frame.wire_bytes()) {
                return ports[to as usize].refuse(frame);
            }
        }
        self.charged_bytes += u64::from(frame.wire_bytes());
        ports[to as usize].charge(frame.wire_bytes());
        ports[to as usize].accept(now, frame)
    }

    #[inline]
    fn admits<F: Frame>(&self, port: &Port<F>, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let free = self.capacity_bytes.saturating_sub(self.charged_bytes);
        bytes <= free && (port.queue_bytes() + bytes) * 256 <= self.alpha_256 * free && port.has_room(bytes as u32)
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
