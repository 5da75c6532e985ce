//! Flags of a packet.

use core::ops::{BitOr, BitOrAssign};

/// Set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens a flow, which routers then count. With FIN: the flow has nothing to send and pauses until it opens again.
    pub const SYN: Self = Self(1);
    /// Ends a flow; routers release its allocation.
    pub const FIN: Self = Self(2);
    /// Acknowledgement from the receiver; `seq` is the acknowledged position.
    pub const ACK: Self = Self(4);
    /// The feedback vector is valid.
    pub const FEEDBACK: Self = Self(8);
    /// The acknowledgement was caused by data beyond a gap.
    pub const GAP: Self = Self(16);
    /// Retransmission.
    pub const RETRANSMIT: Self = Self(32);
    /// The sender abandons the flow (D3 §6.1.3); always with FIN.
    pub const QUENCH: Self = Self(64);
    /// All defined flags.
    pub const ALL: Self = Self(127);

    /// Returns true if any of `other` is set.
    #[inline]
    pub const fn contains_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns true if all of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set with `other` added if `condition` is true.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self, condition: bool) -> Self {
        if condition {
            Self(self.0 | other.0)
        } else {
            self
        }
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
