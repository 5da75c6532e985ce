//! What the switch can carry and how late it is, between namespaces of this machine (as root):
//! `cargo run --release -p duetime-switch --example forward -- BUSY`, where BUSY threads compute all the while; with
//! `requests` instead, what D3's router at the port adds where every packet carries a rate request.
#![cfg_attr(
    not(target_os = "linux"),
    allow(unused, reason = "the switch is for Linux")
)]
#![allow(clippy::print_stdout, reason = "it measures")]

#[cfg(target_os = "linux")]
#[path = "../tests/network/bench.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod bench;
#[cfg(target_os = "linux")]
#[path = "../tests/network/namespace.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod namespace;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    match std::env::args().nth(1) {
        Some(word) if word == "requests" => measure::requests(),
        word => measure::all(word.and_then(|text| text.parse().ok()).unwrap_or(0)),
    }
}

#[cfg(target_os = "linux")]
mod measure {
    use crate::bench::{Bench, interfaces, link};
    use duetime_core::{Rate, Span};
    use duetime_proto::d3::datagram::{self, Header, Kind, UDP_IPV4_BYTES};
    use duetime_proto::d3::{self, EncodedRate, Flags, Packet, Request};
    use duetime_switch::{Config, Limit, Report, plain_port};
    use std::hint::black_box;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    const TIME: Duration = Duration::from_secs(4);

    /// Prints everything, beside this many busy threads.
    pub fn all(busy: usize) {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        println!(
            "{busy} busy threads, {cores} cores, {} s each",
            TIME.as_secs()
        );
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..busy {
                scope.spawn(|| {
                    let mut number = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        number = black_box(number.wrapping_mul(3).wrapping_add(1));
                    }
                });
            }
            for real_time in [false, true] {
                for bytes in [64, 1_500] {
                    carried(bytes, real_time);
                }
                for mbps in [10, 100, 250] {
                    late(mbps, real_time);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    fn scheduler(real_time: bool) -> &'static str {
        if real_time { "SCHED_FIFO" } else { "normal" }
    }

    /// IP packets that carry a request: the smallest, and the largest.
    const REQUESTS: [usize; 2] = [UDP_IPV4_BYTES as usize + Request::WIRE_BYTES, 1_500];
    /// Runs of each kind, in turn.
    const TURNS: usize = 5;

    /// Packets with rate requests through a port without and with D3's router.
    pub fn requests() {
        for bytes in REQUESTS {
            let mut costs = [Vec::new(), Vec::new()];
            let mut rates = [Vec::new(), Vec::new()];
            for turn in 0..2 * TURNS {
                let routed = turn % 2 == 1;
                let data = asking(bytes);
                let Some(report) = flood(Rate::from_gbps(400), &data, f64::INFINITY, true, routed)
                else {
                    return;
                };
                let packets = report.interfaces[1].sent_packets as f64;
                costs[usize::from(routed)].push(report.cpu_ns as f64 / packets);
                rates[usize::from(routed)].push(packets / TIME.as_secs_f64());
            }
            let [plain, with] = costs.map(median);
            let [plain_rate, with_rate] = rates.map(median);
            println!(
                "{bytes} bytes with a request: {plain_rate:.0} packets/s, {plain:.0} ns of processor time each; answered \
                 by D3's router {with_rate:.0} packets/s, {with:.0} ns: {:.3} times",
                with / plain
            );
        }
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// The datagram of a flow that asks for a little in each packet.
    fn asking(bytes: usize) -> Vec<u8> {
        let payload = vec![7; bytes - REQUESTS[0]];
        let rate = EncodedRate::from_byte(1);
        let header = Header {
            kind: Kind::Packet,
            destination: 1,
            source: 2,
            window: 0,
            packet: Packet {
                len: u32::try_from(payload.len()).expect("it is short"),
                flags: Flags::default(),
                request: Some(Request {
                    desired: rate,
                    previous_desired: rate,
                    scale: d3::Config::scale_for(Rate::from_gbps(400)),
                    ..Request::default()
                }),
                ..Packet::default()
            },
        };
        let mut datagram = Vec::new();
        datagram::encode(&header, (&payload, &[]), &mut datagram).expect("it has a form");
        datagram
    }

    /// Two hosts, of which the first sends datagrams with this payload, `pps` a second or as fast as it can.
    fn flood(rate: Rate, data: &[u8], pps: f64, real_time: bool, d3: bool) -> Option<Report> {
        let mut port = plain_port(rate);
        port.d3 = d3;
        port.limit = Limit::Packets(1_000);
        let uplink = link(Rate::from_gbps(400), Span::ZERO);
        let mut config = Config::star("star", interfaces(2, uplink), &port, None);
        config.options.real_time = real_time;
        let bench = Bench::of(&config)?;
        let sink = bench.in_host(1, || UdpSocket::bind("10.9.0.2:4000").expect("a socket"));
        let source = bench.in_host(0, || UdpSocket::bind("10.9.0.1:4000").expect("a socket"));
        source.connect("10.9.0.2:4000").expect("an address");
        let start = Instant::now();
        let mut sent = 0.0;
        while start.elapsed() < TIME {
            if sent < start.elapsed().as_secs_f64() * pps {
                // A full queue is no error here.
                let _ = source.send(data);
                sent += 1.0;
            } else {
                thread::sleep(Duration::from_micros(100));
            }
        }
        thread::sleep(Duration::from_millis(300));
        drop(sink);
        Some(bench.stop())
    }

    fn carried(bytes: usize, real_time: bool) {
        let Some(report) = flood(
            Rate::from_gbps(400),
            &vec![7; bytes - 28],
            f64::INFINITY,
            real_time,
            false,
        ) else {
            return;
        };
        let packets = report.interfaces[1].sent_packets as f64;
        let seconds = TIME.as_secs_f64();
        println!(
            "{bytes} bytes, {}: {:.0} packets/s ({:.2} Gbps), {:.0} ns of processor time each, {} lost before the switch",
            scheduler(real_time),
            packets / seconds,
            packets * 8.0 * bytes as f64 / seconds / 1e9,
            report.cpu_ns as f64 / packets,
            report.kernel_drops,
        );
    }

    /// A port that is loaded to nine tenths with packets of 1500 bytes.
    fn late(mbps: u64, real_time: bool) {
        let pps = 0.9 * mbps as f64 * 1e6 / 12_000.0;
        let Some(report) = flood(Rate::from_mbps(mbps), &[7; 1_472], pps, real_time, false) else {
            return;
        };
        let us = |ns: u64| ns as f64 / 1e3;
        let late = &report.lateness;
        println!(
            "{mbps} Mbps, {}: late by {:.0} us at the median, {:.0} at 99 %, {:.0} at 99.9 %, {:.0} at most; \
             processor {:.1} %; {} behind",
            scheduler(real_time),
            us(late.p50_ns),
            us(late.p99_ns),
            us(late.p999_ns),
            us(late.max_ns),
            report.cpu_ns as f64 / report.wall_ns as f64 * 100.0,
            report.behind_packets,
        );
    }
}
