//! Forged, damaged and repeated datagrams.

use super::messages::{Message, run, submit, take};
use super::world::{SECOND, World, after, options};
use duetime_core::Span;
use duetime_proto::due::endpoint::Outcome;
use duetime_proto::due::wire::{Body, Datagram, Reason, decode, encode};

/// Returns a datagram with a token that no endpoint has issued.
pub fn encoded(identity: u64, number: u32, body: Body<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let datagram = Datagram {
        identity,
        number,
        token: 77,
        body,
    };
    encode(&datagram, &mut bytes);
    bytes
}

/// Replies that would change a message.
fn replies() -> [Body<'static>; 6] {
    [
        Body::Grant {
            up_to: 1_000,
            is_background: false,
        },
        Body::Resend { from: 0, to: 50 },
        Body::Done,
        Body::Challenge,
        Body::Reset(Reason::Refused),
        Body::Reset(Reason::Unknown),
    ]
}

#[test]
fn replies_with_wrong_identities_have_no_effect() {
    let mut world = World::new(3, options(), 1);
    world.kill(1);
    world.is_recording = true;
    let mut messages = [Message::new(0, 1, 100_000), Message::new(0, 2, 100)];
    for (index, message) in messages.iter_mut().enumerate() {
        submit(&mut world, index, message);
    }
    world.run_until(after(Span::from_ms(3)));
    let identity_to = |world: &World, to: usize| {
        let sent = world.sent.iter().find(|sent| sent.1 == to).expect("sent");
        decode(&sent.2).unwrap().identity
    };
    let identities = [identity_to(&world, 1), identity_to(&world, 2)];
    assert_ne!(identities[0], identities[1]);
    let before = world.endpoints[0].totals();
    let (now, number) = (world.now, messages[0].number.unwrap() as u32);
    for body in replies() {
        for identity in [1, identities[0] ^ 1, identities[1]] {
            let datagram = encoded(identity, number, body);
            let peer = world.address(1);
            world.endpoints[0].input(now, peer, &datagram, false);
        }
        // The right identity, from another address or for another message.
        let datagram = encoded(identities[0], number, body);
        let other = world.address(2);
        world.endpoints[0].input(now, other, &datagram, false);
        let datagram = encoded(identities[0], number + 9, body);
        let peer = world.address(1);
        world.endpoints[0].input(now, peer, &datagram, false);
    }
    let totals = world.endpoints[0].totals();
    assert_eq!(totals.stale - before.stale, 6 * 5);
    let sent = world.sent.len();
    world.run_until(now + Span::from_ms(1));
    for (_, _, datagram) in &world.sent[sent..] {
        let body = decode(datagram).unwrap().body;
        let is_allowed = matches!(body, Body::Reset(Reason::Unknown) | Body::First { .. });
        assert!(is_allowed, "{body:?}");
    }
    assert!(world.endpoints[0].is_sending());
    assert_eq!(
        world.endpoints[0].outcome(messages[0].number.unwrap()),
        None
    );
}

#[test]
fn forged_data_and_aborts_have_no_effect() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 2_000_000)];
    submit(&mut world, 0, &mut messages[0]);
    world.run_until(after(Span::from_ms(5)));
    let (now, peer) = (world.now, world.address(0));
    let number = messages[0].number.unwrap() as u32;
    for packet in 0..2_000 {
        let payload = &[9; 1_440][..];
        let forged = encoded(
            5,
            number,
            Body::Data {
                packet: packet + 1,
                payload,
            },
        );
        world.endpoints[1].input(now, peer, &forged, false);
    }
    let aborted = encoded(5, number, Body::Abort);
    world.endpoints[1].input(now, peer, &aborted, false);
    let unknown = encoded(5, number, Body::Reset(Reason::Unknown));
    world.endpoints[1].input(now, peer, &unknown, false);
    assert!(run(&mut world, &mut messages, after(SECOND * 10)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
}

/// Runs an exchange and returns its datagrams with sender and destination.
fn exchange() -> Vec<(usize, usize, Vec<u8>)> {
    let mut world = World::new(2, options(), 1);
    world.is_recording = true;
    world.faults.lost = 50;
    let mut messages = [
        Message::new(0, 1, 20_000),
        Message::new(1, 0, 100),
        Message::new(0, 1, 9_000_000),
    ];
    messages[2].abort_at = after(Span::from_ms(3));
    assert!(run(&mut world, &mut messages, after(SECOND * 40)));
    world.sent
}

#[test]
fn damaged_datagrams_are_refused() {
    let sent = exchange();
    let mut world = World::new(2, options(), 1);
    let mut kinds = [0; 7];
    for (from, to, datagram) in &sent {
        let kind = usize::from(datagram[2]);
        kinds[kind] += 1;
        if kinds[kind] > 3 {
            continue;
        }
        let (now, peer) = (world.now, world.address(*from));
        let endpoint = &mut world.endpoints[*to];
        for length in 0..datagram.len() {
            endpoint.input(now, peer, &datagram[..length], false);
        }
        for bit in 0..datagram.len() * 8 {
            let mut damaged = datagram.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            endpoint.input(now, peer, &damaged, false);
        }
        let totals = endpoint.totals();
        let refused = totals.malformed + totals.damaged + totals.other_versions;
        assert_eq!(totals.received, refused, "{totals:?}");
        assert!(!endpoint.has_datagrams() && endpoint.incoming() == 0);
    }
    // Data, aborts, grants, resends and done were sent.
    assert!(kinds[..5].iter().all(|&count| count > 0), "{kinds:?}");
}

#[test]
fn repeated_datagrams_deliver_nothing_twice() {
    let mut world = World::new(2, options(), 1);
    world.is_recording = true;
    let mut messages = [Message::new(0, 1, 20_000), Message::new(0, 1, 50)];
    assert!(run(&mut world, &mut messages, after(SECOND * 4)));
    let (sent, start) = (std::mem::take(&mut world.sent), world.now);
    world.is_recording = false;
    for round in 0..25_u64 {
        for (from, to, datagram) in &sent {
            let peer = world.address(*from);
            world.inject(start + SECOND * round, peer, *to, datagram.clone());
        }
    }
    world.run_until(start + SECOND * 30);
    take(&mut world, 1, &mut messages);
    assert_eq!(world.endpoints[1].totals().complete, 2);
    assert_eq!(world.endpoints[1].incoming(), 0);
}
