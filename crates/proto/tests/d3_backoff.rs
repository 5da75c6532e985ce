//! Paused flows that wait longer and longer before they ask again: when they ask, what ends the wait, and that the
//! routers go on counting them.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]
#![allow(clippy::print_stdout, reason = "the measured values are worth seeing")]

mod d3_world;

use d3_world::{World, star};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{Config, EncodedRate, Flags, Packet, Request, Rounding, Sender, Tag};

const RTT: Span = Span::from_us(300);

fn config(request_backoff: u8) -> Config {
    Config {
        scale: Some(0),
        request_backoff,
        request_packets: 0,
        ..Config::default()
    }
}

/// One epoch of the fastest pace.
fn epoch(config: &Config) -> Span {
    config.interval() * u64::from(config.reset_intervals / 2)
}

/// A sender whose requests are answered a round trip later with what the test says.
struct Asker {
    config: Config,
    sender: Sender,
    now: Time,
    newest: Option<Packet>,
}

impl Asker {
    fn new(config: Config, bytes: u64, deadline: Option<Time>) -> Self {
        let message = Message { bytes, deadline };
        let mut asker = Self {
            config,
            sender: Sender::new(&config, Time::ZERO, Rate::from_gbps(1), message),
            now: Time::ZERO,
            newest: None,
        };
        asker.send();
        asker
    }

    /// What leaves now; the newest request is kept.
    fn send(&mut self) -> usize {
        let mut sent = 0;
        while let Some(packet) = self.sender.poll_transmit(&self.config, self.now) {
            sent += 1;
            if packet.request.is_some() {
                self.newest = Some(packet);
            }
        }
        sent
    }

    /// The newest request is answered by `units`; the answer is how many packets that let leave at once.
    fn answer(&mut self, units: u8) -> usize {
        let request = self.newest.take().expect("a request is on its way");
        let mut feedback = Request {
            index: 1,
            ..Request::default()
        };
        feedback.feedback[0] = EncodedRate::from_byte(units);
        self.now += RTT;
        let answer = Packet {
            flags: Flags(request.flags.0 & Flags::SYN.0) | Flags::ACK | Flags::FEEDBACK,
            tag: Tag {
                number: 1,
                echo: request.tag.number,
                hops: 1,
                stamps: 0,
            },
            request: Some(feedback),
            ..Packet::default()
        };
        self.sender.input(&self.config, self.now, &answer);
        self.send()
    }

    /// Waits for the next request; the answer is how long after the last answer it left, in round trips.
    fn wait(&mut self) -> u64 {
        let answered = self.now;
        if self.newest.is_none() {
            self.now = self.sender.next_timeout();
            self.sender.timeout(&self.config, self.now);
            self.send();
        }
        let waited = self.now.since(answered).as_ps();
        assert_eq!(waited % RTT.as_ps(), 0);
        waited / RTT.as_ps()
    }

    /// So many grants of zero in a row, and the waits after them.
    fn starve(&mut self, grants: usize) -> Vec<u64> {
        let mut waits = Vec::new();
        for _ in 0..grants {
            self.answer(0);
            waits.push(self.wait());
        }
        waits
    }
}

#[test]
fn the_wait_doubles_up_to_its_bound_and_a_grant_ends_it() {
    let mut asker = Asker::new(config(3), 1 << 40, None);
    // Requests 1, 2, 4 and 8 round trips apart, of which the answer takes one.
    assert_eq!(asker.starve(6), [0, 1, 3, 7, 7, 7]);
    assert!(asker.answer(10) > 0, "it sends");
    assert_eq!(asker.wait(), 0);
    assert_eq!(asker.starve(3), [0, 1, 3], "and begins again");
    let counters = asker.sender.counters();
    assert_eq!((counters.pauses, counters.backoffs), (9, 7));
    assert_eq!(counters.lost_requests, 0, "nothing was lost");
}

#[test]
fn without_it_a_paused_flow_asks_once_per_round_trip() {
    let mut asker = Asker::new(config(0), 1 << 40, None);
    assert_eq!(asker.starve(20), [0; 20]);
    assert_eq!(asker.sender.counters().backoffs, 0);
}

#[test]
fn each_request_says_how_long_the_next_one_may_take() {
    let config = config(10);
    let mut asker = Asker::new(config, 1 << 40, None);
    let mut longest = 0;
    for _ in 0..14 {
        let told = asker.newest.as_ref().unwrap().request.unwrap().pace;
        asker.answer(0);
        let apart = RTT + RTT * asker.wait_in_full();
        assert!(
            apart <= epoch(&config) * (1 << (2 * told)),
            "{apart} apart, pace {told}"
        );
        longest = longest.max(told);
    }
    assert_eq!(longest, 3, "the slowest pace bounds the wait");
}

#[test]
fn without_the_census_no_wait_is_longer_than_an_epoch() {
    let config = Config {
        repair: false,
        ..config(10)
    };
    let mut asker = Asker::new(config, 1 << 40, None);
    for _ in 0..12 {
        assert_eq!(asker.newest.as_ref().unwrap().request.unwrap().pace, 0);
        asker.answer(0);
        assert!(RTT + RTT * asker.wait_in_full() <= epoch(&config));
    }
    assert!(asker.sender.counters().backoffs > 8);
}

impl Asker {
    /// As [`Self::wait`], rounded up.
    fn wait_in_full(&mut self) -> u64 {
        let answered = self.now;
        if self.newest.is_none() {
            self.now = self.sender.next_timeout();
            self.sender.timeout(&self.config, self.now);
            self.send();
        }
        self.now.since(answered).as_ps().div_ceil(RTT.as_ps())
    }
}

#[test]
fn a_deadline_that_comes_near_shortens_the_wait() {
    let deadline = Time::ZERO + Span::from_ms(12);
    let mut asker = Asker::new(config(6), 100_000, Some(deadline));
    let mut asked = 0;
    while asker.now + RTT + RTT < deadline {
        asker.answer(0);
        let left = deadline.since(asker.now);
        let answered = asker.now;
        asker.wait_in_full();
        assert!(asker.now.since(answered) <= left / 2);
        asked += 1;
    }
    assert!((7..20).contains(&asked), "{asked} requests");
}

#[test]
fn a_hopeless_flow_that_waits_learns_of_it_before_its_deadline() {
    let quench = Config {
        quench: true,
        ..config(10)
    };
    // 1 MB within 20 ms: the uplink needs 8 ms of them.
    let deadline = Time::ZERO + Span::from_ms(20);
    let mut asker = Asker::new(quench, 1_000_000, Some(deadline));
    while !asker.sender.is_quenched() {
        asker.answer(0);
        asker.wait_in_full();
    }
    assert!(asker.now < deadline, "{}", asker.now);
}

#[test]
fn a_flow_that_is_given_up_waits_for_nothing() {
    let mut asker = Asker::new(config(6), 1 << 40, None);
    asker.starve(4);
    asker.answer(0);
    assert!(asker.newest.is_none(), "it waits");
    asker.sender.close();
    asker.send();
    let fin = asker.newest.as_ref().expect("its FIN left at once");
    assert!(fin.flags.contains(Flags::FIN | Flags::QUENCH));
}

#[test]
fn a_flow_that_has_nothing_left_ends_while_it_waits() {
    let config = config(6);
    let mut asker = Asker::new(config, 1 << 40, None);
    asker.sender.set_limit(&config, 0);
    asker.sender.set_limit(&config, 10_000);
    asker.starve(4);
    asker.answer(0);
    assert!(asker.newest.is_none(), "it waits");
    // More to send is no reason to ask: it has been asking for that.
    asker.sender.set_limit(&config, 20_000);
    assert_eq!(asker.send(), 0);
    asker.sender.end_at(&config, 0);
    asker.sender.set_limit(&config, u64::MAX);
    asker.send();
    let fin = asker.newest.as_ref().expect("its FIN left at once");
    assert!(fin.flags.contains(Flags::FIN));
}

/// Forty flows at a port whose fair share is less than one unit: each grant rounds to zero.
fn starved(request_backoff: u8) -> (World, usize) {
    let config = Config {
        rounding: Rounding::FloorFloor,
        ..config(request_backoff)
    };
    let (mut world, down) = star(config, 11, 41, Rate::from_mbps(100), Span::from_us(30));
    world.audit = true;
    for host in 1..41 {
        let start = Time::ZERO + Span::from_us(97 * host as u64);
        world.flow(
            (host, 0),
            &[down[0]],
            &[down[host]],
            u64::MAX / 2,
            start,
            None,
        );
    }
    (world, down[0])
}

fn requests(world: &World) -> u32 {
    let requests = |sender: &Sender| sender.counters().requests;
    (world.flows.iter())
        .filter_map(|flow| flow.sender.as_ref().map(requests))
        .sum()
}

#[test]
fn flows_that_are_granted_nothing_for_long_stay_counted() {
    let mut asked = Vec::new();
    for request_backoff in [0, 2, 4, 10] {
        let (mut world, port) = starved(request_backoff);
        // Every counter is compared after every request and every tick.
        world.run(Time::ZERO + Span::from_ms(300));
        assert_eq!(world.impatient, 0, "the comparison never stopped");
        assert_eq!(world.ports[port].allocator.flows(), 40);
        world.audit(port);
        asked.push(requests(&world));
    }
    println!("requests of 40 paused flows in 300 ms, by doublings of the wait: {asked:?}");
    assert!(asked[1] < asked[0] / 2 && asked[2] < asked[1] / 2 && asked[3] < asked[2]);
}

#[test]
fn capacity_that_comes_free_is_asked_for_within_the_wait() {
    let (mut world, port) = starved(5);
    world.run(Time::ZERO + Span::from_ms(200));
    let sent = world.ports[port].sent_total;
    // All but three go; their counters are gone after four epochs, stretched to the pace of those that wait.
    for flow in 3..40 {
        world.kill(flow);
    }
    world.audit = false;
    world.run(world.now + epoch(&world.config) * 4 * 4 * 2);
    world.audit(port);
    let span = Span::from_ms(400);
    world.run(Time::ZERO + Span::from_ms(200) + span);
    let used = world.utilisation(port, sent, span);
    assert!(used > 0.8, "utilisation {used}");
    world.audit(port);
}

/// Many flows on a slow port, most of them paused at any time, with loss of everything and hosts that die; then peace.
#[test]
fn wrong_counters_heal_while_flows_wait() {
    let config = config(4);
    let (mut world, down) = star(config, 5, 31, Rate::from_mbps(200), Span::from_us(30));
    let mut stream = Streams::new(5, 0).stream(1, Purpose::Fault);
    let port = down[0];
    world.loss = 0.05;
    for step in 0..100 {
        let source = stream.between(1, 30) as usize;
        let start = world.now + Span::from_us(1);
        let paths = (&[port], &[down[source]]);
        world.flow(
            (source, 0),
            paths.0,
            paths.1,
            stream.between(1_000, 100_000),
            start,
            Some(start + Span::from_ms(20)),
        );
        let long = world.flow((source, 0), paths.0, paths.1, u64::MAX / 2, start, None);
        world.run(world.now + Span::from_ms(5));
        if step % 3 != 0 {
            world.kill(long);
        }
    }
    world.loss = 0.0;
    world.run(world.now + Span::from_ms(500));
    let (n, _, _) = world.ledger.sum(port);
    assert!(n >= 30, "thirty long flows live: {n}");
    world.audit(port);
    let alive: Vec<usize> = (0..world.flows.len())
        .filter(|&flow| !world.flows[flow].dead && world.flows[flow].bytes > 1 << 40)
        .collect();
    let backoffs = |world: &World| -> u32 {
        let of = |&flow: &usize| world.flows[flow].sender.as_ref().unwrap();
        alive.iter().map(|flow| of(flow).counters().backoffs).sum()
    };
    let before = backoffs(&world);
    for &flow in &alive[..5] {
        world.kill(flow);
    }
    // Four epochs at the pace of those that wait longest: 16 round trips of 0.2 to 0.6 ms.
    let heal = epoch(&config) * 16 * 4;
    world.run(world.now + heal);
    world.audit(port);
    world.ports[port].restart(&config);
    world.run(world.now + heal);
    world.audit(port);
    assert_eq!(world.ports[port].allocator.flows(), n - 5);
    assert!(backoffs(&world) > before + 20, "flows waited meanwhile");
}
