//! Values and axes of the command line.

use super::{Files, GOOD, load};

/// What is said about a value set over the scenario.
#[track_caller]
fn said_of_set(key: &str, value: &str) -> String {
    let overrides = [(key.to_owned(), value.to_owned())];
    match load(GOOD, "search.toml", &overrides, &Files(&[])) {
        Ok(_) => panic!("accepted: {key}={value}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_value_on_the_command_line() {
    assert_eq!(
        said_of_set("workload.fan_in", "1200"),
        "--set:1:17: workload.fan_in = 1200: larger than the 999 hosts beside the parent\n   1 | workload.fan_in=1200\n     \
         |                 ^^^^\n   allowed: 1..=999\n   help: `share_hosts = true` lets a host play several roles at once"
    );
    let said = said_of_set("swich.buffer", "4 MB");
    assert!(
        said.starts_with("--set:1:1: swich.buffer: unknown key `swich` in scenario\n"),
        "{said}"
    );
    assert!(said.ends_with("help: did you mean `switch`?"), "{said}");
    let said = said_of_set("workload.fan_ni", "4");
    assert!(
        said.starts_with("--set:1:10: workload.fan_ni: unknown key `fan_ni` in workload of kind"),
        "{said}"
    );
    let said = said_of_set("workload.odli.fan_in", "4");
    assert!(
        said.contains("no workload of that name, and no such key\n"),
        "{said}"
    );
    assert!(
        said.ends_with("allowed: oldi\n   help: did you mean `oldi`?"),
        "{said}"
    );
    let said = said_of_set("workload[3].fan_in", "4");
    assert!(said.contains("there is no entry 3\n"), "{said}");
    let said = said_of_set("workload..fan_in", "4");
    assert!(
        said.starts_with("--set:1:10: workload..fan_in: not a key path\n"),
        "{said}"
    );
    let said = said_of_set("workload.response.cdf", "a.csv");
    assert!(
        said.contains("what holds `cdf` is a string here, not a table\n"),
        "{said}"
    );
}

#[test]
fn an_axis_on_the_command_line() {
    let said = |text: &str| duetime_scenario::Axis::parse(text).unwrap_err().to_string();
    assert!(said("workload.fan_in").starts_with("--vary:1:1: no values\n"));
    assert!(said("a=5..1").starts_with("--vary:1:3: the bounds are the wrong way round\n"));
    assert!(said("a=1..5:0").starts_with("--vary:1:3: a step of zero\n"));
    assert!(
        said("a=1 ms..5 us:1 us")
            .starts_with("--vary:1:3: the bounds and the step need the same unit\n")
    );
    assert!(said("a=1,,2").starts_with("--vary:1:3: a value is missing\n"));
    assert!(said("a=0..1:0.00000001").starts_with("--vary:1:3: more than 10000 values\n"));
}
