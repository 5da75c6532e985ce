//! CUBIC as implemented in Linux: by clock ticks and in whole segments.

use super::{Curve, ticks};
use crate::window::Window;
use duetime_core::{Span, Time};

/// Time for which Linux keeps the growth rate while the window is unchanged.
const MAX_AGE: Span = Span::from_us(31_250);

impl Curve {
    /// Grows the window as Linux does (RFC 9438 §4.2 to §4.5): the curve is computed once per tick, and for an
    /// unchanged window again after 1/32 s. In between, the window grows by a segment per constant number of bytes. All
    /// values are in whole segments.
    pub(super) fn avoid_by_ticks(
        &mut self,
        now: Time,
        window: &mut Window,
        mss: u64,
        srtt: Span,
        bytes: u64,
    ) {
        let length = self.options.tick.as_ps();
        let tick = now.as_ps() / length;
        self.uncounted = self.uncounted.saturating_add(bytes);
        let (at, before) = self.computed;
        if before != window.cwnd || tick - at > MAX_AGE.as_ps() / length {
            let begins = self.epoch == Time::MAX;
            if begins {
                self.begin(now, window.cwnd, mss);
                self.uncounted = bytes;
            }
            if begins || tick != at {
                self.compute(now, window.cwnd, mss, srtt);
                self.computed = (tick, window.cwnd);
            }
            let uncounted = std::mem::take(&mut self.uncounted);
            self.grow_estimate(window.cwnd, mss, uncounted);
            let lag = self.estimate.saturating_sub(window.cwnd);
            let reno_bytes_per_segment = window.cwnd.saturating_mul(mss).checked_div(lag);
            self.bytes_per_segment = self
                .bytes_per_segment
                .min(reno_bytes_per_segment.unwrap_or(u64::MAX));
            self.bytes_per_segment = self.bytes_per_segment.max(2 * mss);
        }
        // Bytes acknowledged under a slower growth rate must not make the window jump.
        if window.growth >= self.bytes_per_segment {
            window.growth = 0;
            window.cwnd += mss;
        }
        window.growth = window.growth.saturating_add(bytes);
        if window.growth >= self.bytes_per_segment {
            window.cwnd += window.growth / self.bytes_per_segment * mss;
            window.growth %= self.bytes_per_segment;
        }
    }

    /// Computes the bytes per segment of growth for which the window meets the curve in one round trip.
    fn compute(&mut self, now: Time, cwnd: u64, mss: u64, srtt: Span) {
        let time = ticks(now.since(self.epoch)) + ticks(srtt);
        let at = self.window_at(time, mss);
        let target = if time < self.k {
            at.div_ceil(mss)
        } else {
            at / mss
        };
        let above = (target * mss).saturating_sub(cwnd);
        self.bytes_per_segment = match above {
            0 => cwnd.saturating_mul(100),
            _ => cwnd.saturating_mul(mss) / above,
        };
        if self.w_max == 0 {
            // No loss has indicated the maximum window yet.
            self.bytes_per_segment = self.bytes_per_segment.min(20 * mss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cubic, State};
    use super::*;
    use crate::tcp::Config;

    const MSS: u64 = 1_000;

    #[test]
    fn growth_matches_hand_computed_values() {
        let config = Config {
            mss: MSS as u32,
            ..Config::default()
        };
        let mut window = Window {
            cwnd: 14 * MSS,
            ssthresh: 14 * MSS,
            growth: 0,
        };
        let State(mut curve) = State::new(Cubic {
            tick: Span::from_ms(4),
            alpha_one: false,
            ..Cubic::default()
        });
        (curve.w_max, curve.prior) = (20 * MSS, 20 * MSS);
        let mut acknowledge = |ms, segments| {
            let now = Time::ZERO + Span::from_ms(ms);
            curve.avoid_congestion(&config, now, &mut window, Span::from_ms(1), segments * MSS);
            (window.cwnd / MSS, curve.bytes_per_segment)
        };
        // After a round trip the curve is at 20 - 0.4 (∛15 - 0.001)³ = 14.007 segments, rounded up to 15: one in 14.
        assert_eq!(acknowledge(0, 1), (14, 14 * MSS));
        assert_eq!(acknowledge(1, 12), (14, 14 * MSS));
        assert_eq!(acknowledge(1, 1), (15, 14 * MSS));
        // The rate is constant within the tick, although the window has passed the curve.
        assert_eq!(acknowledge(2, 1), (15, 14 * MSS));
        assert_eq!(acknowledge(3, 13), (16, 14 * MSS));
        // The next tick accounts for that: one segment per hundred windows.
        assert_eq!(acknowledge(4, 1), (16, 1_600 * MSS));
        // The rate is constant for seven ticks, while the uncounted W_est grows by 0.529 segments per window: 201 + 29
        // segments are 14.4 windows.
        assert_eq!(acknowledge(35, 200), (16, 1_600 * MSS));
        // W_est reaches 21: five segments per window of 16.
        assert_eq!(acknowledge(36, 1), (17, 3_200));
        assert_eq!(acknowledge(36, 2), (17, 3_200));
        assert_eq!(acknowledge(36, 1), (18, 3_200));
    }
}
