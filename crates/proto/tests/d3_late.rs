//! An answer that comes after its timeout, before the request has left again, opens the flow all the same.

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
