//! TCP under random loss, reordering and duplication, and under segments that no correct peer would send.

use crate::common::{Fate, Pair, d2tcp, dctcp, plain};
use duetime_core::{Span, Time};
use duetime_proto::tcp::{
    Coalescing, Config, Flags, Growth, Receiver, Recovery, Sack, Segment, Sender,
};
use duetime_proto::window::{CongestionControl, Cubic};
use duetime_proto::{Length, Message};
use proptest::prelude::*;

/// Returns a reproducible draw in 0..100 for packet `number`.
fn percent(seed: u64, number: usize) -> u64 {
    duetime_core::random::mix(seed, number as u64) % 100
}

fn control(choice: u8) -> CongestionControl {
    match choice {
        0 => CongestionControl::NewReno,
        1 => dctcp(0.0),
        2 => dctcp(1.0),
        3 => CongestionControl::Cubic(Cubic {
            hystart: true,
            tick: Span::from_ms(4),
            ..Cubic::default()
        }),
        _ => d2tcp(0.2, 0.5, 2.0),
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    (
        0_u8..5,
        1_u32..=4,
        200_u32..2_000,
        1_u32..12,
        0_u32..4,
        2_000_u64..200_000,
        any::<(bool, bool)>(),
        prop::option::of((1_u32..=20, 0_u64..200)),
        (0_u8..4, any::<bool>(), 0_u8..4),
    )
        .prop_map(
            |(
                choice,
                delayed_ack,
                mss,
                initial_window,
                min_window,
                receive_window,
                (limited_transmit, by_acknowledgements),
                coalescing,
                (repair, rate_reduction, quick_ack),
            )| Config {
                recovery: if repair > 0 {
                    Recovery::Sack
                } else {
                    Recovery::NewReno
                },
                rack: repair > 1,
                tail_loss_probe: repair > 2,
                rate_reduction,
                quick_ack,
                limited_transmit,
                growth: if by_acknowledgements {
                    Growth::Acknowledgements
                } else {
                    Growth::Bytes
                },
                ack_coalescing: coalescing.map(|(segments, within)| Coalescing {
                    segments,
                    within: Span::from_us(within),
                }),
                congestion_control: control(choice),
                delayed_ack,
                mss,
                initial_window,
                min_window,
                receive_window,
                rto_max: Span::from_ms(200),
                ..plain()
            },
        )
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let seq = prop_oneof![
        0_u64..6,
        0_u64..100_000,
        Just(u64::MAX),
        Just(u64::MAX / 2),
        any::<u64>()
    ];
    let len = prop_oneof![Just(0_u32), 1_u32..3_000, any::<u32>()];
    (seq, len, any::<u16>()).prop_map(|(seq, len, flags)| Segment {
        seq,
        len,
        flags: Flags(flags),
    })
}

fn any_sack() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0_u64..100_000, 0_u64..5_000), 0..5)
}

proptest! {
    /// Every byte and every message is delivered once, and both ends finish.
    #[test]
    fn delivers_everything_once_under_faults(
        config in any_config(),
        sizes in prop::collection::vec(1_u64..30_000, 1..10),
        seed in any::<u64>(),
        data_loss in 0_u64..=30,
        ack_loss in 0_u64..=30,
        reordering in 0_u64..=20,
    ) {
        let fate = move |direction: u64, loss: u64, number: usize| {
            match percent(seed ^ direction, number) {
                draw if draw < loss => Fate::Drop,
                draw if draw < loss + reordering => Fate::Delay(Span::from_us(7 * percent(!seed ^ direction, number))),
                draw if draw < loss + reordering + 5 => Fate::Duplicate,
                draw if draw < loss + reordering + 20 => Fate::Mark,
                _ => Fate::Deliver,
            }
        };
        let mut pair = Pair::new(config)
            .data_fate(move |number, _, _| fate(1, data_loss, number))
            .ack_fate(move |number, _| fate(2, ack_loss, number));
        for (at, bytes) in sizes.iter().enumerate() {
            pair.send(*bytes);
            if at % 3 == 2 {
                pair.run_until(pair.now + Span::from_us(250)); // some are submitted in flight, some after idle
            }
            if at % 4 == 3 {
                pair.run();
            }
        }
        pair.run();
        prop_assert_eq!(pair.bytes, sizes.iter().sum::<u64>());
        prop_assert_eq!(pair.receiver.delivered(), pair.bytes);
        prop_assert_eq!(pair.messages as usize, sizes.len());
        prop_assert!(pair.sender.is_idle() && !pair.sender.is_closed());
        prop_assert_eq!(pair.sender.acked(), pair.bytes);
        prop_assert_eq!(pair.sender.in_flight(), 0);
        pair.sender.close();
        pair.run();
        prop_assert!(pair.sender.is_closed());
        prop_assert_eq!(pair.sender.next_timeout(), Time::MAX);
        prop_assert_eq!((pair.bytes, pair.messages as usize), (sizes.iter().sum::<u64>(), sizes.len()));
    }

    /// If the sender closes at once, the FIN is sent with the data; only its own answer may be abandoned.
    #[test]
    fn closed_sender_delivers_everything(
        config in any_config(),
        bytes in 1_u64..50_000,
        seed in any::<u64>(),
        loss in 0_u64..=25,
    ) {
        let fate = move |direction: u64, number| if percent(seed ^ direction, number) < loss { Fate::Drop } else { Fate::Deliver };
        let mut pair = Pair::new(config)
            .data_fate(move |number, _, _| fate(1, number))
            .ack_fate(move |number, _| fate(2, number));
        pair.send(bytes);
        pair.sender.close();
        pair.run();
        prop_assert_eq!((pair.bytes, pair.messages), (bytes, 1));
        prop_assert!(pair.sender.is_closed() && pair.receiver.is_closed());
    }

    /// A hostile network neither breaks the sender nor makes it count unsent data as acknowledged.
    #[test]
    fn hostile_acknowledgements_are_harmless(
        config in any_config(),
        sizes in prop::collection::vec(prop_oneof![(1_u64..100_000).prop_map(Length::Bytes), Just(Length::Endless)], 1..4),
        steps in prop::collection::vec((any_segment(), any_sack(), 0_u64..20_000, 0_usize..20, any::<bool>()), 1..200),
    ) {
        let mut now = Time::ZERO;
        let mut sender = Sender::new(&config, now);
        for length in sizes {
            sender.send(&config, now, Message::new(length, Some(Time::from_ps(1_000_000_000))));
        }
        let mut sent = 0;
        for (mut segment, blocks, wait, polls, close) in steps {
            now += Span::from_us(wait);
            segment.flags |= Flags::ACK;
            let mut sack = Sack::NONE;
            for (start, length) in blocks {
                sack.push(segment.seq, start, start + length);
            }
            sender.input_sack(&config, now, segment, &sack);
            sender.timeout(&config, now);
            for _ in 0..polls {
                let ready = sender.can_transmit(&config);
                let segment = sender.poll_transmit(&config, now);
                prop_assert_eq!(ready, segment.is_some());
                if let Some(segment) = segment {
                    prop_assert!(segment.len <= config.mss);
                    sent = sent.max(segment.seq + u64::from(segment.len));
                }
            }
            if close {
                sender.close();
            }
            prop_assert!(sender.acked() <= sent);
            prop_assert!(sender.window_bytes() >= u64::from(config.mss));
        }
    }

    /// A hostile network does not break the receiver, which delivers no byte twice.
    #[test]
    fn hostile_data_is_harmless(
        config in any_config(),
        steps in prop::collection::vec((any_segment(), 0_u64..2_000, any::<bool>()), 1..200),
    ) {
        let mut now = Time::ZERO;
        let mut receiver = Receiver::new(&config);
        receiver.input(&config, now, Segment { seq: 0, len: 0, flags: Flags::SYN });
        let mut bytes = 0;
        for (segment, wait, poll) in steps {
            now += Span::from_us(wait);
            let delivery = receiver.input(&config, now, segment);
            bytes += delivery.bytes;
            prop_assert_eq!(bytes, receiver.delivered());
            receiver.timeout(&config, now);
            while poll && receiver.poll_transmit().is_some() {}
        }
    }

    /// A driver that polls acknowledgements late gets the same ones as a prompt driver.
    #[test]
    fn acknowledgements_do_not_depend_on_polling(
        delayed_ack in 1_u32..=4,
        segments in prop::collection::vec((0_u64..12, any::<bool>()), 1..60),
    ) {
        let config = Config { delayed_ack, congestion_control: dctcp(0.0), ..plain() };
        let (mut prompt, mut late) = (Receiver::new(&config), Receiver::new(&config));
        let (mut polled, mut polled_late) = (Vec::new(), Vec::new());
        let syn = (Segment { seq: 0, len: 0, flags: Flags::SYN }, Flags::NONE);
        let data = segments.iter().map(|(number, marked)| {
            let flags = if *marked { Flags::CE } else { Flags::NONE };
            (Segment { seq: 1 + number * 1_000, len: 1_000, flags: Flags::ECT }, flags)
        });
        for (segment, mark) in std::iter::once(syn).chain(data) {
            let segment = Segment { flags: segment.flags | mark, ..segment };
            prop_assert_eq!(prompt.input(&config, Time::ZERO, segment), late.input(&config, Time::ZERO, segment));
            polled.extend(prompt.poll_transmit());
            while let Some(ack) = prompt.poll_transmit() {
                polled.push(ack);
            }
        }
        while let Some(ack) = late.poll_transmit() {
            polled_late.push(ack);
        }
        prop_assert_eq!(polled, polled_late);
    }
}
