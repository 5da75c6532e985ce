//! Replay of recorded queries with the recorded starts, fan-in at every node, sizes and computation times.

use duetime_core::{Span, Time};
use duetime_results::{Class, FlowRecord, QueryRecord, RunRecords, digest};
use duetime_scenario::model::Scenario;
use duetime_scenario::{Sources, TraceRow, load};
use duetime_sim::Options;
use std::collections::BTreeMap;
use std::fmt::Write;

const HOSTS: u64 = 64;
const QUERIES: u64 = 1_000;

struct File(String);

impl Sources for File {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("not a Parquet file".to_owned())
    }
}

/// Recorded node with the values that its replay must have.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    host: u32,
    request: u64,
    response: u64,
    /// Time during which none of its children is active.
    own_time: Span,
    /// Start and end on the recording's clock, in ns.
    span: (u64, u64),
}

/// Portable generator of small pseudo-random numbers (Knuth's multiplicative generator).
struct Numbers(u64);

impl Numbers {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) % (high - low + 1)
    }
}

/// Returns a query's nodes, all on different hosts; every third query has a second layer.
fn query(number: u64) -> Vec<Node> {
    let mut draw = Numbers(number);
    let root_start = 1_700_000_000_000_000_000 + number * 150_000 + draw.between(0, 99_999);
    let fan_in = 1 + number % 40;
    let deep = number.is_multiple_of(3);
    let mut hosts = (0..HOSTS).map(|host| ((number * 7 + host * 11) % HOSTS) as u32);
    let mut host = || hosts.next().expect("more hosts than nodes");
    let mut nodes = vec![Node {
        parent: None,
        host: host(),
        request: 0,
        response: 0,
        own_time: Span::ZERO,
        span: (root_start, root_start + 50_000_000),
    }];
    let mut left = HOSTS - 1 - fan_in;
    for _ in 0..fan_in {
        let start = root_start + draw.between(100, 9_999);
        let children = if deep {
            draw.between(0, 6).min(left)
        } else {
            0
        };
        left -= children;
        let position = nodes.len();
        let own_time = draw.between(10_000, 400_000);
        let longest = if children > 0 { 300_000 } else { 0 };
        nodes.push(Node {
            parent: Some(0),
            host: host(),
            request: draw.between(100, 2_000),
            response: draw.between(1, 20_000),
            own_time: Span::from_ns(own_time),
            span: (start, start + own_time + longest),
        });
        // The children run within the same 300 us, which the first one fills.
        for child in 0..children {
            let from = start + own_time / 2;
            let (skip, duration) = if child == 0 {
                (0, longest)
            } else {
                (draw.between(0, 100_000), draw.between(0, 200_000))
            };
            nodes.push(Node {
                parent: Some(position),
                host: host(),
                request: draw.between(100, 2_000),
                response: draw.between(1, 20_000),
                own_time: Span::from_ns(duration),
                span: (from + skip, from + skip + duration),
            });
        }
    }
    nodes
}

/// Returns the queries' spans as shuffled lines, alternately in OTLP and the short format.
fn lines(queries: &[Vec<Node>]) -> String {
    let mut lines = Vec::new();
    for (number, nodes) in queries.iter().enumerate() {
        for (position, node) in nodes.iter().enumerate() {
            let (start, end) = node.span;
            let mut line = String::new();
            if number % 2 == 0 {
                let parent = node.parent.map_or("\"\"".to_owned(), |parent| format!("\"s{parent}\""));
                write!(
                    line,
                    "{{\"traceId\":\"t{number}\",\"spanId\":\"s{position}\",\"parentSpanId\":{parent},\
                     \"name\":\"get\",\"startTimeUnixNano\":\"{start}\",\"endTimeUnixNano\":\"{end}\",\"attributes\":[\
                     {{\"key\":\"http.request.body.size\",\"value\":{{\"intValue\":\"{}\"}}}},\
                     {{\"key\":\"http.response.body.size\",\"value\":{{\"intValue\":\"{}\"}}}},\
                     {{\"key\":\"host.name\",\"value\":{{\"stringValue\":\"h{:02}\"}}}}]}}",
                    node.request.max(1), node.response.max(1), node.host
                )
            } else {
                let parent = node.parent.map_or("null".to_owned(), |parent| format!("\"s{parent}\""));
                write!(
                    line,
                    "{{\"trace_id\": \"t{number}\", \"span_id\": \"s{position}\", \"parent_id\": {parent}, \
                     \"start_ns\": {start}, \"duration_ns\": {}, \"request_bytes\": {}, \"response_bytes\": {}, \
                     \"host\": \"h{:02}\"}}",
                    end - start, node.request.max(1), node.response.max(1), node.host
                )
            }
            .expect("writing to a string");
            lines.push(line);
        }
    }
    // A stride coprime to the number of lines visits each of them once.
    let stride = (7_920..8_920).find(|step| gcd(*step, lines.len()) == 1);
    let stride = stride.expect("a coprime stride");
    let mut file = String::new();
    for index in 0..lines.len() {
        file.push_str(&lines[index * stride % lines.len()]);
        file.push_str("\r\n");
    }
    file
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn scenario(more: &str, file: String) -> Scenario {
    let text = format!(
        "transport = \"dctcp\"\ndrain = \"20 s\"\n[topology]\nkind = \"star\"\nhosts = {HOSTS}\n\
         link = {{ rate = \"10 Gbps\", latency = \"5 us\" }}\n[host]\nstart_jitter = false\n\
         [[workload]]\nkind = \"trace\"\nfile = \"spans.jsonl\"\n{more}"
    );
    load(&text, "spans.toml", &[], &File(file)).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario, threads: usize) -> RunRecords {
    let options = Options {
        threads,
        ..Options::default()
    };
    let output = duetime_sim::run(scenario, 0, 0, &options);
    output.expect("a valid scenario").records
}

/// Returns the flows of a query by class, source and destination.
fn flows_of<'r>(
    records: &'r RunRecords,
    query: &QueryRecord,
) -> BTreeMap<(Class, u32, u32), &'r FlowRecord> {
    let flows = records
        .flows
        .iter()
        .filter(|flow| flow.query == Some(query.query));
    flows
        .map(|flow| ((flow.class, flow.source, flow.destination), flow))
        .collect()
}

#[test]
fn thousand_recorded_queries_replay_exactly() {
    let mut queries: Vec<Vec<Node>> = (0..QUERIES).map(query).collect();
    let records = run(&scenario("", lines(&queries)), 1);
    queries.sort_by_key(|nodes| nodes[0].span.0);
    let first = queries[0][0].span.0;
    assert_eq!(records.queries.len(), queries.len());
    let requests: usize = queries.iter().map(|nodes| nodes.len() - 1).sum();
    assert_eq!(records.flows.len(), 2 * requests);
    let (mut deep, mut widest) = (0, 0);
    for (nodes, query) in queries.iter().zip(&records.queries) {
        let children = |parent: usize| {
            nodes
                .iter()
                .filter(|node| node.parent == Some(parent))
                .count()
        };
        let leaves = (1..nodes.len()).filter(|&node| children(node) == 0).count();
        assert_eq!(query.root, nodes[0].host);
        assert_eq!(
            query.start,
            Time::ZERO + Span::from_ns(nodes[0].span.0 - first)
        );
        assert_eq!(query.children as usize, children(0));
        assert_eq!(
            (query.asked as usize, query.leaves as usize),
            (nodes.len() - 1, leaves)
        );
        assert_eq!(
            (query.answered, query.leaves_answered),
            (query.children, query.leaves)
        );
        deep += usize::from(nodes.iter().any(|node| node.parent > Some(0)));
        widest = widest.max(children(0));
        let flows = flows_of(&records, query);
        assert_eq!(
            flows.len(),
            2 * (nodes.len() - 1),
            "each node should have a request and an answer"
        );
        let mut ready = vec![Time::ZERO; nodes.len()];
        for position in (1..nodes.len()).rev() {
            let node = &nodes[position];
            let parent = nodes[node.parent.expect("not the root")].host;
            let down = flows[&(Class::Query, parent, node.host)];
            let up = flows[&(Class::Response, node.host, parent)];
            assert_eq!(
                (down.size_bytes, up.size_bytes),
                (node.request, node.response)
            );
            // Children come after their parents, so the last of their answers is known here.
            let started = ready[position].max(down.finish.expect("losses are repaired"));
            assert_eq!(up.start, started + node.own_time, "{node:?}");
            let finished = up.finish.expect("losses are repaired");
            let parent_ready = &mut ready[node.parent.expect("not the root")];
            *parent_ready = finished.max(*parent_ready);
            let expected_start = match node.parent {
                Some(0) => query.start,
                Some(parent) => {
                    let (from, to) = (nodes[0].host, nodes[parent].host);
                    flows[&(Class::Query, from, to)]
                        .finish
                        .expect("losses are repaired")
                }
                None => unreachable!("not the root"),
            };
            assert_eq!(
                down.start, expected_start,
                "children should receive requests at once"
            );
        }
        assert_eq!(query.complete, Some(ready[0]));
    }
    assert_eq!(widest, 40);
    assert!(deep > 300, "{deep} queries of two layers");
}

#[test]
fn replays_ignore_the_number_of_threads() {
    let queries: Vec<Vec<Node>> = (0..200).map(query).collect();
    let more = "hosts = \"random\"\nobjective = { within = \"1 ms\" }\ndeadline = \"2 ms\"\ngive_up = \"own\"\n";
    let scenario = scenario(more, lines(&queries));
    let one = run(&scenario, 1);
    assert_eq!(digest(&one), digest(&run(&scenario, 2)));
    assert!(
        one.queries
            .iter()
            .all(|query| query.judged && query.due.is_some())
    );
    // Drawn hosts differ from query to query, and no host sends a request to itself.
    assert!(one.flows.iter().all(|flow| flow.source != flow.destination));
    let roots: std::collections::BTreeSet<u32> =
        one.queries.iter().map(|query| query.root).collect();
    assert!(roots.len() > 50, "{} roots", roots.len());
}

#[test]
fn scenarios_set_deadlines_and_answer_shares() {
    let node = |id: &str, parent: &str, start: u64, duration_ns: u64| {
        format!(
            "{{\"trace_id\": \"a\", \"span_id\": \"{id}\", \"parent_id\": \"{parent}\", \"start_ns\": {start}, \
             \"duration_ns\": {duration_ns}, \"response_bytes\": 1000}}\n"
        )
    };
    // A root with a leaf child and an aggregator of two leaves.
    let file = [
        node("1", "", 0, 900_000),
        node("2", "1", 10, 5_000),
        node("3", "1", 20, 800_000),
        node("4", "3", 1_020, 600_000),
        node("5", "3", 2_020, 700_000),
    ]
    .concat();
    let more = "deadline = \"4 ms\"\nobjective = { within = \"3 ms\", answers = 0.5 }\n";
    let records = run(&scenario(more, file), 1);
    let [query] = &records.queries[..] else {
        panic!("one query");
    };
    assert_eq!((query.children, query.leaves, query.needed), (2, 3, 2));
    assert_eq!(query.due, Some(Time::ZERO + Span::from_ms(3)));
    let answers = records
        .flows
        .iter()
        .filter(|flow| flow.class == Class::Response);
    let mut allowed: Vec<u64> = answers
        .filter_map(|flow| Some(flow.deadline?.since(flow.start).as_ns()))
        .collect();
    allowed.sort_unstable();
    // With two layers, answers to the root get the whole deadline and those below half of it.
    assert_eq!(allowed, [2_000_000, 2_000_000, 4_000_000, 4_000_000]);
}
