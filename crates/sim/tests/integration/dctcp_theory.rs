//! DCTCP's long flows compared with the published steady-state analysis (Alizadeh et al., SIGCOMM 2010, §3.3): N
//! synchronised flows, a window that grows by one segment per round trip, one round trip of marks, one reduction.

use crate::lab::{mark_at, mean, percentile, queue, run, sample, star, utilisation, workload};
use duetime_core::{Rate, Span, Time};
use duetime_proto::tcp;
use duetime_proto::window::{CongestionControl, Dctcp};
use duetime_results::stats::jain;
use duetime_scenario::model::{Link, Protocol, Topology, WorkloadKind};
use duetime_sim::Options;

const PACKET: f64 = 1500.0;
const K: u32 = 65;
const RATE: Rate = Rate::from_gbps(10);
const WARM_UP: Span = Span::from_ms(100);
const DURATION: Span = Span::from_ms(600);
/// Access link on each side of the bottleneck; the round trip over all links has 298 us of propagation.
const ACCESS: Link = Link {
    rate: Rate::from_gbps(100),
    latency: Span::from_us(37),
    loss: 0.0,
};
const BOTTLENECK: Link = Link {
    rate: RATE,
    latency: Span::from_us(75),
    loss: 0.0,
};

/// Predictions of the analysis, in packets and round trips.
struct Theory {
    /// W*: the window at which the queue reaches K.
    window: f64,
    alpha: f64,
    amplitude: f64,
    highest: f64,
    period: f64,
}

impl Theory {
    fn new(flows: f64, capacity_by_round_trip: f64) -> Self {
        let window = (capacity_by_round_trip + f64::from(K)) / flows;
        // α² (1 - α/4) = (2 W* + 1) / (W* + 1)²
        let right = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
        let alpha = (0..100).fold(0.5_f64, |alpha, _| (right / (1.0 - alpha / 4.0)).sqrt());
        Self {
            window,
            alpha,
            amplitude: 0.5 * (2.0 * flows * (capacity_by_round_trip + f64::from(K))).sqrt(),
            highest: f64::from(K) + flows,
            period: (window + 1.0) * alpha / 2.0,
        }
    }
}

/// Measurements in the same units.
struct Measured {
    alpha: f64,
    /// Range from the 1st to the 99th percentile of the queue. A sawtooth spends equal time at every height, so this is
    /// 98 % of its amplitude and ignores single packets.
    amplitude: f64,
    highest: f64,
    period: f64,
    utilisation: f64,
    fairness: f64,
}

fn measure(flows: u32, delayed_ack: u32) -> (Theory, Measured) {
    let congestion_control = CongestionControl::Dctcp(Dctcp {
        gain_shift: 4,
        initial_alpha: 0.0,
    });
    let protocol = Protocol::Tcp(tcp::Config {
        congestion_control,
        delayed_ack,
        ..tcp::Config::default()
    });
    let mut scenario = star(2, RATE, Span::ZERO, protocol, DURATION);
    scenario.topology = Topology::Dumbbell {
        left: flows,
        right: 1,
        link: ACCESS,
        bottleneck: BOTTLENECK,
    };
    let pairs = (0..flows).map(|source| (source, flows)).collect();
    scenario.workloads = vec![workload(
        "long",
        WorkloadKind::Long {
            pairs,
            at: Span::ZERO,
            jitter: Span::ZERO,
        },
    )];
    mark_at(&mut scenario, K);
    let every = Span::from_us(2);
    sample(&mut scenario, every);
    scenario.record.links = vec!["left->right".into()];
    let output = run(
        &scenario,
        &Options {
            windows: Some(Span::from_us(20)),
            ..Options::default()
        },
    );

    let propagation = (ACCESS.latency * 2 + BOTTLENECK.latency) * 2;
    let sending = |bytes| ACCESS.rate.transmit(bytes) * 2 + RATE.transmit(bytes);
    let round_trip = propagation + sending(1500) + sending(40);
    let theory = Theory::new(f64::from(flows), RATE.bytes_in(round_trip) as f64 / PACKET);

    let settled = output
        .windows
        .iter()
        .filter(|sample| sample.at > Time::ZERO + WARM_UP);
    let (sum, count) = settled.fold((0.0, 0.0), |(sum, count), sample| {
        (sum + sample.alpha, count + 1.0)
    });
    let mut depths = queue(&output.records, WARM_UP);
    let round_trip_at_k = round_trip + RATE.transmit(u64::from(K) * 1500);
    let period =
        every.as_secs_f64() * depths.len() as f64 / cycles(&depths) / round_trip_at_k.as_secs_f64();
    let at = |per_mille, depths: &mut Vec<u64>| percentile(depths, per_mille) as f64 / PACKET;
    let delivered: Vec<f64> = output
        .records
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes as f64)
        .collect();
    let measured = Measured {
        alpha: sum / count,
        amplitude: at(990, &mut depths) - at(10, &mut depths),
        highest: at(1_000, &mut depths),
        period,
        utilisation: utilisation(&output.records, WARM_UP, RATE, every),
        fairness: jain(&delivered).expect("flows"),
    };
    (theory, measured)
}

/// Counts how often the queue rises through its mean, by more than half its standard deviation on each side.
fn cycles(depths: &[u64]) -> f64 {
    let middle = mean(depths);
    let variance = depths
        .iter()
        .map(|&depth| (depth as f64 - middle).powi(2))
        .sum::<f64>()
        / depths.len() as f64;
    let half = variance.sqrt() / 2.0;
    let (mut high, mut cycles) = (false, 0.0);
    for &depth in depths {
        let depth = depth as f64;
        if !high && depth > middle + half {
            high = true;
            cycles += 1.0;
        } else if high && depth < middle - half {
            high = false;
        }
    }
    cycles
}

#[test]
fn queue_and_alpha_match_the_analysis() {
    println!(
        "DCTCP, long flows, 10 Gbps, K = {K}, g = 1/16, base round trip 300 us; theory / measured:"
    );
    println!(
        "| flows | each k-th segment acked | W* | alpha | amplitude, packets | highest queue | period, round trips | utilisation | Jain | verdict |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (flows, delayed_ack) in [(1, 1), (2, 1), (10, 1), (40, 1), (1, 2), (2, 2), (10, 2)] {
        let (theory, measured) = measure(flows, delayed_ack);
        // The analysis assumes that every segment is acknowledged and that flows are synchronised, which requires W*
        // above 8.
        let judged = delayed_ack == 1 && flows <= 10;
        let ratio = |value: f64, expected: f64| (value / expected - 1.0).abs();
        println!(
            "| {flows} | {delayed_ack} | {:.1} | {:.3} / {:.3} | {:.1} / {:.1} | {:.0} / {:.0} | {:.1} / {:.1} | {:.3} | {:.3} | {} |",
            theory.window,
            theory.alpha,
            measured.alpha,
            theory.amplitude,
            measured.amplitude,
            theory.highest,
            measured.highest,
            theory.period,
            measured.period,
            measured.utilisation,
            measured.fairness,
            if judged { "within 25 %" } else { "none" },
        );
        if !judged {
            continue;
        }
        assert!(theory.window > 8.0, "the analysis applies");
        assert!(
            ratio(measured.alpha, theory.alpha) <= 0.25,
            "{flows} flows: alpha {}",
            measured.alpha
        );
        assert!(
            ratio(measured.amplitude, theory.amplitude) <= 0.25,
            "{flows} flows: {}",
            measured.amplitude
        );
        assert!(
            (measured.highest - theory.highest).abs() <= 2.0,
            "{flows} flows: {}",
            measured.highest
        );
        assert!(
            measured.utilisation > 0.999,
            "{flows} flows: {}",
            measured.utilisation
        );
        assert!(
            measured.fairness > 0.95,
            "{flows} flows: {}",
            measured.fairness
        );
    }
}
