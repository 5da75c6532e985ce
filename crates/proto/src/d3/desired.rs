//! Which rate a flow asks for, and when it gives up (D3 §5 "Calculating desired rate", §6.1.3, §7).

use super::rate::{LARGEST, fixed_from_bytes};
use super::{Config, Late, Packet, RequestBytes, Speculation};
use duetime_core::{Span, Time};

/// What a flow knows when it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Bytes not yet sent, and bytes known lost; with their headers under `RequestBytes::Wire`.
    pub remaining: u64,
    /// s·rtt: what this round trip's allocation sends; zero before the first.
    pub in_slot: u64,
    /// Smoothed round-trip time; zero before the first.
    pub rtt: Span,
    /// The sender's link, internal fixed point.
    pub uplink: i64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Desire {
    /// Ask for this rate, in internal fixed point.
    Rate(i64),
    /// The deadline cannot be met, and quenching is on.
    Quench,
}

/// r(t+1). `deadline` moves under `Late::Extend`, by a share of `allowance` at a time.
pub(super) fn desire(
    config: &Config,
    now: Time,
    need: Need,
    deadline: &mut Time,
    allowance: Span,
) -> Desire {
    if config.ignore_deadlines || *deadline == Time::MAX {
        return Desire::Rate(0); // D3 §4.2: non-deadline flows ask for nothing
    }
    if *deadline <= now {
        if config.quench {
            return Desire::Quench; // D3 §6.1.3 (ii)
        }
        if need.remaining <= need.in_slot {
            return Desire::Rate(0);
        }
        match config.late {
            Late::FairShare => return Desire::Rate(0), // D3 §7: "fall back to fair share mode"
            Late::Max => return Desire::Rate(need.uplink.min(LARGEST)),
            Late::Extend => {
                // D3 §7: "extend their deadlines if these are missed"
                let step = u128::from(allowance.as_ps())
                    * u128::from(config.late_extension_permille)
                    / 1_000;
                let step = u64::try_from(step).unwrap_or(u64::MAX).max(1);
                let steps = now.since(*deadline).as_ps() / step + 1;
                *deadline += Span::from_ps(step.saturating_mul(steps));
            }
        }
    }
    let left = need.remaining.saturating_sub(need.in_slot);
    if left == 0 {
        return Desire::Rate(0); // this round trip sends the rest
    }
    let time = deadline.since(now);
    let scale = config.exponent();
    // D3 §5: (remaining - s·rtt) / (deadline - 2·rtt)
    let lagged_time = time.saturating_sub(need.rtt + need.rtt);
    let rate = if !config.request_lag {
        fixed_from_bytes(need.remaining, time, scale)
    } else if lagged_time == Span::ZERO {
        i64::MAX
    } else {
        fixed_from_bytes(left, lagged_time, scale)
    };
    // The routers charge for each round trip's request as well.
    let requests = if config.request_bytes == RequestBytes::Wire && need.rtt > Span::ZERO {
        fixed_from_bytes(u64::from(Packet::REQUEST_BYTES), need.rtt, scale)
    } else {
        0
    };
    let rate = rate.saturating_add(requests);
    if config.quench && rate > need.uplink {
        // D3 §6.1.3 (i); the lag terms alone condemn no flow, unless the formula is to be taken literally.
        if config.quench_strict || fixed_from_bytes(need.remaining, time, scale) > need.uplink {
            return Desire::Quench;
        }
    }
    let usable = if config.cap_to_remaining && need.rtt > Span::ZERO {
        fixed_from_bytes(left, need.rtt, scale)
    } else {
        i64::MAX
    };
    Desire::Rate(rate.min(usable).min(need.uplink).min(LARGEST))
}

/// How often running a flow's desired rate has risen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rises {
    previous: i64,
    count: u8,
}

impl Rises {
    /// Takes the desired rate of one more round trip; true if the flow should be ended.
    pub(super) fn see(&mut self, speculation: Speculation, rate: i64) -> bool {
        // D3 §7: "successive increases of the desired rate over multiple RTTs"
        let enough = i128::from(self.previous) * i128::from(1_000 + speculation.growth_permille);
        let risen = self.previous > 0 && rate > self.previous && i128::from(rate) * 1_000 >= enough;
        self.count = if risen {
            self.count.saturating_add(1)
        } else {
            0
        };
        self.previous = rate;
        self.count >= speculation.rises.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::UNIT;
    use super::*;

    const NEED: Need = Need {
        remaining: 100_000,
        in_slot: 0,
        rtt: Span::ZERO,
        uplink: 125 * UNIT,
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn ask(config: &Config, now: Time, need: Need, deadline: Time) -> Desire {
        let mut deadline = deadline;
        desire(config, now, need, &mut deadline, Span::from_ms(10))
    }

    #[test]
    fn the_first_request_is_size_over_time() {
        assert_eq!(
            ask(&Config::default(), at(0), NEED, at(10)),
            Desire::Rate(10 * UNIT)
        );
        assert_eq!(
            ask(&Config::default(), at(0), NEED, Time::MAX),
            Desire::Rate(0)
        );
        let rcp = Config {
            ignore_deadlines: true,
            quench: true,
            ..Config::default()
        };
        assert_eq!(ask(&rcp, at(20), NEED, at(10)), Desire::Rate(0));
    }

    #[test]
    fn later_requests_account_for_two_round_trips() {
        // (100000 - 4000) / (10 ms - 2 × 1 ms) = 12 B/us
        let need = Need {
            in_slot: 4_000,
            rtt: Span::from_ms(1),
            ..NEED
        };
        assert_eq!(
            ask(&Config::default(), at(0), need, at(10)),
            Desire::Rate(12 * UNIT)
        );
        let last = Need {
            in_slot: 100_000,
            ..need
        };
        assert_eq!(
            ask(&Config::default(), at(0), last, at(10)),
            Desire::Rate(0)
        );
    }

    #[test]
    fn on_the_wire_each_round_trips_request_is_asked_for_too() {
        // 22 B in 88 us are a quarter of a unit; before the first round trip its length is not known.
        let wire = Config {
            request_bytes: RequestBytes::Wire,
            ..Config::default()
        };
        let need = Need {
            rtt: Span::from_us(88),
            ..NEED
        };
        let deadline = at(10) + Span::from_us(176);
        assert_eq!(
            ask(&wire, at(0), need, deadline),
            Desire::Rate(10 * UNIT + UNIT / 4)
        );
        assert_eq!(ask(&wire, at(0), NEED, at(10)), Desire::Rate(10 * UNIT));
    }

    #[test]
    fn without_lag_terms_each_request_is_as_the_first() {
        // 100000 / 10 ms = 10 B/us, where the printed formula has 12.
        let need = Need {
            in_slot: 4_000,
            rtt: Span::from_ms(1),
            ..NEED
        };
        let config = Config {
            request_lag: false,
            ..Config::default()
        };
        assert_eq!(ask(&config, at(0), need, at(10)), Desire::Rate(10 * UNIT));
    }

    #[test]
    fn no_more_is_asked_for_than_one_round_trip_can_use() {
        let need = Need {
            remaining: 10_000,
            rtt: Span::from_us(500),
            ..NEED
        };
        let capped = Config {
            cap_to_remaining: true,
            ..Config::default()
        };
        // 10000 B in 500 us are 20 B/us. With 1 ms left the formula's time is zero; with 1.25 ms it asks for 40 B/us.
        for (deadline_us, plain) in [(1_000, 125), (1_250, 40), (1_500, 20), (2_000, 10)] {
            let deadline = Time::ZERO + Span::from_us(deadline_us);
            assert_eq!(
                ask(&Config::default(), at(0), need, deadline),
                Desire::Rate(plain * UNIT)
            );
            assert_eq!(
                ask(&capped, at(0), need, deadline),
                Desire::Rate(plain.min(20) * UNIT)
            );
        }
        // Rule (i) of quenching sees the rate without the cap: 10000 B in 50 us need 200 B/us.
        let quench = Config {
            quench: true,
            ..capped
        };
        assert_eq!(
            ask(&quench, at(0), need, Time::ZERO + Span::from_us(50)),
            Desire::Quench
        );
    }

    #[test]
    fn a_late_flow_follows_its_policy() {
        let late = |late| Config {
            late,
            ..Config::default()
        };
        assert_eq!(
            ask(&late(Late::FairShare), at(12), NEED, at(10)),
            Desire::Rate(0)
        );
        assert_eq!(
            ask(&late(Late::Max), at(12), NEED, at(10)),
            Desire::Rate(125 * UNIT)
        );
        // The deadline moves from 10 ms to 20 ms: 100000 B in 8 ms.
        assert_eq!(
            ask(&late(Late::Extend), at(12), NEED, at(10)),
            Desire::Rate(12 * UNIT + UNIT / 2)
        );
    }

    #[test]
    fn an_extension_is_a_share_of_the_original_allowance() {
        let config = |late_extension_permille| Config {
            late: Late::Extend,
            late_extension_permille,
            ..Config::default()
        };
        let moved = |permille, now| {
            let mut deadline = at(10);
            let rate = desire(
                &config(permille),
                at(now),
                NEED,
                &mut deadline,
                Span::from_ms(10),
            );
            (deadline, rate)
        };
        // A quarter of 10 ms at a time: 12.5 ms is past 12 ms; 100000 B in 0.5 ms are more than the uplink.
        assert_eq!(
            moved(250, 12),
            (at(10) + Span::from_us(2_500), Desire::Rate(125 * UNIT))
        );
        // As often as it takes: 10, 12.5, 15, 17.5, 20, 22.5 ms.
        assert_eq!(moved(250, 20).0, at(20) + Span::from_us(2_500));
        // Twice the allowance: 30 ms, 100000 B in 20 ms.
        assert_eq!(moved(2_000, 10), (at(30), Desire::Rate(5 * UNIT)));
        // Before the deadline nothing moves.
        assert_eq!(moved(2_000, 9).0, at(10));
    }

    #[test]
    fn successive_rises_are_counted_from_one_request_to_the_next() {
        let seen = |speculation: Speculation, rates: &[i64]| -> Vec<bool> {
            let mut rises = Rises::default();
            rates
                .iter()
                .map(|&rate| rises.see(speculation, rate))
                .collect()
        };
        let four = Speculation::default();
        // 10 % is enough, the fourth rise ends it, whatever came before.
        assert_eq!(
            seen(four, &[900, 1_000, 1_100, 1_210, 1_331, 1_465]),
            [false, false, false, false, true, true]
        );
        assert_eq!(
            seen(four, &[1_000, 1_099, 1_208, 1_328, 1_460, 1_605]),
            [false; 6]
        );
        // A smaller rise begins the count again.
        assert_eq!(
            seen(
                four,
                &[
                    1_000, 1_100, 1_210, 1_331, 1_400, 1_540, 1_694, 1_864, 2_051
                ]
            ),
            [false, false, false, false, false, false, false, false, true]
        );
        // From nothing to something is no rise.
        let once = Speculation {
            rises: 1,
            growth_permille: 0,
        };
        assert_eq!(seen(once, &[0, 5, 5, 6]), [false, false, false, true]);
    }

    #[test]
    fn lag_terms_alone_quench_only_when_strict() {
        let quench = Config {
            quench: true,
            ..Config::default()
        };
        let strict = Config {
            quench_strict: true,
            ..quench
        };
        let lagging = Need {
            remaining: 1_000,
            rtt: Span::from_us(300),
            ..NEED
        };
        let deadline = Time::ZERO + Span::from_us(500);
        assert_eq!(
            ask(&quench, at(0), lagging, deadline),
            Desire::Rate(125 * UNIT)
        );
        assert_eq!(ask(&strict, at(0), lagging, deadline), Desire::Quench);
        assert_eq!(
            ask(
                &quench,
                at(0),
                Need {
                    remaining: 70_000,
                    ..lagging
                },
                deadline
            ),
            Desire::Quench
        );
        assert_eq!(ask(&quench, at(0), NEED, at(0)), Desire::Quench);
    }
}
