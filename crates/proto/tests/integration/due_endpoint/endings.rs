//! Ends of messages: failed and restarted peers, closed ports, refused messages, aborts, path MTU.

use super::messages::{Message, run, submit, work};
use super::world::{SECOND, World, after, after_us, options};
use duetime_core::{Span, Time};
use duetime_proto::due::endpoint::{Endpoint, Failure, Options, Outcome};

#[test]
fn silent_peer_fails_messages_after_5_seconds() {
    let mut world = World::new(2, options(), 1);
    world.kill(1);
    let mut messages = [Message::new(0, 1, 100), Message::new(0, 1, 100_000)];
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    for message in &messages {
        assert_eq!(message.outcome, Some(Outcome::Failed(Failure::TimedOut)));
        assert!(message.ended_at < after(SECOND * 6), "{}", message.ended_at);
    }
    assert!(!world.endpoints[0].is_sending());
}

#[test]
fn failed_receiver_fails_known_messages_after_30_seconds() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 5_000_000)];
    submit(&mut world, 0, &mut messages[0]);
    world.run_until(after(Span::from_ms(10)));
    world.kill(1);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(
        messages[0].outcome,
        Some(Outcome::Failed(Failure::TimedOut))
    );
    let (from, to) = (after(SECOND * 29), after(SECOND * 32));
    let ended_at = messages[0].ended_at;
    assert!((from..to).contains(&ended_at), "{ended_at}");
}

/// The replies of host 1 are lost for `outage`, while it receives other messages. Returns the outcome of the message to it.
fn lose_replies(outage: Span) -> Option<Outcome> {
    let mut world = World::new(3, options(), 1);
    let mut messages = vec![Message::new(0, 1, 100)];
    world.faults.muted = Some(1);
    for second in 0..60 {
        let mut other = Message::new(2, 1, 50);
        other.at = after(SECOND * second);
        messages.push(other);
    }
    run(&mut world, &mut messages, after(outage));
    world.faults.muted = None;
    assert!(run(&mut world, &mut messages, after(SECOND * 120)));
    assert_eq!(messages[0].arrivals.len(), 1);
    messages[0].outcome
}

#[test]
fn outage_of_replies_delivers_nothing_twice() {
    assert_eq!(lose_replies(SECOND * 4), Some(Outcome::Delivered));
    let timed_out = Some(Outcome::Failed(Failure::TimedOut));
    assert_eq!(lose_replies(SECOND * 6), timed_out);
    assert_eq!(lose_replies(SECOND * 40), timed_out);
}

/// The replies are lost in the middle of a message, so the source repeats its announcement for 30 s.
#[test]
fn outage_after_a_reply_delivers_nothing_twice() {
    for outage in [10, 28, 33, 50] {
        let mut world = World::new(3, options(), 1);
        let mut messages = vec![Message::new(0, 1, 3_000_000)];
        for tenth in 0..600 {
            let mut other = Message::new(2, 1, 50);
            other.at = after(Span::from_ms(100 * tenth));
            messages.push(other);
        }
        run(&mut world, &mut messages, after_us(25_800));
        world.faults.muted = Some(1);
        run(&mut world, &mut messages, after(SECOND * outage));
        world.faults.muted = None;
        assert!(run(&mut world, &mut messages, after(SECOND * 120)));
        let expected = if outage < 30 {
            Outcome::Delivered
        } else {
            Outcome::Failed(Failure::TimedOut)
        };
        assert_eq!(messages[0].outcome, Some(expected), "{outage} s");
        let arrivals = usize::from(outage < 30);
        assert_eq!(messages[0].arrivals.len(), arrivals, "{outage} s");
    }
}

#[test]
fn failed_source_leaves_no_state() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 5_000_000)];
    submit(&mut world, 0, &mut messages[0]);
    world.run_until(after(Span::from_ms(10)));
    assert!(world.endpoints[1].incoming_bytes() > 500_000);
    world.kill(0);
    world.run_until(after(SECOND * 3));
    let receiver = &world.endpoints[1];
    assert_eq!((receiver.incoming(), receiver.incoming_bytes()), (0, 0));
}

#[test]
fn restarted_receiver_gets_messages_again() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 2_000_000)];
    submit(&mut world, 0, &mut messages[0]);
    world.run_until(after(Span::from_ms(8)));
    world.endpoints[1] = Endpoint::new(options(), [77, 78]).unwrap();
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
    assert_eq!(messages[0].arrivals.len(), 1);
}

#[test]
fn restarted_source_does_not_collide_with_its_messages() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [
        Message::new(0, 1, 3_000),
        Message::new(0, 1, 900_000),
        Message::new(0, 1, 4_000),
        Message::new(0, 1, 700_000),
    ];
    submit(&mut world, 0, &mut messages[0]);
    submit(&mut world, 1, &mut messages[1]);
    world.run_until(after(Span::from_ms(4)));
    world.endpoints[0] = Endpoint::new(options(), [77, 78]).unwrap();
    for index in [2, 3] {
        submit(&mut world, index, &mut messages[index]);
    }
    messages[0].number = Some(u64::MAX);
    messages[1].number = Some(u64::MAX);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    let arrivals = messages.map(|message| message.arrivals.len());
    assert_eq!(arrivals, [1, 0, 1, 1]);
    let receiver = &world.endpoints[1];
    assert_eq!((receiver.incoming(), receiver.totals().discarded), (0, 1));
}

#[test]
fn closed_port_fails_messages_without_a_reply() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 3_000_000), Message::new(0, 1, 100)];
    submit(&mut world, 0, &mut messages[0]);
    world.run_until(after(Span::from_ms(5)));
    submit(&mut world, 1, &mut messages[1]);
    let peer = world.address(1);
    world.endpoints[0].port_closed(peer);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
    assert_eq!(
        messages[1].outcome,
        Some(Outcome::Failed(Failure::Unreachable))
    );
}

#[test]
fn peer_that_does_not_listen_refuses_messages() {
    let mut world = World::new(2, options(), 1);
    world.endpoints[1].listen(0);
    let mut messages = [Message::new(0, 1, 0), Message::new(0, 1, 50_000)];
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    for message in &messages {
        assert_eq!(message.outcome, Some(Outcome::Failed(Failure::Refused)));
        assert!(message.ended_at < after(Span::from_ms(2)));
    }
}

#[test]
fn long_message_is_refused_by_the_peer() {
    let mut world = World::new(2, options(), 1);
    let small = Options {
        max_message_bytes: 10_000,
        ..options()
    };
    world.endpoints[1] = Endpoint::new(small, [5, 6]).unwrap();
    let mut messages = [Message::new(0, 1, 10_000), Message::new(0, 1, 10_001)];
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
    assert_eq!(messages[1].outcome, Some(Outcome::Failed(Failure::Refused)));
}

#[test]
fn interface_mtu_failure_ends_long_messages_to_the_peer() {
    let mut world = World::new(3, options(), 1);
    let mut messages = [
        Message::new(0, 1, 50_000),
        Message::new(0, 1, 100),
        Message::new(0, 2, 50_000),
    ];
    work(&mut world, &mut messages, |_| true);
    let peer = world.address(1);
    world.endpoints[0].too_long(peer);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    let outcomes = messages.map(|message| message.outcome);
    let delivered = Some(Outcome::Delivered);
    assert_eq!(
        outcomes,
        [
            Some(Outcome::Failed(Failure::TooLong)),
            delivered,
            delivered
        ]
    );
}

#[test]
fn path_mtu_failure_times_out() {
    let mut world = World::new(2, options(), 1);
    world.faults.max_length = 1_000;
    let mut messages = [Message::new(0, 1, 50_000), Message::new(0, 1, 900)];
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(
        messages[0].outcome,
        Some(Outcome::Failed(Failure::TimedOut))
    );
    assert_eq!(messages[1].outcome, Some(Outcome::Delivered));
}

#[test]
fn abort_frees_the_receiver_and_the_link() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 9_000_000), Message::new(0, 1, 20_000)];
    messages[0].abort_at = after_us(10_000);
    messages[1].at = after_us(10_000);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(messages[0].outcome, Some(Outcome::Aborted));
    assert_eq!(messages[1].outcome, Some(Outcome::Delivered));
    assert!(messages[0].arrivals.is_empty());
    let ended_at = messages[1].ended_at;
    assert!(ended_at < after_us(11_000), "{ended_at}");
    let [source, receiver] = &world.endpoints[..] else {
        panic!("two endpoints")
    };
    assert!(!source.is_sending() && receiver.incoming_bytes() == 0);
}

#[test]
fn forgotten_message_is_still_sent() {
    let mut world = World::new(2, options(), 1);
    let mut messages = [Message::new(0, 1, 30_000)];
    submit(&mut world, 0, &mut messages[0]);
    let number = messages[0].number.unwrap();
    world.endpoints[0].forget(number);
    assert!(run(&mut world, &mut messages, after(SECOND * 60)));
    assert_eq!(messages[0].arrivals.len(), 1);
    assert_eq!(world.endpoints[0].outcome(number), None);
    assert_eq!(messages[0].ended_at, Time::ZERO);
}
