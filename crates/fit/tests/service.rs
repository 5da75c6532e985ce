//! Fits of a simulated service to its spans, its flows as CSV and a capture of its roots' links. Each fit reproduces
//! sizes, fan-in, load and computation within 5 %, and the share of late queries within 2 points.

use duetime_core::{Rate, Span, Time};
use duetime_fit::{Fit, FitError, Known, Request, fit, spans};
use duetime_results::{Class, QueryRecord};
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, RunOutput, run};
use duetime_store::pcapng::{Packet, to_pcapng};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One or two roots with 12 leaves each on 16 hosts. The answers of a query occupy its root's link for 0.6 ms.
const SERVICE: &str = r#"
transport = ["TRANSPORT"]
duration = "3 s"
seed = 1
[topology]
kind = "star"
hosts = 16
link = { rate = "1 Gbps", latency = "5 us" }
[switch]
buffer = "BUFFER"
[[workload]]
kind = "oldi"
# The simulator's persistent connections carry one direction each, unlike those of a real capture.
connection = "per-flow"
trees = TREES
fan_in = 12
share_hosts = true
query = "300 B"
response = "uniform 2 KB..10 KB"
compute = "COMPUTE"
rate = "RATE"
deadline = "BUDGET"
deadline_from = "query"
objective = { within = "BUDGET", answers = 1, share = "99 %" }
[record]
pcap = LINKS
snap_length = "80 B"
"#;

const FAN_IN: f64 = 12.0;
const SIZE: f64 = 6_000.0;
/// Queries per second of each root.
const RATE: u32 = 500;
/// Load of each root's link by answers.
const LOAD: f64 = 500.0 * FAN_IN * SIZE * 8.0 / 1e9;

/// Parameters of a service.
#[derive(Clone, Copy)]
struct Kind {
    trees: u32,
    compute: &'static str,
    mean_compute_ns: f64,
    buffer: &'static str,
    budget: Span,
}

/// Service whose late queries are caused by computation.
const SLOW: Kind = Kind {
    trees: 2,
    compute: "exponential 1 ms",
    mean_compute_ns: 1e6,
    buffer: "4 MB",
    budget: Span::from_ms(5),
};
/// Service with short computations, so that answers seldom overtake each other. A capture with a connection per answer
/// does not identify its request.
const QUICK: Kind = Kind {
    trees: 2,
    compute: "exponential 100 us",
    mean_compute_ns: 1e5,
    buffer: "4 MB",
    budget: Span::from_us(1_500),
};
/// Service whose late queries are caused by drops. Without computation, the answers of a leaf do not overtake each
/// other.
const SHALLOW: Kind = Kind {
    trees: 1,
    compute: "0 us",
    mean_compute_ns: 0.0,
    buffer: "60 packets",
    budget: Span::from_ms(3),
};

fn service(transport: &str, kind: Kind, links: &[String]) -> RunOutput {
    let text = SERVICE.replace("TRANSPORT", transport);
    let text = text.replace("COMPUTE", kind.compute);
    let text = text.replace("BUDGET", &kind.budget.to_string());
    let text = text.replace("TREES", &kind.trees.to_string());
    let text = text.replace("RATE", &format!("{} /s", RATE * kind.trees));
    let text = text.replace("BUFFER", kind.buffer);
    let text = text.replace("LINKS", &format!("{links:?}"));
    let scenario =
        load(&text, "service.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 0, &Options::default()).unwrap()
}

/// Returns the share of late queries.
fn late(output: &RunOutput) -> f64 {
    let met: Vec<bool> = output
        .records
        .queries
        .iter()
        .filter_map(QueryRecord::met)
        .collect();
    met.iter().filter(|met| !**met).count() as f64 / met.len() as f64
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn request(transport: &str, kind: Kind) -> Request {
    Request {
        kind: None,
        burst: None,
        name: "fitted".to_owned(),
        known: Known {
            budget: Some(kind.budget),
            link: Some(Rate::from_gbps(1)),
            hosts: Some(16),
            buffer: Some(kind.buffer.to_owned()),
            other_load: None,
            transports: vec![transport.to_owned()],
        },
    }
}

fn fitted(name: &str, bytes: &[u8], request: &Request) -> Fit {
    let fit_result = fit(
        &file(name, bytes),
        request,
        &Arc::new(AtomicBool::new(false)),
        &|_, _| {},
    );
    fit_result.unwrap_or_else(|error| panic!("{error}"))
}

/// Compares a fit with the service of its input.
fn check(fit: &Fit, kind: Kind, late: f64) {
    let row = |name: &str| {
        let found = fit.rows.iter().find(|row| row.quantity == name);
        found.unwrap_or_else(|| panic!("no {name} in\n{}", fit.text))
    };
    for (name, expected) in [
        ("answer size, mean", SIZE),
        ("fan-in, mean", FAN_IN),
        ("queries per second", f64::from(RATE * kind.trees)),
        ("load of a root's link", LOAD),
        ("computation, mean", kind.mean_compute_ns),
    ] {
        let (input, fitted) = (row(name).input.unwrap(), row(name).fitted.unwrap());
        for side in [input, fitted] {
            // Hosts delay packets slightly, so a few microseconds of computation count as none.
            let tolerance = f64::max(0.05 * expected, 2e4 * f64::from(u8::from(expected == 0.0)));
            assert!(
                (side - expected).abs() < tolerance,
                "{name}: {side}, the service has {expected}\n{}\n{}",
                fit.text,
                fit.toml
            );
        }
    }
    let missed = row("missed share");
    assert!(
        (missed.input.unwrap() - late).abs() < 0.01,
        "{missed:?}, in the run {late}\n{}\n{}",
        fit.text,
        fit.toml
    );
    assert!(
        (missed.fitted.unwrap() - late).abs() < 0.02,
        "{missed:?}, in the run {late}\n{}\n{}",
        fit.text,
        fit.toml
    );
    // The share must not be trivial.
    assert!((0.03..0.5).contains(&late), "{late}");
    assert!(
        fit.answer
            .starts_with("The fitted scenario reproduces answer size, fan-in and load within 5"),
        "{}",
        fit.answer
    );
}

#[test]
fn spans_reproduce_the_service() {
    let output = service("dctcp", SLOW, &[]);
    let mut lines = Vec::new();
    let (written, skipped) = spans(&output.records, &mut lines).unwrap();
    assert_eq!((written, skipped), (output.records.queries.len() as u64, 0));
    check(
        &fitted("service.jsonl", &lines, &request("dctcp", SLOW)),
        SLOW,
        late(&output),
    );
}

/// Two layers below each of two roots on 40 hosts.
const LAYERS: &str = r#"
transport = ["dctcp"]
duration = "4 s"
seed = 1
[topology]
kind = "star"
hosts = 40
link = { rate = "10 Gbps", latency = "5 us" }
[[workload]]
kind = "oldi"
trees = 2
fan_in = [4, 6]
share_hosts = true
response = "uniform 2 KB..10 KB"
compute = "exponential 1 ms"
aggregate_compute = "exponential 200 us"
rate = "1000 /s"
deadline = "BUDGET"
deadline_from = "query"
give_up = "GIVE_UP"
objective = { within = "BUDGET", answers = 1, share = "99 %" }
"#;

/// Fits the exported spans of a service with two layers, and compares the missed shares of the run, its spans and the
/// fit.
fn check_layers(name: &str, give_up: &str, budget: Span) -> Fit {
    let text = LAYERS.replace("GIVE_UP", give_up);
    let text = text.replace("BUDGET", &budget.to_string());
    let scenario =
        load(&text, "layers.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    let output = run(&scenario, 0, 0, &Options::default()).unwrap();
    let mut lines = Vec::new();
    let (_, skipped) = spans(&output.records, &mut lines).unwrap();
    assert_eq!(skipped, 0);
    let mut request = request("dctcp", SLOW);
    request.known.budget = Some(budget);
    request.known.link = Some(Rate::from_gbps(10));
    request.known.hosts = Some(40);
    let fit = fitted(name, &lines, &request);
    let missed = fit.rows.iter().find(|row| row.quantity == "missed share");
    let missed = missed.unwrap();
    let late = late(&output);
    assert!((0.03..0.5).contains(&late), "{late}");
    assert!(
        (missed.input.unwrap() - late).abs() < 0.005,
        "{missed:?}, in the run {late}"
    );
    assert!(
        (missed.fitted.unwrap() - late).abs() < 0.02,
        "{missed:?}, in the run {late}"
    );
    assert!(fit.reproduces, "{}", fit.text);
    fit
}

#[test]
fn layers_that_wait_for_all_answers() {
    let fit = check_layers("patient.jsonl", "never", Span::from_ms(6));
    assert!(fit.toml.contains("give_up = \"never\""), "{}", fit.toml);
}

#[test]
fn layers_that_time_out_at_deadlines() {
    // Aggregators have half of the budget and answer without slower leaves.
    let fit = check_layers("hasty.jsonl", "children", Span::from_ms(11));
    let timeout = fit.toml.lines().find(|line| line.starts_with("give_up = "));
    let after = timeout.and_then(|line| line.split('"').nth(1)).unwrap();
    let after = duetime_scenario::parse_time(after).unwrap();
    assert!(
        (5_400..5_600).contains(&(after.as_ns() / 1_000)),
        "{after}, of 5.5 ms"
    );
}

#[test]
fn bad_fit_is_reported() {
    let output = service("dctcp", SLOW, &[]);
    // The table has no computation times, and all queries meet the budget.
    let mut csv = "query,client,server,start_ns,end_ns,bytes\n".to_owned();
    let flows = &output.records.flows;
    let starts = flows.iter().filter(|flow| flow.class == Class::Query);
    let starts: BTreeMap<_, _> = starts
        .map(|flow| ((flow.query, flow.source, flow.destination), flow.start))
        .collect();
    for answer in flows.iter().filter(|flow| flow.class == Class::Response) {
        let start = starts[&(answer.query, answer.destination, answer.source)];
        let _ = writeln!(
            csv,
            "{},h{},h{},{},{},{}",
            answer.query.unwrap(),
            answer.destination,
            answer.source,
            start.as_ns(),
            answer.finish.unwrap().as_ns(),
            answer.size_bytes
        );
    }
    let mut request = request("dctcp", SLOW);
    request.known.budget = Some(Span::from_ms(50));
    let fit = fitted("no-compute.csv", csv.as_bytes(), &request);
    assert!(!fit.reproduces);
    let begin = "The fitted scenario does not reproduce completion times (KS ";
    assert!(
        fit.answer.starts_with(begin) && fit.answer.contains("p50 -"),
        "{}",
        fit.answer
    );
    assert!(
        fit.text.contains("reason: the fit is too fast"),
        "{}",
        fit.text
    );
    assert!(fit.reasons[0].contains("compute_ns"), "{:?}", fit.reasons);
}

#[test]
fn flows_reproduce_the_service() {
    let output = service("tcp", SLOW, &[]);
    let mut csv =
        "workload,class,query,source,destination,size_bytes,start_ns,fct_ns,deadline_ns,attempt\n"
            .to_owned();
    for flow in &output.records.flows {
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let deadline = flow
            .deadline
            .map(|deadline| deadline.since(flow.start).as_ns());
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{},{},{},0",
            flow.workload,
            flow.class.name(),
            number(flow.query),
            flow.source,
            flow.destination,
            flow.size_bytes,
            flow.start.as_ns(),
            number(flow.completion().map(Span::as_ns)),
            number(deadline)
        );
    }
    check(
        &fitted("service-flows.csv", csv.as_bytes(), &request("tcp", SLOW)),
        SLOW,
        late(&output),
    );
}

#[test]
fn calls_without_queries_reproduce_the_service() {
    let output = service("dctcp", SLOW, &[]);
    // The log of a proxy: client, server, start, duration and size of the answer.
    let mut csv = "client,server,start_us,duration_us,response_bytes,compute_us\n".to_owned();
    let flows = &output.records.flows;
    let requests = flows.iter().filter(|flow| flow.class == Class::Query);
    let requests: BTreeMap<_, _> = requests
        .map(|flow| ((flow.query, flow.source, flow.destination), flow))
        .collect();
    for answer in flows.iter().filter(|flow| flow.class == Class::Response) {
        let request = requests[&(answer.query, answer.destination, answer.source)];
        let us = |from: Time, to: Time| to.since(from).as_secs_f64() * 1e6;
        let _ = writeln!(
            csv,
            "h{},h{},{:.3},{:.3},{},{:.3}",
            answer.destination,
            answer.source,
            us(Time::ZERO, request.start),
            us(request.start, answer.finish.unwrap()),
            answer.size_bytes,
            us(request.finish.unwrap(), answer.start)
        );
    }
    check(
        &fitted("service-calls.csv", csv.as_bytes(), &request("dctcp", SLOW)),
        SLOW,
        late(&output),
    );
}

/// Captures both directions of the roots' links.
fn capture(transport: &str, kind: Kind) -> (RunOutput, Vec<u8>) {
    let placed = service(transport, kind, &[]);
    let roots: BTreeSet<u32> = placed
        .records
        .queries
        .iter()
        .map(|query| query.root)
        .collect();
    // Take the switch's name from a port that leads to a root.
    let to_root = |link: &str| {
        roots
            .iter()
            .any(|root| link.ends_with(&format!("->host{root}")))
    };
    let mut ports = placed.records.ports.iter().map(|port| port.link.as_str());
    let port = ports.find(|link| to_root(link)).unwrap();
    let switch = port.split_once("->").unwrap().0;
    let links: Vec<String> = roots
        .iter()
        .flat_map(|root| {
            [
                format!("host{root}->{switch}"),
                format!("{switch}->host{root}"),
            ]
        })
        .collect();
    let output = service(transport, kind, &links);
    let names: Vec<String> = output
        .capture_links
        .iter()
        .map(|(_, name)| name.clone())
        .collect();
    let place = |link: u32| {
        output
            .capture_links
            .iter()
            .position(|(number, _)| *number == link)
            .unwrap()
    };
    let packets = output.captures.iter().map(|packet| Packet {
        link: u32::try_from(place(packet.link)).unwrap(),
        at: packet.at,
        original_bytes: packet.original_bytes,
        bytes: &packet.bytes,
    });
    let bytes = to_pcapng(&names, packets);
    (output, bytes)
}

#[test]
fn capture_reproduces_computation() {
    let (output, bytes) = capture("dctcp", QUICK);
    check(
        &fitted("quick.pcapng", &bytes, &request("dctcp", QUICK)),
        QUICK,
        late(&output),
    );
}

#[test]
fn capture_separates_queueing_from_computation() {
    let (output, bytes) = capture("dctcp", SHALLOW);
    check(
        &fitted("service.pcapng", &bytes, &request("dctcp", SHALLOW)),
        SHALLOW,
        late(&output),
    );

    // A capture that ends in the middle of a packet is an error that names the last complete one.
    let cut = file("cut.pcapng", &bytes[..=bytes.len() / 2]);
    let Err(FitError::Input(error)) = fit(
        &cut,
        &request("dctcp", SHALLOW),
        &Arc::new(AtomicBool::new(false)),
        &|_, _| {},
    ) else {
        panic!("a capture that ends in the middle is refused");
    };
    let error = error.to_string();
    assert!(
        error.contains("ends in the middle of a packet: after packet "),
        "{error}"
    );
    assert!(error.contains("cut.pcapng"), "{error}");
}
