//! Long flows through one port: equal shares within a quantum, progress of all, high utilisation (whatever the number
//! of flows: rates are whole units of 8 Mbps at 1 Gbps, and 300 flows get less than half a unit each).

#![allow(clippy::print_stdout, reason = "the measured values are worth seeing")]

mod d3_world;

use d3_world::star;
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{Config, Rounding};

struct Shares {
    utilisation: f64,
    /// Smallest, mean and largest payload rate in encoded units.
    least: f64,
    mean: f64,
    most: f64,
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
            u64::MAX / 2,
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
        least: rates.iter().copied().fold(f64::MAX, f64::min),
        mean: rates.iter().sum::<f64>() / n as f64,
        most: rates.iter().copied().fold(0.0, f64::max),
        queue: world.ports[down[n]].worst_queue,
    }
}

fn check(n: usize, rate: Rate, latency: Span, seconds: u64) -> Shares {
    let shares = run(Config::default(), n, rate, latency, seconds);
    println!(
        "{rate}, {n} flows: utilisation {:.3}, units per flow {:.3} / {:.3} / {:.3}, worst queue {} B",
        shares.utilisation, shares.least, shares.mean, shares.most, shares.queue
    );
    assert!(
        shares.utilisation >= 0.9,
        "{n} flows: utilisation {}",
        shares.utilisation
    );
    assert!(
        shares.most - shares.least <= 1.0,
        "{n} flows: {} to {}",
        shares.least,
        shares.most
    );
    assert!(
        shares.least > 0.25 * shares.mean,
        "{n} flows: one starves at {} of {}",
        shares.least,
        shares.mean
    );
    shares
}

#[test]
fn two_to_three_hundred_flows_share_a_gigabit() {
    for n in [2, 3, 10, 40, 130, 300] {
        check(n, Rate::from_gbps(1), Span::from_us(60), 1);
    }
}

#[test]
fn two_to_forty_flows_share_a_hundred_megabits() {
    for n in [2, 5, 17, 40] {
        let shares = check(n, Rate::from_mbps(100), Span::from_us(20), 4);
        // One request in each idle round trip of 50 us would leave 8 % of the link to the data of 40 flows.
        let payload = shares.mean * n as f64 / 100.0;
        assert!(payload > 0.75, "{n} flows: {payload} of the link for data");
    }
}

#[test]
fn one_flow_fills_the_link() {
    check(1, Rate::from_gbps(1), Span::from_us(60), 1);
}

#[test]
fn without_the_carried_rounding_many_flows_starve() {
    // What the carry is for: 260 flows get 0.48 units each, which is nothing when rounded down.
    let config = Config {
        rounding: Rounding::FloorFloor,
        ..Config::default()
    };
    let shares = run(config, 260, Rate::from_gbps(1), Span::from_us(60), 1);
    assert!(shares.mean < 0.1, "{}", shares.mean);
}
