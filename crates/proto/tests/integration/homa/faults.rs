//! Loss, duplicates, reordering, dead sources, aborts and forged packets.

use super::network::{Faults, Network};
use super::{PAYLOAD, at_us, config, plan};
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::homa::{Body, Control, MessageId, Receiver, Sender};

/// Sizes from one byte to 40 packets.
fn size(message: u64) -> u64 {
    1 + mix(7, message) % (40 * PAYLOAD)
}

#[test]
fn every_message_ends_on_a_bad_path() {
    for seed in 0..8 {
        let config = config();
        let mut network = Network::new(&config, plan(&config, &[]), 8);
        network.faults = Faults {
            lost: 100,
            duplicated: 50,
            late: 50,
            seed,
        };
        for message in 0..200 {
            network.submit(
                at_us(50 * message),
                (message % 8) as u32,
                message,
                size(message),
            );
        }
        network.run(Time::ZERO + Span::from_secs(20));
        assert_eq!(network.delivered.len(), 200, "seed {seed}");
        let open: usize = network
            .senders
            .iter()
            .map(|sender| sender.open().count())
            .sum();
        assert_eq!(
            open, 0,
            "seed {seed}: all senders know that their messages arrived"
        );
        assert!(
            network
                .senders
                .iter()
                .all(|sender| sender.next_timeout() == Time::MAX)
        );
    }
}

/// Without faults nothing is sent twice, and receivers grant no more than `RTTbytes` per message.
#[test]
fn no_packet_is_wasted_without_faults() {
    let config = config();
    let mut network = Network::new(&config, plan(&config, &[]), 8);
    let mut packets = 0;
    for message in 0..100 {
        packets += config.packets(size(message));
        network.submit(
            at_us(300 * message),
            (message % 8) as u32,
            message,
            size(message),
        );
    }
    network.run(Time::ZERO + Span::from_secs(1));
    assert_eq!((network.delivered.len(), network.arrived), (100, packets));
    assert!(network.max_in_flight.values().all(|&most| most <= 10));
}

#[test]
fn dead_source_delays_no_other() {
    let config = config();
    let mut network = Network::new(&config, plan(&config, &[]), 3);
    network.submit(at_us(0), 0, 1, 1_000 * PAYLOAD);
    network.submit(at_us(0), 1, 2, 1_000 * PAYLOAD);
    network.run(at_us(1_000));
    network.dead = vec![0];
    network.submit(at_us(2_000), 2, 3, 100 * PAYLOAD);
    network.run(Time::ZERO + Span::from_secs(1));
    assert_eq!(
        network.delivered.keys().copied().collect::<Vec<_>>(),
        [2, 3]
    );
    let last = network.delivered[&2];
    assert!(last < at_us(1_200 * 12 + 1_000), "{last}");
    assert_eq!(
        network.receiver.next_timeout(),
        Time::MAX,
        "message 1 was forgotten"
    );
}

/// No packet makes a state machine panic.
#[test]
fn forged_packets_are_harmless() {
    let config = config();
    let plan = plan(&config, &[]);
    let (mut sender, mut receiver) = (Sender::new(&config, plan), Receiver::new(&config, plan));
    let mut draws = 0;
    let mut draw = |values: &[u64]| {
        draws += 1;
        values[(mix(3, draws) % values.len() as u64) as usize]
    };
    let numbers = [
        0,
        1,
        2,
        9,
        10,
        11,
        4_095,
        4_096,
        u64::MAX / 2,
        u64::MAX - 1,
        u64::MAX,
    ];
    for step in 0..20_000u64 {
        let now = at_us(step * 7);
        let number = draw(&[1, 2, 3, 4]);
        if step % 50 == 0 {
            sender.send(now, 4 + step, draw(&numbers), step);
        }
        let body = match draw(&[0, 0, 0, 1, 2]) {
            0 => Body::Payload {
                number: draw(&numbers),
                is_retransmission: step % 2 == 0,
            },
            1 => Body::Busy,
            _ => Body::Unknown,
        };
        let source = draw(&[0, 1]) as u32;
        receiver.input(
            now,
            MessageId { source, number },
            draw(&numbers),
            body,
            || step,
        );
        let (from, to) = (draw(&numbers), draw(&numbers));
        let class = draw(&[0, 7, 255]) as u8;
        let control = match draw(&[0, 1, 2]) {
            0 => Control::Grant {
                up_to: to,
                arrived: from,
                class,
            },
            1 => Control::Resend { from, to, class },
            _ => Control::Done,
        };
        let target = 4 + draw(&[0, 50, 100, 150, step / 50 * 50]);
        sender.input(now, target, control, || step);
        sender.timeout(now);
        receiver.timeout(now);
        while receiver.take_delivered().is_some() {}
        while receiver.poll_transmit().is_some() {}
        for _ in 0..20 {
            sender.poll_transmit(now);
        }
    }
}
