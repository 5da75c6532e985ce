//! D3's router: what a rate request costs, alone and as a part of forwarding, without I/O. Each measurement is a process
//! of its own, which forwards one kind of packet for a number of rounds.

#![expect(
    clippy::cast_possible_truncation,
    reason = "lengths and counts of a measurement are small"
)]

use duetime_core::{Rate, Span, Time};
use duetime_measure::{Counter, Program, lines, median};
use duetime_proto::d3::datagram::{self, Header, Kind, Routed, UDP_IPV4_BYTES};
use duetime_proto::d3::{self, EncodedRate, Flags, Packet, PortDriver, Request};
use duetime_switch::{Config, Fabric, plain_interface, plain_port};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// The most that answering a request may take, in nanoseconds. The router of the paper took 208 for a packet.
const MOST_NS: f64 = 60.0;
/// The most that forwarding packets that all carry a request may take, over the same packets where no router answers.
const MOST_RATIO: f64 = 1.1;
/// The smallest IP packet that carries a request.
const SMALLEST: usize = UDP_IPV4_BYTES as usize + Request::WIRE_BYTES;

/// Packets of a measurement in nanoseconds, and the fewer of which instructions are counted.
const ROUNDS: u64 = 1_000_000;
const COUNTED: u64 = 200_000;
const PAIRS: usize = 101;

/// Flows whose requests come in turn.
const FLOWS: usize = 64;
/// Packets that come before those that are due are sent.
const BATCH: u64 = 32;
/// The time between two packets.
const GAP: Span = Span::from_ns(150);
/// Faster than the packets come, so that no queue builds up.
const PORT: Rate = Rate::from_gbps(100);

/// Measures, prints, and says whether the gates are met.
#[expect(clippy::print_stdout, reason = "a program whose output is its purpose")]
pub(crate) fn run(as_json: bool) -> Result<bool, String> {
    let counter = Counter::find();
    let request = Cost::of("request", 0, counter)?;
    let mut rows = vec![row("router-request", 0, true, &request, None)];
    let mut met = request.ns <= MOST_NS;
    let mut ratios = Vec::new();
    for bytes in [SMALLEST, 1_500] {
        let (plain, routed, ratio) = Cost::pair(bytes, counter)?;
        rows.push(row("router-forward", bytes, false, &plain, None));
        rows.push(row("router-forward", bytes, true, &routed, Some(ratio)));
        met &= ratio <= MOST_RATIO;
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
    let gate = |what: String, value: String, met: bool| {
        println!(
            "  {what:<62} {value:>8}  {}",
            if met { "met" } else { "NOT MET" }
        );
    };
    gate(
        format!("a request: at most {MOST_NS} ns"),
        format!("{:.1} ns", request.ns),
        request.ns <= MOST_NS,
    );
    for (bytes, ratio) in ratios {
        gate(
            format!("{bytes} B with requests: at most {MOST_RATIO} × the time without"),
            format!("{ratio:.3}"),
            ratio <= MOST_RATIO,
        );
    }
    Ok(met)
}

/// The process that does the work of one measurement: `WHAT BYTES ROUNDS`.
#[expect(clippy::print_stdout, reason = "a program whose output is its purpose")]
pub(crate) fn child(what: &str, bytes: &str, rounds: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|why| format!("{text}: {why}"));
    let (bytes, rounds) = (number(bytes)? as usize, number(rounds)?);
    let ns = match what {
        "request" => answer(rounds),
        "plain" => forward(bytes, false, rounds),
        "routed" => forward(bytes, true, rounds),
        _ => return Err(format!("no such measurement: {what}")),
    };
    println!("{:.3}", ns / rounds as f64);
    Ok(())
}

/// What one packet costs.
struct Cost {
    ns: f64,
    instructions: Option<f64>,
}

impl Cost {
    fn of(what: &str, bytes: usize, counter: Counter) -> Result<Self, String> {
        let times = (0..PAIRS).map(|_| time(what, bytes));
        Ok(Self {
            ns: median(times.collect::<Result<_, _>>()?),
            instructions: instructions(what, bytes, counter)?,
        })
    }

    /// Without and with the router, in turn; and the median of the pairs' ratios.
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
        let of = |which: usize, ns| {
            let instructions = instructions(kinds[which], bytes, counter)?;
            Ok::<_, String>(Self { ns, instructions })
        };
        Ok((of(0, plain)?, of(1, routed)?, ratio))
    }
}

fn program(what: &str, bytes: usize, rounds: u64) -> Result<Program, String> {
    let (bytes, rounds) = (bytes.to_string(), rounds.to_string());
    Program::own(&["router-child", what, &bytes, &rounds])
}

/// Nanoseconds of a packet.
fn time(what: &str, bytes: usize) -> Result<f64, String> {
    program(what, bytes, ROUNDS)?.number()
}

/// Instructions of a packet: what so many more cost.
fn instructions(what: &str, bytes: usize, counter: Counter) -> Result<Option<f64>, String> {
    let few = counter.count(&program(what, bytes, COUNTED)?);
    let many = counter.count(&program(what, bytes, 2 * COUNTED)?);
    let more = few.zip(many).map(|(few, many)| many.saturating_sub(few));
    Ok(more.map(|more| more as f64 / COUNTED as f64))
}

/// D3's options, with the scale of the port.
fn options() -> d3::Config {
    d3::Config {
        scale: Some(d3::Config::scale_for(PORT)),
        ..d3::Config::default()
    }
}

/// A packet's UDP payload: D3's, with the request of a flow that has asked before.
fn asking(flow: usize, bytes: usize) -> Vec<u8> {
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
    datagram::encode(&header, (&payload, &[]), &mut datagram).expect("it has a form");
    datagram
}

/// Answers so many requests as a router does, each in its datagram. In nanoseconds, those of copying the datagram into
/// its place included, as a packet comes.
fn answer(rounds: u64) -> f64 {
    let config = options();
    let mut driver = PortDriver::new(&config, PORT, Span::ZERO);
    let datagrams: Vec<Vec<u8>> = (0..FLOWS).map(|flow| asking(flow, SMALLEST)).collect();
    let mut place = datagrams[0].clone();
    let mut now = Time::ZERO;
    let start = Instant::now();
    for round in 0..rounds {
        place.copy_from_slice(&datagrams[round as usize % FLOWS]);
        now += GAP;
        if driver.next_timeout() <= now {
            let reading = d3::Reading {
                departed_bytes: round * 1_500,
                queue_bytes: 0,
            };
            driver.timeout(&config, now, reading);
        }
        let routed = datagram::route(&mut place, |asked| driver.answer(&config, now, asked));
        assert!(matches!(routed, Routed::Answered { .. }), "it is a request");
        black_box(&mut place);
    }
    start.elapsed().as_nanos() as f64
}

/// Forwards so many packets of this length through a switch, all of them with a request, which its ports answer or not.
fn forward(bytes: usize, routed: bool, rounds: u64) -> f64 {
    let mut port = plain_port(PORT);
    port.d3 = routed;
    let interfaces = ["a", "b"].map(|name| plain_interface(name, &port));
    let mut config = Config::star("switch", interfaces.to_vec(), &port, None);
    for (number, interface) in (1..).zip(&mut config.interfaces) {
        interface.address = Some([10, 9, 0, number].into());
    }
    let mut fabric = Fabric::new(&config, 1_600).expect("the network makes sense");
    let frames: Vec<Vec<u8>> = (0..FLOWS).map(|flow| frame(flow, bytes)).collect();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let start = Instant::now();
    for round in 0..rounds {
        now += GAP;
        let taken = fabric.offer(now, 0, &frames[round as usize % FLOWS]);
        taken.expect("the switch has a free buffer");
        if round % BATCH == 0 {
            sent += drain(&mut fabric, now);
        }
    }
    let took = start.elapsed().as_nanos() as f64;
    sent += drain(&mut fabric, now + Span::from_ms(1));
    assert_eq!(sent, rounds, "nothing is lost");
    let requests = fabric.ports().into_iter().filter_map(|port| port.d3);
    let requests: u64 = requests.map(|d3| d3.requests).sum();
    assert_eq!(requests, if routed { rounds } else { 0 });
    took
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

/// An Ethernet frame with an IPv4 packet of this length from the first host to the second.
fn frame(flow: usize, bytes: usize) -> Vec<u8> {
    let datagram = asking(flow, bytes);
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((bytes as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend([0x1b, 0x58, 0x1b, flow as u8]);
    frame.extend((8 + datagram.len() as u16).to_be_bytes());
    // A UDP checksum, which a router keeps right whatever it was.
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
