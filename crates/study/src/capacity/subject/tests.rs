//! What is varied, how far it goes, and what is refused.

use super::*;

const STAR: &str = r#"
transport = "d3"
duration = "20 ms"
[topology]
kind = "star"
hosts = 41
link = { rate = "1 Gbps", latency = "20 us" }
"#;

const BURST: &str = r#"
[[workload]]
kind = "burst"
senders = 20
size = "10 KB"
deadline = { mean = "20 ms", floor = "4 ms" }
"#;

const POISSON: &str = r#"
[[workload]]
kind = "poisson"
name = "answers"
size = "10 KB"
deadline = "10 ms"
rate = "2000 /s"
"#;

const LONG: &str = "[[workload]]\nkind = \"long\"\npairs = [[0, 1]]\n";

fn subject(
    workloads: &str,
    quantity: Quantity,
    names: &[&str],
    step: Option<&str>,
) -> Result<Subject, String> {
    let request = Request {
        text: format!("{STAR}{workloads}"),
        file: "test.toml".into(),
        settings: Vec::new(),
        transports: Vec::new(),
        points: Vec::new(),
    };
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    Subject::new(request, quantity, &names, step).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(workloads: &str, quantity: Quantity, parts: &[&str]) {
    let why = subject(workloads, quantity, &[], None).expect_err("refused");
    for part in parts.iter().chain(&["test.toml"]) {
        assert!(why.contains(part), "`{part}` in: {why}");
    }
}

fn senders_at(of: &Subject, position: u32) -> u32 {
    match of.scenario(position).expect("a scenario").workloads[0].kind {
        WorkloadKind::Burst { senders, .. } => senders,
        _ => panic!("a burst"),
    }
}

#[test]
fn senders_go_as_far_as_there_are_hosts() {
    let of = subject(BURST, Quantity::Senders, &[], None).expect("a subject");
    let search = of.search(Target::N99);
    assert_eq!((search.start, search.last, search.stride), (20, 40, 5));
    assert_eq!(senders_at(&of, 33), 33);
    assert_eq!(of.text(33), "33 senders");
    assert_eq!(of.keys(), ["workload.burst.senders"]);
    let of = subject(BURST, Quantity::Senders, &[], Some("4")).expect("a subject");
    assert_eq!(of.search(Target::N99).last, 10);
    assert_eq!(senders_at(&of, 10), 40);
}

#[test]
fn a_rate_moves_in_round_steps() {
    let of = subject(POISSON, Quantity::Rate, &[], None).expect("a subject");
    let search = of.search(Target::N99);
    assert_eq!(
        (search.start, of.text(search.start)),
        (20, "2000 /s".to_owned())
    );
    let rate = |position| match of.scenario(position).expect("a scenario").workloads[0].kind {
        WorkloadKind::Poisson {
            intensity: Intensity::FlowsPerSecond(rate),
            ..
        } => rate,
        _ => panic!("a rate"),
    };
    assert_eq!((rate(1), rate(13)), (100.0, 1300.0));
    let fine = subject(POISSON, Quantity::Rate, &[], Some("12.5 /s")).expect("a subject");
    assert_eq!(fine.text(3), "37.5 /s");
}

#[test]
fn a_load_ends_below_the_whole_link() {
    let load = POISSON.replace("rate = \"2000 /s\"", "load = 0.3");
    let of = subject(&load, Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(
        (of.text(1), of.text(30)),
        ("1 %".to_owned(), "30 %".to_owned())
    );
    assert_eq!(of.search(Target::N99).last, 99);
}

#[test]
fn deadlines_shrink_with_the_position() {
    let of = subject(BURST, Quantity::Deadline, &[], None).expect("a subject");
    let search = of.search(Target::N95);
    assert_eq!(of.value(search.start), Some(1.0));
    assert_eq!(of.value(search.last), Some(0.05));
    assert_eq!((of.value(1), of.value(0)), (Some(16.0), None));
    assert_eq!(of.text(search.start + 3), "x 0.85");
    let deadline = |position| match of.scenario(position).expect("a scenario").workloads[0].kind {
        WorkloadKind::Burst { deadline, .. } => deadline,
        _ => panic!("a burst"),
    };
    let halved = Deadline::Exponential {
        mean: Span::from_ms(10),
        floor: Span::from_ms(2),
    };
    assert_eq!(deadline(search.start + 10), halved, "mean and floor alike");
    assert_eq!(of.scenario(search.start).expect("a scenario"), *of.base());
}

#[test]
fn workloads_that_agree_move_together_and_others_are_named() {
    let two = format!("{POISSON}{}", POISSON.replace("answers", "more"));
    let of = subject(&two, Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(of.keys(), ["workload.answers.rate", "workload.more.rate"]);
    let other = two.replacen("2000", "500", 1);
    refused(&other, Quantity::Rate, &["answers and more", "--workload"]);
    let of = subject(&other, Quantity::Rate, &["more"], None).expect("a subject");
    assert_eq!(of.keys(), ["workload.more.rate"]);
    let why = subject(&other, Quantity::Rate, &["mor"], None).expect_err("no such");
    assert!(
        why.contains("`mor`") && why.contains("answers, more"),
        "{why}"
    );
    // A burst beside it has no rate; it is left as it is.
    let of = subject(&format!("{BURST}{POISSON}"), Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(of.keys(), ["workload.answers.rate"]);
}

#[test]
fn what_cannot_be_varied_is_said() {
    refused(LONG, Quantity::Senders, &["no flow has a deadline"]);
    let none = BURST.replace("{ mean = \"20 ms\", floor = \"4 ms\" }", "\"none\"");
    refused(&none, Quantity::Deadline, &["no flow has a deadline"]);
    refused(
        POISSON,
        Quantity::Senders,
        &["answers", "`senders`", "`fan_in`"],
    );
    refused(BURST, Quantity::Rate, &["burst", "`rate`", "`load`"]);
    for (quantity, workload, step) in [
        (Quantity::Senders, BURST, "0.5"),
        (Quantity::Senders, BURST, "0"),
        (Quantity::Senders, BURST, "-3"),
        (Quantity::Rate, POISSON, "5%"),
        (Quantity::Rate, POISSON, "fast"),
        (Quantity::Deadline, BURST, "2"),
        (Quantity::Deadline, BURST, "nan"),
    ] {
        let why = subject(workload, quantity, &[], Some(step)).expect_err(step);
        assert!(why.contains("step"), "{why}");
    }
}

#[test]
fn numbers_are_exact() {
    assert_eq!(decimal(50_000), "0.05");
    assert_eq!(decimal(12_500_000), "12.5");
    assert_eq!(decimal(0), "0");
    assert_eq!(round_number(100_000_000), 100_000_000);
    assert_eq!(round_number(99_999_999), 50_000_000);
    assert_eq!(round_number(2_100_000), 2_000_000);
    assert_eq!(step_of("5%", ""), Ok(50_000));
    assert_eq!(step_of("0.5%", "%"), Ok(500_000));
}
