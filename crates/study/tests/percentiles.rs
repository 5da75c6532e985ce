//! Tests of a study's percentiles against its stored rows.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duetime_results::stats::{bootstrap, nearest_rank};
use duetime_results::{Class, Estimate, RunRecords};
use duetime_store::{IfExists, RunFolder};
use duetime_study::{
    Execution, Gathered, Plan, Request, Silent, Simulator, execute, gather, tables,
};
use serde_json::Value;

const SERVICE: &str = r#"
transport = ["tcp", "dctcp"]
seeds = 3
duration = "50 ms"

[topology]
kind = "star"
hosts = 6
link = { rate = "1 Gbps", latency = "5 us" }

[switch]
buffer = "20 packets"

[[workload]]
kind = "oldi"
trees = 2
share_hosts = true
fan_in = 4
response = "uniform 1 KB..8 KB"
load = 0.6
objective = { within = "1 ms", share = "99 %" }
deadline = "1 ms"
"#;

/// Runs a study and gathers its results.
fn study(
    name: &str,
    settings: &[(&str, &str)],
) -> (Plan, RunFolder, Gathered, Vec<(String, RunRecords)>) {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let request = Request {
        text: SERVICE.to_owned(),
        file: "service.toml".into(),
        settings: settings.iter().map(owned).collect(),
        transports: Vec::new(),
        points: Vec::new(),
    };
    let plan = Plan::new(request).expect("a plan");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    let execution = Execution {
        jobs: 2,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::new(AtomicBool::new(false)),
    };
    execute(&plan, &path, &execution, &Simulator, &Silent).expect("a study");
    let folder = RunFolder::open(&path).expect("a folder");
    let keys = plan.keys().into_iter();
    let records = keys.map(|key| {
        let run = folder.read_run(&key).expect("a run");
        (key.transport, run.records)
    });
    let records = records.collect();
    let gathered = gather(&plan, &folder, |_, _| ()).expect("a folder of runs");
    (plan, folder, gathered, records)
}

/// Returns the completion times of a run's measured queries in seconds, infinite for queries that never completed.
fn queries(run: &RunRecords) -> Vec<f64> {
    let measured = run.queries.iter().filter(|query| query.measured);
    let took = measured.map(|query| {
        query
            .enough
            .map_or(f64::INFINITY, |at| at.since(query.start).as_secs_f64())
    });
    took.collect()
}

/// Returns the completion times of a run's measured answers in seconds, infinite for answers that never completed.
fn answers(run: &RunRecords) -> Vec<f64> {
    let flows = run.flows.iter();
    let measured =
        flows.filter(|flow| flow.measured && flow.class == Class::Response && !flow.spare.0);
    let took = measured.map(|flow| {
        flow.finish
            .map_or(f64::INFINITY, |at| at.since(flow.start).as_secs_f64())
    });
    took.collect()
}

/// Returns a percentile of the pooled values of runs.
fn pooled<'a>(runs: impl Iterator<Item = &'a Vec<f64>>, per_mille: u32) -> f64 {
    let mut all: Vec<f64> = runs.flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    *nearest_rank(&all, per_mille).expect("some values")
}

fn check(found: Option<Estimate>, runs: &[Vec<f64>], per_mille: u32) {
    let samples: usize = runs.iter().map(Vec::len).sum();
    let wanted = pooled(runs.iter(), per_mille);
    if samples * (1_000 - per_mille as usize) < 10_000 || wanted.is_infinite() {
        assert_eq!(found, None, "{per_mille} of {samples}");
        return;
    }
    let interval = bootstrap(runs.len(), |draw| {
        Some(pooled(draw.iter().map(|&run| &runs[run]), per_mille))
    });
    let found = found.expect("enough samples");
    assert_eq!(
        (found.value, found.interval),
        (wanted, interval),
        "{per_mille}"
    );
}

#[test]
fn percentiles_pool_the_rows_of_all_runs() {
    let (plan, folder, gathered, records) = study("percentiles", &[]);
    for row in gathered.query_rows(&plan) {
        let of_transport = records.iter().filter(|(name, _)| *name == row.transport);
        let runs: Vec<Vec<f64>> = of_transport.map(|(_, run)| queries(run)).collect();
        let took = &row.queries.completion_s;
        for (found, per_mille) in [
            (took.p50, 500),
            (took.p90, 900),
            (took.p95, 950),
            (took.p99, 990),
            (took.p999, 999),
        ] {
            check(found, &runs, per_mille);
        }
        assert!(
            took.p99.is_some() && took.p999.is_none(),
            "{}",
            row.queries.queries
        );
    }
    let rows = gathered.rows(&plan);
    let responses = rows.iter().filter(|row| row.group.class == Class::Response);
    for row in responses {
        let of_transport = records.iter().filter(|(name, _)| *name == row.transport);
        let runs: Vec<Vec<f64>> = of_transport.map(|(_, run)| answers(run)).collect();
        let took = &row.group.completion_s;
        for (found, per_mille) in [(took.p50, 500), (took.p90, 900), (took.p99, 990)] {
            check(found, &runs, per_mille);
        }
    }
    // The difference is between pooled values, with pairs of runs resampled together.
    let answers_of = |name: &str| -> Vec<Vec<f64>> {
        let of_transport = records.iter().filter(|(other, _)| other == name);
        of_transport.map(|(_, run)| answers(run)).collect()
    };
    let (tcp, dctcp) = (answers_of("tcp"), answers_of("dctcp"));
    let comparisons = gathered.comparisons();
    let mut groups = comparisons[0].1.groups.iter();
    let response = groups
        .find(|group| group.class == Class::Response)
        .expect("answers");
    let difference = response.completion_s.p99.expect("enough answers");
    let interval = bootstrap(3, |draw| {
        let side = |runs: &[Vec<f64>]| pooled(draw.iter().map(|&run| &runs[run]), 990);
        Some(side(&dctcp) - side(&tcp))
    });
    let value = pooled(dctcp.iter(), 990) - pooled(tcp.iter(), 990);
    assert_eq!((difference.value, difference.interval), (value, interval));
    // `summary.json` has the same values as the table.
    duetime_study::write_summary(&plan, &folder, &gathered).expect("a file");
    let text = fs::read_to_string(folder.path().join("summary.json")).expect("a file");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let stored = &summary["points"][0]["transports"][0]["queries"][0]["completion_s"];
    let p90 = gathered.cells[0].summary.queries[0]
        .completion_s
        .p90
        .expect("100 queries");
    assert_eq!(stored["p90"]["value"].as_f64(), Some(p90.value));
    assert_eq!(stored["p999"], Value::Null);
}

#[test]
fn few_queries_print_dashes() {
    let few = [
        ("seeds", "1"),
        ("duration", "4 ms"),
        ("workload.load", "0.05"),
    ];
    let (plan, _, gathered, _) = study("few-queries", &few);
    let all = tables::tables(&plan, &gathered);
    let mut found = all.iter();
    let table = found
        .find(|table| table.title.starts_with("Queries"))
        .expect("queries");
    assert!(table.dashes.contains("too few queries"), "{}", table.dashes);
    for line in table.lines.iter().take(2) {
        let cell = |head: &str| {
            let mut columns = table.columns.iter();
            &line.cells[columns
                .position(|column| column.head == head)
                .expect("a column")]
        };
        let queries: u64 = cell("queries").value.parse().expect("a number");
        assert!((1..20).contains(&queries), "{queries}");
        for (head, needed) in [
            ("p50", "20"),
            ("p90", "100"),
            ("p99", "1000"),
            ("p99.9", "10 k"),
        ] {
            let cell = cell(head);
            let hint = format!("Needs {needed}, has {queries}");
            assert_eq!((cell.value.as_str(), &cell.hint), ("–", &hint));
        }
    }
}
