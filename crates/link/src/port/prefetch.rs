//! Prefetching of port state into the processor's caches.

use super::Port;
use crate::Frame;
use duetime_core::prefetch::prefetch_lines;

/// Maximum number of packets that [`Port::prefetch_on_link`] prefetches.
const MAX_ON_LINK: u32 = 16;

/// Packets that are assumed to have left since the last drain.
const SINCE_LAST_DRAIN: u32 = 2;

impl<F: Frame> Port<F> {
    /// Prefetches the state that an arrival at the far end needs. A driver of many ports calls this for several ports
    /// before processing the first, so that their cache misses overlap.
    #[inline]
    pub fn prefetch_arrival(&self) {
        prefetch_lines::<1, _>(self);
    }

    /// Prefetches the packet that arrives next.
    #[inline(always)]
    pub fn prefetch_first(&self) {
        self.wire.prefetch_first();
    }

    /// Prefetches the packets that were on the link at the last drain, and some that may have left since then; at most
    /// 16.
    #[inline(always)]
    pub fn prefetch_on_link(&self) {
        let on_link = self.wire.len().saturating_sub(self.staying);
        let soon = (on_link + SINCE_LAST_DRAIN).min(self.wire.len());
        self.wire.prefetch_front(soon.min(MAX_ON_LINK));
    }

    /// Prefetches the state that an offer needs.
    #[inline]
    pub fn prefetch_offer(&self) {
        prefetch_lines::<2, _>(self);
    }

    /// Prefetches the ring slots of the next packets to leave and to be added.
    #[inline]
    pub fn prefetch_wire(&self) {
        self.wire.prefetch_back(self.staying);
    }
}
