//! Senders and a receiver over paths that lose, duplicate, delay and forge packets.

use super::link;
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::pfabric::{Ack, Body, Config, Data, MessageId, Receiver, Sender};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Packet in flight.
#[derive(Clone, Copy)]
enum Packet {
    Data(u32, Data),
    Ack(u32, u64, Ack),
}

/// Shares of the packets, in 1/1000.
#[derive(Clone, Copy, Debug)]
struct Faults {
    lost: u64,
    duplicated: u64,
    late: u64,
    seed: u64,
}

/// Sends messages from three sources. Returns how often each was delivered, and how many senders completed.
fn run(faults: Faults, sizes: &[u64]) -> (BTreeMap<u64, u32>, usize) {
    let config = Config::default();
    let mut senders: Vec<Sender<u64>> = (0..3).map(|_| Sender::new(&config, &link())).collect();
    let mut receiver: Receiver<(u32, u64)> = Receiver::new(&config, &link());
    let (mut now, mut draws, mut serial, mut completed) = (Time::ZERO, 0, 0_u64, 0);
    let mut delivered = BTreeMap::new();
    let mut flying: BTreeMap<(Time, u64), Packet> = BTreeMap::new();
    for (number, bytes) in (0..).zip(sizes) {
        senders[number as usize % 3].send(&config, now, number, *bytes, number);
    }
    for _ in 0..200_000 {
        let mut sent: Vec<Packet> = Vec::new();
        for (source, sender) in (0..).zip(&mut senders) {
            sender.timeout(&config, now);
            // The interface sends one packet per step of 1.2 us.
            sent.extend(
                sender
                    .poll_transmit(&config, now)
                    .map(|(data, _)| Packet::Data(source, data)),
            );
        }
        while let Some(((source, number), ack)) = receiver.poll_transmit() {
            sent.push(Packet::Ack(source, number, ack));
        }
        for packet in sent {
            let mut draw = || {
                draws += 1;
                mix(faults.seed, draws) % 1_000
            };
            let copies = if draw() < faults.lost {
                0
            } else {
                1 + u64::from(draw() < faults.duplicated)
            };
            for _ in 0..copies {
                let delay = if draw() < faults.late {
                    Span::from_us(draw())
                } else {
                    Span::from_us(7)
                };
                serial += 1;
                flying.insert((now + delay, serial), packet);
            }
        }
        now += Span::from_ns(1_200);
        while let Some(((at, _), packet)) = flying
            .first_key_value()
            .map(|(key, packet)| (*key, *packet))
            && at <= now
        {
            flying.pop_first();
            match packet {
                Packet::Data(source, data) => {
                    let id = MessageId {
                        source,
                        number: data.message,
                    };
                    receiver.input(now, id, data.body, (source, data.message));
                }
                Packet::Ack(source, number, ack) => {
                    completed += usize::from(
                        senders[source as usize]
                            .input(&config, now, number, ack)
                            .is_some(),
                    );
                }
            }
        }
        while let Some((_, number)) = receiver.take_delivered() {
            *delivered.entry(number).or_default() += 1;
        }
        if completed == sizes.len() {
            break;
        }
    }
    (delivered, completed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_message_is_delivered_once(
        (lost, duplicated, late, seed) in (0_u64..300, 0_u64..300, 0_u64..500, any::<u64>()),
        sizes in prop::collection::vec(0_u64..60_000, 1..8),
    ) {
        let (delivered, completed) = run(Faults { lost, duplicated, late, seed }, &sizes);
        prop_assert_eq!(completed, sizes.len());
        prop_assert!(delivered.len() == sizes.len() && delivered.values().all(|count| *count == 1));
    }

    /// Forged packets and calls at any time cause no panic, and no endless loop.
    #[test]
    fn forged_packets_cause_no_panic(
        steps in prop::collection::vec((0_u8..7, any::<u64>(), any::<u64>(), any::<bool>()), 1..300),
        (mtu, window, rto_us, probe_after) in (1_u32..9_000, 1_u32..100, 1_u64..1_000, 1_u32..9),
    ) {
        let config = Config {
            mtu,
            window: Some(window),
            rto: Some(Span::from_us(rto_us)),
            probe_after,
            queue: None,
        };
        let mut sender: Sender<u64> = Sender::new(&config, &link());
        let mut receiver: Receiver<u64> = Receiver::new(&config, &link());
        let mut now = Time::ZERO;
        for (step, a, b, flag) in steps {
            let (near_a, near_b) = (a % 40, b % 40);
            let (a, b) = if flag { (a, b) } else { (near_a, near_b) };
            match step {
                0 => sender.send(&config, now, near_a, b, near_a),
                1 => {
                    let number = (b % 3 > 0).then_some(a);
                    sender.input(&config, now, near_a, Ack { number, up_to: b % 9_999, is_complete: b % 17 == 0 });
                }
                2 => {
                    for _ in 0..near_a {
                        prop_assert_eq!(sender.can_transmit(), sender.poll_transmit(&config, now).is_some());
                    }
                }
                3 => {
                    sender.timeout(&config, now);
                    prop_assert!(sender.next_timeout() > now);
                }
                4 => {
                    sender.abort(|tag| *tag == near_b);
                }
                5 => {
                    let body = match b % 8 {
                        0 => Body::Probe,
                        1 => Body::Abort,
                        _ => Body::Payload { number: a, is_retransmission: flag, is_last: b % 11 == 0 },
                    };
                    receiver.input(now, MessageId { source: 0, number: near_b }, body, 0);
                    while receiver.poll_transmit().is_some() {}
                    while receiver.take_delivered().is_some() {}
                }
                _ => now += Span::from_us(near_a * near_b),
            }
        }
    }
}
