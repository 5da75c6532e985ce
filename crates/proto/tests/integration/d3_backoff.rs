//! Request backoff of paused flows: the waits, the events that end them, and the counting of waiting flows by routers.

use crate::d3_world::{ENDLESS, World, star};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{Config, EncodedRate, Flags, Packet, Request, Rounding, Sender, Tag};

const RTT: Span = Span::from_us(300);

fn config(request_backoff: u8) -> Config {
    Config::default().with(|c| {
        c.wire.scale = Some(0);
        c.host.request_backoff = request_backoff;
        c.host.request_packets = 0;
    })
}

/// Returns one epoch of the fastest pace.
fn epoch(config: &Config) -> Span {
    config.interval() * u64::from(config.router.reset_intervals / 2)
}

/// Sender with scripted answers, one round trip after each request.
struct Requester {
    config: Config,
    sender: Sender,
    now: Time,
    newest: Option<Packet>,
}

impl Requester {
    fn new(config: Config, bytes: u64, deadline: Option<Time>) -> Self {
        let message = Message::new(bytes, deadline);
        let mut requester = Self {
            config,
            sender: Sender::new(&config, Time::ZERO, Rate::from_gbps(1), message),
            now: Time::ZERO,
            newest: None,
        };
        requester.send();
        requester
    }

    /// Sends pending packets and keeps the newest request. Returns the number of packets.
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

    /// Answers the newest request with `units`. Returns the number of packets sent at once in response.
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

    /// Waits for the next request. Returns the time since the last answer in round trips.
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

    /// Answers `grants` requests in a row with zero. Returns the waits after them.
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
fn wait_doubles_up_to_its_bound() {
    let mut requester = Requester::new(config(3), 1 << 40, None);
    // Requests are 1, 2, 4 and 8 round trips apart, one of which is the answer's.
    assert_eq!(requester.starve(6), [0, 1, 3, 7, 7, 7]);
    assert!(requester.answer(10) > 0, "sends data");
    assert_eq!(requester.wait(), 0);
    assert_eq!(requester.starve(3), [0, 1, 3], "the backoff restarts");
    let counters = requester.sender.counters();
    assert_eq!((counters.pauses, counters.backoffs), (9, 7));
    assert_eq!(counters.lost_requests, 0, "nothing was lost");
}

#[test]
fn no_backoff_requests_every_round_trip() {
    let mut requester = Requester::new(config(0), 1 << 40, None);
    assert_eq!(requester.starve(20), [0; 20]);
    assert_eq!(requester.sender.counters().backoffs, 0);
}

#[test]
fn requests_announce_the_next_wait() {
    let config = config(10);
    let mut requester = Requester::new(config, 1 << 40, None);
    let mut max_pace = 0;
    for _ in 0..14 {
        let pace = requester.newest.as_ref().unwrap().request.unwrap().pace;
        requester.answer(0);
        let apart = RTT + RTT * requester.wait_rounded_up();
        assert!(
            apart <= epoch(&config) * (1 << (2 * pace)),
            "{apart} apart, pace {pace}"
        );
        max_pace = max_pace.max(pace);
    }
    assert_eq!(max_pace, 3, "the slowest pace bounds the wait");
}

#[test]
fn without_repair_waits_are_within_an_epoch() {
    let config = config(10).with(|c| c.router.repair = false);
    let mut requester = Requester::new(config, 1 << 40, None);
    for _ in 0..12 {
        assert_eq!(requester.newest.as_ref().unwrap().request.unwrap().pace, 0);
        requester.answer(0);
        assert!(RTT + RTT * requester.wait_rounded_up() <= epoch(&config));
    }
    assert!(requester.sender.counters().backoffs > 8);
}

impl Requester {
    /// Like [`Self::wait`], rounded up.
    fn wait_rounded_up(&mut self) -> u64 {
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
fn near_deadline_shortens_the_wait() {
    let deadline = Time::ZERO + Span::from_ms(12);
    let mut requester = Requester::new(config(6), 100_000, Some(deadline));
    let mut requests = 0;
    while requester.now + RTT + RTT < deadline {
        requester.answer(0);
        let left = deadline.since(requester.now);
        let answered = requester.now;
        requester.wait_rounded_up();
        assert!(requester.now.since(answered) <= left / 2);
        requests += 1;
    }
    assert!((7..20).contains(&requests), "{requests} requests");
}

#[test]
fn waiting_flow_quenches_before_its_deadline() {
    let quench = config(10).with(|c| c.host.policy.quench = true);
    // 1 MB within 20 ms, of which the uplink needs 8 ms.
    let deadline = Time::ZERO + Span::from_ms(20);
    let mut requester = Requester::new(quench, 1_000_000, Some(deadline));
    while !requester.sender.is_quenched() {
        requester.answer(0);
        requester.wait_rounded_up();
    }
    assert!(requester.now < deadline, "{}", requester.now);
}

#[test]
fn abandoned_flow_does_not_wait() {
    let mut requester = Requester::new(config(6), 1 << 40, None);
    requester.starve(4);
    requester.answer(0);
    assert!(requester.newest.is_none(), "the flow waits");
    requester.sender.close();
    requester.send();
    let fin = requester.newest.as_ref().expect("the FIN is sent at once");
    assert!(fin.flags.contains(Flags::FIN | Flags::QUENCH));
}

#[test]
fn flow_without_data_ends_while_waiting() {
    let config = config(6);
    let mut requester = Requester::new(config, 1 << 40, None);
    requester.sender.set_limit(&config, 0);
    requester.sender.set_limit(&config, 10_000);
    requester.starve(4);
    requester.answer(0);
    assert!(requester.newest.is_none(), "the flow waits");
    // More data does not end the wait, because the flow already requests a rate for pending data.
    requester.sender.set_limit(&config, 20_000);
    assert_eq!(requester.send(), 0);
    requester.sender.end_at(&config, 0);
    requester.sender.set_limit(&config, u64::MAX);
    requester.send();
    let fin = requester.newest.as_ref().expect("the FIN is sent at once");
    assert!(fin.flags.contains(Flags::FIN));
}

/// Creates forty flows at a port with a fair share below one unit, so that each grant rounds to zero.
fn starved(request_backoff: u8) -> (World, usize) {
    let config = config(request_backoff).with(|c| c.wire.rounding = Rounding::FloorFloor);
    let (mut world, down) = star(config, 11, 41, Rate::from_mbps(100), Span::from_us(30));
    world.audit = true;
    for host in 1..41 {
        let start = Time::ZERO + Span::from_us(97 * host as u64);
        world.flow((host, 0), &[down[0]], &[down[host]], ENDLESS, start, None);
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
fn starved_flows_stay_counted() {
    let mut counts = Vec::new();
    for request_backoff in [0, 2, 4, 10] {
        let (mut world, port) = starved(request_backoff);
        // Every counter is compared after every request and every tick.
        world.run(Time::ZERO + Span::from_ms(300));
        assert_eq!(world.false_losses, 0, "the comparison was never disabled");
        assert_eq!(world.ports[port].allocator.flows(), 40);
        world.audit(port);
        counts.push(requests(&world));
    }
    println!("requests of 40 paused flows in 300 ms, by doublings of the wait: {counts:?}");
    assert!(counts[1] < counts[0] / 2 && counts[2] < counts[1] / 2 && counts[3] < counts[2]);
}

#[test]
fn freed_capacity_is_used_within_the_wait() {
    let (mut world, port) = starved(5);
    world.run(Time::ZERO + Span::from_ms(200));
    let sent = world.ports[port].sent_total;
    // All but three flows fail; their counters are removed after four epochs, extended to the pace of the waiting
    // flows.
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

/// Many flows on a slow port, most of them paused at any time, with loss of all kinds and failing hosts, followed by a
/// quiet phase.
#[test]
fn counters_recover_while_flows_wait() {
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
        let long = world.flow((source, 0), paths.0, paths.1, ENDLESS, start, None);
        world.run(world.now + Span::from_ms(5));
        if step % 3 != 0 {
            world.kill(long);
        }
    }
    world.loss = 0.0;
    world.run(world.now + Span::from_ms(500));
    let (n, _, _) = world.ledger.sum(port);
    assert!(n >= 30, "expected thirty long flows: {n}");
    world.audit(port);
    let alive: Vec<usize> = (0..world.flows.len())
        .filter(|&flow| !world.flows[flow].dead && world.flows[flow].bytes > 1 << 40)
        .collect();
    let backoffs = |world: &World| -> u32 {
        let sender = |&flow: &usize| world.flows[flow].sender.as_ref().unwrap();
        alive
            .iter()
            .map(|flow| sender(flow).counters().backoffs)
            .sum()
    };
    let before = backoffs(&world);
    for &flow in &alive[..5] {
        world.kill(flow);
    }
    // Four epochs at the slowest pace: 16 round trips of 0.2 to 0.6 ms.
    let heal = epoch(&config) * 16 * 4;
    world.run(world.now + heal);
    world.audit(port);
    world.ports[port].restart(&config);
    world.run(world.now + heal);
    world.audit(port);
    assert_eq!(world.ports[port].allocator.flows(), n - 5);
    assert!(backoffs(&world) > before + 20, "no flow waited");
}
