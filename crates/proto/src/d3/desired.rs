//! Which rate a flow asks for, and when it gives up (D3 §5 "Calculating desired rate", §6.1.3).

use super::rate::{LARGEST, fixed_from_bytes};
use super::{Config, Late};
use duetime_core::{Span, Time};

/// What a flow knows when it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Bytes not yet sent, and bytes known lost.
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

/// r(t+1). `deadline` moves under `Late::Extend`, by `allowance` at a time.
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
            Late::FairShare => return Desire::Rate(0),
            Late::Max => return Desire::Rate(need.uplink.min(LARGEST)),
            Late::Extend => {
                let step = allowance.as_ps().max(1);
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
    let rate = if lagged_time == Span::ZERO {
        i64::MAX
    } else {
        fixed_from_bytes(left, lagged_time, scale)
    };
    if config.quench && rate > need.uplink {
        // D3 §6.1.3 (i); the lag terms alone condemn no flow, unless the formula is to be taken literally.
        if config.quench_strict || fixed_from_bytes(need.remaining, time, scale) > need.uplink {
            return Desire::Quench;
        }
    }
    Desire::Rate(rate.min(need.uplink).min(LARGEST))
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
