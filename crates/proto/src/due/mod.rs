//! `due`: a message transport that the receiving host schedules by deadline. docs/due.md specifies it.
//!
//! A sender announces a message with its first packet, which carries size, deadline and query, and sends all further
//! packets when the receiver grants them. The receiver knows all messages into its host, so it decides which of them
//! use its downlink: first those that complete the most queries in time, then the other answers that are still in time,
//! then messages that are late or have no deadline. Switches only forward; marks and priority classes help if present.
//!
//! One [`Sender`] and one [`Receiver`] per host serve all of its messages. Both count packets, not bytes. `T` is the
//! driver's own data of a message, such as the address for replies.
//!
//! [`endpoint`] drives both for messages between socket addresses, in the datagrams of [`wire`].

pub mod endpoint;
mod receiver;
mod sender;
pub mod wire;

pub use receiver::{Delivered, Demand, MAX_DEMANDS, Receiver};
pub use sender::{Counters, Sender};

use duetime_core::{Rate, Span, Time};

/// Length of the IPv4, UDP and `due` headers of a packet, in bytes.
pub const HEADER_BYTES: u32 = 60;

/// Number of packets that a sender transmits without a grant.
pub const UNSCHEDULED_PACKETS: u64 = 1;

/// Options of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum packet size in bytes, with all headers.
    pub mtu: u32,
    /// Limit of the packets in flight of one message, in thousandths of the bandwidth-delay product.
    pub window_permille: u32,
    /// Limit of the packets in flight of all messages into a host, in thousandths of the bandwidth-delay product.
    pub overcommit_permille: u32,
    /// Minimum share of the grants for messages that are late or have no deadline, in thousandths.
    pub background_permille: u32,
    /// Allowance for delays in hosts, which the idle round trip does not contain. Windows cover it.
    pub host_delay: Span,
    /// True if marks reduce the window of a message when the host's own link has no queue.
    pub core_window: bool,
    /// First announced size of a message over its size, in thousandths. Sources of a real service that only estimate
    /// sizes are modelled by other values than 1,000.
    pub announced_permille: u32,
    /// Share of the source hosts that announce a tenth of the time allowed, in thousandths. The simulator's driver applies
    /// it, since only a driver knows hosts.
    pub false_deadline_permille: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            window_permille: 1_250,
            overcommit_permille: 1_500,
            background_permille: 50,
            host_delay: Span::from_us(20),
            core_window: true,
            announced_permille: 1_000,
            false_deadline_permille: 0,
        }
    }
}

impl Config {
    /// Returns the payload of a full packet in bytes.
    pub const fn payload(&self) -> u64 {
        self.mtu.saturating_sub(HEADER_BYTES) as u64
    }

    /// Returns the number of packets of a message. An empty message has one.
    pub const fn packets(&self, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(self.payload());
        if packets == 0 { 1 } else { packets }
    }

    /// Returns the number of packets that a source announces first for a message of `packets`.
    fn announced(&self, packets: u64) -> u64 {
        let announced = u128::from(packets) * u128::from(self.announced_permille) / 1_000;
        u64::try_from(announced).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the payload of packet `number` of a message, in bytes.
    #[inline]
    pub fn payload_of(&self, message_bytes: u64, number: u64) -> u32 {
        let sent = number.saturating_mul(self.payload());
        message_bytes.saturating_sub(sent).min(self.payload()) as u32
    }
}

/// Link of a host and the network behind it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: Rate,
    /// Round trip of a full packet and a grant in the idle network, over the longest path.
    pub round_trip: Span,
    /// Bytes per packet on the link in addition to the packet itself.
    pub framing_bytes: u32,
    /// Number of strict-priority classes of the network, at least 1.
    pub classes: u8,
    /// True if packets of a message arrive in the order in which they were sent, so that a gap is a loss. Requires
    /// one class and one path.
    pub keeps_order: bool,
}

/// Packet times added to the idle round trip: a few packets of queue.
const SLACK_PACKET_TIMES: u64 = 5;

impl Link {
    /// Returns the round trip that timers and windows assume, without delays in hosts.
    fn network_round_trip(&self, config: &Config) -> Span {
        self.round_trip + self.packet_time(config) * SLACK_PACKET_TIMES
    }

    /// Returns the transmission time of a full packet.
    fn packet_time(&self, config: &Config) -> Span {
        let bytes = u64::from(config.mtu) + u64::from(self.framing_bytes);
        self.rate.transmit(bytes).max(Span::from_ps(1))
    }
}

/// Description of a message, which its first packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Announcement {
    /// Size of the message in bytes. Receivers use the number of packets that the source announces.
    pub bytes: u64,
    /// Time at which the whole message is due.
    pub deadline: Option<Time>,
    /// Query that the message answers. The answers of one query are useful together.
    pub query: Option<u64>,
    /// True for a request without a deadline that another host waits for. Applies to messages of up to four packets,
    /// which are granted before all others.
    pub is_request: bool,
}

/// Names a message at its receiver: the source host and the source's number of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Source host.
    pub source: u32,
    /// Number of the message, unique at the source.
    pub number: u64,
}

/// Packet from a sender to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// Number of the message.
    pub message: u64,
    /// Contents of the packet.
    pub body: Body,
    /// Strict-priority class; 0 is the highest.
    pub class: u8,
}

/// Contents of a packet from a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Packet `number` of the message.
    Payload {
        /// Position of the packet in the message, from 0.
        number: u64,
        /// True if the packet was sent before.
        is_retransmission: bool,
        /// Number of packets that the message has, as far as the source knows: later packets can announce more.
        announced: u64,
        /// True if the packet is the last of the message.
        is_last: bool,
    },
    /// The application aborted the message.
    Abort,
}

/// Packet from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// Permits the packets below `up_to`.
    Grant {
        /// One past the last permitted packet.
        up_to: u64,
        /// Packets below have arrived, so that the sender can free its memory.
        arrived: u64,
        /// Strict-priority class of the packets.
        class: u8,
        /// True if the message is granted only what more urgent messages leave.
        is_background: bool,
    },
    /// Requests the packets from `from` up to, but not including, `to`.
    Resend {
        /// First missing packet.
        from: u64,
        /// One past the last missing packet.
        to: u64,
    },
    /// All packets, or the abort, arrived.
    Done,
}
