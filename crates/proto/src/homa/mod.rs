//! Homa: a message transport in which receivers schedule all but the first packets of every message, and in which
//! switches serve eight strict-priority classes (Montazeri et al., SIGCOMM 2018).
//!
//! A sender transmits the first `RTTbytes` of a message without a grant. The receiver grants one packet for each packet
//! that arrives, to the messages with the fewest ungranted bytes. Each of these messages has its own priority. The rest
//! of the message waits at the sender.
//!
//! One [`Sender`] and one [`Receiver`] per host serve all of its messages. Both count packets, not bytes. `T` is the
//! driver's own data of a message, such as the address for replies. Class 0 is the highest priority.

mod plan;
mod receiver;
mod sender;

pub use plan::{Network, Plan};
pub use receiver::Receiver;
pub use sender::{Counters, Sender};

use duetime_core::Span;

/// Length of the IPv4 and Homa headers of a packet, in bytes. The same as that of `due`, so that both have the same
/// payload.
pub const HEADER_BYTES: u32 = 60;

/// Number of strict-priority classes that Homa was evaluated with (Homa §5.2).
pub const CLASSES: u8 = 8;

/// Maximum number of unscheduled levels: a class remains for scheduled packets.
pub const MAX_UNSCHEDULED: u8 = CLASSES - 1;

/// Maximum number of messages that a receiver grants at the same time.
pub const MAX_OVERCOMMITMENT: u8 = 64;

/// Default of [`Config::incast_threshold`]. The paper names no value.
pub const INCAST_THRESHOLD: u32 = 8;

/// Unscheduled packets of an answer in an incast. The paper permits a few hundred bytes (Homa §3.6).
pub const INCAST_UNSCHEDULED: u64 = 1;

/// Options of the transport. `None` means that [`Plan`] derives the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum packet size in bytes, with all headers.
    pub mtu: u32,
    /// `RTTbytes`: limit of a scheduled message's granted bytes that have not arrived, headers included.
    pub rtt_bytes: Option<u64>,
    /// Bytes that a message may send without a grant, headers included. `RTTbytes` by default (Homa §3.2).
    pub unscheduled_bytes: Option<u64>,
    /// Number of answers to a query above which each answer sends only [`INCAST_UNSCHEDULED`] packets without a grant
    /// (Homa §3.6).
    pub incast_threshold: u32,
    /// Number of messages that a receiver grants at the same time. The number of scheduled levels by default (Homa §3.5).
    pub overcommitment: Option<u8>,
    /// Number of priority levels of unscheduled packets. Their share of the bytes by default (Homa §3.4).
    pub unscheduled_levels: Option<u8>,
    /// Message sizes that separate the unscheduled levels. Equal bytes per level by default (Homa §3.4).
    pub cutoffs: Option<Cutoffs>,
    /// Silence after which missing packets are requested. Also the first interval after which a sender without a reply
    /// repeats a message's first packet.
    pub resend_interval: Option<Span>,
    /// Allowance for delays in hosts, which the idle round trip does not contain.
    pub host_delay: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            rtt_bytes: None,
            unscheduled_bytes: None,
            incast_threshold: INCAST_THRESHOLD,
            overcommitment: None,
            unscheduled_levels: None,
            cutoffs: None,
            resend_interval: None,
            host_delay: Span::ZERO,
        }
    }
}

impl Config {
    /// Returns the payload of a full packet in bytes, at least 1.
    pub const fn payload(&self) -> u64 {
        let payload = self.mtu.saturating_sub(HEADER_BYTES);
        if payload == 0 { 1 } else { payload as u64 }
    }

    /// Returns the number of packets of a message. An empty message has one.
    pub const fn packets(&self, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(self.payload());
        if packets == 0 { 1 } else { packets }
    }

    /// Returns the payload of packet `number` of a message, in bytes.
    #[inline]
    pub fn payload_of(&self, message_bytes: u64, number: u64) -> u32 {
        self.bytes_from(message_bytes, number).min(self.payload()) as u32
    }

    /// Returns the number of bytes of a message in packet `number` and the packets after it.
    #[inline]
    const fn bytes_from(&self, message_bytes: u64, number: u64) -> u64 {
        message_bytes.saturating_sub(number.saturating_mul(self.payload()))
    }

    /// Returns the outline of an answer of `bytes` to a query with `answers` answers; 0 answers for other messages.
    #[inline]
    pub const fn outline(&self, bytes: u64, answers: u32) -> Outline {
        Outline {
            bytes,
            is_incast: answers > self.incast_threshold,
        }
    }

    /// Returns the number of classes that the options require, at least 1.
    pub fn min_classes(&self) -> u8 {
        let by_cutoffs = self.cutoffs.map(|cutoffs| cutoffs.levels());
        by_cutoffs
            .or(self.unscheduled_levels)
            .map_or(1, |levels| levels.saturating_add(1))
    }
}

/// Message sizes that separate the unscheduled levels, rising.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cutoffs {
    /// Maximum size of each level but the last, in bytes; the others are 0.
    sizes: [u64; MAX_UNSCHEDULED as usize - 1],
    number: u8,
}

impl Cutoffs {
    /// Creates cutoffs from sizes in bytes, in any order. Equal sizes are used once, and sizes after the sixth are ignored.
    pub fn new(sizes: &[u64]) -> Self {
        let mut rising = sizes.to_vec();
        rising.sort_unstable();
        rising.dedup();
        let mut cutoffs = Self::default();
        for (cutoff, size) in cutoffs.sizes.iter_mut().zip(rising) {
            *cutoff = size;
            cutoffs.number += 1;
        }
        cutoffs
    }

    /// Returns the sizes in bytes.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes[..usize::from(self.number)]
    }

    /// Returns the number of levels, which is one more than the number of sizes.
    pub const fn levels(&self) -> u8 {
        self.number + 1
    }

    /// Returns the level of a message's unscheduled packets. Level 0 is for the smallest messages.
    #[inline]
    pub fn level(&self, bytes: u64) -> u8 {
        self.sizes()
            .iter()
            .take_while(|&&size| bytes > size)
            .count() as u8
    }
}

/// Description of a message in each of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Size in bytes.
    pub bytes: u64,
    /// True if the receiver requested so many answers that each has fewer unscheduled packets (Homa §3.6).
    pub is_incast: bool,
}

impl From<u64> for Outline {
    /// Describes a message of `bytes` that is not part of an incast.
    fn from(bytes: u64) -> Self {
        Self {
            bytes,
            is_incast: false,
        }
    }
}

/// Names a message at its receiver: the source host and the source's number of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId {
    /// Source host.
    pub source: u32,
    /// Number of the message, unique at the source.
    pub number: u64,
}

/// Packet from a sender to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the message.
    pub message: u64,
    /// Size of the message, and whether it is part of an incast.
    pub outline: Outline,
    /// Contents of the packet.
    pub body: Body,
    /// Strict-priority class; 0 is the highest.
    pub class: u8,
}

/// Contents of a packet from a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// DATA: packet `number` of the message.
    Payload {
        /// Position of the packet in the message, from 0.
        number: u64,
        /// True if the packet was sent before.
        is_retransmission: bool,
    },
    /// BUSY: the sender will answer a RESEND after more urgent messages.
    Busy,
    /// The sender does not have the message, or the application aborted it.
    Unknown,
}

/// Packet from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// GRANT: permits the packets below `up_to`.
    Grant {
        /// One past the last permitted packet.
        up_to: u64,
        /// Packets below have arrived. Used only for reports of progress; Homa's own grants do not carry it.
        arrived: u64,
        /// Strict-priority class of the packets.
        class: u8,
    },
    /// RESEND: requests the packets from `from` up to, but not including, `to`.
    Resend {
        /// First missing packet.
        from: u64,
        /// One past the last missing packet.
        to: u64,
        /// Strict-priority class of the packets.
        class: u8,
    },
    /// All packets arrived, or the receiver dropped the message because its sender does not have it.
    Done,
}
