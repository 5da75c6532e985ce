//! A flood of forged SYNs and random datagrams at a listener: it keeps little, and flows keep their deadlines.

use crate::exchange::{Exchange, run_to_outcomes};
use crate::limits::{encoded, syn};
use crate::rules::options;
use crate::world::{World, address};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::EncodedRate;
use duetime_proto::d3::endpoint::Policy;

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

/// Two long flows, into host 0 and out of it, beside forged SYNs for all of its link at the slowest pace, half of them
/// repeated: bytes that came each way in a fifth of a second, and the most flows that its interfaces counted.
fn beside_long_flows(flooded: bool) -> ([u64; 2], [u64; 2]) {
    let mut world = World::new(3, options(), 3);
    world.lengthen(0);
    let policy = Policy::of(&options().config);
    let message = Message {
        bytes: 1 << 30,
        deadline: None,
    };
    world.endpoints[0].listen(64);
    let mut flows = Vec::new();
    for (from, to) in [(1, 0), (0, 2)] {
        world.endpoints[to].listen(64);
        let now = world.now;
        let id = world.endpoints[from].connect(now, address(to), message, &policy);
        flows.push((from, to, id.unwrap()));
    }
    let begin = world.now;
    if flooded {
        for number in 0..10_000 {
            let mut forged = syn(1 + number % 5_000 * 3);
            let request = forged.packet.request.as_mut().unwrap();
            request.index = 1;
            (request.desired, request.pace) = (EncodedRate::from_byte(255), 3);
            request.allocations[0] = EncodedRate::from_byte(255);
            let from = FORGED + (number % 100) as usize;
            world.put(begin + EVERY * number, from, 0, encoded(&forged, &[]));
        }
    }
    let mut came = [0; 2];
    let mut most = [0; 2];
    let mut accepted = [None, None, None];
    let mut buffer = vec![0; 1 << 20];
    while world.now < begin + EVERY * 10_000 {
        let now = world.now;
        for (number, &(from, to, id)) in flows.iter().enumerate() {
            let _ = world.endpoints[from].write(now, id, &buffer[..1 << 16]);
            let endpoint = &mut world.endpoints[to];
            accepted[to] = accepted[to].or_else(|| endpoint.accept(now));
            if let Some((stream, _)) = accepted[to] {
                came[number] += endpoint.read(now, stream, &mut buffer).unwrap_or(0) as u64;
            }
        }
        let flooded = &world.endpoints[0];
        let ports = [flooded.downlink().port(), flooded.uplink()];
        for (most, port) in most.iter_mut().zip(ports) {
            *most = port.allocator().flows().max(*most);
        }
        world.step();
    }
    (came, most)
}

#[test]
fn forged_syns_hold_no_allocation() {
    let (quiet, flows) = beside_long_flows(false);
    // Each interface has a long flow and the answers to the other one.
    assert_eq!(flows, [2, 2]);
    let (flooded, flows) = beside_long_flows(true);
    assert_eq!(flows, [2, 2]);
    for (quiet, flooded) in quiet.into_iter().zip(flooded) {
        assert!(quiet > 15_000_000, "{quiet}");
        assert!(flooded > quiet / 100 * 97, "{flooded} of {quiet} bytes");
    }
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
