use super::*;

fn accounting(queries: u64, limits: &[(Limit, u64)]) -> Accounting {
    let late = limits.iter().map(|of| of.1).sum();
    Accounting {
        queries,
        late,
        explained: late,
        limits: limits.iter().copied().collect(),
        ..Accounting::default()
    }
}

fn sorted(of: &Accounting) -> Vec<Limited> {
    let limits = of.limits.iter();
    let mut limits: Vec<Limited> = limits
        .map(|(&limit, &queries)| Limited { limit, queries })
        .collect();
    limits.sort_by_key(|of| std::cmp::Reverse(of.queries));
    limits
}

#[test]
fn limits_of_few_queries_are_not_named() {
    let of = accounting(
        200,
        &[
            (Limit::Queue, 3),
            (Limit::Computing, 96),
            (Limit::Server, 1),
        ],
    );
    assert_eq!(
        shares(&sorted(&of), &of),
        "The largest part of their time is computing (96.0 %)."
    );
    let few = Accounting {
        explained: 50,
        ..accounting(200, &[(Limit::Queue, 40), (Limit::Handshake, 60)])
    };
    assert!(shares(&sorted(&few), &few).ends_with("(of 50 that were explained)."));
}

#[test]
fn counts_read_as_sentences_do() {
    let of = |late| accounting(1_000, &[(Limit::Queue, late)]);
    assert_eq!(
        count("DCTCP", &of(1), None),
        "DCTCP: 1 of 1000 queries is late."
    );
    assert_eq!(
        count("DCTCP", &of(4), Some(0.99)),
        "DCTCP: 4 of 1000 queries are late; the target, 99.0 % in time, is met."
    );
    assert_eq!(
        count("DCTCP", &of(0), Some(0.99)),
        "DCTCP: none of 1000 queries is late; the target, 99.0 % in time, is met."
    );
}

#[test]
fn what_no_transport_saves_is_said_where_it_matters() {
    let of = accounting(1_000, &[(Limit::Computing, 100)]);
    assert_eq!(
        impossible(4.0, &of, Some(0.99)),
        None,
        "4 % of the late ones"
    );
    assert_eq!(
        impossible(8.0, &of, Some(0.99)).as_deref(),
        Some("8.0 % of them are late under every transport.")
    );
    assert_eq!(
        impossible(50.0, &of, Some(0.99)).as_deref(),
        Some(
            "50.0 % of them are late under every transport; no transport reaches the target on this network."
        )
    );
}
