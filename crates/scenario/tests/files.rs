//! Random trace and CDF files are read, or refused with a position in the file, without panics.

use duetime_scenario::model::{Scenario, Size, WorkloadKind};
use duetime_scenario::{Diagnostic, Sources, TraceRow, load};
use proptest::prelude::*;

/// File with any name.
struct File<'a>(&'a str);

impl Sources for File<'_> {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("not a CSV file".to_owned())
    }
}

fn with_workload(workload: &str, file: &str) -> Result<Scenario, Diagnostic> {
    let text = format!(
        "transport = \"tcp\"\n[topology]\nkind = \"star\"\nhosts = 3\n\
         link = {{ rate = \"1 Gbps\", latency = \"20 us\" }}\n[[workload]]\n{workload}"
    );
    load(&text, "scenario.toml", &[], &File(file))
}

fn trace(file: &str) -> Result<Scenario, Diagnostic> {
    with_workload("kind = \"trace\"\nfile = \"flows.csv\"\n", file)
}

fn cdf(file: &str) -> Result<Scenario, Diagnostic> {
    let workload = "kind = \"permutation\"\nsize = { cdf = \"sizes.csv\" }\n";
    with_workload(workload, file)
}

/// Returns a valid file with random replacements.
fn corrupted(good: &'static str) -> impl Strategy<Value = String> {
    let texts = "\\PC{0,12}|[0-9.eE+,-]{0,24}|(\r?\n){0,3}|NaN|inf|1e999|,,|-0";
    prop::collection::vec((0..=good.len(), 0_usize..20, texts), 0..4).prop_map(move |cuts| {
        let mut text = good.to_owned();
        for (start, length, with) in cuts {
            // Earlier replacements may have inserted longer characters.
            let boundary = |at: usize| {
                (0..=at.min(text.len()))
                    .rev()
                    .find(|&at| text.is_char_boundary(at))
                    .unwrap_or(0)
            };
            let (from, to) = (boundary(start), boundary(start + length));
            text.replace_range(from..to, &with);
        }
        text
    })
}

fn points_into(file: &str, error: &Diagnostic) -> Result<(), TestCaseError> {
    if error.file == "scenario.toml" {
        // The file is valid but has more hosts than this network.
        prop_assert!(
            error.message.ends_with(" hosts, the topology has 3"),
            "{error}"
        );
        return Ok(());
    }
    prop_assert!(error.line <= file.lines().count() + 1, "{error}");
    let line = error.source_line.chars().count();
    prop_assert!(error.column + error.width <= line + 2, "{error}");
    Ok(())
}

const TRACE: &str =
    "start_ns,source,destination,size_bytes,deadline_ns\n0,0,1,1000,\n10,2,1,1,5000\n10,1,0,9,1\n";
const CDF: &str = "# unit: bytes\nsize,probability\n1,0\n1000,0.5\n1000,0.7\n30000.5,1\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_trace_is_read_or_refused(file in prop_oneof![corrupted(TRACE), "\\PC{0,200}"]) {
        match trace(&file) {
            Err(error) => points_into(&file, &error)?,
            Ok(scenario) => {
                let WorkloadKind::Trace { flows } = &scenario.workloads[0].kind else { unreachable!("a trace was asked for") };
                prop_assert!(!flows.is_empty() && flows.is_sorted_by_key(|flow| flow.start));
                let fine = |ends: [u32; 2], bytes| ends[0] < 3 && ends[1] < 3 && ends[0] != ends[1] && bytes > 0;
                prop_assert!(flows.iter().all(|flow| fine([flow.source, flow.destination], flow.size.0)));
            }
        }
    }

    #[test]
    fn any_cdf_is_read_or_refused(file in prop_oneof![corrupted(CDF), "\\PC{0,200}"]) {
        match cdf(&file) {
            Err(error) => points_into(&file, &error)?,
            Ok(scenario) => {
                let WorkloadKind::Permutation { size: Size::Cdf { points, .. }, .. } = &scenario.workloads[0].kind else {
                    unreachable!("a CDF was asked for")
                };
                prop_assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
                let (first, last) = (points[0], points[points.len() - 1]);
                prop_assert!(first.1 >= 0.0 && (last.1 - 1.0).abs() < 1e-9 && last.0.is_finite() && first.0 >= 0.0);
            }
        }
    }
}

const SPANS: &str = r#"{"trace_id":"a","span_id":"1","start_ns":10,"duration_ns":90,"host":"x"}
{"trace_id":"a","span_id":"2","parent_id":"1","start_ns":20,"duration_ns":30,"response_bytes":9,"host":"y"}
{"traceId":"a","spanId":"3","parentSpanId":"2","startTimeUnixNano":"25","endTimeUnixNano":"40","host":"x","attributes":[{"key":"http.response.body.size","value":{"intValue":"7"}}]}
{"trace_id":"b","span_id":"1","start_ns":5,"end_ns":6,"host":"z"}
{"trace_id":"b","span_id":"2","parent_id":"1","start_ns":5,"end_ns":5,"response_bytes":1,"request_bytes":2,"host":"x"}
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_spans_are_read_or_refused(file in prop_oneof![corrupted(SPANS), "[{\\[]\\PC{0,200}"]) {
        match trace(&file) {
            Err(error) => points_into(&file, &error)?,
            Ok(scenario) => {
                let WorkloadKind::Spans(spans) = &scenario.workloads[0].kind else {
                    let is_json = file.trim_start().starts_with(['{', '[']);
                    prop_assert!(!is_json, "{file}");
                    return Ok(());
                };
                prop_assert!(spans.queries.is_sorted_by_key(|query| query.start));
                for query in &spans.queries {
                    let children: u32 = query.nodes.iter().map(|node| node.children).sum();
                    prop_assert!(children > 0 && children as usize + 1 == query.nodes.len());
                    for (position, node) in query.nodes.iter().enumerate().skip(1) {
                        let above = &query.nodes[node.parent as usize];
                        prop_assert!((node.parent as usize) < position);
                        prop_assert!(node.host.is_none() || node.host != above.host);
                    }
                }
            }
        }
    }
}

#[test]
fn valid_files_are_read() {
    let scenario = trace(SPANS).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        matches!(&scenario.workloads[0].kind, WorkloadKind::Spans(spans) if spans.queries.len() == 2)
    );
    trace(TRACE).unwrap_or_else(|error| panic!("{error}"));
    cdf(CDF).unwrap_or_else(|error| panic!("{error}"));
}
