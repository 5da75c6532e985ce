//! Reads that bring a port into the processor's caches before it is worked on.

use super::Port;
use crate::Frame;

impl<F: Frame> Port<F> {
    /// Reads what an arrival at the far end needs of the port: a driver of many ports calls this for several before it
    /// works on the first, so that the processor waits for all of them at once. The value means nothing.
    #[inline]
    pub fn prefetch_arrival(&self) -> u64 {
        u64::from(self.wire.len())
    }

    /// The same for the packet that arrives next.
    #[inline(always)]
    pub fn prefetch_first(&self) -> u64 {
        self.wire.prefetch_first()
    }

    /// The same for an offer.
    #[inline]
    pub fn prefetch_offer(&self) -> u64 {
        u64::from(self.wire.len()) ^ self.accepted_bytes
    }

    /// The same for what lies behind the port: the places of the next packets.
    #[inline]
    pub fn prefetch_wire(&self) -> u64 {
        self.wire.prefetch()
    }
}
