//! Endpoints on a virtual network: a link each way through one router or more, with faults. Everything follows from a
//! seed.

use crate::router::{Router, Seen};
use duetime_core::{Span, Time};
use duetime_proto::d3::endpoint::{Endpoint, Options};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
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
    /// The deadline of what servers answer, after they have read the query; `None`: they announce nothing.
    pub answers_within: Option<Span>,
    pub delivered: u64,
    /// When a host last got a datagram of another.
    pub heard: BTreeMap<(usize, usize), Time>,
    /// The routers on the way to each host; whoever sends to it passes all of them.
    pub paths: Vec<Vec<Router>>,
    arriving: BinaryHeap<Reverse<Arrival>>,
    sent: u64,
    random: u64,
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
            answers_within: None,
            delivered: 0,
            heard: BTreeMap::new(),
            paths: (0..hosts).map(|_| vec![Router::new(&options)]).collect(),
            arriving: BinaryHeap::new(),
            sent: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// So many routers on the way to each host.
    pub fn lengthen(&mut self, routers: usize) {
        for (path, endpoint) in self.paths.iter_mut().zip(&self.endpoints) {
            path.resize_with(routers, || Router::new(endpoint.options()));
        }
    }

    /// The routers lose all that they know.
    pub fn restart_routers(&mut self) {
        self.routers().for_each(Router::restart);
    }

    /// A host stops without a word. Its flows end.
    pub fn kill(&mut self, host: usize) {
        self.dead[host] = true;
        self.routers().for_each(|router| router.forget(host));
    }

    pub fn routers(&mut self) -> impl Iterator<Item = &mut Router> {
        self.paths.iter_mut().flatten()
    }

    /// Sends what may leave, then goes to the next thing that happens. False if nothing ever does.
    pub fn step(&mut self) -> bool {
        self.step_before(Time::MAX)
    }

    /// The same; false if nothing happens before `end`.
    fn step_before(&mut self, end: Time) -> bool {
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
        if next >= end {
            return false;
        }
        self.now = self.now.max(next);
        let now = self.now;
        self.routers().for_each(|router| router.run_until(now));
        while let Some(Reverse(first)) = self.arriving.peek()
            && first.0 <= self.now
        {
            let Some(Reverse((_, _, host, from, bytes))) = self.arriving.pop() else {
                break;
            };
            if !self.dead[host] {
                self.delivered += 1;
                let SocketAddr::V4(peer) = from else {
                    panic!("no such network")
                };
                let peer = usize::from(peer.ip().octets()[3]);
                self.heard.insert((host, peer), self.now);
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
        while self.now < time && self.step_before(time) {}
        self.now = self.now.max(time);
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
                self.carry(from, host, &datagram);
            }
        }
    }

    fn carry(&mut self, from: usize, to: usize, datagram: &[u8]) {
        let too_long = self.faults.longest > 0 && datagram.len() > self.faults.longest;
        if too_long {
            return;
        }
        let copies = 1 + u64::from(self.happens(self.faults.repeated));
        for _ in 0..copies {
            self.carry_one(from, to, datagram.to_vec());
        }
    }

    /// Loss and damage may come before any router of the path, or behind the last.
    fn carry_one(&mut self, from: usize, to: usize, mut datagram: Vec<u8>) {
        let stops = self.paths[to].len() as u64 + 1;
        let lost = self.somewhere(self.faults.lost, stops);
        let damaged = self.somewhere(self.faults.damaged, stops);
        let mut at = self.now;
        let seen = Seen::of(from, &datagram);
        for place in 0..stops {
            if lost == Some(place) {
                return;
            }
            if damaged == Some(place) {
                let bit = self.draw() as usize % (datagram.len() * 8);
                datagram[bit / 8] ^= 1 << (bit % 8);
            }
            if let Some(router) = self.paths[to].get_mut(place as usize) {
                at = router.pass(at, seen, &mut datagram);
            }
        }
        let mut arrives = at + self.delay;
        if self.happens(self.faults.delayed) {
            arrives += Span::from_ps(self.draw() % LONGEST_DELAY.as_ps());
        }
        self.put(arrives, from, to, datagram);
    }

    /// A datagram on its way that nobody need have sent.
    pub fn put(&mut self, arrives: Time, from: usize, to: usize, datagram: Vec<u8>) {
        self.sent += 1;
        let arrival = (arrives, self.sent, to, address(from), datagram);
        self.arriving.push(Reverse(arrival));
    }

    fn somewhere(&mut self, permille: u64, stops: u64) -> Option<u64> {
        let happens = self.happens(permille);
        happens.then(|| self.draw() % stops)
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
