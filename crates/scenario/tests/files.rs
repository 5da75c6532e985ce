//! Valid trace, CDF and span files are read. The harnesses in `fuzz/` check invalid ones.

use duetime_scenario::model::{Scenario, WorkloadKind};
use duetime_scenario::{Diagnostic, Sources, TraceRow, load};

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

const TRACE: &str =
    "start_ns,source,destination,size_bytes,deadline_ns\n0,0,1,1000,\n10,2,1,1,5000\n10,1,0,9,1\n";
const CDF: &str = "# unit: bytes\nsize,probability\n1,0\n1000,0.5\n1000,0.7\n30000.5,1\n";

const SPANS: &str = r#"{"trace_id":"a","span_id":"1","start_ns":10,"duration_ns":90,"host":"x"}
{"trace_id":"a","span_id":"2","parent_id":"1","start_ns":20,"duration_ns":30,"response_bytes":9,"host":"y"}
{"traceId":"a","spanId":"3","parentSpanId":"2","startTimeUnixNano":"25","endTimeUnixNano":"40","host":"x","attributes":[{"key":"http.response.body.size","value":{"intValue":"7"}}]}
{"trace_id":"b","span_id":"1","start_ns":5,"end_ns":6,"host":"z"}
{"trace_id":"b","span_id":"2","parent_id":"1","start_ns":5,"end_ns":5,"response_bytes":1,"request_bytes":2,"host":"x"}
"#;

#[test]
fn valid_files_are_read() {
    let scenario = trace(SPANS).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        matches!(&scenario.workloads[0].kind, WorkloadKind::Spans(spans) if spans.queries.len() == 2)
    );
    trace(TRACE).unwrap_or_else(|error| panic!("{error}"));
    cdf(CDF).unwrap_or_else(|error| panic!("{error}"));
}
