//! Lossy networks and forged packets.

use super::network::{Faults, Network, at_us, plain};
use duetime_core::{Rate, Span, Time};
use duetime_proto::due::{Announcement, Body, Config, Control, Link, MessageId, Receiver, Sender};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every message is delivered exactly once, whatever the network does and whatever size is announced, and grants stay
    /// within their limit.
    #[test]
    fn every_message_is_delivered_once(
        lost in 0..300_u64, duplicated in 0..100_u64, late in 0..100_u64, seed: u64,
        announced_permille in prop_oneof![Just(1_000_u32), 1..20_000_u32],
        sizes in proptest::collection::vec((0..200_000_u64, 0..3_000_u64, proptest::option::of(1..20_000_u64)), 1..20),
    ) {
        let config = Config { announced_permille, ..Config::default() };
        let mut network = Network::with_config(config, 4, Faults { lost, duplicated, late, seed });
        for (message, &(bytes, at, budget)) in sizes.iter().enumerate() {
            let deadline = budget.map(|budget| at_us(at + budget));
            network.submit(at_us(at), message as u32 % 4, message as u64, plain(bytes, deadline));
        }
        network.run(at_us(60_000_000));
        prop_assert_eq!(network.delivered.len(), sizes.len());
        // 1.5 bandwidth-delay products of 12 packets, 4 times with silent senders, and an announcement per message.
        let limit = 4 * 27 + sizes.len() as i64;
        prop_assert!(network.max_in_flight <= limit, "{} packets in flight", network.max_in_flight);
    }

    /// Packets that no sender sent do not panic, and the receiver's calls stay consistent.
    #[test]
    fn forged_packets_do_no_harm(
        packets in proptest::collection::vec(forged(), 1..300), controls in proptest::collection::vec(control(), 1..300),
    ) {
        let config = Config::default();
        let link = Link { rate: Rate::from_gbps(1), round_trip: Span::from_us(100), framing_bytes: 0, classes: 3, keeps_order: false };
        let mut receiver = Receiver::new(&config, &link);
        let mut now = Time::ZERO;
        for (gap_us, source, number, body, announcement) in packets {
            now += Span::from_us(gap_us);
            receiver.timeout(&config, now);
            receiver.input(&config, now, MessageId { source, number }, body, || announcement.map(|it| (it, ())), true);
            while receiver.poll_transmit().is_some() {}
        }
        let mut sender = Sender::new(&config, &link);
        for number in 0..4 {
            sender.send(&config, Time::ZERO, number, plain(50_000 * number, None), ());
        }
        for (number, control) in controls {
            sender.input(now, number, control);
            for _ in 0..100 {
                sender.poll_transmit();
            }
            now += Span::from_ms(1);
            sender.timeout(now);
        }
    }
}

fn forged() -> impl Strategy<Value = (u64, u32, u64, Body, Option<Announcement>)> {
    let number = prop_oneof![0..20_u64, any::<u64>()];
    let body = prop_oneof![
        9 => (number.clone(), number, any::<bool>()).prop_map(|(number, announced, is_last)| Body::Payload {
            number,
            is_retransmission: false,
            announced,
            is_last,
        }),
        1 => Just(Body::Abort),
    ];
    let announcement = (
        prop_oneof![0..100_000_u64, any::<u64>()],
        any::<Option<u64>>(),
        any::<Option<u64>>(),
        any::<bool>(),
    );
    let announcement = announcement.prop_map(|(bytes, deadline, query, is_request)| Announcement {
        bytes,
        deadline: deadline.map(Time::from_ps),
        query,
        is_request,
    });
    (
        0..1_000_u64,
        0..3_u32,
        0..4_u64,
        body,
        proptest::option::weighted(0.7, announcement),
    )
}

fn control() -> impl Strategy<Value = (u64, Control)> {
    let grant = (any::<u64>(), any::<u64>(), any::<u8>(), any::<bool>());
    let control = prop_oneof![
        4 => grant.prop_map(|(up_to, arrived, class, is_background)| Control::Grant { up_to, arrived, class, is_background }),
        4 => (any::<u64>(), any::<u64>()).prop_map(|(from, to)| Control::Resend { from, to }),
        1 => Just(Control::Done),
    ];
    (0..5_u64, control)
}
