//! Meaning of workloads.

use crate::{EXAMPLE, extended, trees, with};
use duetime_core::Span;
use duetime_scenario::model::{
    Deadline, Gap, GiveUp, Intensity, Objective, QueryArrival, Size, Topology, WorkloadKind,
};
use duetime_scenario::{NoFiles, load, resolved_json};

#[test]
fn number_of_answers_is_a_share() {
    let scenario = with(&[(
        "workload.oldi.objective",
        r#"{ within = "7 ms", answers = "29 of 40" }"#,
    )]);
    let answers = trees(&scenario).objective.answers;
    assert_eq!(answers.to_bits(), (29.0f64 / 40.0).to_bits());
}

#[test]
fn objective_defaults_to_answer_deadlines() {
    let objective = |overrides: &[(&str, &str)]| trees(&with(overrides)).objective.clone();
    let own_deadlines = Objective {
        within: vec![],
        answers: 1.0,
        share: None,
    };
    assert_eq!(objective(&[]), own_deadlines);
    let fixed = ("workload.deadline", "\"5 ms\"");
    let from_the_answers = Objective {
        within: vec![Span::from_ms(5)],
        answers: 0.99,
        share: None,
    };
    assert_eq!(
        objective(&[fixed, ("workload.complete_at", "0.99")]),
        from_the_answers
    );
    let given = r#"{ within = ["7 ms", "8 ms"], answers = "95 %", share = "99.9 %" }"#;
    let two = ("workload.applications", "2");
    let own = Objective {
        within: vec![Span::from_ms(7), Span::from_ms(8)],
        answers: 0.95,
        share: Some(0.999),
    };
    assert_eq!(objective(&[fixed, two, ("workload.objective", given)]), own);
    // Missing parts of an objective come from the answers.
    assert_eq!(
        objective(&[fixed, ("workload.objective", "{ answers = 0.5 }")]),
        Objective {
            within: vec![Span::from_ms(5)],
            answers: 0.5,
            share: None,
        }
    );
}

#[test]
fn give_up() {
    let give_up = |value: &str| trees(&with(&[("workload.give_up", value)])).give_up;
    assert_eq!(trees(&with(&[])).give_up, GiveUp::Children);
    assert_eq!(give_up("\"children\""), GiveUp::Children);
    assert_eq!(give_up("\"own\""), GiveUp::Own);
    assert_eq!(give_up("\"never\""), GiveUp::Never);
    assert_eq!(give_up("\"5 ms\""), GiveUp::After(Span::from_ms(5)));
}

#[test]
fn finite_workloads_need_no_duration() {
    let text = r#"
transport = "tcp"
topology = { kind = "star", hosts = 4, link = { rate = "1 Gbps", latency = "0 us", loss = "1%" } }
[[workload]]
kind = "burst"
senders = 3
size = "1 KB"
at = "1 ms"
repeat = 3
every = "10 ms"
"#;
    let scenario =
        load(text, "runs/a.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.name, "a");
    assert_eq!(
        (scenario.duration, scenario.drain),
        (Span::from_ms(22), Span::from_secs(100))
    );
    assert!(
        matches!(scenario.topology, Topology::Star { link, .. } if link.loss.to_bits() == 0.01f64.to_bits())
    );
    let spread = [("workload.jitter".to_owned(), "5 ms".to_owned())];
    let scenario =
        load(text, "runs/a.toml", &spread, &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.duration, Span::from_ms(27));
}

#[test]
fn jitter_of_starts() {
    let of = |keys: &str| {
        let text = format!(
            r#"
transport = "tcp"
duration = "1 s"
topology = {{ kind = "star", hosts = 4, link = {{ rate = "1 Gbps", latency = "0 us" }} }}
[[workload]]
kind = "burst"
senders = 3
size = "1 KB"
repeat = 3
every = "10 ms"
{keys}
[[workload]]
kind = "long"
pairs = [[0, 1]]
{keys}
"#
        );
        let scenario =
            load(&text, "a.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
        let jitter = |index: usize| match scenario.workloads[index].kind {
            WorkloadKind::Burst { jitter, .. } | WorkloadKind::Long { jitter, .. } => jitter,
            _ => unreachable!("a burst and a long flow"),
        };
        let kept = resolved_json(&scenario)["workloads"].clone();
        let written = |index: usize| kept[index]["does"]["jitter_ps"].clone();
        ((jitter(0), jitter(1)), (written(0), written(1)))
    };
    let none = (serde_json::Value::Null, serde_json::Value::Null);
    let ten = Span::from_ms(10);
    assert_eq!(of(""), ((Span::ZERO, Span::ZERO), none.clone()));
    assert_eq!(of("jitter = \"0 us\""), ((Span::ZERO, Span::ZERO), none));
    // The maximum jitter of bursts is the gap between them.
    let kept = serde_json::json!(10_000_000_000_u64);
    assert_eq!(of("jitter = \"10 ms\""), ((ten, ten), (kept.clone(), kept)));
}

#[test]
fn rate_is_shared_by_all_trees() {
    let of = |keys: &str| {
        let text = format!(
            r#"
transport = "tcp"
duration = "1 s"
topology = {{ kind = "star", hosts = 40, link = {{ rate = "1 Gbps", latency = "0 us" }} }}
[[workload]]
kind = "oldi"
applications = 2
trees = 4
fan_in = 2
response = "1 KB"
{keys}
"#
        );
        let scenario =
            load(&text, "a.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
        scenario.oldi(0).expect("trees").arrival.clone()
    };
    // Eight trees and 8,000 queries per second: one query per 1 ms at each tree.
    let ms = Span::from_ms(1);
    let each = QueryArrival::Every;
    assert_eq!(of("rate = \"8000 /s\""), each(Gap::Exponential(ms)));
    assert_eq!(
        of("rate = \"8000 /s\"\narrival = \"poisson\""),
        each(Gap::Exponential(ms))
    );
    assert_eq!(
        of("rate = \"8000 /s\"\narrival = \"periodic\""),
        each(Gap::Fixed(ms))
    );
}

#[test]
fn forms_of_sizes_deadlines_gaps_and_arrivals() {
    let deadline = |text: &str| trees(&with(&[("workload.deadline", text)])).deadline[0];
    let ms = Span::from_ms;
    assert_eq!(deadline("none"), Deadline::None);
    assert_eq!(
        deadline("30 ms"),
        Deadline::Added {
            base: ms(30),
            added: 0.0
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "around 10%" }"#),
        Deadline::Around {
            base: ms(30),
            variation: 0.1
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "exponential" }"#),
        Deadline::AddedExponential {
            base: ms(30),
            mean: ms(30)
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "exponential 5 ms" }"#),
        Deadline::AddedExponential {
            base: ms(30),
            mean: ms(5)
        }
    );
    assert_eq!(
        deadline(r#"{ mean = "30 ms", floor = "5 ms" }"#),
        Deadline::Exponential {
            mean: ms(30),
            floor: ms(5)
        }
    );
    let size = |text: &str| trees(&with(&[("workload.response", text)])).response[0].clone();
    let points = vec![(2_000.0, 0.0), (2_000.0, 0.5), (4_000.0, 1.0)];
    assert_eq!(
        size(r#"{ points = [["2 KB", 0.5], ["4 KB", 1]] }"#),
        Size::Cdf {
            name: "points".to_owned(),
            points
        }
    );
    assert!(matches!(size("hadoop"), Size::Cdf { name, .. } if name == "hadoop"));
    assert!(matches!(size(r#"{ cdf = "storage" }"#), Size::Cdf { name, .. } if name == "storage"));
    let jitter = trees(&with(&[("workload.jitter", "uniform 0 us..5 ms")]))
        .jitter
        .clone();
    assert_eq!(jitter, Gap::Uniform(Span::ZERO, ms(5)));
    let periodic = trees(&with(&[("workload.arrival", "periodic")]))
        .arrival
        .clone();
    assert_eq!(
        periodic,
        QueryArrival::Load {
            load: 0.15,
            poisson: false,
            each_tree: true,
        }
    );
    let even = trees(&with(&[("workload.load_over", "workload")]))
        .arrival
        .clone();
    assert_eq!(
        even,
        QueryArrival::Load {
            load: 0.15,
            poisson: true,
            each_tree: false,
        }
    );
    let scale = |deadline: &str| {
        let keys = [
            ("workload.deadline", deadline),
            ("workload.deadline_scale", "0.5"),
        ];
        trees(&with(&keys)).deadline[0]
    };
    assert_eq!(
        [
            scale(r#"{ base = "30 ms", variation = "uniform 50%" }"#),
            scale(r#"{ base = "30 ms", variation = "around 10%" }"#),
            scale(r#"{ mean = "30 ms", floor = "5 ms" }"#),
            scale(r#"{ base = "30 ms", variation = "exponential" }"#),
            scale("\"none\""),
        ],
        [
            Deadline::Added {
                base: ms(15),
                added: 0.5
            },
            Deadline::Around {
                base: ms(15),
                variation: 0.1
            },
            Deadline::Exponential {
                mean: ms(15),
                floor: Span::from_us(2_500)
            },
            Deadline::AddedExponential {
                base: ms(15),
                mean: ms(15)
            },
            Deadline::None,
        ]
    );
    let text = EXAMPLE.replace("load = 0.15", "arrival = \"back-to-back\"");
    let scenario = load(&text, "x.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(trees(&scenario).arrival, QueryArrival::BackToBack);
    let scenario =
        extended("[[workload]]\nkind = \"poisson\"\nsize = \"1 KB\"\nrate = \"0.5 /s\"\n");
    let WorkloadKind::Poisson { intensity, .. } = &scenario.workloads[2].kind else {
        panic!()
    };
    assert_eq!(*intensity, Intensity::FlowsPerSecond(0.5));
}
