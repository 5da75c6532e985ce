//! `duetime capacity`: its table, JSON lines and errors.

use crate::sandbox::{Sandbox, TINY};
use serde_json::Value;

fn rows(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["event"] == "capacity")
        .collect()
}

/// Returns true if the file is the report of a search.
fn is_page(name: &str) -> bool {
    name.ends_with("/capacity.html")
}

#[test]
fn text_and_json_agree_and_reuse_runs() {
    let sandbox = Sandbox::new("capacity");
    sandbox.file("tiny.toml", TINY);
    let command =
        "capacity tiny.toml --of senders --target 95% --seeds 2 --set workload.deadline.base=1ms";
    let output = sandbox.duetime(command);
    assert!(
        output.err.contains("dctcp at 5 senders: "),
        "{}",
        output.err
    );
    let out = output.ok();
    assert!(
        out.contains("workload.burst.senders at 95 % of flows with deadlines in time, over 2 runs"),
        "{out}"
    );
    assert_eq!(sandbox.names(), ["out", "tiny.toml"]);
    let journal = sandbox.files("out/tiny-capacity");

    let json = sandbox.duetime(&format!("{command} --jobs 1 --json")).ok();
    assert_eq!(
        sandbox.files("out/tiny-capacity"),
        journal,
        "all runs are reused"
    );
    assert!(!json.contains("\"run-finished\""), "{json}");
    for row in rows(&json) {
        let transport = row["transport"].as_str().expect("a name");
        let line = out
            .lines()
            .find(|line| line.starts_with(transport))
            .expect("a row");
        let value = row["value"].as_f64().expect("a number");
        assert!((2.0..7.0).contains(&value), "neither all nor none: {row}");
        assert!(line.contains(&format!(" {value} senders")), "{line} {row}");
        assert!(row["low"].as_f64() <= row["value"].as_f64(), "{row}");
        assert!(row["value"].as_f64() <= row["high"].as_f64(), "{row}");
    }
    assert_eq!(rows(&json).len(), 2);

    // No transport exceeds the bound, which is printed below them.
    let best = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|line| line["event"] == "best-capacity")
        .expect("the best possible");
    let most = best["value"].as_f64().expect("a number");
    for row in rows(&json) {
        assert!(
            row["value"].as_f64().expect("a number") <= most,
            "{row} {best}"
        );
    }
    let sentence = format!("no transport can do better: {most} senders");
    assert!(out.contains(&sentence), "{out}");
}

/// Tree of two layers with a budget of 4 ms, whose leaves compute for 1 ms.
const TREE: &str = r#"name = "tree"
transport = ["dctcp"]
seeds = 2
duration = "60 ms"

[topology]
kind = "star"
hosts = 24
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
name = "search"
kind = "oldi"
trees = 1
fan_in = [3, 4]
response = "20 KB"
deadline = "4 ms"
layer_share = [1.0, 0.5]
compute = "1 ms"
every = "10 ms"
objective = { within = "4 ms", share = "90 %" }
give_up = "never"
"#;

#[test]
fn tightest_budget_is_in_milliseconds() {
    let sandbox = Sandbox::new("capacity-budget");
    sandbox.file("tree.toml", TREE);
    let command = "capacity tree.toml --of budget --step 0.5ms";
    let out = sandbox.duetime(command).ok();
    assert!(
        out.contains("workload.search.objective.within at 90 % of queries in time, over 2 runs"),
        "{out}"
    );
    let json = sandbox.duetime(&format!("{command} --json")).ok();
    let row = &rows(&json)[0];
    assert_eq!(
        (&row["on"], &row["unit"]),
        (&"queries".into(), &"ms".into())
    );
    let value = row["value"].as_f64().expect("a budget");
    assert!(
        (1.5..4.0).contains(&value),
        "more than the computing time: {row}"
    );
    let interval = match (row["low"].as_f64(), row["high"].as_f64()) {
        (Some(low), Some(high)) if low < high => format!(" [{low}, {high}]"),
        _ => String::new(),
    };
    let answer = format!("dctcp: {value} ms{interval}; at ");
    assert!(
        out.contains(&answer) && out.contains(" queries are in time"),
        "{out}"
    );
    let curve = row["curve"].as_array().expect("a curve");
    let at = |expected: f64| {
        let tried = curve.iter().find(|tried| tried["value"] == expected);
        tried.unwrap_or_else(|| panic!("{expected} ms was tried: {row}"))
    };
    assert_eq!(at(value)["reached"], true);
    assert_eq!(at(value - 0.5)["reached"], false);

    // A search for answers shares the journal.
    let journal = sandbox.files("out/tree-capacity");
    let answers = sandbox
        .duetime(&format!("{command} --on answers --json"))
        .ok();
    let row = &rows(&answers)[0];
    assert_eq!(row["on"], "answers");
    let grown = sandbox.files("out/tree-capacity");
    let kept = |(name, text): (&String, &String)| is_page(name) || grown.get(name) == Some(text);
    assert!(journal.iter().all(kept));
    let tried = row["curve"].as_array().expect("a curve");
    let whole = tried
        .iter()
        .find(|tried| tried["value"] == 4.0)
        .expect("the file's");
    assert_eq!(
        whole["measured"],
        2 * 6 * 15,
        "requested answers: 6 queries of 15, 2 runs"
    );
}

#[test]
fn fan_in_of_one_layer() {
    let sandbox = Sandbox::new("capacity-layer");
    sandbox.file("tree.toml", TREE);
    let refused = |arguments: &str, parts: &[&str]| sandbox.duetime(arguments).refused(parts);
    refused(
        "capacity tree.toml --of senders",
        &["several layers", "--layer 1"],
    );
    refused("capacity tree.toml --of fan-in", &["2 layers", "--layer"]);
    refused(
        "capacity tree.toml --of fan-in --layer 3",
        &["--layer 3", "1 to 2"],
    );
    refused(
        "capacity tree.toml --of budget --layer 1",
        &["--layer", "fan-in"],
    );
    refused(
        "capacity tree.toml --of load",
        &["search", "`every`", "no `load`", "--of rate"],
    );
    let command =
        "capacity tree.toml --of fan-in --layer 2 --json --set workload.objective.within=3ms";
    let row = &rows(&sandbox.duetime(command).ok())[0];
    assert_eq!(row["keys"][0], "workload.search.fan_in[1]");
    assert_eq!(row["unit"], "children");
    let value = row["value"].as_f64().expect("children");
    // 24 hosts have room for a root, three aggregators and at most six leaves per aggregator.
    assert!((1.0..=6.0).contains(&value), "{row}");
}

#[test]
fn highest_rate_includes_its_load() {
    let sandbox = Sandbox::new("capacity-rate");
    // Answers of 12 leaves, each in 4 segments, are 61.9 KB: 99 % of the root's link at 2000 a second.
    let flat = TREE
        .replace("fan_in = [3, 4]", "fan_in = 12")
        .replace("20 KB", "5 KB")
        .replace("layer_share = [1.0, 0.5]\n", "")
        .replace("compute = \"1 ms\"", "compute = \"exponential 300 us\"");
    let with_rate = flat.replace("every = \"10 ms\"", "rate = \"400 /s\"");
    sandbox.file(
        "every.toml",
        &flat.replace("\"10 ms\"", "\"exponential 2500 us\""),
    );
    sandbox.file(
        "rate.toml",
        &with_rate.replace("name = \"tree\"", "name = \"rate\""),
    );
    let command = "capacity rate.toml --of rate --step 200";
    let out = sandbox.duetime(command).ok();
    assert!(
        out.contains("workload.search.rate at 90 % of queries in time, over 2 runs"),
        "{out}"
    );
    let json = sandbox.duetime(&format!("{command} --json")).ok();
    let row = &rows(&json)[0];
    assert_eq!(
        (&row["on"], &row["unit"]),
        (&"queries".into(), &"/s".into())
    );
    let value = row["value"].as_f64().expect("a rate");
    assert!(
        (400.0..3000.0).contains(&value),
        "between the file's rate and the capacity of the link: {row}"
    );
    let load = row["loads"][0].as_f64().expect("a load");
    let bits = 12.0 * (5_000.0 + 4.0 * 40.0) * 8.0;
    assert!((load - value * bits / 1e9).abs() < 1e-6, "{row}");
    assert_eq!(row["loads"][0], row["loads"][1], "one workload");
    let interval = match (row["low"].as_f64(), row["high"].as_f64()) {
        (Some(low), Some(high)) if low < high => format!(" [{low}, {high}]"),
        _ => String::new(),
    };
    let answer = format!(
        "dctcp: {value} /s{interval} (load {:.1} %); at ",
        load * 100.0
    );
    assert!(
        out.contains(&answer) && out.contains(" queries are in time"),
        "{answer}: {out}"
    );
    let best = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|line| line["event"] == "best-capacity");
    let most = best.expect("the best possible")["value"].as_f64();
    assert!(value <= most.expect("a rate"), "{json}");

    // Gaps of the same mean are the same queries.
    let every = command.replace("rate.toml", "every.toml");
    let other = &rows(&sandbox.duetime(&format!("{every} --json")).ok())[0];
    assert_eq!(other["curve"], row["curve"]);
}

#[test]
fn only_damaged_runs_are_repeated() {
    let sandbox = Sandbox::new("capacity-damaged");
    sandbox.file("tiny.toml", TINY);
    let command = "capacity tiny.toml --of deadline --transport dctcp --out kept";
    let out = sandbox.duetime(command).ok();
    let kept = sandbox.files("kept");
    let mut runs = kept.iter().filter(|(name, _)| !is_page(name));
    let (name, text) = runs.nth(1).expect("a file");
    sandbox.file(name, &text[..text.len() - 20]);
    let again = sandbox.duetime(command);
    let is_repeated = |line: &str| line.contains(name) && line.contains("repeating");
    assert!(again.err.lines().any(is_repeated), "{name}: {}", again.err);
    assert_eq!(again.ok(), out);
    assert_eq!(sandbox.files("kept"), kept);
}

#[test]
fn journal_file_of_earlier_version_is_refused() {
    let sandbox = Sandbox::new("capacity-earlier");
    sandbox.file("tiny.toml", TINY);
    sandbox.file("kept.jsonl", "{}\n");
    sandbox
        .duetime("capacity tiny.toml --of deadline --out kept.jsonl")
        .refused(&["kept.jsonl", "is a file", "earlier versions"]);
}

#[test]
fn invalid_input_is_refused() {
    let sandbox = Sandbox::new("capacity-refused");
    sandbox.file("tiny.toml", TINY);
    sandbox.file(
        "none.toml",
        &TINY.replace("deadline = { base = \"2 ms\" }\n", ""),
    );
    let refused = |arguments: &str, parts: &[&str]| sandbox.duetime(arguments).refused(parts);
    refused(
        "capacity none.toml --of senders",
        &["none.toml", "no flow has a deadline"],
    );
    refused(
        "capacity tiny.toml --of rate",
        &["burst", "`rate`", "`load`"],
    );
    refused(
        "capacity tiny.toml --of senders --workload background",
        &["background", "`senders`"],
    );
    refused(
        "capacity tiny.toml --of deadline --workload background",
        &["no deadline"],
    );
    refused(
        "capacity tiny.toml --of senders --workload bursts",
        &["`bursts`", "burst, background"],
    );
    refused(
        "capacity tiny.toml --of size",
        &["senders", "rate", "deadline", "budget", "fan-in", "load"],
    );
    refused("capacity tiny.toml", &["--of"]);
    for target in ["0%", "101%", "99", "often"] {
        let arguments = format!("capacity tiny.toml --of senders --target {target}");
        refused(&arguments, &["--target", "99%"]);
    }
    refused("capacity tiny.toml --of senders --step 0", &["--step 0"]);
    refused(
        "capacity tiny.toml --of senders --set workload.sender=3",
        &["senders"],
    );
    refused("capacity gone.toml --of senders", &["gone.toml"]);
    assert_eq!(
        sandbox.names(),
        ["none.toml", "tiny.toml"],
        "nothing is written"
    );
}

#[test]
fn report_repeats_the_output() {
    let sandbox = Sandbox::new("capacity-page");
    let varied = TREE.replace("compute = \"1 ms\"", "compute = \"exponential 1 ms\"");
    sandbox.file("tree.toml", &varied);
    let command = "capacity tree.toml --of budget --step 0.5ms --seeds 4";
    let out = sandbox.duetime(command).ok();
    assert!(
        out.contains("report  out/tree-capacity/capacity.html"),
        "{out}"
    );
    let page = sandbox.read("out/tree-capacity/capacity.html");
    let sentence = out.lines().find(|line| line.starts_with("dctcp: "));
    let sentence = sentence.expect("the answer");
    assert!(sentence.contains(" ["), "with its interval: {sentence}");
    for part in [
        &format!("<p class=\"answer\">{sentence}</p>"),
        "target, 90 %",
        "duetime capacity tree.toml --of budget --target 90% --step 0.5ms --transport dctcp --seeds 4",
        "in time there",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=") && !page.contains("href=\"http"));

    sandbox
        .duetime(&format!("{command} --no-report --out bare"))
        .ok();
    assert!(!sandbox.0.join("bare/capacity.html").exists());
}
