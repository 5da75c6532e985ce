//! Errors of bursts.

use super::error_of;
use super::traces::TRACE;

#[test]
fn more_senders_than_hosts() {
    let burst = TRACE.replace(
        "kind = \"trace\"\nfile = \"flows.csv\"",
        "kind = \"burst\"\nsenders = 3\nsize = \"1 KB\"",
    );
    assert_eq!(
        error_of(&burst, &[]),
        "search.toml:8:11: workload.senders = 3: larger than the 2 hosts other than the receiver\n   8 | senders = 3\n     \
         |           ^\n   allowed: 1..=2\n   help: `share_hosts = true` lets several start at one host"
    );
}

#[test]
fn invalid_sending_hosts() {
    let error_text = |keys: &str| {
        let burst = TRACE.replace(
            "kind = \"trace\"\nfile = \"flows.csv\"",
            &format!("kind = \"burst\"\nsize = \"1 KB\"\n{keys}"),
        );
        error_of(&burst, &[])
    };
    for (keys, message) in [
        (
            "senders = 1\nfrom = [1]",
            "senders are named, the receiver is not",
        ),
        ("senders = 1\nreceiver = 0\nfrom = [0]", "the receiver\n"),
        ("senders = 1\nreceiver = 0\nfrom = [1, 1]", "named twice\n"),
        ("senders = 1\nreceiver = 0\nfrom = []", "an empty list\n"),
        (
            "senders = 1\nreceiver = 0\nfrom = [3]",
            "the topology has 3 hosts",
        ),
        (
            "senders = 2\nreceiver = 0\nfrom = [1]",
            "larger than the 1 hosts of `from`",
        ),
    ] {
        let error_text = error_text(keys);
        assert!(error_text.contains(message), "{keys}: {error_text}");
    }
}

#[test]
fn last_burst_too_late() {
    let burst = TRACE.replace(
        "kind = \"trace\"\nfile = \"flows.csv\"",
        "kind = \"burst\"\nsenders = 2\nsize = \"1 KB\"\nrepeat = 9000000\nevery = \"1 h\"",
    );
    assert_eq!(
        error_of(&burst, &[]),
        "search.toml:10:10: workload.repeat = 9000000: with 3600 s from burst to burst the last is too late\n   \
         10 | repeat = 9000000\n      |          ^^^^^^^\n   allowed: bursts within 24 hours"
    );
}

#[test]
fn jitter_longer_than_the_gap() {
    let burst = |keys: &str| {
        TRACE.replace(
            "kind = \"trace\"\nfile = \"flows.csv\"",
            &format!("kind = \"burst\"\nsenders = 2\nsize = \"1 KB\"\n{keys}"),
        )
    };
    assert_eq!(
        error_of(
            &burst("repeat = 3\nevery = \"5 ms\"\njitter = \"5.1 ms\""),
            &[]
        ),
        "search.toml:12:10: workload.jitter = \"5.1 ms\": longer than the 5 ms from burst to burst\n   \
         12 | jitter = \"5.1 ms\"\n      |          ^^^^^^^^\n   allowed: at most `every`"
    );
    assert_eq!(
        error_of(&burst("jitter = \"2 h\""), &[]),
        "search.toml:10:10: workload.jitter = \"2 h\": too large\n   10 | jitter = \"2 h\"\n      |          ^^^^^\n   \
         allowed: 0 us to 1 h"
    );
    let error_text = error_of(&burst("jitter = \"uniform 0 us..5 ms\""), &[]);
    assert!(
        error_text.starts_with("search.toml:10:10: workload.jitter = \"uniform 0 us..5 ms\": "),
        "{error_text}"
    );
}
