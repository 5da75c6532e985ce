//! CUBIC without ECN (RFC 9438): the window follows a cubic function of the time since the last reduction, which is
//! flat around the window at the loss. It never grows slower than NewReno's.
//!
//! All arithmetic is in integers: windows in bytes, times in ticks of 2⁻²⁰ s, so that cubes of times are shifted and
//! not divided.

mod ticks;

use super::hystart::HyStart;
use super::{Control, Cubic, Window};
use crate::tcp::{Config, Rtt};
use duetime_core::{Span, Time};

/// C, in 1/1000 segments/s³ (RFC 9438 §5).
const C: u64 = 400;
/// β, the factor of the window after a loss, in 1/1000 (RFC 9438 §4.6).
const BETA: u64 = 700;

/// Boxed, because it is larger than the states of other controllers and only CUBIC reads it.
#[derive(Clone, Debug)]
pub(crate) struct State(Box<Curve>);

#[derive(Clone, Debug)]
struct Curve {
    options: Cubic,
    /// Start of congestion avoidance, or `Time::MAX` if it has not started since the last reduction.
    epoch: Time,
    /// K: ticks from `epoch` until the curve reaches its plateau.
    k: u64,
    /// Plateau of the curve, in bytes.
    plateau: u64,
    /// `W_max`: window at the last reduction, in bytes, lowered by fast convergence; zero if unknown.
    w_max: u64,
    /// `cwnd_prior`: window at the last reduction, in bytes.
    prior: u64,
    /// `W_est`: window that NewReno would have, in bytes.
    estimate: u64,
    /// Progress towards the next segment of `estimate`.
    estimate_growth: u64,
    /// Tick and window, in bytes, of the last computation of the curve.
    computed: (u64, u64),
    /// With [`Cubic::tick`]: acknowledged bytes per segment of window growth.
    bytes_per_segment: u64,
    /// With [`Cubic::tick`]: acknowledged bytes not yet included in `estimate`.
    uncounted: u64,
    /// State of `HyStart++` during the first slow start, if enabled.
    hystart: Option<Box<HyStart>>,
}

impl State {
    pub fn new(options: Cubic) -> Self {
        Self(Box::new(Curve {
            options,
            epoch: Time::MAX,
            k: 0,
            plateau: 0,
            w_max: 0,
            prior: 0,
            estimate: 0,
            estimate_growth: 0,
            computed: (0, 0),
            bytes_per_segment: u64::MAX,
            uncounted: 0,
            hystart: options.hystart.then(|| Box::new(HyStart::new())),
        }))
    }
}

impl Control for State {
    const CUSTOM_GROWTH: bool = true;

    #[inline(never)]
    fn on_ack(&mut self, config: &Config, now: Time, window: &mut Window, rtt: &Rtt, bytes: u64) {
        if let Some(hystart) = &mut self.0.hystart
            && window.cwnd < window.ssthresh.min(config.receive_window)
        {
            let slow_start = bytes.min(u64::from(config.slow_start_limit) * u64::from(config.mss));
            if let Some(bytes) = hystart.growth(slow_start) {
                window.cwnd += bytes;
            } else {
                window.ssthresh = window.cwnd; // RFC 9406 §4.2: congestion avoidance
                self.0.hystart = None;
            }
            return;
        }
        if window.cwnd < window.ssthresh || window.cwnd >= config.receive_window {
            window.grow(config, bytes); // slow start, or the receive window is reached
        } else {
            self.0
                .avoid_congestion(config, now, window, rtt.smoothed(), bytes);
        }
    }

    fn on_rtt_sample(&mut self, rtt: Span, ack: u64, next: u64) {
        if let Some(hystart) = &mut self.0.hystart {
            hystart.measured(rtt, ack, next);
        }
    }

    fn on_congestion_event(&mut self, config: &Config, window: &mut Window, flight: u64) {
        self.0.reduce(config, window, flight);
    }

    /// Starts the next curve at its plateau (RFC 9438 §4.8).
    fn on_timeout(&mut self, config: &Config, window: &mut Window, flight: u64) {
        self.0.reduce(config, window, flight);
        self.on_recovery_timeout();
    }

    fn on_recovery_timeout(&mut self) {
        self.0.w_max = 0;
    }

    /// Excludes idle time from the curve (RFC 9438 §5.8). After a restart `W_est` starts from the smaller window
    /// (§4.3); Linux keeps it.
    fn on_idle_end(&mut self, idle: Span, restarts: bool) {
        if restarts && self.0.options.tick == Span::ZERO {
            self.0.epoch = Time::MAX;
        } else if self.0.epoch != Time::MAX {
            self.0.epoch += idle;
        }
    }
}

impl Curve {
    /// Grows the window after `bytes` were acknowledged (RFC 9438 §4.2 to §4.5).
    fn avoid_congestion(
        &mut self,
        config: &Config,
        now: Time,
        window: &mut Window,
        srtt: Span,
        bytes: u64,
    ) {
        let (cwnd, mss) = (window.cwnd, u64::from(config.mss));
        if self.options.tick > Span::ZERO {
            self.avoid_by_ticks(now, window, mss, srtt, bytes);
            return;
        }
        if self.epoch == Time::MAX {
            self.begin(now, cwnd, mss);
        }
        self.grow_estimate(cwnd, mss, bytes);
        let time = ticks(now.since(self.epoch));
        if self.window_at(time, mss) < self.estimate {
            window.cwnd = cwnd.max(self.estimate); // §4.3: the Reno-friendly region
            return;
        }
        let target = self
            .window_at(time + ticks(srtt), mss)
            .clamp(cwnd, cwnd + cwnd / 2);
        // Grow by (target - cwnd) / cwnd per segment, in whole segments.
        let segment = cwnd.saturating_mul(mss);
        window.growth = window
            .growth
            .saturating_add(bytes.saturating_mul(target - cwnd));
        if window.growth >= segment {
            window.cwnd += window.growth / segment * mss;
            window.growth %= segment;
        }
    }

    /// Starts congestion avoidance with window `cwnd`.
    fn begin(&mut self, now: Time, cwnd: u64, mss: u64) {
        self.epoch = now;
        (self.estimate, self.estimate_growth) = (cwnd, 0);
        self.plateau = self.w_max.max(cwnd);
        // §4.2: K = ∛((W_max - cwnd_epoch) / C)
        let below = u128::from((self.plateau - cwnd).min(1 << 48)) << 60;
        self.k = cube_root(below / (u128::from(C) * u128::from(mss)) * 1_000);
    }

    /// Returns `W_cubic(t)` = C (t - K)³ + `W_max` (§4.2), in bytes.
    fn window_at(&self, time: u64, mss: u64) -> u64 {
        let distance = u128::from(time.abs_diff(self.k).min(1 << 30));
        let scaled = (distance * distance * distance * u128::from(C) * u128::from(mss)) >> 60;
        let change = u64::try_from(scaled).unwrap_or(u64::MAX) / 1_000;
        if time < self.k {
            self.plateau.saturating_sub(change)
        } else {
            self.plateau.saturating_add(change)
        }
    }

    /// Grows `W_est` by α segments per window of acknowledged data (§4.3). α = 3 (1 - β) / (1 + β), which gives
    /// NewReno's mean window at equal loss, and α = 1 from the window of the last reduction on.
    fn grow_estimate(&mut self, cwnd: u64, mss: u64, bytes: u64) {
        // α is `numerator` / `denominator`. Both cases share the denominator, so that the remainder stays valid.
        let denominator = 1_000 + BETA;
        let numerator = if self.estimate < self.prior || !self.options.alpha_one {
            3 * (1_000 - BETA)
        } else {
            denominator
        };
        let segment = cwnd.saturating_mul(denominator);
        self.estimate_growth = self
            .estimate_growth
            .saturating_add(bytes.saturating_mul(numerator));
        if self.estimate_growth >= segment {
            self.estimate += self.estimate_growth / segment * mss;
            self.estimate_growth %= segment;
        }
    }

    /// Reduces the window with `flight` bytes in flight (§4.6 and §4.7).
    fn reduce(&mut self, config: &Config, window: &mut Window, flight: u64) {
        let cwnd = window.cwnd;
        self.prior = cwnd;
        // New flows get their share sooner if a second loss comes at a smaller window.
        self.w_max = if cwnd < self.w_max {
            cwnd * (1_000 + BETA) / 2_000
        } else {
            cwnd
        };
        self.epoch = Time::MAX;
        self.hystart = None; // later slow starts have a threshold
        window.ssthresh = (flight * BETA / 1_000).max(2 * u64::from(config.mss));
    }
}

/// Converts a span to units of 2⁻²⁰ s: 10¹² ps are 2²⁰ ticks.
const fn ticks(span: Span) -> u64 {
    let ps = span.as_ps();
    let ps = if ps < 1 << 55 { ps } else { 1 << 55 };
    (ps << 8) / 244_140_625
}

/// Returns the largest integer below 2³⁶ with a cube of at most `cube`.
fn cube_root(cube: u128) -> u64 {
    (0..36).rev().fold(0, |root: u64, bit| {
        let next = root | 1 << bit;
        if u128::from(next).pow(3) <= cube {
            next
        } else {
            root
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::random::mix;

    const MSS: u64 = 1_000;
    const SECOND: u64 = 1 << 20;

    fn config() -> Config {
        Config {
            mss: MSS as u32,
            ..Config::default()
        }
    }

    fn curve(w_max: u64, cwnd: u64) -> Curve {
        let State(mut curve) = State::new(Cubic::default());
        curve.w_max = w_max * MSS;
        curve.begin(Time::ZERO, cwnd * MSS, MSS);
        *curve
    }

    fn near(got: u64, expected: f64, within: f64) {
        assert!(
            (got as f64 - expected).abs() <= within,
            "{got}, expected {expected}"
        );
    }

    #[test]
    fn curve_matches_hand_computed_values() {
        // W_max 100, cwnd_epoch 70: K = ∛(30 / 0.4) = ∛75 = 4.217163 s.
        let down = curve(100, 70);
        near(down.k, 4.217_163 * SECOND as f64, 2.0);
        near(down.window_at(0, MSS), 70_000.0, 1.0);
        // 0.4 (1 - 4.217163)³ + 100 = 86.680
        near(down.window_at(SECOND, MSS), 86_680.0, 2.0);
        // 0.4 (4 - 4.217163)³ + 100 = 99.9959
        near(down.window_at(4 * SECOND, MSS), 99_996.0, 2.0);
        near(down.window_at(down.k, MSS), 100_000.0, 0.0);
        // Symmetric to the start after 2 K, and 0.4 (10 - 4.217163)³ + 100 = 177.355.
        near(down.window_at(2 * down.k, MSS), 130_000.0, 1.0);
        near(down.window_at(10 * SECOND, MSS), 177_355.0, 3.0);
        // If W_max is unknown the curve starts at its plateau: 0.4 · 5³ = 50.
        let flat = curve(0, 20);
        assert_eq!((flat.k, flat.window_at(0, MSS)), (0, 20_000));
        assert_eq!(flat.window_at(5 * SECOND, MSS), 70_000);
    }

    #[test]
    fn loss_multiplies_by_beta_and_converges_fast() {
        let config = config();
        let mut window = Window {
            cwnd: 100 * MSS,
            ssthresh: u64::MAX,
            growth: 0,
        };
        let mut state = State::new(Cubic::default());
        state.on_congestion_event(&config, &mut window, 90 * MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (63 * MSS, 100 * MSS));
        // §4.7: the second loss occurs earlier; W_max = 80 (1 + 0.7) / 2 = 68.
        window.cwnd = 80 * MSS;
        state.on_congestion_event(&config, &mut window, 80 * MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (56 * MSS, 68 * MSS));
        assert_eq!(state.0.prior, 80 * MSS);
        // A timeout resets W_max; the minimum threshold is two segments.
        state.on_timeout(&config, &mut window, MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (2 * MSS, 0));
    }

    /// Runs `cycles` cycles of congestion avoidance from a loss at `w_max` segments, with one loss per `one_in`
    /// segments. Returns the mean window of the last cycle and the window at its end, in segments.
    fn cycles(rtt: Span, one_in: u64, w_max: f64, cycles: u32) -> (f64, f64) {
        let config = config();
        let mut state = State::new(Cubic::default());
        let mut window = Window {
            cwnd: (w_max * MSS as f64) as u64,
            ssthresh: 0,
            growth: 0,
        };
        let (mut now, mut mean, mut last) = (Time::ZERO, 0.0, 0.0);
        for _ in 0..cycles {
            let flight = window.cwnd;
            state.on_congestion_event(&config, &mut window, flight);
            (window.cwnd, window.growth) = (window.ssthresh, 0);
            let (mut left, mut rounds) = (one_in, 0.0);
            while left > 0 {
                let before = window.cwnd;
                let segments = (before / MSS).min(left);
                for _ in 0..segments {
                    state
                        .0
                        .avoid_congestion(&config, now, &mut window, rtt, MSS);
                }
                left -= segments;
                rounds += segments as f64 * MSS as f64 / before as f64;
                now += rtt;
            }
            mean = one_in as f64 / rounds;
            last = window.cwnd as f64 / MSS as f64;
        }
        (mean, last)
    }

    #[test]
    fn mean_windows_match_the_rfc() {
        let within = |share: f64, got: f64, published: f64| (got / published - 1.0).abs() < share;
        // RFC 9438 §5.1: a mean of 1.054 RTT^(3/4) / p^(3/4) for C = 0.4. The next loss occurs at W_max, which is 4 /
        // (3 + β) times the mean.
        for (rtt_ms, one_in, published) in [
            (100, 10_000, 187.4),
            (100, 100_000, 1_053.8),
            (100, 1_000_000, 5_926.0),
        ] {
            let w_max = published * 4.0 / 3.7;
            let (mean, last) = cycles(Span::from_ms(rtt_ms), one_in, w_max, 1);
            assert!(
                within(0.01, mean, published),
                "{rtt_ms} ms, 1 in {one_in}: {mean}"
            );
            assert!(
                within(0.01, last, w_max),
                "{rtt_ms} ms, 1 in {one_in}: {last}"
            );
        }
        // The mean is NewReno's 1.22 / √p where that is larger (§4.3).
        for (rtt_ms, one_in, newreno) in [(10, 1_000, 38.6), (1, 10_000, 122.0)] {
            let (mean, _) = cycles(Span::from_ms(rtt_ms), one_in, newreno, 30);
            assert!(
                within(0.05, mean, newreno),
                "{rtt_ms} ms, 1 in {one_in}: {mean}"
            );
        }
    }

    /// Growth per acknowledgement beyond the allowance of RFC 9438, in bytes, and the growth itself, in segments.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    struct Excess(u64, u64);

    /// Acknowledges random amounts at random times, with losses, timeouts and idle times in between, and returns the
    /// largest excess. The allowance for `n` segments is half of them, by the clamp of the target (§4.2), or `n` / cwnd
    /// (§4.3, α = 1), plus one segment for the remainder of earlier acknowledgements.
    fn max_excess(options: Cubic, seed: u64, acknowledgements: u64) -> Excess {
        let config = config();
        let mut state = State::new(options);
        let rtt = Rtt::new(&config);
        let mut window = Window {
            cwnd: 10 * MSS,
            ssthresh: u64::MAX,
            growth: 0,
        };
        let (mut now, mut largest) = (Time::ZERO, Excess::default());
        for number in 0..acknowledgements {
            let draw = mix(seed, number);
            let below = |bits: u32, limit: u64| ((draw >> bits & 0xffff) * limit) >> 16;
            let flight = window.cwnd * (1 + below(0, 4)) / 4;
            match draw % 512 {
                0 | 1 => {
                    state.on_congestion_event(&config, &mut window, flight);
                    (window.cwnd, window.growth) = (window.ssthresh, 0);
                }
                2 => {
                    state.on_timeout(&config, &mut window, flight);
                    (window.cwnd, window.growth) = (MSS, 0);
                }
                3 => {
                    state.on_idle_end(Span::from_ms(100), window.cwnd > 10 * MSS);
                    (window.cwnd, window.growth) = (window.cwnd.min(10 * MSS), 0);
                }
                _ => {}
            }
            now += Span::from_us(below(16, 1 << below(32, 16)));
            let segments = 1 + below(32, 1 << below(48, 7));
            let before = window;
            state.on_ack(&config, now, &mut window, &rtt, segments * MSS);
            let growth = window.cwnd - before.cwnd;
            let allowed = if before.cwnd < before.ssthresh {
                MSS // slow start, limited by `slow_start_limit`
            } else {
                let reno = segments * MSS * MSS / before.cwnd;
                reno.max(segments * MSS / 2) + MSS
            };
            let excess = Excess(growth.saturating_sub(allowed), growth / MSS);
            largest = largest.max(excess);
            if window.cwnd > 2_000 * MSS {
                state.on_timeout(&config, &mut window, MSS);
                (window.cwnd, window.growth) = (MSS, 0);
            }
        }
        largest
    }

    #[test]
    fn growth_per_acknowledgement_is_bounded() {
        for (name, options) in [
            ("RFC", Cubic::default()),
            (
                "Linux",
                Cubic {
                    tick: Span::from_ms(4),
                    alpha_one: false,
                    ..Cubic::default()
                },
            ),
        ] {
            for seed in 0..4 {
                let Excess(bytes, segments) = max_excess(options, seed, 100_000);
                assert_eq!(bytes, 0, "{name}, seed {seed}: {segments} segments at once");
            }
        }
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut state = State::new(Cubic::default());
        state.on_idle_end(Span::from_secs(1), false);
        assert_eq!(state.0.epoch, Time::MAX);
        state.0.begin(Time::ZERO, 10 * MSS, MSS);
        state.on_idle_end(Span::from_secs(1), false);
        assert_eq!(state.0.epoch, Time::ZERO + Span::from_secs(1));
        // A restart with the initial window starts a new curve.
        state.on_idle_end(Span::from_secs(1), true);
        assert_eq!(state.0.epoch, Time::MAX);
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        for tick in [Span::ZERO, Span::from_ms(31), Span::MAX] {
            for mss in [1, 65_535] {
                for cwnd in [mss, 1 << 40] {
                    let options = Cubic {
                        tick,
                        ..Cubic::default()
                    };
                    let config = Config {
                        mss: mss as u32,
                        ..Config::default()
                    };
                    let mut window = Window {
                        cwnd,
                        ssthresh: 0,
                        growth: 0,
                    };
                    let State(mut curve) = State::new(options);
                    curve.reduce(&config, &mut window, cwnd);
                    window.cwnd = mss;
                    let late = Time::from_ps(u64::MAX / 2);
                    for now in [Time::ZERO, late] {
                        curve.avoid_congestion(
                            &config,
                            now,
                            &mut window,
                            Span::from_secs(9),
                            1 << 37,
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn cube_roots_round_down() {
        for root in [1, 2, 3, 1_000, 4_421_987, (1 << 36) - 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 1), root);
            assert_eq!(cube_root(cube - 1), root - 1);
        }
    }
}
