//! Packets of the simulator: 24 bytes each, without payload. Rare contents are in a side table, the extras.

use duetime_core::random::mix;
use duetime_link::Frame;
use duetime_proto::tcp;

/// Marks the absence of an extra, a port or an endpoint.
pub const NONE: u32 = u32::MAX;

/// A packet. Its flags contain the direction, the number of its transport family, its class and, in the low bits,
/// [`tcp::Flags`]; all families use those for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// Index of the endpoint at the destination, meaningful only in its partition.
    pub endpoint: u32,
    /// Hash of the connection, used to choose paths and to check that `endpoint` still belongs to it.
    pub flow: u32,
    /// TCP: low 32 bits of the stream position. Other families: free to use.
    pub seq: u32,
    /// Index into the partition's extras, or `NONE`.
    pub extra: u32,
    /// Destination host, flags and length on the wire, in one word because they are used together. The length is
    /// needed most often and is therefore on top, where one shift extracts it.
    label: u64,
}

const FLAGS_SHIFT: u32 = 32;
const WIRE_BYTES_SHIFT: u32 = 48;

/// Flag of packets from receiver to sender.
pub const REVERSE: u16 = 1 << 15;
const FAMILY_SHIFT: u16 = 12;
const FAMILIES: u16 = 1 << 3;
const CLASS_SHIFT: u16 = 9;
const CLASSES: u16 = 1 << 3;
const TCP_FLAGS: u16 = (1 << CLASS_SHIFT) - 1;

impl Packet {
    /// Creates a packet of `wire_bytes` to an endpoint of a host.
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
            | u64::from(flags) << FLAGS_SHIFT
            | u64::from(wire_bytes) << WIRE_BYTES_SHIFT;
        Self {
            endpoint,
            flow,
            seq,
            extra: NONE,
            label,
        }
    }

    /// Returns the destination host.
    #[inline(always)]
    pub const fn destination(&self) -> u32 {
        self.label as u32
    }

    /// Returns the IP packet of a frame that is `overhead` bytes longer.
    #[must_use]
    pub const fn without_framing(mut self, overhead: u16) -> Self {
        self.label -= (overhead as u64) << WIRE_BYTES_SHIFT;
        self
    }

    /// Returns the direction, family, class and TCP flags.
    #[inline(always)]
    const fn flags(&self) -> u16 {
        (self.label >> FLAGS_SHIFT) as u16
    }

    /// Returns true if the packet goes from receiver to sender.
    #[inline(always)]
    pub const fn is_reverse(&self) -> bool {
        self.flags() & REVERSE != 0
    }

    /// Returns the number of the packet's transport family, below 8.
    #[inline(always)]
    pub const fn family(&self) -> u16 {
        self.flags() >> FAMILY_SHIFT & (FAMILIES - 1)
    }

    /// Bit of [`Packet::kind`] of packets from receiver to sender.
    pub const REVERSE_KIND: u16 = REVERSE >> FAMILY_SHIFT;

    /// Returns the number of the packet's transport family, with [`Packet::REVERSE_KIND`] added from receiver to
    /// sender.
    #[inline(always)]
    pub const fn kind(&self) -> u16 {
        self.flags() >> FAMILY_SHIFT
    }

    /// Returns the flag bits for a family and a strict-priority class, both below 8.
    #[inline(always)]
    pub const fn label(family: u16, class: u8) -> u16 {
        family << FAMILY_SHIFT | (class as u16 & (CLASSES - 1)) << CLASS_SHIFT
    }

    /// Returns the flag bits for those TCP flags that are transmitted.
    #[inline(always)]
    pub const fn tcp(flags: tcp::Flags) -> u16 {
        flags.0 & TCP_FLAGS
    }

    /// Returns the packet with `bytes` more on the wire.
    #[must_use]
    pub const fn lengthened(mut self, bytes: u16) -> Self {
        self.label += (bytes as u64) << WIRE_BYTES_SHIFT;
        self
    }

    /// Returns the TCP flags.
    #[inline]
    pub const fn tcp_flags(&self) -> tcp::Flags {
        tcp::Flags(self.flags() & TCP_FLAGS)
    }
}

impl Frame for Packet {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        (self.label >> WIRE_BYTES_SHIFT) as u32
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

/// Returns the connection hash for the flow that opens the connection.
pub fn flow_hash(flow: u64) -> u32 {
    (mix(flow, 0x0f10) >> 32) as u32
}

const _: () = assert!(size_of::<Packet>() == 24);
