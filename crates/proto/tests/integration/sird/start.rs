//! Start of a message.

use super::*;

/// Returns the packets that a sender transmits at once: the number of requests and the number of data packets.
fn transmit(sender: &mut Sender<u32>) -> (usize, usize) {
    let mut counts = (0, 0);
    while let Some((data, ..)) = sender.poll_transmit() {
        match data.body {
            Body::Request => counts.0 += 1,
            _ => counts.1 += 1,
        }
    }
    counts
}

#[test]
fn message_of_a_bdp_is_unscheduled() {
    let config = config();
    // 66 full packets and one with 944 B of payload: 99,000 + 1,000 = 100,000 B.
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, 66 * PAYLOAD + 944), 0);
    assert_eq!(transmit(&mut host), (0, 67));
}

#[test]
fn longer_message_starts_with_a_request() {
    let config = config();
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, 66 * PAYLOAD + 945), 0);
    assert_eq!(transmit(&mut host), (1, 0));
    let control = Control::Credit {
        up_to: 2,
        arrived: 0,
    };
    host.input(at(8), 1, control);
    assert_eq!(transmit(&mut host), (0, 2));
}

#[test]
fn prefix_has_at_most_a_bdp() {
    let config = Config {
        unscheduled_permille: 2_000,
        ..config()
    };
    let mut host = sender(&config);
    assert_eq!(host.send(&config, at(0), 1, (7, 100 * PAYLOAD), 0), 66);
    // Further messages to the same receiver announce themselves by one packet.
    assert_eq!(host.send(&config, at(0), 2, (7, 10 * PAYLOAD), 0), 1);
    assert_eq!(host.send(&config, at(0), 3, (8, 10 * PAYLOAD), 0), 10);
    assert_eq!(transmit(&mut host), (0, 77));
}

#[test]
fn control_and_unscheduled_packets_have_class_0() {
    let config = config();
    let mut host = sender(&config);
    host.send(&config, at(0), 1, (7, PAYLOAD), 0);
    host.send(&config, at(0), 2, (7, 100 * PAYLOAD), 0);
    let control = Control::Credit {
        up_to: 1,
        arrived: 0,
    };
    host.input(at(0), 2, control);
    let classes = std::iter::from_fn(|| {
        let (data, ..) = host.poll_transmit()?;
        Some((data.message, data.class))
    });
    assert_eq!(classes.collect::<Vec<_>>(), [(2, 0), (1, 0), (2, 1)]);
}
