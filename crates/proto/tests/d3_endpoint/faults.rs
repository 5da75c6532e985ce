//! Networks that lose, repeat, damage and reorder; routers that restart; hosts that die.

use crate::exchange::{Exchange, run, run_to_outcomes, run_with};
use crate::router::Router;
use crate::rules::{SECOND, after, options};
use crate::world::{Faults, World, address};
use duetime_core::{Span, Time};
use duetime_proto::d3::endpoint::{Options, StreamError};

/// Random runs of a plain test; `script/faults --d3` runs 10,000, and `D3_ENDPOINT_SEEDS=7..8` one again.
const SEEDS: std::ops::Range<u64> = 0..150;

/// So long after it has heard of its peer for the last time, a stream has ended with an error: the idle timeout, or the
/// shorter one for the answer to a SYN.
const TIMEOUT: Span = Span::from_ms(10_001);

#[expect(clippy::disallowed_methods, reason = "the seeds to replay")]
fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("D3_ENDPOINT_SEEDS") else {
        return SEEDS;
    };
    let (first, end) = range
        .split_once("..")
        .expect("D3_ENDPOINT_SEEDS=FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

/// What goes wrong beside the network's faults, and when.
struct Events {
    restart: Time,
    death: Option<(usize, Time)>,
}

impl Events {
    /// Lets what is due by now happen, once.
    fn happen(&mut self, world: &mut World) {
        if world.now >= self.restart {
            world.restart_routers();
            self.restart = Time::MAX;
        }
        if let Some((host, at)) = self.death
            && world.now >= at
        {
            world.kill(host);
            self.death = None;
        }
    }
}

/// A world whose faults follow from the seed, and what its hosts want.
fn random_world(seed: u64) -> (World, Vec<Exchange>, Events) {
    let mut world = World::new(4, options(), seed);
    for _ in 0..8 {
        world.draw();
    }
    let mut up_to = |most: u64| world.draw() % (most + 1);
    let faults = Faults {
        lost: up_to(3) * up_to(100),
        repeated: up_to(1) * up_to(200),
        damaged: up_to(1) * up_to(100),
        delayed: up_to(1) * up_to(500),
        longest: 0,
    };
    let count = 1 + up_to(5);
    let mut exchanges = Vec::new();
    for number in 0..count {
        let size = |kind: u64, draw: u64| match kind {
            0 => draw % 40,
            1 => draw % 3_000,
            _ => draw % 150_000,
        };
        let bytes = size(up_to(2), up_to(u64::MAX - 1));
        let answer = if bytes < 16 {
            0
        } else {
            size(up_to(2), up_to(u64::MAX - 1))
        };
        let mut one = Exchange::new(number, bytes, answer);
        one.host = 1 + up_to(2) as usize;
        one.deadline = (up_to(1) == 0).then(|| Span::from_us(1 + up_to(60_000)));
        one.policy.quench = up_to(3) == 0;
        if up_to(4) == 0 {
            one.announced = up_to(2 * bytes);
        }
        exchanges.push(one);
    }
    let mut soon = || after(Span::from_us(1_000 + up_to(12_000)));
    let restart = soon();
    let death = soon();
    let death = (up_to(3) == 0).then_some((up_to(3) as usize, death));
    // Up to ten hops with the sender's own; six of them can answer.
    let routers = 1 + up_to(2) * up_to(4);
    world.lengthen(routers as usize);
    world.faults = faults;
    (world, exchanges, Events { restart, death })
}

/// Tells how to run a seed again if it fails.
struct Replay(u64);

impl Drop for Replay {
    #[expect(clippy::print_stderr, reason = "only when a test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay: D3_ENDPOINT_SEEDS={}..{}", self.0, self.0 + 1);
        }
    }
}

#[test]
fn whatever_the_network_does_bytes_are_right_and_all_ends() {
    for seed in seeds() {
        let _replay = Replay(seed);
        let (mut world, mut exchanges, mut events) = random_world(seed);
        let death = events.death;
        let services = run_with(&mut world, &mut exchanges, after(SECOND * 120), |world| {
            events.happen(world);
        });
        let dead = |host: usize| death.is_some_and(|(dead, _)| dead == host);
        for one in exchanges.iter().filter(|one| !dead(one.host)) {
            let good = match one.outcome {
                Some(Ok(())) => one.read == one.answer && one.statistics.acked == one.bytes,
                Some(Err(StreamError::Quenched)) => one.policy.quench && one.deadline.is_some(),
                // Its farewell was lost longer than its peer stays; or the handshake, at 30 % loss both ways.
                Some(Err(StreamError::Reset)) => world.faults.lost > 100,
                Some(Err(StreamError::TimedOut)) => {
                    let heard = world.heard.get(&(one.host, one.server));
                    let last = heard.map_or(after(Span::from_ms(1)), |time| *time);
                    let in_time = one.ended_at <= last + TIMEOUT;
                    in_time && (world.faults.lost > 100 || dead(one.server))
                }
                _ => false,
            };
            assert!(good, "seed {seed}, {:?}, {death:?}: {one:?}", world.faults);
        }
        let mut alive = services.iter().filter(|one| !dead(one.host));
        let ended = alive.all(|one| one.outcome.is_some());
        assert!(ended, "seed {seed}: a service hangs");
        let left = (0..world.endpoints.len()).filter(|host| !dead(*host));
        let left: usize = left.map(|host| world.endpoints[host].streams()).sum();
        assert_eq!(left, 0, "seed {seed}: streams are left");
        for router in world.routers() {
            router.run_until(router.last + router.healing_time());
            let counters = router.counters();
            assert!(router.is_idle(), "seed {seed}: {counters:?} of no flow");
        }
    }
}

/// The host of the next test that dies, the last one.
const DYING: usize = 4;

#[test]
fn counters_of_busy_routers_are_right_again_after_faults() {
    for seed in 0..12 {
        let _replay = Replay(seed);
        let options = Options {
            send_buffer: 1 << 24,
            ..options()
        };
        let mut world = World::new(5, options, seed);
        world.lengthen(2);
        world.faults = Faults {
            lost: 40 * (seed % 3),
            repeated: 50,
            damaged: 20 * (seed % 2),
            delayed: 100,
            longest: 0,
        };
        // Four hosts send to one and to each other for 80 ms and more; one host dies, the routers restart.
        let mut all: Vec<Exchange> = (0..8).map(|i| Exchange::new(i, 4_000_000, 0)).collect();
        for one in &mut all {
            one.host = 1 + one.number as usize % 4;
            one.server = if one.number < 4 {
                0
            } else {
                1 + (one.host + 1) % 4
            };
        }
        let (calm, mut agreed_at) = (after(Span::from_ms(20)), None);
        let mut events = Events {
            restart: after(Span::from_ms(8)),
            death: Some((DYING, after(Span::from_ms(12)))),
        };
        run_to_outcomes(&mut world, &mut all, after(Span::from_ms(90)), |world| {
            events.happen(world);
            if world.now >= calm {
                world.faults = Faults::default();
                // Flows to the dead host are silent while they wait longer and longer for an answer.
                let heard = world.paths[..DYING].iter().flatten();
                let agree = heard
                    .map(Router::counters)
                    .all(|(are, should)| are == should);
                agreed_at = if agree {
                    agreed_at.or(Some(world.now))
                } else {
                    None
                };
            }
        });
        assert!(events.death.is_none() && world.now >= after(Span::from_ms(90)));
        let heard = world.paths[..DYING].iter().flatten();
        let healing = heard.map(Router::healing_time).max().unwrap();
        let in_time = agreed_at.is_some_and(|time| time <= calm + healing);
        assert!(in_time, "seed {seed}: {agreed_at:?}, allowed: {healing}");
    }
}

#[test]
fn all_arrives_at_three_in_ten_lost() {
    let (mut met, mut all) = (0, 0);
    // One exchange in 200 is reset at this loss, with every way of sending.
    for seed in 10..30 {
        let mut world = World::new(2, options(), seed);
        world.faults.lost = 300;
        let mut two = [
            Exchange::new(1, 40_000, 40_000),
            Exchange::new(2, 100, 5_000),
        ];
        run(&mut world, &mut two, after(SECOND * 60));
        met += two.iter().filter(|one| one.outcome == Some(Ok(()))).count();
        all += two.len();
    }
    assert_eq!(met, all);
}

#[test]
fn a_host_that_dies_leaves_an_error_in_time_and_nothing_else() {
    let timeouts = Options {
        idle_timeout: SECOND,
        connect_timeout: SECOND * 2,
        ..options()
    };
    for (seed, at_us) in [(1, 1_010), (2, 1_070), (3, 1_500), (4, 4_000), (5, 8_000)] {
        for dying in [0, 1] {
            let mut world = World::new(2, timeouts, seed);
            let mut all = [
                Exchange::new(1, 300_000, 1_000_000),
                Exchange::new(2, 20, 1_000),
            ];
            let death = after(Span::from_us(at_us));
            let services = run_with(&mut world, &mut all, after(SECOND * 20), |world| {
                if world.now >= death {
                    world.kill(dying);
                }
            });
            let alive = 1 - dying;
            assert_eq!(
                world.endpoints[alive].streams(),
                0,
                "at {at_us} us, host {dying}"
            );
            assert!(world.now < death + SECOND * 8, "{} is late", world.now);
            let timed_out = |outcome| outcome == Some(Err(StreamError::TimedOut));
            if dying == 0 {
                assert!(
                    timed_out(all[0].outcome),
                    "at {at_us} us: {:?}",
                    all[0].outcome
                );
            } else {
                let good = services
                    .iter()
                    .all(|one| one.outcome == Some(Ok(())) || timed_out(one.outcome));
                assert!(good, "at {at_us} us: {services:?}");
            }
        }
    }
}

#[test]
fn a_path_that_takes_no_long_packets_is_an_error_in_time() {
    let mut world = World::new(2, options(), 1);
    world.faults.longest = 1_000;
    let mut two = [Exchange::new(1, 400_000, 0), Exchange::new(2, 400, 0)];
    run(&mut world, &mut two, after(SECOND * 60));
    assert_eq!(two[0].outcome, Some(Err(StreamError::TimedOut)));
    assert!(two[0].ended_at < after(SECOND * 12), "{}", two[0].ended_at);
    assert_eq!(two[1].outcome, Some(Ok(())), "short ones arrive");
}

#[test]
fn an_interface_that_takes_no_long_packets_ends_the_streams_to_that_peer() {
    let mut world = World::new(3, options(), 1);
    let mut two = [Exchange::new(1, 400_000, 0), Exchange::new(2, 400_000, 0)];
    two[1].server = 2;
    run_with(&mut world, &mut two, after(SECOND * 60), |world| {
        let now = world.now;
        world.endpoints[1].too_long(now, address(0));
    });
    let outcomes = two.map(|one| one.outcome);
    assert_eq!(outcomes, [Some(Err(StreamError::TooLong)), Some(Ok(()))]);
}

#[test]
fn a_restarted_host_says_that_it_knows_nothing() {
    let mut world = World::new(2, options(), 1);
    let mut one = [Exchange::new(1, 100_000, 3_000_000)];
    let mut restarted = false;
    run_with(&mut world, &mut one, after(SECOND * 20), |world| {
        if !restarted && world.now > after(Span::from_ms(5)) {
            restarted = true;
            let other = World::new(2, options(), 99).endpoints.remove(0);
            world.endpoints[0] = other;
        }
    });
    assert_eq!(one[0].outcome, Some(Err(StreamError::Reset)));
    assert!(one[0].ended_at < after(Span::from_ms(3_000)));
}

#[test]
fn an_uncorrupted_router_heals_after_a_restart_under_load() {
    let mut world = World::new(2, options(), 5);
    let mut all: Vec<Exchange> = (0..4).map(|i| Exchange::new(i, 1_500_000, 0)).collect();
    let mut restarted = false;
    run_with(&mut world, &mut all, after(SECOND), |world| {
        if !restarted && world.now > after(Span::from_ms(10)) {
            restarted = true;
            world.restart_routers();
        }
    });
    assert!(restarted && all.iter().all(|one| one.outcome == Some(Ok(()))));
    // 6 MB take 50.5 ms of a gigabit with their headers.
    let last = all.iter().map(|one| one.ended_at).max().unwrap();
    assert!(last < after(Span::from_ms(75)), "{last}");
}
