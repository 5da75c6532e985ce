//! Tests of varied quantities, their ranges and their errors.

use super::*;
use duetime_scenario::model::{Deadline, Intensity, WorkloadKind};

mod rate;

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

fn senders_at(subject: &Subject, position: u32) -> u32 {
    match subject.scenario(position).expect("a scenario").workloads[0].kind {
        WorkloadKind::Burst { senders, .. } => senders,
        _ => panic!("a burst"),
    }
}

#[test]
fn senders_are_limited_by_hosts() {
    let case = subject(BURST, Quantity::Senders, &[], None).expect("a subject");
    let search = case.search(Target::N99);
    assert_eq!((search.start, search.last, search.stride), (20, 40, 5));
    assert_eq!(senders_at(&case, 33), 33);
    assert_eq!(case.text(33), "33 senders");
    assert_eq!(case.keys(), ["workload.burst.senders"]);
    let case = subject(BURST, Quantity::Senders, &[], Some("4")).expect("a subject");
    assert_eq!(case.search(Target::N99).last, 10);
    assert_eq!(senders_at(&case, 10), 40);
}

#[test]
fn rates_have_round_steps() {
    let case = subject(POISSON, Quantity::Rate, &[], None).expect("a subject");
    let search = case.search(Target::N99);
    assert_eq!(
        (search.start, case.text(search.start)),
        (20, "2000 /s".to_owned())
    );
    let rate = |position| match case.scenario(position).expect("a scenario").workloads[0].kind {
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
fn load_stays_below_the_link_rate() {
    let load = POISSON.replace("rate = \"2000 /s\"", "load = 0.3");
    let case = subject(&load, Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(
        (case.text(1), case.text(30)),
        ("1 %".to_owned(), "30 %".to_owned())
    );
    assert_eq!(case.search(Target::N99).last, 99);
}

#[test]
fn deadlines_shrink_with_the_position() {
    let case = subject(BURST, Quantity::Deadline, &[], None).expect("a subject");
    let search = case.search(Target::N95);
    assert_eq!(case.value(search.start), Some(1.0));
    assert_eq!(case.value(search.last), Some(0.05));
    assert_eq!((case.value(1), case.value(0)), (Some(16.0), None));
    assert_eq!(case.text(search.start + 3), "x 0.85");
    let deadline = |position| match case.scenario(position).expect("a scenario").workloads[0].kind {
        WorkloadKind::Burst { deadline, .. } => deadline,
        _ => panic!("a burst"),
    };
    let halved = Deadline::Exponential {
        mean: Span::from_ms(10),
        floor: Span::from_ms(2),
    };
    assert_eq!(deadline(search.start + 10), halved, "mean and floor alike");
    assert_eq!(
        case.scenario(search.start).expect("a scenario"),
        *case.base()
    );
}

const TREES: &str = r#"
[[workload]]
kind = "oldi"
name = "search"
trees = 1
fan_in = [3, 4]
response = "10 KB"
deadline = "6 ms"
layer_share = [1.0, 0.5]
load = 0.1
objective = { within = "5 ms", share = "99.9 %" }
"#;

fn tree_at(subject: &Subject, position: u32) -> duetime_scenario::model::Oldi {
    let scenario = subject.scenario(position).expect("a scenario");
    match &scenario.workloads[0].kind {
        WorkloadKind::Oldi(oldi) => oldi.clone(),
        _ => panic!("a tree"),
    }
}

#[test]
fn budget_scales_deadlines() {
    let case = subject(TREES, Quantity::Budget, &[], None).expect("a subject");
    let search = case.search(Target::N99);
    assert_eq!(case.text(search.start), "5 ms");
    assert_eq!(case.text(search.start + 1), "4.8 ms", "a round step");
    assert_eq!(
        (case.value(1), case.value(search.last)),
        (Some(80.0), Some(0.2))
    );
    assert_eq!((case.unit(), case.value(0)), ("ms", None));
    assert_eq!(case.keys(), ["workload.search.objective.within"]);
    let half = case.search(Target::N99).start + 5;
    let tree = tree_at(&case, half);
    assert_eq!(tree.objective.within, [Span::from_ms(4)]);
    let deadline = Deadline::Added {
        base: Span::from_us(4_800),
        added: 0.0,
    };
    assert_eq!(tree.deadline, [deadline]);
    let fine = subject(TREES, Quantity::Budget, &[], Some("0.05 ms")).expect("a subject");
    assert_eq!(fine.text(fine.search(Target::N99).start + 1), "4.95 ms");
    // The unit is queries, and the objective sets the target.
    assert_eq!(
        (case.judges(), case.target(Quantity::Budget).share()),
        (On::Queries, 0.999)
    );
    let answers = case.on(On::Answers).expect("answers have deadlines");
    assert_eq!(answers.target(Quantity::Budget), Target::N99);
    assert_eq!(answers.what(), "answers");
}

#[test]
fn fixed_deadlines_are_shown_in_ms() {
    let case = subject(TREES, Quantity::Deadline, &[], None).expect("a subject");
    let search = case.search(Target::N95);
    assert_eq!(case.text(search.start + 5), "x 0.75 (4.50 ms)");
    assert_eq!(
        tree_at(&case, search.start + 5).objective.within,
        [Span::from_us(3_750)]
    );
    // Random deadlines have no single value.
    let case = subject(BURST, Quantity::Deadline, &[], None).expect("a subject");
    assert_eq!(case.deadlines_ms(case.search(Target::N95).start), None);
}

#[test]
fn selects_a_layer() {
    let case = subject(TREES, Quantity::FanIn(Some(2)), &[], None).expect("a subject");
    let search = case.search(Target::N99);
    assert_eq!((search.start, case.text(4)), (4, "4 children".to_owned()));
    assert_eq!(case.keys(), ["workload.search.fan_in[1]"]);
    assert_eq!(tree_at(&case, 7).fan_in, [3, 7]);
    // A root, three aggregators and 36 leaves fit into 41 hosts.
    assert_eq!(search.last, 12);
    let case = subject(TREES, Quantity::FanIn(Some(1)), &[], None).expect("a subject");
    assert_eq!(tree_at(&case, 2).fan_in, [2, 4]);
    refused(TREES, Quantity::FanIn(None), &["2 layers", "--layer"]);
    refused(TREES, Quantity::FanIn(Some(3)), &["--layer 3", "1 to 2"]);
    refused(TREES, Quantity::FanIn(Some(0)), &["--layer 0", "1 to 2"]);
    refused(TREES, Quantity::Senders, &["several layers", "--of fan-in"]);
    refused(BURST, Quantity::FanIn(None), &["burst", "`fan_in`"]);
    refused(BURST, Quantity::Budget, &["burst", "queries"]);
    refused(POISSON, Quantity::Load, &["answers", "--of rate"]);
    let random = TREES
        .replace("within = \"5 ms\", ", "")
        .replace("\"6 ms\"", "{ mean = \"6 ms\", floor = \"1 ms\" }");
    refused(
        &random,
        Quantity::Budget,
        &["search", "objective", "--of deadline"],
    );
    let one = TREES
        .replace("[3, 4]", "7")
        .replace("layer_share = [1.0, 0.5]\n", "");
    let case = subject(&one, Quantity::FanIn(Some(1)), &[], None).expect("a subject");
    assert_eq!(case.keys(), ["workload.search.fan_in"]);
    let load = subject(TREES, Quantity::Load, &[], None).expect("a subject");
    assert_eq!(load.text(load.search(Target::N99).start), "10 %");
}

#[test]
fn unit_is_flows_without_queries() {
    let case = subject(BURST, Quantity::Senders, &[], None).expect("a subject");
    assert_eq!(
        (case.judges(), case.what()),
        (On::Answers, "flows with deadlines")
    );
    let why = case.on(On::Queries).expect_err("no queries").to_string();
    assert!(why.contains("--on answers"), "{why}");
}

#[test]
fn workloads_with_equal_values_vary_together() {
    let two = format!("{POISSON}{}", POISSON.replace("answers", "more"));
    let case = subject(&two, Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(case.keys(), ["workload.answers.rate", "workload.more.rate"]);
    let other = two.replacen("2000", "500", 1);
    refused(&other, Quantity::Rate, &["answers and more", "--workload"]);
    let case = subject(&other, Quantity::Rate, &["more"], None).expect("a subject");
    assert_eq!(case.keys(), ["workload.more.rate"]);
    let why = subject(&other, Quantity::Rate, &["mor"], None).expect_err("no such");
    assert!(
        why.contains("`mor`") && why.contains("answers, more"),
        "{why}"
    );
    // The burst has no rate and is not varied.
    let case = subject(&format!("{BURST}{POISSON}"), Quantity::Rate, &[], None).expect("a subject");
    assert_eq!(case.keys(), ["workload.answers.rate"]);
}

#[test]
fn rejects_missing_quantities_and_bad_steps() {
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
