//! D2TCP: DCTCP with a window reduction that depends on the deadline (D2TCP §3).

use super::imminence::{completion_rtts, imminence};
use super::{CongestionControl, Control, D2tcp, Dctcp, Progress, Window, dctcp};
use crate::tcp::Config;
use duetime_core::fixed::{Factor, Fraction};
use duetime_core::{Span, Time};

#[derive(Clone, Debug)]
pub(crate) struct State(dctcp::State);

impl State {
    pub fn new(marks: Dctcp, _deadlines: D2tcp) -> Self {
        Self(dctcp::State::new(marks))
    }
}

impl Control for State {
    const USES_MARKS: bool = true;

    #[inline(always)]
    fn on_ecn_feedback(&mut self, marked: u64, ack: u64, next: u64) {
        self.0.on_ecn_feedback(marked, ack, next);
    }

    #[inline(always)]
    fn on_explicit_congestion(
        &mut self,
        config: &Config,
        now: Time,
        window: &mut Window,
        progress: impl FnOnce() -> Progress,
    ) {
        let alpha = self.alpha();
        let p = match &config.congestion_control {
            CongestionControl::D2tcp(_, options) => options.penalty(now, alpha, &progress()),
            _ => alpha,
        };
        window.reduce(config, p);
    }

    fn alpha(&self) -> Fraction {
        self.0.alpha()
    }
}

impl D2tcp {
    /// Returns p = α^d; the window is multiplied by 1 - p/2 (D2TCP §3.1). Without a deadline d is one, as in DCTCP.
    #[doc(hidden)]
    #[inline(never)]
    pub fn penalty(&self, now: Time, alpha: Fraction, progress: &Progress) -> Fraction {
        alpha.power(self.imminence_of(now, progress))
    }

    /// Returns the flow's d at `now`, clamped (D2TCP §3.2).
    #[doc(hidden)]
    pub fn imminence_of(&self, now: Time, progress: &Progress) -> Factor {
        let Some(deadline) = progress.deadline else {
            return Factor::ONE;
        };
        let (min, max) = (Factor::from_f64(self.d_min), Factor::from_f64(self.d_max));
        let d = if progress.srtt == Span::ZERO || progress.remaining == 0 {
            Factor::ONE
        } else if deadline <= now {
            // The paper leaves this open. A missed flow has no value under a hard deadline, so it yields.
            Factor::from_f64(self.d_expired)
        } else {
            let rtts = completion_rtts(
                self.completion,
                progress.remaining,
                progress.window,
                progress.mss,
            );
            imminence(rtts, progress.srtt.as_ps(), deadline.since(now).as_ps())
        };
        // The clamp applies to expired flows too, so that [1, 1] equals DCTCP.
        d.max(min).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Completion;

    fn d2tcp(d_min: f64, d_max: f64) -> D2tcp {
        D2tcp {
            d_min,
            d_max,
            d_expired: 0.5,
            completion: Completion::Approximate,
        }
    }

    /// Returns a flow that needs 8⅓ round trips of 1 ms and has time `left`.
    fn progress(left: Option<Span>) -> Progress {
        Progress {
            deadline: left.map(|left| NOW + left),
            remaining: 100_000,
            window: 16_000,
            mss: 1_000,
            srtt: Span::from_ms(1),
        }
    }

    const NOW: Time = Time::from_ps(5_000_000_000_000);

    fn penalty(options: D2tcp, left: Option<Span>) -> f64 {
        options
            .penalty(NOW, Fraction::from_f64(0.25), &progress(left))
            .to_f64()
    }

    #[test]
    fn imminence_is_clamped_and_scales_with_rtt() {
        let far = penalty(d2tcp(0.5, 2.0), Some(Span::from_ms(100)));
        let near = penalty(d2tcp(0.5, 2.0), Some(Span::from_ms(1)));
        let exact = penalty(d2tcp(0.5, 2.0), Some(Span::from_us(8_333)));
        assert!((far - 0.5).abs() < 1e-5, "{far}");
        assert!((near - 0.0625).abs() < 1e-5, "{near}");
        assert!((exact - 0.25).abs() < 1e-4, "{exact}");
    }

    #[test]
    fn penalties_match_the_paper() {
        // D2TCP §3.1: p for d of 0.5, 1, 1.5 and 2.
        let table = [
            (0.0625, [0.25, 0.0625, 0.0156, 0.0039]),
            (0.25, [0.5, 0.25, 0.125, 0.0625]),
            (0.5, [core::f64::consts::FRAC_1_SQRT_2, 0.5, 0.3536, 0.25]),
            (1.0, [1.0, 1.0, 1.0, 1.0]),
        ];
        for (alpha, penalties) in table {
            for (d, p) in [0.5, 1.0, 1.5, 2.0].into_iter().zip(penalties) {
                let got = Fraction::from_f64(alpha)
                    .power(Factor::from_f64(d))
                    .to_f64();
                assert!((got - p).abs() < 6e-5, "{alpha}^{d}: {got}, expected {p}");
            }
        }
    }

    #[test]
    fn expired_flows_yield_and_no_deadline_is_dctcp() {
        assert!((penalty(d2tcp(0.5, 2.0), Some(Span::ZERO)) - 0.5).abs() < 1e-5);
        assert_eq!(penalty(d2tcp(0.5, 2.0), None).to_bits(), 0.25_f64.to_bits());
    }

    #[test]
    fn d_clamped_to_one_is_dctcp() {
        for left in [
            None,
            Some(Span::ZERO),
            Some(Span::from_us(1)),
            Some(Span::from_secs(1)),
        ] {
            let alpha = Fraction::from_bits(123_457);
            let p = d2tcp(1.0, 1.0).penalty(NOW, alpha, &progress(left));
            assert_eq!(p, alpha);
        }
    }

    #[test]
    fn fully_marked_flows_halve_for_any_deadline() {
        for left in [
            None,
            Some(Span::ZERO),
            Some(Span::from_us(1)),
            Some(Span::from_secs(1)),
        ] {
            let p = d2tcp(0.5, 2.0).penalty(NOW, Fraction::ONE, &progress(left));
            assert_eq!(p, Fraction::ONE);
        }
    }
}
