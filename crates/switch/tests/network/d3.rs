//! D3 sockets across the router at the switch's ports.
#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

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

/// Rate of the switch's ports; hosts have ten times as much.
pub const PORT: Rate = Rate::from_mbps(100);
/// Timeout that only a stalled machine exceeds.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Starts hosts around a switch with D3 and this limit at its ports.
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
    Bench::new(&Config::star(
        "star",
        interfaces(hosts, uplink),
        &port,
        None,
    ))
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 9, 0, host as u8 + 1], 7_000))
}

/// Opens an endpoint in the calling thread's namespace.
fn endpoint(address: SocketAddr) -> Endpoint {
    let mut options = Options::new(PORT);
    options.uplink = Rate::from_gbps(1);
    Endpoint::bind(address, options).expect("an endpoint")
}

/// Accepts streams at a host and discards their data until the test ends.
fn sink(bench: &Bench, host: usize) {
    let listener = bench.in_host(host, || endpoint(address(host)).listen(64));
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                // The stream of a killed sender ends with an error.
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

/// Returns D3's reports of the ports to the hosts.
fn routers(bench: &Bench) -> Vec<D3Report> {
    let ports = bench.report().ports;
    ports.iter().filter_map(|port| port.d3).collect()
}

/// Waits until the condition on the routers holds.
pub fn eventually(bench: &Bench, label: &str, condition: impl Fn(&[D3Report]) -> bool) -> Duration {
    let began = Instant::now();
    loop {
        let routers = routers(bench);
        if condition(&routers) {
            return began.elapsed();
        }
        assert!(began.elapsed() < PATIENCE, "{label}: {routers:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn is_clear(router: &D3Report) -> bool {
    (router.flows, router.demand_bps, router.allocated_bps) == (0, 0, 0)
}

/// Sends bytes and reads the same number back. Returns the sender's final statistics and the largest granted rate.
fn exchange(stream: &mut Stream, data: &[u8]) -> (Statistics, Rate) {
    let mut highest = Rate::from_bps(0);
    for part in data.chunks(50_000) {
        stream.write_all(part).expect("sent");
        highest = highest.max(stream.statistics().granted);
    }
    stream.close().expect("delivered");
    let statistics = stream.statistics();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("an answer");
    assert!(back == data, "other bytes");
    (statistics, highest)
}

#[test]
fn hosts_send_at_granted_rates() {
    let Some(bench) = routed(2, Limit::Unlimited) else {
        return;
    };
    let listener = bench.in_host(1, || endpoint(address(1)).listen(8));
    let flow = |bytes| Flow::new(bytes, Some(Duration::from_secs(5)));
    let data = bytes(1_500_000);
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a stream");
        let mut query = Vec::new();
        stream.read_to_end(&mut query).expect("bytes");
        stream.open(flow(query.len() as u64)).expect("opened");
        stream.write_all(&query).expect("sent");
        stream.close().expect("delivered");
        let statistics = stream.statistics();
        drop(stream);
        // The endpoint must stay to answer repeated FINs.
        (statistics, listener)
    });
    let client = bench.in_host(0, || endpoint(address(0)));
    let stream = client.connect(address(1), flow(data.len() as u64));
    let mut stream = stream.expect("connected");
    let (sent, highest) = exchange(&mut stream, &data);
    let (answered, _listener) = echo.join().expect("no panic");
    for statistics in [sent, answered] {
        // Hop 0 is the sending host, hop 1 the switch.
        assert_eq!(statistics.hops, 2, "{statistics:?}");
        assert_eq!(statistics.acked, 1_500_000);
        let deadline = statistics.deadline.expect("a deadline");
        let took = statistics.delivered_at.expect("delivered");
        println!(
            "1.5 MB: {:.1} ms before the deadline; {} requests, {} retransmissions",
            deadline.since(took).as_ns() as f64 / 1e6,
            statistics.counters.requests,
            statistics.counters.retransmits
        );
    }
    // The host's own interface has 1 Gbps, but C of the port is at most twice its rate (D3 §4.4).
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

/// Sends for a long time, in a process that another test starts.
#[test]
#[ignore = "started and killed by another test"]
fn sender_to_be_killed() {
    let Ok(to) = std::env::var("D3_SENDS_TO") else {
        println!("skipped: started by another test");
        return;
    };
    let to: SocketAddr = to.parse().expect("an address");
    let endpoint = endpoint(SocketAddr::from(([0, 0, 0, 0], 0)));
    let flow = Flow::new(100_000_000, Some(Duration::from_secs(40)));
    let mut stream = endpoint.connect(to, flow).expect("connected");
    while stream.write_all(&[7; 10_000]).is_ok() {}
}

/// Sending process that is killed on drop.
pub struct Killed(Child);

impl Killed {
    pub fn start(bench: &Bench, host: usize, to: SocketAddr) -> Self {
        let path = std::env::current_exe().expect("the path of this program");
        let child = bench.in_host(host, || {
            Command::new(path)
                .args(["--ignored", "--exact", "d3::sender_to_be_killed"])
                .env("D3_SENDS_TO", to.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        Self(child.expect("started"))
    }
}

impl Drop for Killed {
    /// Sends SIGKILL.
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("ended");
    }
}

#[test]
fn counters_recover_from_kills_and_losses() {
    // A limit of eight packets causes drops with any other traffic.
    let Some(bench) = routed(4, Limit::Packets(8)) else {
        return;
    };
    sink(&bench, 3);
    let survivor = bench.in_host(0, || endpoint(address(0)));
    let stream = survivor.connect(address(3), Flow::unknown());
    let mut stream = stream.expect("connected");
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let done = Arc::clone(&done);
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                stream.write_all(&[7; 10_000]).expect("sent");
            }
            stream.close().expect("delivered");
        })
    };
    let has_flows = |routers: &[D3Report], flows: u64| routers[3].flows == flows;
    eventually(&bench, "one flow", |all| has_flows(all, 1));

    let victims = [1, 2].map(|host| Killed::start(&bench, host, address(3)));
    eventually(&bench, "three flows", |all| has_flows(all, 3));
    drop(victims);
    let healed = eventually(&bench, "one flow again", |all| has_flows(all, 1));
    println!("N correct {healed:?} after two hosts were killed");

    // Send datagrams of another protocol, so that the port drops packets, some with requests.
    let noise = bench.in_host(1, || UdpSocket::bind("10.9.0.2:9").expect("a socket"));
    noise.connect(address(3)).expect("an address");
    for _ in 0..400 {
        for _ in 0..12 {
            // A full queue may drop the datagram.
            let _ = noise.send(&[0; 1_400]);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let healed = eventually(&bench, "one flow still", |all| {
        has_flows(all, 1) && all[3].allocated_bps <= 200_000_000
    });
    println!("N and A correct {healed:?} after the losses");

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
