//! Files of spans. Each gives a result, with a tree for each query, or an error that points into the text.

use duetime_scenario::model::WorkloadKind;
use duetime_scenario::{Sources, TraceRow, load};

const SCENARIO: &str = r#"transport = "tcp"
[topology]
kind = "star"
hosts = 5
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
kind = "trace"
file = "spans.jsonl"
"#;

/// File source that returns one file for every name.
struct File<'a>(&'a [u8]);

impl Sources for File<'_> {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Err("read as bytes".to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("not a Parquet file".to_owned())
    }

    fn read_bytes(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.to_vec())
    }
}

pub fn check(bytes: &[u8]) {
    match load(SCENARIO, "scenario.toml", &[], &File(bytes)) {
        Err(error) => {
            let line = error.source_line.chars().count();
            assert!(error.column + error.width <= line + 2, "{error}");
        }
        Ok(scenario) => {
            let WorkloadKind::Spans(spans) = &scenario.workloads[0].kind else {
                return;
            };
            assert!(spans.queries.is_sorted_by_key(|query| query.start));
            for query in &spans.queries {
                let children: u32 = query.nodes.iter().map(|node| node.children).sum();
                assert!(children > 0 && children as usize + 1 == query.nodes.len());
                for (position, node) in query.nodes.iter().enumerate().skip(1) {
                    let parent = node.parent as usize;
                    assert!(parent < position && node.response.0 > 0 && node.request.0 > 0);
                    assert!(node.host.is_none() || node.host != query.nodes[parent].host);
                }
            }
        }
    }
}
