//! Credit buckets of a receiver.

use super::*;

#[test]
fn one_sender_gets_at_most_a_bdp() {
    let config = config();
    let mut receiver = receiver(&config);
    request(&mut receiver, &config, at(0), 1, 1_000);
    let credits = credits(&mut receiver, at(0), at(60));
    // 66 × 1,500 = 99,000.
    assert_eq!((credits.len(), receiver.outstanding()), (66, 99_000));
    assert_eq!(receiver.outstanding_of(1), Some((99_000, 100_000)));
}

#[test]
fn all_senders_get_at_most_one_and_a_half_bdp() {
    let config = config();
    let mut receiver = receiver(&config);
    for host in 1..=3 {
        request(&mut receiver, &config, at(0), host, 1_000 * u64::from(host));
    }
    let credits = credits(&mut receiver, at(0), at(60));
    // 100 × 1,500 = 150,000: 66 packets of the shortest message, and 34 of the next.
    assert_eq!(receiver.outstanding(), 150_000);
    assert_eq!([1, 2, 3].map(|host| count(&credits, host)), [66, 34, 0]);
}

#[test]
fn unscheduled_packets_count() {
    let config = config();
    let mut receiver = receiver(&config);
    // Two messages of 60 unscheduled packets, of which one each arrives: 118 are outstanding, more than B.
    for host in [1, 2] {
        let id = MessageId {
            source: host,
            number: 0,
        };
        let announcement = Announcement {
            bytes: 60 * PAYLOAD,
            unscheduled: 60,
        };
        let body = Body::Payload {
            number: 0,
            is_retransmission: false,
            is_congested: false,
        };
        receiver.input(&config, at(0), id, body, (announcement, host), false);
    }
    assert_eq!(receiver.outstanding(), 118 * 1_500);
    // Both are confirmed.
    assert_eq!(credits(&mut receiver, at(0), at(0)).len(), 2);
    request(&mut receiver, &config, at(0), 3, 1_000);
    assert_eq!(credits(&mut receiver, at(0), at(60)), []);
}

#[test]
fn credit_is_paced() {
    let config = config();
    let mut receiver = receiver(&config);
    request(&mut receiver, &config, at(5), 1, 10);
    let credits = credits(&mut receiver, at(5), at(60));
    for (number, credit) in (0..).zip(&credits) {
        let control = Control::Credit {
            up_to: number + 1,
            arrived: 0,
        };
        assert_eq!(*credit, (at(5) + PACE * number, 1, control));
    }
    assert_eq!(credits.len(), 10);
}
