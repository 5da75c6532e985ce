//! Endpoints on a virtual network: each direction is a link through one or more routers, with faults derived from a
//! seed.

use super::router::{Flow, Router};
use crate::virtual_network::{Arrivals, Injected, Random};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::endpoint::{Endpoint, Options};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

pub const SECOND: Span = Span::from_secs(1);

/// Returns the default options of endpoints on a gigabit link.
pub fn options() -> Options {
    Options::new(Rate::from_gbps(1))
}

pub fn after(span: Span) -> Time {
    Time::ZERO + span
}

/// Fault probabilities of the network, in 1/1000 unless noted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub duplicated: u64,
    pub damaged: u64,
    pub delayed: u64,
    /// Length above which datagrams are lost, in bytes; 0 disables the limit.
    pub max_length: usize,
}

pub struct World {
    pub now: Time,
    pub endpoints: Vec<Endpoint>,
    /// True for hosts that have failed.
    pub dead: Vec<bool>,
    pub faults: Faults,
    pub injected: Injected,
    pub delay: Span,
    /// Deadline of the servers' answers, from the end of the query, or `None` to announce nothing.
    pub answer_deadline: Option<Span>,
    pub delivered: u64,
    /// Time of the last arrival at a host from another.
    pub last_arrival: BTreeMap<(usize, usize), Time>,
    /// Routers on the path to each host, passed by all senders.
    pub paths: Vec<Vec<Router>>,
    arrivals: Arrivals,
    random: Random,
}

const MAX_DELAY: Span = Span::from_us(700);

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
            injected: Injected::default(),
            delay: Span::from_us(20),
            answer_deadline: None,
            delivered: 0,
            last_arrival: BTreeMap::new(),
            paths: (0..hosts).map(|_| vec![Router::new(&options)]).collect(),
            arrivals: Arrivals::default(),
            random: Random::new(seed),
        }
    }

    /// Sets the number of routers on the path to each host.
    pub fn set_routers(&mut self, routers: usize) {
        for (path, endpoint) in self.paths.iter_mut().zip(&self.endpoints) {
            path.resize_with(routers, || Router::new(endpoint.options()));
        }
    }

    /// Restarts all routers, which lose their state.
    pub fn restart_routers(&mut self) {
        self.routers().for_each(Router::restart);
    }

    /// Stops a host silently and ends its flows.
    pub fn kill(&mut self, host: usize) {
        self.dead[host] = true;
        self.routers().for_each(|router| router.remove_host(host));
    }

    pub fn routers(&mut self) -> impl Iterator<Item = &mut Router> {
        self.paths.iter_mut().flatten()
    }

    /// Sends pending datagrams and advances to the next event. Returns false if there is none.
    pub fn step(&mut self) -> bool {
        self.step_before(Time::MAX)
    }

    /// Like [`Self::step`], but returns false if there is no event before `end`.
    fn step_before(&mut self, end: Time) -> bool {
        for host in 0..self.endpoints.len() {
            if !self.dead[host] {
                self.transmit(host);
            }
        }
        let timeouts = self.endpoints.iter().zip(&self.dead);
        let timeouts = timeouts.filter(|(_, dead)| !**dead);
        let timer = timeouts.map(|(endpoint, _)| endpoint.next_timeout()).min();
        let next = timer.unwrap_or(Time::MAX).min(self.arrivals.next());
        if next >= end {
            return false;
        }
        self.now = self.now.max(next);
        let now = self.now;
        self.routers().for_each(|router| router.run_until(now));
        while let Some((host, from, bytes)) = self.arrivals.arrived(self.now) {
            if !self.dead[host] {
                self.delivered += 1;
                let SocketAddr::V4(peer) = from else {
                    panic!("no such network")
                };
                let peer = usize::from(peer.ip().octets()[3]);
                self.last_arrival.insert((host, peer), self.now);
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

    /// Runs until `time`.
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
                self.forward(from, host, &datagram);
            }
        }
    }

    fn forward(&mut self, from: usize, to: usize, datagram: &[u8]) {
        let too_long = self.faults.max_length > 0 && datagram.len() > self.faults.max_length;
        if too_long {
            return;
        }
        let copies = 1 + u64::from(self.random.fault(self.faults.duplicated));
        self.injected.duplicated += copies - 1;
        for _ in 0..copies {
            self.forward_copy(from, to, datagram.to_vec());
        }
    }

    /// Forwards a datagram. Loss and damage may occur before any router of the path, or after the last.
    fn forward_copy(&mut self, from: usize, to: usize, mut datagram: Vec<u8>) {
        let stops = self.paths[to].len() as u64 + 1;
        let lost = self.draw_stop(self.faults.lost, stops);
        let damaged = self.draw_stop(self.faults.damaged, stops);
        let mut at = self.now;
        let flow = Flow::from_datagram(from, &datagram);
        for stop in 0..stops {
            if lost == Some(stop) {
                self.injected.lost += 1;
                return;
            }
            if damaged == Some(stop) {
                self.injected.damaged += 1;
                let bit = self.draw() as usize % (datagram.len() * 8);
                datagram[bit / 8] ^= 1 << (bit % 8);
            }
            if let Some(router) = self.paths[to].get_mut(stop as usize) {
                at = router.pass(at, flow, &mut datagram);
            }
        }
        let mut arrives = at + self.delay;
        if self.random.fault(self.faults.delayed) {
            self.injected.delayed += 1;
            arrives += Span::from_ps(self.draw() % MAX_DELAY.as_ps());
        }
        self.inject(arrives, from, to, datagram);
    }

    /// Injects a datagram, from any sender.
    pub fn inject(&mut self, arrives: Time, from: usize, to: usize, datagram: Vec<u8>) {
        self.arrivals.push(arrives, address(from), to, datagram);
    }

    fn draw_stop(&mut self, permille: u64, stops: u64) -> Option<u64> {
        let draw_fault = self.random.fault(permille);
        draw_fault.then(|| self.draw() % stops)
    }

    pub fn draw(&mut self) -> u64 {
        self.random.draw()
    }
}
