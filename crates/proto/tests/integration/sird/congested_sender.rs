//! Receivers of a congested sender.

use super::*;

/// Runs the outcast example: host 1 serves receivers 11 and 12, which hosts 2 and 3 serve as well. Host 1's messages
/// are the shortest. Returns the world and averages over the second half: host 1's unused credit, and the outstanding
/// credit of hosts 2 and 3.
fn outcast(sender_threshold_permille: u32) -> (World, [u64; 3]) {
    let config = Config {
        sender_threshold_permille,
        ..config()
    };
    let mut world = World::new(config, &[1, 2, 3], &[11, 12]);
    world.send(1, 11, 1, 20_000);
    world.send(1, 12, 2, 20_000);
    world.send(2, 11, 3, 100_000);
    world.send(3, 12, 4, 100_000);
    world.run(5_000);
    let mut sums = [0; 3];
    for _ in 0..5_000 {
        world.step();
        sums[0] += world.senders[&1].unused_credit();
        sums[1] += world.receivers[&11].outstanding_of(2).unwrap().0;
        sums[2] += world.receivers[&12].outstanding_of(3).unwrap().0;
    }
    (world, sums.map(|sum| sum / 5_000))
}

#[test]
fn receivers_give_credit_to_other_senders() {
    let (marking, [credit, others @ ..]) = outcast(500);
    let (silent, [silent_credit, silent_others @ ..]) = outcast(1_000_000);
    assert!(marking.marked[&1] > 0);
    assert_eq!(
        (marking.marked.get(&2), marking.marked.get(&3)),
        (None, None)
    );
    assert!(silent.marked.is_empty());
    // Without marks, a BDP of each receiver circulates, of which the uplink carries one in a round trip.
    assert!(silent_credit > 80_000, "{silent_credit}");
    // With marks, the unused credit is about SThr, 50 kB.
    assert!((30_000..65_000).contains(&credit), "{credit}");
    for (receiver, other) in [(11, 2), (12, 3)] {
        let receiver = &marking.receivers[&receiver];
        let (_, limit) = receiver.outstanding_of(1).unwrap();
        let (_, other_limit) = receiver.outstanding_of(other).unwrap();
        assert!(
            limit < 90_000 && other_limit == 100_000,
            "{limit} {other_limit}"
        );
    }
    // Half of host 1's uplink is shared fairly, and the other half serves its shorter message, to receiver 11. So host 1
    // sends 75 % of receiver 11's rate and host 2 the remaining 23 %, with or without marks: 23 % of 8 us are 23 kB.
    // Host 1 sends only 25 % of receiver 12's rate, and its unused credit goes to host 3.
    assert!(others[0].abs_diff(silent_others[0]) < 2_000);
    assert!(others[1] > silent_others[1] + 12_000);
}

#[test]
fn lone_message_is_never_marked() {
    let mut world = World::new(config(), &[1], &[11]);
    world.send(1, 11, 1, 66);
    world.run(500);
    world.send(1, 11, 2, 1_000);
    world.run(2_000);
    assert_eq!(world.delivered, [(11, 1), (11, 2)]);
    assert!(world.marked.is_empty());
}

#[test]
fn credit_above_the_threshold_marks() {
    let config = config();
    let mut host = sender(&config);
    // Two messages of 30 packets: 60 × 1,500 = 90,000 B of credit, and 50,000 B after 27 packets.
    for (number, to) in [(1, 7), (2, 8)] {
        host.send(&config, at(0), number, (to, 30 * PAYLOAD), 0);
    }
    let marks = std::iter::from_fn(|| match host.poll_transmit()?.0.body {
        Body::Payload { is_congested, .. } => Some(is_congested),
        _ => None,
    });
    let marks: Vec<_> = marks.collect();
    // 33 packets are 49,500 B, 34 are 51,000 B.
    assert_eq!(marks, [vec![true; 26], vec![false; 34]].concat());
}
