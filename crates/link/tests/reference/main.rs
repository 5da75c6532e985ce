//! Every port discipline compared with a reference port that uses two events per packet: the drops, marks, departures,
//! order, occupancy and counters must agree over 10⁵ random schedules each.
//!
//! A failure names its schedule; `SCHEDULE=1234 cargo test -p duetime-link --test reference` replays that one alone.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the environment selects a schedule to replay"
)]

mod driver;
mod plain;
mod ranked;
mod schedule;

use driver::Driver;
use duetime_core::Time;
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_link::{Counters, Frame};
use plain::Network;
use schedule::{Arrivals, Discipline};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SCHEDULES: u64 = 100_000;

/// Packet identified by a number.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u32,
    bytes: u16,
    class: u8,
    ecn_capable: bool,
    marked: bool,
}

/// Packet at the far end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crossed {
    number: u32,
    marked: bool,
    arrival: u64,
}

impl Frame for Packet {
    fn wire_bytes(&self) -> u32 {
        u32::from(self.bytes)
    }
    fn is_ecn_capable(&self) -> bool {
        self.ecn_capable
    }
    fn mark(&mut self) {
        self.marked = true;
    }
    fn class(&self) -> usize {
        usize::from(self.class)
    }
}

#[test]
fn fifo_without_limit() {
    play_all(Discipline::Unlimited);
}

#[test]
fn limit_in_packets() {
    play_all(Discipline::PacketLimit);
}

#[test]
fn limit_in_bytes() {
    play_all(Discipline::ByteLimit);
}

#[test]
fn marks_by_packets() {
    play_all(Discipline::MarkByPackets);
}

#[test]
fn marks_by_bytes() {
    play_all(Discipline::MarkByBytes);
}

#[test]
fn shared_buffer() {
    play_all(Discipline::SharedBuffer);
}

#[test]
fn strict_priority() {
    play_all(Discipline::StrictPriority);
}

#[test]
fn strict_priority_with_shared_buffer() {
    play_all(Discipline::StrictPriorityShared);
}

fn play_all(discipline: Discipline) {
    let replayed = std::env::var("SCHEDULE")
        .ok()
        .map(|number| number.parse::<u64>().expect("a number"));
    let schedules = replayed.map_or(0..SCHEDULES, |number| number..number + 1);
    let playing = Cell::new(0);
    let mut seen = Seen::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        for number in schedules {
            playing.set(number);
            play(discipline, number, &mut seen);
        }
    }));
    assert!(
        outcome.is_ok(),
        "{discipline:?} differs in schedule {}",
        playing.get()
    );
    if replayed.is_none() {
        seen.assert_covers(discipline);
    }
}

fn play(discipline: Discipline, number: u64, seen: &mut Seen) {
    let mut draws = Streams::new(discipline as u64, number).stream(0, Purpose::Arrival);
    let draws = &mut draws;
    let (shapes, memory) = discipline.draw(draws);
    let unit_ps = 12_000_000_000_000_000 / shapes[0].rate_bps;
    let (mut plain, mut driver) = (Network::new(&shapes, memory), Driver::new(&shapes, memory));
    let mut arrivals = Arrivals::draw(draws);
    let mut now = 0;
    while let Some((at, burst)) = arrivals.next(draws, &plain, unit_ps) {
        now = at;
        seen.at_departure += u64::from(plain.ports.iter().any(|port| port.next_departure() == now));
        plain.run_until(now);
        driver.run_until(now, draws.chance(0.5));
        // Compare only sometimes, so that ports also stay undrained for long.
        if draws.chance(0.2) {
            compare(&mut plain, &mut driver, now, draws);
        }
        let to_one = draws.chance(0.5).then(|| draws.below(shapes.len() as u64));
        for _ in 0..burst {
            let to = to_one.unwrap_or_else(|| draws.below(shapes.len() as u64)) as usize;
            let packet = arrivals.packet(draws);
            let accepted = plain.offer(now, to, packet);
            assert_eq!(
                driver.offer(now, to, packet),
                accepted,
                "acceptance of packet {}",
                packet.number
            );
        }
        if draws.chance(0.2) {
            compare(&mut plain, &mut driver, now, draws);
        }
    }
    let end = now + (1 << 61);
    plain.run_until(end);
    driver.run_until(end, true);
    for (number, port) in plain.ports.iter_mut().enumerate() {
        assert_eq!(
            driver.crossed(number),
            port.crossed,
            "packets and arrival times on the link of port {number}"
        );
        let counters = port.counters(end);
        assert_eq!(
            driver.ports[number].counters(),
            counters,
            "counters of port {number}"
        );
        seen.add(counters);
    }
    compare(&mut plain, &mut driver, end, draws);
}

/// Compares the state of all ports, or of a random half, at `now`.
fn compare(plain: &mut Network, driver: &mut Driver, now: u64, draws: &mut Stream) {
    let all = draws.chance(0.5);
    for (number, (plain, port)) in plain.ports.iter_mut().zip(&mut driver.ports).enumerate() {
        if !all && draws.chance(0.5) {
            continue;
        }
        port.drain(Time::from_ps(now));
        let state = [
            port.queue_bytes(),
            u64::from(port.queue_packets()),
            port.queue_bytes_waiting(),
            port.departed_bytes(),
            port.queue_integral(Time::from_ps(now)),
        ];
        let counters = plain.counters(now);
        let integral = counters.queue_integral;
        let expected = [
            plain.bytes,
            u64::from(plain.packets),
            plain.bytes_waiting(),
            plain.departed_bytes,
            integral,
        ];
        assert_eq!(
            state, expected,
            "occupancy, packets, waiting, departed, integral of port {number} at {now}"
        );
        // The integral counts packets still in the port differently in the two counters.
        let without_integral = Counters {
            queue_integral: integral,
            ..port.counters()
        };
        assert_eq!(
            without_integral, counters,
            "counters of port {number} at {now}"
        );
    }
}

/// Totals over all schedules, which prove that the schedules exercise the ports.
#[derive(Debug, Default)]
struct Seen {
    packets: u64,
    drops: u64,
    marks: u64,
    at_departure: u64,
}

impl Seen {
    fn add(&mut self, counters: Counters) {
        self.packets += counters.packets;
        self.drops += counters.drops;
        self.marks += counters.marks;
    }

    fn assert_covers(&self, discipline: Discipline) {
        use Discipline::{ByteLimit, PacketLimit, Unlimited};
        let drops = discipline != Unlimited;
        let marks = !matches!(discipline, Unlimited | PacketLimit | ByteLimit);
        assert!(self.packets > 5 * SCHEDULES, "{self:?}");
        assert!(self.at_departure > SCHEDULES, "{self:?}");
        assert_eq!(drops, self.drops > SCHEDULES / 2, "{self:?}");
        assert_eq!(marks, self.marks > SCHEDULES / 2, "{self:?}");
    }
}
