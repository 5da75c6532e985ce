//! Floods of forged datagrams: memory stays small, and messages are delivered in time.

use super::addresses::{first, stranger};
use super::forged::encoded;
use super::messages::{Message, work};
use super::world::{World, after, after_us, options};
use duetime_core::{Span, Time};
use duetime_proto::due::endpoint::Outcome;
use duetime_proto::due::wire::Body;

/// Number of forged announcements, one every 5 us.
const FLOOD: u64 = 100_000;
/// Time to the deadlines of the messages. On an idle link they take 0.3 ms; at the beginning of a flood up to 2.3 ms, as
/// the receiver waits for what it granted to the first forged messages.
const DEADLINE: Span = Span::from_ms(5);

/// Flood of endpoint 0.
#[derive(Clone, Copy)]
struct Flood {
    /// Number of forged announcements, one every 5 us, from 50,000 addresses.
    announcements: u64,
    /// Size of the announced messages in bytes.
    bytes: u64,
    /// Bytes of each message in its forged first packet.
    payload: usize,
    /// Forges a grant with each announcement, in the name of endpoint 1, to which endpoint 0 sends.
    with_grants: bool,
}

/// Maximum of the flooded endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Max {
    incoming_bytes: u64,
    messages: usize,
    sources: usize,
}

impl Flood {
    fn datagrams(self, world: &mut World, number: u64) {
        let at = after_us(1_000 + 5 * number);
        let (identity, peer) = (world.draw() | 1, stranger(world.draw()));
        let datagram = first(identity, world.draw() as u32, self.bytes, self.payload);
        world.inject(at, peer, 0, datagram);
        if self.with_grants {
            let (identity, message) = (world.draw() | 1, world.draw() % 500);
            let grant = Body::Grant {
                up_to: 1_000,
                is_background: number.is_multiple_of(2),
            };
            let peer = world.address(1);
            world.inject(at, peer, 0, encoded(identity, message as u32, grant));
        }
    }

    /// Sends messages of 20 packets during the flood: to endpoint 0 and, every other one, from it if it is flooded with
    /// grants.
    fn run(self) -> (World, Vec<Message>, Max) {
        let mut world = World::new(2, options(), 1);
        let count = self.announcements / 5_000;
        let mut messages: Vec<Message> = (0..count)
            .map(|index| {
                let is_sent = self.with_grants && index % 2 == 1;
                let (from, to) = if is_sent { (0, 1) } else { (1, 0) };
                Message::new(from, to, 28_000)
            })
            .collect();
        for (index, message) in messages.iter_mut().enumerate() {
            message.at = after(Span::from_ms(2 + 24 * index as u64));
            message.deadline = Some(DEADLINE);
        }
        let (mut max, mut forged) = (Max::default(), 0);
        let end = after(Span::from_us(6 * self.announcements));
        while world.now < end {
            // Keeps 5 ms of the flood in the network.
            while forged < self.announcements
                && after_us(1_000 + 5 * forged) <= world.now + Span::from_ms(5)
            {
                self.datagrams(&mut world, forged);
                forged += 1;
            }
            // Forged messages are taken and dropped; those of the test are known by their query.
            while let Some(incoming) = world.endpoints[0].receive() {
                if let Some(index) = incoming.query {
                    messages[index as usize].arrivals.push(world.now);
                }
            }
            work(&mut world, &mut messages, |host| host == 1);
            let endpoint = &world.endpoints[0];
            max.incoming_bytes = max.incoming_bytes.max(endpoint.incoming_bytes());
            max.messages = max.messages.max(endpoint.incoming());
            max.sources = max.sources.max(endpoint.sources());
            let waiting = messages.iter().filter(|message| message.number.is_none());
            let next = waiting.map(|message| message.at).min();
            let next = next.unwrap_or(Time::MAX).min(end);
            if !world.step_before(next) {
                world.now = next;
            }
        }
        (world, messages, max)
    }
}

fn assert_in_time(messages: &[Message]) {
    for message in messages {
        assert_eq!(message.outcome, Some(Outcome::Delivered), "{message:?}");
        assert_eq!(message.arrivals.len(), 1);
        let latency = message.arrivals[0].since(message.at);
        assert!(latency < DEADLINE, "{latency}");
    }
}

#[test]
fn forged_announcements_of_long_messages_use_little_memory() {
    let flood = Flood {
        announcements: FLOOD,
        bytes: 10_000_000,
        payload: 1_416,
        with_grants: false,
    };
    let (world, messages, max) = flood.run();
    assert_in_time(&messages);
    let unproven = options().max_unproven as u64;
    let allowed = (unproven + 20) * 1_500 + 28_000 * 2;
    assert!(max.incoming_bytes <= allowed, "{max:?}");
    assert!(max.sources <= unproven as usize + 1);
    let totals = world.endpoints[0].totals();
    assert!(
        totals.challenges + totals.unanswered >= FLOOD - unproven - 20,
        "{totals:?}"
    );
    for (peer, bytes) in &world.sent_to_others {
        assert!(*bytes <= 1_472 * FLOOD, "{peer}: {bytes}");
    }
}

#[test]
fn forged_short_messages_come_at_a_limited_rate() {
    let flood = Flood {
        announcements: FLOOD,
        bytes: 100,
        payload: 100,
        with_grants: true,
    };
    let (world, messages, _) = flood.run();
    assert_in_time(&messages);
    let totals = world.endpoints[0].totals();
    let own = messages.iter().filter(|message| message.to == 0).count();
    let complete = totals.complete - own as u64;
    assert!(complete <= options().max_unproven as u64, "{totals:?}");
    assert!(totals.stale >= FLOOD, "{totals:?}");
}

#[test]
#[ignore = "`script/faults --due-flood` prints its figures"]
#[expect(clippy::print_stdout, reason = "prints figures")]
fn million() {
    for (what, bytes, payload) in [("10 MB", 10_000_000, 1_416), ("100 B", 100, 100)] {
        let flood = Flood {
            announcements: 1_000_000,
            bytes,
            payload,
            with_grants: true,
        };
        let (world, messages, max) = flood.run();
        assert_in_time(&messages);
        let latencies = messages
            .iter()
            .map(|message| message.arrivals[0].since(message.at));
        println!(
            "1,000,000 forged announcements of {what} and 1,000,000 forged grants: {max:?}, {} messages in time, the \
             slowest in {}, {:?}",
            messages.len(),
            latencies.max().unwrap_or(Span::ZERO),
            world.endpoints[0].totals(),
        );
    }
}
