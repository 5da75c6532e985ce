//! A packet in the simulator: 24 bytes without payload. What is rare lies in a side table, the extras.

use crate::workload::Message;
use duetime_core::Time;
use duetime_link::Frame;
use duetime_proto::{d3, tcp};

/// No entry in the extras, no port, no endpoint.
pub const NONE: u32 = u32::MAX;

/// A packet. For TCP the flags hold [`tcp::Flags`] in their low bits; D3 packets live in the extras whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// Endpoint at the destination, an opaque handle of its partition.
    pub endpoint: u32,
    /// Hash of the connection: path choice, and a check that `endpoint` still means it.
    pub flow: u32,
    /// TCP: low 32 bits of the stream position.
    pub seq: u32,
    /// Index into the partition's extras, or [`NONE`].
    pub extra: u32,
    /// Destination host, length on the wire and flags, in one word because they travel together.
    label: u64,
}

const WIRE_BYTES_SHIFT: u32 = 32;
const FLAGS_SHIFT: u32 = 48;

/// Set on packets from receiver to sender.
pub const REVERSE: u16 = 1 << 15;
/// Set on D3 packets.
pub const D3: u16 = 1 << 14;
const CLASS_SHIFT: u16 = 12;
const TCP_FLAGS: u16 = (1 << CLASS_SHIFT) - 1;

impl Packet {
    /// A packet of `wire_bytes` (its length on the wire) to the endpoint of a host.
    #[inline(always)]
    pub fn new(destination: u32, endpoint: u32, flow: u32, seq: u32, wire_bytes: u16, flags: u16) -> Self {
        let label =
            u64::from(destination) | u64::from(wire_bytes) << WIRE_BYTES_SHIFT | u64::from(flags) << FLAGS_SHIFT;
        Self { endpoint, flow, seq, extra: NONE, label }
    }

    /// Destination host.
    #[inline(always)]
    pub const fn destination(&self) -> u32 {
        self.label as u32
    }

    /// Protocol flags, class and family.
    #[inline(always)]
    pub const fn flags(&self) -> u16 {
        (self.label >> FLAGS_SHIFT) as u16
    }

    /// Bits of `flags` for a strict-priority class.
    pub const fn class_bits(class: u8) -> u16 {
        (class as u16 & 3) << CLASS_SHIFT
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
        self.flags() & (tcp::Flags::ECT.0 | D3) == tcp::Flags::ECT.0
    }

    #[inline]
    fn mark(&mut self) {
        self.label |= (tcp::Flags::CE.0 as u64) << FLAGS_SHIFT;
    }

    #[inline]
    fn class(&self) -> usize {
        usize::from(self.flags() >> CLASS_SHIFT & 3)
    }
}

/// What a packet carries beyond its fixed fields.
#[derive(Clone, Debug)]
pub enum Extra {
    /// A SYN: where to answer, and the message that opens the connection.
    Syn { reply: u32, message: Message },
    /// A SYN-ACK: where to send.
    SynAck { reply: u32 },
    /// The last segment of a message.
    Last { message: Message },
    /// A D3 packet with where to answer; the SYN has the message. What the simulator measures at routers needs the
    /// flow and its deadline.
    D3 { packet: d3::Packet, reply: u32, message: Option<Box<Message>>, flow: u64, deadline: Option<Time> },
}

const _: () = assert!(size_of::<Packet>() == 24);
