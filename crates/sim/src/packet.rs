//! A packet in the simulator: 24 bytes without payload. What is rare lies in a side table, the extras.

use duetime_link::Frame;
use duetime_proto::tcp;

/// No entry in the extras, no port, no endpoint.
pub const NONE: u32 = u32::MAX;

/// A packet. Its flags hold the direction, the number of its family of transports, its class and in the low bits
/// [`tcp::Flags`], of which those about ECN are every family's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// Endpoint at the destination, an opaque handle of its partition.
    pub endpoint: u32,
    /// Hash of the connection: path choice, and a check that `endpoint` still means it.
    pub flow: u32,
    /// TCP: low 32 bits of the stream position. Other families: what they like.
    pub seq: u32,
    /// Index into the partition's extras, or `NONE`.
    pub extra: u32,
    /// Destination host, length on the wire and flags, in one word because they travel together.
    label: u64,
}

const WIRE_BYTES_SHIFT: u32 = 32;
const FLAGS_SHIFT: u32 = 48;

/// Set on packets from receiver to sender.
pub const REVERSE: u16 = 1 << 15;
const FAMILY_SHIFT: u16 = 12;
const FAMILIES: u16 = 1 << 3;
const CLASS_SHIFT: u16 = 9;
const CLASSES: u16 = 1 << 3;
const TCP_FLAGS: u16 = (1 << CLASS_SHIFT) - 1;

impl Packet {
    /// A packet of `wire_bytes` (its length on the wire) to the endpoint of a host.
    #[inline(always)]
    pub fn new(
        destination: u32,
        endpoint: u32,
        flow: u32,
        seq: u32,
        wire_bytes: u16,
        flags: u16,
    ) -> Self {
        let label = u64::from(destination)
            | u64::from(wire_bytes) << WIRE_BYTES_SHIFT
            | u64::from(flags) << FLAGS_SHIFT;
        Self {
            endpoint,
            flow,
            seq,
            extra: NONE,
            label,
        }
    }

    /// Destination host.
    #[inline(always)]
    pub const fn destination(&self) -> u32 {
        self.label as u32
    }

    /// The IP packet in a frame that is `overhead` bytes longer.
    #[must_use]
    pub const fn without_framing(mut self, overhead: u16) -> Self {
        self.label -= (overhead as u64) << WIRE_BYTES_SHIFT;
        self
    }

    /// Direction, family, class and TCP's flags.
    #[inline(always)]
    const fn flags(&self) -> u16 {
        (self.label >> FLAGS_SHIFT) as u16
    }

    /// Whether it goes from receiver to sender.
    #[inline(always)]
    pub const fn is_reverse(&self) -> bool {
        self.flags() & REVERSE != 0
    }

    /// The number of its family of transports, below 8.
    #[inline(always)]
    pub const fn family(&self) -> u16 {
        self.flags() >> FAMILY_SHIFT & (FAMILIES - 1)
    }

    /// The flags of a family's packets of a strict-priority class, both below 8.
    #[inline(always)]
    pub const fn label(family: u16, class: u8) -> u16 {
        family << FAMILY_SHIFT | (class as u16 & (CLASSES - 1)) << CLASS_SHIFT
    }

    /// The flags of a packet that has those of TCP which travel.
    #[inline(always)]
    pub const fn tcp(flags: tcp::Flags) -> u16 {
        flags.0 & TCP_FLAGS
    }

    /// A packet that is longer on the wire.
    #[must_use]
    pub const fn lengthened(mut self, bytes: u16) -> Self {
        self.label += (bytes as u64) << WIRE_BYTES_SHIFT;
        self
    }

    /// TCP's own flags.
    #[inline]
    pub const fn tcp_flags(&self) -> tcp::Flags {
        tcp::Flags(self.flags() & TCP_FLAGS)
    }
}

impl Frame for Packet {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        (self.label >> WIRE_BYTES_SHIFT) as u32 & 0xffff
    }

    #[inline]
    fn is_ecn_capable(&self) -> bool {
        self.flags() & tcp::Flags::ECT.0 != 0
    }

    #[inline]
    fn mark(&mut self) {
        self.label |= u64::from(tcp::Flags::CE.0) << FLAGS_SHIFT;
    }

    #[inline]
    fn class(&self) -> usize {
        usize::from(self.flags() >> CLASS_SHIFT & (CLASSES - 1))
    }
}

const _: () = assert!(size_of::<Packet>() == 24);
