//! Long flows through one port: equal shares within a quantum, progress of all flows, and high utilisation. Rates are
//! whole units of 8 Mbps at 1 Gbps, so 300 flows get less than half a unit each.

use crate::d3_world::{ENDLESS, star};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{Config, Rounding};

struct Shares {
    utilisation: f64,
    /// Minimum, mean and maximum payload rate, in encoded units.
    min: f64,
    mean: f64,
    max: f64,
    queue: u64,
}

fn run(config: Config, n: usize, rate: Rate, latency: Span, seconds: u64) -> Shares {
    let config = config.for_slowest(rate);
    let scale = config.exponent();
    let (mut world, down) = star(config, 1, n + 1, rate, latency);
    for source in 0..n {
        let start = Time::ZERO + Span::from_us(7 * source as u64);
        world.flow(
            (source, n),
            &[down[n]],
            &[down[source]],
            ENDLESS,
            start,
            None,
        );
    }
    let warm = Time::ZERO + Span::from_ms(200);
    world.run(warm);
    let sent = world.ports[down[n]].sent_total;
    let before: Vec<u64> = world
        .flows
        .iter()
        .map(|flow| flow.receiver.delivered())
        .collect();
    let span = Span::from_secs(seconds);
    world.run(warm + span);
    let unit = 1e6 * f64::from(scale).exp2() * seconds as f64;
    let rates: Vec<f64> = world
        .flows
        .iter()
        .zip(before)
        .map(|(flow, before)| (flow.receiver.delivered() - before) as f64 / unit)
        .collect();
    Shares {
        utilisation: world.utilisation(down[n], sent, span),
        min: rates.iter().copied().fold(f64::MAX, f64::min),
        mean: rates.iter().sum::<f64>() / n as f64,
        max: rates.iter().copied().fold(0.0, f64::max),
        queue: world.ports[down[n]].worst_queue,
    }
}

fn check(n: usize, rate: Rate, latency: Span, seconds: u64) -> Shares {
    let shares = run(Config::default(), n, rate, latency, seconds);
    println!(
        "{rate}, {n} flows: utilisation {:.3}, units per flow {:.3} / {:.3} / {:.3}, worst queue {} B",
        shares.utilisation, shares.min, shares.mean, shares.max, shares.queue
    );
    assert!(
        shares.utilisation >= 0.9,
        "{n} flows: utilisation {}",
        shares.utilisation
    );
    assert!(
        shares.max - shares.min <= 1.0,
        "{n} flows: {} to {}",
        shares.min,
        shares.max
    );
    assert!(
        shares.min > 0.25 * shares.mean,
        "{n} flows: minimum {} of {}",
        shares.min,
        shares.mean
    );
    shares
}

#[test]
fn up_to_300_flows_share_a_gigabit() {
    for n in [2, 3, 10, 40, 130, 300] {
        check(n, Rate::from_gbps(1), Span::from_us(60), 1);
    }
}

#[test]
fn up_to_40_flows_share_100_megabits() {
    for n in [2, 5, 17, 40] {
        let shares = check(n, Rate::from_mbps(100), Span::from_us(20), 4);
        // One request per idle round trip of 50 us would leave 8 % of the link for the data of 40 flows.
        let payload = shares.mean * n as f64 / 100.0;
        assert!(payload > 0.75, "{n} flows: {payload} of the link for data");
    }
}

#[test]
fn one_flow_fills_the_link() {
    check(1, Rate::from_gbps(1), Span::from_us(60), 1);
}

#[test]
fn many_flows_starve_without_carry() {
    // The carry exists for this case: 260 flows get 0.48 units each, which rounds down to zero.
    let config = Config::default().with(|c| c.wire.rounding = Rounding::FloorFloor);
    let shares = run(config, 260, Rate::from_gbps(1), Span::from_us(60), 1);
    assert!(shares.mean < 0.1, "{}", shares.mean);
}
