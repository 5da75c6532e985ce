//! Transports that workloads bring along, and what cannot run together.

use super::{Files, GOOD, said_of};
use duetime_scenario::load;
use std::fmt::Write;

/// A variant of D3 with one option.
fn variant(name: &str, option: &str) -> String {
    format!("[[variant]]\nname = \"{name}\"\nbase = \"d3\"\n{option}\n")
}

/// A burst with a transport of its own.
fn burst(transport: &str) -> String {
    format!(
        "[[workload]]\nkind = \"burst\"\nsenders = 1\nsize = \"1 KB\"\ntransport = \"{transport}\"\n"
    )
}

#[test]
fn a_workload_whose_routers_differ_from_the_compared_transports() {
    let text = format!("{GOOD}{}{}", burst("calm"), variant("calm", "alpha = 0.5"));
    assert_eq!(
        said_of(&text, &[]),
        r#"search.toml:23:13: workload[1].transport = "calm": asks other options of the routers than `d3`
   23 | transport = "calm"
      |             ^^^^^^
   allowed: beside each other, transports of D3 that differ only in what hosts do
   help: routers have one set of options: compare the two in `transport` instead"#
    );
}

#[test]
fn two_workloads_whose_routers_differ() {
    let text = format!(
        "{}{}{}{}{}",
        GOOD.replacen("\"tcp\", \"d3\"", "\"tcp\"", 1),
        burst("d3"),
        burst("eager"),
        burst("d3"),
        variant("eager", "pause_new = false"),
    );
    let said = said_of(&text, &[]);
    let expected = "workload[2].transport = \"eager\": asks other options of the routers than `d3`";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn workloads_whose_hosts_differ_share_their_routers() {
    let options = [
        "quench = true",
        "quench_strict = true",
        "speculative = true",
        "speculative_rises = 2",
        "late = \"max\"",
        "late_extension = \"25%\"",
        "request_bytes = \"wire\"",
        "request_lag = false",
        "cap_to_remaining = true",
        "request_backoff = 3",
        "late_answers = true",
        "reverse_request = false",
        "rto_min = \"20 ms\"",
    ];
    let mut text = format!("{GOOD}{}{}", burst("rcpdc"), burst("rcpdc-prio"));
    for (number, option) in options.iter().enumerate() {
        let name = format!("own-{number}");
        text += &burst(&name);
        text += &variant(&name, option);
    }
    load(&text, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn more_transports_of_workloads_than_can_be_numbered() {
    let many = |count: usize| {
        let mut text = GOOD.to_owned();
        for number in 0..count {
            let name = format!("own-{number}");
            write!(text, "{}{}", burst(&name), variant(&name, "")).expect("memory");
        }
        text
    };
    load(&many(255), "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        said_of(&many(256), &[]),
        r#"search.toml:2318:13: workload[256].transport = "own-255": one transport too many for workloads of one scenario
   2318 | transport = "own-255"
        |             ^^^^^^^^^
   allowed: 255 different ones"#
    );
}
