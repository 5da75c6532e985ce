//! Floods of forged announcements: memory stays small, and messages are delivered.

use super::addresses::{first, stranger};
use super::messages::{Message, work};
use super::world::{World, after, after_us, options};
use duetime_core::{Span, Time};
use duetime_proto::due::endpoint::Outcome;

/// Number of forged datagrams, one every 5 us.
const FLOOD: u64 = 100_000;

/// Sends messages of 20 packets during a flood of announcements of `bytes` with `payload`. Returns the world, the
/// messages and the maximum memory of the flooded endpoint.
fn flooded(bytes: u64, payload: usize) -> (World, Vec<Message>, u64) {
    let mut world = World::new(2, options(), 1);
    let mut messages: Vec<Message> = (0..20).map(|_| Message::new(1, 0, 28_000)).collect();
    for (index, message) in messages.iter_mut().enumerate() {
        message.at = after(Span::from_ms(2 + 24 * index as u64));
    }
    let (mut max, mut forged) = (0, 0);
    let end = after(Span::from_ms(600));
    while world.now < end {
        // Keeps 5 ms of the flood in the network.
        while forged < FLOOD && after_us(1_000 + 5 * forged) <= world.now + Span::from_ms(5) {
            let at = after_us(1_000 + 5 * forged);
            let (identity, peer) = (world.draw() | 1, stranger(world.draw()));
            let datagram = first(identity, world.draw() as u32, bytes, payload);
            world.inject(at, peer, 0, datagram);
            forged += 1;
        }
        work(&mut world, &mut messages, |host| host == 1);
        // Forged messages are taken and dropped; those of the test are checked by their query.
        while let Some(incoming) = world.endpoints[0].receive() {
            if let Some(index) = incoming.query {
                messages[index as usize].arrivals.push(world.now);
            }
        }
        max = max.max(world.endpoints[0].incoming_bytes());
        let waiting = messages.iter().filter(|message| message.number.is_none());
        let next = waiting.map(|message| message.at).min();
        let next = next.unwrap_or(Time::MAX).min(end);
        if !world.step_before(next) {
            world.now = next;
        }
    }
    (world, messages, max)
}

fn assert_delivered(messages: &[Message]) {
    for message in messages {
        assert_eq!(message.outcome, Some(Outcome::Delivered), "{message:?}");
        assert_eq!(message.arrivals.len(), 1);
        let latency = message.ended_at.since(message.at);
        assert!(latency < Span::from_ms(20), "{latency}");
    }
}

#[test]
fn forged_announcements_of_long_messages_use_little_memory() {
    let (world, messages, max) = flooded(10_000_000, 1_416);
    assert_delivered(&messages);
    let unproven = options().max_unproven as u64;
    assert!(max <= (unproven + 20) * 1_500 + 28_000 * 2, "{max} bytes");
    let endpoint = &world.endpoints[0];
    assert!(endpoint.sources() <= unproven as usize + 1);
    let totals = endpoint.totals();
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
    let (world, messages, _) = flooded(100, 100);
    assert_delivered(&messages);
    let totals = world.endpoints[0].totals();
    let complete = totals.complete - messages.len() as u64;
    assert!(complete <= options().max_unproven as u64, "{totals:?}");
}
