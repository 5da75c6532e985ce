//! What the switch can carry and how late it is, between namespaces of this machine (as root):
//! `cargo run --release -p duetime-switch --example forward -- BUSY`, where BUSY threads compute all the while; with
//! `requests` instead, what D3's router at the port adds where every packet carries a rate request, and with
//! `requests --json` the same as one line of JSON per measurement.
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
    use duetime_proto::d3::datagram::{self, Header, UDP_IPV4_BYTES};
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

    /// The smallest IP packet that carries a request.
    const SMALLEST: usize = UDP_IPV4_BYTES as usize + Request::WIRE_BYTES;
    /// Runs of each kind, in turn.
    const TURNS: usize = 7;
    /// How long each of them sends.
    const TURN: Duration = Duration::from_secs(2);

    /// A kind of packet, and what the port does with it.
    struct Kind {
        bytes: usize,
        /// Packets have a request.
        asks: bool,
        /// The port has D3's router.
        routed: bool,
    }

    const fn kind(bytes: usize, asks: bool, routed: bool) -> Kind {
        Kind {
            bytes,
            asks,
            routed,
        }
    }

    /// An answered request follows the same packet without an answer, with which it is compared.
    const KINDS: [Kind; 6] = [
        kind(64, false, false),
        kind(SMALLEST, true, false),
        kind(SMALLEST, true, true),
        kind(1_500, false, false),
        kind(1_500, true, false),
        kind(1_500, true, true),
    ];

    /// Packets a second, and processor time of the switch per packet: plain ones, and with rate requests through a port
    /// without and with D3's router.
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
        let what = match (asks, routed) {
            (false, _) => "plain",
            (true, false) => "request, not answered",
            (true, true) => "request, answered",
        };
        let ratio = ratio.map_or(String::new(), |ratio| format!(", {ratio:.3} times"));
        println!(
            "{bytes} bytes, {what}: {rate:.0} packets/s, {cost:.0} ns of processor time each{ratio}"
        );
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// The datagram of a flow that asks for a little in each packet.
    fn asking(bytes: usize) -> Vec<u8> {
        let payload = vec![7; bytes - SMALLEST];
        let rate = EncodedRate::from_byte(1);
        let header = Header {
            kind: datagram::Kind::Packet,
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

    /// Two hosts, of which the first sends datagrams with this payload, `pps` a second or as fast as it can, for
    /// this long.
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
        let bench = Bench::of(&config)?;
        let sink = bench.in_host(1, || UdpSocket::bind("10.9.0.2:4000").expect("a socket"));
        let source = bench.in_host(0, || UdpSocket::bind("10.9.0.1:4000").expect("a socket"));
        source.connect("10.9.0.2:4000").expect("an address");
        let start = Instant::now();
        let mut sent = 0.0;
        while start.elapsed() < time {
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
            TIME,
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
