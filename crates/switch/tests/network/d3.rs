//! D3's sockets across the router at the switch's ports.
#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

use crate::bench::{Bench, interfaces, link};
use crate::port;
use duetime_core::{Rate, Span};
use duetime_d3::{Endpoint, Flow, Options, Statistics, Stream};
use duetime_link::Limit;
use duetime_switch::{Config, D3Report, PortConfig};
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The rate of the switch's ports; hosts have ten times as much.
pub const PORT: Rate = Rate::from_mbps(100);
/// Nothing here takes so long, except on a machine that stands still.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Hosts around a switch with D3 at its ports, of which each holds so much.
pub fn routed(hosts: u8, limit: Limit) -> Option<Bench> {
    let port = PortConfig {
        rate: PORT,
        latency: Span::from_us(50),
        limit,
        mark_at: None,
        d3: true,
        ..port()
    };
    let uplink = link(Rate::from_gbps(1), Span::from_us(50));
    Bench::of(&Config::star(
        "star",
        interfaces(hosts, uplink),
        &port,
        None,
    ))
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 9, 0, host as u8 + 1], 7_000))
}

/// An endpoint in the calling thread's namespace.
fn endpoint(address: SocketAddr) -> Endpoint {
    let mut options = Options::new(PORT);
    options.uplink = Rate::from_gbps(1);
    Endpoint::bind(address, options).expect("an endpoint")
}

/// Takes streams at a host, and all that they bring, for as long as the test lasts.
fn sink(bench: &Bench, host: usize) {
    let listener = bench.in_host(host, || endpoint(address(host)).listen(64));
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                // A sender that is killed ends it with an error, after a while.
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// D3 at the port to each host.
fn routers(bench: &Bench) -> Vec<D3Report> {
    let ports = bench.report().ports;
    ports.iter().filter_map(|port| port.d3).collect()
}

/// Waits until the routers are as they should be.
pub fn eventually(bench: &Bench, what: &str, holds: impl Fn(&[D3Report]) -> bool) -> Duration {
    let began = Instant::now();
    loop {
        let routers = routers(bench);
        if holds(&routers) {
            return began.elapsed();
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {routers:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn is_clear(router: &D3Report) -> bool {
    (router.flows, router.demand_bps, router.allocated_bps) == (0, 0, 0)
}

/// Sends bytes and reads as many back; what the sender knows in the end, and the largest rate that it was granted.
fn exchange(stream: &mut Stream, data: &[u8]) -> (Statistics, Rate) {
    let mut highest = Rate::from_bps(0);
    for part in data.chunks(50_000) {
        stream.write_all(part).expect("it is sent");
        highest = highest.max(stream.statistics().granted);
    }
    stream.finish().expect("it is open");
    stream.delivered().expect("it arrives");
    let statistics = stream.statistics();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("the answer arrives");
    assert!(back == data, "other bytes");
    (statistics, highest)
}

#[test]
fn hosts_exchange_bytes_at_rates_that_the_router_grants() {
    let Some(bench) = routed(2, Limit::Unlimited) else {
        return;
    };
    let listener = bench.in_host(1, || endpoint(address(1)).listen(8));
    let flow = |bytes| Flow {
        bytes,
        deadline: Some(Duration::from_secs(5)),
    };
    let data = bytes(1_500_000);
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a stream");
        let mut query = Vec::new();
        stream.read_to_end(&mut query).expect("bytes");
        stream.open(flow(query.len() as u64)).expect("it opens");
        stream.write_all(&query).expect("it is sent");
        stream.finish().expect("it is open");
        stream.delivered().expect("it arrives");
        let statistics = stream.statistics();
        drop(stream);
        // The endpoint stays to answer repeated FINs.
        (statistics, listener)
    });
    let client = bench.in_host(0, || endpoint(address(0)));
    let stream = client.connect(address(1), flow(data.len() as u64));
    let mut stream = stream.expect("it connects");
    let (sent, highest) = exchange(&mut stream, &data);
    let (answered, _listener) = echo.join().expect("no panic");
    for statistics in [sent, answered] {
        // Hop 0 is the sending host, hop 1 the switch.
        assert_eq!(statistics.hops, 2, "{statistics:?}");
        assert_eq!(statistics.acked, 1_500_000);
        let deadline = statistics.deadline.expect("it was announced");
        let took = statistics.delivered_at.expect("it is delivered");
        println!(
            "1.5 MB: {:.1} ms before the deadline; {} requests, {} packets sent again",
            deadline.since(took).as_ns() as f64 / 1e6,
            statistics.counters.requests,
            statistics.counters.retransmits
        );
    }
    // The host's own interface has 1 Gbps; C of the port is at most twice its rate (D3 §4.4).
    assert!(
        highest > Rate::from_bps(0) && highest <= Rate::from_mbps(200),
        "{highest}"
    );
    let healed = eventually(&bench, "N, D, A are zero", |all| all.iter().all(is_clear));
    println!("routers clear {healed:?} after the last byte");
    let report = bench.stop();
    for port in &report.ports[2..] {
        let router = port.d3.expect("a router");
        assert!(router.requests > 4 && router.unanswered == 0, "{port:?}");
        assert_eq!(router.scale, -3);
    }
}

/// A process that sends for long, if it is asked to.
#[test]
#[ignore = "a host of another test, which kills it"]
fn a_host_that_will_be_killed() {
    let Ok(to) = std::env::var("D3_SENDS_TO") else {
        println!("skipped: it is started by another test");
        return;
    };
    let to: SocketAddr = to.parse().expect("an address");
    let endpoint = endpoint(SocketAddr::from(([0, 0, 0, 0], 0)));
    let flow = Flow {
        bytes: 100_000_000,
        deadline: Some(Duration::from_secs(40)),
    };
    let mut stream = endpoint.connect(to, flow).expect("it connects");
    while stream.write_all(&[7; 10_000]).is_ok() {}
}

/// It ends with the test.
pub struct Killed(Child);

impl Killed {
    pub fn start(bench: &Bench, host: usize, to: SocketAddr) -> Self {
        let path = std::env::current_exe().expect("this program");
        let child = bench.in_host(host, || {
            Command::new(path)
                .args(["--ignored", "--exact", "d3::a_host_that_will_be_killed"])
                .env("D3_SENDS_TO", to.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        Self(child.expect("it starts"))
    }
}

impl Drop for Killed {
    /// SIGKILL.
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }
}

#[test]
fn counters_heal_after_killed_hosts_and_losses_on_a_busy_port() {
    // Eight packets: whatever comes beside the flows makes it drop.
    let Some(bench) = routed(4, Limit::Packets(8)) else {
        return;
    };
    sink(&bench, 3);
    let survivor = bench.in_host(0, || endpoint(address(0)));
    let stream = survivor.connect(address(3), Flow::unknown());
    let mut stream = stream.expect("it connects");
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let done = Arc::clone(&done);
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                stream.write_all(&[7; 10_000]).expect("it is sent");
            }
            stream.close().expect("it arrives");
        })
    };
    let to = |routers: &[D3Report], flows: u64| routers[3].flows == flows;
    eventually(&bench, "one flow", |all| to(all, 1));

    let victims = [1, 2].map(|host| Killed::start(&bench, host, address(3)));
    eventually(&bench, "three flows", |all| to(all, 3));
    drop(victims);
    let healed = eventually(&bench, "one flow again", |all| to(all, 1));
    println!("N is right {healed:?} after two hosts were killed");

    // Datagrams of another protocol beside it: the port loses packets, and requests among them.
    let noise = bench.in_host(1, || UdpSocket::bind("10.9.0.2:9").expect("a socket"));
    noise.connect(address(3)).expect("an address");
    for _ in 0..400 {
        for _ in 0..12 {
            // A full queue is no error here.
            let _ = noise.send(&[0; 1_400]);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let healed = eventually(&bench, "one flow still", |all| {
        to(all, 1) && all[3].allocated_bps <= 200_000_000
    });
    println!("N and A are right {healed:?} after the losses");

    done.store(true, Ordering::Relaxed);
    writer.join().expect("no panic");
    eventually(&bench, "no flow", |all| all.iter().all(is_clear));
    let report = bench.stop();
    let port = &report.ports[4 + 3];
    println!(
        "{} of {} packets lost",
        port.drops,
        port.packets + port.drops
    );
    assert!(port.drops > 100, "{port:?}");
}
