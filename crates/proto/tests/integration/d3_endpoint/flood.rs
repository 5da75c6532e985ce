//! Flood of forged SYNs and random datagrams at a listener: its state stays small, and flows meet their deadlines.

use super::exchange::{Exchange, run_to_outcomes};
use super::limits::{encoded, syn};
use super::world::{World, address, options};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::EncodedRate;

/// First host number of the flood's source addresses, above those of the real hosts.
const FORGED: usize = 100;
/// Interval of the flood: one datagram of each kind every 20 us, 50,000 per second.
const EVERY: Span = Span::from_us(20);
/// Number of datagrams of each kind, for a third of a second.
const FLOOD: u64 = 17_000;

/// Runs queries with answers of 20 KB within 5 ms, one after the other, for the duration of the flood. Returns the
/// number met, the total, and the maximum number of streams.
fn run_queries(world: &mut World, flooded: bool) -> (usize, usize, usize) {
    let begin = world.now;
    if flooded {
        for number in 0..FLOOD {
            forge(world, begin + EVERY * number, number);
        }
    }
    world.answer_deadline = Some(Span::from_ms(4));
    let (mut met, mut count, mut max) = (0, 0, 0);
    while count < 60 {
        let mut exchanges = [0, 1].map(|host| {
            let mut exchange = Exchange::new(count as u64 + host, 100, 20_000);
            exchange.host = 1 + host as usize;
            exchange
        });
        let started = world.now;
        run_to_outcomes(world, &mut exchanges, Time::MAX, |world| {
            max = max.max(world.endpoints[0].streams());
        });
        for exchange in &exchanges {
            assert_eq!(exchange.outcome, Some(Ok(())), "{exchange:?}");
            met += usize::from(exchange.ended_at <= started + Span::from_ms(5));
        }
        count += exchanges.len();
        let next = begin + Span::from_ms(12) * (count as u64 / 2);
        world.run_until(next);
    }
    (met, count, max)
}

/// Runs two long flows, into and out of host 0, with or without forged SYNs that request its whole link at the slowest
/// pace, half of them repeated. Returns the bytes received per direction in a fifth of a second, and the maximum number
/// of flows counted at its interfaces.
fn run_long_flows(flooded: bool) -> ([u64; 2], [u64; 2]) {
    let mut world = World::new(3, options(), 3);
    world.set_routers(0);
    let policy = options().config.host.policy;
    let message = Message::new(1 << 30, None);
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
            world.inject(begin + EVERY * number, from, 0, encoded(&forged, &[]));
        }
    }
    let mut received = [0; 2];
    let mut max = [0; 2];
    let mut accepted = [None, None, None];
    let mut buffer = vec![0; 1 << 20];
    while world.now < begin + EVERY * 10_000 {
        let now = world.now;
        for (number, &(from, to, id)) in flows.iter().enumerate() {
            let _ = world.endpoints[from].write(now, id, &buffer[..1 << 16]);
            let endpoint = &mut world.endpoints[to];
            accepted[to] = accepted[to].or_else(|| endpoint.accept(now));
            if let Some((stream, _)) = accepted[to] {
                received[number] += endpoint.read(now, stream, &mut buffer).unwrap_or(0) as u64;
            }
        }
        let flooded = &world.endpoints[0];
        let ports = [flooded.downlink().port(), flooded.uplink()];
        for (max, port) in max.iter_mut().zip(ports) {
            *max = port.allocator().flows().max(*max);
        }
        world.step();
    }
    (received, max)
}

#[test]
fn forged_syns_get_no_allocation() {
    let (quiet, flows) = run_long_flows(false);
    // Each interface has a long flow and the replies to the other one.
    assert_eq!(flows, [2, 2]);
    let (flooded, flows) = run_long_flows(true);
    assert_eq!(flows, [2, 2]);
    for (quiet, flooded) in quiet.into_iter().zip(flooded) {
        assert!(quiet > 15_000_000, "{quiet}");
        assert!(flooded > quiet / 100 * 97, "{flooded} of {quiet} bytes");
    }
}

/// Sends a SYN from an address that never answers, and random bytes.
fn forge(world: &mut World, at: Time, number: u64) {
    let from = FORGED + (number % 100) as usize;
    let syn = encoded(&syn(world.draw() | 1), &[]);
    let length = 1 + world.draw() % 200;
    let mut random: Vec<u8> = (0..length).map(|_| world.draw() as u8).collect();
    if number.is_multiple_of(3) && random.len() > 18 {
        (random[0], random[18]) = (0xd3, 1);
    }
    world.inject(at, from, 0, syn);
    world.inject(at, from, 0, random);
}

#[test]
fn flooded_listener_meets_deadlines() {
    let mut quiet = World::new(3, options(), 3);
    let (met, count, max) = run_queries(&mut quiet, false);
    assert_eq!((met, count), (60, 60));
    let mut flooded = World::new(3, options(), 3);
    let (met, count, max_flooded) = run_queries(&mut flooded, true);
    assert_eq!((met, count), (60, 60));
    let half_open = options().max_half_open.min(128 / 2);
    // Streams of queries linger, and some forged streams are half open.
    assert!(max <= count && max_flooded <= count + half_open);
    let totals = flooded.endpoints[0].totals();
    let forged = totals.challenges + half_open as u64;
    assert!(forged >= FLOOD, "{totals:?}");
    let refused = totals.malformed + totals.damaged + totals.other_versions;
    assert_eq!(refused, FLOOD, "{totals:?}");
}
