//! D2TCP: DCTCP whose answer to marks depends on the deadline (D2TCP §3).

use super::imminence::{completion_rtts, imminence};
use super::{CongestionControl, Control, Dctcp, Progress, Window, dctcp};
use crate::tcp::Config;
use duetime_core::fixed::{Factor, Fraction};
use duetime_core::{Span, Time};

/// Options of the deadline imminence d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct D2tcp {
    /// Smallest d.
    pub d_min: f64,
    /// Largest d.
    pub d_max: f64,
    /// d of a flow whose deadline has passed.
    pub d_expired: f64,
    /// How Tc is computed.
    pub completion: Completion,
}

impl Default for D2tcp {
    /// d within 0.5 and 2; a flow that is late yields.
    fn default() -> Self {
        Self {
            d_min: 0.5,
            d_max: 2.0,
            d_expired: 0.5,
            completion: Completion::Approximate,
        }
    }
}

/// The two forms of Tc (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// Summing the sawtooth, with its first period apart.
    Precise,
}

/// DCTCP's state.
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
    fn count(&mut self, marked: u64, ack: u64, next: u64) {
        self.0.count(marked, ack, next);
    }

    #[inline(always)]
    fn reduce_by_marks(
        &mut self,
        config: &Config,
        now: Time,
        window: &mut Window,
        progress: &Progress,
    ) {
        let alpha = self.alpha();
        let p = match &config.congestion_control {
            CongestionControl::D2tcp(_, options) => options.penalty(now, alpha, progress),
            _ => alpha,
        };
        window.reduce(config, p);
    }

    fn alpha(&self) -> Fraction {
        self.0.alpha()
    }
}

impl D2tcp {
    /// p = α^d: the window is multiplied by 1 - p/2 (D2TCP §3.1). A flow without deadline is DCTCP's, whose d is one.
    #[doc(hidden)]
    #[inline(never)]
    pub fn penalty(&self, now: Time, alpha: Fraction, progress: &Progress) -> Fraction {
        alpha.power(self.imminence_of(now, progress))
    }

    /// d of the flow at this moment, clamped (D2TCP §3.2).
    #[doc(hidden)]
    pub fn imminence_of(&self, now: Time, progress: &Progress) -> Factor {
        let Some(deadline) = progress.deadline else {
            return Factor::ONE;
        };
        let (least, most) = (Factor::from_f64(self.d_min), Factor::from_f64(self.d_max));
        let d = if progress.srtt == Span::ZERO || progress.remaining == 0 {
            Factor::ONE
        } else if deadline <= now {
            // The paper does not say; a missed flow is of no use under a hard deadline, so it yields.
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
        // The clamp holds for an expired flow too, so that [1, 1] is DCTCP.
        d.max(least).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d2tcp(d_min: f64, d_max: f64) -> D2tcp {
        D2tcp {
            d_min,
            d_max,
            d_expired: 0.5,
            completion: Completion::Approximate,
        }
    }

    /// A flow that needs 8⅓ round trips of 1 ms, with this much time left.
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
    fn imminence_is_clamped_and_multiplied_by_the_round_trip_time() {
        let far = penalty(d2tcp(0.5, 2.0), Some(Span::from_ms(100)));
        let near = penalty(d2tcp(0.5, 2.0), Some(Span::from_ms(1)));
        let exact = penalty(d2tcp(0.5, 2.0), Some(Span::from_us(8_333)));
        assert!((far - 0.5).abs() < 1e-5, "{far}");
        assert!((near - 0.0625).abs() < 1e-5, "{near}");
        assert!((exact - 0.25).abs() < 1e-4, "{exact}");
    }

    #[test]
    fn the_paper_table_of_penalties() {
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
                assert!((got - p).abs() < 6e-5, "{alpha}^{d}: {got}, not {p}");
            }
        }
    }

    #[test]
    fn an_expired_flow_yields_and_a_flow_without_deadline_is_dctcp() {
        assert!((penalty(d2tcp(0.5, 2.0), Some(Span::ZERO)) - 0.5).abs() < 1e-5);
        assert_eq!(penalty(d2tcp(0.5, 2.0), None).to_bits(), 0.25_f64.to_bits());
    }

    #[test]
    fn d_in_one_to_one_is_dctcp() {
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
    fn a_fully_marked_flow_halves_whatever_its_deadline() {
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
