//! What is known of a scenario before it runs: `check`, and the warnings that runs carry.

mod sandbox;

use sandbox::{Sandbox, TINY};
use serde_json::Value;

/// 30 % of the hosts' links is 120 % of uplinks that are oversubscribed 5 : 1.
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

/// A flow before the warm-up.
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
fn check_names_the_overloaded_uplinks() {
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
fn an_overload_is_said_at_the_start_in_the_table_on_the_page_and_in_json() {
    let sandbox = Sandbox::new("overload");
    sandbox.file("over.toml", OVERSUBSCRIBED);
    let said = sandbox.duetime("run over.toml");
    let warning = "`rack0->spine0` is offered 120.6 %";
    assert!(said.err.contains(warning), "{}", said.err);
    let out = said.ok();
    assert!(out.trim_start().starts_with("WARNING"), "{out}");
    assert!(out.contains(warning), "{out}");
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
    // 1 ms is enough to see the backlog grow.
    assert_eq!(done["warnings"][1]["about"], "not-stationary", "{done}");
    assert!(out.contains("dctcp was not stationary"), "{out}");
    assert!(page.contains("the backlog grew from"));
}

#[test]
fn a_burst_that_does_not_fit_into_memory_is_refused_before_anything_is_written() {
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
    // Two of four runs fit at the same time.
    let jobs = run("6e3", &["--seeds", "4", "--jobs", "4"]);
    let err = String::from_utf8(jobs.stderr).expect("UTF-8");
    assert_eq!(jobs.status.code(), Some(2), "{err}");
    assert!(err.contains("allowed: `--jobs 2`"), "{err}");
    assert_eq!(
        run("6e3", &["--seeds", "4", "--jobs", "2"]).status.code(),
        Some(0)
    );
}

/// Answers of 20 KB due in 2 ms, more and more of them: at the end the link into a host is full.
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
fn a_search_warns_once_of_each_value_that_overloads_a_link() {
    let sandbox = Sandbox::new("capacity-load");
    sandbox.file("heavier.toml", HEAVIER);
    let said = sandbox.duetime("capacity heavier.toml --of load --step 0.5 --target 1%");
    let warnings: Vec<&str> = said.err.lines().filter(|of| of.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "for two transports: {}", said.err);
    for part in ["`host", "% of its 1 Gbps at 99 %", "answers 99.0 %"] {
        assert!(warnings[0].contains(part), "`{part}` in {}", said.err);
    }
    assert_eq!(said.code, 0, "{}", said.err);
    let json = sandbox.duetime("capacity heavier.toml --of load --step 0.5 --target 1% --json");
    let warnings = json.ok();
    assert_eq!(
        warnings.matches("\"event\":\"warning\"").count(),
        1,
        "{warnings}"
    );
}

#[test]
fn a_search_and_a_campaign_that_do_not_fit_into_memory_are_refused() {
    let sandbox = Sandbox::new("memory-of-others");
    sandbox.file("heavier.toml", HEAVIER);
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    let campaign = ["paper", "d3", "fig01", "--quick", "--papers", papers];
    let search = ["capacity", "heavier.toml", "--of", "load", "--target", "1%"];
    for (command, code) in [(&search, 1), (&campaign, 2)] {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_duetime"))
            .args(command)
            .env("DUETIME_MEMORY_BYTES", "1e3")
            .current_dir(&sandbox.0)
            .output()
            .expect("the binary starts");
        let err = String::from_utf8(said.stderr).expect("UTF-8");
        assert!(err.contains("does not fit into memory"), "{err}");
        assert_eq!(said.status.code(), Some(code), "{err}");
    }
}

#[test]
fn a_moderate_load_is_not_warned_of() {
    let sandbox = Sandbox::new("moderate");
    sandbox.file("tiny.toml", TINY);
    let said = sandbox.duetime("run tiny.toml");
    assert!(!said.err.contains("WARNING"), "{}", said.err);
    assert!(!said.ok().contains("WARNING"));
    assert!(
        !sandbox
            .read("out/tiny/report.html")
            .contains("id=\"warnings\"")
    );
}

#[test]
fn nothing_measured_is_said_and_is_no_success() {
    let sandbox = Sandbox::new("early");
    sandbox.file("early.toml", EARLY);
    let check = sandbox.duetime("check early.toml");
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.out.contains("Nothing will count"), "{check:?}");
    let run = sandbox.duetime("run early.toml");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("Nothing will count"), "{run:?}");
    assert!(run.out.contains("Nothing was measured (dctcp)"), "{run:?}");
    assert!(run.err.contains("Nothing was measured (dctcp)"), "{run:?}");
    // With one measured flow it is a success.
    let measured = sandbox.duetime("run early.toml --overwrite --set warm_up=0us");
    assert_eq!(measured.code, 0, "{measured:?}");
}
