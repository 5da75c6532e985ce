//! Scenarios written by `duetime new` are valid for every service that it accepts.

use duetime_core::Span;
use duetime_scenario::model::{Gap, QueryArrival};
use duetime_scenario::service::{Question, Service, ServiceKind};
use duetime_scenario::{NoFiles, Scenario, load};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// Reads the scenario of a service.
fn scenario(service: &Service) -> Scenario {
    let text = service.to_toml("mine", "mine.toml");
    load(&text, "mine.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn with(kind: ServiceKind, answers: &[(Question, &str)]) -> Service {
    let mut service = Service::usual(kind);
    for (question, text) in answers {
        let taken = service.take(*question, text);
        taken.unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    service
}

#[test]
fn default_services_are_valid() {
    for kind in ServiceKind::ALL {
        let service = Service::usual(kind);
        service.check().unwrap_or_else(|wrong| panic!("{wrong}"));
        let scenario = scenario(&service);
        assert_eq!(scenario.name, "mine");
        let oldi = scenario.oldi(0).expect("trees");
        let budget = service.answer_to(Question::Budget);
        assert_eq!(oldi.objective.within.len(), 1);
        assert_eq!(oldi.objective.within[0].to_string(), budget);
        assert_eq!(oldi.objective.share, Some(0.99));
        assert!(oldi.deadline[0].fixed().expect("fixed") < oldi.objective.within[0]);
        let text = service.to_toml("mine", "mine.toml");
        assert!(
            text.contains("tightest budget for 99 % of the queries\n")
                && text.ends_with("highest rate with 99 % of the queries in time\n")
        );
        assert!(text.contains("duetime run mine.toml"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 150, "{line}");
        }
    }
}

#[test]
fn scenario_has_the_given_numbers() {
    let service = with(
        ServiceKind::Search,
        &[
            (Question::FanIn, "30"),
            (Question::Budget, "25ms"),
            (Question::Answer, "8KB"),
            (Question::Rate, "500 /s"),
            (Question::Hosts, "60"),
            (Question::Link, "25 Gbps"),
        ],
    );
    service.check().unwrap_or_else(|wrong| panic!("{wrong}"));
    let scenario = scenario(&service);
    assert_eq!(scenario.topology.hosts(), 60);
    let oldi = scenario.oldi(0).expect("trees");
    assert_eq!((oldi.trees, &oldi.fan_in[..]), (4, &[30][..]));
    // Four roots and 500 queries per second: one query per 8 ms at each root.
    let each = Gap::Exponential(Span::from_ms(8));
    assert_eq!(oldi.arrival, QueryArrival::Every(each));
    assert_eq!(oldi.objective.within, [Span::from_ms(25)]);
}

#[test]
fn invalid_numbers() {
    for (question, text, parts) in [
        (Question::FanIn, "0", &["--fan-in 0:", "1 to 1000"][..]),
        (Question::FanIn, "2,3,4", &["two layers", "4,10"]),
        (Question::FanIn, "many", &["--fan-in many", "such as 40"]),
        (Question::Budget, "50", &["unit", "such as \"20 us\""]),
        (Question::Budget, "1 us", &["too small", "100 us to 60 s"]),
        (Question::Answer, "20 kb", &["KB"]),
        (Question::Answer, "1 TB", &["too large", "1 B to 100 MB"]),
        (Question::Rate, "2000", &["unit", "/s"]),
        (Question::Hosts, "1", &["2 to 10000"]),
        (Question::Link, "10", &["Gbps"]),
    ] {
        let wrong = Service::usual(ServiceKind::Search).take(question, text);
        let error_text = wrong.expect_err(text).to_string();
        for part in parts {
            assert!(error_text.contains(part), "`{part}` in: {error_text}");
        }
    }
    for (answers, parts) in [
        (
            &[(Question::FanIn, "48")][..],
            &["--fan-in 48", "49 hosts", "--hosts 49"][..],
        ),
        (
            &[(Question::Budget, "1 ms")],
            &["--budget 1 ms", "at least"],
        ),
        (
            &[(Question::Rate, "900000 /s")],
            &["--rate 900000 /s", "at most", "50 %"],
        ),
    ] {
        let wrong = with(ServiceKind::Search, answers).check();
        let error_text = wrong.expect_err("refused").to_string();
        for part in parts {
            assert!(error_text.contains(part), "`{part}` in: {error_text}");
        }
    }
}

/// Returns random answers, most of them valid.
fn answers() -> impl Strategy<Value = Vec<(Question, String)>> {
    let log = |low: f64, high: f64| (low.ln()..=high.ln()).prop_map(f64::exp);
    let fan_in = prop_oneof![
        (1u32..=1000).prop_map(|one| one.to_string()),
        (1u32..=40, 1u32..=40).prop_map(|(one, two)| format!("{one},{two}")),
    ];
    (
        fan_in,
        log(100.0, 6e7),
        log(1.0, 1e8),
        log(1.0, 1e6),
        log(2.0, 1e4),
        log(1e2, 1e6),
    )
        .prop_map(|(fan_in, budget, answer, rate, hosts, link)| {
            vec![
                (Question::FanIn, fan_in),
                (Question::Budget, format!("{budget:.1} us")),
                (Question::Answer, format!("{answer:.0} B")),
                (Question::Rate, format!("{rate:.3} /s")),
                (Question::Hosts, format!("{hosts:.0}")),
                (Question::Link, format!("{link:.0} Mbps")),
            ]
        })
}

/// Sets the valid answers and keeps the defaults of the others.
fn apply(kind: usize, answers: &[(Question, String)]) -> Service {
    let mut service = Service::usual(ServiceKind::ALL[kind]);
    for (question, text) in answers {
        let _ = service.take(*question, text);
    }
    service
}

/// Adapts the network, budget or rate of a service until it is feasible.
fn feasible(mut service: Service) -> Service {
    for _ in 0..4 {
        let Err(wrong) = service.check() else {
            break;
        };
        let number = |text: &str| {
            text.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let (question, text) = match wrong.question {
            Question::FanIn => (
                Question::Hosts,
                wrong.allowed.split("--hosts ").nth(1).map(number),
            ),
            Question::Budget => (
                Question::Budget,
                wrong.allowed.strip_prefix("at least ").map(str::to_owned),
            ),
            _ => (
                Question::Rate,
                wrong
                    .allowed
                    .strip_prefix("at most ")
                    .and_then(|allowed| allowed.split_once(','))
                    .map(|(rate, _)| rate.to_owned()),
            ),
        };
        let text = text.unwrap_or_else(|| panic!("{wrong}"));
        if service.take(question, &text).is_err() {
            break;
        }
    }
    service
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every accepted service has a valid scenario; errors name values that would be accepted.
    #[test]
    fn accepted_services_are_valid_scenarios(kind in 0usize..4, answers in answers()) {
        let service = feasible(apply(kind, &answers));
        if service.check().is_ok() {
            let text = service.to_toml("mine", "mine.toml");
            let read = load(&text, "mine.toml", &[], &NoFiles);
            prop_assert!(read.is_ok(), "{}\n{text}", read.err().map_or(String::new(), |error| error.to_string()));
        }
    }
}

#[test]
fn most_random_services_are_accepted() {
    // Otherwise the property above would be weak.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let accepted = (0..200).filter(|case| {
        let drawn = answers().new_tree(&mut runner).expect("a value").current();
        feasible(apply(case % 4, &drawn)).check().is_ok()
    });
    let accepted = accepted.count();
    assert!(accepted >= 100, "{accepted} of 200");
}
