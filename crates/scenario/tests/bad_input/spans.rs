//! Errors of files of spans.

use super::traces::{InFolder, TRACE};
use duetime_scenario::model::{RecordedNode, Spans, WorkloadKind};
use duetime_scenario::{Diagnostic, Sources, TraceRow, load};

/// Example of a span.
const EXAMPLE: &str = r#"one span per line, such as {"trace_id": "a", "span_id": "2", "parent_id": "1", "start_ns": 0, "duration_ns": 250000, "response_bytes": 10000}"#;

/// File of these lines.
struct Lines(String);

impl Sources for Lines {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("no Parquet file".to_owned())
    }
}

/// Returns a span of trace "a" from 100 to 150 ns, with additional fields.
fn span(id: &str, parent: &str, more: &str) -> String {
    format!(
        r#"{{"trace_id": "a", "span_id": "{id}", "parent_id": "{parent}", "start_ns": 100, "duration_ns": 50, "response_bytes": 10{more}}}"#
    )
}

/// Returns the root of trace "a".
fn root() -> String {
    span("1", "", "")
}

fn read(lines: &[String], more: &str) -> Result<Spans, Diagnostic> {
    let scenario = format!("{TRACE}{more}");
    let scenario = load(&scenario, "search.toml", &[], &Lines(lines.join("\n")))?;
    match &scenario.workloads[0].kind {
        WorkloadKind::Spans(spans) => Ok(spans.clone()),
        other => panic!("not spans: {other:?}"),
    }
}

/// Checks position and message of an error, and the allowed values.
#[track_caller]
fn assert_error(lines: &[String], error_text: &str, allowed: &str) {
    let error = read(lines, "").expect_err("a mistake");
    let shown = error.to_string();
    let first = shown.lines().next().unwrap_or_default();
    assert_eq!(
        (first, error.allowed.as_deref()),
        (error_text, Some(allowed))
    );
}

#[test]
fn spans_must_be_trees() {
    assert_error(
        &[root(), span("2", "3", ""), span("3", "2", "")],
        r#"flows.csv:2:35: parent_id = "3": the span is among its own ancestors: a cycle"#,
        "parents that lead up to the root of the trace",
    );
    assert_error(
        &[root(), span("2", "2", "")],
        r#"flows.csv:2:35: parent_id = "2": the span is among its own ancestors: a cycle"#,
        "parents that lead up to the root of the trace",
    );
    assert_error(
        &[span("2", "3", ""), span("3", "2", "")],
        r#"flows.csv:1:35: parent_id = "3": the span is among its own ancestors: a cycle"#,
        "parents that lead up to the root of the trace",
    );
    assert_error(
        &[root(), span("2", "9", "")],
        r#"flows.csv:2:35: parent_id = "9": no span of trace "a" has this identifier"#,
        "the identifier of another span of the trace; for its root, none",
    );
    assert_error(&[root(), r#"{"trace_id": "b", "span_id": "2", "parent_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], r#"flows.csv:2:35: parent_id = "1": no span of trace "b" has this identifier"#, "the identifier of another span of the trace; for its root, none");
    assert_error(
        &[root(), span("2", "1", ""), span("2", "1", "")],
        r#"flows.csv:3:19: span_id = "2": twice in its trace, first in line 2"#,
        "each span of a trace once",
    );
    assert_error(
        &[root(), span("2", "1", ""), span("3", "", "")],
        r#"flows.csv:3:19: span_id = "3": a second root of trace "a": line 1 has no parent either"#,
        "one span without a parent in each trace",
    );
    assert_error(
        &[root()],
        r#"flows.csv:1:19: span_id = "1": the root of a trace has no request to another host below it"#,
        "at least one span below a root, on another host",
    );
    assert_error(
        &[
            span("1", "", r#", "host": "x""#),
            span("2", "1", r#", "host": "x""#),
        ],
        r#"flows.csv:1:19: span_id = "1": the root of a trace has no request to another host below it"#,
        "at least one span below a root, on another host",
    );
}

#[test]
fn invalid_times() {
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 100, "response_bytes": 10, "end_ns": 99}"#.to_owned()], "flows.csv:1:74: end_ns = 99: before the span's start, 100: its duration is negative", "the start or later");
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 100, "duration_ns": -5, "response_bytes": 10}"#.to_owned()], "flows.csv:1:52: duration_ns = -5: not a whole number in range", "a whole number of ns, 0 to 86400000000000, with or without quotes");
    assert_error(
        &[span("1", "", r#", "end_ns": 200"#)],
        "flows.csv:1:69: duration_ns = 50: set together with the span's end",
        "one of the end and the duration",
    );
    assert_error(
        &[
            r#"{"trace_id": "a", "span_id": "1", "start_ns": 100, "response_bytes": 10}"#
                .to_owned(),
        ],
        "flows.csv:1:1: a span without one of `endTimeUnixNano`, `end_ns`, `duration_ns`",
        EXAMPLE,
    );
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 100, "duration_ns": 86400000000001, "response_bytes": 10}"#.to_owned()], "flows.csv:1:52: duration_ns = 86400000000001: out of range", "a whole number of ns, 0 to 86400000000000, with or without quotes");
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": "soon", "duration_ns": 50, "response_bytes": 10}"#.to_owned()], r#"flows.csv:1:35: start_ns = "soon": not a whole number in range"#, "a whole number of ns, 0 to 18446744073709551615, with or without quotes");
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 18446744073709551616, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], "flows.csv:1:35: start_ns = 1.8446744073709552e+19: not a whole number in range", "a whole number of ns, 0 to 18446744073709551615, with or without quotes");
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 18446744073709551615, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], "flows.csv:1:69: duration_ns = 50: the span ends too late", "an end of at most 18446744073709551615 ns");
    assert_error(&[r#"{"trace_id": "a", "span_id": "1", "start_ns": 1.5, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], "flows.csv:1:35: start_ns = 1.5: not a whole number in range", "a whole number of ns, 0 to 18446744073709551615, with or without quotes");
    assert_error(&[root(), span("2", "1", ""), r#"{"trace_id": "b", "span_id": "1", "start_ns": 86400000000101, "duration_ns": 50, "response_bytes": 10}"#.to_owned(), r#"{"trace_id": "b", "span_id": "2", "parent_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], "flows.csv:3:35: start_ns = 86400000000101: 86400000000001 ns after the first root", "roots within 24 hours");
}

#[test]
fn invalid_sizes() {
    assert_error(&[root(), r#"{"trace_id": "a", "span_id": "2", "parent_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 0}"#.to_owned()], "flows.csv:2:89: response_bytes = 0: out of range", "a whole number of bytes, 1 to 1000000000000, with or without quotes");
    assert_error(&[root(), r#"{"trace_id": "a", "span_id": "2", "parent_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 1000000000001}"#.to_owned()], "flows.csv:2:89: response_bytes = 1000000000001: out of range", "a whole number of bytes, 1 to 1000000000000, with or without quotes");
    assert_error(
        &[root(), span("2", "1", r#", "request_bytes": "1000000001""#)],
        r#"flows.csv:2:111: request_bytes = "1000000001": out of range"#,
        "a whole number of bytes, 1 to 1000000000, with or without quotes",
    );
    assert_error(&[root(), r#"{"trace_id": "a", "span_id": "2", "parent_id": "1", "start_ns": 100, "duration_ns": 50}"#.to_owned()], "flows.csv:2:1: a request without the bytes of its answer", "`response_bytes` or the attribute `http.response.body.size` of 1 B to 1000 GB");
}

#[test]
fn invalid_names() {
    assert_error(
        &[
            r#"{"span_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 10}"#
                .to_owned(),
        ],
        "flows.csv:1:1: a span without one of `traceId`, `trace_id`",
        EXAMPLE,
    );
    assert_error(&[r#"{"trace_id": 7, "span_id": "1", "start_ns": 100, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], "flows.csv:1:2: trace_id = 7: not a text", "a text of 1 to 256 bytes");
    assert_error(&[r#"{"trace_id": "a", "span_id": "", "start_ns": 100, "duration_ns": 50, "response_bytes": 10}"#.to_owned()], r#"flows.csv:1:19: span_id = "": empty or too long"#, "a text of 1 to 256 bytes");
    assert_error(
        &[span("1", "", r#", "host": "x""#), span("2", "1", "")],
        "flows.csv:2:1: a span without a host, while other spans have one",
        "`host` or `service` in every span, or in none",
    );
    assert_error(
        &[
            span("1", "", r#", "host": "a""#),
            span("2", "1", r#", "host": "b""#),
            span("3", "1", r#", "host": "c""#),
            span("4", "1", r#", "host": "d""#),
        ],
        r#"search.toml:8:8: workload.file = "flows.csv": its spans name 4 hosts, the topology has 3"#,
        r#"at most 3 names, or `hosts = "random"`"#,
    );
}

#[test]
fn contradictory_objectives() {
    let lines = [root(), span("2", "1", "")];
    for (keys, error_text, allowed) in [
        (
            "complete_at = 0.9\nobjective = { within = \"5 ms\", answers = 0.95 }\n",
            "a query is complete with 0.9 of its answers (`complete_at`), but the objective requires more",
            "at most `complete_at`: 0.9",
        ),
        (
            "objective = { share = 0.99 }\n",
            "queries have neither a budget nor deadlines",
            "together with `within`, or a `deadline` of the answers",
        ),
    ] {
        let error = read(&lines, keys).expect_err("a contradiction");
        assert_eq!(
            (error.message.as_str(), error.allowed.as_deref()),
            (error_text, Some(allowed))
        );
        assert_eq!(error.file, "search.toml");
    }
    read(
        &lines,
        "deadline = \"2 ms\"\nobjective = { share = 0.99 }\n",
    )
    .expect("a deadline says it");
}

#[test]
fn invalid_lines() {
    assert_error(
        &[span("1", "", r#", "traceId": "a""#)],
        "flows.csv:1:118: duplicate field `traceId`",
        "each field once, with one of its names",
    );
    assert_error(
        &[root(), r#"{"trace_id": "#.to_owned()],
        "flows.csv:2:12: not a JSON object: EOF while parsing a value",
        EXAMPLE,
    );
    assert_error(
        &[root(), "7".to_owned()],
        "flows.csv:2:1: not a JSON object",
        EXAMPLE,
    );
    assert_error(
        &["[{}]".to_owned()],
        "flows.csv:1:1: not a JSON object",
        EXAMPLE,
    );
    assert_error(
        &[r#"{"resourceSpans": [{"scopeSpans": []}]}"#.to_owned()],
        "flows.csv:1:2: a line with many spans",
        EXAMPLE,
    );
    assert_error(
        &[span("1", "", r#", "attributes": 7"#)],
        "flows.csv:1:110: invalid type: integer `7`, expected a sequence",
        r#"attributes as in OTLP: [{"key": "…", "value": {"intValue": "…"}}]"#,
    );
}

#[test]
fn trees_are_bounded() {
    let chain = |links: u32| -> Vec<String> {
        let below = (1..=links).map(|link| span(&(link + 1).to_string(), &link.to_string(), ""));
        std::iter::once(root()).chain(below).collect()
    };
    assert_error(
        &chain(33),
        r#"flows.csv:34:19: span_id = "34": a tree that is too deep"#,
        "at most 32 requests below each other",
    );
    assert_eq!(read(&chain(32), "").unwrap().queries[0].nodes.len(), 33);
    let wide = |requests: u32| -> Vec<String> {
        let below = (0..requests).map(|child| span(&format!("c{child}"), "1", ""));
        std::iter::once(root()).chain(below).collect()
    };
    assert_error(
        &wide(100_001),
        r#"flows.csv:1:19: span_id = "1": 100001 requests of one span"#,
        "at most 100000",
    );
}

#[test]
fn deep_chains_are_read_quickly() {
    // All spans are on one host, so there is no request.
    let links = 1..200_000;
    let one = |link: u32| {
        let parent = if link == 1 {
            String::new()
        } else {
            (link - 1).to_string()
        };
        span(&link.to_string(), &parent, r#", "host": "x""#)
    };
    let lines: Vec<String> = links.map(one).collect();
    let error = read(&lines, "").unwrap_err();
    assert!(
        error.message.contains("no request to another host"),
        "{error}"
    );
}

/// Returns a node with this computation, duration of its span, and time until the end of its last request.
fn node(
    parent: u32,
    children: u32,
    host: Option<u32>,
    compute_ns: u64,
    (took_ns, waited_ns): (u64, u64),
) -> RecordedNode {
    use duetime_core::{Bytes, Span};
    RecordedNode {
        parent,
        children,
        host,
        request: Bytes(1_000),
        response: Bytes(if children > 0 && parent == 0 && host == Some(0) {
            0
        } else {
            10
        }),
        compute: Span::from_ns(compute_ns),
        took: Span::from_ns(took_ns),
        waited: Span::from_ns(waited_ns),
        network: None,
    }
}

#[test]
fn trace_becomes_a_tree_of_requests() {
    let line = |id: &str, parent: &str, host: &str, start: u64, end: u64| {
        format!(
            r#"{{"trace_id": "a", "span_id": "{id}", "parent_id": "{parent}", "start_ns": {start}, "end_ns": {end}, "response_bytes": 10, "service": "{host}"}}"#
        )
    };
    // Children are sorted by their start. Span 3 is work on the root's own host, so its requests are requests of the
    // root. Span 5 overlaps span 4 and ends after the root.
    let lines = [
        line("5", "3", "b", 1_400, 2_100),
        line("1", "", "a", 1_000, 2_000),
        line("4", "3", "c", 1_200, 1_500),
        line("3", "1", "a", 1_100, 1_600),
        line("6", "4", "b", 1_250, 1_300),
    ];
    let spans = read(&lines, "").unwrap();
    let [query] = &spans.queries[..] else {
        panic!("one query")
    };
    let expected = [
        // 1000 to 1200; after that, a request is outstanding until the end.
        node(0, 2, Some(0), 200, (1_000, 1_100)),
        node(0, 1, Some(2), 250, (300, 100)),
        node(0, 0, Some(1), 700, (700, 0)),
        node(1, 0, Some(1), 50, (50, 0)),
    ];
    assert_eq!(query.nodes, expected);
    assert_eq!(spans.outside, 1, "span 5 ends after the root");
    let drawn = read(&lines, "hosts = \"random\"\nquery = \"2 KB\"\n").unwrap();
    assert!(
        drawn.queries[0]
            .nodes
            .iter()
            .all(|node| node.host.is_none() && node.request.0 == 2_000)
    );
}

#[test]
fn client_spans_time_their_requests() {
    let line = |id: &str, parent: &str, host: &str, start: u64, end: u64, more: &str| {
        format!(
            r#"{{"trace_id": "a", "span_id": "{id}", "parent_id": "{parent}", "start_ns": {start}, "end_ns": {end}, "response_bytes": 10, "host": "{host}"{more}}}"#
        )
    };
    let of = |kind: &str| {
        let client = format!(", \"kind\": {kind}");
        let lines = [
            line("1", "", "a", 1_000, 2_000, ""),
            line("2", "1", "a", 1_050, 1_900, &client),
            line("3", "2", "b", 1_100, 1_700, ", \"kind\": 2"),
            line("4", "3", "b", 1_150, 1_750, &client),
            line("5", "4", "c", 1_200, 1_650, ""),
        ];
        read(&lines, "").unwrap().queries[0].nodes.clone()
    };
    for kind in ["3", "\"SPAN_KIND_CLIENT\""] {
        // The request to "c" starts at 1,150, and its answer arrives 50 ns after the end of span 3.
        let mut expected = [
            node(0, 1, Some(0), 150, (1_000, 900)),
            node(0, 1, Some(1), 50, (600, 650)),
            node(1, 0, Some(2), 450, (450, 0)),
        ];
        expected[1].network = Some(duetime_core::Span::from_ns(250));
        expected[2].network = Some(duetime_core::Span::from_ns(150));
        assert_eq!(of(kind), expected);
    }
    // Spans within a host are not requests.
    let expected = [
        node(0, 1, Some(0), 400, (1_000, 700)),
        node(0, 1, Some(1), 150, (600, 550)),
        node(1, 0, Some(2), 450, (450, 0)),
    ];
    assert_eq!(of("1"), expected);
}

#[test]
fn keys_of_spans_need_spans() {
    let csv = || Lines("start_ns,source,destination,size_bytes\n1,0,1,10\n".to_owned());
    let with = |key: &str| load(&format!("{TRACE}{key}\n"), "search.toml", &[], &csv());
    let error = with("objective = { within = \"1 ms\" }")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("workload.objective")
            && error.contains("for spans, but the file holds flows"),
        "{error}"
    );
    assert!(
        error.ends_with("allowed: no such key for a file of flows"),
        "{error}"
    );
    assert!(with("").is_ok());
}

#[test]
fn keys_of_spans_are_checked() {
    let error_text = |more: &str| {
        let error = read(&[root(), span("2", "1", "")], more).unwrap_err();
        (
            error.key.clone(),
            error.message.clone(),
            error.allowed.clone().unwrap_or_default(),
        )
    };
    let (key, message, allowed) = error_text("objective = { within = [\"1 ms\", \"2 ms\"] }\n");
    assert_eq!(
        (&key[..], &message[..]),
        (
            "workload.objective.within",
            "several budgets for one application"
        )
    );
    assert_eq!(allowed, "one time");
    let (key, message, allowed) = error_text("hosts = \"named\"\n");
    assert_eq!(
        (&key[..], &message[..]),
        ("workload.hosts", "no span names its host")
    );
    assert_eq!(
        allowed,
        "\"random\", or a file whose spans have `host` or `service`"
    );
    let (key, _, allowed) = error_text("hosts = \"drawn\"\n");
    assert_eq!(
        (&key[..], &allowed[..]),
        ("workload.hosts", "\"named\", \"random\"")
    );
    let (key, _, allowed) = error_text("give_up = \"soon\"\n");
    assert_eq!(key, "workload.give_up");
    assert_eq!(
        allowed,
        "\"children\", \"own\", \"never\", or a time such as \"5 ms\""
    );
}

#[test]
fn invalid_utf8() {
    let error_text = load(
        TRACE,
        "search.toml",
        &[],
        &InFolder(b"\xef\xbb\xbf{}\r\n{\xff}\r\n"),
    );
    let error_text = error_text.unwrap_err().to_string();
    assert!(
        error_text.starts_with("data/flows.csv:2:2: not UTF-8: byte 0xff"),
        "{error_text}"
    );
}
