use super::*;
use duetime_scenario::NoFiles;

fn accounting(queries: u64, limits: &[(Limit, u64)]) -> Accounting {
    let late = limits.iter().map(|(_, queries)| queries).sum();
    Accounting {
        queries,
        late,
        explained: late,
        limits: limits.iter().copied().collect(),
        ..Accounting::default()
    }
}

fn sorted(accounting: &Accounting) -> Vec<Limited> {
    let limits = accounting.limits.iter();
    let mut limits: Vec<Limited> = limits
        .map(|(&limit, &queries)| Limited { limit, queries })
        .collect();
    limits.sort_by_key(|limited| std::cmp::Reverse(limited.queries));
    limits
}

#[test]
fn rare_causes_are_not_named() {
    let one = accounting(
        200,
        &[
            (Limit::Queue, 3),
            (Limit::Computing, 96),
            (Limit::Server, 1),
        ],
    );
    assert_eq!(
        causes(&sorted(&one), &one),
        "Main cause: computation (96.0 %)."
    );
    let sample = Accounting {
        explained: 50,
        ..accounting(200, &[(Limit::Queue, 20), (Limit::Handshake, 30)])
    };
    let sample = Accounting {
        late: 100,
        ..sample
    };
    assert_eq!(
        causes(&sorted(&sample), &sample),
        "Main causes in a sample of 50: handshakes (60.0 %), queueing (40.0 %)."
    );
}

#[test]
fn count_sentences() {
    let with_late = |late| accounting(1_000, &[(Limit::Queue, late)]);
    assert_eq!(
        count("DCTCP", &with_late(1), None),
        "1 of 1000 queries is late under DCTCP."
    );
    assert_eq!(
        count("DCTCP", &with_late(4), Some(0.99)),
        "4 of 1000 queries are late under DCTCP, which meets the target of 99.0 % in time."
    );
    assert_eq!(
        count("DCTCP", &with_late(0), Some(0.99)),
        "0 of 1000 queries are late under DCTCP, which meets the target of 99.0 % in time."
    );
}

#[test]
fn unavoidable_late_queries() {
    let late = accounting(1_000, &[(Limit::Computing, 100)]);
    assert_eq!(
        unavoidable(4.0, &late, Some(0.99)),
        None,
        "4 % of the late queries"
    );
    assert_eq!(
        unavoidable(8.0, &late, Some(0.99)).as_deref(),
        Some("8.0 % of the late queries are late under any transport.")
    );
    assert_eq!(
        unavoidable(50.0, &late, Some(0.99)).as_deref(),
        Some(
            "50.0 % of the late queries are late under any transport, so no transport can reach the target on this \
             network."
        )
    );
}

#[test]
fn no_deeper_buffer_where_the_transport_replaces_it() {
    let text = |transport: &str| {
        let overrides = [("transport".to_owned(), format!("{transport:?}"))];
        let scenario = include_str!("../../../../scenarios/feature-store.toml");
        let scenario = duetime_scenario::load(scenario, "feature-store", &overrides, &NoFiles);
        let scenario = scenario.expect("a ready scenario");
        advice::advise(&scenario, Limit::LossRecovery, 0).text
    };
    assert!(
        text("dctcp").contains("a deeper buffer"),
        "{}",
        text("dctcp")
    );
    assert_eq!(text("pfabric"), "");
}
