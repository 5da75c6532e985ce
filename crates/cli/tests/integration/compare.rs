//! `duetime compare`: two run folders, paired by seed.

use std::fs;

use crate::sandbox::{Sandbox, TINY};
use serde_json::Value;

/// Returns the tiny scenario with an additional workload of queries.
fn queries() -> String {
    TINY.replace("name = \"tiny\"", "name = \"queries\"")
        + "[[workload]]\nkind = \"oldi\"\nfan_in = 5\nresponse = \"uniform 5 KB..60 KB\"\ndeadline = \"2 ms\"\nload = 0.3\n"
}

fn lines(out: &str) -> Vec<Value> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    out.lines().map(parse).collect()
}

fn events<'l>(lines: &'l [Value], event: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

/// Returns the numbers of queries in time and of judged queries of a run.
fn in_time(sandbox: &Sandbox, folder: &str, transport: usize, run: usize) -> (f64, f64) {
    let summary: Value =
        serde_json::from_str(&sandbox.read(&format!("{folder}/summary.json"))).expect("JSON");
    let run = &summary["points"][0]["runs"][transport]["runs"][run];
    let queries = &run["queries"][0];
    let number = |key: &str| queries[key].as_f64().expect("a number");
    (number("met"), number("judged"))
}

#[test]
fn equal_runs_have_zero_differences() {
    let sandbox = Sandbox::new("compare-equal");
    sandbox.file("queries.toml", &queries());
    for out in ["a", "b"] {
        let run = format!("run queries.toml --quiet --no-report --seeds 4 --out {out}");
        sandbox.duetime(&run).ok();
    }
    let lines = lines(&sandbox.duetime("compare a b --json").ok());
    let answer = events(&lines, "compared")[0];
    assert_eq!(answer["in_time_of"], "queries");
    assert_eq!((&answer["seeds"], &answer["pairs"]), (&4.into(), &8.into()));
    assert!(events(&lines, "setting").is_empty());
    let rows = events(&lines, "difference");
    assert!(rows.len() > 40, "{}", rows.len());
    let differences = rows.iter().map(|row| &row["difference"]);
    let differences = differences.chain([&answer["in_time"]["difference"]]);
    for difference in differences.filter(|difference| !difference.is_null()) {
        let interval = &difference["interval"];
        for zero in [&difference["value"], &interval["low"], &interval["high"]] {
            assert_eq!(zero.as_f64(), Some(0.0), "{difference}");
        }
    }
    let output = sandbox.duetime("compare a b").ok();
    let first = output.lines().next().expect("a line");
    assert!(
        first.starts_with("B - A: 0 points of the queries in time")
            && first.ends_with("equal in every pair"),
        "{output}"
    );
    assert!(output.contains("identical scenarios"), "{output}");
}

#[test]
fn differences_are_paired_by_seed() {
    let sandbox = Sandbox::new("compare-pairs");
    sandbox.file("queries.toml", &queries());
    let run = "run queries.toml --quiet --no-report --seeds 3";
    sandbox.duetime(&format!("{run} --out a")).ok();
    sandbox
        .duetime(&format!("{run} --out b --set switch.ecn_threshold=off --set tcp.rto_min=200ms --set switch.buffer=40KB"))
        .ok();
    let lines = lines(&sandbox.duetime("compare a b --json --transport dctcp").ok());
    let settings: Vec<String> = events(&lines, "setting")
        .iter()
        .map(|shares| format!("{} {} {}", shares["key"], shares["a"], shares["b"]))
        .collect();
    assert!(
        settings.contains(&"\"switch.ecn_threshold\" \"20 packets\" \"off\"".to_owned()),
        "{settings:?}"
    );
    assert!(
        settings.contains(&"\"dctcp.rto_min\" \"10 ms\" \"200 ms\"".to_owned()),
        "{settings:?}"
    );
    // Expected from the summaries: the pooled shares, and the range of the differences of three pairs.
    let shares = |folder: &str| [0, 1, 2].map(|run| in_time(&sandbox, folder, 0, run));
    let (a, b) = (shares("a"), shares("b"));
    let pooled = |runs: [(f64, f64); 3]| {
        let sum = runs.iter().fold((0.0, 0.0), |sum, shares| {
            (sum.0 + shares.0, sum.1 + shares.1)
        });
        sum.0 / sum.1
    };
    let each: Vec<f64> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| b.0 / b.1 - a.0 / a.1)
        .collect();
    let low = each.iter().copied().fold(f64::INFINITY, f64::min);
    let high = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(high > low, "the pairs differ: {each:?}");
    let answer = &events(&lines, "compared")[0]["in_time"];
    let rows = events(&lines, "difference");
    let row = rows.iter().find(|row| row["number"] == "in time");
    for found in [answer, row.expect("queries")] {
        let number = |value: &Value| value.as_f64().expect("a number");
        for (found, expected) in [
            (&found["a"]["value"], pooled(a)),
            (&found["b"]["value"], pooled(b)),
            (&found["difference"]["value"], pooled(b) - pooled(a)),
            (&found["difference"]["interval"]["low"], low),
            (&found["difference"]["interval"]["high"], high),
        ] {
            assert!(
                (number(found) - expected).abs() < 1e-12,
                "{found} {expected}"
            );
        }
        assert_eq!(found["differs"], "few-seeds");
    }
}

#[test]
fn one_seed_has_no_interval() {
    let sandbox = Sandbox::new("compare-one");
    sandbox.file("tiny.toml", TINY);
    let run = "run tiny.toml --quiet --no-report --seeds 1";
    sandbox.duetime(&format!("{run} --out a")).ok();
    sandbox
        .duetime(&format!("{run} --out b --set workload.burst.senders=7"))
        .ok();
    let output = sandbox.duetime("compare a b").ok();
    assert!(output.contains("one seed: no interval"), "{output}");
    assert!(
        output.contains("of the flows with deadlines in time"),
        "{output}"
    );
    assert!(
        output.contains("workload.burst.senders: 5 -> 7"),
        "{output}"
    );
    assert!(!output.contains('['), "{output}");
}

#[test]
fn unpaired_runs_are_reported_and_skipped() {
    let sandbox = Sandbox::new("compare-partial");
    sandbox.file("tiny.toml", TINY);
    let run = "run tiny.toml --quiet --no-report";
    sandbox.duetime(&format!("{run} --seeds 5 --out a")).ok();
    sandbox
        .duetime(&format!("{run} --seeds 4 --transport dctcp,tcp --out b"))
        .ok();
    // An interrupted study lacks a run.
    fs::remove_dir_all(sandbox.0.join("b/runs/dctcp/2")).expect("a run can be removed");
    let lines = lines(&sandbox.duetime("compare a b --json").ok());
    let answer = events(&lines, "compared")[0];
    assert_eq!(answer["transports"], serde_json::json!(["dctcp"]));
    assert_eq!(answer["seeds"], 3);
    let notes = answer["notes"].to_string();
    for part in [
        "only `a` has these transports: d2tcp",
        "only `b` has these transports: tcp",
        "`b` is incomplete: it has 3 of 4 runs of dctcp; 3 are in both",
        "`a` has 5 seeds, `b` has 4",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn sweeps_are_compared_by_point() {
    let sandbox = Sandbox::new("compare-sweep");
    sandbox.file("tiny.toml", TINY);
    for (out, values) in [("a", "2,3"), ("b", "3,4")] {
        let sweep = format!(
            "sweep tiny.toml --quiet --no-report --vary workload.burst.senders={values} --out {out}"
        );
        sandbox.duetime(&sweep).ok();
    }
    let output = sandbox.duetime("compare a b").ok();
    assert!(
        output.contains("only `a` has these points: workload.burst.senders=2"),
        "{output}"
    );
    let all = lines(&sandbox.duetime("compare a b --json").ok());
    let rows = events(&all, "difference");
    assert!(
        rows.iter()
            .all(|row| row["point"] == "workload.burst.senders=3")
    );
    assert!(!rows.is_empty());
}

#[test]
fn invalid_input_is_refused() {
    let sandbox = Sandbox::new("compare-refused");
    sandbox.file("tiny.toml", TINY);
    let run = "run tiny.toml --quiet --no-report --seeds 1";
    sandbox.duetime(&format!("{run} --out a")).ok();
    sandbox.duetime(&format!("{run} --seed 7 --out seed")).ok();
    sandbox
        .duetime(&format!("{run} --transport tcp --out tcp"))
        .ok();
    sandbox
        .duetime("sweep tiny.toml --quiet --no-report --seeds 1 --vary workload.burst.senders=2 --out sweep")
        .ok();
    sandbox.duetime(&format!("{run} --out none")).ok();
    fs::remove_dir_all(sandbox.0.join("none/runs")).expect("runs can be removed");
    sandbox.duetime(&format!("{run} --out old")).ok();
    let manifest = sandbox
        .read("old/manifest.json")
        .replacen("\"format\": 1", "\"format\": 9", 1);
    sandbox.file("old/manifest.json", &manifest);
    for (folders, parts) in [
        ("a nowhere", &["there is no run folder at `nowhere`"][..]),
        ("tiny.toml a", &["`tiny.toml` is a file"]),
        (
            "a seed",
            &["`a` has seed 1", "`seed` has seed 7", "same `seed`"],
        ),
        (
            "a tcp",
            &[
                "`a` has dctcp, d2tcp",
                "`tcp` has tcp",
                "no common transport",
            ],
        ),
        (
            "a a --transport tcp",
            &["`tcp` is not in both; allowed: dctcp, d2tcp"],
        ),
        ("a sweep", &["`a` has no sweep", "workload.burst.senders=2"]),
        ("a none", &["`none` has 0 finished runs", "--resume"]),
        (
            "a old",
            &["old/manifest.json", "format 9, this version reads 1"],
        ),
    ] {
        sandbox
            .duetime(&format!("compare {folders}"))
            .refused(parts);
    }
}
