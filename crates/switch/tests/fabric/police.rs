//! Hosts that exceed their grants, and floods of forged requests, with and without a policer.

use crate::d3::{PLAIN, asking, framed, routed};
use crate::networks::star;
use crate::world::{Noise, World};
use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_proto::d3::Flags;

const BYTES: usize = 800_000;
/// Requires 64 of 100 Mbps.
const NEAR: Span = Span::from_ms(100);
/// Longest epoch that a forged pace can cause: two update intervals of 8 ms, times 64 (`proto`, `repair`).
const LONGEST_EPOCH: Span = Span::from_ms(2 * 8 * 64);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Creates hosts at a switch with 100 packets per port, optionally policed with an allowance of 2 Mbps.
fn world(hosts: u8, police: bool) -> World {
    let mut config = routed(star(hosts));
    for port in &mut config.nodes[0].ports {
        port.limit = Limit::Packets(100);
    }
    config.options.d3.router.police = police.then_some(Rate::from_mbps(2));
    World::new(&config)
}

/// Host 0 sends to host 2 within a deadline while host 1 sends 200 Mbps there without requests.
fn with_a_host_that_ignores_grants(police: bool) -> (World, bool) {
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
fn hosts_that_ignore_grants_are_policed() {
    let (_, met) = with_a_host_that_ignores_grants(false);
    assert!(!met, "D3 trusts its hosts");
    let (mut world, met) = with_a_host_that_ignores_grants(true);
    assert!(met, "{:?}", world.flows[0].delivered_at);
    let policed = world.routers()[2].policed;
    // Of 10 MB, 2 Mbps and one burst pass.
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
    for (with, without) in policed.flows.iter().zip(&free.flows) {
        assert!(with.delivered_at.is_some());
        assert_eq!(with.delivered_at, without.delivered_at);
    }
    assert!(policed.routers().iter().all(|router| router.policed == 0));
}

/// Returns a SYN from a nonexistent host that requests the whole port at the slowest pace.
fn forged(number: u64) -> Vec<u8> {
    let mut datagram = asking(100, b"");
    datagram[28..36].copy_from_slice(&(number + 1).to_be_bytes());
    // Set pace 3. The checksum is then wrong, but routers do not check it.
    datagram[46] ^= 0xc0;
    let mut frame = framed(1, 2, &datagram, PLAIN);
    let source = 26..30;
    frame[source].copy_from_slice(&[172, 16, (number >> 8) as u8, 200]);
    // No UDP checksum.
    frame[PLAIN.datagram_at() - 2..PLAIN.datagram_at()].fill(0);
    frame
}

/// Returns the same request without SYN, for a flow that claims to be known.
fn forged_request(number: u64) -> Vec<u8> {
    let mut frame = forged(number);
    frame[PLAIN.datagram_at() + 1] &= !(Flags::SYN.0 as u8);
    frame
}

/// Host 1 floods host 2 with 50,000 forged SYNs per second from 50 ms to 350 ms. Meanwhile host 3 sends to host 0.
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
fn syn_floods_do_not_affect_other_ports() {
    for police in [false, true] {
        let (mut world, quiet) = (flooded(true, police), flooded(false, police));
        let delivered = world.flows[0].delivered_at;
        assert!(
            delivered.is_some_and(|time| time <= at(350)),
            "{delivered:?}"
        );
        assert_eq!(delivered, quiet.flows[0].delivered_at);
        let [flooded, other] = [world.routers()[2], world.routers()[0]];
        assert_eq!(
            (flooded.requests + flooded.policed, other.policed),
            (15_000, 0)
        );
    }
}

#[test]
fn flooded_ports_recover_within_four_epochs() {
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
fn policers_bound_the_demand_of_a_flood() {
    let router = flooded(true, true).routers()[2];
    // Each epoch accepts new flows up to twice what the ingress can send through the port (C is at most twice its
    // rate), and one more; the first flows are forgotten after four epochs.
    let limit = 4 * (2 * 2 + 1) * 100_000_000;
    assert!(router.demand_bps <= limit, "{router:?}");
    assert!(router.policed > 14_900, "{router:?}");
    let free = flooded(true, false).routers()[2];
    assert!(free.demand_bps > 100 * limit, "{free:?}");
}

#[test]
fn policers_bound_the_demand_of_unknown_flows() {
    let router = flooded_by(Some(forged_request), true).routers()[2];
    // As above, but each epoch accepts up to four times what the ingress can send, including the flow of 100 Mbps.
    let limit = 4 * (4 * 2 + 1) * 100_000_000;
    assert!(router.demand_bps <= limit, "{router:?}");
    let free = flooded_by(Some(forged_request), false).routers()[2];
    assert!(free.demand_bps > 10 * limit, "{free:?}");
}
