//! What is allowed names every form that a value may have; a jitter that no flow has is refused.

use super::{Files, GOOD, load, said_of};

/// A value of each kind that no key with several forms takes as it is.
const WRONG: [&str; 6] = ["\"??\"", "-3", "1.5e99", "true", "1979-05-27", "[]"];

/// Key paths whose values have several forms, and a word of each form.
const FORMS: &[(&str, &[&str])] = &[
    ("workload.fan_in", &["..=", "list"]),
    (
        "workload.response",
        &["\"", "uniform", "hadoop", "cdf =", "points =", "list"],
    ),
    ("workload.deadline", &["none", "base =", "mean =", "list"]),
    (
        "workload.compute",
        &[
            "exponential",
            "uniform",
            "median =",
            "min =",
            "cdf =",
            "points =",
        ],
    ),
    ("workload.hedge.after", &["s\"", "p95", "never"]),
    (
        "workload.give_up",
        &["\"children\", \"own\", \"never\"", "s\""],
    ),
    ("workload.objective.within", &["s\"", "list"]),
    (
        "switch.buffer",
        &["4 MB", "100 packets", "unlimited", "table"],
    ),
    (
        "switch.ecn_threshold",
        &["packets", "KB", "\"off\"", "list"],
    ),
    ("tcp.initial_ssthresh", &["1..=1000000", "infinite"]),
    ("d3.scale", &["-10..=10", "auto"]),
    ("d3.base_rate", &["header-only", "segment_every"]),
    ("d3.police", &["rate", "off"]),
    ("transport", &["\"d3\"", "list"]),
];

#[test]
fn what_is_allowed_names_every_form() {
    for (key, words) in FORMS {
        for value in WRONG {
            let set = [((*key).to_owned(), value.to_owned())];
            let Err(error) = load(GOOD, "search.toml", &set, &Files(&[])) else {
                continue;
            };
            // An empty list is told of otherwise: it is of the right form.
            if value == "[]" && error.message == "an empty list" {
                continue;
            }
            let allowed = error.allowed.as_deref().unwrap_or_default();
            // Names of transports are what a list or a text of them lacks.
            let names = |word: &&&str| {
                allowed.contains(**word)
                    || (*key == "transport" && error.message.starts_with("expected"))
            };
            let missing: Vec<_> = words.iter().filter(|word| !names(word)).collect();
            assert!(missing.is_empty(), "{missing:?} of {key}:\n{error}");
        }
    }
}

#[test]
fn a_host_or_any_host() {
    let text = |to: &str| {
        let poisson = "kind = \"poisson\"\nsize = \"1 KB\"\nload = 0.1";
        format!("{GOOD}[[workload]]\n{poisson}\ndestination = {to}\n")
    };
    for wrong in ["\"unifrom\"", "1000", "true"] {
        let said = said_of(&text(wrong), &[]);
        assert!(
            said.contains("uniform") && said.contains("0..=999"),
            "{said}"
        );
        assert!(!said.contains("999999"), "{said}");
    }
}

#[test]
fn a_start_jitter_that_no_flow_has() {
    let text = |kind: &str, jitter: bool| {
        let (head, _) = GOOD.split_once("[[workload]]").expect("workloads");
        format!("{head}[host]\nstart_jitter = {jitter}\n[[workload]]\n{kind}\nsize = \"1 KB\"\n")
    };
    let poisson = "kind = \"poisson\"\nload = 0.1";
    assert_eq!(
        said_of(&text(poisson, true), &[]),
        "search.toml:14:16: host.start_jitter = true: no flow starts with a jitter here\n   14 | start_jitter = true\n      \
         |                ^^^^\n   allowed: true beside a workload of kind \"oldi\", \"burst\", \"permutation\" or \
         \"long\", or a trace of spans; or false\n   help: flows of the other kinds start when they are drawn or told to"
    );
    for fine in [
        text(poisson, false),
        text("kind = \"permutation\"", true),
        text(poisson, true) + "[[workload]]\nkind = \"permutation\"\nsize = \"1 KB\"\n",
    ] {
        load(&fine, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
    }
}
