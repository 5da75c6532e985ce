//! Errors of `[host]`.

use super::{GOOD, error_of};
use duetime_core::Span;
use duetime_scenario::model::{Gap, ServerQueue, Servers, Slots};
use duetime_scenario::{NoFiles, load, resolved_json};

fn with(host: &str) -> String {
    format!("{GOOD}[host]\n{host}\n")
}

/// Checks the error message of a value of `[host]`.
fn refused(key: &str, value: &str, what: &str, allowed: &str) {
    let column = key.len() + 4;
    let here = format!("{}{}", " ".repeat(column - 1), "^".repeat(value.len()));
    assert_eq!(
        error_of(&with(&format!("{key} = {value}")), &[]),
        format!(
            "search.toml:20:{column}: host.{key} = {value}: {what}\n   20 | {key} = {value}\n      | {here}\n   allowed: \
             {allowed}"
        )
    );
}

#[test]
fn receive_delay() {
    let range = "0 us to 1 s";
    refused("receive_delay", "\"2 s\"", "too large", range);
    let unit = "a string with its unit, such as \"20 us\"";
    let what = "the unit of this time is missing";
    refused("receive_delay", "5", what, unit);
    let number = "a number with a unit (ps, ns, us, ms, s, min, h), such as \"20 us\"";
    let what = "a time starts with a number";
    refused("receive_delay", "\"exponential 5 us\"", what, number);
}

#[test]
fn receive_jitter() {
    let forms = "\"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { min = \"1 ms\", \
                 shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }";
    let (what, allowed) = (
        "the bounds are the wrong way round",
        format!("LOW..HIGH; or \"300 ms\", {forms}"),
    );
    refused("receive_jitter", "\"uniform 5 us..1 us\"", what, &allowed);
    let number = "a number with a unit (ps, ns, us, ms, s, min, h), such as \"20 us\"";
    let (what, allowed) = (
        "a time starts with a number",
        format!("{number}; or {forms}"),
    );
    refused("receive_jitter", "\"normal 5 us\"", what, &allowed);
    let lognormal = "{ median = \"2 ms\", sigma = 1 }";
    let both = format!("{lognormal}, {{ mean = \"2 ms\", sigma = 1 }}");
    let (what, allowed) = (
        "expected a time, found an integer",
        format!("\"300 ms\", {}", forms.replace(lognormal, &both)),
    );
    refused("receive_jitter", "3", what, &allowed);
}

#[test]
fn resolved_delay_and_jitter() {
    let of = |text: &str| {
        load(text, "search.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
    };
    let text = with("receive_delay = \"5 us\"\nreceive_jitter = \"exponential 2 us\"");
    let slow = of(&text);
    assert_eq!(slow.host.receive_delay, Span::from_us(5));
    assert_eq!(slow.host.receive_jitter, Gap::Exponential(Span::from_us(2)));
    assert!(
        matches!(of(GOOD).host.receive_jitter, Gap::Cdf { ref name, .. } if name == "kernel-tcp")
    );
    let host = &resolved_json(&slow)["host"];
    assert_eq!(host["receive_delay_ps"], 5_000_000);
    assert_eq!(host["receive_jitter"]["exponential_ps"], 2_000_000);
}

mod servers {
    use super::*;

    #[test]
    fn invalid_values() {
        let forms = "\"unlimited\", or a table such as { slots = 8, queue = \"fifo\" }";
        refused("servers", "\"many\"", "not a kind of servers", forms);
        refused("servers", "8", "expected servers, found an integer", forms);
        for (servers, key, value, message, allowed) in [
            ("{ slots = 0 }", "slots", "0", "too small", "1..=100000"),
            (
                "{ slots = 8, queue = \"lifo\" }",
                "queue",
                "\"lifo\"",
                "not one of the choices",
                "\"fifo\", \"earliest-deadline\"",
            ),
        ] {
            let error_text = error_of(&with(&format!("servers = {servers}")), &[]);
            let place = format!("host.servers.{key} = {value}: {message}");
            assert!(error_text.starts_with("search.toml:20:"), "{error_text}");
            assert!(error_text.contains(&place), "{error_text}");
            assert!(
                error_text.contains(&format!("allowed: {allowed}")),
                "{error_text}"
            );
        }
        let error_text = error_of(&with("servers = { queue = \"fifo\" }"), &[]);
        assert!(error_text.contains("slots"), "{error_text}");
    }

    #[test]
    fn resolved_slots() {
        let of = |host: &str| {
            load(&with(host), "search.toml", &[], &NoFiles)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let unlimited = of("");
        assert_eq!(unlimited.host.servers, Servers::Unlimited);
        assert_eq!(resolved_json(&unlimited)["host"]["servers"], "unlimited");
        let limited = of("servers = { slots = 3, queue = \"earliest-deadline\" }");
        let slots = Slots {
            slots: 3,
            queue: ServerQueue::EarliestDeadline,
        };
        assert_eq!(limited.host.servers.slots(), Some(slots));
        let resolved = &resolved_json(&limited)["host"]["servers"];
        assert_eq!(resolved["slots"], 3);
        assert_eq!(resolved["queue"], "earliest-deadline");
    }
}
