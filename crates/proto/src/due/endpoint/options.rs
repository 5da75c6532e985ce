//! Options and limits of an endpoint.

use super::super::wire::MIN_MTU;
use super::super::{Config, Link};
use core::fmt;
use duetime_core::{Rate, Span};

/// Options and limits of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Options of the transport. `mtu` must fit the path, from 576 to 65,535. Endpoints announce exact sizes and true
    /// deadlines, so `announced_permille` and `false_deadline_permille` have no effect. With `core_window`, datagrams
    /// must be sent ECN-capable.
    pub config: Config,
    /// Link of the host and the network behind it. The link's rate also limits the sending rate, including
    /// `framing_bytes`. `classes` must be 1, because datagrams have no class.
    pub link: Link,
    /// Batch length, in time on the link, so that a driver can send several datagrams per call. [`Span::ZERO`] sends
    /// each datagram at its own time.
    pub batch: Span,
    /// Maximum time on the link that is made up for after the driver was late.
    pub catch_up: Span,
    /// Maximum size of a message in bytes, in both directions; at least 1.
    pub max_message_bytes: u64,
    /// Maximum number of bytes of incoming messages, including complete ones that the application has not taken; at
    /// least `max_message_bytes`.
    pub max_incoming_bytes: u64,
    /// Maximum number of bytes of outgoing messages that are not delivered; at least `max_message_bytes`.
    pub max_outgoing_bytes: u64,
    /// Maximum number of outgoing messages, including ended ones whose outcome was not taken; at least 1.
    pub max_outgoing: usize,
    /// Maximum number of messages from sources without a proven address, each for at most `unproven_timeout`. Above,
    /// packet 0 is answered with a challenge without storing state, which costs its source one round trip.
    pub max_unproven: usize,
    /// Maximum time for which a message counts towards `max_unproven`. An incomplete message is then discarded.
    pub unproven_timeout: Span,
    /// Maximum number of incoming messages, incomplete or not taken by the application, up to 65,536. Zero refuses all
    /// messages. [`Endpoint::listen`](super::Endpoint::listen) changes the limit.
    pub backlog: usize,
    /// Maximum number of sources, which are processes at an address and port; at least 1. A sixteenth of them, but at
    /// least one, may have the same IP address. Sources without messages are removed after 35 s, for which finished
    /// messages are remembered.
    pub max_sources: usize,
    /// Time without a reply after which a message fails if its receiver has never replied, from the first packet on; at
    /// most `silence_timeout`. A message of which fewer than three packets have left, because the link is busy, has
    /// `silence_timeout`.
    pub reply_timeout: Span,
    /// Time without a reply after which a message fails if its receiver has replied before, from the first packet since
    /// then on; at most 30 s.
    pub silence_timeout: Span,
}

/// Time for which receivers remember finished messages, so that none is delivered twice. Its source abandons a message
/// before: after [`MAX_SILENCE`] without a reply. The difference allows for packets that the network delays.
pub(super) const MEMORY: Span = Span::from_secs(35);
/// Upper limit of [`Options::silence_timeout`].
const MAX_SILENCE: Span = Span::from_secs(30);
/// Upper limit of [`Options::backlog`].
pub(super) const MAX_BACKLOG: usize = 1 << 16;

impl Options {
    /// Returns the defaults for a link of the given rate in one data center.
    pub fn new(rate: Rate) -> Self {
        Self {
            config: Config::default(),
            link: Link {
                rate,
                round_trip: Span::from_us(100),
                framing_bytes: 38,
                classes: 1,
                keeps_order: true,
            },
            batch: Span::from_us(50),
            catch_up: Span::from_us(300),
            max_message_bytes: 1 << 26,
            max_incoming_bytes: 1 << 28,
            max_outgoing_bytes: 1 << 28,
            max_outgoing: 1 << 16,
            max_unproven: 256,
            unproven_timeout: Span::from_secs(3),
            backlog: MAX_BACKLOG,
            max_sources: 1 << 16,
            reply_timeout: Span::from_secs(5),
            silence_timeout: Span::from_secs(30),
        }
    }

    /// Returns the time without a reply after which a message fails.
    pub(super) const fn timeout(&self, is_patient: bool) -> Span {
        if is_patient {
            self.silence_timeout
        } else {
            self.reply_timeout
        }
    }

    /// Checks the options. Returns the first problem.
    pub fn check(&self) -> Result<(), OptionsError> {
        let mtus = MIN_MTU..=u32::from(u16::MAX);
        let min_bytes = self.max_message_bytes.max(1);
        let timeouts = [
            self.unproven_timeout,
            self.reply_timeout,
            self.silence_timeout,
        ];
        let invalid = [
            (self.link.rate == Rate::from_bps(0), OptionsError::Rate),
            (self.link.classes != 1, OptionsError::Classes),
            (!mtus.contains(&self.config.mtu), OptionsError::Mtu),
            (
                self.max_message_bytes == 0
                    || self.max_incoming_bytes < min_bytes
                    || self.max_outgoing_bytes < min_bytes,
                OptionsError::Bytes,
            ),
            (
                self.max_outgoing == 0 || self.max_sources == 0,
                OptionsError::Counts,
            ),
            (
                timeouts.contains(&Span::ZERO)
                    || self.reply_timeout > self.silence_timeout
                    || self.silence_timeout > MAX_SILENCE,
                OptionsError::Timeouts,
            ),
        ];
        let first = invalid.iter().find(|(is_invalid, _)| *is_invalid);
        first.map_or(Ok(()), |(_, error)| Err(*error))
    }
}

/// Invalid option of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsError {
    /// The rate of the link is zero.
    Rate,
    /// The number of classes is not 1.
    Classes,
    /// `mtu` is not 576 to 65,535.
    Mtu,
    /// `max_message_bytes` is zero, or above `max_incoming_bytes` or `max_outgoing_bytes`.
    Bytes,
    /// `max_outgoing` or `max_sources` is zero.
    Counts,
    /// A timeout is zero, `reply_timeout` is above `silence_timeout`, or `silence_timeout` above 30 s.
    Timeouts,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rate => "the rate of the link is zero",
            Self::Classes => "link.classes must be 1, because datagrams have no class",
            Self::Mtu => "mtu must be 576 to 65535",
            Self::Bytes => {
                "max_message_bytes must be at least 1, and at most max_incoming_bytes and max_outgoing_bytes"
            }
            Self::Counts => "max_outgoing and max_sources must be at least 1",
            Self::Timeouts => {
                "timeouts must be above zero, reply_timeout at most silence_timeout, and silence_timeout at most 30 s"
            },
        })
    }
}

impl core::error::Error for OptionsError {}

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Outgoing messages that were delivered.
    pub delivered: u64,
    /// Incoming messages that were complete.
    pub complete: u64,
    /// Received datagrams that do not belong to this protocol or contradict themselves or their message.
    pub malformed: u64,
    /// Received datagrams with a wrong checksum.
    pub damaged: u64,
    /// Received datagrams of another version.
    pub other_versions: u64,
    /// Replies for no outgoing message: late, for another address, or forged.
    pub stale: u64,
    /// Data packets and aborts of no known message.
    pub strays: u64,
    /// Announcements that were dropped because of a limit. Their sources repeat them.
    pub over_limit: u64,
    /// Challenges sent.
    pub challenges: u64,
    /// Resets sent.
    pub resets: u64,
    /// Incoming messages that were discarded: the source does not respond, has no such message or has not proven its
    /// address in time, or memory was full.
    pub discarded: u64,
    /// Replies that were dropped because too many were queued.
    pub unanswered: u64,
}
