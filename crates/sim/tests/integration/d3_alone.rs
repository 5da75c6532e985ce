//! D3's long flows compared with the published results (D3 §6.1.4, Fig 16, and the multi-bottleneck test).

use crate::lab::{
    d3, drops, long, mbps, mean, percentile, queue, run, sample, star, trace, utilisation, workload,
};
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3::RequestBytes;
use duetime_results::Estimate;
use duetime_results::stats::{self, jain};
use duetime_scenario::model::{Amount, Buffer, Link, Protocol, Topology, TraceFlow, WorkloadKind};
use duetime_scenario::{NoFiles, load};
use duetime_sim::Options;

/// In-rack round trip of the D3 testbed: 500 us over four link crossings.
const LATENCY: Span = Span::from_us(125);

/// One flow from a 10 Gbps host into a 1 Gbps link. Sent as one burst, a grant of 37 packets would overflow a buffer of
/// 30.
#[test]
fn paced_flow_needs_little_buffer() {
    let text = r#"
        transport = ["d3", "rcpdc"]
        duration = "500 ms"
        [topology]
        kind = "dumbbell"
        left = 1
        right = 1
        link = { rate = "10 Gbps", latency = "10 us" }
        bottleneck = { rate = "1 Gbps", latency = "200 us" }
        [switch]
        buffer = "BUFFER packets"
        [[workload]]
        kind = "long"
        pairs = [[0, 1]]
    "#;
    for buffer in ["15", "30", "150"] {
        let text = text.replace("BUFFER", buffer);
        let scenario = load(&text, "lone.toml", &[], &NoFiles).expect("a scenario");
        let records = run(&scenario, &Options::default()).records;
        assert_eq!(drops(&records), 0, "{buffer} packets");
        let rate = mbps(&records.flows[0], Span::from_ms(500));
        assert!(rate > 0.97 * 973.0, "{buffer} packets: {rate} Mbps");
    }
}

/// Answers of ten hosts at 100 Mbps with round trips of 40 us, shorter than half a packet. With a rate request in each
/// round trip, requests used most of the links' time; with an update every 6.7 packets, capacities fell to a tenth; no
/// flow ended in time.
#[test]
fn flows_end_with_short_round_trips() {
    let text = r#"
        transport = "d3"
        duration = "3 s"
        [topology]
        kind = "star"
        hosts = 11
        link = { rate = "100 Mbps", latency = "10 us" }
        [[workload]]
        kind = "oldi"
        name = "answers"
        fan_in = 10
        query = "1000 B"
        response = "20000 B"
        deadline = "40 ms"
        deadline_from = "query"
        every = "exponential 50 ms"
    "#;
    let scenario = load(text, "short.toml", &[], &NoFiles).expect("a scenario");
    let records = run(&scenario, &Options::default()).records;
    let ended = records.flows.iter().all(|flow| flow.completion().is_some());
    assert!(ended, "every flow ends");
    let due = records.flows.iter().filter(|flow| flow.deadline.is_some());
    let (missed, count) = crate::lab::missed(due);
    println!("32 % load at 100 Mbps: {missed:.3} of {count} answers missed");
    assert!(missed < 0.25, "{missed}");
}

/// Two flows whose deadlines require more than the link rate: the first flow keeps its allocation. Without headers, its
/// request is 2.7 % below what it is charged, so it finishes late by the wait at its end.
#[test]
fn requesting_wire_bytes_finishes_earlier() {
    const SEEDS: u64 = 400;
    let completions = |request_bytes| -> Vec<f64> {
        let protocol = Protocol::D3(
            duetime_proto::d3::Config::default()
                .with(|c| c.host.variant.request_bytes = request_bytes),
        );
        let mut scenario = star(
            3,
            Rate::from_gbps(1),
            Span::from_us(20),
            protocol,
            Span::from_ms(100),
        );
        scenario.drain = Span::from_secs(1);
        let due = Some(Span::from_ms(10));
        let flow = |start_us, source, bytes| TraceFlow {
            start: Span::from_us(start_us),
            source,
            destination: 0,
            size: Bytes(bytes),
            deadline: due,
        };
        scenario.workloads = vec![trace(vec![flow(0, 1, 600_000), flow(300, 2, 900_000)])];
        // The order of requests at the port differs from run to run.
        let completions = (1..=SEEDS).map(|seed| {
            scenario.seed = seed;
            let records = run(&scenario, &Options::default()).records;
            let completion = records.flows[0].completion().expect("finished");
            completion.as_secs_f64() * 1e3
        });
        completions.collect()
    };
    let (payload, wire) = (
        completions(RequestBytes::Payload),
        completions(RequestBytes::Wire),
    );
    let mean =
        |values: &[&f64]| stats::mean(&values.iter().map(|&&value| value).collect::<Vec<_>>());
    let [payload_ms, wire_ms] = [&payload, &wire].map(|values| stats::mean(values).expect("seeds"));
    let earlier = Estimate::of_difference(&payload, &wire, mean).expect("seeds");
    println!(
        "600 KB due in 10 ms, and 900 KB 0.3 ms later, means of {SEEDS} seeds: request for data {payload_ms:.2} ms, \
         for bytes on the wire {wire_ms:.2} ms, earlier by {:.3} [{:.3}, {:.3}]",
        earlier.value,
        earlier.low(),
        earlier.high()
    );
    assert!(earlier.low() > 0.15, "{earlier:?}");
}

/// With the paper's controller, a port targets the full link rate; a slightly lower target gives a shorter queue.
#[test]
fn long_flows_fill_the_link_not_the_queue() {
    long_flows(256, 4_500);
    long_flows(248, 3_000);
}

fn long_flows(target_256: u32, max_median: u64) {
    println!(
        "D3, long flows into one host, 1 Gbps, round trip 500 us, 128 KB of buffer, ports target {target_256}/256:"
    );
    println!("| flows | utilisation | queue median | mean | p99 | drops | Jain |");
    println!("|---|---|---|---|---|---|---|");
    for flows in [2, 3, 4, 5, 8, 10, 12, 16, 20] {
        let every = Span::from_us(100);
        let mut transport = d3();
        if let Protocol::D3(config) = &mut transport {
            config.router.target_256 = target_256;
            config.host.pacing = false; // D3 §5
        }
        let mut scenario = star(
            flows + 1,
            Rate::from_gbps(1),
            LATENCY,
            transport,
            Span::from_secs(1),
        );
        scenario.switch.buffer = Buffer::Static(Amount::Bytes(128 * 1024));
        scenario.workloads = vec![long(1..=flows)];
        sample(&mut scenario, every);
        let records = run(&scenario, &Options::default()).records;
        let warm_up = Span::from_ms(100);
        let used = utilisation(&records, warm_up, Rate::from_gbps(1), every);
        let mut queue = queue(&records, warm_up);
        let (median, p99) = (percentile(&mut queue, 500), percentile(&mut queue, 990));
        let rates: Vec<f64> = records
            .flows
            .iter()
            .map(|flow| mbps(flow, Span::from_secs(1)))
            .collect();
        let fair = jain(&rates).expect("flows");
        println!(
            "| {flows} | {used:.3} | {median} B | {:.0} B | {p99} B | {} | {fair:.4} |",
            mean(&queue),
            drops(&records)
        );
        assert!((0.90..=1.0).contains(&used), "{flows}: utilisation {used}");
        assert!(median <= max_median, "{flows}: median queue {median} B");
        assert!(mean(&queue) <= 8_000.0 && p99 <= 50_000, "{flows}: queue");
        assert_eq!(drops(&records), 0);
    }
}

#[test]
fn multiple_bottlenecks() {
    // The paper numbers hosts from 1: 1, 2 and 3 share a rack, 4 and 5 are in another.
    let link = Link {
        rate: Rate::from_gbps(1),
        latency: Span::from_us(62),
        loss: 0.0,
    };
    let mut scenario = star(1, link.rate, link.latency, d3(), Span::from_secs(2));
    scenario.topology = Topology::D3Testbed { link };
    let pairs = vec![(0, 2), (1, 2), (3, 2), (3, 4)];
    scenario.workloads = vec![workload(
        "long",
        WorkloadKind::Long {
            pairs: pairs.clone(),
            at: Span::ZERO,
            jitter: Span::ZERO,
        },
    )];
    let records = run(&scenario, &Options::default()).records;
    let rate = |pair: (u32, u32)| {
        let flow = records
            .flows
            .iter()
            .find(|flow| (flow.source, flow.destination) == pair)
            .expect("a flow");
        mbps(flow, Span::from_secs(2))
    };
    let rates: Vec<f64> = pairs.iter().map(|pair| rate(*pair)).collect();
    println!(
        "D3, several bottlenecks: 1→3 {:.0}, 2→3 {:.0}, 4→3 {:.0}, 4→5 {:.0} Mbps of data",
        rates[0], rates[1], rates[2], rates[3]
    );
    println!("  published 302, 302, 302, 595; ideal max-min 333, 333, 333, 667");
    let (three, other) = (&rates[..3], rates[3]);
    let mean = three.iter().sum::<f64>() / 3.0;
    for rate in three {
        assert!(
            (285.0..=335.0).contains(rate) && (rate / mean - 1.0).abs() < 0.05,
            "{rate} of {three:?}"
        );
    }
    assert!((560.0..=670.0).contains(&other), "{other}");
    assert!((1.75..=2.1).contains(&(other / mean)), "{other} and {mean}");
}
