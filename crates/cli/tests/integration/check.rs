//! `duetime check` and the warnings of runs.

use crate::sandbox::{Sandbox, TINY};
use serde_json::Value;

/// 30 % load on the hosts' links, which is 120 % on uplinks oversubscribed 5 : 1.
const OVERSUBSCRIBED: &str = r#"name = "over"
transport = ["dctcp"]
duration = "1 ms"
drain = "0 us"

[topology]
kind = "leaf-spine"
racks = 5
hosts_per_rack = 40
spines = 2
host_link = { rate = "25 Gbps", latency = "2 us" }
uplink = { rate = "100 Gbps", latency = "2 us" }

[[workload]]
name = "storage"
kind = "poisson"
size = "storage"
load = 0.3
"#;

/// Flows that start before the warm-up ends.
const EARLY: &str = r#"name = "early"
transport = ["dctcp"]
warm_up = "5 ms"
duration = "10 ms"

[topology]
kind = "star"
hosts = 4
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "burst"
senders = 2
size = "2 KB"
at = "1 ms"
"#;

#[test]
fn overloaded_uplinks_are_named() {
    let sandbox = Sandbox::new("check");
    sandbox.file("over.toml", OVERSUBSCRIBED);
    let out = sandbox.duetime("check over.toml").ok();
    for part in [
        "rack0->spine0  120.6 %  121 Gbps  100 Gbps  storage 120.6 %",
        "oversubscription 5 : 1 at 5 switches, such as `rack0`",
        "WARNING  `rack0->spine0` is offered 120.6 % of its 100 Gbps (storage 120.6 %), and 20 of 420 links",
    ] {
        assert!(out.contains(part), "`{part}` in:\n{out}");
    }
    let json: Value =
        serde_json::from_str(&sandbox.duetime("check over.toml --json").ok()).unwrap();
    assert_eq!(json["load"]["links"][0]["link"], "rack0->spine0");
    assert_eq!(json["load"]["overloaded_links"], 20);
    assert_eq!(json["warnings"][0]["about"], "load");
    let lighter = sandbox
        .duetime("check over.toml --set workload.load=0.2")
        .ok();
    assert!(
        lighter.contains("80.4 %") && !lighter.contains("WARNING"),
        "{lighter}"
    );
    assert!(
        sandbox
            .duetime("workload over.toml")
            .ok()
            .contains("`rack0->spine0`, 120.6 % of it"),
        "the senders' links are not the busiest"
    );
    assert_eq!(sandbox.names(), ["over.toml"], "nothing is written");
}

#[test]
fn keys_that_override_a_profile_are_named() {
    let sandbox = Sandbox::new("check-profile");
    let tables = r#"
[tcp]
profile = "paper"
rto_min = "5 ms"
initial_window = 2

[dctcp]
initial_alpha = 0.5

[d3]
profile = "d2tcp-authors"
base_rate = "header-only"

[[variant]]
name = "small"
base = "cubic"
hystart = false
initial_window = 1
"#;
    sandbox.file("profile.toml", &format!("{OVERSUBSCRIBED}{tables}"));
    let out = sandbox.duetime("check profile.toml").ok();
    for line in [
        "`tcp.rto_min`, `dctcp.initial_alpha`, `variant.initial_window` override `tcp.profile = \"paper\"`\n",
        "`d3.base_rate` overrides `d3.profile = \"d2tcp-authors\"`\n",
    ] {
        assert!(out.contains(line), "`{line}` in:\n{out}");
    }
    let linux = sandbox
        .duetime("check profile.toml --set tcp.rto_min=10ms")
        .ok();
    assert!(!linux.contains("`tcp.rto_min`"), "{linux}");
}

#[test]
fn overload_is_reported_once_per_output() {
    let sandbox = Sandbox::new("overload");
    sandbox.file("over.toml", OVERSUBSCRIBED);
    let output = sandbox.duetime("run over.toml");
    let warning = "`rack0->spine0` is offered 120.6 %";
    assert_eq!(output.err.matches(warning).count(), 1, "{}", output.err);
    let out = output.ok();
    assert!(out.trim_start().starts_with("WARNING"), "{out}");
    assert!(!out.contains(warning), "it was printed before: {out}");
    let page = sandbox.read("out/over/report.html");
    assert!(page.contains("id=\"warnings\"") && page.contains("is offered 120.6 %"));
    let summary: Value = serde_json::from_str(&sandbox.read("out/over/summary.json")).unwrap();
    assert_eq!(summary["warnings"][0]["about"], "load");
    let lines = sandbox.duetime("run over.toml --overwrite --json").ok();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[1]["event"], "warning", "{lines}");
    assert!(events[1]["text"].as_str().unwrap().contains(warning));
    let done = events.last().unwrap();
    assert_eq!(done["warnings"][0]["about"], "load");
    // The backlog grows noticeably within 1 ms.
    assert_eq!(done["warnings"][1]["about"], "not-stationary", "{done}");
    assert!(out.contains("dctcp was not stationary"), "{out}");
    assert!(page.contains("the backlog grew from"));
}

#[test]
fn burst_beyond_memory_is_refused() {
    let sandbox = Sandbox::new("memory");
    sandbox.file("early.toml", EARLY);
    // 20 million flows take about 26 GB.
    let run = |limit: &str, more: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_duetime"))
            .args(["run", "early.toml", "--set", "warm_up=0us"])
            .args(more)
            .env("DUETIME_MEMORY_BYTES", limit)
            .current_dir(&sandbox.0)
            .output()
            .expect("the binary starts")
    };
    let many = [
        "--set",
        "workload.senders=999999",
        "--set",
        "workload.share_hosts=true",
        "--set",
        "workload.repeat=20",
        "--set",
        "workload.every=100us",
    ];
    let refused = run("13e9", &many);
    let err = String::from_utf8(refused.stderr).expect("UTF-8");
    assert_eq!(refused.status.code(), Some(2), "{err}");
    for part in [
        "26.0 GB",
        "20.0 M flows",
        "10 M flows fit",
        "`senders` of the workload `burst`",
    ] {
        assert!(err.contains(part), "`{part}` in:\n{err}");
    }
    assert_eq!(sandbox.names(), ["early.toml"], "nothing is written");
    // Only two of four runs fit in parallel.
    let jobs = run("6e3", &["--seeds", "4", "--jobs", "4"]);
    let err = String::from_utf8(jobs.stderr).expect("UTF-8");
    assert_eq!(jobs.status.code(), Some(2), "{err}");
    assert!(err.contains("allowed: `--jobs 2`"), "{err}");
    assert_eq!(
        run("6e3", &["--seeds", "4", "--jobs", "2"]).status.code(),
        Some(0)
    );
}

/// Answers of 20 KB with deadlines of 2 ms. The search raises their load until a link is full.
const HEAVIER: &str = r#"name = "heavier"
transport = ["tcp", "dctcp"]
duration = "20 ms"

[topology]
kind = "star"
hosts = 4
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
name = "answers"
kind = "poisson"
size = "20 KB"
load = 0.5
deadline = "2 ms"
"#;

#[test]
fn capacity_warns_once_per_overload() {
    let sandbox = Sandbox::new("capacity-load");
    sandbox.file("heavier.toml", HEAVIER);
    let output = sandbox.duetime("capacity heavier.toml --of load --step 0.5 --target 1%");
    let warnings: Vec<&str> = output
        .err
        .lines()
        .filter(|line| line.contains("WARN"))
        .collect();
    assert_eq!(warnings.len(), 1, "for two transports: {}", output.err);
    for part in ["`host", "% of its 1 Gbps at 99 %", "answers 99.0 %"] {
        assert!(warnings[0].contains(part), "`{part}` in {}", output.err);
    }
    assert_eq!(output.code, 0, "{}", output.err);
    let json = sandbox.duetime("capacity heavier.toml --of load --step 0.5 --target 1% --json");
    let warnings = json.ok();
    assert_eq!(
        warnings.matches("\"event\":\"warning\"").count(),
        1,
        "{warnings}"
    );
}

#[test]
fn search_and_campaign_beyond_memory_are_refused() {
    let sandbox = Sandbox::new("memory-of-others");
    sandbox.file("heavier.toml", HEAVIER);
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    let campaign = ["paper", "d3", "fig01", "--quick", "--papers", papers];
    let search = ["capacity", "heavier.toml", "--of", "load", "--target", "1%"];
    for (command, code) in [(&search, 1), (&campaign, 2)] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_duetime"))
            .args(command)
            .env("DUETIME_MEMORY_BYTES", "1e3")
            .current_dir(&sandbox.0)
            .output()
            .expect("the binary starts");
        let err = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(err.contains("does not fit into memory"), "{err}");
        assert_eq!(output.status.code(), Some(code), "{err}");
    }
}

#[test]
fn no_warning_for_moderate_load() {
    let sandbox = Sandbox::new("moderate");
    sandbox.file("tiny.toml", TINY);
    let output = sandbox.duetime("run tiny.toml");
    assert!(!output.err.contains("WARNING"), "{}", output.err);
    assert!(!output.ok().contains("WARNING"));
    assert!(
        !sandbox
            .read("out/tiny/report.html")
            .contains("id=\"warnings\"")
    );
}

/// Returns the subject and text of `check`'s warnings for [`TINY`] with `from` replaced by `to`.
fn warnings_of(name: &str, from: &str, to: &str) -> Vec<(String, String)> {
    assert!(TINY.contains(from), "the tiny scenario has `{from}`");
    let sandbox = Sandbox::new(name);
    sandbox.file("tiny.toml", &TINY.replacen(from, to, 1));
    let checked: Value =
        serde_json::from_str(&sandbox.duetime("check tiny.toml --json").ok()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let warnings: Vec<_> = checked["warnings"].as_array().unwrap().iter().collect();
    let human = sandbox.duetime("check tiny.toml").ok();
    let run = sandbox.duetime("run tiny.toml --json").ok();
    let events = run.lines().map(|line| serde_json::from_str(line).unwrap());
    let printed: Vec<Value> = events
        .filter(|warning: &Value| warning["event"] == "warning")
        .collect();
    assert_eq!(printed.len(), warnings.len(), "{run}");
    for (warning, event) in warnings.iter().zip(&printed) {
        assert_eq!(
            (&event["about"], &event["text"]),
            (&warning["about"], &warning["text"])
        );
        assert!(human.contains(&text(&warning["text"])), "{human}");
    }
    let both = |value: &&Value| (text(&value["about"]), text(&value["text"]));
    warnings.iter().map(both).collect()
}

/// Checks for exactly one warning with this subject and text.
#[track_caller]
fn check_warning(name: &str, from: &str, to: &str, about: &str, output: &str) {
    let found = warnings_of(name, from, to);
    assert_eq!(found, [(about.to_owned(), output.to_owned())]);
}

#[test]
fn warning_for_threshold_above_buffer() {
    check_warning(
        "warn-packets",
        "buffer = \"100 KB\"",
        "buffer = \"20 packets\"",
        "ecn-threshold",
        "No marks reach dctcp, d2tcp at ports of 1 Gbps: `ecn_threshold` is 20 packets, but a full-size packet \
         finds at most 19 packets queued before the port drops.",
    );
    // The twentieth packet finds 19 packets.
    assert!(
        warnings_of(
            "no-warn-packets",
            "buffer = \"100 KB\"",
            "buffer = \"21 packets\""
        )
        .is_empty()
    );
    // The limit is half of the pool minus the packet.
    check_warning(
        "warn-bytes",
        "ecn_threshold = \"20 packets\"",
        "ecn_threshold = \"50 KB\"",
        "ecn-threshold",
        "No marks reach dctcp, d2tcp at ports of 1 Gbps: `ecn_threshold` is 50000 B, but a full-size packet finds \
         at most 49250 B queued before the port drops.",
    );
    // TCP does not use marks.
    let unmarked = "transport = [\"tcp\"]";
    let text = TINY.replace("buffer = \"100 KB\"", "buffer = \"20 packets\"");
    let sandbox = Sandbox::new("no-warn-tcp");
    let text = text.replace("transport = [\"dctcp\", \"d2tcp\"]", unmarked);
    sandbox.file("tiny.toml", &text);
    assert!(!sandbox.duetime("check tiny.toml").ok().contains("WARNING"));
}

#[test]
fn warning_for_short_update_interval() {
    let from = "transport = [\"dctcp\", \"d2tcp\"]";
    // 4 x 20 us, 1500 B and 40 B over two links of 1 Gbps, and at least 1.2 us at each host: 107.04 us.
    let with = |interval: &str| {
        format!("transport = [\"d3\", \"rcpdc\"]\nrcpdc.update_interval = \"{interval}\"")
    };
    check_warning(
        "warn-interval",
        from,
        &with("104 us"),
        "update-interval",
        "`update_interval` of rcpdc is 104 us, but the longest idle round trip takes 107 us: D3's routers reallocate \
         before they see the effect of the last allocation (D3 §4.4 requires an interval longer than the round trip).",
    );
    assert!(warnings_of("no-warn-interval", from, &with("108 us")).is_empty());
}

/// A query to four leaves every 10 ms, hedged at a percentile.
const HEDGED: &str = r#"name = "hedged"
transport = "tcp"
duration = "1 s"
[topology]
kind = "star"
hosts = 8
link = { rate = "1 Gbps", latency = "5 us" }
[[workload]]
kind = "oldi"
name = "reads"
fan_in = 4
response = "100 KB"
every = "10 ms"
hedge = { after = "p95" }
"#;

#[test]
fn warning_for_late_hedges() {
    let sandbox = Sandbox::new("late-hedges");
    let warned = |text: &str| -> Vec<String> {
        sandbox.file("hedged.toml", text);
        let checked: Value =
            serde_json::from_str(&sandbox.duetime("check hedged.toml --json").ok()).unwrap();
        let all = checked["warnings"].as_array().unwrap().iter();
        let late = all.filter(|warning| warning["about"] == "hedge");
        late.map(|warning| warning["text"].as_str().unwrap().to_owned())
            .collect()
    };
    // The first 25 queries provide 100 answers.
    assert_eq!(
        warned(HEDGED),
        [
            "Parents of `reads` do not hedge in the first 25.0 % of the measurement window: each needs `hedge.samples` \
          answers to know the percentile of `hedge.after`, which takes 250 ms. Increase `warm_up` to that time, set \
          `hedge.after` to a time, or set `compute`, which gives parents initial samples."
        ]
    );
    let quick = HEDGED.replace("duration", "warm_up = \"250 ms\"\nduration");
    assert!(warned(&quick).is_empty());
    // Transmitting four answers takes 3.2 ms, longer than 95 % of the computations, so computation times do not predict
    // response times.
    let compute = "compute = \"exponential 1 ms\"\nhedge";
    let large = HEDGED.replace("hedge =", &format!("{compute} ="));
    assert_eq!(warned(&large).len(), 1);
    let small = large.replace("100 KB", "1 KB");
    assert!(warned(&small).is_empty());
}

#[test]
fn warning_for_infeasible_deadlines() {
    // 2 x 20 us, 20 KB and 14 headers of 40 B on a link of 1 Gbps, the smallest packet on the other, and at
    // least 1.2 us at the host: 206.0 us.
    check_warning(
        "warn-deadline",
        "base = \"2 ms\"",
        "base = \"204 us\"",
        "deadline",
        "No flows of `burst` can be in time under any transport: the shortest deadline is 204 us, but propagation and \
         transmission alone take 206 us (see `duetime bound`).",
    );
    assert!(warnings_of("no-warn-deadline", "base = \"2 ms\"", "base = \"207 us\"").is_empty());
    // Half of the sizes are too large for this deadline.
    let (from, to) = (
        "size = \"20 KB\"\ndeadline = { base = \"2 ms\" }",
        "size = \"uniform 10 KB..30 KB\"\ndeadline = \"204 us\"",
    );
    let found = warnings_of("warn-deadline-share", from, to);
    assert!(
        found[0].1.starts_with(
            "About 50.0 % of the flows of `burst` cannot be in time under any transport"
        ),
        "{found:?}"
    );
}

#[test]
fn one_warning_for_nonstationary_points() {
    let sandbox = Sandbox::new("drifting-sweep");
    sandbox.file("over.toml", OVERSUBSCRIBED);
    let out = sandbox
        .duetime("sweep over.toml --vary workload.load=0.29,0.3,0.31")
        .ok();
    assert_eq!(out.matches("was not stationary").count(), 1, "{out}");
    let expected = "dctcp was not stationary at workload.load=0.29, and at 2 more of 3 points, so its results depend on \
                    `duration`: at the first point the backlog grew from ";
    assert!(out.contains(expected), "{out}");
}

#[test]
fn warning_names_point_of_sweep() {
    let sandbox = Sandbox::new("warn-sweep");
    sandbox.file("tiny.toml", TINY);
    let vary = "switch.buffer=100 KB,20 packets,10 packets";
    let output = sandbox.duetime_args(&["sweep", "tiny.toml", "--seeds", "1", "--vary", vary]);
    let expected = "at ports of 1 Gbps at switch.buffer=20 packets, and at 1 more of 3 points: `ecn_threshold` is";
    assert!(output.err.contains(expected), "{}", output.err);
    assert_eq!(output.err.matches("WARNING").count(), 1, "{}", output.err);
}

#[test]
fn warning_for_infeasible_traces_and_budgets() {
    let sandbox = Sandbox::new("warn-trace");
    let head = "transport = \"tcp\"\nduration = \"10 ms\"\n[topology]\nkind = \"star\"\nhosts = 8\n\
                link = { rate = \"1 Gbps\", latency = \"20 us\" }\n[[workload]]\n";
    let trace = "start_ns,source,destination,size_bytes,deadline_ns\n0,0,1,20000,204000\n5,1,2,20000,207000\n9,1,2,10,\n";
    sandbox.file("flows.csv", trace);
    sandbox.file(
        "trace.toml",
        &format!("{head}kind = \"trace\"\nfile = \"flows.csv\"\n"),
    );
    let output = sandbox.duetime("check trace.toml").ok();
    assert!(
        output.contains("About 50.0 % of the flows of `trace` cannot be in time under any transport: the shortest deadline is 204 us"),
        "{output}"
    );
    // Seven answers of 10 KB occupy the root's link for at least 560 us.
    let tree = |within: &str| {
        format!(
            "{head}kind = \"oldi\"\nfan_in = 7\nresponse = \"10 KB\"\nevery = \"5 ms\"\nobjective.within = \"{within}\"\n"
        )
    };
    sandbox.file("tree.toml", &tree("600 us"));
    let output = sandbox.duetime("check tree.toml").ok();
    assert!(
        output.contains(
            "No queries of `oldi` can be in time under any transport: the shortest budget is 600 us"
        ),
        "{output}"
    );
    sandbox.file("tree.toml", &tree("700 us"));
    assert!(!sandbox.duetime("check tree.toml").ok().contains("WARNING"));
}

#[test]
fn nothing_measured_is_an_error() {
    let sandbox = Sandbox::new("early");
    sandbox.file("early.toml", EARLY);
    let check = sandbox.duetime("check early.toml");
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.out.contains("Nothing will be measured"), "{check:?}");
    let run = sandbox.duetime("run early.toml");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("Nothing will be measured"), "{run:?}");
    assert!(run.out.contains("Nothing was measured (dctcp)"), "{run:?}");
    assert!(run.err.contains("Nothing was measured (dctcp)"), "{run:?}");
    // A single measured flow is enough for success.
    let measured = sandbox.duetime("run early.toml --overwrite --set warm_up=0us");
    assert_eq!(measured.code, 0, "{measured:?}");
}
