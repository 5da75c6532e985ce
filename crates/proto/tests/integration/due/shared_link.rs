//! Two receivers behind one link, as two processes of a host.

use super::network::{Faults, Network, Sharing, at_us, plain};
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::due::{Announcement, Config};

const SOURCES: u32 = 20;
/// Messages to the first and to the second receiver.
const LEFT: u64 = 0;
const RIGHT: u64 = 1;

fn network(receivers: usize, sharing: Sharing) -> Network {
    let config = Config::default();
    Network::with_receivers(
        config,
        SOURCES as usize,
        Faults::default(),
        receivers,
        sharing,
    )
}

/// Answers of 5 to 60 KB arrive in bursts. They offer the link `load` of its rate on average and are due within 5 to 15
/// ms. Returns the share of the answers in time, and the largest queue.
fn in_time(seed: u64, receivers: usize, sharing: Sharing) -> (f64, Span) {
    const BURSTS: u64 = 200;
    const ANSWERS: u64 = 20;
    let mut network = network(receivers, sharing);
    let mut deadlines = Vec::new();
    let mut at = Time::ZERO;
    for burst in 0..BURSTS {
        for answer in 0..ANSWERS {
            let number = burst * ANSWERS + answer;
            let draw =
                |what: u64, from: u64, to: u64| from + mix(seed, number * 4 + what) % (to - from);
            let bytes = draw(0, 5_000, 60_000);
            let deadline = at + Span::from_us(draw(1, 5_000, 15_000));
            let announcement = Announcement {
                query: Some(burst),
                ..plain(bytes, Some(deadline))
            };
            network.submit(at, answer as u32 % SOURCES, number, announcement);
            deadlines.push(deadline);
        }
        at += Span::from_us(2_000 + mix(seed, burst) % 8_000);
    }
    network.run(at + Span::from_secs(2));
    assert_eq!(network.delivered.len(), deadlines.len());
    let is_in_time = |&(&number, &at): &(&u64, &Time)| at <= deadlines[number as usize];
    let in_time = network.delivered.iter().filter(is_in_time).count();
    (in_time as f64 / deadlines.len() as f64, network.max_queue)
}

/// Two receivers that share their link are as good as one, and better than two that do not.
#[test]
fn two_receivers_are_as_good_as_one() {
    for seed in 0..3 {
        let (one, one_queue) = in_time(seed, 1, Sharing::None);
        let (two, two_queue) = in_time(seed, 2, Sharing::Link);
        let (apart, apart_queue) = in_time(seed, 2, Sharing::None);
        println!(
            "{seed}: {one:.4} {one_queue}, {two:.4} {two_queue}, apart {apart:.4} {apart_queue}"
        );
        assert!(two > one - 0.005, "{two} of the answers instead of {one}");
        assert!(
            two - apart > (one - apart) / 2.0,
            "{two} instead of {apart}"
        );
    }
}

/// Times from submission to delivery of two messages: the first is submitted a millisecond before the second.
fn times(receivers: usize, messages: [(u64, Announcement); 2]) -> [Span; 2] {
    let mut network = network(receivers, Sharing::Link);
    let starts = [Time::ZERO, at_us(1_000)];
    for (source, (start, (number, announcement))) in (0..).zip(starts.iter().zip(messages)) {
        network.submit(*start, source, number, announcement);
    }
    network.run(at_us(200_000));
    let [first, second] = messages.map(|(number, _)| network.delivered[&number]);
    [first.since(starts[0]), second.since(starts[1])]
}

/// Compares the times of two messages to one receiver with those to two receivers, in either order. They differ somewhat,
/// because each receiver measures round trips for itself.
#[track_caller]
fn assert_order_of_one(first: Announcement, second: Announcement) {
    for [one, other] in [[LEFT, RIGHT], [RIGHT, LEFT]] {
        let [alone, shared] =
            [1, 2].map(|receivers| times(receivers, [(one, first), (other, second)]));
        for (alone, shared) in alone.iter().zip(shared) {
            let difference = Span::from_ps(shared.as_ps().abs_diff(alone.as_ps()));
            assert!(difference < *alone / 6, "{shared} instead of {alone}");
        }
    }
}

#[test]
fn earlier_deadline_of_either_receiver_comes_first() {
    let within = |us| plain(1_000_000, Some(at_us(us)));
    assert_order_of_one(within(60_000), within(40_000));
    assert_order_of_one(within(40_000), within(60_000));
}

#[test]
fn shorter_message_of_either_receiver_comes_first() {
    assert_order_of_one(plain(5_000_000, None), plain(500_000, None));
    assert_order_of_one(plain(500_000, None), plain(5_000_000, None));
}

#[test]
fn deadline_of_either_receiver_comes_before_none() {
    assert_order_of_one(plain(2_000_000, None), plain(500_000, Some(at_us(40_000))));
    assert_order_of_one(plain(500_000, Some(at_us(40_000))), plain(2_000_000, None));
}

/// Messages without deadlines receive their share while another receiver uses the link for urgent ones.
#[test]
fn background_of_the_other_receiver_receives_its_share() {
    let mut network = network(2, Sharing::Link);
    network.submit(Time::ZERO, 0, LEFT, plain(12_000_000, Some(at_us(200_000))));
    network.submit(Time::ZERO, 1, RIGHT, plain(400_000, None));
    network.run(at_us(400_000));
    let [urgent, background] = [LEFT, RIGHT].map(|message| network.delivered[&message]);
    assert!(background < urgent, "{background} after {urgent}");
    assert!(urgent < at_us(110_000), "{urgent}");
}

/// A false description, or that of a process that ended, delays the others only until it is dropped.
#[test]
fn false_descriptions_have_bounded_effect() {
    use duetime_proto::due::Demand;
    let forever = Span::from_ps(u64::MAX);
    for deadline in [None, Some(Time::ZERO), Some(at_us(1)), Some(Time::MAX)] {
        let mut network = network(1, Sharing::None);
        network.submit(Time::ZERO, 0, LEFT, plain(1_000_000, Some(at_us(20_000))));
        let demand = Demand {
            receiver: u16::MAX,
            deadline,
            query: Some(7),
            is_spoiled: true,
            is_request: deadline.is_none(),
            is_open: true,
            left: forever,
            received: forever,
            window: forever,
        };
        let config = network.config;
        network.receivers[0].share_link(&config, Time::ZERO, 0, &[demand; 64]);
        network.run(at_us(5_000));
        network.receivers[0].share_link(&config, at_us(5_000), 0, &[]);
        network.run(at_us(100_000));
        network.assert_delivered_before(LEFT, at_us(20_000));
    }
}
