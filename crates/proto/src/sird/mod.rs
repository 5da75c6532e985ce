//! SIRD: a message transport whose receivers issue credit and whose senders report congestion (Prasopoulos et al., "SIRD:
//! A Sender-Informed, Receiver-Driven Datacenter Transport Protocol", NSDI 2025). docs/rivals.md lists the open choices.
//!
//! A short message starts with an unscheduled prefix; a long message starts with a request and waits for credit. A
//! receiver limits the credit of all senders by one global bucket, and of each sender by a bucket that adapts to the
//! marks of that sender and of the network. Deadlines have no effect.
//!
//! One [`Sender`] and one [`Receiver`] per host serve all of its messages. Credit counts bytes on the link; each credit
//! permits one packet. `T` is the driver's own data of a message, such as the address for replies.

mod bucket;
mod receiver;
mod sender;

pub use crate::due::{Link, MessageId};
pub use receiver::{Delivered, Receiver};
pub use sender::{Counters, Sender};

use duetime_core::Span;

/// Length of the IPv4 (20), UDP (8) and SIRD (28) headers of a packet, in bytes. The paper publishes no format. Ours has
/// the number and size of the message (8 each), the packet's position and the unscheduled packets (4 each), type and
/// flags (4).
pub const HEADER_BYTES: u32 = 56;

/// Strict-priority classes in the evaluation of the paper: control packets and unscheduled data before scheduled data.
pub const CLASSES: u8 = 2;

/// Options of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum packet size in bytes, with all headers.
    pub mtu: u32,
    /// Global bucket B of a receiver: limit of the outstanding credit of all senders, in thousandths of the
    /// bandwidth-delay product (BDP).
    pub bucket_permille: u32,
    /// `UnschT`: size up to which a message starts with an unscheduled prefix, in thousandths of the BDP.
    pub unscheduled_permille: u32,
    /// `SThr`: unused credit of a sender above which it marks its packets, in thousandths of the BDP.
    pub sender_threshold_permille: u32,
    /// Order in which a receiver issues credit.
    pub policy: Policy,
    /// True if packets are ECN-capable and marks of the network reduce the sender's bucket.
    pub ecn: bool,
    /// Allowance for delays in hosts, which the idle round trip does not contain. The BDP covers it.
    pub host_delay: Span,
}

impl Default for Config {
    /// Returns the parameters of the paper's evaluation.
    fn default() -> Self {
        Self {
            mtu: 1_500,
            bucket_permille: 1_500,
            unscheduled_permille: 1_000,
            sender_threshold_permille: 500,
            policy: Policy::ShortestRemaining,
            ecn: true,
            host_delay: Span::from_us(20),
        }
    }
}

/// Order in which a receiver issues credit to senders that may have some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// To the message with the fewest packets left (SRPT).
    #[default]
    ShortestRemaining,
    /// To the senders in turn, and to the message of the sender with the fewest packets left.
    Fair,
}

impl Config {
    /// Returns the payload of a full packet in bytes.
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
        let sent = number.saturating_mul(self.payload());
        message_bytes.saturating_sub(sent).min(self.payload()) as u32
    }
}

/// Full packets of store-and-forward delay that the round trip contains, one for each link of the longest usual path.
const PATH_PACKETS: u64 = 4;

/// Sizes that depend on the link of a host.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Payload of a full packet, in bytes.
    payload: u64,
    /// Bytes of a packet on the link in addition to its payload.
    overhead: u64,
    round_trip: Span,
    /// Bandwidth-delay product in bytes on the link, at least a full packet.
    bdp: u64,
}

impl Sizes {
    fn new(config: &Config, link: &Link) -> Self {
        let payload = config.payload();
        let overhead = u64::from(HEADER_BYTES) + u64::from(link.framing_bytes);
        let packet = payload + overhead;
        let round_trip =
            link.round_trip + link.rate.transmit(packet) * PATH_PACKETS + config.host_delay;
        Self {
            payload,
            overhead,
            round_trip: round_trip.max(Span::from_ps(1)),
            bdp: link.rate.bytes_in(round_trip).max(packet),
        }
    }

    /// Returns the bytes of a full packet on the link.
    const fn packet(&self) -> u64 {
        self.payload + self.overhead
    }

    /// Returns this part of the BDP in bytes.
    fn of_bdp(&self, permille: u32) -> u64 {
        let bytes = u128::from(self.bdp) * u128::from(permille) / 1_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Returns the bytes on the link of the packets from `from` up to `to` of a message.
    #[inline]
    fn wire_bytes(&self, message_bytes: u64, from: u64, to: u64) -> u64 {
        let position = |number: u64| number.saturating_mul(self.payload).min(message_bytes);
        let headers = to.saturating_sub(from).saturating_mul(self.overhead);
        (position(to).saturating_sub(position(from))).saturating_add(headers)
    }
}

/// Returns the number with its four highest bits and zeros, so that not every packet moves its message in an order.
const fn round(packets: u64) -> u64 {
    let bits = u64::BITS - packets.leading_zeros();
    let low = bits.saturating_sub(4);
    packets >> low << low
}

/// Description of a message, which each of its packets carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Number of packets that the sender transmits without credit.
    pub unscheduled: u64,
}

/// Packet from a sender to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the message.
    pub message: u64,
    /// Contents of the packet.
    pub body: Body,
    /// Strict-priority class; 0 is the highest.
    pub class: u8,
}

/// Contents of a packet from a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Request for credit, without payload.
    Request,
    /// Packet `number` of the message.
    Payload {
        /// Position of the packet in the message, from 0.
        number: u64,
        /// True if the packet was sent before.
        is_retransmission: bool,
        /// True if the sender has more unused credit than `SThr` (congested-sender notification).
        is_congested: bool,
    },
    /// The application aborted the message.
    Abort,
}

/// Packet from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Credit for the packets below `up_to`, of which one is new; the others repair lost credits. Without a new packet, it
    /// confirms the message.
    Credit {
        /// One past the last permitted packet.
        up_to: u64,
        /// Packets below have arrived, so that the sender can free its memory.
        arrived: u64,
    },
    /// Credit for packet `number`, whose earlier credit was reclaimed: the packet or its credit may be lost.
    Resend {
        /// Position of the packet in the message.
        number: u64,
    },
    /// All packets, or the abort, arrived.
    Done,
}
