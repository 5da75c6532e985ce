//! Cost of D3's router: answering a rate request, alone and while forwarding, without I/O. Each measurement runs in a
//! separate process that forwards one kind of packet for a number of rounds.

#![expect(
    clippy::cast_possible_truncation,
    reason = "lengths and counts in a measurement are small"
)]

use duetime_core::{Rate, Span, Time};
use duetime_measure::{Counter, Program, lines, median};
use duetime_proto::d3::wire::{self, Header, Kind, Routed, UDP_IPV4_BYTES};
use duetime_proto::d3::{self, EncodedRate, Flags, Packet, PortDriver, Request};
use duetime_switch::{Config, Fabric, plain_interface, plain_port};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// Maximum time to answer a request, in nanoseconds. The paper's router took 208 ns per packet.
const MAX_NS: f64 = 60.0;
/// Maximum time to forward packets that all carry a request, as a ratio to the same packets without a D3 router.
const MAX_RATIO: f64 = 1.1;
/// Size of the smallest IP packet that carries a request.
const SMALLEST: usize = UDP_IPV4_BYTES as usize + Request::WIRE_BYTES;

/// Packets per timed measurement; instructions are counted over the smaller number below.
const ROUNDS: u64 = 1_000_000;
const COUNTED: u64 = 200_000;
const PAIRS: usize = 101;

/// Number of flows, which send requests in turn.
const FLOWS: usize = 64;
/// Packets offered between two polls of the transmitter.
const BATCH: u64 = 32;
/// Time between two packets.
const GAP: Span = Span::from_ns(150);
/// Port rate, above the packet rate so that no queue builds up.
const PORT: Rate = Rate::from_gbps(100);

/// Measures, prints the results and returns true if the gates are met.
#[expect(clippy::print_stdout, reason = "this program prints its results")]
pub(crate) fn run(as_json: bool) -> Result<bool, String> {
    let counter = Counter::find();
    let request = Cost::measure("request", 0, counter)?;
    let mut rows = vec![row("router-request", 0, true, &request, None)];
    let mut met = request.ns <= MAX_NS;
    let mut ratios = Vec::new();
    for bytes in [SMALLEST, 1_500] {
        let (plain, routed, ratio) = Cost::pair(bytes, counter)?;
        rows.push(row("router-forward", bytes, false, &plain, None));
        rows.push(row("router-forward", bytes, true, &routed, Some(ratio)));
        met &= ratio <= MAX_RATIO;
        ratios.push((bytes, ratio));
    }
    if as_json {
        for row in &rows {
            println!("{row}");
        }
        return Ok(met);
    }
    println!("{}", table(&rows));
    println!("Instructions: {}.\n\nGates", counter.name());
    let gate = |label: String, value: String, met: bool| {
        println!(
            "  {label:<62} {value:>8}  {}",
            if met { "met" } else { "NOT MET" }
        );
    };
    gate(
        format!("answering a request: at most {MAX_NS} ns"),
        format!("{:.1} ns", request.ns),
        request.ns <= MAX_NS,
    );
    for (bytes, ratio) in ratios {
        gate(
            format!("forwarding {bytes} B with requests: at most {MAX_RATIO} × the time without"),
            format!("{ratio:.3}"),
            ratio <= MAX_RATIO,
        );
    }
    Ok(met)
}

/// Runs the process that performs one measurement, with the arguments `WHAT BYTES ROUNDS`.
#[expect(clippy::print_stdout, reason = "this program prints its results")]
pub(crate) fn child(kind: &str, bytes: &str, rounds: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|why| format!("{text}: {why}"));
    let (bytes, rounds) = (number(bytes)? as usize, number(rounds)?);
    let ns = match kind {
        "request" => answer(rounds),
        "plain" => forward(bytes, false, rounds),
        "routed" => forward(bytes, true, rounds),
        _ => return Err(format!("unknown measurement: {kind}")),
    };
    println!("{:.3}", ns / rounds as f64);
    Ok(())
}

/// Cost of one packet.
struct Cost {
    ns: f64,
    instructions: Option<f64>,
}

impl Cost {
    fn measure(kind: &str, bytes: usize, counter: Counter) -> Result<Self, String> {
        let times = (0..PAIRS).map(|_| time(kind, bytes));
        Ok(Self {
            ns: median(times.collect::<Result<_, _>>()?),
            instructions: instructions(kind, bytes, counter)?,
        })
    }

    /// Measures without and with the router, in turn. Returns both costs and the median ratio of the pairs.
    fn pair(bytes: usize, counter: Counter) -> Result<(Self, Self, f64), String> {
        let kinds = ["plain", "routed"];
        let mut times = [Vec::new(), Vec::new()];
        for pair in 0..PAIRS {
            for turn in 0..2 {
                let which = (pair + turn) % 2;
                times[which].push(time(kinds[which], bytes)?);
            }
        }
        let ratios = times[1]
            .iter()
            .zip(&times[0])
            .map(|(with, without)| with / without);
        let ratio = median(ratios.collect());
        let [plain, routed] = times.map(median);
        let cost = |which: usize, ns| {
            let instructions = instructions(kinds[which], bytes, counter)?;
            Ok::<_, String>(Self { ns, instructions })
        };
        Ok((cost(0, plain)?, cost(1, routed)?, ratio))
    }
}

fn program(kind: &str, bytes: usize, rounds: u64) -> Result<Program, String> {
    let (bytes, rounds) = (bytes.to_string(), rounds.to_string());
    Program::own(&["router-child", kind, &bytes, &rounds])
}

/// Returns the nanoseconds per packet.
fn time(kind: &str, bytes: usize) -> Result<f64, String> {
    program(kind, bytes, ROUNDS)?.number()
}

/// Returns the instructions per packet, as the difference between two run lengths.
fn instructions(kind: &str, bytes: usize, counter: Counter) -> Result<Option<f64>, String> {
    let few = counter.count(&program(kind, bytes, COUNTED)?);
    let many = counter.count(&program(kind, bytes, 2 * COUNTED)?);
    let more = few.zip(many).map(|(few, many)| many.saturating_sub(few));
    Ok(more.map(|more| more as f64 / COUNTED as f64))
}

/// Returns D3's options with the scale of the port.
fn options() -> d3::Config {
    d3::Config::default().with(|c| c.wire.scale = Some(d3::Config::scale_for(PORT)))
}

/// Returns the UDP payload of a D3 packet with the request of an established flow.
fn datagram_with_request(flow: usize, bytes: usize) -> Vec<u8> {
    let payload = vec![7; bytes - SMALLEST];
    let rate = EncodedRate::from_byte(1 + flow as u8 % 3);
    let header = Header {
        kind: Kind::Packet,
        destination: 0x1234_5678 + flow as u64,
        source: 0x8765_4321,
        window: 0,
        packet: Packet {
            seq: 1_000_000,
            len: payload.len() as u32,
            flags: Flags::default(),
            request: Some(Request {
                desired: rate,
                scale: options().exponent(),
                index: 1,
                allocations: [100, 0, 0, 0, 0, 0].map(EncodedRate::from_byte),
                previous_desired: rate,
                previous_allocations: [100, 2, 0, 0, 0, 0].map(EncodedRate::from_byte),
                ..Request::default()
            }),
            ..Packet::default()
        },
    };
    let mut datagram = Vec::new();
    wire::encode(&header, (&payload, &[]), &mut datagram).expect("the header can be encoded");
    datagram
}

/// Answers `rounds` requests as a router does, each in its datagram. Returns the nanoseconds, including the copy of the
/// datagram into the buffer that stands for its arrival.
fn answer(rounds: u64) -> f64 {
    let config = options();
    let mut driver = PortDriver::new(&config, PORT, Span::ZERO);
    let datagrams: Vec<Vec<u8>> = (0..FLOWS)
        .map(|flow| datagram_with_request(flow, SMALLEST))
        .collect();
    let mut buffer = datagrams[0].clone();
    let mut now = Time::ZERO;
    let start = Instant::now();
    for round in 0..rounds {
        buffer.copy_from_slice(&datagrams[round as usize % FLOWS]);
        now += GAP;
        if driver.next_timeout() <= now {
            let reading = d3::Reading {
                departed_bytes: round * 1_500,
                queue_bytes: 0,
            };
            driver.timeout(&config, now, reading);
        }
        let routed = wire::route(&mut buffer, |request| driver.answer(&config, now, request));
        assert!(
            matches!(routed, Routed::Answered { .. }),
            "the datagram has a request"
        );
        black_box(&mut buffer);
    }
    start.elapsed().as_nanos() as f64
}

/// Forwards `rounds` packets of this length through a switch. All packets carry a request, which the ports answer if
/// `routed` is true. Returns the nanoseconds.
fn forward(bytes: usize, routed: bool, rounds: u64) -> f64 {
    let mut port = plain_port(PORT);
    port.d3 = routed;
    let interfaces = ["a", "b"].map(|name| plain_interface(name, &port));
    let mut config = Config::star("switch", interfaces.to_vec(), &port, None);
    for (number, interface) in (1..).zip(&mut config.interfaces) {
        interface.address = Some([10, 9, 0, number].into());
    }
    let mut fabric = Fabric::new(&config, 1_600).expect("the network is valid");
    let frames: Vec<Vec<u8>> = (0..FLOWS).map(|flow| frame(flow, bytes)).collect();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let start = Instant::now();
    for round in 0..rounds {
        now += GAP;
        let accepted = fabric.offer(now, 0, &frames[round as usize % FLOWS]);
        accepted.expect("the switch has a free buffer");
        if round % BATCH == 0 {
            sent += drain(&mut fabric, now);
        }
    }
    let elapsed = start.elapsed().as_nanos() as f64;
    sent += drain(&mut fabric, now + Span::from_ms(1));
    assert_eq!(sent, rounds, "no packet is lost");
    let requests = fabric.ports().into_iter().filter_map(|port| port.d3);
    let requests: u64 = requests.map(|d3| d3.requests).sum();
    assert_eq!(requests, if routed { rounds } else { 0 });
    elapsed
}

fn drain(fabric: &mut Fabric, now: Time) -> u64 {
    let mut sent = 0;
    while let Some(outgoing) = fabric.poll_transmit(now) {
        black_box(fabric.bytes(&outgoing));
        fabric.release(outgoing);
        sent += 1;
    }
    sent
}

/// Returns an Ethernet frame with an IPv4 packet of this length from the first host to the second.
fn frame(flow: usize, bytes: usize) -> Vec<u8> {
    let datagram = datagram_with_request(flow, bytes);
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((bytes as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend([0x1b, 0x58, 0x1b, flow as u8]);
    frame.extend((8 + datagram.len() as u16).to_be_bytes());
    // An arbitrary UDP checksum, which the router updates incrementally.
    frame.extend([0x12, 0x34]);
    frame.extend(datagram);
    frame
}

fn row(work: &str, bytes: usize, requests: bool, cost: &Cost, ratio: Option<f64>) -> Value {
    json!({
        "work": work,
        "packet_bytes": (bytes > 0).then_some(bytes),
        "requests": requests,
        "ns": cost.ns,
        "instructions": cost.instructions,
        "ratio": ratio,
    })
}

fn table(rows: &[Value]) -> String {
    let text = |value: &Value, digits: usize| {
        let number = value.as_f64();
        number.map_or("–".to_owned(), |number| format!("{number:.digits$}"))
    };
    let cells = rows.iter().map(|row| {
        let with = if row["requests"] == true { "yes" } else { "no" };
        vec![
            row["work"].as_str().unwrap_or_default().to_owned(),
            with.to_owned(),
            text(&row["packet_bytes"], 0),
            text(&row["ns"], 1),
            text(&row["instructions"], 0),
            text(&row["ratio"], 3),
        ]
    });
    let cells: Vec<_> = cells.collect();
    let head = ["work", "answered", "bytes", "ns", "instructions", "ratio"];
    lines(&head, 2, &cells)
}
