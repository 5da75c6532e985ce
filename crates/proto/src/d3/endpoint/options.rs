//! Options, errors and statistics of an endpoint.

use super::super::wire::{HEADER_BYTES, UDP_IPV4_BYTES};
use super::super::{Allocation, Config, Counters, Grants, HostOptions, Rounding};
use core::fmt;
use duetime_core::{Rate, Span, Time};

/// Options and limits of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Options of D3. `wire.scale` is set here; it must be equal at all endpoints and routers of the network.
    pub config: Config,
    /// Rate of the outgoing interface. Hop 0 allocates it, and it limits the sending rate.
    pub uplink: Rate,
    /// Rate of the incoming interface, which this endpoint allocates if no router has (`config.router.allocation`);
    /// defaults to `uplink`. Endpoints that share an interface share its rate.
    pub downlink: Rate,
    /// Batch length, in time on the uplink, so that a driver can send several datagrams per call. [`Span::ZERO`] sends
    /// each datagram at its own time.
    pub batch: Span,
    /// Maximum time on the uplink that is made up for after the driver was late.
    pub catch_up: Span,
    /// Size of a stream's send buffer in bytes, which holds data until it is acknowledged.
    pub send_buffer: usize,
    /// Size of a stream's receive buffer in bytes; at most 2^30, the largest receive window.
    pub receive_buffer: usize,
    /// Size of the receive buffer before the stream is accepted.
    pub unaccepted_buffer: usize,
    /// Maximum number of streams, in any state.
    pub max_streams: usize,
    /// Maximum number of incoming streams from one address.
    pub max_streams_per_peer: usize,
    /// Maximum number of incoming streams whose peer has not proven its address, further limited to half of the
    /// backlog. Above, a SYN is answered with a challenge without storing state, which costs its sender one round trip.
    pub max_half_open: usize,
    /// Maximum time for which an incoming stream may be half open.
    pub half_open_timeout: Span,
    /// Maximum time to wait for the answer to a SYN.
    pub connect_timeout: Span,
    /// Maximum time without a datagram from the peer. Four pings are sent in this time.
    pub idle_timeout: Span,
    /// Time for which an ended stream is kept to answer a repeated FIN.
    pub linger: Span,
}

impl Options {
    /// Returns the defaults for UDP over IPv4 on an interface of the given rate, in a network without slower links.
    pub fn new(uplink: Rate) -> Self {
        Self {
            config: Config::default()
                .with(|c| {
                    c.wire.header_bytes = UDP_IPV4_BYTES;
                    c.host.request_backoff = 3;
                    c.host.pacing_batch = Span::from_us(50);
                    c.host.late_answers = Some(true);
                    c.router.allocation = Allocation::Edge;
                })
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

    /// Sets the rate of the network's slowest link, from which the scale follows. All endpoints and routers must agree
    /// on the scale: an endpoint with a faster interface must set the rate of the slowest link, or routers grant it
    /// nothing. No flow is granted more than 255 units of the scale, which is two to four times the rate of the slowest
    /// link.
    #[must_use]
    pub fn slowest_link(mut self, rate: Rate) -> Self {
        (self.config.wire.scale, self.config.router.update_interval) = (None, None);
        self.config = self.config.for_slowest(rate);
        self
    }

    /// Checks the options. Returns the first problem.
    pub fn check(&self) -> Result<(), OptionsError> {
        let wire = &self.config.wire;
        let mtus = wire.header_bytes + 22 + 64..=u32::from(u16::MAX);
        let receive_buffers = 1..=1 << 30;
        let invalid = [
            (self.uplink == Rate::from_bps(0), OptionsError::Uplink),
            (self.downlink == Rate::from_bps(0), OptionsError::Downlink),
            (wire.rounding == Rounding::Exact, OptionsError::Rounding),
            (
                wire.header_bytes < HEADER_BYTES as u32,
                OptionsError::HeaderBytes,
            ),
            (!mtus.contains(&wire.mtu), OptionsError::Mtu),
            (
                self.config.interval() == Span::ZERO,
                OptionsError::UpdateInterval,
            ),
            (
                self.config.host.request_backoff > HostOptions::MAX_REQUEST_BACKOFF,
                OptionsError::RequestBackoff,
            ),
            (self.send_buffer == 0, OptionsError::SendBuffer),
            (
                !receive_buffers.contains(&self.receive_buffer)
                    || !(1..=self.receive_buffer).contains(&self.unaccepted_buffer),
                OptionsError::ReceiveBuffer,
            ),
            (self.max_streams == 0, OptionsError::MaxStreams),
        ];
        let first = invalid.iter().find(|(is_invalid, _)| *is_invalid);
        first.map_or(Ok(()), |(_, error)| Err(*error))
    }
}

/// Invalid option of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsError {
    /// The rate of the uplink is zero.
    Uplink,
    /// The rate of the downlink is zero.
    Downlink,
    /// Exact rates cannot be encoded on the wire.
    Rounding,
    /// `header_bytes` is less than the datagram's header.
    HeaderBytes,
    /// `mtu` does not hold the headers and 64 bytes, or is above 65535.
    Mtu,
    /// The update interval is zero.
    UpdateInterval,
    /// `request_backoff` is above [`HostOptions::MAX_REQUEST_BACKOFF`].
    RequestBackoff,
    /// `send_buffer` is zero.
    SendBuffer,
    /// `receive_buffer` is not 1 to 2^30 bytes, or `unaccepted_buffer` not 1 byte to `receive_buffer`.
    ReceiveBuffer,
    /// `max_streams` is zero.
    MaxStreams,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uplink => "the rate of the uplink is zero",
            Self::Downlink => "the rate of the downlink is zero",
            Self::Rounding => "exact rates cannot be encoded on the wire",
            Self::HeaderBytes => "header_bytes is less than the datagram's header",
            Self::Mtu => "mtu must hold the headers and 64 bytes, and be at most 65535",
            Self::UpdateInterval => "the update interval is zero",
            Self::RequestBackoff => "request_backoff must be at most 10",
            Self::SendBuffer => "send_buffer is zero",
            Self::ReceiveBuffer => {
                "receive_buffer must be 1 to 2^30 bytes, and unaccepted_buffer 1 byte to receive_buffer"
            }
            Self::MaxStreams => "max_streams is zero",
        })
    }
}

impl core::error::Error for OptionsError {}

/// Reason why a call failed or a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// The operation would block; [`Event::Changed`](super::Event::Changed) is emitted when it can be retried.
    Blocked,
    /// The stream does not exist or was released.
    NoStream,
    /// Too many streams are open.
    TooMany,
    /// The outgoing flow of the stream is already open.
    AlreadyOpen,
    /// The outgoing flow is finished and cannot be written.
    Finished,
    /// The deadline cannot be met, and the flow was ended (D3 §6.1.3 or §7). The peer's data can still be read.
    Quenched,
    /// The application aborted its own flow.
    Aborted,
    /// The peer abandoned its flow: it was quenched or aborted. Data received before can be read.
    PeerAborted,
    /// The peer accepts no streams.
    Refused,
    /// The peer does not know the stream any more, or has released it.
    Reset,
    /// The peer did not answer in time, or does not receive datagrams with data.
    TimedOut,
    /// The interface does not accept datagrams of length `mtu`.
    TooLong,
    /// The peer uses another version of the format.
    Version(u8),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocked => "the operation would block",
            Self::NoStream => "no such stream",
            Self::TooMany => "too many streams are open",
            Self::AlreadyOpen => "the stream's sending side is already open",
            Self::Finished => "the stream's sending side is finished",
            Self::Quenched => "the deadline cannot be met: the flow was quenched",
            Self::Aborted => "the flow was aborted",
            Self::PeerAborted => "the peer abandoned its flow",
            Self::Refused => "the peer accepts no streams",
            Self::Reset => "the peer reset the stream",
            Self::TimedOut => "the peer did not answer in time",
            Self::TooLong => "the interface does not accept packets of the configured length",
            Self::Version(theirs) => {
                return write!(f, "the peer uses version {theirs} of the format");
            }
        })
    }
}

impl core::error::Error for StreamError {}

/// Statistics of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// s: rate granted for the current round trip.
    pub granted: Rate,
    /// Number of interfaces that granted the rate: the sending host's own and the routers on the path. A request has
    /// six slots; if this is six, the path may have further routers, which receive no requests and may not sustain the
    /// rate.
    pub hops: u8,
    /// Smoothed round-trip time, or `None` before the first sample.
    pub srtt: Option<Span>,
    /// Event counters of the outgoing flow, including `requests` and `retransmits`.
    pub counters: Counters,
    /// Bytes that the application has written.
    pub written: u64,
    /// Bytes that the peer has acknowledged.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// Origins of the rates granted to the peer's flow: this endpoint, for its downlink, or routers.
    pub grants: Grants,
    /// True if more was written than announced; the flow then continues without a deadline.
    pub exceeded: bool,
    /// Deadline of the flow, as announced or as extended.
    pub deadline: Option<Time>,
    /// Time at which the last byte and the FIN were acknowledged.
    pub delivered_at: Option<Time>,
}

/// Datagram counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Received datagrams that do not belong to this protocol.
    pub malformed: u64,
    /// Received datagrams with a wrong checksum.
    pub damaged: u64,
    /// Received datagrams of another version.
    pub other_versions: u64,
    /// Datagrams for a stream, from an address other than its peer's.
    pub other_addresses: u64,
    /// Datagrams for a stream that had a wrong peer identifier or were too late.
    pub stale: u64,
    /// Datagrams for no stream.
    pub strays: u64,
    /// Datagrams with data beyond the receive window.
    pub out_of_window: u64,
    /// SYNs that were dropped because of a limit.
    pub over_limit: u64,
    /// SYNs that were answered with a challenge.
    pub challenges: u64,
    /// Resets sent.
    pub resets: u64,
    /// Replies without a stream that were dropped because too many were queued.
    pub unanswered: u64,
}
