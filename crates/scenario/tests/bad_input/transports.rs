//! Errors of transports set by workloads.

use super::{Files, GOOD, error_of};
use duetime_scenario::load;
use std::fmt::Write;

/// Returns a variant of D3 with one option.
fn variant(name: &str, option: &str) -> String {
    format!("[[variant]]\nname = \"{name}\"\nbase = \"d3\"\n{option}\n")
}

/// Returns a burst with its own transport.
fn burst(transport: &str) -> String {
    format!(
        "[[workload]]\nkind = \"burst\"\nsenders = 1\nsize = \"1 KB\"\ntransport = \"{transport}\"\n"
    )
}

#[test]
fn router_options_differ_from_compared() {
    let text = format!("{GOOD}{}{}", burst("calm"), variant("calm", "alpha = 0.5"));
    assert_eq!(
        error_of(&text, &[]),
        r#"search.toml:23:13: workload[1].transport = "calm": requires other router options than `d3`
   23 | transport = "calm"
      |             ^^^^^^
   allowed: a transport with equal router options, or with none
   help: routers have one set of options: compare the two in `transport` instead"#
    );
}

#[test]
fn router_options_differ_between_workloads() {
    let text = format!(
        "{}{}{}{}{}",
        GOOD.replacen("\"tcp\", \"d3\"", "\"tcp\"", 1),
        burst("d3"),
        burst("eager"),
        burst("d3"),
        variant("eager", "pause_new = false"),
    );
    let error_text = error_of(&text, &[]);
    let expected = "workload[2].transport = \"eager\": requires other router options than `d3`";
    assert!(error_text.contains(expected), "{error_text}");
}

#[test]
fn host_options_may_differ() {
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
fn removed_keys() {
    let text = format!("{GOOD}[cubic]\nbeta = 0.7\n");
    assert_eq!(
        error_of(&text, &[]),
        "search.toml:20:1: cubic.beta: this key was removed\n   20 | beta = 0.7\n      | ^^^^\n   \
         help: delete it: β is 0.7 (RFC 9438 §4.6)"
    );
    let variant = "[[variant]]\nname = \"mine\"\nbase = \"dctcp\"\ninitial_ssthresh = 20\n";
    let error_text = error_of(&format!("{GOOD}{variant}"), &[]);
    assert!(
        error_text.contains("variant.initial_ssthresh: this key was removed"),
        "{error_text}"
    );
    // Only transports that had the key mention it.
    let error_text = error_of(&format!("{GOOD}[dctcp]\nfast_convergence = true\n"), &[]);
    assert!(error_text.contains("unknown key in dctcp"), "{error_text}");
}

#[test]
fn too_many_transports_of_workloads() {
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
        error_of(&many(256), &[]),
        r#"search.toml:2318:13: workload[256].transport = "own-255": too many transports for the workloads of a scenario
   2318 | transport = "own-255"
        |             ^^^^^^^^^
   allowed: 255 different ones"#
    );
}

#[test]
fn pfabric_has_no_classes() {
    let text = format!("{GOOD}[[variant]]\nname = \"mine\"\nbase = \"pfabric\"\nclasses = 2\n");
    let error_text = error_of(&text, &[]);
    let expected = "variant.classes = 2: the switches of pFabric have no classes";
    assert!(error_text.contains(expected), "{error_text}");
    assert!(
        error_text.contains("allowed: 1, or another `base`"),
        "{error_text}"
    );
}

#[test]
fn pfabric_queue_holds_two_packets() {
    let text = format!("{GOOD}[pfabric]\nmtu = \"4 KB\"\nqueue = \"7999 B\"\n");
    let error_text = error_of(&text, &[]);
    let expected = "pfabric.queue = \"7999 B\": 7999 B do not hold two packets of 4000 B";
    assert!(error_text.contains(expected), "{error_text}");
    assert!(
        error_text.contains("at least 8000 B, or a smaller `mtu`"),
        "{error_text}"
    );
}

/// Returns a variant of Homa with two options.
fn homa(options: &str) -> String {
    format!("{GOOD}[[variant]]\nname = \"rival\"\nbase = \"homa\"\n{options}\n")
}

#[test]
fn homa_needs_a_class_below_its_unscheduled_levels() {
    assert_eq!(
        error_of(&homa("unscheduled_levels = 3\nclasses = 3"), &[]),
        r"search.toml:23:11: variant.classes = 3: the options of `rival` need 4 classes
   23 | classes = 3
      |           ^
   allowed: 4 to 8"
    );
}

#[test]
fn homa_has_one_cutoff_fewer_than_levels() {
    assert_eq!(
        error_of(&homa("unscheduled_levels = 3\ncutoffs = [\"1 KB\"]"), &[]),
        r#"search.toml:23:11: variant.cutoffs = ["1 KB"]: separates 2 levels, but `unscheduled_levels` is 3
   23 | cutoffs = ["1 KB"]
      |           ^^^^^^^^
   allowed: one size fewer than `unscheduled_levels`, or either key alone"#
    );
}

#[test]
fn homa_cutoffs_rise() {
    let text = error_of(&homa("cutoffs = [\"2 KB\", \"1 KB\"]"), &[]);
    assert!(
        text.contains("\"1 KB\": not above the size before"),
        "{text}"
    );
    let seven = r#""1 KB", "2 KB", "3 KB", "4 KB", "5 KB", "6 KB", "7 KB""#;
    let text = error_of(&homa(&format!("cutoffs = [{seven}]")), &[]);
    assert!(
        text.contains("more cutoffs than unscheduled levels"),
        "{text}"
    );
}
