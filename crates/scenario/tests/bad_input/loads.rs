//! Errors of the load of `poisson` and `background` workloads.

use super::{GOOD, error_of};

/// Returns the error message of a second workload with these keys, which begin at line 22, without the source line.
#[track_caller]
fn error_text(kind: &str, keys: &str) -> String {
    let text = format!("{GOOD}[[workload]]\nkind = \"{kind}\"\nsize = \"1 KB\"\n{keys}\n");
    let error_text = error_of(&text, &[]);
    let lines = error_text.lines().enumerate();
    let kept = lines.filter(|(number, _)| !(1..=2).contains(number));
    let kept: Vec<&str> = kept.map(|(_, line)| line.trim()).collect();
    kept.join(" | ")
}

#[test]
fn background() {
    let keys = [
        "",
        "load = 0.3\nevery = \"5 ms\"",
        "load = 0",
        "load = 1",
        "load = \"130 %\"",
        "load = \"much\"",
        "rate = \"2000 /s\"",
        "every = \"0 ms\"",
        "every = 5",
    ];
    assert_eq!(
        keys.map(|keys| error_text("background", keys)),
        [
            "search.toml:19:1: workload[1].load: missing | allowed: one of `load`, such as 0.15, and `every`, such as \"5 ms\" | help: Mean bytes on the wire per second of each source, as a share of its host's access link. Gaps are exponential.",
            "search.toml:23:9: workload[1].every = \"5 ms\": both `load` and `every` | allowed: one of them",
            "search.toml:22:8: workload[1].load = 0: too small | allowed: 0.0001..=0.99, or a percentage such as \"50%\"",
            "search.toml:22:8: workload[1].load = 1: too large | allowed: 0.0001..=0.99, or a percentage such as \"50%\"",
            "search.toml:22:8: workload[1].load = \"130 %\": too large | allowed: 0.0001..=0.99, or a percentage such as \"50%\"",
            "search.toml:22:8: workload[1].load = \"much\": not a percentage | allowed: 0.0001..=0.99, or a percentage such as \"50%\"",
            "search.toml:22:1: workload[1].rate: unknown key in workload of kind \"background\" | allowed: kind, name, transport, connection, priority, count, to_roots_of, size, deadline, load, every",
            "search.toml:22:9: workload[1].every = \"0 ms\": too small | allowed: 1 ns to 1 h; or \"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { min = \"1 ms\", shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
            "search.toml:22:9: workload[1].every = 5: expected a time, found an integer | allowed: \"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { mean = \"2 ms\", sigma = 1 }, { min = \"1 ms\", shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
        ]
    );
}

#[test]
fn poisson() {
    let keys = [
        "",
        "load = 0.3\nrate = \"2000 /s\"",
        "load = 0",
        "rate = 2000",
        "rate = \"0 /s\"",
    ];
    assert_eq!(
        keys.map(|keys| error_text("poisson", keys)),
        [
            "search.toml:19:1: workload[1].load: missing | allowed: one of `load`, such as 0.15, and `rate`, such as \"2000 /s\" | help: Mean bytes on the wire per second, as a share of each sender's access link.",
            "search.toml:23:8: workload[1].rate = \"2000 /s\": both `load` and `rate` | allowed: one of them",
            "search.toml:22:8: workload[1].load = 0: too small | allowed: 0.0001..=0.99, or a percentage such as \"50%\"",
            "search.toml:22:8: workload[1].rate = 2000: the unit of this frequency is missing | allowed: a string with its unit, such as \"2000 /s\"",
            "search.toml:22:8: workload[1].rate = \"0 /s\": too small | allowed: 0.001 /s to 1000000000 /s",
        ]
    );
}
