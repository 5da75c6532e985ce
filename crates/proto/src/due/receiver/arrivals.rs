//! Rate at which granted packets arrive, which the overload check uses instead of the link's rate.

use duetime_core::{Span, Time};

/// Limit of the time per packet, as a multiple of the transmission time.
const MAX_FACTOR: u64 = 10;
/// The link had no queue if fewer than three quarters of the packets that fit arrived in a round trip.
const IDLE: (u64, u64) = (3, 4);
/// Periods longer than this number of round trips had no grants waiting throughout.
const MAX_PERIOD_ROUND_TRIPS: u64 = 8;

/// Measured arrival rate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arrivals {
    packet_time: Span,
    round_trip: Span,
    started: Time,
    packets: u64,
    /// True if grants waited for others during the period, so that the link should have been busy.
    is_demanded: bool,
    service: Span,
    /// True if the link had no queue in the last period.
    is_idle: bool,
}

impl Arrivals {
    pub const fn new(packet_time: Span, round_trip: Span) -> Self {
        Self {
            packet_time,
            round_trip,
            started: Time::ZERO,
            packets: 0,
            is_demanded: false,
            service: packet_time,
            is_idle: true,
        }
    }

    /// Returns the average time per packet while grants wait.
    pub const fn service(&self) -> Span {
        self.service
    }

    /// Returns true if the link had no queue in the last period, so that marks are from the core.
    pub const fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub const fn count(&mut self) {
        self.packets += 1;
    }

    /// Notes that as many packets are in flight as permitted.
    pub const fn note_demand(&mut self) {
        self.is_demanded = true;
    }

    /// Ends the period if it lasted a round trip.
    #[inline]
    pub fn update(&mut self, now: Time) {
        let period = now.since(self.started);
        if period < self.round_trip {
            return;
        }
        let (part, whole) = IDLE;
        self.is_idle = self.packet_time * self.packets < period * part / whole;
        let is_measured = self.is_demanded && period < self.round_trip * MAX_PERIOD_ROUND_TRIPS;
        let service = if is_measured {
            let measured = period / self.packets.max(1);
            measured.clamp(self.packet_time, self.packet_time * MAX_FACTOR)
        } else {
            self.packet_time
        };
        self.service = (self.service * 7 + service) / 8;
        self.started = now;
        self.packets = 0;
        self.is_demanded = false;
    }
}
