//! Endpoints on a virtual network: a link each way through a router, with faults. Everything follows from a seed.

use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::datagram;
use duetime_proto::d3::endpoint::{Endpoint, Options};
use duetime_proto::d3::{PortDriver, Reading};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

/// What the network does to a datagram, in 1/1000 where nothing else is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub repeated: u64,
    pub damaged: u64,
    pub delayed: u64,
    /// Longer ones are lost, in bytes; 0: none.
    pub longest: usize,
}

/// When, its number, at which host, from whom, and what.
type Arrival = (Time, u64, usize, SocketAddr, Vec<u8>);

pub struct World {
    pub now: Time,
    pub endpoints: Vec<Endpoint>,
    /// Hosts that do nothing any more.
    pub dead: Vec<bool>,
    pub faults: Faults,
    pub delay: Span,
    pub delivered: u64,
    /// The router's port towards each host.
    ports: Vec<Port>,
    arriving: BinaryHeap<Reverse<Arrival>>,
    sent: u64,
    random: u64,
}

struct Port {
    driver: PortDriver,
    free: Time,
    departed: u64,
}

const LONGEST_DELAY: Span = Span::from_us(700);

pub fn address(host: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, host as u8), 7_000))
}

impl World {
    pub fn new(hosts: usize, options: Options, seed: u64) -> Self {
        let endpoint = |host: usize| Endpoint::new(options, [seed, host as u64]).unwrap();
        Self {
            now: Time::ZERO + Span::from_ms(1),
            endpoints: (0..hosts).map(endpoint).collect(),
            dead: vec![false; hosts],
            faults: Faults::default(),
            delay: Span::from_us(20),
            delivered: 0,
            ports: (0..hosts).map(|_| Port::new(&options)).collect(),
            arriving: BinaryHeap::new(),
            sent: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// The routers lose all that they know.
    pub fn restart_routers(&mut self) {
        for (port, endpoint) in self.ports.iter_mut().zip(&self.endpoints) {
            *port = Port::new(endpoint.options());
        }
    }

    /// Sends what may leave, then goes to the next thing that happens. False if nothing ever does.
    pub fn step(&mut self) -> bool {
        for host in 0..self.endpoints.len() {
            if !self.dead[host] {
                self.transmit(host);
            }
        }
        let timeouts = self.endpoints.iter().zip(&self.dead);
        let timeouts = timeouts.filter(|(_, dead)| !**dead);
        let timer = timeouts.map(|(endpoint, _)| endpoint.next_timeout()).min();
        let arrival = self.arriving.peek().map(|Reverse(next)| next.0);
        let next = timer.unwrap_or(Time::MAX).min(arrival.unwrap_or(Time::MAX));
        if next == Time::MAX {
            return false;
        }
        self.now = self.now.max(next);
        while let Some(Reverse(first)) = self.arriving.peek()
            && first.0 <= self.now
        {
            let Some(Reverse((_, _, host, from, bytes))) = self.arriving.pop() else {
                break;
            };
            if !self.dead[host] {
                self.delivered += 1;
                self.endpoints[host].input(self.now, from, &bytes);
            }
        }
        for host in 0..self.endpoints.len() {
            if !self.dead[host] && self.endpoints[host].next_timeout() <= self.now {
                self.endpoints[host].timeout(self.now);
            }
        }
        true
    }

    /// Goes on until `time`.
    pub fn run_until(&mut self, time: Time) {
        while self.now < time {
            if !self.step() {
                self.now = time;
            }
        }
    }

    fn transmit(&mut self, from: usize) {
        let mut bytes = Vec::new();
        while let Some(transmit) = self.endpoints[from].poll_transmit(self.now, &mut bytes) {
            let datagram = std::mem::take(&mut bytes);
            assert_eq!(datagram.len(), transmit.bytes);
            let SocketAddr::V4(peer) = transmit.peer else {
                panic!("no such network")
            };
            let host = usize::from(peer.ip().octets()[3]);
            if host < self.endpoints.len() {
                self.carry(from, host, datagram);
            }
        }
    }

    fn carry(&mut self, from: usize, to: usize, mut datagram: Vec<u8>) {
        let too_long = self.faults.longest > 0 && datagram.len() > self.faults.longest;
        if too_long || self.happens(self.faults.lost) {
            return;
        }
        let copies = 1 + u64::from(self.happens(self.faults.repeated));
        for _ in 0..copies {
            let leaves = self.ports[to].pass(&self.endpoints[to], self.now, &mut datagram);
            let mut arrives = leaves + self.delay;
            if self.happens(self.faults.delayed) {
                arrives += Span::from_ps(self.draw() % LONGEST_DELAY.as_ps());
            }
            let mut copy = datagram.clone();
            if self.happens(self.faults.damaged) {
                let bit = self.draw() as usize % (copy.len() * 8);
                copy[bit / 8] ^= 1 << (bit % 8);
            }
            self.put(arrives, from, to, copy);
        }
    }

    /// A datagram on its way that nobody need have sent.
    pub fn put(&mut self, arrives: Time, from: usize, to: usize, datagram: Vec<u8>) {
        self.sent += 1;
        let arrival = (arrives, self.sent, to, address(from), datagram);
        self.arriving.push(Reverse(arrival));
    }

    fn happens(&mut self, permille: u64) -> bool {
        permille > 0 && self.draw() % 1_000 < permille
    }

    pub fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Port {
    fn new(options: &Options) -> Self {
        Self {
            driver: PortDriver::new(&options.config, options.uplink, Span::ZERO),
            free: Time::ZERO,
            departed: 0,
        }
    }

    /// When a datagram that comes now has left.
    fn pass(&mut self, endpoint: &Endpoint, now: Time, datagram: &mut [u8]) -> Time {
        let options = endpoint.options();
        let (config, rate): (_, Rate) = (&options.config, options.uplink);
        let waiting = self.free.since(now.min(self.free));
        let queue_bytes = rate.as_bps() / 8 * waiting.as_ns() / 1_000_000_000;
        if self.driver.next_timeout() <= now {
            let reading = Reading {
                departed_bytes: self.departed,
                queue_bytes,
            };
            self.driver.timeout(config, now, reading);
        }
        self.driver.sample(queue_bytes);
        datagram::route(datagram, |flags, request| {
            self.driver.process(config, now, flags, request);
        });
        let bytes = datagram.len() as u64 + 28;
        self.departed += bytes;
        self.free = self.free.max(now) + rate.transmit(bytes);
        self.free
    }
}
