//! Desired rate of a flow, and quenching (D3 §5 "Calculating desired rate", §6.1.3, §7).

use super::rate::{MAX_FIXED, fixed_from_bytes};
use super::{Config, Late, Packet, RequestBytes, Speculation};
use duetime_core::{Span, Time};

/// State of a flow at a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Bytes not yet sent or known lost; includes headers under `RequestBytes::Wire`.
    pub remaining: u64,
    /// s·rtt: bytes that this round trip's allocation sends; zero before the first.
    pub in_slot: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub rtt: Span,
    /// Rate of the sender's link, in internal fixed point.
    pub uplink: i64,
}

/// Result of [`desired_rate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Desire {
    /// Rate to request, in internal fixed point.
    Rate(i64),
    /// The deadline cannot be met and quenching is enabled.
    Quench,
}

/// Returns r(t+1). Under `Late::Extend`, moves `deadline` by a share of `allowance` per step.
pub(super) fn desired_rate(
    config: &Config,
    now: Time,
    need: Need,
    deadline: &mut Time,
    allowance: Span,
) -> Desire {
    if config.host.ignore_deadlines || *deadline == Time::MAX {
        return Desire::Rate(0); // D3 §4.2: non-deadline flows request no rate
    }
    if *deadline <= now {
        if config.host.policy.quench {
            return Desire::Quench; // D3 §6.1.3 (ii)
        }
        if need.remaining <= need.in_slot {
            return Desire::Rate(0);
        }
        match config.host.policy.late {
            Late::FairShare => return Desire::Rate(0), // D3 §7: "fall back to fair share mode"
            Late::Max => return Desire::Rate(need.uplink.min(MAX_FIXED)),
            Late::Extend => {
                // D3 §7: "extend their deadlines if these are missed"
                let step = u128::from(allowance.as_ps())
                    * u128::from(config.host.policy.late_extension_permille)
                    / 1_000;
                let step = u64::try_from(step).unwrap_or(u64::MAX).max(1);
                let steps = now.since(*deadline).as_ps() / step + 1;
                *deadline += Span::from_ps(step.saturating_mul(steps));
            }
        }
    }
    let left = need.remaining.saturating_sub(need.in_slot);
    if left == 0 {
        return Desire::Rate(0); // this round trip sends the remaining bytes
    }
    let time = deadline.since(now);
    let scale = config.exponent();
    // D3 §5: (remaining - s·rtt) / (deadline - 2·rtt)
    let lagged_time = time.saturating_sub(need.rtt + need.rtt);
    let rate = if !config.host.variant.request_lag {
        fixed_from_bytes(need.remaining, time, scale)
    } else if lagged_time == Span::ZERO {
        i64::MAX
    } else {
        fixed_from_bytes(left, lagged_time, scale)
    };
    // Routers also charge for the request of each round trip.
    let requests =
        if config.host.variant.request_bytes == RequestBytes::Wire && need.rtt > Span::ZERO {
            fixed_from_bytes(u64::from(Packet::REQUEST_BYTES), need.rtt, scale)
        } else {
            0
        };
    let rate = rate.saturating_add(requests);
    if config.host.policy.quench && rate > need.uplink {
        // D3 §6.1.3 (i). Unless `quench_strict` is set, the lag terms alone quench no flow.
        if config.host.variant.quench_strict
            || fixed_from_bytes(need.remaining, time, scale) > need.uplink
        {
            return Desire::Quench;
        }
    }
    let usable = if config.host.variant.cap_to_remaining && need.rtt > Span::ZERO {
        fixed_from_bytes(left, need.rtt, scale)
    } else {
        i64::MAX
    };
    Desire::Rate(rate.min(usable).min(need.uplink).min(MAX_FIXED))
}

/// Counter of successive increases of a flow's desired rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rises {
    previous: i64,
    count: u8,
}

impl Rises {
    /// Records the desired rate of a round trip. Returns true if the flow should be ended.
    pub(super) fn record(&mut self, speculation: Speculation, rate: i64) -> bool {
        // D3 §7: "successive increases of the desired rate over multiple RTTs"
        let threshold = i128::from(self.previous) * i128::from(1_000 + speculation.growth_permille);
        let risen =
            self.previous > 0 && rate > self.previous && i128::from(rate) * 1_000 >= threshold;
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

    fn request(config: &Config, now: Time, need: Need, deadline: Time) -> Desire {
        let mut deadline = deadline;
        desired_rate(config, now, need, &mut deadline, Span::from_ms(10))
    }

    #[test]
    fn first_request_is_size_over_time() {
        assert_eq!(
            request(&Config::default(), at(0), NEED, at(10)),
            Desire::Rate(10 * UNIT)
        );
        assert_eq!(
            request(&Config::default(), at(0), NEED, Time::MAX),
            Desire::Rate(0)
        );
        let rcp = Config::default().with(|c| {
            c.host.ignore_deadlines = true;
            c.host.policy.quench = true;
        });
        assert_eq!(request(&rcp, at(20), NEED, at(10)), Desire::Rate(0));
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
            request(&Config::default(), at(0), need, at(10)),
            Desire::Rate(12 * UNIT)
        );
        let last = Need {
            in_slot: 100_000,
            ..need
        };
        assert_eq!(
            request(&Config::default(), at(0), last, at(10)),
            Desire::Rate(0)
        );
    }

    #[test]
    fn wire_bytes_include_requests() {
        // 22 B in 88 us are a quarter of a unit. Before the first sample the round-trip time is unknown.
        let wire = Config::default().with(|c| c.host.variant.request_bytes = RequestBytes::Wire);
        let need = Need {
            rtt: Span::from_us(88),
            ..NEED
        };
        let deadline = at(10) + Span::from_us(176);
        assert_eq!(
            request(&wire, at(0), need, deadline),
            Desire::Rate(10 * UNIT + UNIT / 4)
        );
        assert_eq!(request(&wire, at(0), NEED, at(10)), Desire::Rate(10 * UNIT));
    }

    #[test]
    fn no_lag_terms_without_request_lag() {
        // 100000 / 10 ms = 10 B/us, where the paper's formula yields 12.
        let need = Need {
            in_slot: 4_000,
            rtt: Span::from_ms(1),
            ..NEED
        };
        let config = Config::default().with(|c| c.host.variant.request_lag = false);
        assert_eq!(
            request(&config, at(0), need, at(10)),
            Desire::Rate(10 * UNIT)
        );
    }

    #[test]
    fn cap_limits_rate_to_one_round_trip() {
        let need = Need {
            remaining: 10_000,
            rtt: Span::from_us(500),
            ..NEED
        };
        let capped = Config::default().with(|c| c.host.variant.cap_to_remaining = true);
        // 10000 B in 500 us are 20 B/us. With 1 ms left the formula's time is zero; with 1.25 ms it yields 40 B/us.
        for (deadline_us, plain) in [(1_000, 125), (1_250, 40), (1_500, 20), (2_000, 10)] {
            let deadline = Time::ZERO + Span::from_us(deadline_us);
            assert_eq!(
                request(&Config::default(), at(0), need, deadline),
                Desire::Rate(plain * UNIT)
            );
            assert_eq!(
                request(&capped, at(0), need, deadline),
                Desire::Rate(plain.min(20) * UNIT)
            );
        }
        // Rule (i) of quenching uses the rate without the cap: 10000 B in 50 us need 200 B/us.
        let quench = capped.with(|c| c.host.policy.quench = true);
        assert_eq!(
            request(&quench, at(0), need, Time::ZERO + Span::from_us(50)),
            Desire::Quench
        );
    }

    #[test]
    fn late_flows_follow_their_policy() {
        let late = |late| Config::default().with(|c| c.host.policy.late = late);
        assert_eq!(
            request(&late(Late::FairShare), at(12), NEED, at(10)),
            Desire::Rate(0)
        );
        assert_eq!(
            request(&late(Late::Max), at(12), NEED, at(10)),
            Desire::Rate(125 * UNIT)
        );
        // The deadline moves from 10 ms to 20 ms: 100000 B in 8 ms.
        assert_eq!(
            request(&late(Late::Extend), at(12), NEED, at(10)),
            Desire::Rate(12 * UNIT + UNIT / 2)
        );
    }

    #[test]
    fn extension_is_a_share_of_the_allowance() {
        let config = |late_extension_permille| {
            Config::default().with(|c| {
                c.host.policy.late = Late::Extend;
                c.host.policy.late_extension_permille = late_extension_permille;
            })
        };
        let moved = |permille, now| {
            let mut deadline = at(10);
            let rate = desired_rate(
                &config(permille),
                at(now),
                NEED,
                &mut deadline,
                Span::from_ms(10),
            );
            (deadline, rate)
        };
        // Steps of a quarter of 10 ms: 12.5 ms is past 12 ms; 100000 B in 0.5 ms exceed the uplink.
        assert_eq!(
            moved(250, 12),
            (at(10) + Span::from_us(2_500), Desire::Rate(125 * UNIT))
        );
        // As many steps as needed: 10, 12.5, 15, 17.5, 20, 22.5 ms.
        assert_eq!(moved(250, 20).0, at(20) + Span::from_us(2_500));
        // Twice the allowance: 30 ms, 100000 B in 20 ms.
        assert_eq!(moved(2_000, 10), (at(30), Desire::Rate(5 * UNIT)));
        // The deadline does not move before it has passed.
        assert_eq!(moved(2_000, 9).0, at(10));
    }

    #[test]
    fn counts_successive_rises() {
        let seen = |speculation: Speculation, rates: &[i64]| -> Vec<bool> {
            let mut rises = Rises::default();
            rates
                .iter()
                .map(|&rate| rises.record(speculation, rate))
                .collect()
        };
        let four = Speculation::default();
        // 10 % is enough, and the fourth rise ends the flow, whatever the first rate.
        assert_eq!(
            seen(four, &[900, 1_000, 1_100, 1_210, 1_331, 1_465]),
            [false, false, false, false, true, true]
        );
        assert_eq!(
            seen(four, &[1_000, 1_099, 1_208, 1_328, 1_460, 1_605]),
            [false; 6]
        );
        // A smaller rise restarts the count.
        assert_eq!(
            seen(
                four,
                &[
                    1_000, 1_100, 1_210, 1_331, 1_400, 1_540, 1_694, 1_864, 2_051
                ]
            ),
            [false, false, false, false, false, false, false, false, true]
        );
        // An increase from zero is not a rise.
        let once = Speculation {
            rises: 1,
            growth_permille: 0,
        };
        assert_eq!(seen(once, &[0, 5, 5, 6]), [false, false, false, true]);
    }

    #[test]
    fn lag_terms_alone_quench_only_when_strict() {
        let quench = Config::default().with(|c| c.host.policy.quench = true);
        let strict = quench.with(|c| c.host.variant.quench_strict = true);
        let lagging = Need {
            remaining: 1_000,
            rtt: Span::from_us(300),
            ..NEED
        };
        let deadline = Time::ZERO + Span::from_us(500);
        assert_eq!(
            request(&quench, at(0), lagging, deadline),
            Desire::Rate(125 * UNIT)
        );
        assert_eq!(request(&strict, at(0), lagging, deadline), Desire::Quench);
        assert_eq!(
            request(
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
        assert_eq!(request(&quench, at(0), NEED, at(0)), Desire::Quench);
    }
}
