//! RESEND, BUSY and repeated first packets, worked by hand (Homa §3.7).

use super::{PAYLOAD, at_us, config, plan};
use duetime_core::{Span, Time};
use duetime_proto::homa::{Body, Config, Control, MessageId, Receiver, Sender};

const ID: MessageId = MessageId {
    source: 0,
    number: 1,
};

fn pair(config: &Config) -> (Sender<u64>, Receiver<u64>) {
    let plan = plan(config, &[]);
    (Sender::new(config, plan), Receiver::new(config, plan))
}

/// Returns all packets that the sender can send now.
fn send(sender: &mut Sender<u64>, now: Time) -> Vec<Body> {
    let packets = std::iter::from_fn(|| sender.poll_transmit(now));
    packets.map(|(data, _)| data.body).collect()
}

/// Returns the numbers of the packets of `bodies`.
fn numbers(bodies: &[Body]) -> Vec<u64> {
    let number = |body: &Body| match *body {
        Body::Payload { number, .. } => Some(number),
        Body::Busy | Body::Unknown => None,
    };
    bodies.iter().filter_map(number).collect()
}

fn receive(receiver: &mut Receiver<u64>, now: Time, packets: u64, body: Body) -> bool {
    receiver.input(now, ID, packets * PAYLOAD, body, || 1)
}

/// Returns all replies of the receiver.
fn replies(receiver: &mut Receiver<u64>) -> Vec<Control> {
    let replies = std::iter::from_fn(|| receiver.poll_transmit());
    replies.map(|(_, control)| control).collect()
}

const fn resend(from: u64, to: u64) -> Control {
    Control::Resend { from, to, class: 0 }
}

/// Packets 3, 4 and 7 of eight are lost. After 1 ms of silence, the receiver requests exactly these, the sender repeats
/// exactly these, and the message is complete.
#[test]
fn lost_packets_are_requested_exactly() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 8 * PAYLOAD, 1);
    for body in send(&mut sender, at_us(0)) {
        if !matches!(
            body,
            Body::Payload {
                number: 3 | 4 | 7,
                ..
            }
        ) {
            receive(&mut receiver, at_us(100), 8, body);
        }
    }
    assert_eq!(replies(&mut receiver), []);
    // The timer was set by the first packet.
    assert_eq!(receiver.next_timeout(), at_us(1_100));
    receiver.timeout(at_us(1_099));
    assert_eq!(replies(&mut receiver), []);
    receiver.timeout(at_us(1_100));
    let requests = replies(&mut receiver);
    assert_eq!(requests, [resend(3, 5), resend(7, 8)]);
    for request in requests {
        sender.input(at_us(1_150), 1, request, || 1);
    }
    let repeated = send(&mut sender, at_us(1_150));
    assert_eq!(numbers(&repeated), [3, 4, 7]);
    let complete: Vec<bool> = repeated
        .iter()
        .map(|&body| receive(&mut receiver, at_us(1_200), 8, body))
        .collect();
    assert_eq!(complete, [false, false, true]);
    assert_eq!(replies(&mut receiver), [Control::Done]);
    let counters = sender.input(at_us(1_250), 1, Control::Done, || 1);
    assert_eq!(
        counters.map(|(_, counters)| counters.retransmissions),
        Some(3)
    );
    assert!(sender.open().next().is_none());
}

/// The only packet of a message is lost, so no receiver knows the message: the sender repeats the packet after 1 ms, then
/// after 2 and 4 ms.
#[test]
fn lost_first_packet_is_repeated() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 100, 1);
    assert_eq!(numbers(&send(&mut sender, at_us(0))), [0]);
    for at in [1_000, 3_000, 7_000] {
        assert_eq!(sender.next_timeout(), at_us(at));
        assert_eq!(sender.timeout(at_us(at)), [1]);
        let again = send(&mut sender, at_us(at));
        assert_eq!(numbers(&again), [0]);
        if at == 7_000 {
            assert!(receiver.input(at_us(at), ID, 100, again[0], || 1));
        }
    }
    assert_eq!(replies(&mut receiver), [Control::Done]);
    // The reply is lost. A finished message is not delivered twice.
    let again = Body::Payload {
        number: 0,
        is_retransmission: true,
    };
    assert!(!receiver.input(at_us(20_000), ID, 100, again, || 1));
    assert_eq!(replies(&mut receiver), [Control::Done]);
    let (_, counters) = sender
        .input(at_us(20_000), 1, Control::Done, || 1)
        .expect("complete");
    assert_eq!((counters.timeouts, counters.retransmissions), (3, 3));
}

/// The first packet is lost and the second arrives: every packet has the size of the message, so the receiver requests the
/// first.
#[test]
fn any_packet_announces_the_message() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 2 * PAYLOAD, 1);
    let bodies = send(&mut sender, at_us(0));
    receive(&mut receiver, at_us(100), 2, bodies[1]);
    receiver.timeout(at_us(1_100));
    assert_eq!(replies(&mut receiver), [resend(0, 1)]);
}

/// The message has 12 packets and `RTTbytes` are ten. The grants of packets 10 and 11 are lost, so the receiver requests
/// both, and the RESEND permits them.
#[test]
fn resend_replaces_a_lost_grant() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 12 * PAYLOAD, 1);
    let first = send(&mut sender, at_us(0));
    assert_eq!(numbers(&first), (0..10).collect::<Vec<_>>());
    for (body, us) in first.into_iter().zip((100..).step_by(12)) {
        receive(&mut receiver, at_us(us), 12, body);
    }
    let lost = replies(&mut receiver);
    assert!(
        lost.iter()
            .all(|grant| matches!(grant, Control::Grant { .. }))
    );
    assert_eq!(lost.len(), 2);
    // The last packet arrived at 208 us.
    receiver.timeout(at_us(1_208));
    assert_eq!(replies(&mut receiver), [resend(10, 12)]);
    sender.input(at_us(1_300), 1, resend(10, 12), || 1);
    assert_eq!(numbers(&send(&mut sender, at_us(1_300))), [10, 11]);
}

/// A more urgent message delays the reply to a RESEND, so the sender sends BUSY, which restarts the silence.
#[test]
fn busy_sender_restarts_the_silence() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 4 * PAYLOAD, 1);
    let bodies = send(&mut sender, at_us(0));
    receive(&mut receiver, at_us(100), 4, bodies[0]);
    sender.send(at_us(1_100), 2, PAYLOAD, 2);
    receiver.timeout(at_us(1_100));
    assert_eq!(replies(&mut receiver), [resend(1, 4)]);
    sender.input(at_us(1_150), 1, resend(1, 4), || 1);
    let (busy, _) = sender.poll_transmit(at_us(1_150)).expect("a packet");
    assert_eq!((busy.message, busy.body), (1, Body::Busy));
    let (urgent, _) = sender.poll_transmit(at_us(1_150)).expect("a packet");
    assert_eq!(urgent.message, 2);
    receive(&mut receiver, at_us(1_200), 4, busy.body);
    receiver.timeout(at_us(2_199));
    assert_eq!(replies(&mut receiver), []);
    let next = receiver.next_timeout();
    assert!((at_us(2_200)..=at_us(2_325)).contains(&next), "{next}");
    receiver.timeout(next);
    assert_eq!(replies(&mut receiver), [resend(1, 4)]);
}

/// A sender that does not have a message says so, and the receiver forgets it.
#[test]
fn resend_for_an_unknown_message_ends_it() {
    let (mut sender, mut receiver) = pair(&config());
    let packet = Body::Payload {
        number: 0,
        is_retransmission: false,
    };
    receive(&mut receiver, at_us(0), 4, packet);
    receiver.timeout(at_us(1_000));
    assert_eq!(replies(&mut receiver), [resend(1, 4)]);
    sender.input(at_us(1_050), 1, resend(1, 4), || 1);
    assert!(sender.can_transmit());
    assert_eq!(send(&mut sender, at_us(1_050)), [Body::Unknown]);
    receive(&mut receiver, at_us(1_100), 4, Body::Unknown);
    assert_eq!(replies(&mut receiver), [Control::Done]);
    assert!(receiver.timeout(at_us(1_000_000)).is_empty());
    assert_eq!(replies(&mut receiver), []);
    assert_eq!(sender.input(at_us(1_200), 1, Control::Done, || 1), None);
    assert!(!sender.can_transmit());
}

/// A dead sender: after 20 requests without reply, the message is forgotten. The requests follow after 1, 2, 4, 8 and
/// then 16 ms each; a search for silent messages is at most 0.125 ms late.
#[test]
fn receiver_forgets_a_dead_sender() {
    let (_, mut receiver) = pair(&config());
    let packet = Body::Payload {
        number: 0,
        is_retransmission: false,
    };
    receive(&mut receiver, at_us(0), 4, packet);
    let (mut requests, mut forgotten) = (vec![Time::ZERO], Vec::new());
    while receiver.next_timeout() != Time::MAX {
        let now = receiver.next_timeout();
        forgotten.extend(receiver.timeout(now));
        requests.extend(replies(&mut receiver).iter().map(|_| now));
        assert!(now < at_us(1_000_000), "the timer stops");
    }
    let gaps = requests.windows(2).map(|pair| pair[1].since(pair[0]));
    let gaps: Vec<u64> = gaps
        .map(|gap| gap.as_ps() / Span::from_ms(1).as_ps())
        .collect();
    assert_eq!(gaps[..5], [1, 2, 4, 8, 16]);
    assert!(gaps[5..].iter().all(|&gap| gap == 16), "{gaps:?}");
    assert_eq!((gaps.len(), forgotten), (20, vec![1]));
}

/// An abort is repeated until the receiver confirms it. The intervals are bounded.
#[test]
fn abort_is_confirmed() {
    let (mut sender, mut receiver) = pair(&config());
    sender.send(at_us(0), 1, 100 * PAYLOAD, 1);
    let bodies = send(&mut sender, at_us(0));
    receive(&mut receiver, at_us(100), 100, bodies[0]);
    assert_eq!(sender.abort(|&tag| tag == 1), Some(1));
    assert_eq!(send(&mut sender, at_us(150)), [Body::Unknown]);
    // The notification is lost. A grant is answered by another.
    for grant in replies(&mut receiver) {
        sender.input(at_us(200), 1, grant, || 1);
    }
    assert_eq!(send(&mut sender, at_us(200)), [Body::Unknown]);
    let mut gaps = Vec::new();
    for _ in 0..10 {
        let before = sender.next_timeout();
        sender.timeout(before);
        while sender.can_transmit() {
            send(&mut sender, before);
        }
        gaps.push(sender.next_timeout().since(before));
    }
    assert_eq!(gaps.iter().max(), Some(&Span::from_ms(64)));
    receive(&mut receiver, at_us(300), 100, Body::Unknown);
    assert_eq!(replies(&mut receiver), [Control::Done]);
    assert_eq!(sender.input(at_us(2_000_000), 1, Control::Done, || 1), None);
    assert!(sender.open().next().is_none());
    // Nothing was sent of a second message, so it is forgotten at once.
    sender.send(at_us(2_000_000), 2, 100, 2);
    assert_eq!(sender.abort(|&tag| tag == 2), Some(2));
    assert!(!sender.can_transmit() && sender.open().next().is_none());
}

/// A packet that the sender repeated long before the message ended arrives four seconds later.
#[test]
fn very_late_duplicate_is_not_delivered() {
    let config = Config {
        resend_interval: Some(Span::from_us(10)),
        ..config()
    };
    let (_, mut receiver) = pair(&config);
    let packet = Body::Payload {
        number: 0,
        is_retransmission: true,
    };
    assert!(receive(&mut receiver, at_us(0), 1, packet));
    for at in [1_000, 4_000_000] {
        assert!(!receive(&mut receiver, at_us(at), 1, packet));
    }
    let delivered = std::iter::from_fn(|| receiver.take_delivered()).count();
    assert_eq!(delivered, 1);
}
