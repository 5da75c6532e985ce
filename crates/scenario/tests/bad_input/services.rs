//! Errors of trees: distributions of times, sizes by layer, hedges, retries and objectives.

use super::{Files, GOOD, error_of, load};

/// Returns `GOOD` with more keys of its workload, which begin at line 19.
fn with(keys: &str) -> String {
    format!("{GOOD}{keys}\n")
}

/// Checks the error message of each case, without the source line.
#[track_caller]
fn assert_error(cases: &[(&str, &str)]) {
    let found: Vec<String> = cases
        .iter()
        .map(|(keys, _)| brief(&error_of(&with(keys), &[])))
        .collect();
    let expected: Vec<&str> = cases.iter().map(|(_, error_text)| *error_text).collect();
    assert_eq!(found, expected);
}

/// Returns an error message without the source line.
fn brief(error_text: &str) -> String {
    let lines = error_text.lines().enumerate();
    let kept = lines.filter(|(number, _)| !(1..=2).contains(number));
    let kept: Vec<&str> = kept.map(|(_, line)| line.trim()).collect();
    kept.join(" | ")
}

#[test]
fn source_line_is_shown() {
    assert_eq!(
        error_of(&with("compute = { median = \"2 ms\", sigma = 9 }"), &[]),
        "search.toml:19:38: workload.compute.sigma = 9: too large\n   19 | compute = { median = \"2 ms\", sigma = 9 }\n      \
         |                                      ^\n   allowed: 0.001..=4"
    );
}

#[test]
fn invalid_distributions_of_times() {
    assert_error(&[
        (
            "compute = { median = \"2 ms\" }",
            "search.toml:19:11: workload.compute: not the keys of one distribution | allowed: \"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { mean = \"2 ms\", sigma = 1 }, { min = \"1 ms\", shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
        ),
        (
            "compute = { median = \"2 ms\", mean = \"3 ms\", sigma = 1 }",
            "search.toml:19:11: workload.compute: not the keys of one distribution | allowed: \"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { mean = \"2 ms\", sigma = 1 }, { min = \"1 ms\", shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
        ),
        (
            "compute = { min = \"2 ms\", shape = 1 }",
            "search.toml:19:35: workload.compute.shape = 1: such a distribution has no mean | allowed: above 1, or a `cap`",
        ),
        (
            "compute = { min = \"2 ms\", shape = 2, cap = \"1 ms\" }",
            "search.toml:19:44: workload.compute.cap = \"1 ms\": 1 ms is below the shortest time, 2 ms | allowed: at least `min`: 2 ms",
        ),
        (
            "compute = { mu = 1 }",
            "search.toml:19:13: workload.compute.mu: unknown key in time | allowed: median, mean, sigma, min, shape, cap, cdf, points",
        ),
        (
            "aggregate_compute = { cdf = \"none.csv\" }",
            "search.toml:19:29: workload.aggregate_compute.cdf = \"none.csv\": cannot be read: no such file | allowed: the name of a CSV file, relative to the scenario",
        ),
        (
            "jitter = { points = [[\"1 ms\", 0.5], [\"2 ms\", 0.9]] }",
            "search.toml:19:21: workload.jitter.points = [[\"1 ms\", 0.5], [\"2 ms\", 0.9]]: the CDF ends at 0.9 | allowed: a last point with probability 1",
        ),
        (
            "jitter = { points = [[\"2 ms\", 0.5], [\"1 ms\", 1]] }",
            "search.toml:19:37: workload.jitter.points = [\"1 ms\", 1]: times are not sorted: 1 ms after 2 ms | allowed: times that rise",
        ),
        (
            "aggregate_compute = \"3\"",
            "search.toml:19:21: workload.aggregate_compute = \"3\": the unit of this time is missing | allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as \"20 us\"; or \"exponential 300 ms\", \"uniform 1 ms..5 ms\", \"kernel-tcp\", { median = \"2 ms\", sigma = 1 }, { min = \"1 ms\", shape = 1.5, cap = \"1 s\" }, { cdf = \"file.csv\" }, { points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
        ),
    ]);
}

#[test]
fn cdf_of_times_in_a_file() {
    let text = with("compute = { cdf = \"times.csv\" }");
    let error_text = |file: &'static str| {
        let files: &'static [(&'static str, &'static str)] =
            Box::leak(Box::new([("times.csv", file)]));
        brief(&error_of(&text, files))
    };
    assert_eq!(
        [
            error_text("# unit: KB\n1,1\n"),
            error_text("1,1\n"),
            error_text("# unit: ms\ntime,probability\n2,0.5\n1,1\n"),
            error_text("# unit: h\n2,1\n"),
            error_text("# unit: us\nsize,probability\n1,1\n"),
        ],
        [
            "times.csv:1:1: not a known unit | allowed: a line `# unit: us`, or another of ps, ns, us, ms, s, min, h",
            "times.csv:1:1: the unit of the times is not given before the first point | allowed: a line `# unit: us`, or another of ps, ns, us, ms, s, min, h",
            "times.csv:4:1: times are not sorted: 1 ms after 2 ms | allowed: times that rise",
            "times.csv:2:1: time 2 h is out of range | allowed: 0 us to 1 h",
            "times.csv:2:1: not a point of a CDF | allowed: two numbers: time,probability"
        ]
    );
}

#[test]
fn sizes_by_layer() {
    assert_error(&[(
        "layer_response = [\"1 KB\"]",
        "search.toml:19:18: workload.layer_response = [\"1 KB\"]: `response` is given too | allowed: one of `response` and `layer_response`",
    )]);
    let layers = |keys: &str| {
        let text = GOOD.replace("response = \"10 KB\"", keys);
        brief(&error_of(
            &text.replace("fan_in = 40", "fan_in = [4, 5]"),
            &[],
        ))
    };
    assert_eq!(
        [
            layers("layer_response = [\"1 KB\"]"),
            layers("layer_response = []"),
            layers("layer_response = \"1 KB\""),
            layers("")
        ],
        [
            "search.toml:16:18: workload.layer_response = [\"1 KB\"]: 1 sizes for 2 layers | allowed: 2 sizes, one per entry of `fan_in`",
            "search.toml:16:18: workload.layer_response = []: 0 sizes for 2 layers | allowed: 2 sizes, one per entry of `fan_in`",
            "search.toml:16:18: workload.layer_response = \"1 KB\": expected a list, found a string | allowed: a list, such as [1, 2]",
            "search.toml:13:1: workload.response: missing | allowed: \"10 KB\", \"uniform 2 KB..50 KB\", \"web-search\", \"web-search-packets\", \"data-mining\", \"data-mining-packets\", \"hadoop\", \"storage\", { cdf = \"file.csv\" }, { points = [[\"1 KB\", 0], [\"10 KB\", 1]] }; or a list of them | help: Size of each answer. A list has one entry per application."
        ]
    );
}

#[test]
fn hedges_and_retries() {
    assert_error(&[
        (
            "hedge = { cancel = false }",
            "search.toml:19:9: workload.hedge.after: missing | allowed: \"never\"; or a time, such as \"20 us\" (1 ns to 1 h); or a percentile, such as \"p95\" (p1..p99.99) | help: Time from the first query to the hedge: fixed, or a percentile (`p1` to `p99.99`) of the answer times that the parent has observed, from the first query to a leaf to its first answer. `never`: no hedges.",
        ),
        (
            "hedge = { after = \"95\" }",
            "search.toml:19:19: workload.hedge.after = \"95\": the unit of this time is missing | allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as \"20 us\"; or \"never\", a percentile, such as \"p95\" (p1..p99.99)",
        ),
        (
            "hedge = { after = \"p100\" }",
            "search.toml:19:19: workload.hedge.after = \"p100\": not a percentile | allowed: a percentile, such as \"p95\" (p1..p99.99); or \"never\", a time, such as \"20 us\" (1 ns to 1 h)",
        ),
        (
            "hedge = { after = \"p\" }",
            "search.toml:19:19: workload.hedge.after = \"p\": not a percentile | allowed: a percentile, such as \"p95\" (p1..p99.99); or \"never\", a time, such as \"20 us\" (1 ns to 1 h)",
        ),
        (
            "hedge = { after = 5 }",
            "search.toml:19:19: workload.hedge.after = 5: expected a time or a percentile, found an integer | allowed: a percentile, such as \"p95\" (p1..p99.99); or \"never\", a time, such as \"20 us\" (1 ns to 1 h)",
        ),
        (
            "hedge = { after = \"0 us\" }",
            "search.toml:19:19: workload.hedge.after = \"0 us\": too small | allowed: 1 ns to 1 h; or \"never\", a percentile, such as \"p95\" (p1..p99.99)",
        ),
        (
            "hedge = { after = \"p95\", window = 50 }",
            "search.toml:19:35: workload.hedge.window = 50: `samples` (100) exceeds `window` (50) | allowed: `samples` of at most `window`: 50",
        ),
        (
            "hedge = { after = \"p95\", samples = 2000 }",
            "search.toml:19:36: workload.hedge.samples = 2000: `samples` (2000) exceeds `window` (1000) | allowed: `samples` of at most `window`: 1000",
        ),
        (
            "hedge = { after = \"p95\", to = \"same\" }",
            "search.toml:19:26: workload.hedge.to: unknown key in hedge | allowed: after, cancel, samples, window",
        ),
        (
            "retry = { times = 2 }",
            "search.toml:19:9: workload.retry.timeout: missing | allowed: a time, such as \"20 us\" (1 ns to 1 h) | help: Timeout of each query.",
        ),
        (
            "retry = { timeout = \"5 ms\", times = 9 }",
            "search.toml:19:37: workload.retry.times = 9: too large | allowed: 0..=8",
        ),
        (
            "retry = { timeout = \"5 ms\", at = \"anywhere\" }",
            "search.toml:19:34: workload.retry.at = \"anywhere\": not one of the choices | allowed: \"other\", \"same\"",
        ),
        (
            "retry = \"5 ms\"",
            "search.toml:19:9: workload.retry = \"5 ms\": expected a table, found a string | allowed: the keys of retry",
        ),
    ]);
}

#[test]
fn hedges_and_retries_too_late() {
    assert_error(&[
        (
            "objective = { within = \"40 ms\" }\nhedge = { after = \"40 ms\" }",
            "search.toml:20:19: workload.hedge.after = \"40 ms\": the budget of a query is 40 ms: the second query would be too late | allowed: below 40 ms",
        ),
        (
            "objective = { within = \"40 ms\" }\nretry = { timeout = \"50 ms\" }",
            "search.toml:20:21: workload.retry.timeout = \"50 ms\": the budget of a query is 40 ms: the second query would be too late | allowed: below 40 ms",
        ),
        (
            "hedge = { after = \"9 ms\" }\nretry = { timeout = \"5 ms\" }",
            "search.toml:19:19: workload.hedge.after = \"9 ms\": `retry.timeout` is 5 ms: the retry would come first | allowed: below 5 ms",
        ),
    ]);
    let deep = |keys: &str| {
        let text = with(keys).replace("fan_in = 40", "fan_in = [4, 5]");
        brief(&error_of(&text, &[]))
    };
    assert_eq!(
        [
            deep("give_up = \"4 ms\"\nhedge = { after = \"5 ms\" }"),
            deep("give_up = \"4 ms\"\nretry = { timeout = \"4 ms\" }"),
        ],
        [
            "search.toml:20:19: workload.hedge.after = \"5 ms\": the aggregators' `give_up` is 4 ms: the second query would be too late | allowed: below 4 ms",
            "search.toml:20:21: workload.retry.timeout = \"4 ms\": the aggregators' `give_up` is 4 ms: the second query would be too late | allowed: below 4 ms"
        ]
    );
    for fine in [
        "objective = { within = \"40 ms\" }\nhedge = { after = \"39 ms\" }",
        "objective = { within = \"40 ms\" }\nhedge = { after = \"p99\" }",
        "give_up = \"4 ms\"\nhedge = { after = \"5 ms\" }",
        "hedge = { after = \"never\" }\nretry = { timeout = \"5 ms\", times = 0 }",
    ] {
        load(&with(fine), "search.toml", &[], &Files(&[]))
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn no_spare_host() {
    let two = |keys: &str| {
        let text = with(keys).replace("hosts = 1000", "hosts = 2");
        text.replace("fan_in = 40", "fan_in = 1")
    };
    let error_text = |keys: &str| brief(&error_of(&two(keys), &[]));
    assert_eq!(
        [
            error_text("hedge = { after = \"5 ms\" }"),
            error_text("retry = { timeout = \"5 ms\" }")
        ],
        [
            "search.toml:19:9: workload.hedge: no spare host: the topology has 2 | allowed: a topology of at least 3 hosts: parent, leaf and another",
            "search.toml:19:9: workload.retry: no spare host: the topology has 2 | allowed: a topology of at least 3 hosts: parent, leaf and another | help: `at = \"same\"` retries at the same host"
        ]
    );
    let same = two("retry = { timeout = \"5 ms\", at = \"same\" }");
    load(&same, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn contradictory_objectives() {
    assert_error(&[
        (
            "complete_at = 0.9\nobjective = { within = \"40 ms\", answers = 0.95 }",
            "search.toml:20:43: workload.objective.answers = 0.95: a query is complete with 0.9 of its answers (`complete_at`), but the objective requires more | allowed: at most `complete_at`: 0.9",
        ),
        (
            "objective = { within = [\"40 ms\", \"50 ms\"] }",
            "search.toml:19:24: workload.objective.within = [\"40 ms\", \"50 ms\"]: 2 entries for 1 applications | allowed: at most one entry per application",
        ),
    ]);
    let deadline = "deadline = { base = \"35 ms\", variation = \"uniform 50%\" }";
    let text = with("objective = { share = 0.99 }").replace(deadline, "deadline = \"none\"");
    assert_eq!(
        brief(&error_of(&text, &[])),
        "search.toml:19:23: workload.objective.share = 0.99: queries have neither a budget nor deadlines | allowed: together with `within`, or a `deadline` of the answers"
    );
}
