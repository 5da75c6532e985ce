//! Description of a packet in the switch; its bytes are in the buffers.

use crate::headers::Headers;
use duetime_link::Frame as LinkFrame;

/// Destination of flooded frames: all hosts except the sender.
pub(crate) const ALL: u16 = u16::MAX;

/// A packet in a port or on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Index of the buffer with its bytes.
    pub buffer: u32,
    /// Hash of its flow, which selects among equal-cost paths.
    pub flow: u32,
    /// Destination interface, or [`ALL`].
    pub destination: u16,
    wire_bytes: u16,
    /// Offset of a D3 datagram with a request; zero if there is none.
    request_at: u16,
    class: u8,
    flags: u8,
}

/// The packet is ECN-capable.
const ECT: u8 = 1;
/// A port has marked the packet.
const CE: u8 = 2;

impl Frame {
    /// Creates a packet with these headers that counts `overhead` bytes more than its IP packet.
    pub fn new(headers: &Headers, buffer: u32, destination: u16, class: u8, overhead: u32) -> Self {
        let bytes = u32::from(headers.packet_bytes) + overhead;
        Self {
            buffer,
            flow: headers.flow,
            destination,
            wire_bytes: bytes.min(u32::from(u16::MAX)) as u16,
            request_at: headers.request_at,
            class,
            flags: if headers.is_ecn_capable() { ECT } else { 0 },
        }
    }

    /// Returns the copy in another buffer for one interface. Routers do not answer the requests of copies, because the
    /// flow has only one of these hosts as its receiver.
    pub fn copy_to(self, buffer: u32, destination: u16) -> Self {
        Self {
            buffer,
            destination,
            request_at: 0,
            ..self
        }
    }

    /// Returns the offset of the D3 datagram with a request.
    pub fn request_at(self) -> Option<usize> {
        (self.request_at != 0).then_some(usize::from(self.request_at))
    }

    /// Returns true if the packet is ECN-capable.
    pub fn can_be_marked(self) -> bool {
        self.flags & ECT != 0
    }

    /// Returns true if a port has marked the packet.
    pub fn is_marked(self) -> bool {
        self.flags & CE != 0
    }
}

impl LinkFrame for Frame {
    fn wire_bytes(&self) -> u32 {
        u32::from(self.wire_bytes)
    }

    /// Always returns true, so that the port counts all marks that it requests and never drops instead of marking. Only
    /// ECN-capable packets take the mark.
    fn is_ecn_capable(&self) -> bool {
        true
    }

    fn mark(&mut self) {
        if self.can_be_marked() {
            self.flags |= CE;
        }
    }

    fn class(&self) -> usize {
        usize::from(self.class)
    }
}

const _: () = assert!(size_of::<Frame>() == 16);
