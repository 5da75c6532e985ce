//! Errors of values and axes from the command line.

use super::{Files, GOOD, load};

/// Returns the error message of a value set on the command line.
#[track_caller]
fn error_of_set(key: &str, value: &str) -> String {
    let overrides = [(key.to_owned(), value.to_owned())];
    match load(GOOD, "search.toml", &overrides, &Files(&[])) {
        Ok(_) => panic!("accepted: {key}={value}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn values() {
    assert_eq!(
        error_of_set("workload.fan_in", "1200"),
        "--set:1:17: workload.fan_in = 1200: larger than the 999 hosts other than the parent\n   1 | workload.fan_in=1200\n     \
         |                 ^^^^\n   allowed: 1..=999\n   help: `share_hosts = true` lets a host have several roles"
    );
    let error_text = error_of_set("swich.buffer", "4 MB");
    assert!(
        error_text.starts_with("--set:1:1: swich.buffer: unknown key `swich` in scenario\n"),
        "{error_text}"
    );
    assert!(
        error_text.ends_with("help: did you mean `switch`?"),
        "{error_text}"
    );
    let error_text = error_of_set("workload.fan_ni", "4");
    assert!(
        error_text
            .starts_with("--set:1:10: workload.fan_ni: unknown key `fan_ni` in workload of kind"),
        "{error_text}"
    );
    let error_text = error_of_set("workload.odli.fan_in", "4");
    assert!(
        error_text.contains("no workload of that name, and no such key\n"),
        "{error_text}"
    );
    assert!(
        error_text.ends_with("allowed: oldi\n   help: did you mean `oldi`?"),
        "{error_text}"
    );
    let error_text = error_of_set("workload[3].fan_in", "4");
    assert!(
        error_text.contains("the list has no entry 3\n"),
        "{error_text}"
    );
    let error_text = error_of_set("workload..fan_in", "4");
    assert!(
        error_text.starts_with("--set:1:10: workload..fan_in: not a key path\n"),
        "{error_text}"
    );
    let error_text = error_of_set("workload.response.cdf", "a.csv");
    assert!(
        error_text.contains("the parent of `cdf` is a string, not a table\n"),
        "{error_text}"
    );
}

#[test]
fn keys_of_a_random_time() {
    let compute = ("workload.compute", "{ median = \"2 ms\", sigma = 1 }");
    let set = |key: &str| {
        let overrides = [compute, (key, "3 ms")].map(|(key, value)| (key.into(), value.into()));
        load(GOOD, "search.toml", &overrides, &Files(&[]))
    };
    set("workload.compute.median").unwrap_or_else(|error| panic!("{error}"));
    let error = set("workload.compute.medain").expect_err("a typo");
    assert_eq!(
        error.to_string(),
        "--set:1:18: workload.compute.medain: unknown key `medain` in time\n   1 | workload.compute.medain=3 ms\n     \
         |                  ^^^^^^\n   allowed: median, mean, sigma, min, shape, cap, cdf, points\n   help: did you \
         mean `median`?"
    );
}

#[test]
fn removed_key() {
    assert_eq!(
        error_of_set("d2tcp.initial_ssthresh", "20"),
        "--set:1:7: d2tcp.initial_ssthresh: this key was removed\n   1 | d2tcp.initial_ssthresh=20\n     \
         |       ^^^^^^^^^^^^^^^^\n   help: delete it: slow start begins without a threshold"
    );
}

#[test]
fn axes() {
    let error_text = |text: &str| duetime_scenario::Axis::parse(text).unwrap_err().to_string();
    assert!(error_text("workload.fan_in").starts_with("--vary:1:1: no values\n"));
    assert!(error_text("a=5..1").starts_with("--vary:1:3: the bounds are the wrong way round\n"));
    assert!(error_text("a=1..5:0").starts_with("--vary:1:3: a step of zero\n"));
    assert!(
        error_text("a=1 ms..5 us:1 us")
            .starts_with("--vary:1:3: the bounds and the step need the same unit\n")
    );
    assert!(error_text("a=1,,2").starts_with("--vary:1:3: a value is missing\n"));
    assert!(error_text("a=0..1:0.00000001").starts_with("--vary:1:3: more than 10000 values\n"));
}
