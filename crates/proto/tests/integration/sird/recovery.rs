//! Losses, silence and reordering.

use super::*;

#[test]
fn lost_credit_is_reclaimed() {
    let config = config();
    let mut receiver = receiver(&config);
    request(&mut receiver, &config, at(0), 1, 80);
    request(&mut receiver, &config, at(0), 2, 100);
    // Host 1 gets none of its 66 credits, which leaves 34 for host 2.
    assert_eq!(credits(&mut receiver, at(0), at(60)).len(), 100);
    // 8 round trips of 8 us after the first credit, and at most 12 us for 150 kB, both messages have no credit.
    let reclaimed = credits(&mut receiver, at(60), at(100));
    assert_eq!(count(&reclaimed, 1), 66);
    let numbers = reclaimed.iter().filter(|credit| credit.1 == 1);
    let numbers: Vec<_> = numbers.map(|credit| credit.2).collect();
    let expected: Vec<_> = (0..66).map(|number| Control::Resend { number }).collect();
    assert_eq!(numbers, expected);
    assert!(receiver.outstanding() <= 150_000);
    // The sender got no credit before, so it sends the packets for the first time.
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, 80 * PAYLOAD), 0);
    host.poll_transmit();
    for control in numbers {
        host.input(at(90), 1, control);
    }
    let mut sent = 0;
    while let Some((data, ..)) = host.poll_transmit() {
        let body = Body::Payload {
            number: sent,
            is_retransmission: false,
            is_congested: false,
        };
        assert_eq!(data.body, body);
        sent += 1;
    }
    assert_eq!(sent, 66);
}

#[test]
fn dead_sender_gets_one_packet_and_is_forgotten() {
    let config = config();
    let mut receiver = receiver(&config);
    request(&mut receiver, &config, at(0), 1, 100);
    assert_eq!(credits(&mut receiver, at(0), at(60)).len(), 66);
    assert_eq!(credits(&mut receiver, at(60), at(100)).len(), 66);
    // After the second timeout, only one packet at a time.
    let probes = credits(&mut receiver, at(100), at(1_000_000));
    assert_eq!(probes.len(), 15);
    assert_eq!(
        (receiver.outstanding(), receiver.next_timeout()),
        (0, Time::MAX)
    );
}

#[test]
fn late_packet_uses_no_credit() {
    let config = config();
    let mut receiver = receiver(&config);
    request(&mut receiver, &config, at(0), 1, 70);
    credits(&mut receiver, at(0), at(100));
    let id = MessageId {
        source: 1,
        number: 1,
    };
    let announcement = Announcement {
        bytes: 70 * PAYLOAD,
        unscheduled: 0,
    };
    // Packet 69 has no credit, packet 70 does not exist, packet 0 frees credit for packet 66, and its duplicate
    // does not. Replies to unexpected packets repeat the credit.
    for (number, expected) in [(69, None), (70, Some(66)), (0, Some(67)), (0, Some(67))] {
        let body = Body::Payload {
            number,
            is_retransmission: false,
            is_congested: false,
        };
        receiver.input(&config, at(100), id, body, (announcement, 1), false);
        let up_to = credits(&mut receiver, at(100), at(100))
            .last()
            .map(|credit| credit.2);
        let expected = expected.map(|up_to| Control::Credit {
            up_to,
            arrived: u64::from(up_to == 67),
        });
        assert_eq!(
            (up_to, receiver.outstanding()),
            (expected, 99_000),
            "{number}"
        );
    }
}

/// Sends 12 messages of 1 to 300 packets from 4 hosts to 3 others, and checks that each is delivered once and that
/// nothing is outstanding.
fn all_end(loss_permille: u64, disorder: u64) -> World {
    let mut world = World::new(config(), &[1, 2, 3, 4], &[11, 12, 13]);
    (world.loss_permille, world.disorder) = (loss_permille, disorder);
    for number in 1..=12 {
        let (from, to) = (1 + number % 4, 11 + number % 3);
        world.send(
            from as u32,
            to as u32,
            number,
            [1, 40, 70, 300][number as usize % 4],
        );
    }
    for _ in 0..3_000_000 {
        if world
            .senders
            .values()
            .all(|sender| sender.open().next().is_none())
        {
            break;
        }
        world.step();
    }
    world.delivered.sort_unstable();
    let expected = (0..3).flat_map(|to| {
        (1..=12)
            .filter(move |n| n % 3 == to)
            .map(move |n| (11 + to, n))
    });
    assert_eq!(world.delivered, expected.collect::<Vec<_>>());
    assert!(
        world
            .senders
            .values()
            .all(|sender| sender.open().next().is_none())
    );
    for (host, receiver) in &world.receivers {
        assert_eq!(receiver.outstanding(), 0, "at {host}");
    }
    assert!(
        world
            .senders
            .values()
            .all(|sender| sender.unused_credit() == 0 && !sender.can_transmit())
    );
    world
}

#[test]
fn every_message_ends_without_loss() {
    // Host 4 sends three messages of 300 packets in all, one to each receiver: 900 steps, or 108 us.
    let world = all_end(0, 0);
    assert!(world.now < at(150), "{}", world.now);
}

#[test]
fn every_message_ends_with_loss() {
    all_end(10, 0);
    all_end(300, 0);
}

#[test]
fn reordering_is_no_loss() {
    let ordered = all_end(0, 0).sent;
    let disordered = all_end(0, 20).sent;
    // No packet is sent again. At most one message more or less is confirmed before its credit, for each of the 12.
    assert!(disordered.abs_diff(ordered) <= 12, "{disordered} {ordered}");
}

#[test]
fn early_timeout_has_no_effect() {
    let mut world = World::new(config(), &[1, 2], &[11]);
    world.loss_permille = 50;
    world.send(1, 11, 1, 90);
    world.send(2, 11, 2, 120);
    for _ in 0..1_000 {
        world.step();
        let receiver = world.receivers.get_mut(&11).unwrap();
        if world.now < receiver.next_timeout() {
            let before = format!("{receiver:?}");
            receiver.timeout(world.now);
            assert_eq!(before, format!("{receiver:?}"));
        }
    }
}

#[test]
fn abort_returns_the_credit() {
    let mut world = World::new(config(), &[1, 2], &[11]);
    world.send(1, 11, 1, 200);
    world.send(2, 11, 2, 300);
    world.run(100);
    assert!(world.receivers[&11].outstanding_of(1).unwrap().0 > 0);
    assert_eq!(world.senders.get_mut(&1).unwrap().abort(|_| true), Some(11));
    assert_eq!(world.senders[&1].unused_credit(), 0);
    world.run(100);
    assert_eq!(world.receivers[&11].outstanding_of(1).unwrap().0, 0);
    assert!(world.senders[&1].open().next().is_none());
    world.run(1_000);
    assert_eq!(world.delivered, [(11, 2)]);
}

#[test]
fn unannounced_message_is_aborted_silently() {
    let config = config();
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, PAYLOAD), 5);
    assert_eq!(host.abort(|&tag| tag == 5), Some(5));
    assert!(!host.can_transmit() && host.open().next().is_none());
    assert_eq!(host.abort(|_| true), None);
}

#[test]
fn forged_packets_change_little() {
    let config = config();
    let mut receiver = receiver(&config);
    for number in 0..2_000_u64 {
        let random = |purpose| mix(number, purpose);
        let id = MessageId {
            source: random(0) as u32 % 5,
            number: random(1) % 7,
        };
        let announcement = Announcement {
            bytes: random(2) >> (random(3) % 64),
            unscheduled: random(4) >> (random(5) % 64),
        };
        let body = match random(6) % 8 {
            0 => Body::Request,
            1 => Body::Abort,
            _ => Body::Payload {
                number: random(7) >> (random(8) % 64),
                is_retransmission: true,
                is_congested: random(9) % 2 == 0,
            },
        };
        let now = at(number);
        receiver.input(
            &config,
            now,
            id,
            body,
            (announcement, 0),
            random(10) % 2 == 0,
        );
        receiver.timeout(now);
    }
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, u64::MAX), 0);
    for number in 0..2_000_u64 {
        let random = |purpose| mix(number, purpose) >> (mix(number, purpose + 9) % 64);
        let control = match random(0) % 4 {
            0 => Control::Resend { number: random(1) },
            _ => Control::Credit {
                up_to: random(2),
                arrived: random(3),
            },
        };
        host.input(at(number), 1, control);
        host.poll_transmit();
        host.timeout(at(number));
    }
}
