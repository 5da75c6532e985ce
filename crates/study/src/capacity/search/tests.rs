//! Against curves whose capacity is known.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

use super::*;
use duetime_core::random::mix;
use proptest::prelude::*;

const RUNS: usize = 4;

/// What `RUNS` equal runs of 10,000 flows see where this many of them meet their deadlines.
fn exactly(met: u64) -> Vec<Deadlines> {
    let run = Deadlines {
        met,
        measured: 10_000,
    };
    vec![run; RUNS]
}

/// Searches a known curve and gives the values that were tried, in their order, beside the answer.
fn on_curve(of: &Search, met: impl Fn(u32) -> u64) -> (Capacity, Vec<u32>) {
    let mut asked = Vec::new();
    let found = search(of, |x| {
        assert!((1..=of.last).contains(&x), "{x} is in range");
        assert!(!asked.contains(&x), "{x} is asked once");
        asked.push(x);
        Ok::<_, String>(exactly(met(x)))
    });
    (found.expect("an answer"), asked)
}

/// The definition to the letter.
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
fn bisection_tries_no_more_values_than_were_told() {
    for edge in [1, 2, 17, 370, 998, 999] {
        let mut told = Vec::new();
        let found = search_telling(&Search::within(Target::N99, 1_000), |x, left| {
            told.push(left);
            Ok::<_, String>(exactly(if x <= edge { 10_000 } else { 0 }))
        });
        assert_eq!(found.expect("an answer").value, edge);
        assert!(told.iter().any(Option::is_some), "{told:?}");
        for (i, left) in told.iter().enumerate() {
            let followed = told.len() - i - 1;
            assert!(
                left.is_none_or(|left| followed <= left as usize),
                "{edge}: {followed} came after value {i} of {told:?}"
            );
        }
    }
}

#[test]
fn n99_of_a_falling_curve_in_few_probes() {
    // 1 % is lost at 370 and a little more beyond.
    let met = |x: u32| 10_000 - u64::from(x.saturating_sub(270));
    let (found, asked) = on_curve(&Search::within(Target::N99, 1_000), met);
    assert_eq!(found.value, 370);
    assert_eq!(
        found.interval,
        Some((370, 370)),
        "equal runs leave no doubt"
    );
    assert!(!found.at_limit);
    assert!(asked.len() <= 14, "{asked:?}");
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
fn limits_and_nothing() {
    let search = Search::within(Target::N95, 40);
    let (found, _) = on_curve(&search, |_| 9_500);
    assert_eq!((found.value, found.at_limit), (40, true));
    let (found, _) = on_curve(&search, |_| 9_499);
    assert_eq!((found.value, found.at_limit), (0, false));
    assert_eq!(found.interval, Some((0, 0)));
    let (found, asked) = on_curve(&Search::within(Target::N95, 1), |_| 10_000);
    assert_eq!((found.value, found.at_limit, asked), (1, true, vec![1]));
}

#[test]
fn a_far_start_is_no_hindrance() {
    let met = |x: u32| if x <= 333 { 10_000 } else { 9_000 };
    for start in [1, 2, 300, 333, 334, 900, 5_000] {
        let of = Search {
            start,
            stride: 1,
            ..Search::within(Target::N99, 1_000)
        };
        let (found, asked) = on_curve(&of, met);
        assert_eq!(found.value, 333, "from {start}");
        assert!(asked.len() <= 24, "from {start}: {asked:?}");
    }
}

/// The values below a dip are worth as little as the dip: bisection alone would say 60.
#[test]
fn a_dip_below_the_crossing_is_found_where_the_curve_rises_after_it() {
    let met = |x: u32| match x {
        0..18 => 10_000,
        18..23 => 9_890,
        // What follows a dip of TCP's kind: it comes back, slowly.
        23..50 => 9_900 + u64::from(x),
        50..=60 => 9_950,
        _ => 9_000,
    };
    let of = Search {
        start: 48,
        stride: 8,
        ..Search::within(Target::N99, 100)
    };
    let (found, _) = on_curve(&of, met);
    assert_eq!(found.value, 17);
    assert_eq!(found.value, by_definition(Target::N99, 100, met));
}

#[test]
fn a_dip_between_flat_stretches_is_found_only_by_trying_all() {
    let met = |x: u32| {
        if x == 7 || x > 60 { 9_000 } else { 10_000 }
    };
    let of = Search {
        start: 48,
        ..Search::within(Target::N99, 100)
    };
    let (found, _) = on_curve(&of, met);
    assert_eq!(found.value, 60);
    assert!(found.untried > 40, "and it says so: {}", found.untried);
    let all = Search {
        check: Check::All,
        ..of
    };
    let (found, _) = on_curve(&all, met);
    assert_eq!((found.value, found.untried), (6, 0));
}

/// Binomial runs with known probabilities: the interval has the true capacity in it about as often as it says.
#[test]
fn the_interval_covers_the_truth() {
    // 0.99 is crossed between 20 and 21.
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
fn both_ends_of_the_interval_are_as_fine_as_the_answer() {
    // Each run has a capacity of its own, 100 apart: the interval is wide, and what lies around its ends was tried.
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
        assert_eq!(end % 100, 0, "a run's own capacity");
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
fn what_cannot_be_answered_is_said() {
    let of = Search::within(Target::N99, 8);
    let refused = search(&of, |x| {
        if x == 1 {
            Err("disk full")
        } else {
            Ok(exactly(10_000))
        }
    });
    assert_eq!(refused, Err(SearchError::Probe("disk full")));
    let empty = search(&of, |_| Ok::<_, String>(vec![Deadlines::default(); 3]));
    assert_eq!(empty, Err(SearchError::NoDeadlines(of.start)));
    let uneven = search(&of, |x| {
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
fn targets_are_shares() {
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
fn the_target_itself_is_enough() {
    let of = |met| Deadlines { met, measured: 100 };
    assert!(Target::N99.is_reached(of(99)) && !Target::N99.is_reached(of(98)));
    let large = Deadlines {
        met: u64::MAX / 100 * 99 - 1,
        measured: u64::MAX / 100 * 100,
    };
    assert!(!Target::N99.is_reached(large), "no overflow, no rounding");
}

proptest! {
    #[test]
    fn a_falling_curve_gives_its_n99(
        falls in proptest::collection::vec(0_u64..40, 1..120),
        start in 1_u32..150,
        stride in 0_u32..40,
    ) {
        let last = falls.len() as u32;
        let met = |x: u32| 10_000_u64.saturating_sub(falls[..x as usize].iter().sum());
        let of = Search { target: Target::N99, last, start, stride, check: Check::Doubtful };
        let (found, _) = on_curve(&of, met);
        prop_assert_eq!(found.value, by_definition(Target::N99, last, met));
        prop_assert_eq!(found.at_limit, found.value == last);
    }

    #[test]
    fn any_curve_gives_its_n95_if_all_is_tried(
        curve in proptest::collection::vec(prop_oneof![9 => 9_500_u64..=10_000, 1 => 9_000_u64..9_500], 1..60),
        start in 1_u32..60,
    ) {
        let last = curve.len() as u32;
        let met = |x: u32| curve[x as usize - 1];
        let of = Search { target: Target::N95, last, start, stride: 3, check: Check::All };
        let (found, _) = on_curve(&of, met);
        prop_assert_eq!(found.value, by_definition(Target::N95, last, met));
        prop_assert_eq!(found.untried, 0);
    }

    /// Whatever it says of a curve, it has seen: the values that it names are tried, and none below fails.
    #[test]
    fn the_answer_never_contradicts_what_was_tried(
        curve in proptest::collection::vec(9_700_u64..=10_000, 1..60),
        start in 1_u32..60,
    ) {
        let last = curve.len() as u32;
        let of = Search { target: Target::N99, last, start, stride: 2, check: Check::Doubtful };
        let (found, _) = on_curve(&of, |x| curve[x as usize - 1]);
        let failed = found.curve.iter().find(|tried| !tried.reached);
        prop_assert_eq!(found.value, failed.map_or(last, |tried| tried.x - 1));
    }
}
