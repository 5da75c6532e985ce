//! Allowed values in error messages name every form of a value.

use super::{Files, GOOD, error_of, load};

/// Values that are invalid for keys with several forms.
const WRONG: [&str; 6] = ["\"??\"", "-3", "1.5e99", "true", "1979-05-27", "[]"];

/// Key paths with values of several forms, and a word of each form.
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
    ("d3.scale", &["-10..=10", "auto"]),
    ("d3.base_rate", &["header-only", "segment_every"]),
    ("d3.police", &["rate", "off"]),
    ("transport", &["\"d3\"", "list"]),
];

#[test]
fn allowed_values_name_every_form() {
    for (key, words) in FORMS {
        for value in WRONG {
            let set = [((*key).to_owned(), value.to_owned())];
            let Err(error) = load(GOOD, "search.toml", &set, &Files(&[])) else {
                continue;
            };
            // An empty list has the right form and a different error.
            if value == "[]" && error.message == "an empty list" {
                continue;
            }
            let allowed = error.allowed.as_deref().unwrap_or_default();
            // Only errors about the type of `transport` name its forms.
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
fn destination_names_both_forms() {
    let text = |to: &str| {
        let poisson = "kind = \"poisson\"\nsize = \"1 KB\"\nload = 0.1";
        format!("{GOOD}[[workload]]\n{poisson}\ndestination = {to}\n")
    };
    for wrong in ["\"unifrom\"", "1000", "true"] {
        let error_text = error_of(&text(wrong), &[]);
        assert!(
            error_text.contains("uniform") && error_text.contains("0..=999"),
            "{error_text}"
        );
        assert!(!error_text.contains("999999"), "{error_text}");
    }
}

#[test]
fn start_jitter_without_such_flows() {
    let text = |kind: &str, jitter: bool| {
        let (head, _) = GOOD.split_once("[[workload]]").expect("workloads");
        format!("{head}[host]\nstart_jitter = {jitter}\n[[workload]]\n{kind}\nsize = \"1 KB\"\n")
    };
    let poisson = "kind = \"poisson\"\nload = 0.1";
    assert_eq!(
        error_of(&text(poisson, true), &[]),
        "search.toml:14:16: host.start_jitter = true: no flow has a start jitter\n   14 | start_jitter = true\n      \
         |                ^^^^\n   allowed: true with a workload of kind \"oldi\", \"burst\", \"permutation\" or \
         \"long\", or a trace of spans; or false\n   help: flows of the other kinds start at their drawn or given times"
    );
    for fine in [
        text(poisson, false),
        text("kind = \"permutation\"", true),
        text(poisson, true) + "[[workload]]\nkind = \"permutation\"\nsize = \"1 KB\"\n",
    ] {
        load(&fine, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
    }
}
