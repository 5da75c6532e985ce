//! Proof of addresses: an address that does not answer receives no more than was sent in its name.

use super::messages::{Message, run};
use super::world::{SECOND, World, after, after_us, options};
use duetime_core::Span;
use duetime_proto::due::endpoint::{Options, Outcome};
use duetime_proto::due::wire::{Announced, Body, Datagram, encode};
use std::net::{Ipv4Addr, SocketAddr};

/// Returns packet 0 of a message of an address that does not answer.
pub fn first(identity: u64, number: u32, bytes: u64, payload: usize) -> Vec<u8> {
    let datagram = Datagram {
        identity,
        number,
        token: 0,
        body: Body::First {
            announcement: Announced {
                bytes,
                left: Some(Span::from_ms(1)),
                query: None,
                is_request: false,
            },
            payload: &vec![1; payload],
        },
    };
    let mut bytes = Vec::new();
    encode(&datagram, &mut bytes);
    bytes
}

/// Returns an address of no host.
pub fn stranger(number: u64) -> SocketAddr {
    let ip = Ipv4Addr::from_bits(0xc0a8_0000 + (number % 50_000) as u32);
    SocketAddr::from((ip, 9))
}

#[test]
fn first_message_is_granted_without_a_challenge() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 20_000)];
    assert!(run(&mut world, &mut messages, after(SECOND * 10)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
    let totals = world.endpoints[1].totals();
    assert_eq!((totals.challenges, totals.resets, totals.strays), (0, 0, 0));
    // Sent after 1 ms: a round trip for packet 1, another one for the others.
    assert!(
        messages[0].ended_at < after_us(1_400),
        "{}",
        messages[0].ended_at
    );
}

#[test]
fn challenged_messages_are_repeated_at_once() {
    let mut world = World::new(2, options(), 1);
    let strict = Options {
        max_unproven: 0,
        ..options()
    };
    world.endpoints[1] = duetime_proto::due::endpoint::Endpoint::new(strict, [5, 6]).unwrap();
    let mut messages = [
        Message::new(0, 1, 100),
        Message::new(0, 1, 20_000),
        Message::new(0, 1, 0),
    ];
    assert!(run(&mut world, &mut messages, after(SECOND * 10)));
    for message in &messages {
        assert_eq!(message.outcome, Some(Outcome::Delivered));
        assert!(message.ended_at < after_us(1_700), "{}", message.ended_at);
    }
    assert_eq!(world.endpoints[1].totals().challenges, 3);
}

#[test]
fn unproven_address_receives_no_more_than_it_sent() {
    for payload in [500, 1_416] {
        let mut world = World::new(1, options(), 1);
        let mut sent = 0;
        for number in 0..50 {
            let datagram = first(9, number, 1 << 20, payload);
            sent += datagram.len() as u64;
            let at = after_us(1_000 + 10 * u64::from(number));
            world.inject(at, stranger(1), 0, datagram);
        }
        world.run_until(after(SECOND * 5));
        let received = world.sent_to_others[&stranger(1)];
        assert!(received <= sent && received > 0, "{received} of {sent}");
        let endpoint = &world.endpoints[0];
        assert_eq!((endpoint.incoming(), endpoint.incoming_bytes()), (0, 0));
    }
}

#[test]
fn unproven_address_is_granted_one_packet() {
    let mut world = World::new(1, options(), 1);
    let mut granted = Vec::new();
    world.endpoints[0].input(world.now, stranger(1), &first(9, 1, 1 << 20, 1_416), false);
    let mut bytes = Vec::new();
    while world.endpoints[0]
        .poll_transmit(world.now, &mut bytes)
        .is_some()
    {
        let datagram = duetime_proto::due::wire::decode(&bytes).unwrap();
        assert_ne!(datagram.token, 0);
        if let Body::Grant { up_to, .. } = datagram.body {
            granted.push(up_to);
        }
        bytes.clear();
    }
    assert_eq!(granted, [2]);
}

#[test]
fn ipv6_addresses_work() {
    let mut world = World::new(2, options(), 1);
    world.use_ipv6();
    let mut messages = [Message::new(0, 1, 200_000), Message::new(1, 0, 1_385)];
    assert!(run(&mut world, &mut messages, after(SECOND * 10)));
    for message in &messages {
        assert_eq!(message.outcome, Some(Outcome::Delivered));
    }
}
