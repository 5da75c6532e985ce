//! CUBIC (RFC 9438), without ECN: the window follows a cubic function of the time since the last reduction, flat around
//! the window at which the loss came, and never grows slower than NewReno's would.
//!
//! All in integers: windows in bytes, times in ticks of 2⁻²⁰ s, so that cubes of times are shifted and not divided.

mod ticks;

use super::hystart::HyStart;
use super::{Control, Window};
use crate::tcp::{Config, Rtt};
use duetime_core::{Span, Time};

/// Options of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubic {
    /// C, in 1/1000 segments/s³ (RFC 9438 §5: 400); at least 1.
    pub c_permille: u32,
    /// β, by which a loss multiplies the window, in 1/1000 (RFC 9438 §4.6: 700); below 1000.
    pub beta_permille: u32,
    /// Give capacity up to new flows sooner (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// The first slow start is that of `HyStart++` (RFC 9406). It needs the round trips of single segments, which
    /// [`Recovery::Sack`](crate::tcp::Recovery::Sack) measures.
    pub hystart: bool,
    /// The tick of the clock by which Linux computes the growth of the window: the curve once in a tick, and for the same
    /// window again after 1/32 s. Zero: all of it for each acknowledgement.
    pub tick: Span,
    /// α is 1 once `W_est` has reached the window of the last reduction (RFC 9438 §4.3); Linux leaves it as it was.
    pub alpha_one: bool,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            c_permille: 400,
            beta_permille: 700,
            fast_convergence: true,
            hystart: false,
            tick: Span::ZERO,
            alpha_one: true,
        }
    }
}

/// Apart from the sender: it is longer than the others', and CUBIC reads all of it.
#[derive(Clone, Debug)]
pub(crate) struct State(Box<Curve>);

#[derive(Clone, Debug)]
struct Curve {
    options: Cubic,
    /// When congestion avoidance began; `Time::MAX`: it has not, since the last reduction.
    epoch: Time,
    /// K, in ticks: when the curve reaches its plateau, after `epoch`.
    k: u64,
    /// The plateau of the curve, in bytes.
    plateau: u64,
    /// `W_max`: the window at the last reduction, in bytes, or less of it after a fast convergence. Zero: not known.
    w_max: u64,
    /// `cwnd_prior`: the window at the last reduction, in bytes.
    prior: u64,
    /// `W_est`: NewReno's window in place of this one, in bytes.
    estimate: u64,
    /// Towards the next segment of `estimate`.
    estimate_growth: u64,
    /// The tick in which the curve was last computed, and for which window, in bytes.
    computed: (u64, u64),
    /// With [`Cubic::tick`]: for how many acknowledged bytes the window grows by a segment.
    for_segment: u64,
    /// With [`Cubic::tick`]: acknowledged bytes that `estimate` does not know yet.
    unseen: u64,
    /// The first slow start, if it is not the usual one.
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
            for_segment: u64::MAX,
            unseen: 0,
            hystart: options.hystart.then(|| Box::new(HyStart::new())),
        }))
    }
}

impl Control for State {
    const GROWS_OTHERWISE: bool = true;

    #[inline(never)]
    fn grow(&mut self, config: &Config, now: Time, window: &mut Window, rtt: &Rtt, bytes: u64) {
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
            window.grow(config, bytes); // slow start, or no use
        } else {
            self.0
                .avoid_congestion(config, now, window, rtt.smoothed(), bytes);
        }
    }

    fn measured(&mut self, rtt: Span, ack: u64, next: u64) {
        if let Some(hystart) = &mut self.0.hystart {
            hystart.measured(rtt, ack, next);
        }
    }

    fn reduce_by_loss(&mut self, config: &Config, window: &mut Window, flight: u64) {
        self.0.reduce(config, window, flight);
    }

    /// RFC 9438 §4.8: the next curve begins at its plateau.
    fn reduce_by_timeout(&mut self, config: &Config, window: &mut Window, flight: u64) {
        self.0.reduce(config, window, flight);
        self.abandon_recovery();
    }

    fn abandon_recovery(&mut self) {
        self.0.w_max = 0;
    }

    /// RFC 9438 §5.8: time without data does not count. After a restart `W_est` begins with the smaller window (§4.3);
    /// Linux keeps it.
    fn resume(&mut self, idle: Span, restarts: bool) {
        if restarts && self.0.options.tick == Span::ZERO {
            self.0.epoch = Time::MAX;
        } else if self.0.epoch != Time::MAX {
            self.0.epoch += idle;
        }
    }
}

impl Curve {
    /// RFC 9438 §4.2 to §4.5, for `bytes` newly acknowledged.
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
        // (target - cwnd) / cwnd for each segment, by whole segments.
        let segment = cwnd.saturating_mul(mss);
        window.growth = window
            .growth
            .saturating_add(bytes.saturating_mul(target - cwnd));
        if window.growth >= segment {
            window.cwnd += window.growth / segment * mss;
            window.growth %= segment;
        }
    }

    /// Congestion avoidance begins with this window.
    fn begin(&mut self, now: Time, cwnd: u64, mss: u64) {
        self.epoch = now;
        (self.estimate, self.estimate_growth) = (cwnd, 0);
        self.plateau = self.w_max.max(cwnd);
        // §4.2: K = ∛((W_max - cwnd_epoch) / C)
        let below = u128::from((self.plateau - cwnd).min(1 << 48)) << 60;
        self.k = cube_root(below / (u128::from(self.c()) * u128::from(mss)) * 1_000);
    }

    /// `W_cubic(t)` = C (t - K)³ + `W_max` (§4.2), in bytes.
    fn window_at(&self, time: u64, mss: u64) -> u64 {
        let distance = u128::from(time.abs_diff(self.k).min(1 << 30));
        let scaled =
            (distance * distance * distance * u128::from(self.c()) * u128::from(mss)) >> 60;
        let change = u64::try_from(scaled).unwrap_or(u64::MAX) / 1_000;
        if time < self.k {
            self.plateau.saturating_sub(change)
        } else {
            self.plateau.saturating_add(change)
        }
    }

    /// §4.3: `W_est` grows by α segments in a window of acknowledged data, α = 3 (1 - β) / (1 + β), which loses as much as
    /// NewReno does at equal loss; by one where the window was before.
    fn grow_estimate(&mut self, cwnd: u64, mss: u64, bytes: u64) {
        let beta = self.beta();
        // α is `gained` / `whole`. The denominator is the same for both values: the remainder outlives the change.
        let whole = 1_000 + beta;
        let gained = if self.estimate < self.prior || !self.options.alpha_one {
            3 * (1_000 - beta)
        } else {
            whole
        };
        let segment = cwnd.saturating_mul(whole);
        self.estimate_growth = self
            .estimate_growth
            .saturating_add(bytes.saturating_mul(gained));
        if self.estimate_growth >= segment {
            self.estimate += self.estimate_growth / segment * mss;
            self.estimate_growth %= segment;
        }
    }

    /// §4.6 and §4.7, with `flight` bytes on their way.
    fn reduce(&mut self, config: &Config, window: &mut Window, flight: u64) {
        let (cwnd, beta) = (window.cwnd, self.beta());
        self.prior = cwnd;
        self.w_max = if self.options.fast_convergence && cwnd < self.w_max {
            cwnd * (1_000 + beta) / 2_000
        } else {
            cwnd
        };
        self.epoch = Time::MAX;
        self.hystart = None; // what follows has a threshold
        window.ssthresh = (flight * beta / 1_000).max(2 * u64::from(config.mss));
    }

    fn c(&self) -> u64 {
        u64::from(self.options.c_permille.max(1))
    }

    fn beta(&self) -> u64 {
        u64::from(self.options.beta_permille.min(1_000))
    }
}

/// In units of 2⁻²⁰ s: 10¹² ps are 2²⁰ ticks.
const fn ticks(span: Span) -> u64 {
    let ps = span.as_ps();
    let ps = if ps < 1 << 55 { ps } else { 1 << 55 };
    (ps << 8) / 244_140_625
}

/// The largest integer, below 2³⁶, whose cube is not above `cube`.
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
            "{got}, not {expected}"
        );
    }

    #[test]
    fn the_curve_by_hand() {
        // W_max 100, cwnd_epoch 70: K = ∛(30 / 0.4) = ∛75 = 4.217163 s.
        let down = curve(100, 70);
        near(down.k, 4.217_163 * SECOND as f64, 2.0);
        near(down.window_at(0, MSS), 70_000.0, 1.0);
        // 0.4 (1 - 4.217163)³ + 100 = 86.680
        near(down.window_at(SECOND, MSS), 86_680.0, 2.0);
        // 0.4 (4 - 4.217163)³ + 100 = 99.9959
        near(down.window_at(4 * SECOND, MSS), 99_996.0, 2.0);
        near(down.window_at(down.k, MSS), 100_000.0, 0.0);
        // As far above the plateau after 2 K, and 0.4 (10 - 4.217163)³ + 100 = 177.355.
        near(down.window_at(2 * down.k, MSS), 130_000.0, 1.0);
        near(down.window_at(10 * SECOND, MSS), 177_355.0, 3.0);
        // Where W_max is not known the curve begins at its plateau: 0.4 · 5³ = 50.
        let flat = curve(0, 20);
        assert_eq!((flat.k, flat.window_at(0, MSS)), (0, 20_000));
        assert_eq!(flat.window_at(5 * SECOND, MSS), 70_000);
    }

    #[test]
    fn a_loss_keeps_seven_tenths_and_converges_fast() {
        let config = config();
        let mut window = Window {
            cwnd: 100 * MSS,
            ssthresh: u64::MAX,
            growth: 0,
        };
        let mut state = State::new(Cubic::default());
        state.reduce_by_loss(&config, &mut window, 90 * MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (63 * MSS, 100 * MSS));
        // §4.7: the second loss comes earlier; W_max = 80 (1 + 0.7) / 2 = 68.
        window.cwnd = 80 * MSS;
        state.reduce_by_loss(&config, &mut window, 80 * MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (56 * MSS, 68 * MSS));
        assert_eq!(state.0.prior, 80 * MSS);
        let mut slow = State::new(Cubic {
            fast_convergence: false,
            ..Cubic::default()
        });
        for cwnd in [100, 80] {
            window.cwnd = cwnd * MSS;
            slow.reduce_by_loss(&config, &mut window, cwnd * MSS);
        }
        assert_eq!(slow.0.w_max, 80 * MSS);
        // A timeout forgets W_max, and two segments are the least.
        state.reduce_by_timeout(&config, &mut window, MSS);
        assert_eq!((window.ssthresh, state.0.w_max), (2 * MSS, 0));
    }

    /// Congestion avoidance from a loss at `w_max` segments on, with one loss in so many segments: the mean window of the
    /// last of so many cycles, and the window at its end, in segments.
    fn cycles(rtt: Span, one_in: u64, w_max: f64, cycles: u32) -> (f64, f64) {
        let config = config();
        let mut state = State::new(Cubic {
            fast_convergence: false,
            ..Cubic::default()
        });
        let mut window = Window {
            cwnd: (w_max * MSS as f64) as u64,
            ssthresh: 0,
            growth: 0,
        };
        let (mut now, mut mean, mut last) = (Time::ZERO, 0.0, 0.0);
        for _ in 0..cycles {
            let flight = window.cwnd;
            state.reduce_by_loss(&config, &mut window, flight);
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
    fn mean_windows_are_the_published_ones() {
        let within = |share: f64, got: f64, published: f64| (got / published - 1.0).abs() < share;
        // RFC 9438 §5.1: a mean of 1.054 RTT^(3/4) / p^(3/4) for C of 0.4, below a W_max of 4 / (3 + β) times as much, at
        // which the next loss comes.
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
        // Where that is less than NewReno's 1.22 / √p, it is NewReno's (§4.3).
        for (rtt_ms, one_in, newreno) in [(10, 1_000, 38.6), (1, 10_000, 122.0)] {
            let (mean, _) = cycles(Span::from_ms(rtt_ms), one_in, newreno, 30);
            assert!(
                within(0.05, mean, newreno),
                "{rtt_ms} ms, 1 in {one_in}: {mean}"
            );
        }
    }

    /// Growth on one acknowledgement beyond the allowance of RFC 9438, in bytes, and the growth itself, in segments.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    struct Excess(u64, u64);

    /// Acknowledges random amounts at random times, with losses, timeouts and idle times between them, and returns the
    /// largest excess. The allowance for `n` segments is half of them, by the clamp of the target (§4.2), or `n` / cwnd
    /// (§4.3, α = 1), and one segment for the remainder of earlier acknowledgements.
    fn largest_excess(options: Cubic, seed: u64, acknowledgements: u64) -> Excess {
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
                    state.reduce_by_loss(&config, &mut window, flight);
                    (window.cwnd, window.growth) = (window.ssthresh, 0);
                }
                2 => {
                    state.reduce_by_timeout(&config, &mut window, flight);
                    (window.cwnd, window.growth) = (MSS, 0);
                }
                3 => {
                    state.resume(Span::from_ms(100), window.cwnd > 10 * MSS);
                    (window.cwnd, window.growth) = (window.cwnd.min(10 * MSS), 0);
                }
                _ => {}
            }
            now += Span::from_us(below(16, 1 << below(32, 16)));
            let segments = 1 + below(32, 1 << below(48, 7));
            let before = window;
            state.grow(&config, now, &mut window, &rtt, segments * MSS);
            let growth = window.cwnd - before.cwnd;
            let allowed = if before.cwnd < before.ssthresh {
                MSS // slow start, by `slow_start_limit`
            } else {
                let reno = segments * MSS * MSS / before.cwnd;
                reno.max(segments * MSS / 2) + MSS
            };
            let excess = Excess(growth.saturating_sub(allowed), growth / MSS);
            largest = largest.max(excess);
            if window.cwnd > 2_000 * MSS {
                state.reduce_by_timeout(&config, &mut window, MSS);
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
                "RFC, slow convergence",
                Cubic {
                    fast_convergence: false,
                    ..Cubic::default()
                },
            ),
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
                let Excess(bytes, segments) = largest_excess(options, seed, 100_000);
                assert_eq!(bytes, 0, "{name}, seed {seed}: {segments} segments at once");
            }
        }
    }

    #[test]
    fn time_without_data_does_not_count() {
        let mut state = State::new(Cubic::default());
        state.resume(Span::from_secs(1), false);
        assert_eq!(state.0.epoch, Time::MAX);
        state.0.begin(Time::ZERO, 10 * MSS, MSS);
        state.resume(Span::from_secs(1), false);
        assert_eq!(state.0.epoch, Time::ZERO + Span::from_secs(1));
        // From the initial window a new curve begins.
        state.resume(Span::from_secs(1), true);
        assert_eq!(state.0.epoch, Time::MAX);
    }

    #[test]
    fn nothing_overflows_at_the_ends() {
        for (c_permille, tick) in [
            (0, Span::ZERO),
            (1, Span::from_ms(31)),
            (100_000, Span::MAX),
        ] {
            for beta_permille in [0, 999, u32::MAX] {
                for mss in [1, 65_535] {
                    for cwnd in [mss, 1 << 40] {
                        let options = Cubic {
                            c_permille,
                            beta_permille,
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
