//! What one hop of a path reads of a request, and what it writes into it: a few fields, whether the request is in memory
//! or still in the bytes of its datagram.

use super::{EncodedRate, FixedRate, Flags, MAX_HOPS, Outcome, Request};

/// What a request says to the hop that it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRequest {
    /// Flags of its packet.
    pub flags: Flags,
    /// The slot of this hop, below [`MAX_HOPS`].
    pub hop: u8,
    /// Exponent of every rate, -16..=15.
    pub scale: i8,
    /// How seldom the flow asks, 0..=3 (see `repair`).
    pub pace: u8,
    /// The epoch in which this hop counted the flow last (see `repair`).
    pub stamp: bool,
    /// Desired rate for the next round trip.
    pub desired: FixedRate,
    /// Desired rate that this hop holds for the flow.
    pub previous_desired: FixedRate,
    /// Allocation that this hop holds for the flow.
    pub previous_allocation: FixedRate,
    /// What the hop before grants; the largest rate where there is none.
    pub limit: FixedRate,
}

/// What a hop answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopAnswer {
    /// What it did; the rate granted goes into the hop's slot.
    pub outcome: Outcome,
    /// The stamp for the hop's bit (see `repair`).
    pub stamp: bool,
}

impl Request {
    /// What it says to the hop that it comes to; `None`: no slot is free.
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
                EncodedRate::LARGEST.into()
            },
        })
    }

    /// Writes the answer of the hop that it has come to, if a slot is free, and moves on to the next.
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
