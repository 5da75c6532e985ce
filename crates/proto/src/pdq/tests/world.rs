//! A link with a port of PDQ.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link with the port, from senders that each have a link of the same rate. Propagation takes a quarter of [`RTT`]
/// between a host and the port.
pub struct World {
    pub config: Config,
    pub port: Port,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    /// Time at which the link is free.
    pub free: Time,
    pub events: BinaryHeap<Reverse<(Time, u64, usize, Stop)>>,
    pub packets: Vec<Packet>,
    pub finished: Vec<Option<Time>>,
    /// Numbers of packets at the port that are lost.
    pub lost: Vec<usize>,
    pub arrivals: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    Port(usize),
    Receiver(usize),
    PortBack(usize),
    Sender(usize),
    Timer,
}

impl World {
    pub fn new(config: Config, flows: &[(u64, Option<Time>)]) -> Self {
        let start = |&(bytes, deadline): &(u64, Option<Time>)| {
            Sender::new(
                &config,
                Time::ZERO,
                GIGABIT,
                0,
                Message::new(bytes, deadline),
            )
        };
        let mut world = Self {
            config,
            port: port(),
            senders: flows.iter().map(start).collect(),
            receivers: vec![Receiver::new(GIGABIT); flows.len()],
            free: Time::ZERO,
            events: BinaryHeap::new(),
            packets: Vec::new(),
            finished: vec![None; flows.len()],
            lost: Vec::new(),
            arrivals: 0,
        };
        for flow in 0..flows.len() {
            world.follow(Time::ZERO, flow);
        }
        world
    }

    pub fn schedule(&mut self, at: Time, flow: usize, stop: Stop) {
        let number = self.events.len() as u64 + self.packets.len() as u64 * 1_000;
        self.events.push(Reverse((at, number, flow, stop)));
    }

    pub fn travel(&mut self, at: Time, flow: usize, packet: Packet, stop: fn(usize) -> Stop) {
        self.packets.push(packet);
        self.schedule(at + RTT / 4, flow, stop(self.packets.len() - 1));
    }

    pub fn follow(&mut self, now: Time, flow: usize) {
        while let Some(packet) = self.senders[flow].poll_transmit(&self.config, now) {
            assert!(packet.header.paused_by.is_none() || packet.kind != Kind::Data);
            self.travel(now, flow, packet, Stop::Port);
        }
        let due = self.senders[flow].next_timeout();
        if due != Time::MAX {
            self.schedule(due, flow, Stop::Timer);
        }
    }

    pub fn run(&mut self, end: Time) {
        while let Some(Reverse((now, _, flow, stop))) = self.events.pop() {
            if now > end {
                return;
            }
            let config = self.config;
            match stop {
                Stop::Port(packet) => {
                    self.arrivals += 1;
                    if self.lost.contains(&self.arrivals) {
                        continue;
                    }
                    let waiting = GIGABIT.bytes_in(self.free.since(now));
                    let mut packet = self.packets[packet];
                    self.port
                        .forward(&config, now, flow as u64, &mut packet, || waiting);
                    self.free =
                        self.free.max(now) + GIGABIT.transmit(u64::from(packet.wire_bytes()));
                    self.travel(self.free, flow, packet, Stop::Receiver);
                }
                Stop::Receiver(packet) => {
                    let receiver = &mut self.receivers[flow];
                    receiver.input(&self.packets[packet]);
                    if receiver.delivered() == self.senders[flow].size() {
                        self.finished[flow].get_or_insert(now);
                    }
                    let reply = receiver.poll_transmit().expect("a reply to each packet");
                    self.travel(now, flow, reply, Stop::PortBack);
                }
                Stop::PortBack(packet) => {
                    let mut packet = self.packets[packet];
                    self.port
                        .reverse(&config, now, flow as u64, &mut packet.header);
                    self.travel(now, flow, packet, Stop::Sender);
                }
                Stop::Sender(packet) => {
                    self.senders[flow].input(&config, now, &self.packets[packet]);
                    self.follow(now, flow);
                }
                Stop::Timer => {
                    if self.senders[flow].next_timeout() <= now {
                        self.senders[flow].timeout(&config, now);
                        self.follow(now, flow);
                    }
                }
            }
        }
    }
}
