//! A service made by the simulator, fitted from what it leaves: spans, its flows as CSV, and a capture of the links of its
//! roots. Each gives back sizes, fan-in, load and computation within 5 %, and the share of late queries within 2 points.

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

/// One root or two, 12 leaves each, on 16 hosts: the answers of a query alone take 0.6 ms of its root's link.
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
# Of connections that are kept the simulator has one for each direction, where a capture shows one for both.
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
/// Of answers on the link of each root.
const LOAD: f64 = 500.0 * FAN_IN * SIZE * 8.0 / 1e9;

/// What differs between services.
#[derive(Clone, Copy)]
struct Kind {
    trees: u32,
    compute: &'static str,
    mean_compute_ns: f64,
    buffer: &'static str,
    budget: Span,
}

/// Late for what leaves compute.
const SLOW: Kind = Kind {
    trees: 2,
    compute: "exponential 1 ms",
    mean_compute_ns: 1e6,
    buffer: "4 MB",
    budget: Span::from_ms(5),
};
/// The same, with answers that seldom overtake each other: a capture in which each has a connection of its own does not tell
/// which request it is to.
const QUICK: Kind = Kind {
    trees: 2,
    compute: "exponential 100 us",
    mean_compute_ns: 1e5,
    buffer: "4 MB",
    budget: Span::from_us(1_500),
};
/// Late for what the network drops. Answers of one leaf do not overtake each other by computing.
const SHALLOW: Kind = Kind {
    trees: 1,
    compute: "0 us",
    mean_compute_ns: 0.0,
    buffer: "60 packets",
    budget: Span::from_ms(3),
};

fn service(transport: &str, of: Kind, links: &[String]) -> RunOutput {
    let text = SERVICE.replace("TRANSPORT", transport);
    let text = text.replace("COMPUTE", of.compute);
    let text = text.replace("BUDGET", &of.budget.to_string());
    let text = text.replace("TREES", &of.trees.to_string());
    let text = text.replace("RATE", &format!("{} /s", RATE * of.trees));
    let text = text.replace("BUFFER", of.buffer);
    let text = text.replace("LINKS", &format!("{links:?}"));
    let scenario =
        load(&text, "service.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 0, &Options::default()).unwrap()
}

/// The share of its queries that were late.
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

fn request(transport: &str, of: Kind) -> Request {
    Request {
        kind: None,
        burst: None,
        name: "fitted".to_owned(),
        known: Known {
            budget: Some(of.budget),
            link: Some(Rate::from_gbps(1)),
            hosts: Some(16),
            buffer: Some(of.buffer.to_owned()),
            other_load: None,
            transports: vec![transport.to_owned()],
        },
    }
}

fn fitted(name: &str, bytes: &[u8], request: &Request) -> Fit {
    let made = fit(
        &file(name, bytes),
        request,
        &Arc::new(AtomicBool::new(false)),
        &|_, _| {},
    );
    made.unwrap_or_else(|error| panic!("{error}"))
}

/// Holds a fit against the service that its input is of.
fn check(fit: &Fit, of: Kind, late: f64) {
    let row = |name: &str| {
        let found = fit.rows.iter().find(|row| row.quantity == name);
        found.unwrap_or_else(|| panic!("no {name} in\n{}", fit.text))
    };
    for (name, wanted) in [
        ("answer size, mean", SIZE),
        ("fan-in, mean", FAN_IN),
        ("queries per second", f64::from(RATE * of.trees)),
        ("load of a root's link", LOAD),
        ("computation, mean", of.mean_compute_ns),
    ] {
        let (input, fitted) = (row(name).input.unwrap(), row(name).fitted.unwrap());
        for side in [input, fitted] {
            // Packets leave their hosts with a small delay: some microseconds of computation are none.
            let most = f64::max(0.05 * wanted, 2e4 * f64::from(u8::from(wanted == 0.0)));
            assert!(
                (side - wanted).abs() < most,
                "{name}: {side}, the service has {wanted}\n{}\n{}",
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
    // Neither none nor all: the share says something.
    assert!((0.03..0.5).contains(&late), "{late}");
    assert!(
        fit.answer
            .starts_with("The fitted scenario reproduces answer size, fan-in and load within 5"),
        "{}",
        fit.answer
    );
}

#[test]
fn spans_give_the_service_back() {
    let output = service("dctcp", SLOW, &[]);
    let mut lines = Vec::new();
    let (written, left_out) = spans(&output.records, &mut lines).unwrap();
    assert_eq!(
        (written, left_out),
        (output.records.queries.len() as u64, 0)
    );
    check(
        &fitted("service.jsonl", &lines, &request("dctcp", SLOW)),
        SLOW,
        late(&output),
    );
}

/// Two layers below each of two roots, on 40 hosts.
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

/// Fits the exported spans of two layers, and compares the missed shares of the run, its spans and the fit.
fn check_layers(name: &str, give_up: &str, budget: Span) -> Fit {
    let text = LAYERS.replace("GIVE_UP", give_up);
    let text = text.replace("BUDGET", &budget.to_string());
    let scenario =
        load(&text, "layers.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    let output = run(&scenario, 0, 0, &Options::default()).unwrap();
    let mut lines = Vec::new();
    let (_, left_out) = spans(&output.records, &mut lines).unwrap();
    assert_eq!(left_out, 0);
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
fn layers_that_give_up_at_deadlines() {
    // Aggregators have half of the budget, and answer without the leaves that are slower.
    let fit = check_layers("hasty.jsonl", "children", Span::from_ms(11));
    let given_up = fit.toml.lines().find(|line| line.starts_with("give_up = "));
    let after = given_up.and_then(|line| line.split('"').nth(1)).unwrap();
    let after = duetime_scenario::parse_time(after).unwrap();
    assert!(
        (5_400..5_600).contains(&(after.as_ns() / 1_000)),
        "{after}, of 5.5 ms"
    );
}

#[test]
fn a_bad_fit_is_called_bad() {
    let output = service("dctcp", SLOW, &[]);
    // Nothing says how long servers compute, and the budget is one that all queries meet.
    let mut csv = "query,client,server,start_ns,end_ns,bytes\n".to_owned();
    let flows = &output.records.flows;
    let asked = flows.iter().filter(|of| of.class == Class::Query);
    let asked: BTreeMap<_, _> = asked
        .map(|of| ((of.query, of.source, of.destination), of.start))
        .collect();
    for answer in flows.iter().filter(|of| of.class == Class::Response) {
        let start = asked[&(answer.query, answer.destination, answer.source)];
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
fn the_flows_of_a_run_give_the_service_back() {
    let output = service("tcp", SLOW, &[]);
    let mut csv =
        "workload,class,query,source,destination,size_bytes,start_ns,fct_ns,deadline_ns,attempt\n"
            .to_owned();
    for of in &output.records.flows {
        let number = |of: Option<u64>| of.map_or(String::new(), |of| of.to_string());
        let deadline = of.deadline.map(|deadline| deadline.since(of.start).as_ns());
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{},{},{},0",
            of.workload,
            of.class.name(),
            number(of.query),
            of.source,
            of.destination,
            of.size_bytes,
            of.start.as_ns(),
            number(of.completion().map(Span::as_ns)),
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
fn calls_without_their_queries_give_the_service_back() {
    let output = service("dctcp", SLOW, &[]);
    // What a proxy logs: who asked whom when, for how long, and how much came back.
    let mut csv = "client,server,start_us,duration_us,response_bytes,compute_us\n".to_owned();
    let flows = &output.records.flows;
    let requests = flows.iter().filter(|of| of.class == Class::Query);
    let requests: BTreeMap<_, _> = requests
        .map(|of| ((of.query, of.source, of.destination), of))
        .collect();
    for answer in flows.iter().filter(|of| of.class == Class::Response) {
        let asked = requests[&(answer.query, answer.destination, answer.source)];
        let us = |from: Time, to: Time| to.since(from).as_secs_f64() * 1e6;
        let _ = writeln!(
            csv,
            "h{},h{},{:.3},{:.3},{},{:.3}",
            answer.destination,
            answer.source,
            us(Time::ZERO, asked.start),
            us(asked.start, answer.finish.unwrap()),
            answer.size_bytes,
            us(asked.finish.unwrap(), answer.start)
        );
    }
    check(
        &fitted("service-calls.csv", csv.as_bytes(), &request("dctcp", SLOW)),
        SLOW,
        late(&output),
    );
}

/// A capture of both directions of the links of the roots.
fn capture(transport: &str, of: Kind) -> (RunOutput, Vec<u8>) {
    let placed = service(transport, of, &[]);
    let roots: BTreeSet<u32> = placed.records.queries.iter().map(|of| of.root).collect();
    // The switch's name, from a port that leads to a root.
    let to_root = |link: &str| {
        roots
            .iter()
            .any(|root| link.ends_with(&format!("->host{root}")))
    };
    let mut ports = placed.records.ports.iter().map(|of| of.link.as_str());
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
    let output = service(transport, of, &links);
    let names: Vec<String> = output.capture_links.iter().map(|of| of.1.clone()).collect();
    let place = |link: u32| {
        output
            .capture_links
            .iter()
            .position(|of| of.0 == link)
            .unwrap()
    };
    let packets = output.captures.iter().map(|of| Packet {
        link: u32::try_from(place(of.link)).unwrap(),
        at: of.at,
        original_bytes: of.original_bytes,
        bytes: &of.bytes,
    });
    let bytes = to_pcapng(&names, packets);
    (output, bytes)
}

#[test]
fn a_capture_gives_computation_back() {
    let (output, bytes) = capture("dctcp", QUICK);
    check(
        &fitted("quick.pcapng", &bytes, &request("dctcp", QUICK)),
        QUICK,
        late(&output),
    );
}

#[test]
fn a_capture_tells_queues_from_computation() {
    let (output, bytes) = capture("dctcp", SHALLOW);
    check(
        &fitted("service.pcapng", &bytes, &request("dctcp", SHALLOW)),
        SHALLOW,
        late(&output),
    );

    // Cut in the middle of a packet: an error that says after which, and no result.
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
