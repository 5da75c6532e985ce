//! A flood of forged SYNs and random datagrams at a listener: it keeps little, and flows keep their deadlines.

use crate::exchange::{Exchange, run_to_outcomes};
use crate::limits::{encoded, syn};
use crate::rules::options;
use crate::world::World;
use duetime_core::{Span, Time};

/// Two hosts that ask, and where the flood says that it comes from.
const FORGED: usize = 100;
/// One of each kind every 20 us: 50,000 a second of each.
const EVERY: Span = Span::from_us(20);
/// Of each: a third of a second.
const FLOOD: u64 = 17_000;

/// Answers of 20 KB within 5 ms, one after the other, for as long as the flood lasts.
fn asked(world: &mut World, flooded: bool) -> (usize, usize, usize) {
    let begin = world.now;
    if flooded {
        for number in 0..FLOOD {
            forge(world, begin + EVERY * number, number);
        }
    }
    world.answers_within = Some(Span::from_ms(4));
    let (mut met, mut count, mut most) = (0, 0, 0);
    while count < 60 {
        let mut two = [0, 1].map(|host| {
            let mut one = Exchange::new(count as u64 + host, 100, 20_000);
            one.host = 1 + host as usize;
            one
        });
        let began = world.now;
        run_to_outcomes(world, &mut two, Time::MAX, |world| {
            most = most.max(world.endpoints[0].streams());
        });
        for one in &two {
            assert_eq!(one.outcome, Some(Ok(())), "{one:?}");
            met += usize::from(one.ended_at <= began + Span::from_ms(5));
        }
        count += two.len();
        let next = begin + Span::from_ms(12) * (count as u64 / 2);
        world.run_until(next);
    }
    (met, count, most)
}

/// A SYN from an address that never answers, and bytes of nothing.
fn forge(world: &mut World, at: Time, number: u64) {
    let from = FORGED + (number % 100) as usize;
    let syn = encoded(&syn(world.draw() | 1), &[]);
    let length = 1 + world.draw() % 200;
    let mut random: Vec<u8> = (0..length).map(|_| world.draw() as u8).collect();
    if number.is_multiple_of(3) && random.len() > 18 {
        (random[0], random[18]) = (0xd3, 1);
    }
    world.put(at, from, 0, syn);
    world.put(at, from, 0, random);
}

#[test]
fn a_flooded_listener_keeps_little_and_flows_keep_their_deadlines() {
    let mut quiet = World::new(3, options(), 3);
    let (met, count, most) = asked(&mut quiet, false);
    assert_eq!((met, count), (60, 60));
    let mut flooded = World::new(3, options(), 3);
    let (met, count, most_flooded) = asked(&mut flooded, true);
    assert_eq!((met, count), (60, 60));
    let half_open = options().max_half_open.min(128 / 2);
    // Those that were asked linger, and some forged ones are half open.
    assert!(most <= count && most_flooded <= count + half_open);
    let totals = flooded.endpoints[0].totals();
    let forged = totals.challenges + half_open as u64;
    assert!(forged >= FLOOD, "{totals:?}");
    let refused = totals.malformed + totals.damaged + totals.other_versions;
    assert_eq!(refused, FLOOD, "{totals:?}");
}
