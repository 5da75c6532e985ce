//! Measures the switch's throughput and lateness between namespaces (as root):
//! `cargo run --release -p duetime-switch --example forward -- BUSY`, with BUSY computing threads. With `requests`,
//! measures the cost of D3's router for packets with rate requests, and with `requests --json` prints one line of JSON
//! per measurement.
#![cfg_attr(
    not(target_os = "linux"),
    allow(unused, reason = "the switch requires Linux")
)]
#![allow(clippy::print_stdout, reason = "prints measurements")]

#[cfg(target_os = "linux")]
#[path = "../tests/network/bench.rs"]
#[allow(dead_code, reason = "other parts are used by the tests")]
mod bench;
#[cfg(target_os = "linux")]
#[path = "../tests/network/namespace.rs"]
#[allow(dead_code, reason = "other parts are used by the tests")]
mod namespace;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    match std::env::args().nth(1) {
        Some(word) if word == "requests" => {
            measure::requests(std::env::args().nth(2).is_some_and(|word| word == "--json"));
        }
        word => measure::all(word.and_then(|text| text.parse().ok()).unwrap_or(0)),
    }
}

#[cfg(target_os = "linux")]
mod measure {
    use crate::bench::{Bench, interfaces, link};
    use duetime_core::{Rate, Span};
    use duetime_proto::d3::wire::{self, Header, UDP_IPV4_BYTES};
    use duetime_proto::d3::{self, EncodedRate, Flags, Packet, Request};
    use duetime_switch::{Config, Limit, Report, plain_port};
    use std::hint::black_box;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    const TIME: Duration = Duration::from_secs(4);

    /// Prints all measurements, with this many busy threads.
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
                    throughput(bytes, real_time);
                }
                for mbps in [10, 100, 250] {
                    lateness(mbps, real_time);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    fn scheduler(real_time: bool) -> &'static str {
        if real_time { "SCHED_FIFO" } else { "normal" }
    }

    /// Size of the smallest IP packet with a request.
    const SMALLEST: usize = UDP_IPV4_BYTES as usize + Request::WIRE_BYTES;
    /// Number of runs per kind, interleaved.
    const TURNS: usize = 7;
    /// Duration of each run.
    const TURN: Duration = Duration::from_secs(2);

    /// Kind of packet and port.
    struct Kind {
        bytes: usize,
        /// True if packets have a request.
        asks: bool,
        /// True if the port has D3's router.
        routed: bool,
    }

    const fn kind(bytes: usize, asks: bool, routed: bool) -> Kind {
        Kind {
            bytes,
            asks,
            routed,
        }
    }

    /// Each kind with a router directly follows the same kind without, for comparison.
    const KINDS: [Kind; 6] = [
        kind(64, false, false),
        kind(SMALLEST, true, false),
        kind(SMALLEST, true, true),
        kind(1_500, false, false),
        kind(1_500, true, false),
        kind(1_500, true, true),
    ];

    /// Measures packets per second and the switch's processor time per packet, for packets without requests, and with
    /// requests through ports without and with D3's router.
    pub fn requests(as_json: bool) {
        let mut rates = KINDS.map(|_| Vec::new());
        let mut costs = KINDS.map(|_| Vec::new());
        for _ in 0..TURNS {
            for (number, kind) in KINDS.iter().enumerate() {
                let data = if kind.asks {
                    asking(kind.bytes)
                } else {
                    vec![7; kind.bytes - 28]
                };
                let rate = Rate::from_gbps(400);
                let Some(report) = flood(rate, &data, f64::INFINITY, true, kind.routed, TURN)
                else {
                    return;
                };
                let packets = report.interfaces[1].sent_packets as f64;
                rates[number].push(packets / TURN.as_secs_f64());
                costs[number].push(report.cpu_ns as f64 / packets);
            }
        }
        for (number, kind) in KINDS.iter().enumerate() {
            let ratio = kind.routed.then(|| {
                let pairs = costs[number].iter().zip(&costs[number - 1]);
                median(pairs.map(|(with, without)| with / without).collect())
            });
            let (rate, cost) = (median(rates[number].clone()), median(costs[number].clone()));
            print(kind, rate, cost, ratio, as_json);
        }
    }

    fn print(kind: &Kind, rate: f64, cost: f64, ratio: Option<f64>, as_json: bool) {
        let &Kind {
            bytes,
            asks,
            routed,
        } = kind;
        if as_json {
            let ratio = ratio.map_or("null".to_owned(), |ratio| format!("{ratio:.4}"));
            println!(
                r#"{{"work":"switch-forward","packet_bytes":{bytes},"carries_request":{asks},"requests":{routed},"packets_per_s":{rate:.0},"cpu_ns":{cost:.1},"ratio":{ratio}}}"#
            );
            return;
        }
        let label = match (asks, routed) {
            (false, _) => "plain",
            (true, false) => "request, not answered",
            (true, true) => "request, answered",
        };
        let ratio = ratio.map_or(String::new(), |ratio| format!(", {ratio:.3} times"));
        println!(
            "{bytes} bytes, {label}: {rate:.0} packets/s, {cost:.0} ns processor time per packet{ratio}"
        );
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Returns a datagram with a request for a small rate.
    fn asking(bytes: usize) -> Vec<u8> {
        let payload = vec![7; bytes - SMALLEST];
        let rate = EncodedRate::from_byte(1);
        let header = Header {
            kind: wire::Kind::Packet,
            destination: 1,
            source: 2,
            window: 0,
            packet: Packet {
                len: u32::try_from(payload.len()).expect("a short payload"),
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
        wire::encode(&header, (&payload, &[]), &mut datagram).expect("an encodable header");
        datagram
    }

    /// Sends datagrams with this payload from the first of two hosts, `pps` per second or as fast as possible, for
    /// `time`, and returns the switch's report.
    fn flood(
        rate: Rate,
        data: &[u8],
        pps: f64,
        real_time: bool,
        d3: bool,
        time: Duration,
    ) -> Option<Report> {
        let mut port = plain_port(rate);
        port.d3 = d3;
        port.limit = Limit::Packets(1_000);
        let uplink = link(Rate::from_gbps(400), Span::ZERO);
        let mut config = Config::star("star", interfaces(2, uplink), &port, None);
        config.options.real_time = real_time;
        let bench = Bench::new(&config)?;
        let sink = bench.in_host(1, || UdpSocket::bind("10.9.0.2:4000").expect("a socket"));
        let source = bench.in_host(0, || UdpSocket::bind("10.9.0.1:4000").expect("a socket"));
        source.connect("10.9.0.2:4000").expect("an address");
        let start = Instant::now();
        let mut sent = 0.0;
        while start.elapsed() < time {
            if sent < start.elapsed().as_secs_f64() * pps {
                // A full queue may drop the datagram.
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

    fn throughput(bytes: usize, real_time: bool) {
        let Some(report) = flood(
            Rate::from_gbps(400),
            &vec![7; bytes - 28],
            f64::INFINITY,
            real_time,
            false,
            TIME,
        ) else {
            return;
        };
        let packets = report.interfaces[1].sent_packets as f64;
        let seconds = TIME.as_secs_f64();
        println!(
            "{bytes} bytes, {}: {:.0} packets/s ({:.2} Gbps), {:.0} ns processor time per packet, {} lost before the switch",
            scheduler(real_time),
            packets / seconds,
            packets * 8.0 * bytes as f64 / seconds / 1e9,
            report.cpu_ns as f64 / packets,
            report.kernel_drops,
        );
    }

    /// Measures lateness at 90 % load with packets of 1500 bytes.
    fn lateness(mbps: u64, real_time: bool) {
        let pps = 0.9 * mbps as f64 * 1e6 / 12_000.0;
        let Some(report) = flood(
            Rate::from_mbps(mbps),
            &[7; 1_472],
            pps,
            real_time,
            false,
            TIME,
        ) else {
            return;
        };
        let us = |ns: u64| ns as f64 / 1e3;
        let late = &report.lateness;
        println!(
            "{mbps} Mbps, {}: late by {:.0} us (median), {:.0} (99 %), {:.0} (99.9 %), {:.0} (max); \
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
