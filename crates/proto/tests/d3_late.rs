//! An answer that comes after its timeout, before the request has left again, opens the flow all the same; and after that
//! under `late_answers`.

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{Config, Flags, Packet, Receiver, Sender};

const MESSAGE: Message = Message {
    bytes: 100,
    deadline: None,
};

/// A sender that shares its NIC with many others, so that its second SYN waits for its turn.
#[test]
fn a_late_answer_to_the_syn_is_taken() {
    let config = Config::default();
    let mut sender = Sender::new(&config, Time::ZERO, Rate::from_gbps(1), MESSAGE);
    let mut receiver = Receiver::new(&config);
    let syn = sender.poll_transmit(&config, Time::ZERO).expect("a SYN");
    receiver.input(&config, Time::ZERO, &syn);
    let answer = receiver
        .poll_transmit(&config, Time::ZERO)
        .expect("its answer");

    let late = sender.next_timeout() + Span::from_us(1);
    sender.timeout(&config, late);
    assert_eq!(sender.counters().timeouts, 1);
    sender.input(&config, late, &answer);
    assert!(sender.is_established());

    // No second SYN, and the same answer does not count twice.
    let next = sender.poll_transmit(&config, late).expect("data");
    assert!(!next.flags.contains(Flags::SYN) && next.len == 100);
    let rtt = sender.srtt();
    sender.input(&config, late + Span::from_ms(1), &answer);
    assert_eq!(sender.srtt(), rtt);
}

/// Once the SYN has left again, only the answer to that one counts: routers have seen both.
#[test]
fn an_answer_to_the_first_of_two_syns_is_not() {
    let config = Config::default();
    let mut sender = Sender::new(&config, Time::ZERO, Rate::from_gbps(1), MESSAGE);
    let mut receiver = Receiver::new(&config);
    let answer = |receiver: &mut Receiver, packet: &Packet| {
        receiver.input(&config, Time::ZERO, packet);
        receiver
            .poll_transmit(&config, Time::ZERO)
            .expect("its answer")
    };
    let first = sender.poll_transmit(&config, Time::ZERO).expect("a SYN");
    let first = answer(&mut receiver, &first);
    let late = sender.next_timeout();
    sender.timeout(&config, late);
    let second = sender.poll_transmit(&config, late).expect("a SYN again");
    assert!(second.flags.contains(Flags::SYN | Flags::RETRANSMIT));
    sender.input(&config, late, &first);
    assert!(!sender.is_established());
    let second = answer(&mut receiver, &second);
    sender.input(&config, late, &second);
    assert!(sender.is_established());
}

/// With late answers the first of two SYNs is as good as the second, and its round trip is its own.
#[test]
fn late_answers_are_taken_on_request() {
    let config = Config {
        late_answers: Some(true),
        ..Config::default()
    };
    let mut sender = Sender::new(&config, Time::ZERO, Rate::from_gbps(1), MESSAGE);
    let mut receiver = Receiver::new(&config);
    let first = sender.poll_transmit(&config, Time::ZERO).expect("a SYN");
    receiver.input(&config, Time::ZERO, &first);
    let answer = receiver
        .poll_transmit(&config, Time::ZERO)
        .expect("its answer");
    let late = sender.next_timeout();
    sender.timeout(&config, late);
    sender.poll_transmit(&config, late).expect("a SYN again");
    let later = late + Span::from_us(1);
    sender.input(&config, later, &answer);
    assert!(sender.is_established());
    assert_eq!(sender.srtt(), Some(later.since(Time::ZERO)));
}

/// How many answers a flow takes in a second whose round trip has become 20 ms, where it was 300 us.
fn answers_after_a_jump(late_answers: bool) -> u32 {
    let config = Config {
        late_answers: Some(late_answers),
        ..Config::default()
    };
    let long = Message {
        bytes: 1 << 40,
        deadline: None,
    };
    let mut sender = Sender::new(&config, Time::ZERO, Rate::from_gbps(1), long);
    let mut receiver = Receiver::new(&config);
    let (mut now, mut taken) = (Time::ZERO, 0);
    let mut answers: std::collections::VecDeque<(Time, Packet)> = [].into();
    let jump = Time::ZERO + Span::from_ms(20);
    while now < Time::ZERO + Span::from_ms(1_020) {
        sender.timeout(&config, now);
        while let Some(mut packet) = sender.poll_transmit(&config, now) {
            let Some(request) = &mut packet.request else {
                continue;
            };
            // A router that grants 1 B/us.
            request.allocations[0] = duetime_proto::d3::EncodedRate::from_byte(1);
            request.index = 1;
            receiver.input(&config, now, &packet);
            let rtt = if now < jump {
                Span::from_us(300)
            } else {
                Span::from_ms(20)
            };
            let answer = receiver.poll_transmit(&config, now).expect("its answer");
            answers.push_back((now + rtt, answer));
        }
        let next = answers.front().map_or(Time::MAX, |answer| answer.0);
        now = sender.next_timeout().min(next);
        if next == now
            && let Some((_, answer)) = answers.pop_front()
        {
            let before = sender.srtt();
            sender.input(&config, now, &answer);
            taken += u32::from(now > jump && sender.srtt() != before);
        }
    }
    taken
}

#[test]
fn a_flow_goes_on_where_its_round_trip_becomes_much_longer() {
    // One of them left before.
    assert!(answers_after_a_jump(false) <= 1);
    let taken = answers_after_a_jump(true);
    assert!((20..=60).contains(&taken), "{taken}");
}
