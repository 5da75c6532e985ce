//! Endpoints on a virtual network: each host has a link of 1 Gbps with an unlimited queue in front of it, and faults
//! are derived from a seed.

use crate::virtual_network::{Arrivals, Injected, Random};
use duetime_core::{Rate, Span, Time};
use duetime_proto::due::endpoint::{Endpoint, Options};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub const SECOND: Span = Span::from_secs(1);
const RATE: Rate = Rate::from_gbps(1);
/// Maximum additional delay of a delayed datagram.
const MAX_DELAY: Span = Span::from_us(700);

/// Returns the default options of endpoints on a gigabit link.
pub fn options() -> Options {
    Options::new(RATE)
}

pub fn after(span: Span) -> Time {
    Time::ZERO + span
}

pub fn after_us(us: u64) -> Time {
    after(Span::from_us(us))
}

/// Fault probabilities of the network in 1/1000.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub duplicated: u64,
    pub damaged: u64,
    pub delayed: u64,
    /// Length above which datagrams are lost, in bytes; 0 disables the limit.
    pub max_length: usize,
    /// Host whose datagrams are all lost.
    pub muted: Option<usize>,
}

pub struct World {
    pub now: Time,
    pub endpoints: Vec<Endpoint>,
    /// True for hosts that have failed.
    pub dead: Vec<bool>,
    pub faults: Faults,
    /// True if the network marks all datagrams.
    pub marks_all: bool,
    pub injected: Injected,
    /// Datagrams that were sent, with sender and destination, if `is_recording`.
    pub sent: Vec<(usize, usize, Vec<u8>)>,
    pub is_recording: bool,
    /// Bytes sent to addresses of no host.
    pub sent_to_others: BTreeMap<SocketAddr, u64>,
    is_ipv6: bool,
    link_free: Vec<Time>,
    arrivals: Arrivals,
    random: Random,
}

impl World {
    pub fn new(hosts: usize, options: Options, seed: u64) -> Self {
        let endpoint = |host: usize| Endpoint::new(options, [seed, host as u64]).unwrap();
        Self {
            now: after(Span::from_ms(1)),
            endpoints: (0..hosts).map(endpoint).collect(),
            dead: vec![false; hosts],
            faults: Faults::default(),
            marks_all: false,
            injected: Injected::default(),
            sent: Vec::new(),
            is_recording: false,
            sent_to_others: BTreeMap::new(),
            is_ipv6: false,
            link_free: vec![Time::ZERO; hosts],
            arrivals: Arrivals::default(),
            random: Random::new(seed),
        }
    }

    pub fn use_ipv6(&mut self) {
        self.is_ipv6 = true;
    }

    /// Returns the address of a host.
    pub fn address(&self, host: usize) -> SocketAddr {
        let ip: IpAddr = if self.is_ipv6 {
            Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host as u16).into()
        } else {
            Ipv4Addr::from_bits(0x0a00_0000 + host as u32).into()
        };
        SocketAddr::from((ip, 7_000))
    }

    fn host(&self, address: SocketAddr) -> Option<usize> {
        (0..self.endpoints.len()).find(|&host| self.address(host) == address)
    }

    /// Stops a host silently.
    pub fn kill(&mut self, host: usize) {
        self.dead[host] = true;
    }

    /// Sends pending datagrams and advances to the next event. Returns false if there is none.
    pub fn step(&mut self) -> bool {
        self.step_before(Time::MAX)
    }

    /// Like [`Self::step`], but returns false if no event is before `end`.
    pub fn step_before(&mut self, end: Time) -> bool {
        for host in 0..self.endpoints.len() {
            if !self.dead[host] {
                self.transmit(host);
            }
        }
        let hosts = self.endpoints.iter().zip(&self.dead);
        let alive = hosts.filter(|(_, dead)| !**dead);
        let timer = alive.map(|(endpoint, _)| endpoint.next_timeout()).min();
        let next = timer.unwrap_or(Time::MAX).min(self.arrivals.next());
        if next >= end {
            return false;
        }
        self.now = self.now.max(next);
        while let Some((host, from, bytes)) = self.arrivals.arrived(self.now) {
            if !self.dead[host] {
                self.endpoints[host].input(self.now, from, &bytes, self.marks_all);
            }
        }
        for host in 0..self.endpoints.len() {
            let endpoint = &mut self.endpoints[host];
            if !self.dead[host] && endpoint.next_timeout() <= self.now {
                endpoint.timeout(self.now);
            }
            self.check_limits(host);
        }
        true
    }

    /// Runs until `time`.
    pub fn run_until(&mut self, time: Time) {
        while self.now < time && self.step_before(time) {}
        self.now = self.now.max(time);
    }

    fn check_limits(&self, host: usize) {
        let endpoint = &self.endpoints[host];
        let options = endpoint.options();
        assert!(endpoint.incoming_bytes() <= options.max_incoming_bytes);
        assert!(endpoint.outgoing_bytes() <= options.max_outgoing_bytes);
        assert!(endpoint.sources() <= options.max_sources);
    }

    fn transmit(&mut self, from: usize) {
        let mut bytes = Vec::new();
        while let Some(transmit) = self.endpoints[from].poll_transmit(self.now, &mut bytes) {
            let datagram = std::mem::take(&mut bytes);
            assert_eq!(datagram.len(), transmit.bytes);
            let headers = if self.is_ipv6 { 48 } else { 28 };
            let mtu = self.endpoints[from].options().config.mtu as usize;
            assert!(datagram.len() + headers <= mtu, "longer than the MTU");
            if let Some(to) = self.host(transmit.peer) {
                if self.is_recording {
                    self.sent.push((from, to, datagram.clone()));
                }
                self.forward(from, to, &datagram);
            } else {
                *self.sent_to_others.entry(transmit.peer).or_default() += transmit.bytes as u64;
            }
        }
    }

    fn forward(&mut self, from: usize, to: usize, datagram: &[u8]) {
        let max = self.faults.max_length;
        if max > 0 && datagram.len() > max || self.faults.muted == Some(from) {
            return;
        }
        let copies = 1 + u64::from(self.random.fault(self.faults.duplicated));
        self.injected.duplicated += copies - 1;
        for _ in 0..copies {
            if self.random.fault(self.faults.lost) {
                self.injected.lost += 1;
                continue;
            }
            let mut datagram = datagram.to_vec();
            if self.random.fault(self.faults.damaged) {
                self.injected.damaged += 1;
                let bit = self.draw() as usize % (datagram.len() * 8);
                datagram[bit / 8] ^= 1 << (bit % 8);
                let length = self.draw() as usize % (datagram.len() * 2);
                datagram.truncate(length.max(1));
            }
            let time = RATE.transmit(datagram.len() as u64 + 66);
            self.link_free[to] = self.link_free[to].max(self.now) + time;
            let mut arrives = self.link_free[to] + Span::from_us(20);
            if self.random.fault(self.faults.delayed) {
                self.injected.delayed += 1;
                arrives += Span::from_ps(self.draw() % MAX_DELAY.as_ps());
            }
            self.inject(arrives, self.address(from), to, datagram);
        }
    }

    /// Injects a datagram, from any address.
    pub fn inject(&mut self, arrives: Time, from: SocketAddr, to: usize, datagram: Vec<u8>) {
        self.arrivals.push(arrives, from, to, datagram);
    }

    pub fn draw(&mut self) -> u64 {
        self.random.draw()
    }
}
