//! Traces (even first byte) and CDF files (odd first byte). Each gives a result or an error that points into the text.

use duetime_scenario::model::{Size, WorkloadKind};
use duetime_scenario::{Diagnostic, Sources, TraceRow, load};

const NETWORK: &str = r#"transport = "tcp"
[topology]
kind = "star"
hosts = 3
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
"#;
const TRACE: &str = "kind = \"trace\"\nfile = \"flows.csv\"\n";
const CDF: &str = "kind = \"permutation\"\nsize = { cdf = \"sizes.csv\" }\n";

const NOT_CSV: &str = "not a CSV file";

/// File source that returns one file for every name.
struct File<'a>(&'a str);

impl Sources for File<'_> {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err(NOT_CSV.to_owned())
    }
}

pub fn check(bytes: &[u8]) {
    let Some((choice, Ok(file))) = bytes
        .split_first()
        .map(|(first, rest)| (first, std::str::from_utf8(rest)))
    else {
        return;
    };
    let workload = if choice % 2 == 0 { TRACE } else { CDF };
    let scenario = format!("{NETWORK}{workload}");
    match load(&scenario, "scenario.toml", &[], &File(file)) {
        Err(error) => points_into(file, &error),
        Ok(scenario) => match &scenario.workloads[0].kind {
            WorkloadKind::Trace { flows } => {
                assert!(!flows.is_empty() && flows.is_sorted_by_key(|flow| flow.start));
                assert!(flows.iter().all(|flow| {
                    let hosts = flow.source < 3 && flow.destination < 3;
                    hosts && flow.source != flow.destination && flow.size.0 > 0
                }));
            }
            WorkloadKind::Permutation {
                size: Size::Cdf { points, .. },
                ..
            } => {
                assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
                let (first, last) = (points[0], points[points.len() - 1]);
                assert!(first.0 >= 0.0 && last.0.is_finite());
                assert!(first.1 >= 0.0 && (last.1 - 1.0).abs() < 1e-9);
            }
            // A trace may be a file of spans.
            WorkloadKind::Spans(_) => {}
            _ => unreachable!("not the workload of the scenario"),
        },
    }
}

/// Checks that an error points into the file, or says that it is Parquet or has hosts that the topology lacks.
fn points_into(file: &str, error: &Diagnostic) {
    if error.file == "scenario.toml" {
        let message = &error.message;
        assert!(
            message.ends_with(" hosts, the topology has 3") || message.ends_with(NOT_CSV),
            "{error}"
        );
        return;
    }
    let line = error.source_line.chars().count();
    assert!(error.column + error.width <= line + 2, "{error}");
    assert!(error.line <= file.lines().count() + 1, "{error}");
}
