//! What a port knows of a packet: its bytes stay in the buffers.

use crate::headers::Headers;
use duetime_link::Frame as LinkFrame;

/// Every host but the sender's.
pub(crate) const ALL: u16 = u16::MAX;

/// A packet in a port or on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where its bytes are.
    pub buffer: u32,
    /// A hash of its flow, which chooses among equally good ways.
    pub flow: u32,
    /// The interface to which it goes, or [`ALL`].
    pub destination: u16,
    wire_bytes: u16,
    /// Where in the frame the D3 datagram with a request begins; zero: there is none.
    request_at: u16,
    class: u8,
    flags: u8,
}

/// It is ECN-capable.
const ECT: u8 = 1;
/// A port marked it.
const CE: u8 = 2;

impl Frame {
    /// A packet with these headers, `overhead_bytes` heavier than its IP packet.
    pub fn new(headers: &Headers, buffer: u32, destination: u16, class: u8, overhead: u32) -> Self {
        let weight = u32::from(headers.packet_bytes) + overhead;
        Self {
            buffer,
            flow: headers.flow,
            destination,
            wire_bytes: weight.min(u32::from(u16::MAX)) as u16,
            request_at: headers.request_at,
            class,
            flags: if headers.is_ecn_capable() { ECT } else { 0 },
        }
    }

    /// The copy in another buffer that goes to one interface. No router answers its request: the flow goes to one of the
    /// hosts only.
    pub fn copied(self, buffer: u32, destination: u16) -> Self {
        Self {
            buffer,
            destination,
            request_at: 0,
            ..self
        }
    }

    /// Where the D3 datagram with a request begins.
    pub fn request_at(self) -> Option<usize> {
        (self.request_at != 0).then_some(usize::from(self.request_at))
    }

    /// Whether a mark would be seen.
    pub fn can_be_marked(self) -> bool {
        self.flags & ECT != 0
    }

    /// Whether a port marked it.
    pub fn is_marked(self) -> bool {
        self.flags & CE != 0
    }
}

impl LinkFrame for Frame {
    fn wire_bytes(&self) -> u32 {
        u32::from(self.wire_bytes)
    }

    /// Always: so the port counts the marks that it asks for. Only an ECN-capable packet takes one, and none is dropped
    /// instead.
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
