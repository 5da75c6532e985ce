//! Fields of a request that one hop of a path reads and writes, for requests in memory and in datagrams.

use super::{EncodedRate, FixedRate, Flags, MAX_HOPS, Outcome, Request};

/// Request as seen by the current hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRequest {
    /// Flags of the packet.
    pub flags: Flags,
    /// Slot of this hop, below [`MAX_HOPS`].
    pub hop: u8,
    /// Exponent of every rate, -16..=15.
    pub scale: i8,
    /// Pace of the flow's requests, 0..=3; a slower pace is larger (see `repair`).
    pub pace: u8,
    /// Epoch in which this hop last counted the flow (see `repair`).
    pub stamp: bool,
    /// Desired rate for the next round trip.
    pub desired: FixedRate,
    /// Desired rate that this hop has registered for the flow.
    pub previous_desired: FixedRate,
    /// Allocation that this hop has registered for the flow.
    pub previous_allocation: FixedRate,
    /// Rate granted by the previous hop, or the largest rate at the first hop.
    pub limit: FixedRate,
}

/// Answer of a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopAnswer {
    /// Outcome of the request; the granted rate is written to the hop's slot.
    pub outcome: Outcome,
    /// Stamp for the hop's bit (see `repair`).
    pub stamp: bool,
}

impl Request {
    /// Returns the request as seen by the current hop, or `None` if no slot is free.
    #[inline]
    pub fn at_hop(&self, flags: Flags) -> Option<HopRequest> {
        let slot = usize::from(self.index);
        if slot >= MAX_HOPS {
            return None;
        }
        Some(HopRequest {
            flags,
            hop: self.index,
            scale: self.scale,
            pace: self.pace,
            stamp: self.stamps >> slot & 1 != 0,
            desired: self.desired.into(),
            previous_desired: self.previous_desired.into(),
            previous_allocation: self.previous_allocations[slot].into(),
            limit: if slot > 0 {
                self.allocations[slot - 1].into()
            } else {
                EncodedRate::MAX.into()
            },
        })
    }

    /// Writes the answer of the current hop, if a slot is free, and advances to the next hop.
    #[inline]
    pub fn answer(&mut self, answer: HopAnswer) {
        let slot = usize::from(self.index);
        if let Some(allocation) = self.allocations.get_mut(slot) {
            *allocation = answer.outcome.granted;
            self.stamps = self.stamps & !(1 << slot) | u8::from(answer.stamp) << slot;
            self.index += 1;
        }
    }
}
