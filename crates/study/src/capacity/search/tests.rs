//! Tests on curves with a known capacity.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

use super::*;
use duetime_core::random::mix;
use proptest::prelude::*;

const RUNS: usize = 4;

/// Returns `RUNS` equal runs of 10,000 flows, of which `met` meet their deadlines.
fn exactly(met: u64) -> Vec<Deadlines> {
    let run = Deadlines {
        met,
        measured: 10_000,
    };
    vec![run; RUNS]
}

/// Searches a known curve. Returns the result and the tried values in order.
fn on_curve(settings: &Search, met: impl Fn(u32) -> u64) -> (Capacity, Vec<u32>) {
    let mut tried = Vec::new();
    let found = search(settings, |x| {
        assert!((1..=settings.last).contains(&x), "{x} is in range");
        assert!(!tried.contains(&x), "{x} is tried once");
        tried.push(x);
        Ok::<_, String>(exactly(met(x)))
    });
    (found.expect("an answer"), tried)
}

/// Returns the capacity by its definition.
fn by_definition(target: Target, last: u32, met: impl Fn(u32) -> u64) -> u32 {
    let short = |&x: &u32| {
        !target.is_reached(Deadlines {
            met: met(x),
            measured: 10_000,
        })
    };
    (1..=last).find(short).map_or(last, |first| first - 1)
}

#[test]
fn bisection_stays_within_its_forecast() {
    for edge in [1, 2, 17, 370, 998, 999] {
        let mut forecasts = Vec::new();
        let found = search_with_progress(&Search::within(Target::N99, 1_000), |x, forecast| {
            forecasts.push(forecast);
            Ok::<_, String>(exactly(if x <= edge { 10_000 } else { 0 }))
        });
        assert_eq!(found.expect("an answer").value, edge);
        assert!(forecasts.iter().any(Option::is_some), "{forecasts:?}");
        for (i, forecast) in forecasts.iter().enumerate() {
            let followed = forecasts.len() - i - 1;
            assert!(
                forecast.is_none_or(|forecast| followed <= forecast as usize),
                "{edge}: {followed} came after value {i} of {forecasts:?}"
            );
        }
    }
}

#[test]
fn falling_curve_needs_few_probes() {
    // The curve reaches 99 % at 370.
    let met = |x: u32| 10_000 - u64::from(x.saturating_sub(270));
    let (found, tried) = on_curve(&Search::within(Target::N99, 1_000), met);
    assert_eq!(found.value, 370);
    assert_eq!(
        found.interval,
        Some((370, 370)),
        "equal runs have an interval of one value"
    );
    assert!(!found.at_limit);
    assert!(tried.len() <= 14, "{tried:?}");
    let at = |x: u32| {
        found
            .curve
            .iter()
            .find(|tried| tried.x == x)
            .expect("tried")
    };
    assert!(at(370).reached && !at(371).reached);
    assert_eq!(at(371).deadlines.met, 4 * 9_899);
}

#[test]
fn capacity_at_the_limits() {
    let search = Search::within(Target::N95, 40);
    let (found, _) = on_curve(&search, |_| 9_500);
    assert_eq!((found.value, found.at_limit), (40, true));
    let (found, _) = on_curve(&search, |_| 9_499);
    assert_eq!((found.value, found.at_limit), (0, false));
    assert_eq!(found.interval, Some((0, 0)));
    let (found, tried) = on_curve(&Search::within(Target::N95, 1), |_| 10_000);
    assert_eq!((found.value, found.at_limit, tried), (1, true, vec![1]));
}

#[test]
fn any_start_finds_the_capacity() {
    let met = |x: u32| if x <= 333 { 10_000 } else { 9_000 };
    for start in [1, 2, 300, 333, 334, 900, 5_000] {
        let settings = Search {
            start,
            stride: 1,
            ..Search::within(Target::N99, 1_000)
        };
        let (found, tried) = on_curve(&settings, met);
        assert_eq!(found.value, 333, "from {start}");
        assert!(tried.len() <= 24, "from {start}: {tried:?}");
    }
}

/// Bisection alone would return 60.
#[test]
fn finds_a_dip_followed_by_a_rise() {
    let met = |x: u32| match x {
        0..18 => 10_000,
        18..23 => 9_890,
        // TCP-like: throughput recovers slowly after the dip.
        23..50 => 9_900 + u64::from(x),
        50..=60 => 9_950,
        _ => 9_000,
    };
    let settings = Search {
        start: 48,
        stride: 8,
        ..Search::within(Target::N99, 100)
    };
    let (found, _) = on_curve(&settings, met);
    assert_eq!(found.value, 17);
    assert_eq!(found.value, by_definition(Target::N99, 100, met));
}

#[test]
fn finds_a_dip_in_a_flat_curve_by_trying_all() {
    let met = |x: u32| {
        if x == 7 || x > 60 { 9_000 } else { 10_000 }
    };
    let settings = Search {
        start: 48,
        ..Search::within(Target::N99, 100)
    };
    let (found, _) = on_curve(&settings, met);
    assert_eq!(found.value, 60);
    assert!(found.untried > 40, "{}", found.untried);
    let all = Search {
        check: Check::All,
        ..settings
    };
    let (found, _) = on_curve(&all, met);
    assert_eq!((found.value, found.untried), (6, 0));
}

/// Binomial runs with known probabilities: the interval contains the true capacity about as often as its level.
#[test]
fn interval_covers_the_true_capacity() {
    // The probability falls below 0.99 between 20 and 21.
    let probability = |x: u32| 1.0 - 0.0005 * f64::from(x) * f64::from(x) / 20.3;
    let truth = (1..100).take_while(|&x| probability(x) >= 0.99).last();
    assert_eq!(truth, Some(20));
    let uniform = |trial: u64, x: u32, i: u64| {
        (mix(mix(trial, u64::from(x)), i) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut covered, mut width) = (0, 0);
    for trial in 0..40 {
        let runs = |x: u32| -> Vec<Deadlines> {
            let run = |run: u64| Deadlines {
                met: (0..100)
                    .filter(|i| uniform(trial, x, run * 100 + i) < probability(x))
                    .count() as u64,
                measured: 100,
            };
            (0..40).map(run).collect()
        };
        let found = search(&Search::within(Target::N99, 60), |x| {
            Ok::<_, String>(runs(x))
        });
        let (low, high) = found.expect("an answer").interval.expect("many runs");
        covered += u32::from((low..=high).contains(&20));
        width += high - low;
    }
    assert!(covered >= 34, "{covered} of 40");
    assert!(width < 40 * 12, "mean width {}", f64::from(width) / 40.0);
}

#[test]
fn interval_ends_are_exact() {
    // The capacities of the runs are 100 apart, so the interval is wide and the values around its ends must be tried.
    let met = |x: u32, run: u32| if x <= 300 + 100 * run { 1_000 } else { 900 };
    let runs = |x: u32| -> Vec<Deadlines> {
        (0..10)
            .map(|run| Deadlines {
                met: met(x, run),
                measured: 1_000,
            })
            .collect()
    };
    let found = search(&Search::within(Target::N95, 4_000), |x| {
        Ok::<_, String>(runs(x))
    })
    .expect("an answer");
    // Half of the runs may fall short by 10 %.
    assert_eq!(found.value, 300 + 100 * 5);
    let (low, high) = found.interval.expect("ten runs");
    assert!(low < 800 && 800 < high, "{low}..{high}");
    let tried = |x: u32| found.curve.iter().any(|tried| tried.x == x);
    for end in [low, high] {
        assert!(tried(end) && tried(end + 1), "{end}");
        assert_eq!(end % 100, 0, "the capacity of a run");
    }
}

#[test]
fn one_run_has_no_interval() {
    let found = search(&Search::within(Target::N99, 50), |x| {
        Ok::<_, String>(vec![Deadlines {
            met: if x <= 12 { 100 } else { 50 },
            measured: 100,
        }])
    });
    let found = found.expect("an answer");
    assert_eq!((found.value, found.interval), (12, None));
}

#[test]
fn search_errors() {
    let settings = Search::within(Target::N99, 8);
    let refused = search(&settings, |x| {
        if x == 1 {
            Err("disk full")
        } else {
            Ok(exactly(10_000))
        }
    });
    assert_eq!(refused, Err(SearchError::Probe("disk full")));
    let empty = search(&settings, |_| {
        Ok::<_, String>(vec![Deadlines::default(); 3])
    });
    assert_eq!(empty, Err(SearchError::NoDeadlines(settings.start)));
    let uneven = search(&settings, |x| {
        Ok::<_, String>(vec![exactly(10_000)[0]; x as usize])
    });
    assert!(matches!(
        uneven,
        Err(SearchError::Runs {
            x: 1,
            runs: 1,
            expected: 4
        })
    ));
}

#[test]
fn parses_targets() {
    let target = |text: &str| text.parse::<Target>();
    assert_eq!(target("99%"), Ok(Target::N99));
    assert_eq!(target("99 %"), Ok(Target::N99));
    assert_eq!(target("0.95"), Ok(Target::N95));
    assert_eq!(target("100%").map(Target::share), Ok(1.0));
    assert_eq!(Target::N99.to_string(), "99 %");
    for text in [
        "0", "0%", "101%", "1.01", "-5%", "nan", "inf", "half", "", "%",
    ] {
        assert!(target(text).is_err(), "{text}");
    }
    assert!(target("99").expect_err("no per cent").contains("99%?"));
}

#[test]
fn share_equal_to_target_reaches_it() {
    let with_met = |met| Deadlines { met, measured: 100 };
    assert!(Target::N99.is_reached(with_met(99)) && !Target::N99.is_reached(with_met(98)));
    let large = Deadlines {
        met: u64::MAX / 100 * 99 - 1,
        measured: u64::MAX / 100 * 100,
    };
    assert!(!Target::N99.is_reached(large), "no overflow, no rounding");
}

proptest! {
    #[test]
    fn falling_curve_gives_its_n99(
        falls in proptest::collection::vec(0_u64..40, 1..120),
        start in 1_u32..150,
        stride in 0_u32..40,
    ) {
        let last = falls.len() as u32;
        let met = |x: u32| 10_000_u64.saturating_sub(falls[..x as usize].iter().sum());
        let settings = Search { target: Target::N99, last, start, stride, check: Check::Doubtful };
        let (found, _) = on_curve(&settings, met);
        prop_assert_eq!(found.value, by_definition(Target::N99, last, met));
        prop_assert_eq!(found.at_limit, found.value == last);
    }

    #[test]
    fn trying_all_gives_the_n95_of_any_curve(
        curve in proptest::collection::vec(prop_oneof![9 => 9_500_u64..=10_000, 1 => 9_000_u64..9_500], 1..60),
        start in 1_u32..60,
    ) {
        let last = curve.len() as u32;
        let met = |x: u32| curve[x as usize - 1];
        let settings = Search { target: Target::N95, last, start, stride: 3, check: Check::All };
        let (found, _) = on_curve(&settings, met);
        prop_assert_eq!(found.value, by_definition(Target::N95, last, met));
        prop_assert_eq!(found.untried, 0);
    }

    /// The first failed value is the one after the capacity.
    #[test]
    fn result_agrees_with_tried_values(
        curve in proptest::collection::vec(9_700_u64..=10_000, 1..60),
        start in 1_u32..60,
    ) {
        let last = curve.len() as u32;
        let settings = Search { target: Target::N99, last, start, stride: 2, check: Check::Doubtful };
        let (found, _) = on_curve(&settings, |x| curve[x as usize - 1]);
        let failed = found.curve.iter().find(|tried| !tried.reached);
        prop_assert_eq!(found.value, failed.map_or(last, |tried| tried.x - 1));
    }
}
