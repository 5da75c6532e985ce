//! Values derived from the options, the network and the sizes of messages. They are equal at all hosts.

use super::{
    CLASSES, Config, Cutoffs, INCAST_UNSCHEDULED, MAX_OVERCOMMITMENT, MAX_UNSCHEDULED, Outline,
};
use duetime_core::{Rate, Span};

/// Packet times added to the idle round trip: a few packets of queue.
const SLACK_PACKET_TIMES: u64 = 5;

/// Default of the silence after which packets are requested, in round trips, and its minimum. The paper uses a few
/// milliseconds for a round trip of about 10 us (Homa §3.7), so that a RESEND is rare without loss: packets of low classes
/// wait while those of higher classes arrive, in an incast of 15 MB at 100 Gbps for more than 50 round trips.
const RESEND_ROUND_TRIPS: u64 = 50;
const MIN_RESEND_INTERVAL: Span = Span::from_ms(1);

/// Network between the hosts.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Idle round trip over the longest path.
    pub round_trip: Span,
    /// Bytes per packet on the link in addition to the packet itself.
    pub framing_bytes: u32,
    /// Number of strict-priority classes of the network, at least 1.
    pub classes: u8,
}

/// Windows, priority levels and timeouts of all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// `RTTbytes` in packets, at least 1.
    pub window: u64,
    /// Number of packets that a message outside an incast sends without a grant, at least 1.
    pub unscheduled: u64,
    /// Number of messages that a receiver grants at the same time, at least 1.
    pub overcommitment: u8,
    /// Class of the first scheduled level.
    pub first_scheduled: u8,
    /// Number of scheduled levels, at least 1. They are the lowest classes.
    pub scheduled_levels: u8,
    /// Cutoffs between the unscheduled levels, which are the highest classes.
    pub cutoffs: Cutoffs,
    /// Silence after which packets are requested.
    pub resend_interval: Span,
    /// Transmission time of a full packet, at least 1 ps.
    pub packet_time: Span,
}

impl Plan {
    /// Derives the values. `sizes` lists sizes of messages in bytes, rising, with their relative frequency.
    pub fn new(config: &Config, network: &Network, sizes: &[(u64, u64)]) -> Self {
        let packet_bytes = u64::from(config.mtu.max(1)) + u64::from(network.framing_bytes);
        let packet_time = network.rate.transmit(packet_bytes).max(Span::from_ps(1));
        let round_trip = network.round_trip + config.host_delay + packet_time * SLACK_PACKET_TIMES;
        let product = || network.rate.bytes_in(round_trip);
        let window = (config.rtt_bytes.unwrap_or_else(product)).div_ceil(packet_bytes);
        let window = window.max(1);
        let unscheduled = config.unscheduled_bytes;
        let unscheduled = unscheduled.map_or(window, |bytes| bytes.div_ceil(packet_bytes).max(1));
        let classes = network.classes.clamp(1, CLASSES);
        let blind_bytes = unscheduled.saturating_mul(config.payload());
        let (levels, cutoffs) = if classes == 1 {
            (0, Cutoffs::default())
        } else {
            unscheduled_levels(config, classes, blind_bytes, sizes)
        };
        // A single class serves both kinds of packets.
        let scheduled_levels = classes - levels;
        Self {
            window,
            unscheduled,
            overcommitment: config
                .overcommitment
                .unwrap_or(scheduled_levels)
                .clamp(1, MAX_OVERCOMMITMENT),
            first_scheduled: levels,
            scheduled_levels,
            cutoffs,
            resend_interval: config
                .resend_interval
                .unwrap_or((round_trip * RESEND_ROUND_TRIPS).max(MIN_RESEND_INTERVAL))
                .max(Span::from_ps(1)),
            packet_time,
        }
    }

    /// Returns the number of packets that a message may send without a grant, at least 1.
    #[inline]
    pub fn unscheduled(&self, message: Outline) -> u64 {
        if message.is_incast {
            self.unscheduled.min(INCAST_UNSCHEDULED)
        } else {
            self.unscheduled
        }
    }

    /// Returns the class of the unscheduled packets of a message.
    #[inline]
    pub fn unscheduled_class(&self, bytes: u64) -> u8 {
        let lowest = self.first_scheduled.saturating_sub(1);
        self.cutoffs.level(bytes).min(lowest)
    }

    /// Returns the lowest class.
    pub const fn lowest_class(&self) -> u8 {
        self.first_scheduled + self.scheduled_levels - 1
    }

    /// Returns the class of the granted message at position `place` of `active` messages, fewest ungranted bytes first.
    /// The lowest levels are used first, so that a shorter message that arrives later finds a higher one (Homa §3.4).
    /// Messages beyond the number of levels share the lowest.
    #[inline]
    pub fn scheduled_class(&self, place: u8, active: u8) -> u8 {
        let unused = self.scheduled_levels.saturating_sub(active);
        let level = unused.saturating_add(place);
        self.first_scheduled + level.min(self.scheduled_levels - 1)
    }
}

/// Returns the number of unscheduled levels, below `classes`, and their cutoffs (Homa §3.4).
fn unscheduled_levels(
    config: &Config,
    classes: u8,
    blind_bytes: u64,
    sizes: &[(u64, u64)],
) -> (u8, Cutoffs) {
    let most = (classes - 1).min(MAX_UNSCHEDULED);
    if let Some(cutoffs) = config.cutoffs {
        return (cutoffs.levels().min(most), cutoffs);
    }
    let blind =
        |&(bytes, weight): &(u64, u64)| u128::from(bytes.min(blind_bytes)) * u128::from(weight);
    let all = |&(bytes, weight): &(u64, u64)| u128::from(bytes) * u128::from(weight);
    let blind_total = sizes.iter().map(blind).fold(0, u128::saturating_add);
    let total = sizes.iter().map(all).fold(0, u128::saturating_add);
    let levels = config.unscheduled_levels.unwrap_or_else(|| {
        // Divided first, because the sums can have more than 120 bits. A product rounds to the nearest level.
        let part = total / (2 * u128::from(classes));
        let halves = blind_total.checked_div(part).unwrap_or(0);
        u8::try_from(halves.div_ceil(2)).unwrap_or(u8::MAX)
    });
    let levels = levels.clamp(1, most);
    let mut cutoffs = Vec::new();
    let mut below = 0u128;
    for entry in sizes {
        below = below.saturating_add(blind(entry));
        // The level ends at the first size up to which its share of the bytes is reached.
        let share = |level: usize| blind_total / u128::from(levels) * level as u128;
        while cutoffs.len() + 1 < usize::from(levels) && below >= share(cutoffs.len() + 1) {
            cutoffs.push(entry.0);
        }
    }
    (levels, Cutoffs::new(&cutoffs))
}
