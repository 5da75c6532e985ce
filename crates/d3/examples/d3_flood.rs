//! Floods a listener with forged SYNs and random datagrams while clients send it queries with deadlines. Prints the
//! listener's memory and the number of deadlines met, without and with the flood.
//!
//! ```sh
//! cargo run --release -p duetime-d3 --example d3_flood                  # a million of each, 50,000 per second
//! cargo run --release -p duetime-d3 --example d3_flood -- 100000 20000  # 100,000 of each, 20,000 per second
//! ```
//!
//! The listener is a separate process, so that its memory can be measured. The flood comes from 250 addresses in
//! 127.0.0.0/8, which never reply. Linux only, on loopback.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use duetime_d3::{Endpoint, Flow, Options, Rate};
use duetime_proto::d3::wire::{Header, Kind, encode};
use duetime_proto::d3::{Flags, Packet, Request};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const RATE: Rate = Rate::from_gbps(10);
const ANSWER_BYTES: usize = 20_000;
const DEADLINE: Duration = Duration::from_millis(50);
const CLIENTS: u64 = 4;
/// Number of source addresses of the flood.
const ADDRESSES: u8 = 250;
/// Pause between two queries of a client.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (count, rate) = match words[..] {
        ["listen"] => return listen(),
        [] => (1_000_000, 50_000),
        [count, rate] => (count.parse()?, rate.parse()?),
        _ => return Err("usage: d3_flood [COUNT RATE]".into()),
    };
    println!(
        "{CLIENTS} clients request {ANSWER_BYTES} bytes within {DEADLINE:?}, {PAUSE:?} after their last answer"
    );
    measure("without a flood", |_| {
        thread::sleep(Duration::from_secs(5));
        Ok(())
    })?;
    let name =
        format!("{count} forged SYNs and {count} random datagrams, {rate} per second in total");
    measure(&name, |to| flood(to, count, rate))?;
    Ok(())
}

/// Runs a listener and its clients while `load` runs.
fn measure(
    name: &str,
    load: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let mut listener = Command::new(std::env::current_exe()?)
        .arg("listen")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let measured = clients_during(&mut listener, load);
    drop(listener.stdin.take()); // ends the listener
    let mut output = String::new();
    if let Some(out) = &mut listener.stdout {
        out.read_to_string(&mut output)?;
    }
    listener.wait()?;
    let (queries, met, slowest, took) = measured?;
    println!("\n{name}: {:.1} s", took.as_secs_f64());
    println!(
        "  {queries} queries, {met} met their deadline, slowest {:.1} ms",
        slowest.as_secs_f64() * 1e3
    );
    print!("{output}");
    Ok(())
}

type Answers = (u64, u64, Duration, Duration);

fn clients_during(
    listener: &mut Child,
    load: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<Answers, Box<dyn Error>> {
    let mut address = String::new();
    let out = listener.stdout.as_mut().ok_or("no output")?;
    BufReader::with_capacity(1, out).read_line(&mut address)?;
    let address: SocketAddr = address.trim().parse()?;
    let endpoint = Endpoint::bind("127.0.0.1:0", Options::new(RATE))?;
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| query_until(&stop, &endpoint, address)))
            .collect();
        let done = load(address);
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let mut all = (0, 0, Duration::ZERO, took);
        for client in clients {
            let (queries, met, slowest) = client.join().map_err(|_| "a client panicked")??;
            all = (all.0 + queries, all.1 + met, all.2.max(slowest), took);
        }
        done?;
        Ok(all)
    })
}

/// Sends queries one after another until `stop` is set. Returns their number, the number in time, and the longest time.
fn query_until(
    stop: &AtomicBool,
    endpoint: &Endpoint,
    to: SocketAddr,
) -> io::Result<(u64, u64, Duration)> {
    let (mut queries, mut met, mut slowest) = (0, 0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let flow = Flow::new(5, Some(DEADLINE));
        let mut stream = endpoint.connect(to, flow)?;
        stream.write_all(b"query")?;
        stream.finish()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let took = began.elapsed();
        queries += 1;
        met += u64::from(took <= DEADLINE && answer.len() == ANSWER_BYTES);
        slowest = slowest.max(took);
        thread::sleep(PAUSE);
    }
    Ok((queries, met, slowest))
}

/// Answers queries until standard input ends, then prints the listener's state.
fn listen() -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind("127.0.0.1:0", Options::new(RATE))?;
    println!("{}", endpoint.local_addr()?);
    let listener = endpoint.listen(1_024);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || answer(stream));
        }
    });
    let (ended, watched) = (Arc::new(AtomicBool::new(false)), endpoint.clone());
    let until = Arc::clone(&ended);
    let watching = thread::spawn(move || {
        let mut max = 0;
        while !until.load(Ordering::Relaxed) {
            max = max.max(watched.streams());
            thread::sleep(Duration::from_millis(5));
        }
        max
    });
    io::stdin().read_to_end(&mut Vec::new())?;
    ended.store(true, Ordering::Relaxed);
    let max = watching.join().map_err(|_| "the watcher panicked")?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let totals = endpoint.totals();
    println!(
        "  listener: at most {max} streams, peak memory {}",
        peak.unwrap_or("unknown")
    );
    println!("  {totals:?}");
    Ok(())
}

/// Sends the flood in batches, one per millisecond.
fn flood(to: SocketAddr, count: u64, rate: u64) -> io::Result<()> {
    let sockets: Vec<UdpSocket> = (0..ADDRESSES)
        .map(|i| UdpSocket::bind((Ipv4Addr::new(127, 1, 0, 1 + i), 0)))
        .collect::<io::Result<_>>()?;
    let (began, mut random) = (Instant::now(), 0x9e37_79b9_7f4a_7c15_u64);
    let mut draw = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut sent, mut datagram) = (0, Vec::new());
    while sent < 2 * count {
        let due = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX) * rate / 1_000_000;
        while sent < due.min(2 * count) {
            datagram.clear();
            if sent % 2 == 0 {
                syn(draw() | 1, &mut datagram);
            } else {
                let length = 8 + draw() % 400;
                datagram.extend((0..length / 8).flat_map(|_| draw().to_ne_bytes()));
            }
            let socket = &sockets[usize::from(draw().to_ne_bytes()[0] % ADDRESSES)];
            // A full buffer drops the datagram, like a network.
            let _ = socket.send_to(&datagram, to);
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Encodes a SYN that opens a stream with this identifier.
fn syn(source: u64, out: &mut Vec<u8>) {
    let header = Header {
        kind: Kind::Packet,
        destination: 0,
        source,
        window: 0,
        packet: Packet {
            flags: Flags::SYN,
            request: Some(Request {
                scale: Options::new(RATE).config.exponent(),
                ..Request::default()
            }),
            ..Packet::default()
        },
    };
    let encoded = encode(&header, (&[], &[]), out);
    debug_assert!(encoded.is_ok(), "a SYN is encodable");
}

fn answer(mut stream: duetime_d3::Stream) -> io::Result<()> {
    stream.read_to_end(&mut Vec::new())?;
    stream.open(Flow::new(ANSWER_BYTES as u64, Some(DEADLINE)))?;
    stream.write_all(&vec![7; ANSWER_BYTES])?;
    stream.close()
}
