//! `duetime bound`: its output, the bound in the tables of runs, and its errors.

use crate::sandbox::{Sandbox, TINY};
use serde_json::Value;

/// Five simultaneous answers of 20 KB take 1.1 ms, so two of them meet 0.6 ms.
const TIGHT: &str = "--set workload.deadline.base=0.6ms";

#[test]
fn text_and_json_agree() {
    let sandbox = Sandbox::new("bound");
    sandbox.file("tiny.toml", TINY);
    let command = format!("bound tiny.toml {TIGHT}");
    let out = sandbox.duetime(&command).ok();
    let first = out.lines().next().expect("a sentence");
    assert_eq!(
        first,
        "no transport can do better: burst flows missed at least 40.0 %; \
         an online EDF scheduler of the receivers' links misses 40.0 %"
    );
    let json = sandbox.duetime(&format!("{command} --jobs 1 --json")).ok();
    let object: Value = serde_json::from_str(&json).expect("one object");
    let group = &object["groups"][0];
    assert_eq!(group["asked"], 40, "{object}");
    assert_eq!(group["late"]["value"], 0.4, "{object}");
    assert_eq!(group["online"]["value"], 0.4, "{object}");
    assert_eq!(object["deadlines"]["if_prompt"], false, "{object}");
    assert_eq!(sandbox.names(), ["tiny.toml"], "nothing is written");
}

#[test]
fn bound_is_a_row_of_the_results() {
    let sandbox = Sandbox::new("bound-row");
    sandbox.file("tiny.toml", TINY);
    let out = sandbox.duetime(&format!("run tiny.toml {TIGHT}")).ok();
    let transport = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let missed = |name: &str| {
        let line = out.lines().find(|line| transport(line) == name);
        let line = line.unwrap_or_else(|| panic!("{name} in:\n{out}"));
        let share = line.split(" %").next().expect("a share");
        let share = share.rsplit(' ').next().expect("a share");
        share.parse::<f64>().expect("a number")
    };
    let bound = missed("no transport can do better");
    assert!((bound - 40.0).abs() < 1e-9);
    for name in ["dctcp", "d2tcp"] {
        assert!(missed(name) >= bound, "{name} in:\n{out}");
    }
    let summary: Value =
        serde_json::from_str(&sandbox.read("out/tiny/summary.json")).expect("JSON");
    assert_eq!(
        summary["points"][0]["best"]["deadlines"]["late"]["value"],
        0.4
    );
    let page = sandbox.read("out/tiny/report.html");
    assert!(page.contains("no transport can do better"));

    let sweep =
        format!("sweep tiny.toml {TIGHT} --vary workload.burst.senders=2,5 --json --out swept");
    let out = sandbox.duetime(&sweep).ok();
    let rows: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["event"] == "best" && line["transport"] == "no transport can do better")
        .collect();
    let missed: Vec<f64> = rows
        .iter()
        .filter_map(|row| row["missed"]["value"].as_f64())
        .collect();
    assert_eq!(missed, [0.0, 0.4], "{out}");
}

#[test]
fn no_bound_without_deadlines() {
    let sandbox = Sandbox::new("bound-none");
    sandbox.file("tiny.toml", TINY);
    let failed = sandbox.duetime("bound tiny.toml --set workload.deadline=none");
    assert!(
        failed.err.contains("no measured flow has a deadline") && failed.out.is_empty(),
        "{}",
        failed.err
    );
}
