//! Networks that lose, duplicate, damage and reorder; routers that restart; hosts that fail.

use super::exchange::{Exchange, run, run_to_outcomes, run_with};
use super::router::Router;
use super::world::{Faults, SECOND, World, address, after, options};
use crate::virtual_network::seeds;
use duetime_core::{Span, Time};
use duetime_proto::d3::endpoint::{Options, StreamError};

/// Seeds of a normal test run; `script/faults --d3` runs 10,000, and `D3_ENDPOINT_SEEDS=7..8` repeats one.
const SEEDS: std::ops::Range<u64> = 0..2_000;

/// Maximum time between the last datagram from the peer and a stream's error: the idle timeout, or the shorter timeout
/// for the answer to a SYN.
const TIMEOUT: Span = Span::from_ms(10_001);

/// Scheduled events in addition to the network's faults.
struct Events {
    restart: Time,
    failure: Option<(usize, Time)>,
}

impl Events {
    /// Triggers each event that is due, once.
    fn trigger(&mut self, world: &mut World) {
        if world.now >= self.restart {
            world.restart_routers();
            self.restart = Time::MAX;
        }
        if let Some((host, at)) = self.failure
            && world.now >= at
        {
            world.kill(host);
            self.failure = None;
        }
    }
}

/// Creates a world with faults and exchanges derived from the seed.
fn random_world(seed: u64) -> (World, Vec<Exchange>, Events) {
    let mut world = World::new(4, options(), seed);
    for _ in 0..8 {
        world.draw();
    }
    let mut random = |max: u64| world.draw() % (max + 1);
    let faults = Faults {
        lost: random(3) * random(100),
        duplicated: random(1) * random(200),
        damaged: random(1) * random(100),
        delayed: random(1) * random(500),
        max_length: 0,
    };
    let count = 1 + random(5);
    let mut exchanges = Vec::new();
    for number in 0..count {
        let size = |kind: u64, draw: u64| match kind {
            0 => draw % 40,
            1 => draw % 3_000,
            _ => draw % 150_000,
        };
        let bytes = size(random(2), random(u64::MAX - 1));
        let answer = if bytes < 16 {
            0
        } else {
            size(random(2), random(u64::MAX - 1))
        };
        let mut exchange = Exchange::new(number, bytes, answer);
        exchange.host = 1 + random(2) as usize;
        exchange.deadline = (random(1) == 0).then(|| Span::from_us(1 + random(60_000)));
        exchange.policy.quench = random(3) == 0;
        if random(4) == 0 {
            exchange.announced = random(2 * bytes);
        }
        exchanges.push(exchange);
    }
    let mut random_time = || after(Span::from_us(1_000 + random(12_000)));
    let restart = random_time();
    let failure = random_time();
    let failure = (random(3) == 0).then_some((random(3) as usize, failure));
    // Up to ten hops, including the sender's own; six of them can answer.
    let routers = 1 + random(2) * random(4);
    world.set_routers(routers as usize);
    world.faults = faults;
    (world, exchanges, Events { restart, failure })
}

/// Prints the command that replays a seed if its run fails.
struct Replay(u64);

impl Drop for Replay {
    #[expect(clippy::print_stderr, reason = "only when a test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay: script/faults --d3 {}..{}", self.0, self.0 + 1);
        }
    }
}

#[test]
fn transfers_are_correct_under_random_faults() {
    for seed in seeds("D3_ENDPOINT_SEEDS", SEEDS) {
        let _replay = Replay(seed);
        let (mut world, mut exchanges, mut events) = random_world(seed);
        let failure = events.failure;
        let services = run_with(&mut world, &mut exchanges, after(SECOND * 120), |world| {
            events.trigger(world);
        });
        let dead = |host: usize| failure.is_some_and(|(dead, _)| dead == host);
        for exchange in exchanges.iter().filter(|exchange| !dead(exchange.host)) {
            let good = match exchange.outcome {
                Some(Ok(())) => {
                    exchange.read == exchange.answer && exchange.statistics.acked == exchange.bytes
                }
                Some(Err(StreamError::Quenched)) => {
                    exchange.policy.quench && exchange.deadline.is_some()
                }
                // The reset was lost for longer than the peer lingers, or the handshake failed at 30 % loss in both
                // directions.
                Some(Err(StreamError::Reset)) => world.faults.lost > 100,
                Some(Err(StreamError::TimedOut)) => {
                    let arrival = world.last_arrival.get(&(exchange.host, exchange.server));
                    let last = arrival.map_or(after(Span::from_ms(1)), |time| *time);
                    let in_time = exchange.ended_at <= last + TIMEOUT;
                    in_time && (world.faults.lost > 100 || dead(exchange.server))
                }
                _ => false,
            };
            assert!(
                good,
                "seed {seed}, {:?}, {failure:?}: {exchange:?}",
                world.faults
            );
        }
        let mut alive = services.iter().filter(|exchange| !dead(exchange.host));
        let ended = alive.all(|exchange| exchange.outcome.is_some());
        assert!(ended, "seed {seed}: a service hangs");
        let left = (0..world.endpoints.len()).filter(|host| !dead(*host));
        let left: usize = left.map(|host| world.endpoints[host].streams()).sum();
        assert_eq!(left, 0, "seed {seed}: streams are left");
        for router in world.routers() {
            router.run_until(router.last + router.recovery_time());
            let counters = router.counters();
            assert!(router.is_idle(), "seed {seed}: {counters:?} without flows");
        }
        let is_delivered = |exchange: &&Exchange| exchange.outcome == Some(Ok(()));
        let delivered = exchanges.iter().filter(is_delivered);
        let bytes = |exchange: &Exchange| exchange.bytes + exchange.answer;
        world.injected.report(&[
            ("deaths", u64::from(world.dead.contains(&true))),
            ("restarts", u64::from(events.restart == Time::MAX)),
            ("messages", exchanges.len() as u64),
            ("delivered", delivered.clone().count() as u64),
            ("bytes", delivered.map(bytes).sum()),
        ]);
    }
}

/// Failing host of the next test, the last one.
const FAILING: usize = 4;

#[test]
fn busy_router_counters_recover_after_faults() {
    for seed in 0..12 {
        let _replay = Replay(seed);
        let options = Options {
            send_buffer: 1 << 24,
            ..options()
        };
        let mut world = World::new(5, options, seed);
        world.set_routers(2);
        world.faults = Faults {
            lost: 40 * (seed % 3),
            duplicated: 50,
            damaged: 20 * (seed % 2),
            delayed: 100,
            max_length: 0,
        };
        // Four hosts send to one and to each other for at least 80 ms; one host fails and the routers restart.
        let mut all: Vec<Exchange> = (0..8).map(|i| Exchange::new(i, 4_000_000, 0)).collect();
        for exchange in &mut all {
            exchange.host = 1 + exchange.number as usize % 4;
            exchange.server = if exchange.number < 4 {
                0
            } else {
                1 + (exchange.host + 1) % 4
            };
        }
        let (quiet, mut agreed_at) = (after(Span::from_ms(20)), None);
        let mut events = Events {
            restart: after(Span::from_ms(8)),
            failure: Some((FAILING, after(Span::from_ms(12)))),
        };
        run_to_outcomes(&mut world, &mut all, after(Span::from_ms(90)), |world| {
            events.trigger(world);
            if world.now >= quiet {
                world.faults = Faults::default();
                // Flows to the failed host are silent while their waits for an answer grow.
                let reachable = world.paths[..FAILING].iter().flatten();
                let agree = reachable
                    .map(Router::counters)
                    .all(|(are, should)| are == should);
                agreed_at = if agree {
                    agreed_at.or(Some(world.now))
                } else {
                    None
                };
            }
        });
        assert!(events.failure.is_none() && world.now >= after(Span::from_ms(90)));
        let reachable = world.paths[..FAILING].iter().flatten();
        let healing = reachable.map(Router::recovery_time).max().unwrap();
        let in_time = agreed_at.is_some_and(|time| time <= quiet + healing);
        assert!(in_time, "seed {seed}: {agreed_at:?}, allowed: {healing}");
    }
}

#[test]
fn delivers_at_30_percent_loss() {
    let (mut met, mut all) = (0, 0);
    // One exchange in 200 is reset at this loss with any sending strategy.
    for seed in 10..30 {
        let mut world = World::new(2, options(), seed);
        world.faults.lost = 300;
        let mut two = [
            Exchange::new(1, 40_000, 40_000),
            Exchange::new(2, 100, 5_000),
        ];
        run(&mut world, &mut two, after(SECOND * 60));
        met += two
            .iter()
            .filter(|exchange| exchange.outcome == Some(Ok(())))
            .count();
        all += two.len();
    }
    assert_eq!(met, all);
}

#[test]
fn host_failure_causes_a_timely_error() {
    let timeouts = Options {
        idle_timeout: SECOND,
        connect_timeout: SECOND * 2,
        ..options()
    };
    for (seed, at_us) in [(1, 1_010), (2, 1_070), (3, 1_500), (4, 4_000), (5, 8_000)] {
        for failing in [0, 1] {
            let mut world = World::new(2, timeouts, seed);
            let mut all = [
                Exchange::new(1, 300_000, 1_000_000),
                Exchange::new(2, 20, 1_000),
            ];
            let failure = after(Span::from_us(at_us));
            let services = run_with(&mut world, &mut all, after(SECOND * 20), |world| {
                if world.now >= failure {
                    world.kill(failing);
                }
            });
            let alive = 1 - failing;
            assert_eq!(
                world.endpoints[alive].streams(),
                0,
                "at {at_us} us, host {failing}"
            );
            assert!(world.now < failure + SECOND * 8, "{} is late", world.now);
            let timed_out = |outcome| outcome == Some(Err(StreamError::TimedOut));
            if failing == 0 {
                assert!(
                    timed_out(all[0].outcome),
                    "at {at_us} us: {:?}",
                    all[0].outcome
                );
            } else {
                let good = services.iter().all(|exchange| {
                    exchange.outcome == Some(Ok(())) || timed_out(exchange.outcome)
                });
                assert!(good, "at {at_us} us: {services:?}");
            }
        }
    }
}

#[test]
fn path_mtu_failure_causes_a_timely_error() {
    let mut world = World::new(2, options(), 1);
    world.faults.max_length = 1_000;
    let mut two = [Exchange::new(1, 400_000, 0), Exchange::new(2, 400, 0)];
    run(&mut world, &mut two, after(SECOND * 60));
    assert_eq!(two[0].outcome, Some(Err(StreamError::TimedOut)));
    assert!(two[0].ended_at < after(SECOND * 12), "{}", two[0].ended_at);
    assert_eq!(two[1].outcome, Some(Ok(())), "short packets arrive");
}

#[test]
fn interface_mtu_failure_ends_streams_to_peer() {
    let mut world = World::new(3, options(), 1);
    let mut two = [Exchange::new(1, 400_000, 0), Exchange::new(2, 400_000, 0)];
    two[1].server = 2;
    run_with(&mut world, &mut two, after(SECOND * 60), |world| {
        let now = world.now;
        world.endpoints[1].too_long(now, address(0));
    });
    let outcomes = two.map(|exchange| exchange.outcome);
    assert_eq!(outcomes, [Some(Err(StreamError::TooLong)), Some(Ok(()))]);
}

#[test]
fn restarted_host_resets_streams() {
    let mut world = World::new(2, options(), 1);
    let mut exchange = [Exchange::new(1, 100_000, 3_000_000)];
    let mut restarted = false;
    run_with(&mut world, &mut exchange, after(SECOND * 20), |world| {
        if !restarted && world.now > after(Span::from_ms(5)) {
            restarted = true;
            let other = World::new(2, options(), 99).endpoints.remove(0);
            world.endpoints[0] = other;
        }
    });
    assert_eq!(exchange[0].outcome, Some(Err(StreamError::Reset)));
    assert!(exchange[0].ended_at < after(Span::from_ms(3_000)));
}

#[test]
fn restarted_router_recovers_under_load() {
    let mut world = World::new(2, options(), 5);
    let mut all: Vec<Exchange> = (0..4).map(|i| Exchange::new(i, 1_500_000, 0)).collect();
    let mut restarted = false;
    run_with(&mut world, &mut all, after(SECOND), |world| {
        if !restarted && world.now > after(Span::from_ms(10)) {
            restarted = true;
            world.restart_routers();
        }
    });
    assert!(restarted && all.iter().all(|exchange| exchange.outcome == Some(Ok(()))));
    // 6 MB with headers take 50.5 ms at a gigabit.
    let last = all.iter().map(|exchange| exchange.ended_at).max().unwrap();
    assert!(last < after(Span::from_ms(75)), "{last}");
}
