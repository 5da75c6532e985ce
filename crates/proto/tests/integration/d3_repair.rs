//! Epoch census: does not change correct counters, and repairs wrong ones on ports that are never idle.

use crate::d3_world::{ENDLESS, World, star};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::Config;

const GIGABIT: Rate = Rate::from_gbps(1);

fn config() -> Config {
    Config::default().with(|c| c.wire.scale = Some(0))
}

fn epochs(n: u64) -> Span {
    config().interval() * u64::from(config().router.reset_intervals / 2) * n
}

#[test]
fn long_flows_stay_correctly_counted() {
    // Round trips are 0.5 to 3 ms; the shortest epoch is 1.6 ms. The uplinks' 115 units in total cause no queue that
    // would make a host count its request as lost.
    let mut world = World::new(config(), 3);
    world.audit = true;
    let mut down = Vec::new();
    for host in 0..24 {
        let latency = Span::from_us(20 + 57 * host);
        world.host(Rate::from_mbps(40), latency);
        down.push(world.port(GIGABIT, latency));
    }
    for host in 1..24 {
        let start = Time::ZERO + Span::from_us(997 * host as u64);
        let deadline = (host % 3 == 0).then_some(start + Span::from_secs(60));
        let bytes = if host % 3 == 0 { 200_000_000 } else { ENDLESS };
        world.flow((host, 0), &[down[0]], &[down[host]], bytes, start, deadline);
    }
    // Every counter is compared after every request and every tick.
    world.run(Time::ZERO + Span::from_secs(1));
    assert_eq!(world.ports[down[0]].allocator.flows(), 23);
    assert!(
        world.utilisation(down[0], 0, Span::from_secs(1)) > 0.7,
        "the port was busy"
    );
    let lost: u32 = world
        .flows
        .iter()
        .map(|flow| flow.sender.as_ref().unwrap().counters().lost_requests)
        .sum();
    assert_eq!(lost, 0);
    // The flows with long round trips end; the fast ones continue, and the epochs shrink with them.
    for flow in 3..23 {
        world.kill(flow);
    }
    world.audit = false;
    world.run(world.now + epochs(2 * 4 + 4));
    world.audit(down[0]);
}

/// Returns a port after faults: long flows, loss of all kinds and failed hosts, all of which have ceased. Grants are
/// sent as bursts: after a restart, five paced flows at the full rate each would keep a queue that extends round trips
/// beyond an epoch.
fn after_faults(repair: bool) -> (World, usize) {
    let (mut world, down) = star(
        config().with(|c| {
            c.router.repair = repair;
            c.host.pacing = false;
        }),
        5,
        21,
        GIGABIT,
        Span::from_us(30),
    );
    let mut stream = Streams::new(5, 0).stream(1, Purpose::Fault);
    world.loss = 0.05;
    for step in 0..100 {
        let source = stream.between(1, 20) as usize;
        let bytes = stream.between(1_000, 100_000);
        let start = world.now + Span::from_us(1);
        world.flow(
            (source, 0),
            &[down[0]],
            &[down[source]],
            bytes,
            start,
            Some(start + Span::from_ms(20)),
        );
        let long = world.flow(
            (source, 0),
            &[down[0]],
            &[down[source]],
            ENDLESS,
            start,
            None,
        );
        world.run(world.now + Span::from_ms(5));
        if step % 10 != 0 {
            world.kill(long);
        }
    }
    world.loss = 0.0;
    // Remaining losses are detected, and short flows end.
    world.run(world.now + Span::from_ms(300));
    (world, down[0])
}

#[test]
fn counters_recover_within_four_epochs() {
    let (mut world, port) = after_faults(true);
    let (n, d, a) = world.ledger.sum(port);
    assert!(n >= 10 && a > 0 && d == 0, "expected ten long flows: {n}");
    world.audit(port);
    // New faults: five flows fail, and the router loses its state.
    let alive: Vec<usize> = (0..world.flows.len())
        .filter(|&flow| !world.flows[flow].dead && world.flows[flow].bytes > 1 << 40)
        .collect();
    for &flow in &alive[..5] {
        world.kill(flow);
    }
    world.run(world.now + epochs(4));
    world.audit(port);
    world.ports[port].restart(&config());
    world.run(world.now + epochs(4));
    world.audit(port);
    assert_eq!(world.ports[port].allocator.flows(), n - 5);
}

#[test]
fn counters_stay_wrong_without_repair() {
    let (mut world, port) = after_faults(false);
    world.run(world.now + epochs(8));
    let (actual, expected) = (
        world.ports[port].allocator.flows(),
        world.ledger.sum(port).0,
    );
    assert!(actual > expected + 50, "N = {actual}, expected {expected}");
}

struct Figures {
    utilisation: f64,
    missed: f64,
    flows_error: f64,
}

/// Runs a port that ten long flows keep busy, with deadline flows at a quarter of its rate. If `failures`, a host fails
/// every second with all its flows, and another one replaces it.
fn busy_port(repair: bool, loss: f64, failures: bool, seconds: u64) -> Figures {
    let (mut world, down) = star(
        config().with(|c| c.router.repair = repair),
        9,
        11,
        GIGABIT,
        Span::from_us(60),
    );
    world.loss = loss;
    world.only_requests = true;
    let mut stream = Streams::new(9, 0).stream(2, Purpose::Arrival);
    let port = down[0];
    let mut long: Vec<usize> = (1..=10)
        .map(|host| {
            let start = Time::ZERO + Span::from_us(host as u64);
            world.flow((host, 0), &[port], &[down[host]], ENDLESS, start, None)
        })
        .collect();
    let mut short = Vec::new();
    let (mut error, mut samples) = (0.0, 0.0);
    let end = Time::ZERO + Span::from_secs(seconds);
    let mut next_failure = Time::ZERO + Span::from_secs(1);
    while world.now < end {
        let start = world.now + stream.exponential(Span::from_ms(1));
        world.run(start);
        let host = stream.between(1, 10) as usize;
        let bytes = stream.between(10_000, 50_000);
        short.push(world.flow(
            (host, 0),
            &[port],
            &[down[host]],
            bytes,
            start,
            Some(start + Span::from_ms(10)),
        ));
        if start >= next_failure {
            next_failure += Span::from_secs(1);
            if failures {
                for flow in 0..world.flows.len() {
                    if world.flows[flow].source == host && world.flows[flow].finished.is_none() {
                        world.kill(flow);
                    }
                }
                long[host - 1] =
                    world.flow((host, 0), &[port], &[down[host]], ENDLESS, start, None);
            }
        }
        error +=
            (world.ports[port].allocator.flows() as f64 - world.ledger.sum(port).0 as f64).abs();
        samples += 1.0;
    }
    let measured: Vec<_> = short
        .iter()
        .map(|&flow| &world.flows[flow])
        .filter(|flow| flow.deadline.unwrap() < end && !flow.dead)
        .collect();
    let missed = measured
        .iter()
        .filter(|flow| {
            flow.finished
                .is_none_or(|time| time > flow.deadline.unwrap())
        })
        .count();
    Figures {
        utilisation: world.utilisation(port, 0, Span::from_secs(seconds)),
        missed: missed as f64 / measured.len() as f64,
        flows_error: error / samples,
    }
}

#[test]
fn busy_port_survives_loss_and_failures() {
    let seconds = 8;
    let fresh = busy_port(true, 0.0, false, 3);
    let faulty = busy_port(true, 0.01, true, seconds);
    let unrepaired = busy_port(false, 0.01, true, 1);
    for (name, figures) in [
        ("no faults", &fresh),
        ("repair", &faulty),
        ("no repair", &unrepaired),
    ] {
        println!(
            "{name}: utilisation {:.3}, missed {:.4}, mean error of N {:.3}",
            figures.utilisation, figures.missed, figures.flows_error
        );
    }
    assert!(fresh.flows_error < 1e-9 && fresh.utilisation > 0.95);
    assert!(faulty.utilisation >= 0.9, "{}", faulty.utilisation);
    assert!(faulty.flows_error < 1.0, "{}", faulty.flows_error);
    assert!(
        unrepaired.flows_error > 4.0 * faulty.flows_error,
        "{}",
        unrepaired.flows_error
    );
    assert!(faulty.missed <= unrepaired.missed);
}
