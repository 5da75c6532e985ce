//! D3 endpoints at the hosts of a switch, in virtual time.

use crate::d3::{PLAIN, covered, framed, routed, sum};
use crate::networks::star;
use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Options, StreamError, StreamId};
use duetime_proto::d3::wire::UDP_IPV4_BYTES;
use duetime_switch::{Config, D3Report, Fabric};
use std::net::{Ipv4Addr, SocketAddr};

pub const LONGEST: usize = 1_600;
/// One encoded unit is 1 Mbps with scale -3.
pub const SCALE: i8 = -3;

/// Flow between two hosts.
pub struct Flow {
    from: usize,
    stream: StreamId,
    bytes: usize,
    written: usize,
    pub delivered_at: Option<Time>,
}

/// Frames that a host sends at a fixed interval, in addition to its endpoint.
pub struct Noise {
    pub from: usize,
    pub every: Span,
    pub next: Time,
    pub end: Time,
    pub sent: u64,
    pub make: fn(u64) -> Vec<u8>,
}

/// Hosts at one switch.
pub struct World {
    pub fabric: Fabric,
    hosts: Vec<Endpoint>,
    pub flows: Vec<Flow>,
    pub noise: Option<Noise>,
    accepted: Vec<Vec<StreamId>>,
    pub received: usize,
    now: Time,
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 9, 0, host as u8 + 1), 7_000))
}

impl World {
    /// Creates hosts around a switch with D3 at every port.
    pub fn star(hosts: u8) -> Self {
        Self::new(&routed(star(hosts)))
    }

    pub fn new(config: &Config) -> Self {
        let mut options = Options::new(Rate::from_mbps(250));
        options.config.wire.scale = Some(SCALE);
        assert_eq!(options.config.wire.header_bytes, UDP_IPV4_BYTES);
        let host = |number| {
            let mut host = Endpoint::new(options, [3, number]).expect("valid options");
            host.listen(8);
            host
        };
        let hosts = config.interfaces.len();
        Self {
            fabric: Fabric::new(config, LONGEST).expect("a valid network"),
            hosts: (0..hosts as u64).map(host).collect(),
            flows: Vec::new(),
            noise: None,
            accepted: vec![Vec::new(); hosts],
            received: 0,
            now: Time::ZERO,
        }
    }

    /// Opens a flow between two hosts.
    pub fn open(&mut self, from: usize, to: usize, bytes: usize, deadline: Option<Span>) {
        let host = &mut self.hosts[from];
        let message = Message::new(bytes as u64, deadline.map(|span| self.now + span));
        let policy = host.options().config.host.policy;
        let stream = host.connect(self.now, address(to), message, &policy);
        self.flows.push(Flow {
            from,
            stream: stream.expect("opened"),
            bytes,
            written: 0,
            delivered_at: None,
        });
    }

    pub fn run_until(&mut self, end: Time) {
        while self.now < end {
            self.applications();
            self.transmit();
            let timers = self.hosts.iter().map(Endpoint::next_timeout);
            let noise = self.noise.as_ref().filter(|noise| noise.next < noise.end);
            let next = timers.chain(noise.map(|noise| noise.next)).min();
            let next = next.unwrap_or(Time::MAX);
            self.now = next.min(self.fabric.next_timeout()).min(end).max(self.now);
            self.receive();
            for host in &mut self.hosts {
                if host.next_timeout() <= self.now {
                    host.timeout(self.now);
                }
            }
            self.make_noise();
        }
    }

    fn make_noise(&mut self) {
        let Some(noise) = &mut self.noise else {
            return;
        };
        if noise.next <= self.now && noise.next < noise.end {
            noise.next += noise.every;
            noise.sent += 1;
            // A full queue or a policer may drop the frame.
            let _ = self
                .fabric
                .offer(self.now, noise.from, &(noise.make)(noise.sent));
        }
    }

    fn applications(&mut self) {
        for flow in &mut self.flows {
            let host = &mut self.hosts[flow.from];
            while flow.written < flow.bytes {
                let data = [7; 8_000];
                let left = data.len().min(flow.bytes - flow.written);
                match host.write(self.now, flow.stream, &data[..left]) {
                    Ok(written) => flow.written += written,
                    Err(StreamError::Blocked) => break,
                    Err(error) => panic!("{error}"),
                }
                if flow.written == flow.bytes {
                    host.finish(self.now, flow.stream).expect("an open stream");
                }
            }
            if flow.delivered_at.is_none() {
                let statistics = host.statistics(flow.stream).expect("a known stream");
                flow.delivered_at = statistics.delivered_at;
            }
        }
        for (host, accepted) in self.hosts.iter_mut().zip(&mut self.accepted) {
            while let Some((stream, _)) = host.accept(self.now) {
                // The reverse flow is empty.
                let empty = Message::new(0, None);
                let policy = host.options().config.host.policy;
                host.open(self.now, stream, empty, &policy).expect("opened");
                host.finish(self.now, stream).expect("an open stream");
                accepted.push(stream);
            }
            let mut buffer = [0; 8_000];
            for &stream in accepted.iter() {
                while let Ok(length @ 1..) = host.read(self.now, stream, &mut buffer) {
                    self.received += length;
                }
            }
        }
    }

    fn transmit(&mut self) {
        let mut bytes = Vec::new();
        for (from, host) in self.hosts.iter_mut().enumerate() {
            while let Some(transmit) = host.poll_transmit(self.now, &mut bytes) {
                let SocketAddr::V4(peer) = transmit.peer else {
                    panic!("IPv4 addresses only");
                };
                // Replies to forged addresses are discarded.
                let to = peer.ip().octets()[3].wrapping_sub(1);
                if usize::from(to) < self.accepted.len() {
                    let frame = framed(from as u8, to, &bytes, PLAIN);
                    // A policer or a full queue may drop the frame.
                    let _ = self.fabric.offer(self.now, from, &frame);
                }
                bytes.clear();
            }
        }
    }

    fn receive(&mut self) {
        while let Some(out) = self.fabric.poll_transmit(self.now) {
            let frame = self.fabric.bytes(&out);
            let at = PLAIN.datagram_at() - 2;
            if frame[at..at + 2] != [0, 0] {
                assert_eq!(sum(&covered(frame, PLAIN)), 0xffff);
            }
            let from = usize::from(frame[29].wrapping_sub(1));
            let datagram = &frame[PLAIN.datagram_at()..];
            self.hosts[out.interface].input(self.now, address(from), datagram);
            self.fabric.release(out);
        }
    }

    /// Returns the routers of the ports to the hosts.
    pub fn routers(&mut self) -> Vec<D3Report> {
        self.fabric
            .ports()
            .iter()
            .filter_map(|port| port.d3)
            .collect()
    }

    /// Returns the granted rate of a flow, in bits per second.
    pub fn granted(&self, flow: usize) -> u64 {
        let flow = &self.flows[flow];
        let statistics = self.hosts[flow.from].statistics(flow.stream);
        statistics.expect("a known stream").granted.as_bps()
    }
}
