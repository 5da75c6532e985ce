//! Hosts that take more than they are granted, and floods of forged requests, with and without a policer.

use crate::d3::{PLAIN, asking, framed, routed};
use crate::networks::star;
use crate::world::{Noise, World};
use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_proto::d3::Flags;

const BYTES: usize = 800_000;
/// 64 Mbps of 100.
const NEAR: Span = Span::from_ms(100);
/// The part of an epoch's length that a forged pace cannot exceed: two update intervals of 8 ms, 64 times (`proto`, `repair`).
const LONGEST_EPOCH: Span = Span::from_ms(2 * 8 * 64);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Hosts at a switch whose ports hold 100 packets, policed with an allowance of 2 Mbps or not.
fn world(hosts: u8, police: bool) -> World {
    let mut config = routed(star(hosts));
    for port in &mut config.nodes[0].ports {
        port.limit = Limit::Packets(100);
    }
    config.options.d3.police = police.then_some(Rate::from_mbps(2));
    World::of(&config)
}

/// Host 0 sends to host 2 within a deadline; host 1 sends 200 Mbps there without asking.
fn beside_a_host_that_does_not_ask(police: bool) -> (World, bool) {
    let mut world = world(3, police);
    world.open(0, 2, BYTES, Some(NEAR));
    world.noise = Some(Noise {
        from: 1,
        every: Span::from_us(60),
        next: Time::ZERO,
        end: at(400),
        sent: 0,
        make: |_| framed(1, 2, &[9; 1_472], PLAIN),
    });
    world.run_until(at(400));
    let met = world.flows[0]
        .delivered_at
        .is_some_and(|time| time <= Time::ZERO + NEAR);
    (world, met)
}

#[test]
fn one_that_does_not_ask_takes_the_deadline_unless_it_is_policed() {
    let (_, met) = beside_a_host_that_does_not_ask(false);
    assert!(!met, "D3 trusts its hosts");
    let (mut world, met) = beside_a_host_that_does_not_ask(true);
    assert!(met, "{:?}", world.flows[0].delivered_at);
    let policed = world.routers()[2].policed;
    // 10 MB were sent, of which 2 Mbps and one burst pass.
    assert!((6_500..6_667).contains(&policed), "{policed}");
}

#[test]
fn honest_hosts_are_not_policed() {
    let mut policed = world(3, true);
    let mut free = world(3, false);
    for world in [&mut policed, &mut free] {
        world.open(0, 2, BYTES, Some(NEAR));
        world.open(1, 2, BYTES, None);
        world.open(2, 1, BYTES, None);
        world.run_until(at(400));
    }
    for (one, other) in policed.flows.iter().zip(&free.flows) {
        assert!(one.delivered_at.is_some());
        assert_eq!(one.delivered_at, other.delivered_at);
    }
    assert!(policed.routers().iter().all(|router| router.policed == 0));
}

/// A SYN of a host that is not there, which asks for all of the port, at the slowest pace.
fn forged(number: u64) -> Vec<u8> {
    let mut datagram = asking(100, b"");
    datagram[28..36].copy_from_slice(&(number + 1).to_be_bytes());
    // Pace 3, and the checksum that follows from it: it does not matter here.
    datagram[46] ^= 0xc0;
    let mut frame = framed(1, 2, &datagram, PLAIN);
    let source = 26..30;
    frame[source].copy_from_slice(&[172, 16, (number >> 8) as u8, 200]);
    // No UDP checksum.
    frame[PLAIN.datagram_at() - 2..PLAIN.datagram_at()].fill(0);
    frame
}

/// The same, but of a flow that says that it is known.
fn forged_request(number: u64) -> Vec<u8> {
    let mut frame = forged(number);
    frame[PLAIN.datagram_at() + 1] &= !(Flags::SYN.0 as u8);
    frame
}

/// Host 1 floods host 2 with 50,000 forged SYNs a second from 50 ms to 350 ms. Host 3 sends to host 0 meanwhile; host 0
/// sends to host 2 after it.
fn flooded(flood: bool, police: bool) -> World {
    flooded_by(flood.then_some(forged), police)
}

fn flooded_by(flood: Option<fn(u64) -> Vec<u8>>, police: bool) -> World {
    let mut world = world(4, police);
    world.open(3, 0, 4 * BYTES, Some(Span::from_ms(350)));
    world.run_until(at(50));
    if let Some(make) = flood {
        world.noise = Some(Noise {
            from: 1,
            every: Span::from_us(20),
            next: at(50),
            end: at(350),
            sent: 0,
            make,
        });
    }
    world.run_until(at(350));
    world
}

#[test]
fn a_flood_of_syns_touches_no_port_but_its_own() {
    for police in [false, true] {
        let (mut world, quiet) = (flooded(true, police), flooded(false, police));
        let delivered = world.flows[0].delivered_at;
        assert!(
            delivered.is_some_and(|time| time <= at(350)),
            "{delivered:?}"
        );
        assert_eq!(delivered, quiet.flows[0].delivered_at);
        let [own, other] = [world.routers()[2], world.routers()[0]];
        assert_eq!((own.requests + own.policed, other.policed), (15_000, 0));
    }
}

#[test]
fn the_port_that_was_flooded_recovers_within_four_epochs_of_the_slowest_pace() {
    let mut world = flooded(true, false);
    let before = world.routers()[2];
    assert!(before.flows > 1_000, "{before:?}");
    world.run_until(at(350) + LONGEST_EPOCH * 4 + LONGEST_EPOCH);
    let after = world.routers()[2];
    assert_eq!(
        (after.flows, after.demand_bps, after.allocated_bps),
        (0, 0, 0)
    );
    world.open(0, 2, BYTES, Some(NEAR));
    let opened = at(350) + LONGEST_EPOCH * 5;
    world.run_until(opened + NEAR);
    let delivered = world.flows[1].delivered_at;
    assert!(delivered.is_some(), "{:?}", world.routers()[2]);
}

#[test]
fn what_a_flood_demands_is_bounded_with_a_policer() {
    let router = flooded(true, true).routers()[2];
    // Each epoch takes new flows up to twice what the ingress could send through the port (C is at most twice its rate),
    // and one more; four epochs pass before the first are forgotten.
    let most = 4 * (2 * 2 + 1) * 100_000_000;
    assert!(router.demand_bps <= most, "{router:?}");
    assert!(router.policed > 14_900, "{router:?}");
    let free = flooded(true, false).routers()[2];
    assert!(free.demand_bps > 100 * most, "{free:?}");
}

#[test]
fn so_is_what_requests_of_flows_that_do_not_exist_demand() {
    let router = flooded_by(Some(forged_request), true).routers()[2];
    // As above, but each epoch takes up to four times what the ingress could send, the flow of 100 Mbps included.
    let most = 4 * (4 * 2 + 1) * 100_000_000;
    assert!(router.demand_bps <= most, "{router:?}");
    let free = flooded_by(Some(forged_request), false).routers()[2];
    assert!(free.demand_bps > 10 * most, "{free:?}");
}
