//! What a D3 host sends: plain data and acknowledgements, some of them with a request.

use super::{Config, Request};
use core::ops::{BitOr, BitOrAssign};

/// A D3 packet of either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// From the sender: position of the first payload byte (the flow's first byte is 0). From the receiver: the next
    /// byte it waits for, or one more than the flow's length when the FIN has been reached as well.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// What the packet is.
    pub flags: Flags,
    /// Numbers of request and feedback; all zero if there is no request.
    pub tag: Tag,
    /// The congestion header, if there is one.
    pub request: Option<Request>,
}

/// What ties feedback to its request. Only end hosts read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Number of the request in this packet.
    pub number: u16,
    /// Number of the request that the feedback answers; valid with [`Flags::FEEDBACK`].
    pub echo: u16,
    /// How many slots of the feedback are filled.
    pub hops: u8,
    /// The answered request's stamps, one bit per hop (see `repair`).
    pub stamps: u8,
}

/// A set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens a flow: routers count it. With FIN: a flow that has nothing to send rests until it opens again.
    pub const SYN: Self = Self(1);
    /// Ends a flow: routers take its allocation back.
    pub const FIN: Self = Self(2);
    /// From the receiver: `seq` acknowledges.
    pub const ACK: Self = Self(4);
    /// The feedback vector is filled.
    pub const FEEDBACK: Self = Self(8);
    /// This acknowledgement was caused by data beyond a gap.
    pub const GAP: Self = Self(16);
    /// Sent before.
    pub const RETRANSMIT: Self = Self(32);
    /// The sender gives the flow up (D3 §6.1.3); goes with FIN.
    pub const QUENCH: Self = Self(64);
    /// Every flag that has a meaning.
    pub const ALL: Self = Self(127);

    /// Whether one of `other` is set.
    #[inline]
    pub const fn contains_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets `other` if `condition` holds.
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

impl Packet {
    /// The congestion header, in bytes.
    pub const REQUEST_BYTES: u32 = Request::WIRE_BYTES as u32;

    /// Length of the IP packet, in bytes.
    #[inline]
    pub const fn wire_bytes(&self, config: &Config) -> u32 {
        config.header_bytes
            + self.len
            + if self.request.is_some() {
                Self::REQUEST_BYTES
            } else {
                0
            }
    }
}
