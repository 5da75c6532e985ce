//! Networks to check.

use duetime_core::{Rate, Span};
use duetime_proto::due::{Config, Link};

/// Rate of the receiver's link.
const RATE: Rate = Rate::from_gbps(1);

/// One receiver, its sources and their messages, and what may happen.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub config: Config,
    pub link: Link,
    /// Number of sources.
    pub sources: usize,
    pub messages: Vec<MessageCase>,
    pub faults: Faults,
    /// Number of messages that may be aborted, at any time.
    pub aborts: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct MessageCase {
    pub source: usize,
    /// Number of packets. The last is shorter than the others.
    pub packets: u8,
    /// Round trips from the start to the submission.
    pub start: u64,
    /// Packet times from the submission to the deadline.
    pub deadline: Option<u64>,
    pub query: Option<u64>,
    pub is_request: bool,
}

/// Faults that may happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Number of faults, of all kinds.
    pub number: u8,
    /// A packet of either direction is lost.
    pub loss: bool,
    /// A packet of either direction arrives twice.
    pub duplicates: bool,
    /// Round trips by which a packet can be late. Where the network keeps order, it delays those behind it.
    pub delays: &'static [u64],
    /// A source stops for ever.
    pub deaths: bool,
    /// The receiver loses its state and restarts.
    pub restarts: bool,
}

impl Faults {
    /// Returns a number of faults of kinds to be named.
    pub fn only(number: u8) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }
}

impl Case {
    /// Returns a case with an idle round trip of zero, so that R is five packet times, and without delays in hosts.
    /// `window` and `cap` are the limits of grants in packets.
    pub fn new(name: &'static str, (window, cap): (u32, u32), messages: &[MessageCase]) -> Self {
        let config = Config {
            // One packet is 200 permille of the bandwidth-delay product, rounded up.
            window_permille: window * 200,
            overcommit_permille: cap * 200,
            host_delay: Span::ZERO,
            core_window: false,
            ..Config::default()
        };
        let sources = messages.iter().map(|message| message.source + 1).max();
        Self {
            name,
            config,
            link: Link {
                rate: RATE,
                round_trip: Span::ZERO,
                framing_bytes: 0,
                classes: 1,
                keeps_order: true,
            },
            sources: sources.unwrap_or(0),
            messages: messages.to_vec(),
            faults: Faults::default(),
            aborts: 0,
        }
    }

    /// Sets the first announced size of messages, in thousandths of their size.
    pub fn sizes(mut self, permille: u32) -> Self {
        self.config.announced_permille = permille;
        self
    }

    /// Returns true if sources announce the sizes of their messages.
    pub const fn has_true_sizes(&self) -> bool {
        self.config.announced_permille == 1_000
    }

    /// Sets the minimum share of the background, in thousandths.
    pub fn share(mut self, permille: u32) -> Self {
        self.config.background_permille = permille;
        self
    }

    /// Returns the transmission time of a full packet.
    pub fn packet_time(&self) -> Span {
        RATE.transmit(self.config.mtu.into())
    }

    /// Returns R.
    pub fn round_trip(&self) -> Span {
        self.packet_time() * 5
    }

    /// Returns the bytes of a message.
    pub fn bytes(&self, message: usize) -> u64 {
        let packets = u64::from(self.messages[message].packets);
        packets * self.config.payload() - self.config.payload() / 2
    }

    /// Returns the limit of the packets in flight of a message (docs/due.md, "Limits of grants").
    pub fn window(&self) -> u64 {
        (u64::from(self.config.window_permille) * 5 / 1_000).max(1)
    }

    /// Returns the limit of all packets in flight (docs/due.md, "Limits of grants").
    pub fn cap(&self) -> u64 {
        (u64::from(self.config.overcommit_permille) * 5 / 1_000).max(2)
    }
}
