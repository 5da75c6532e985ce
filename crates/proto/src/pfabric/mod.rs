//! pFabric: ports schedule and drop packets by the remaining size of their flow, and hosts send at line rate
//! (Alizadeh et al., SIGCOMM 2013).
//!
//! Each packet carries the number of bytes of its message that are not acknowledged. Ports with small queues send the
//! packet with the fewest first and drop the packet with the most first (§4.2). A host sends its shortest message first,
//! up to a window of the bandwidth-delay product per message, and detects losses only by a small fixed timeout (§4.3).
//!
//! One [`Sender`] and one [`Receiver`] per host serve all of its messages. Both count packets, not bytes. `T` is the
//! driver's own data of a message, such as the address for replies.

mod flow;
mod receiver;
mod sender;

pub use flow::Counters;
pub use receiver::Receiver;
pub use sender::Sender;

use duetime_core::{Rate, Span};

/// Length of the headers of a packet in bytes: as of TCP over IPv4. The priority takes the place of TCP's window.
pub const HEADER_BYTES: u32 = 40;

/// Limit of the packets of a message from the first that is not acknowledged to the last that was sent.
const MAX_SPAN: u64 = 1 << 14;

/// Options of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum packet size in bytes, with all headers.
    pub mtu: u32,
    /// Initial window of a message in packets, or `None` for the bandwidth-delay product.
    pub window: Option<u32>,
    /// Retransmission timeout, or `None` for [`Link::timeout`].
    pub rto: Option<Span>,
    /// Consecutive timeouts after which a message enters probe mode.
    pub probe_after: u32,
    /// Memory of a switch's port in bytes, or `None` for two bandwidth-delay products.
    pub queue: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            window: None,
            rto: None,
            probe_after: 5,
            queue: None,
        }
    }
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

    /// Returns the memory of a switch's port in a network with this host link, in bytes.
    pub fn queue_bytes(&self, link: &Link) -> u64 {
        let min = 2 * u64::from(self.mtu + link.framing_bytes);
        let queue = || (2 * link.rate.bytes_in(link.full_round_trip(self))).max(min);
        self.queue.unwrap_or_else(queue)
    }
}

/// Link of a host and the network behind it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: Rate,
    /// Usual round trip over the longest path of the idle network, without the transmission times of packets.
    pub round_trip: Span,
    /// Time by which hosts can delay a round trip in addition; timeouts allow for it.
    pub host_delay: Span,
    /// Bytes per packet on the link in addition to the packet itself.
    pub framing_bytes: u32,
}

/// Packet times added to the round trip: store and forward on four links, and the acknowledgement.
const PACKET_TIMES: u64 = 5;
/// Round trips after which a packet counts as lost (pFabric §4.3).
const TIMEOUT_ROUND_TRIPS: u64 = 3;

impl Link {
    /// Returns the round trip of a full packet and its acknowledgement.
    fn full_round_trip(&self, config: &Config) -> Span {
        let bytes = u64::from(config.mtu) + u64::from(self.framing_bytes);
        self.round_trip + self.rate.transmit(bytes) * PACKET_TIMES
    }

    /// Returns the window of the bandwidth-delay product in packets, at least 1 (pFabric §4.3), or the configured
    /// window.
    fn window(&self, config: &Config) -> u32 {
        let bytes = u64::from(config.mtu) + u64::from(self.framing_bytes);
        let bdp = self.rate.bytes_in(self.full_round_trip(config)) / bytes.max(1);
        let window = config.window.map_or(bdp, u64::from);
        window.clamp(1, MAX_SPAN) as u32
    }

    /// Returns the retransmission timeout: three round trips and the delay of hosts, or the configured one.
    pub fn timeout(&self, config: &Config) -> Span {
        let usual = || self.full_round_trip(config) * TIMEOUT_ROUND_TRIPS + self.host_delay;
        config.rto.unwrap_or_else(usual).max(Span::from_ps(1))
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
    /// Contents of the packet.
    pub body: Body,
    /// Bytes of the message that were not acknowledged when the packet was sent: its priority, 0 being the highest.
    pub remaining: u64,
    /// Length of the payload in bytes.
    pub len: u32,
}

/// Contents of a packet from a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Packet `number` of the message.
    Payload {
        /// Position of the packet in the message, from 0.
        number: u64,
        /// True if the packet was sent before.
        is_retransmission: bool,
        /// True if the packet is the last of the message.
        is_last: bool,
    },
    /// Request for an acknowledgement, without payload (probe mode, pFabric §4.3).
    Probe,
    /// The application aborted the message.
    Abort,
}

/// Acknowledgement of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Packet that is acknowledged, or `None` for a probe.
    pub number: Option<u64>,
    /// All packets below have arrived.
    pub up_to: u64,
    /// True if the whole message has arrived.
    pub is_complete: bool,
}
