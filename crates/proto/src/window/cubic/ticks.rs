//! CUBIC as Linux computes it: by the ticks of its clock, and in whole segments.

use super::{Curve, ticks};
use crate::window::Window;
use duetime_core::{Span, Time};

/// How long Linux leaves the growth as it is while the window is the same.
const LONGEST: Span = Span::from_us(31_250);

impl Curve {
    /// RFC 9438 §4.2 to §4.5 as Linux does it: the curve is computed once in a tick, and for the same window again after 1/32 s; between
    /// them the window grows a segment for as many bytes as before. All of it is in whole segments.
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
        self.unseen = self.unseen.saturating_add(bytes);
        let (at, before) = self.computed;
        if before != window.cwnd || tick - at > LONGEST.as_ps() / length {
            let begins = self.epoch == Time::MAX;
            if begins {
                self.begin(now, window.cwnd, mss);
                self.unseen = bytes;
            }
            if begins || tick != at {
                self.compute(now, window.cwnd, mss, srtt);
                self.computed = (tick, window.cwnd);
            }
            let unseen = std::mem::take(&mut self.unseen);
            self.grow_estimate(window.cwnd, mss, unseen);
            let faster = self.estimate.saturating_sub(window.cwnd);
            let bytes_for_segment = window.cwnd.saturating_mul(mss).checked_div(faster);
            self.for_segment = self.for_segment.min(bytes_for_segment.unwrap_or(u64::MAX));
            self.for_segment = self.for_segment.max(2 * mss);
        }
        // What was acknowledged for a slower growth does not make the window jump.
        if window.growth >= self.for_segment {
            window.growth = 0;
            window.cwnd += mss;
        }
        window.growth = window.growth.saturating_add(bytes);
        if window.growth >= self.for_segment {
            window.cwnd += window.growth / self.for_segment * mss;
            window.growth %= self.for_segment;
        }
    }

    /// For how many bytes the window grows by a segment, to be where the curve is in a round trip.
    fn compute(&mut self, now: Time, cwnd: u64, mss: u64, srtt: Span) {
        let time = ticks(now.since(self.epoch)) + ticks(srtt);
        let at = self.window_at(time, mss);
        let whole = if time < self.k {
            at.div_ceil(mss)
        } else {
            at / mss
        };
        let above = (whole * mss).saturating_sub(cwnd);
        self.for_segment = match above {
            0 => cwnd.saturating_mul(100),
            _ => cwnd.saturating_mul(mss) / above,
        };
        if self.w_max == 0 {
            // No loss has told how large the window may be.
            self.for_segment = self.for_segment.min(20 * mss);
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
    fn growth_by_ticks() {
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
            (window.cwnd / MSS, curve.for_segment)
        };
        // In a round trip the curve is at 20 - 0.4 (∛15 - 0.001)³ = 14.007 segments, 15 in whole ones: one in 14.
        assert_eq!(acknowledge(0, 1), (14, 14 * MSS));
        assert_eq!(acknowledge(1, 12), (14, 14 * MSS));
        assert_eq!(acknowledge(1, 1), (15, 14 * MSS));
        // Within the tick it stays so, although the window has passed the curve.
        assert_eq!(acknowledge(2, 1), (15, 14 * MSS));
        assert_eq!(acknowledge(3, 13), (16, 14 * MSS));
        // The next tick sees that: a segment for a hundred windows.
        assert_eq!(acknowledge(4, 1), (16, 1_600 * MSS));
        // So it remains for seven ticks, while W_est grows by 0.529 segments in a window unseen: 201 + 29 segments are
        // 14.4 windows.
        assert_eq!(acknowledge(35, 200), (16, 1_600 * MSS));
        // W_est is at 21: five segments in a window of 16.
        assert_eq!(acknowledge(36, 1), (17, 3_200));
        assert_eq!(acknowledge(36, 2), (17, 3_200));
        assert_eq!(acknowledge(36, 1), (18, 3_200));
    }
}
