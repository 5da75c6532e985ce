//! Packets of D3 hosts: data and acknowledgements, with or without a request.

use super::super::Config;
use super::{Flags, Request};

/// D3 packet of either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Packet {
    /// From the sender: position of the first payload byte, where the flow's first byte is 0. From the receiver: next
    /// expected byte, plus one if the FIN has been reached.
    pub seq: u64,
    /// Payload length in bytes.
    pub len: u32,
    /// Kind of the packet.
    pub flags: Flags,
    /// Request and feedback numbers; all zero without a request.
    pub tag: Tag,
    /// Congestion header, if any.
    pub request: Option<Request>,
}

/// Fields that match feedback to its request. Only end hosts read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Number of the request in this packet.
    pub number: u16,
    /// Number of the request that the feedback answers; valid with [`Flags::FEEDBACK`].
    pub echo: u16,
    /// Number of filled feedback slots.
    pub hops: u8,
    /// Stamps of the answered request, one bit per hop (see `repair`).
    pub stamps: u8,
}

impl Packet {
    /// Length of the congestion header in bytes.
    pub const REQUEST_BYTES: u32 = Request::WIRE_BYTES as u32;

    /// Returns the length of the IP packet in bytes.
    #[inline]
    pub const fn wire_bytes(&self, config: &Config) -> u32 {
        config.wire.header_bytes
            + self.len
            + if self.request.is_some() {
                Self::REQUEST_BYTES
            } else {
                0
            }
    }
}
