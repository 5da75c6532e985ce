//! D2TCP where it cannot win (D2TCP §3.2.4): with only impossible deadlines, and with d computed from wrong values.

use crate::lab::{drops, long, mark_at, mbps, mean, queue, run, sample, star, trace, workload};
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_proto::tcp;
use duetime_proto::window::{Completion, CongestionControl, D2tcp, Dctcp};
use duetime_results::{FlowRecord, stats};
use duetime_scenario::model::{
    Amount, Buffer, Connection, Deadline, Protocol, Scenario, Size, TraceFlow, WorkloadKind,
};
use duetime_sim::{Options, RunOutput, WindowSample};

const ESTIMATOR: Dctcp = Dctcp {
    gain_shift: 4,
    initial_alpha: 0.0,
};
const KNOBS: D2tcp = D2tcp {
    d_min: 0.5,
    d_max: 2.0,
    d_expired: 0.5,
    completion: Completion::Approximate,
};
const GIGABIT: Rate = Rate::from_gbps(1);

/// Returns a star of 1 Gbps with K = 20, 100 KB per port, a round trip of 200 us and a minimum RTO of 20 ms.
fn network(senders: u32, congestion_control: CongestionControl, duration: Span) -> Scenario {
    let rto = Span::from_ms(20);
    let config = tcp::Config {
        congestion_control,
        initial_window: 10,
        rto_min: rto,
        rto_initial: rto,
        ..tcp::Config::default()
    };
    let mut scenario = star(
        senders + 1,
        GIGABIT,
        Span::from_us(45),
        Protocol::Tcp(config),
        duration,
    );
    scenario.switch.buffer = Buffer::Static(Amount::Bytes(100 * 1024));
    mark_at(&mut scenario, 20);
    scenario
}

fn flow(source: u32, bytes: u64, deadline: Span) -> TraceFlow {
    TraceFlow {
        start: Span::ZERO,
        source,
        destination: 0,
        size: Bytes(bytes),
        deadline: Some(deadline),
    }
}

#[test]
fn impossible_deadlines_cost_no_goodput() {
    println!("Endless flows, all deadlines impossible, 1 Gbps, K = 20; goodput against DCTCP's:");
    println!(
        "| flows | controller | goodput | of DCTCP's | mean alpha | mean queue | drops | timeouts | Jain |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let duration = Span::from_ms(900);
    for senders in [2, 5, 10, 20, 40] {
        // With d = 2, the deadline has not expired, but needs a million times the rate; with d = 0.5, it expires at
        // once.
        let (ahead, expired) = (Span::from_secs(1), Span::from_us(1));
        let d2tcp = CongestionControl::D2tcp(ESTIMATOR, KNOBS);
        let cases = [
            ("DCTCP", CongestionControl::Dctcp(ESTIMATOR), ahead),
            ("D2TCP, d = 2", d2tcp, ahead),
            ("D2TCP, d = 0.5", d2tcp, expired),
        ];
        let mut reference = None;
        for (name, congestion_control, deadline) in cases {
            let mut scenario = network(senders, congestion_control, duration);
            scenario.workloads = vec![trace(
                (1..=senders)
                    .map(|host| flow(host, 1 << 40, deadline))
                    .collect(),
            )];
            sample(&mut scenario, Span::from_us(20));
            let output = run(
                &scenario,
                &Options {
                    windows: Some(Span::from_us(200)),
                    ..Options::default()
                },
            );
            let records = &output.records;
            let rates: Vec<f64> = records
                .flows
                .iter()
                .map(|flow| mbps(flow, duration))
                .collect();
            let goodput: f64 = rates.iter().sum();
            let reference = *reference.get_or_insert(goodput);
            let settled = output
                .windows
                .iter()
                .filter(|sample| sample.at > Time::ZERO + Span::from_ms(100));
            let alphas: Vec<f64> = settled.map(|sample| sample.alpha).collect();
            let timeouts: u32 = records.flows.iter().map(|flow| flow.timeouts).sum();
            println!(
                "| {senders} | {name} | {goodput:.1} Mbps | {:.4} | {:.3} | {:.0} B | {} | {timeouts} | {:.3} |",
                goodput / reference,
                stats::mean(&alphas).expect("samples"),
                mean(&queue(records, Span::from_ms(100))),
                drops(records),
                stats::jain(&rates).expect("flows"),
            );
            assert!(
                goodput >= 0.95 * reference,
                "{senders} {name}: {goodput} and {reference} Mbps"
            );
        }
    }
}

#[test]
fn bursts_with_impossible_deadlines_match_dctcp() {
    println!("Bursts of 100 KB flows due after 1 ms, 1 Gbps, 20 bursts:");
    println!(
        "| flows | controller | mean time to the last byte | mean completion | drops | timeouts |"
    );
    println!("|---|---|---|---|---|---|");
    for senders in [20, 40] {
        let mut reference = None;
        for (name, congestion_control) in [
            ("DCTCP", CongestionControl::Dctcp(ESTIMATOR)),
            ("D2TCP", CongestionControl::D2tcp(ESTIMATOR, KNOBS)),
        ] {
            let mut scenario = network(senders, congestion_control, Span::from_secs(3));
            scenario.drain = Span::from_ms(500);
            let every = Span::from_ms(150);
            scenario.workloads = vec![workload(
                "burst",
                WorkloadKind::Burst {
                    senders,
                    receiver: Some(0),
                    from: None,
                    size: Size::Fixed(Bytes(100_000)),
                    deadline: Deadline::Added {
                        base: Span::from_ms(1),
                        added: 0.0,
                    },
                    at: Span::ZERO,
                    repeat: 20,
                    every,
                    jitter: Span::ZERO,
                },
            )];
            let records = run(&scenario, &Options::default()).records;
            let mut last = [Span::ZERO; 20];
            let mut completions = Vec::new();
            for flow in &records.flows {
                let completion = flow.completion().expect("a finished flow");
                let burst = (flow.start.as_ps() / every.as_ps()) as usize;
                last[burst] = last[burst].max(completion);
                completions.push(completion.as_secs_f64() * 1e3);
            }
            let last = last
                .iter()
                .map(|span| span.as_secs_f64() * 1e3)
                .sum::<f64>()
                / 20.0;
            let reference = *reference.get_or_insert(last);
            println!(
                "| {senders} | {name} | {last:.2} ms | {:.2} ms | {} | {} |",
                stats::mean(&completions).expect("flows"),
                drops(&records),
                records.flows.iter().map(|flow| flow.timeouts).sum::<u32>()
            );
            assert!(
                last <= reference / 0.95,
                "{name}: {last} ms, DCTCP {reference} ms"
            );
        }
    }
}

#[test]
fn saturated_alpha_halves_every_window() {
    for (name, deadline) in [("d = 2", Span::from_secs(1)), ("d = 0.5", Span::from_us(1))] {
        let mut scenario = network(
            1,
            CongestionControl::D2tcp(
                Dctcp {
                    initial_alpha: 1.0,
                    ..ESTIMATOR
                },
                KNOBS,
            ),
            Span::from_ms(3),
        );
        let Protocol::Tcp(config) = &mut scenario.transports[0].protocol else {
            unreachable!("the transport is TCP")
        };
        config.initial_window = 64;
        mark_at(&mut scenario, 0);
        scenario.workloads = vec![trace(vec![flow(1, 1 << 30, deadline)])];
        let output = run(
            &scenario,
            &Options {
                windows: Some(Span::from_us(10)),
                ..Options::default()
            },
        );
        let mut windows: Vec<u64> = output
            .windows
            .iter()
            .map(|sample| sample.window_bytes / 1460)
            .collect();
        windows.dedup();
        println!("Every packet marked, alpha = 1, {name}: window {windows:?} segments");
        assert_eq!(windows, [64, 32, 16, 8, 4, 2]);
    }
}

/// Runs two equal flows of 10 MB to one host, and two without deadlines. With an `error`, the first megabyte of the
/// first flow has that deadline instead of the `truth`.
fn twins(knobs: D2tcp, truth: Span, error: Option<Span>, run_number: u64) -> RunOutput {
    let mut scenario = network(
        4,
        CongestionControl::D2tcp(ESTIMATOR, knobs),
        Span::from_ms(900),
    );
    let (first, rest) = (1_000_000, 9_000_000);
    let mut flows = vec![flow(2, first + rest, truth)];
    match error {
        Some(wrong) => flows.extend([flow(1, first, wrong), flow(1, rest, truth)]),
        None => flows.push(flow(1, first + rest, truth)),
    }
    let mut trace = trace(flows);
    trace.connection = Connection::Persistent;
    scenario.workloads = vec![trace, long([3, 4])];
    let options = Options {
        windows: Some(Span::from_us(200)),
        ..Options::default()
    };
    duetime_sim::run(&scenario, 0, run_number, &options).expect("a valid scenario")
}

/// Returns the completion time of the last message of `host`.
fn end(output: &RunOutput, host: u32) -> Span {
    let flows = output
        .records
        .flows
        .iter()
        .filter(|flow| flow.source == host);
    flows
        .map(|flow| flow.completion().expect("a finished flow"))
        .max()
        .expect("a flow")
}

/// Returns the mean window of `host` in segments, between `from` and `to`.
fn window(output: &RunOutput, host: u32, from: Span, to: Span) -> f64 {
    let within = |sample: &&WindowSample| {
        sample.flow >> 32 == u64::from(host)
            && sample.at >= Time::ZERO + from
            && sample.at < Time::ZERO + to
    };
    let windows: Vec<f64> = output
        .windows
        .iter()
        .filter(within)
        .map(|sample| sample.window_bytes as f64 / 1460.0)
        .collect();
    stats::mean(&windows).unwrap_or(f64::NAN)
}

#[test]
fn errors_in_d_correct_themselves() {
    println!(
        "Two equal flows; the first megabyte of one is sent with a wrong d. Mean of ten runs:"
    );
    println!(
        "| error | window against its twin's during the error | 20 to 120 ms after | ends, with the error | its twin | ends, without | deadline |"
    );
    println!("|---|---|---|---|---|---|---|");
    // The error makes the flow more aggressive: its first megabyte counts as expired, and expired flows get d = 2.
    let hasty = D2tcp {
        d_expired: 2.0,
        ..KNOBS
    };
    let ms = Span::from_ms;
    for (name, knobs, truth, error) in [
        ("d = 2", hasty, ms(420), Span::from_us(1)),
        ("d = 0.5", KNOBS, ms(340), Span::from_secs(100)),
    ] {
        let runs = 10;
        let [mut during, mut after, mut erring, mut twin, mut without] = [0.0; 5];
        for number in 0..runs {
            let output = twins(knobs, truth, Some(error), number);
            let first = output
                .records
                .flows
                .iter()
                .find(|flow| flow.source == 1 && flow.size_bytes == 1_000_000);
            let error_end = first
                .and_then(FlowRecord::completion)
                .expect("a finished flow");
            let share = |from, to| window(&output, 1, from, to) / window(&output, 2, from, to);
            during += share(ms(5), error_end);
            after += share(error_end + ms(20), error_end + ms(120));
            erring += end(&output, 1).as_secs_f64() * 1e3;
            twin += end(&output, 2).as_secs_f64() * 1e3;
            without += end(&twins(knobs, truth, None, number), 1).as_secs_f64() * 1e3;
        }
        for sum in [
            &mut during,
            &mut after,
            &mut erring,
            &mut twin,
            &mut without,
        ] {
            *sum /= runs as f64;
        }
        println!(
            "| {name} | {during:.2} | {after:.2} | {erring:.0} ms | {twin:.0} ms | {without:.0} ms | {:.0} ms |",
            truth.as_secs_f64() * 1e3
        );
        assert!(
            !(0.67..1.5).contains(&during),
            "the error should show: {during}"
        );
        assert!(
            (0.8..1.25).contains(&after),
            "the error should vanish within 100 round trips: {after}"
        );
        assert!(
            (erring / twin - 1.0).abs() <= 0.05,
            "{erring} and {twin} ms"
        );
        assert!(
            (erring / without - 1.0).abs() <= 0.05,
            "{erring} and {without} ms"
        );
    }
}
