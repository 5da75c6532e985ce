//! Errors of a workload's strict-priority class.

use super::{GOOD, error_of};
use duetime_scenario::{NoFiles, load, resolved_json};

fn error_text(priority: &str) -> String {
    error_of(&format!("{GOOD}priority = {priority}\n"), &[])
}

#[test]
fn class_out_of_range() {
    assert_eq!(
        error_text("4"),
        "search.toml:19:12: workload.priority = 4: too large\n   19 | priority = 4\n      |            ^\n   \
         allowed: 0..=3"
    );
    assert_eq!(
        error_text("-1"),
        "search.toml:19:12: workload.priority = -1: too small\n   19 | priority = -1\n      |            ^^\n   \
         allowed: 0..=3"
    );
}

#[test]
fn class_not_an_integer() {
    assert_eq!(
        error_text("\"high\""),
        "search.toml:19:12: workload.priority = \"high\": expected a whole number, found a string\n   19 | priority = \"high\"\n      |            \
         ^^^^^^\n   allowed: 0..=3"
    );
    assert_eq!(
        error_text("1.5"),
        "search.toml:19:12: workload.priority = 1.5: expected a whole number, found a number\n   19 | priority = 1.5\n      |            ^^^\n   \
         allowed: 0..=3"
    );
}

#[test]
fn resolved_class() {
    let of = |text: &str| {
        load(text, "search.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
    };
    let classed = of(&format!("{GOOD}priority = 2\n"));
    assert_eq!(classed.workloads[0].priority, Some(2));
    assert_eq!(classed.workload_classes(), 3);
    let resolved = resolved_json(&classed);
    assert_eq!(resolved["workloads"][0]["priority"], 2);
    let plain = of(GOOD);
    assert_eq!(
        (plain.workloads[0].priority, plain.workload_classes()),
        (None, 1)
    );
    assert!(!resolved_json(&plain).to_string().contains("priority\":"));
}
