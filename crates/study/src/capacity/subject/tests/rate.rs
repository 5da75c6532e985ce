//! Tests of varied query rates and of background loads.

use super::*;
use duetime_scenario::model::{Gap, QueryArrival};

/// Returns `TREES` with six flat trees and the arrival of queries set by `keys`.
fn arriving(keys: &str) -> String {
    TREES
        .replace("trees = 1", "applications = 2\ntrees = 3")
        .replace("[3, 4]", "5")
        .replace("layer_share = [1.0, 0.5]\n", "")
        .replace("load = 0.1", keys)
}

fn arrival_at(subject: &Subject, position: u32) -> QueryArrival {
    tree_at(subject, position).arrival
}

#[test]
fn varied_rate_equals_rate_in_file() {
    for arrival in ["", "\narrival = \"periodic\""] {
        let at = |rate: &str| arriving(&format!("rate = \"{rate} /s\"{arrival}"));
        let case = subject(&at("2000"), Quantity::Rate, &[], None).expect("a subject");
        let search = case.search(Target::N99);
        assert_eq!((search.start, search.stride), (20, 5));
        assert_eq!(case.keys(), ["workload.search.rate"]);
        assert_eq!((case.unit(), case.value(24)), ("/s", Some(2400.0)));
        assert_eq!(case.scenario(20).expect("a scenario"), *case.base());
        for (position, rate) in [(1, "100"), (13, "1300"), (41, "4100")] {
            let same = subject(&at(rate), Quantity::Rate, &[], None).expect("a subject");
            assert_eq!(
                case.scenario(position).expect("a scenario"),
                *same.base(),
                "{rate} {arrival}"
            );
        }
        let fine = subject(&at("2000"), Quantity::Rate, &[], Some("12.5 /s")).expect("a subject");
        assert_eq!(fine.value(3), Some(37.5));
    }
}

#[test]
fn gaps_keep_their_distribution() {
    // Six trees with a mean gap of 3 ms: 2000 queries per second, then twice as many.
    let twice = |gap: &str| {
        let every = arriving(&format!("every = {gap}"));
        let case = subject(&every, Quantity::Rate, &[], None).expect("a subject");
        let start = case.search(Target::N99).start;
        assert_eq!(case.value(start), Some(2000.0), "{gap}");
        assert_eq!(case.keys(), ["workload.search.rate"]);
        match arrival_at(&case, 2 * start) {
            QueryArrival::Every(gap) => gap,
            other => panic!("{other:?}"),
        }
    };
    let us = Span::from_us;
    assert_eq!(twice("\"3 ms\""), Gap::Fixed(us(1_500)));
    assert_eq!(twice("\"exponential 3 ms\""), Gap::Exponential(us(1_500)));
    assert_eq!(
        twice("\"uniform 2 ms..4 ms\""),
        Gap::Uniform(us(1_000), us(2_000))
    );
    // The means of these distributions are accurate to some parts in 10⁸.
    let near =
        |span: Span, us: f64| assert!((span.as_secs_f64() * 1e6 - us).abs() < 1e-3, "{span}");
    match twice("{ min = \"1.5 ms\", shape = 2 }") {
        Gap::Pareto {
            least, most: None, ..
        } => near(least, 750.0),
        other => panic!("{other:?}"),
    }
    match twice("{ median = \"1.819592 ms\", sigma = 1 }") {
        // The mean is exp(1/2) medians.
        Gap::LogNormal { median, .. } => near(median, 1_500.0 / 0.5_f64.exp()),
        other => panic!("{other:?}"),
    }
    match twice("{ points = [[\"2 ms\", 0], [\"4 ms\", 1]] }") {
        Gap::Cdf { points, .. } => assert_eq!(points, [(1e9, 0.0), (2e9, 1.0)]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rate_is_shown_with_its_load() {
    // Five answers of 10 KB in seven segments are 51.4 KB on the wire: 41.12 % of 1 Gbps at 1000 /s. Each of six trees
    // takes a sixth of the queries.
    let rate = arriving("rate = \"1000 /s\"");
    let case = subject(&rate, Quantity::Rate, &[], None).expect("a subject");
    let (low, high) = case.loads(20).expect("loads");
    assert!((low - 0.4112 / 6.0).abs() < 1e-6 && (high - low).abs() < 1e-12);
    assert_eq!(case.text(20), "1000 /s (load 6.9 %)");
    assert_eq!(case.text(40), "2000 /s (load 13.7 %)");
    // With a second workload with larger answers at the same rate.
    let larger = rate
        .replace("10 KB", "20 KB")
        .replace("\"search\"", "\"feed\"");
    let both = subject(&format!("{rate}{larger}"), Quantity::Rate, &[], None);
    let both = both.expect("a subject");
    assert_eq!(both.keys(), ["workload.search.rate", "workload.feed.rate"]);
    assert_eq!(both.text(20), "1000 /s (load 6.9 % to 13.7 %)");
    // A varied load is not repeated.
    let load = subject(TREES, Quantity::Rate, &[], None).expect("a subject");
    assert_eq!((load.text(20), load.loads(20)), ("10 %".to_owned(), None));
}

#[test]
fn missing_rate_errors_name_alternatives() {
    let rate = arriving("rate = \"1000 /s\"");
    refused(&rate, Quantity::Load, &["search", "`rate`", "--of rate"]);
    let every = arriving("every = \"3 ms\"");
    refused(&every, Quantity::Load, &["search", "`every`", "--of rate"]);
    let in_turn = arriving("arrival = \"back-to-back\"");
    for quantity in [Quantity::Rate, Quantity::Load] {
        let parts = ["search", "back-to-back", "`load`, `rate` or `every`"];
        refused(&in_turn, quantity, &parts);
    }
    refused(
        BURST,
        Quantity::Rate,
        &["burst", "oldi (`rate`", "background (`load`)"],
    );
    refused(
        BURST,
        Quantity::Load,
        &["burst", "poisson, oldi and background", "`load`"],
    );
}

#[test]
fn rate_is_limited_by_the_shortest_gap() {
    // 6 trees with a gap of 2 ns have 3 queries per nanosecond.
    let case = subject(
        &arriving("every = \"2 ns\""),
        Quantity::Rate,
        &[],
        Some("1e9 /s"),
    );
    let case = case.expect("a subject");
    assert_eq!(case.search(Target::N99).last, 6);
    let why = case.scenario(7).expect_err("too often").to_string();
    assert!(
        why.contains("search: 7000000000 queries") && why.contains("1 ns"),
        "{why}"
    );
}

#[test]
fn varies_background_load() {
    let flows = |keys: &str| {
        format!(
            "[[workload]]\nkind = \"background\"\nsize = \"10 KB\"\ndeadline = \"10 ms\"\n{keys}\n"
        )
    };
    for quantity in [Quantity::Rate, Quantity::Load] {
        let case = subject(&flows("load = 0.3"), quantity, &[], None).expect("a subject");
        assert_eq!(case.keys(), ["workload.background.load"]);
        assert_eq!(case.text(case.search(Target::N99).start), "30 %");
        refused(
            &flows("every = \"5 ms\""),
            quantity,
            &["background", "`load`", "`every`"],
        );
    }
}
