//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! The averages are binary floating-point numbers because their rounding is relative: if all times are halved, the
//! averages and the timeout are exactly halved, to the picosecond. Integer picoseconds would be truncated by the same
//! amount in both cases.

use super::Config;
use duetime_core::{Span, Time};

/// Estimator that times one segment per window and tracks SRTT, its variation and the timeout.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Rtt {
    /// Position at which the sample ends; `u64::MAX` if nothing is timed.
    timed_end: u64,
    timeout: Span,
    timed_at: Time,
    /// SRTT in picoseconds; zero before the first sample.
    smoothed: f64,
    /// RTTVAR in picoseconds.
    variation: f64,
}

impl Rtt {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            timed_end: u64::MAX,
            timed_at: Time::ZERO,
            timeout: config.rto_initial.max(config.rto_min),
            smoothed: 0.0,
            variation: 0.0,
        }
    }

    /// Starts a sample if none is running. `end` is the end of new data sent now.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, end: u64) {
        if self.timed_end == u64::MAX {
            (self.timed_end, self.timed_at) = (end, now);
        }
    }

    /// Ends the sample if `ack` covers it.
    #[inline]
    pub(super) fn acknowledged(&mut self, config: &Config, now: Time, ack: u64) {
        if ack >= self.timed_end {
            self.timed_end = u64::MAX;
            self.sample(config, now.since(self.timed_at));
        }
    }

    /// Discards the sample after a retransmission, because its acknowledgement would be ambiguous (Karn's algorithm,
    /// RFC 6298 §3).
    pub(super) fn forget_sample(&mut self) {
        self.timed_end = u64::MAX;
    }

    /// Doubles the timeout after it expired (RFC 6298 §5.5). The longer timeout lasts until the next sample.
    pub(super) fn back_off(&mut self, config: &Config) {
        let max = config.rto_max.max(config.rto_min);
        self.timeout = (self.timeout + self.timeout).min(max);
    }

    /// Updates the averages and the timeout (RFC 6298 §2.2 and §2.3). The clock is fine enough to omit G.
    #[inline]
    pub(super) fn sample(&mut self, config: &Config, rtt: Span) {
        // Signed, because the conversions take one instruction each.
        let rtt = rtt.as_ps().cast_signed() as f64;
        if self.smoothed <= 0.0 {
            self.smoothed = rtt;
            self.variation = rtt * 0.5;
        } else {
            let error = (self.smoothed - rtt).abs();
            self.variation = self.variation * 0.75 + error * 0.25;
            self.smoothed = self.smoothed * 0.875 + rtt * 0.125;
        }
        let max = config.rto_max.max(config.rto_min);
        self.timeout = span(self.smoothed + self.variation * 4.0)
            .max(config.rto_min)
            .min(max);
    }

    /// Returns the current retransmission timeout, including backoff.
    #[inline]
    pub(super) fn timeout(&self) -> Span {
        self.timeout
    }

    /// Returns SRTT, or zero before the first sample.
    #[inline]
    pub(crate) fn smoothed(&self) -> Span {
        span(self.smoothed)
    }
}

/// Rounds to 24 bits, so that above 33 us both the span and its half are whole picoseconds.
#[inline]
fn span(ps: f64) -> Span {
    Span::from_ps((ps as f32 as i64).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    #[inline]
    fn samples_follow_rfc_6298() {
        let config = Config {
            rto_min: Span::from_us(1),
            ..Config::default()
        };
        let mut rtt = Rtt::new(&config);
        assert_eq!(rtt.timeout(), Span::from_ms(10));
        rtt.sent(us(0), 10);
        rtt.sent(us(50), 20); // only one segment is timed at a time
        rtt.acknowledged(&config, us(90), 9);
        rtt.acknowledged(&config, us(100), 20);
        assert_eq!(rtt.smoothed(), Span::from_us(100));
        assert_eq!(rtt.timeout(), Span::from_us(300)); // 100 + 4 * 50
        rtt.sent(us(200), 30);
        rtt.acknowledged(&config, us(380), 30);
        assert_eq!(rtt.smoothed(), Span::from_us(110)); // 100 + (180 - 100) / 8
        assert_eq!(rtt.timeout(), Span::from_ns(110_000 + 4 * 57_500)); // 50 + (80 - 50) / 4
    }

    #[test]
    fn backoff_is_capped_and_ends_with_a_sample() {
        let config = Config {
            rto_max: Span::from_ms(35),
            ..Config::default()
        };
        let mut rtt = Rtt::new(&config);
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(), Span::from_ms(20));
        rtt.back_off(&config);
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(), Span::from_ms(35));
        rtt.sent(us(0), 2);
        rtt.forget_sample();
        rtt.acknowledged(&config, us(9), 2);
        assert_eq!(rtt.timeout(), Span::from_ms(35));
        rtt.sent(us(10), 3);
        rtt.acknowledged(&config, us(20), 3);
        assert_eq!(rtt.timeout(), config.rto_min);
    }
}
