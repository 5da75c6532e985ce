//! What an endpoint may use, and what it answers when that is not enough.

use super::super::datagram::{HEADER_BYTES, UDP_IPV4_BYTES};
use super::super::{Allocation, Config, Counters, Grants, Late, Rounding, Speculation};
use core::fmt;
use duetime_core::{Rate, Span, Time};

/// Options and limits of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// D3's own options. `scale` must be that of all endpoints and routers of the network, and is set here.
    pub config: Config,
    /// The rate of the interface that datagrams leave through: hop 0 allocates it, and nothing leaves faster.
    pub uplink: Rate,
    /// The rate of the interface that datagrams arrive at, which this endpoint allocates where no router has
    /// (`config.allocation`); the uplink's by default. Endpoints that share an interface share its rate.
    pub downlink: Rate,
    /// Datagrams leave in batches of this much of the uplink's time, so that a driver can send several in one call;
    /// [`Span::ZERO`]: one by one, each at its time.
    pub batch: Span,
    /// How much of the uplink's time may be made up for when the driver was late.
    pub catch_up: Span,
    /// Bytes that a stream keeps until they are acknowledged.
    pub send_buffer: usize,
    /// Bytes that a stream's receive buffer holds, at most 2^30: the largest receive window.
    pub receive_buffer: usize,
    /// Bytes that it holds before the stream is accepted.
    pub unaccepted_buffer: usize,
    /// Streams at once, in any state.
    pub max_streams: usize,
    /// Incoming streams at once from one address.
    pub max_streams_per_peer: usize,
    /// Incoming streams whose peer has not proven its address, and at most half of the backlog. Above, a SYN is
    /// answered by a challenge and not remembered, which costs its sender one round trip.
    pub max_half_open: usize,
    /// How long an incoming stream may stay half open.
    pub half_open_timeout: Span,
    /// How long the answer to a SYN may take.
    pub connect_timeout: Span,
    /// How long the peer may be silent. It is asked four times in this time whether it is there.
    pub idle_timeout: Span,
    /// How long an ended stream stays to answer a repeated FIN.
    pub linger: Span,
}

impl Options {
    /// The defaults, for an interface of the given rate in a network that has none slower, with UDP over IPv4.
    pub fn new(uplink: Rate) -> Self {
        Self {
            config: Config {
                header_bytes: UDP_IPV4_BYTES,
                request_backoff: 3,
                pacing_batch: Span::from_us(50),
                late_answers: Some(true),
                allocation: Allocation::Edge,
                ..Config::default()
            }
            .for_slowest(uplink),
            uplink,
            downlink: uplink,
            batch: Span::from_us(50),
            catch_up: Span::from_us(300),
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            unaccepted_buffer: 1 << 16,
            max_streams: 65_536,
            max_streams_per_peer: 4_096,
            max_half_open: 256,
            half_open_timeout: Span::from_secs(3),
            connect_timeout: Span::from_secs(5),
            idle_timeout: Span::from_secs(10),
            linger: Span::from_secs(3),
        }
    }

    /// The same for a network whose slowest link has the given rate. All endpoints and routers of a network must agree on
    /// the scale, which follows from its slowest link: an endpoint whose own interface is faster has to name that link's
    /// rate, or routers grant it nothing. No flow is granted more than 255 units of the scale, which are two to four
    /// times the slowest link's rate.
    #[must_use]
    pub fn slowest_link(mut self, rate: Rate) -> Self {
        (self.config.scale, self.config.update_interval) = (None, None);
        self.config = self.config.for_slowest(rate);
        self
    }

    /// What is wrong with these options, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        let smallest = self.config.header_bytes + 22 + 64;
        let largest = u32::from(u16::MAX);
        let problems = [
            (
                self.uplink == Rate::from_bps(0),
                "the rate of the uplink is zero",
            ),
            (
                self.downlink == Rate::from_bps(0),
                "the rate of the downlink is zero",
            ),
            (
                self.config.rounding == Rounding::Exact,
                "exact rates have no form on the wire",
            ),
            (
                self.config.header_bytes < HEADER_BYTES as u32,
                "header_bytes is less than the datagram's header",
            ),
            (
                !(smallest..=largest).contains(&self.config.mtu),
                "the largest packet must hold its headers and 64 bytes, and 65535 bytes at most",
            ),
            (
                self.config.interval() == Span::ZERO,
                "the update interval is zero",
            ),
            (
                self.config.request_backoff > Config::MAX_REQUEST_BACKOFF,
                "the wait of a paused flow is doubled 10 times at most",
            ),
            (self.send_buffer == 0, "the send buffer is empty"),
            (
                !(1..=1 << 30).contains(&self.receive_buffer)
                    || !(1..=self.receive_buffer).contains(&self.unaccepted_buffer),
                "the receive buffer must be 1 byte to 2^30 bytes, and hold the unaccepted buffer",
            ),
            (self.max_streams == 0, "no stream is allowed"),
        ];
        problems
            .iter()
            .find(|(wrong, _)| *wrong)
            .map(|(_, problem)| *problem)
    }
}

/// What a flow does about its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// End the flow when its deadline cannot be met (D3 §6.1.3).
    pub quench: bool,
    /// End the flow when its desired rate keeps rising (D3 §7, speculative flow quenching).
    pub speculation: Option<Speculation>,
    /// What a late flow asks for: soft deadlines (D3 §7).
    pub late: Late,
    /// By how much [`Late::Extend`] moves the deadline, in 1/1000 of the original allowance.
    pub late_extension_permille: u32,
}

impl Policy {
    /// The one that `config` gives to every flow.
    pub fn of(config: &Config) -> Self {
        Self {
            quench: config.quench,
            speculation: config.speculative.then_some(config.speculation),
            late: config.late,
            late_extension_permille: config.late_extension_permille,
        }
    }

    /// `config` for a flow of this policy.
    pub(super) fn apply(&self, config: &Config) -> Config {
        Config {
            quench: self.quench,
            speculative: self.speculation.is_some(),
            speculation: self.speculation.unwrap_or_default(),
            late: self.late,
            late_extension_permille: self.late_extension_permille,
            ..*config
        }
    }
}

/// Why a call could not do what it was asked for, or a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// Nothing can be done now; [`Event::Changed`](super::Event::Changed) tells when to try again.
    Blocked,
    /// No such stream: it was released, or never was.
    NoStream,
    /// Too many streams are open.
    TooMany,
    /// The stream's sending side has been opened before.
    AlreadyOpen,
    /// The sending side is finished: nothing can be written.
    Finished,
    /// The deadline cannot be met, and the flow was ended (D3 §6.1.3 or §7). What the peer sends can still be read.
    Quenched,
    /// The application gave its own flow up.
    Aborted,
    /// The peer gave its flow up: it was quenched, or its application aborted it. What came before can be read.
    GivenUp,
    /// The peer accepts no streams.
    Refused,
    /// The peer knows this stream no more, or reads no more of it.
    Reset,
    /// The peer did not answer in time, or what has bytes does not reach it.
    TimedOut,
    /// The interface takes no datagram as long as `mtu` allows.
    TooLong,
    /// The peer speaks another version of the format.
    Version(u8),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocked => "nothing can be done now",
            Self::NoStream => "no such stream",
            Self::TooMany => "too many streams are open",
            Self::AlreadyOpen => "the stream's sending side is open already",
            Self::Finished => "the stream's sending side is finished",
            Self::Quenched => "the deadline cannot be met: the flow was quenched",
            Self::Aborted => "the flow was aborted",
            Self::GivenUp => "the peer gave its flow up",
            Self::Refused => "the peer accepts no streams",
            Self::Reset => "the peer reset the stream",
            Self::TimedOut => "the peer did not answer in time",
            Self::TooLong => "the interface takes no packets of the configured length",
            Self::Version(theirs) => {
                return write!(f, "the peer speaks version {theirs} of the format");
            }
        })
    }
}

impl core::error::Error for StreamError {}

/// What is known of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// s: the rate granted for the present round trip.
    pub granted: Rate,
    /// How many interfaces granted it: the sending host's own, and the routers on the path. A request has six slots:
    /// if it is six, there may be more, which nobody asks, and whose rate the flow does not keep to.
    pub hops: u8,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Span>,
    /// What happened to the sending flow; `requests` and `retransmits` among it.
    pub counters: Counters,
    /// Bytes that the application has written.
    pub written: u64,
    /// Bytes that the peer has acknowledged.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// Who granted the peer's flow its rates: this endpoint, for its downlink, or routers.
    pub grants: Grants,
    /// More was written than announced: the flow goes on without a deadline.
    pub exceeded: bool,
    /// The flow's deadline, as announced or as it has been moved.
    pub deadline: Option<Time>,
    /// When the last byte and the FIN were acknowledged.
    pub delivered_at: Option<Time>,
}

/// What is known of an endpoint: datagrams and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Received, and not a datagram of this protocol.
    pub malformed: u64,
    /// Received with a wrong checksum.
    pub damaged: u64,
    /// Received in another version.
    pub other_versions: u64,
    /// For a stream, from another address than its peer's.
    pub other_addresses: u64,
    /// For a stream, with a wrong identifier of its peer, or too late.
    pub stale: u64,
    /// For no stream.
    pub strays: u64,
    /// With data beyond the receive window.
    pub out_of_window: u64,
    /// SYNs that a limit kept from being taken.
    pub over_limit: u64,
    /// SYNs answered by a challenge.
    pub challenges: u64,
    /// Resets sent.
    pub resets: u64,
    /// Answers without a stream that were not sent, because too many waited already.
    pub unanswered: u64,
}
