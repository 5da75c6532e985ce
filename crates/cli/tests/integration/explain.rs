//! `duetime explain` of queries, and of the flows of queries.

use crate::sandbox::Sandbox;
use serde_json::Value;

/// Tree of a root and six leaves that compute for exactly 2 ms.
const TREE: &str = r#"name = "tree"
transport = ["dctcp"]
seeds = 1
duration = "60 ms"

[topology]
kind = "star"
hosts = 8
link = { rate = "1 Gbps", latency = "20 us" }

[host]
start_jitter = false

[[workload]]
name = "search"
kind = "oldi"
trees = 1
fan_in = 6
response = "20 KB"
deadline = "4 ms"
compute = "2 ms"
every = "10 ms"
"#;

fn json(sandbox: &Sandbox, selector: &str) -> Value {
    let out = sandbox
        .duetime(&format!("explain out/tree {selector} --json"))
        .ok();
    serde_json::from_str(&out).expect("JSON")
}

fn sum(parts: &Value) -> u64 {
    let parts = parts.as_array().expect("parts").iter();
    parts.map(|part| part["ps"].as_u64().expect("ps")).sum()
}

/// Returns the time of the parts with this cause.
fn spent(parts: &Value, on: &str) -> u64 {
    let parts = parts.as_array().expect("parts").iter();
    parts
        .filter(|part| part["spent_on"] == on)
        .map(|part| part["ps"].as_u64().expect("ps"))
        .sum()
}

/// Returns the numbers in the first column of a table.
fn printed(table: &str) -> Vec<f64> {
    let lines = table
        .lines()
        .skip_while(|line| !line.starts_with('─'))
        .skip(1);
    let rows = lines.take_while(|line| line.contains('%'));
    rows.map(|row| {
        let number = row.split_whitespace().next().expect("a number");
        number.parse().expect("a number")
    })
    .collect()
}

#[test]
fn query_parts_add_up() {
    let sandbox = Sandbox::new("explain-query");
    sandbox.file("tree.toml", TREE);
    sandbox.duetime("run tree.toml --no-report").ok();
    let explanation = json(&sandbox, "worst-query");
    assert_eq!(explanation["event"], "query-explanation");
    assert_eq!(
        (&explanation["complete"], &explanation["answers"]),
        (&true.into(), &6.into())
    );
    assert_eq!(
        sum(&explanation["parts"]),
        explanation["total_ps"].as_u64().expect("ps")
    );
    assert_eq!(spent(&explanation["parts"], "computing"), 2_000_000_000);
    assert_eq!(explanation["flows"].as_array().expect("flows").len(), 2);
    // `worst` selects queries if there are any.
    assert_eq!(json(&sandbox, "worst"), explanation);
    let by_id = json(&sandbox, &format!("query:{}", explanation["query"]));
    assert_eq!(by_id, explanation);

    let text = sandbox.duetime("explain out/tree worst").ok();
    let sentence = text.lines().nth(1).expect("a sentence");
    assert!(
        sentence.starts_with("Query ") && sentence.contains("The 6th answer came from host"),
        "{sentence}"
    );
    assert!(
        sentence.contains("Time spent: 2 ms computing at host"),
        "{sentence}"
    );
    let mut numbers = printed(&text);
    let total = numbers.pop().expect("a sum");
    assert!(numbers.len() > 3, "{text}");
    assert!((numbers.iter().sum::<f64>() - total).abs() < 1e-6, "{text}");
    assert!(!text.contains(" 0 %") && !text.contains("0.00 %"), "{text}");

    sandbox
        .duetime("explain out/tree query:7")
        .refused(&["no query 7", "queries.parquet"]);
    sandbox
        .duetime("explain out/tree query:x")
        .refused(&["query:x", "query:ID", "worst-query"]);
}

#[test]
fn flow_includes_time_before_submission() {
    let sandbox = Sandbox::new("explain-answer");
    sandbox.file("tree.toml", TREE);
    sandbox.duetime("run tree.toml --no-report").ok();
    let explanation = json(&sandbox, "worst-flow");
    assert_eq!(explanation["event"], "explanation");
    assert_eq!(
        Some(sum(&explanation["parts"])),
        explanation["completion_ps"].as_u64()
    );
    let before = &explanation["before"];
    assert_eq!(Some(sum(&before["parts"])), before["total_ps"].as_u64());
    assert_eq!(spent(&before["parts"], "computing"), 2_000_000_000);
    let text = sandbox.duetime("explain out/tree worst-flow").ok();
    assert!(
        text.contains("before its submission") && text.contains("computing"),
        "{text}"
    );
    // Both tables add up.
    for table in text.split("before its submission") {
        let mut numbers = printed(table);
        let total = numbers.pop().expect("a sum");
        assert!(
            (numbers.iter().sum::<f64>() - total).abs() < 1e-6,
            "{table}"
        );
    }
}

#[test]
fn incomplete_query_lists_missing_answers() {
    let sandbox = Sandbox::new("explain-late");
    // Aggregators time out after 4 ms, but leaves compute for 30 ms.
    let late = TREE.replace("fan_in = 6", "fan_in = [2, 2]").replace(
        "compute = \"2 ms\"",
        "compute = \"30 ms\"\ndeadline_from = \"query\"",
    );
    sandbox.file("tree.toml", &late);
    sandbox.duetime("run tree.toml --no-report").ok();
    let explanation = json(&sandbox, "worst");
    assert_eq!(explanation["complete"], false);
    assert_eq!(explanation["standing"]["left_behind"], 4, "{explanation}");
    assert_eq!(
        sum(&explanation["parts"]),
        explanation["total_ps"].as_u64().expect("ps")
    );
    assert_eq!(spent(&explanation["parts"], "computing"), 30_000_000_000);
    let summary = explanation["summary"].as_str().expect("a sentence");
    for part in [
        "never received enough answers",
        "the root needed answers from 4 of 4 leaves and had 0",
        "4 answers arrived too late at an aggregator",
        "30 ms computing at host",
    ] {
        assert!(summary.contains(part), "`{part}` in: {summary}");
    }
}
