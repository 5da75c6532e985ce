//! Networks that lose, duplicate, damage and reorder; hosts that fail; messages that are aborted.

use super::messages::{Message, run, take, work};
use super::world::{Faults, SECOND, World, after, after_us, options};
use crate::virtual_network::seeds;
use duetime_core::{Span, Time};
use duetime_proto::due::endpoint::{Failure, Options, Outcome};

/// Seeds of a normal test run; `script/faults --due` runs 10,000, and `DUE_ENDPOINT_SEEDS=7..8` repeats one.
const SEEDS: std::ops::Range<u64> = 0..2_000;

/// Prints the command that replays a seed if its run fails.
struct Replay(u64);

impl Drop for Replay {
    #[expect(clippy::print_stderr, reason = "only when a test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay: script/faults --due {}..{}", self.0, self.0 + 1);
        }
    }
}

/// Random world and its application.
struct Scenario {
    world: World,
    messages: Vec<Message>,
    failure: Option<(usize, Time)>,
    /// True if memory is so small that messages are refused, and applications take messages only now and then.
    is_tight: bool,
}

fn random_scenario(seed: u64) -> Scenario {
    let mut world = World::new(4, options(), seed);
    for _ in 0..8 {
        world.draw();
    }
    let is_tight = world.draw().is_multiple_of(5);
    if is_tight {
        let tight = Options {
            max_message_bytes: 200_000,
            max_incoming_bytes: 250_000,
            max_outgoing_bytes: 220_000,
            max_unproven: (world.draw() % 3) as usize,
            backlog: 3 + (world.draw() % 5) as usize,
            ..options()
        };
        let (random, faults) = (world.draw(), world.faults);
        world = World::new(4, tight, random);
        world.faults = faults;
    }
    let mut random = |max: u64| world.draw() % (max + 1);
    let faults = Faults {
        lost: random(3) * random(100),
        duplicated: random(1) * random(200),
        damaged: random(1) * random(100),
        delayed: random(1) * random(500),
        max_length: 0,
        muted: None,
    };
    let count = 1 + random(11);
    let mut messages = Vec::new();
    for _ in 0..count {
        let bytes = match random(3) {
            0 => random(40),
            1 => random(3_000),
            2 => random(30_000),
            _ => random(200_000),
        };
        let from = random(3) as usize;
        let to = (from + 1 + random(2) as usize) % 4;
        let mut message = Message::new(from, to, bytes);
        message.deadline = (random(1) == 0).then(|| Span::from_us(random(20_000)));
        message.is_request = random(4) == 0;
        message.at = after_us(1_000 + random(10_000));
        if random(7) == 0 {
            message.abort_at = message.at + Span::from_us(random(4_000));
        }
        messages.push(message);
    }
    let failure = (random(3) == 0).then(|| (random(3) as usize, after_us(1_000 + random(12_000))));
    if random(3) == 0 {
        world.use_ipv6();
    }
    world.faults = faults;
    Scenario {
        world,
        messages,
        failure,
        is_tight,
    }
}

/// Checks the outcome of a message of a host that did not fail.
fn is_good(scenario: &Scenario, message: &Message, was_aborted: bool) -> bool {
    let is_dead = |host: usize| scenario.failure.is_some_and(|(dead, _)| dead == host);
    match message.outcome {
        Some(Outcome::Delivered) => message.arrivals.len() == 1 || is_dead(message.to),
        Some(Outcome::Aborted) => was_aborted,
        Some(Outcome::Failed(Failure::TimedOut)) => {
            // The announcement waits for memory or is repeated: up to 30 s without a reply, from a reply on.
            let is_expected =
                is_dead(message.to) || scenario.world.faults.lost > 100 || scenario.is_tight;
            is_expected && message.ended_at < message.at + SECOND * 70
        }
        Some(Outcome::Failed(Failure::Refused)) => scenario.is_tight,
        _ => false,
    }
}

#[test]
fn messages_are_correct_under_random_faults() {
    for seed in seeds("DUE_ENDPOINT_SEEDS", SEEDS) {
        let _replay = Replay(seed);
        let mut scenario = random_scenario(seed);
        let aborted: Vec<bool> = scenario
            .messages
            .iter()
            .map(|message| message.abort_at < Time::MAX)
            .collect();
        let Scenario {
            world,
            messages,
            failure,
            is_tight,
        } = &mut scenario;
        let end = after(SECOND * 200);
        let mut at = failure.map_or(Time::MAX, |(_, at)| at);
        let mut is_quiet = false;
        while world.now < end && !is_quiet {
            if at <= world.now {
                at = Time::MAX;
                world.kill(failure.expect("a failure").0);
            }
            let period = world.now.as_ns() / 5_000_000;
            let is_tight = *is_tight;
            work(world, messages, |host| {
                !is_tight || period % 4 == host as u64
            });
            let wakes = messages
                .iter()
                .filter(|message| !world.dead[message.from] && message.number.is_none());
            let mut wake = wakes.map(|message| message.at).min().unwrap_or(Time::MAX);
            let aborts = messages
                .iter()
                .filter(|message| !world.dead[message.from])
                .map(|message| message.abort_at);
            wake = wake.min(aborts.min().unwrap_or(Time::MAX)).min(at);
            if is_tight
                && world
                    .endpoints
                    .iter()
                    .any(|endpoint| endpoint.incoming() > 0)
            {
                wake = wake.min(world.now + Span::from_ms(5));
            }
            // A blocked message is submitted again every millisecond.
            let wake = wake.max(world.now + Span::from_ms(1));
            is_quiet = !world.step_before(wake) && {
                let is_over = wake >= end;
                world.now = wake.min(end);
                is_over
            };
        }
        for host in 0..4 {
            if !world.dead[host] {
                take(world, host, messages);
            }
        }
        assert!(is_quiet, "seed {seed}: timers run for ever");
        for (host, endpoint) in scenario.world.endpoints.iter().enumerate() {
            if !scenario.world.dead[host] {
                assert!(!endpoint.is_sending(), "seed {seed}: host {host} sends");
                let left = (endpoint.incoming(), endpoint.incoming_bytes());
                assert_eq!(left, (0, 0), "seed {seed}: host {host} has messages");
                assert_eq!(endpoint.outgoing_bytes(), 0, "seed {seed}: host {host}");
            }
        }
        for (message, was_aborted) in scenario.messages.iter().zip(aborted) {
            assert!(
                scenario.world.dead[message.from] || is_good(&scenario, message, was_aborted),
                "seed {seed}, {:?}, {:?}: {message:?}",
                scenario.world.faults,
                scenario.failure
            );
        }
        let Scenario {
            world, messages, ..
        } = &scenario;
        let with = |outcome: Outcome| {
            messages
                .iter()
                .filter(move |message| message.outcome == Some(outcome))
        };
        let delivered = with(Outcome::Delivered);
        world.injected.report(&[
            ("deaths", u64::from(world.dead.contains(&true))),
            ("aborts", with(Outcome::Aborted).count() as u64),
            ("messages", messages.len() as u64),
            ("delivered", delivered.clone().count() as u64),
            ("bytes", delivered.map(|message| message.bytes).sum()),
        ]);
    }
}

#[test]
fn delivers_at_30_percent_loss() {
    let (mut delivered, mut all) = (0, 0);
    for seed in 10..30 {
        let mut world = World::new(3, options(), seed);
        world.faults.lost = 300;
        let mut messages: Vec<Message> = [40_000, 100, 200_000, 5_000]
            .into_iter()
            .enumerate()
            .map(|(index, bytes)| Message::new(index % 2, 2, bytes))
            .collect();
        assert!(run(&mut world, &mut messages, after(SECOND * 120)));
        delivered += messages
            .iter()
            .filter(|message| message.outcome == Some(Outcome::Delivered))
            .count();
        all += messages.len();
    }
    assert_eq!(delivered, all);
}
