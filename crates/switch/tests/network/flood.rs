//! A host floods a router port with forged requests and random datagrams, next to a transfer through the same port and
//! a transfer that shares neither ingress nor egress.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

use crate::bench::{Bench, interfaces, link};
use crate::d3::{PATIENCE, PORT, eventually};
use crate::port;
use duetime_core::{Rate, Span};
use duetime_d3::{Endpoint, Flow, Options};
use duetime_link::Limit;
use duetime_proto::d3::wire::{Header, Kind, encode};
use duetime_proto::d3::{EncodedRate, Flags, Packet, Request};
use duetime_switch::{Config, D3Report, PortConfig};
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Sending and receiving host of each transfer and of the flood.
const SHARED: [usize; 2] = [0, 2];
const FLOOD: [usize; 2] = [1, 2];
const APART: [usize; 2] = [3, 4];
const HOSTS: u8 = 5;

const ALLOWANCE: Rate = Rate::from_mbps(2);
const BYTES: usize = 100_000;
const DEADLINE: Duration = Duration::from_millis(100);
/// Pause between two transfers of a pair.
const PAUSE: Duration = Duration::from_millis(5);

/// Demand that one ingress can put on a port with a policer. In each epoch, requests pass up to four times what the
/// ingress can send through the port, whose capacity is at most twice its rate, and one more of the largest rate. The
/// first are forgotten after four epochs. The honest flows of other ingresses request less than the remaining epoch's
/// worth.
const MAX_DEMAND_BPS: u64 = 5 * (4 * 200_000_000 + 255_000_000);

/// Starts hosts around a switch with D3 and 100 packets at its ports.
fn routed(police: Option<Rate>) -> Option<Bench> {
    let port = PortConfig {
        rate: PORT,
        latency: Span::from_us(50),
        limit: Limit::Packets(100),
        mark_at: None,
        d3: true,
        ..port()
    };
    let uplink = link(Rate::from_gbps(1), Span::from_us(50));
    let mut config = Config::star("star", interfaces(HOSTS, uplink), &port, None);
    config.options.d3.router.police = police;
    Bench::new(&config)
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 9, 0, host as u8 + 1], 7_000))
}

fn options() -> Options {
    Options {
        connect_timeout: Span::from_secs(4),
        idle_timeout: Span::from_secs(4),
        ..Options::new(Rate::from_gbps(1)).slowest_link(PORT)
    }
}

/// Finished transfer.
#[derive(Clone, Copy)]
struct Ended {
    began: Instant,
    end: Instant,
    delivered: bool,
}

impl Ended {
    fn in_time(&self) -> bool {
        self.delivered && self.end - self.began <= DEADLINE
    }
}

/// Sequential transfers between a pair of hosts.
struct Pair {
    stop: Arc<AtomicBool>,
    ended: Arc<Mutex<Vec<Ended>>>,
    sender: JoinHandle<()>,
}

impl Pair {
    fn start(bench: &Bench, [from, to]: [usize; 2]) -> Self {
        let bind = |host: usize| {
            let bound = bench.in_host(host, || Endpoint::bind(address(host), options()));
            bound.expect("an endpoint")
        };
        let listener = bind(to).listen(64);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
            }
        });
        let (endpoint, to) = (bind(from), address(to));
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::new(Mutex::new(Vec::new()));
        let (halt, done) = (Arc::clone(&stop), Arc::clone(&ended));
        let sender = thread::spawn(move || {
            while !halt.load(Ordering::Relaxed) {
                let began = Instant::now();
                let delivered = transfer(&endpoint, to).is_ok();
                let transfer = Ended {
                    began,
                    end: Instant::now(),
                    delivered,
                };
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(transfer);
                thread::sleep(PAUSE);
            }
        });
        Self {
            stop,
            ended,
            sender,
        }
    }

    fn ended(&self) -> Vec<Ended> {
        self.ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of transfers that delivered all their bytes.
    fn delivered(&self) -> usize {
        self.ended()
            .iter()
            .filter(|transfer| transfer.delivered)
            .count()
    }

    fn stop(self) -> Vec<Ended> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = Arc::clone(&self.ended);
        self.sender.join().expect("no panic");
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.clone()
    }
}

fn transfer(endpoint: &Endpoint, to: SocketAddr) -> std::io::Result<()> {
    let flow = Flow::new(BYTES as u64, Some(DEADLINE));
    let mut stream = endpoint.connect(to, flow)?;
    stream.write_all(&vec![7; BYTES])?;
    stream.close()
}

/// Forged SYNs, forged requests of nonexistent flows, and random datagrams, in equal numbers.
struct Flood {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<u64>,
}

impl Flood {
    fn start(bench: &Bench, per_second: u64) -> Self {
        let [from, to] = FLOOD;
        let socket = bench.in_host(from, || UdpSocket::bind(address(from)).expect("a socket"));
        socket.connect(address(to)).expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let halt = Arc::clone(&stop);
        let sender = thread::spawn(move || {
            let (began, mut sent, mut random) = (Instant::now(), 0, Random(0x9e37_79b9_7f4a_7c15));
            let mut datagram = Vec::new();
            while !halt.load(Ordering::Relaxed) {
                let micros = began.elapsed().as_micros() as u64;
                while sent < micros * per_second / 1_000_000 {
                    datagram.clear();
                    match sent % 3 {
                        0 => forged(Flags::SYN, 0, random.draw(), &mut datagram),
                        1 => forged(
                            Flags::default(),
                            random.draw(),
                            random.draw(),
                            &mut datagram,
                        ),
                        _ => {
                            let words = 1 + random.draw() % 50;
                            datagram.extend((0..words).flat_map(|_| random.draw().to_ne_bytes()));
                        }
                    }
                    // A full queue drops the datagram.
                    let _ = socket.send(&datagram);
                    sent += 1;
                    if halt.load(Ordering::Relaxed) {
                        break;
                    }
                }
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        Self { stop, sender }
    }

    /// Stops the flood and returns the number of datagrams sent.
    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.sender.join().expect("no panic")
    }
}

struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Encodes a request for the largest rate at the slowest pace, with a full grant of a nonexistent own interface.
fn forged(flags: Flags, destination: u64, source: u64, out: &mut Vec<u8>) {
    let mut request = Request {
        desired: EncodedRate::from_byte(u8::MAX),
        scale: options().config.exponent(),
        index: 1,
        pace: 3,
        stamps: (source >> 32) as u8 & 0x3f,
        ..Request::default()
    };
    request.allocations[0] = EncodedRate::from_byte(u8::MAX);
    let header = Header {
        kind: Kind::Packet,
        destination,
        source: source.max(1),
        window: 0,
        packet: Packet {
            flags,
            request: Some(request),
            ..Packet::default()
        },
    };
    encode(&header, (&[], &[]), out).expect("an encodable header");
}

/// Returns D3's report of the port to a host.
fn router(bench: &Bench, host: usize) -> D3Report {
    let ports = bench.report().ports;
    let mut routers = ports.iter().filter_map(|port| port.d3);
    // No report exists at first.
    routers.nth(host).unwrap_or_default()
}

/// Calls `seen` with the reports of both ports until it returns true.
fn watch(bench: &Bench, label: &str, mut seen: impl FnMut(D3Report, D3Report) -> bool) {
    let began = Instant::now();
    while !seen(router(bench, SHARED[1]), router(bench, APART[1])) {
        assert!(began.elapsed() < PATIENCE, "{label}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn floods_affect_one_port_which_recovers() {
    for police in [None, Some(ALLOWANCE)] {
        let Some(bench) = routed(police) else {
            return;
        };
        let (shared, apart) = (Pair::start(&bench, SHARED), Pair::start(&bench, APART));
        watch(&bench, "transfers without a flood", |_, _| {
            shared.delivered() >= 2 && apart.delivered() >= 2
        });
        let (before, flood) = (apart.delivered(), Flood::start(&bench, 6_000));
        let (mut max_demand, mut max_apart) = (0, 0);
        watch(&bench, "transfers during a flood", |flooded, other| {
            max_demand = max_demand.max(flooded.demand_bps);
            max_apart = max_apart.max(other.flows);
            let effective = match police {
                None => flooded.flows > 100 && flooded.demand_bps > 2 * MAX_DEMAND_BPS,
                Some(_) => flooded.policed > 1_000,
            };
            effective && apart.delivered() >= before + 5
        });
        let sent = flood.stop();
        let delivered = shared.delivered();
        let recovered = eventually(&bench, "the flood is forgotten", |all| {
            all[SHARED[1]].flows <= 1 && all[SHARED[1]].demand_bps <= 2 * PORT.as_bps()
        });
        watch(&bench, "transfers after a flood", |_, _| {
            shared.delivered() >= delivered + 2
        });
        println!(
            "police {police:?}: D at most {max_demand} bps in a flood of {sent} datagrams, forgotten {recovered:?} later"
        );
        if police.is_some() {
            assert!(max_demand <= MAX_DEMAND_BPS, "{max_demand}");
        }
        // A retransmitted SYN counts twice for a while.
        assert!(max_apart <= 10, "{max_apart}");
        assert!(apart.stop().iter().all(|transfer| transfer.delivered));
        shared.stop();
        let other = router(&bench, APART[1]);
        assert_eq!(other.unanswered, 0, "{other:?}");
        // A host that stalls sends its granted bytes late and in a burst, and a policer drops the excess. tests/fabric
        // asserts that there are no such drops in virtual time.
        println!(
            "police {police:?}: {} of the others' packets dropped",
            other.policed
        );
    }
}

/// Behaviour of the ports and transfers during one phase of a run.
struct Phase {
    name: &'static str,
    from: Instant,
    to: Instant,
    /// Reports of the flooded port and of the other.
    ports: [Vec<D3Report>; 2],
}

impl Phase {
    fn run(bench: &Bench, name: &'static str, seconds: u64) -> Self {
        let from = Instant::now();
        let mut ports = [Vec::new(), Vec::new()];
        while from.elapsed() < Duration::from_secs(seconds) {
            for (port, host) in ports.iter_mut().zip([SHARED[1], APART[1]]) {
                port.push(router(bench, host));
            }
            // The switch publishes reports at this interval.
            thread::sleep(Duration::from_millis(200));
        }
        Self {
            name,
            from,
            to: Instant::now(),
            ports,
        }
    }

    fn print(&self, transfers: [&[Ended]; 2]) {
        for (i, label) in ["shared", "apart"].into_iter().enumerate() {
            let begun = transfers[i].iter();
            let begun =
                begun.filter(|transfer| self.from <= transfer.began && transfer.began < self.to);
            let (count, met) = begun.fold((0, 0), |(count, met), transfer| {
                (count + 1, met + u32::from(transfer.in_time()))
            });
            let ended = transfers[i].iter();
            let ended = ended.filter(|transfer| {
                transfer.delivered && self.from <= transfer.end && transfer.end < self.to
            });
            let bits = ended.count() as f64 * BYTES as f64 * 8.0;
            let goodput = bits / (self.to - self.from).as_secs_f64() / 1e6;
            let ports = &self.ports[i];
            let mean = |field: fn(&D3Report) -> u64| {
                ports.iter().map(field).sum::<u64>() as f64 / ports.len() as f64
            };
            let max =
                |field: fn(&D3Report) -> u64| ports.iter().map(field).max().unwrap_or(0) as f64;
            println!(
                "{:7} {label:7} | {met:4} of {count:4} in time, {goodput:5.1} Mbps | N {:5.1} mean {:4} max | D {:6.1} {:6.1} Mbps | A {:6.1} {:6.1} Mbps",
                self.name,
                mean(|port| port.flows),
                max(|port| port.flows),
                mean(|port| port.demand_bps) / 1e6,
                max(|port| port.demand_bps) / 1e6,
                mean(|port| port.allocated_bps) / 1e6,
                max(|port| port.allocated_bps) / 1e6,
            );
        }
    }
}

/// Measures the figures of `docs/validation.md`.
#[test]
#[ignore = "a measurement of 90 s: script/faults --flood"]
fn figures() {
    for police in [None, Some(ALLOWANCE)] {
        let Some(bench) = routed(police) else {
            return;
        };
        match police {
            None => println!("\ntrusting, {PORT} per port"),
            Some(rate) => println!("\npoliced, with an allowance of {rate}"),
        }
        let (shared, apart) = (Pair::start(&bench, SHARED), Pair::start(&bench, APART));
        thread::sleep(Duration::from_secs(1));
        let mut parts = vec![Phase::run(&bench, "before", 10)];
        let flood = Flood::start(&bench, 50_000);
        parts.push(Phase::run(&bench, "during", 20));
        let sent = flood.stop();
        let end = Instant::now();
        let forgotten = eventually(&bench, "the flood is forgotten", |all| {
            all[SHARED[1]].flows <= 1 && all[SHARED[1]].demand_bps <= 2 * PORT.as_bps()
        });
        parts.push(Phase::run(&bench, "after", 10));
        let (shared, apart) = (shared.stop(), apart.stop());
        for part in &parts {
            part.print([&shared, &apart]);
        }
        let first = shared
            .iter()
            .find(|transfer| transfer.end > end && transfer.in_time());
        let first = first.expect("the port recovers").end - end;
        println!(
            "{sent} datagrams in {:.1} s; N and D correct in the report {forgotten:.2?} after the last, first shared transfer in time {first:.2?} after it; {} policed",
            (parts[1].to - parts[1].from).as_secs_f64(),
            router(&bench, SHARED[1]).policed,
        );
    }
}
