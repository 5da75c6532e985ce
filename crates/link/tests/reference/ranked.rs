//! pFabric's discipline compared with a port written as the paper describes it (Alizadeh et al., SIGCOMM 2013, §4.2):
//! two events per packet, and sorted lists instead of scans.

use crate::{Crossed, Packet, SCHEDULES};
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_link::{Counters, Limit, Offer, Port};
use std::cmp::Reverse;

const NEVER: u64 = u64::MAX;
const PS_PER_BYTE: u64 = 8_000;

/// Packet with its arrival number, priority and flow.
type Ranked = (Packet, u32, u32);

/// The textbook's port of 1 Gbps.
struct Textbook {
    limit: Limit,
    latency: u64,
    waiting: Vec<Ranked>,
    service: Option<(Packet, u64)>,
    counters: Counters,
    integrated_to: u64,
    crossed: Vec<Crossed>,
}

impl Textbook {
    fn bytes(&self) -> u64 {
        let waiting = self.waiting.iter().map(|(packet, ..)| packet);
        let all = waiting.chain(self.service.iter().map(|(packet, _)| packet));
        all.map(|packet| u64::from(packet.bytes)).sum()
    }

    fn packets(&self) -> u32 {
        self.waiting.len() as u32 + u32::from(self.service.is_some())
    }

    fn is_over(&self) -> bool {
        match self.limit {
            Limit::Unlimited => false,
            Limit::Packets(limit) => self.packets() > limit,
            Limit::Bytes(limit) => self.bytes() > limit,
        }
    }

    fn integrate(&mut self, now: u64) {
        self.counters.queue_integral += self.bytes() * (now / 1024 - self.integrated_to);
        self.integrated_to = now / 1024;
    }

    fn next_departure(&self) -> u64 {
        self.service.map_or(NEVER, |(_, end)| end)
    }

    fn run_until(&mut self, now: u64) {
        while self.next_departure() <= now {
            let (packet, end) = self.service.expect("a packet in service");
            self.integrate(end);
            self.service = None;
            self.crossed.push(Crossed {
                number: packet.number,
                marked: packet.marked,
                arrival: end + self.latency,
            });
            self.serve(end);
        }
    }

    /// "Dequeue the earliest packet from the flow that has the highest priority packet in the queue."
    fn serve(&mut self, now: u64) {
        let best = self
            .waiting
            .iter()
            .map(|&(packet, priority, flow)| (priority, packet.number, flow));
        let Some((_, _, flow)) = best.min() else {
            return;
        };
        let of_flow = self.waiting.iter().filter(|(.., other)| *other == flow);
        let first = of_flow.map(|(packet, ..)| packet.number).min();
        let position = self
            .waiting
            .iter()
            .position(|(packet, ..)| Some(packet.number) == first);
        let (packet, ..) = self.waiting.remove(position.expect("in the queue"));
        self.service = Some((packet, now + u64::from(packet.bytes) * PS_PER_BYTE));
    }

    /// Adds the packet, then drops the lowest priorities, the latest first, until the rest fits. If the arriving packet
    /// is among them, only it is dropped. Returns the numbers of the dropped packets.
    fn offer(&mut self, now: u64, packet: Packet, priority: u32, flow: u32) -> Vec<u32> {
        self.run_until(now);
        self.integrate(now);
        let before = self.waiting.clone();
        self.waiting.push((packet, priority, flow));
        let mut by_priority = self.waiting.clone();
        by_priority.sort_by_key(|(packet, priority, _)| Reverse((*priority, packet.number)));
        let mut dropped = Vec::new();
        for (worst, ..) in by_priority {
            if !self.is_over() {
                break;
            }
            self.waiting
                .retain(|(other, ..)| other.number != worst.number);
            dropped.push(worst);
        }
        if dropped.iter().any(|other| other.number == packet.number) {
            self.waiting = before;
            dropped = vec![packet];
        } else {
            self.counters.packets += 1;
            self.counters.bytes += u64::from(packet.bytes);
            self.counters.packets -= dropped.len() as u64;
            self.counters.bytes -= dropped
                .iter()
                .map(|packet| u64::from(packet.bytes))
                .sum::<u64>();
        }
        self.counters.drops += dropped.len() as u64;
        self.counters.drop_bytes += dropped
            .iter()
            .map(|packet| u64::from(packet.bytes))
            .sum::<u64>();
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(self.bytes());
        if self.service.is_none() {
            self.serve(now);
        }
        dropped.iter().map(|packet| packet.number).collect()
    }
}

/// Port under test, driven as the simulator drives it.
struct Driver {
    port: Port<Packet>,
    departure: u64,
    arrival: u64,
    crossed: Vec<Crossed>,
}

impl Driver {
    /// Processes the events up to `now`; departures precede arrivals at the same time.
    fn run_until(&mut self, now: u64) {
        while self.departure.min(self.arrival) <= now {
            if self.departure <= self.arrival {
                let at = Time::from_ps(self.departure);
                let (sent, wake) = self.port.departure_ranked(at).expect("a packet waits");
                self.departure = wake.map_or(NEVER, Time::as_ps);
                if sent.first {
                    self.arrival = sent.arrival.as_ps();
                }
                continue;
            }
            let packet = self.port.arriving();
            self.crossed.push(Crossed {
                number: packet.number,
                marked: packet.marked,
                arrival: self.arrival,
            });
            self.arrival = self.port.arrived(packet).map_or(NEVER, Time::as_ps);
        }
    }

    fn offer(&mut self, now: u64, packet: Packet, priority: u32, flow: u32) -> Vec<u32> {
        let mut dropped = Vec::new();
        let at = Time::from_ps(now);
        match self
            .port
            .offer_ranked(at, (priority, flow), packet, &mut dropped)
        {
            Offer::Sent(sent) if sent.first => self.arrival = sent.arrival.as_ps(),
            Offer::Queued { wake: Some(wake) } => {
                assert_eq!(self.departure, NEVER, "a departure is requested once");
                self.departure = wake.as_ps();
            }
            Offer::Dropped => assert_eq!(dropped.len(), 1),
            Offer::Sent(_) | Offer::Queued { wake: None } => {}
        }
        dropped.iter().map(|packet| packet.number).collect()
    }
}

/// Returns the next arrival: at the same time, at the next departure, or later.
fn gap(draws: &mut Stream, textbook: &Textbook, now: u64) -> u64 {
    let until_departure = match textbook.next_departure() {
        NEVER => 0,
        departure => departure - now,
    };
    match draws.below(8) {
        0 => 0,
        1 => until_departure,
        2 => until_departure + 1,
        3 => until_departure.saturating_sub(1),
        4..7 => draws.below(2 * 1_500 * PS_PER_BYTE),
        _ => draws.below(30 * 1_500 * PS_PER_BYTE),
    }
}

#[test]
fn ranked_port_follows_the_paper() {
    let (mut drops, mut others) = (0, 0);
    for schedule in 0..SCHEDULES {
        let mut draws = Streams::new(77, schedule).stream(0, Purpose::Arrival);
        let draws = &mut draws;
        let limit = match draws.below(5) {
            0 => Limit::Unlimited,
            1 | 2 => Limit::Packets(draws.between(1, 12) as u32),
            _ => Limit::Bytes(draws.between(1_000, 12_000)),
        };
        let latency = draws.below(50_000_000);
        let mut textbook = Textbook {
            limit,
            latency,
            waiting: Vec::new(),
            service: None,
            counters: Counters::default(),
            integrated_to: 0,
            crossed: Vec::new(),
        };
        let port = Port::new(Rate::from_gbps(1), Span::from_ps(latency)).with_ranks();
        let mut driver = Driver {
            port: port.with_limit(limit),
            departure: NEVER,
            arrival: NEVER,
            crossed: Vec::new(),
        };
        let priorities = draws.between(1, 6);
        let (mut now, mut number) = (draws.below(1 << 20), 0);
        for _ in 0..draws.between(1, 25) {
            now += gap(draws, &textbook, now);
            textbook.run_until(now);
            driver.run_until(now);
            for _ in 0..if draws.chance(0.3) {
                draws.between(2, 9)
            } else {
                1
            } {
                number += 1;
                let packet = Packet {
                    number,
                    bytes: if draws.chance(0.3) {
                        draws.between(1, 200) as u16
                    } else {
                        1_500
                    },
                    class: 0,
                    ecn_capable: draws.chance(0.5),
                    marked: false,
                };
                let priority = if draws.chance(0.05) {
                    u32::MAX
                } else {
                    draws.below(priorities) as u32
                };
                let flow = draws.below(4) as u32;
                let dropped = textbook.offer(now, packet, priority, flow);
                assert_eq!(
                    driver.offer(now, packet, priority, flow),
                    dropped,
                    "schedule {schedule}"
                );
                drops += dropped.len();
                others += dropped.iter().filter(|other| **other != number).count();
            }
            let port = &mut driver.port;
            port.drain(Time::from_ps(now));
            textbook.integrate(now);
            assert_eq!(
                [
                    port.queue_bytes(),
                    port.queue_packets().into(),
                    port.queue_integral(Time::from_ps(now))
                ],
                [
                    textbook.bytes(),
                    textbook.packets().into(),
                    textbook.counters.queue_integral
                ],
                "schedule {schedule}"
            );
        }
        let end = now + (1 << 50);
        textbook.run_until(end);
        textbook.integrate(end);
        driver.run_until(end);
        assert_eq!(driver.crossed, textbook.crossed, "schedule {schedule}");
        assert_eq!(
            driver.port.counters(),
            textbook.counters,
            "schedule {schedule}"
        );
    }
    assert!(
        drops as u64 > SCHEDULES && others as u64 > SCHEDULES / 4,
        "{drops} {others}"
    );
}

/// With one flow of one priority, the port is first come, first served, and drops what arrives at a full port.
#[test]
fn one_flow_of_one_priority_is_a_fifo() {
    for schedule in 0..SCHEDULES / 10 {
        let mut draws = Streams::new(78, schedule).stream(0, Purpose::Arrival);
        let draws = &mut draws;
        let limit = Limit::Packets(draws.between(1, 8) as u32);
        let new = || Port::new(Rate::from_gbps(1), Span::ZERO).with_limit(limit);
        let mut fifo = new();
        let mut driver = Driver {
            port: new().with_ranks(),
            departure: NEVER,
            arrival: NEVER,
            crossed: Vec::new(),
        };
        let (mut now, mut arrivals) = (0, Vec::new());
        for number in 0..draws.between(1, 40) as u32 {
            now += draws.below(1_500 * PS_PER_BYTE);
            driver.run_until(now);
            let packet = Packet {
                number,
                bytes: draws.between(40, 1_500) as u16,
                class: 0,
                ecn_capable: false,
                marked: false,
            };
            let sent = fifo.offer_fifo(Time::from_ps(now), packet);
            arrivals.extend(sent.map(|sent| (number, sent.arrival.as_ps())));
            assert_eq!(driver.offer(now, packet, 9, 1).is_empty(), sent.is_some());
        }
        driver.run_until(NEVER - 1);
        let crossed = driver
            .crossed
            .iter()
            .map(|crossed| (crossed.number, crossed.arrival));
        assert_eq!(crossed.collect::<Vec<_>>(), arrivals, "schedule {schedule}");
    }
}
