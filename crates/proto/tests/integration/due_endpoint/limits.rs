//! Limits of memory and numbers, invalid options.

use super::addresses::{first, stranger};
use super::messages::{Message, content, run, submit, take, work};
use super::world::{SECOND, World, after, after_us, options};
use duetime_core::{Rate, Span, Time};
use duetime_proto::due::endpoint::{
    Endpoint, Event, Failure, Options, OptionsError, Outcome, Outgoing, SendError,
};

fn message(bytes: usize) -> Outgoing {
    Outgoing {
        peer: stranger(1),
        bytes: vec![1; bytes].into(),
        deadline: None,
        query: None,
        is_request: false,
    }
}

#[test]
fn invalid_options_are_refused() {
    type Change = fn(&mut Options);
    let invalid: [(Change, OptionsError); 10] = [
        (|o| o.link.rate = Rate::from_bps(0), OptionsError::Rate),
        (|o| o.link.classes = 8, OptionsError::Classes),
        (|o| o.config.mtu = 575, OptionsError::Mtu),
        (|o| o.config.mtu = 65_536, OptionsError::Mtu),
        (|o| o.max_message_bytes = 0, OptionsError::Bytes),
        (|o| o.max_incoming_bytes = 1, OptionsError::Bytes),
        (|o| o.max_outgoing_bytes = 1, OptionsError::Bytes),
        (|o| o.max_outgoing = 0, OptionsError::Counts),
        (|o| o.max_sources = 0, OptionsError::Counts),
        (
            |o| o.silence_timeout = Span::from_secs(31),
            OptionsError::Timeouts,
        ),
    ];
    for (change, error) in invalid {
        let mut options = options();
        change(&mut options);
        assert_eq!(Endpoint::new(options, [1, 2]).err(), Some(error));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn blocked_sender_is_notified_when_memory_is_free() {
    let mut world = World::new(2, options(), 1);
    let small = Options {
        max_message_bytes: 60_000,
        max_outgoing_bytes: 100_000,
        ..options()
    };
    world.endpoints[0] = Endpoint::new(small, [5, 6]).unwrap();
    let max = 60_000;
    let too_long = Err(SendError::TooLong { max });
    assert_eq!(
        world.endpoints[0].send(world.now, message(60_001)),
        too_long
    );
    let mut messages: Vec<Message> = (0..3).map(|_| Message::new(0, 1, 40_000)).collect();
    for (index, message) in messages.iter_mut().enumerate() {
        submit(&mut world, index, message);
    }
    assert_eq!(messages[2].number, None);
    assert_eq!(world.endpoints[0].may_send(20_001), Err(SendError::Blocked));
    assert_eq!(world.endpoints[0].may_send(20_000), Ok(()));
    let mut is_writable = false;
    while !is_writable {
        assert!(world.step(), "no event");
        while let Some(event) = world.endpoints[0].poll_event() {
            is_writable |= event == Event::Writable;
        }
    }
    submit(&mut world, 2, &mut messages[2]);
    assert!(messages[2].number.is_some());
}

#[test]
fn outcomes_count_until_they_are_taken() {
    let limited = Options {
        max_outgoing: 3,
        ..options()
    };
    let mut endpoint = Endpoint::new(limited, [5, 6]).unwrap();
    let now = after_us(1);
    let numbers: Vec<u64> = (0..3)
        .map(|_| endpoint.send(now, message(10)).unwrap())
        .collect();
    assert_eq!(endpoint.send(now, message(0)), Err(SendError::Blocked));
    endpoint.abort(numbers[0]);
    assert_eq!(endpoint.send(now, message(0)), Err(SendError::Blocked));
    assert_eq!(endpoint.outcome(numbers[0]), Some(Outcome::Aborted));
    assert_eq!(endpoint.outcome(numbers[0]), None);
    assert!(endpoint.send(now, message(0)).is_ok());
}

#[test]
fn unread_messages_limit_memory() {
    let mut world = World::new(3, options(), 1);
    let small = Options {
        max_message_bytes: 100_000,
        max_incoming_bytes: 150_000,
        ..options()
    };
    world.endpoints[2] = Endpoint::new(small, [5, 6]).unwrap();
    let mut messages: Vec<Message> = (0..8).map(|i| Message::new(i % 2, 2, 60_000)).collect();
    for (index, message) in messages.iter_mut().enumerate() {
        submit(&mut world, index, message);
    }
    // The application takes nothing for a second. The limit is checked at each step.
    while world.now < after(SECOND) && world.step_before(after(SECOND)) {
        work(&mut world, &mut messages, |_| false);
    }
    assert!(world.endpoints[2].incoming_bytes() >= 60_000);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    for message in &messages {
        let is_good = match message.outcome {
            Some(Outcome::Delivered) => message.arrivals.len() == 1,
            Some(Outcome::Failed(Failure::Refused)) => message.arrivals.is_empty(),
            _ => false,
        };
        assert!(is_good, "{message:?}");
    }
    let delivered = messages.iter().filter(|m| !m.arrivals.is_empty());
    assert!(delivered.count() >= 2);
    assert_eq!(world.endpoints[2].incoming_bytes(), 0);
}

#[test]
fn full_backlog_delays_messages() {
    let mut world = World::new(2, options(), 1);
    world.endpoints[1].listen(3);
    let mut messages: Vec<Message> = (0..10).map(|_| Message::new(0, 1, 50)).collect();
    for (index, message) in messages.iter_mut().enumerate() {
        submit(&mut world, index, message);
    }
    world.run_until(after(Span::from_ms(100)));
    assert_eq!(world.endpoints[1].incoming(), 3);
    assert!(world.endpoints[1].totals().over_limit > 0);
    for step in 0..4 {
        take(&mut world, 1, &mut messages);
        world.run_until(after(SECOND + SECOND * step));
    }
    take(&mut world, 1, &mut messages);
    for message in &messages {
        assert_eq!(message.arrivals.len(), 1);
    }
}

#[test]
fn sources_are_limited_per_address_and_removed() {
    let limited = Options {
        max_sources: 32,
        max_unproven: 100,
        ..options()
    };
    let mut endpoint = Endpoint::new(limited, [5, 6]).unwrap();
    let mut now = after(SECOND);
    for address in 0..30 {
        for identity in 1..=3 {
            let datagram = first(identity, 1, 5, 5);
            endpoint.input(now, stranger(address), &datagram, false);
        }
    }
    assert_eq!(endpoint.sources(), 32);
    let mut received = 0;
    while endpoint.receive().is_some() {
        received += 1;
    }
    assert_eq!((received, endpoint.totals().over_limit), (32, 58));
    now += SECOND * 20;
    endpoint.timeout(now);
    endpoint.input(now, stranger(40), &first(1, 1, 5, 5), false);
    assert!(endpoint.receive().is_none());
    now += SECOND * 16;
    endpoint.input(now, stranger(40), &first(1, 1, 5, 5), false);
    assert!(endpoint.receive().is_some());
    assert_eq!(endpoint.sources(), 1);
}

#[test]
fn deadline_travels_as_the_time_that_is_left() {
    let mut world = World::new(2, options(), 1);
    // The clocks differ by a second.
    let mut bytes = Vec::new();
    let outgoing = Outgoing {
        peer: world.address(1),
        bytes: content(3, 100).into(),
        deadline: Some(Span::from_ms(7)),
        query: Some(3),
        is_request: true,
    };
    let (sent_at, from) = (after(SECOND * 9), world.address(0));
    world.endpoints[0].send(sent_at, outgoing).unwrap();
    let leaves = sent_at + Span::from_ms(2);
    assert!(
        world.endpoints[0]
            .poll_transmit(leaves, &mut bytes)
            .is_some()
    );
    let arrives: Time = after_us(500);
    world.endpoints[1].input(arrives, from, &bytes, false);
    let incoming = world.endpoints[1].receive().unwrap();
    assert_eq!(incoming.deadline, Some(arrives + Span::from_ms(5)));
    assert_eq!((incoming.query, incoming.is_request), (Some(3), true));
}
