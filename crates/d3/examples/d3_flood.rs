//! Floods a listener with forged SYNs and random datagrams while clients ask it queries with deadlines, and prints what
//! the listener kept and how many deadlines were met: without the flood, and with it.
//!
//! ```sh
//! cargo run --release -p duetime-d3 --example d3_flood                  # a million of each, 50,000 a second of both
//! cargo run --release -p duetime-d3 --example d3_flood -- 100000 20000  # 100,000 of each, 20,000 a second
//! ```
//!
//! The listener is a process of its own, so that its memory can be told. The flood comes from 250 addresses of
//! 127.0.0.0/8, which never answer. Linux, on loopback.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use duetime_d3::{Endpoint, Flow, Options, Rate};
use duetime_proto::d3::datagram::{Header, Kind, encode};
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
/// Where the flood comes from.
const ADDRESSES: u8 = 250;
/// Between two queries of a client.
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
        "{CLIENTS} clients ask for {ANSWER_BYTES} bytes within {DEADLINE:?}, each {PAUSE:?} after its last answer"
    );
    measure("without a flood", |_| {
        thread::sleep(Duration::from_secs(5));
        Ok(())
    })?;
    let name = format!("{count} forged SYNs and {count} random datagrams, {rate} a second of both");
    measure(&name, |to| flood(to, count, rate))?;
    Ok(())
}

/// Runs a listener and its clients for as long as `what` takes.
fn measure(
    name: &str,
    what: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let mut listener = Command::new(std::env::current_exe()?)
        .arg("listen")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let measured = clients_during(&mut listener, what);
    drop(listener.stdin.take()); // it ends
    let mut said = String::new();
    if let Some(out) = &mut listener.stdout {
        out.read_to_string(&mut said)?;
    }
    listener.wait()?;
    let (asked, met, slowest, took) = measured?;
    println!("\n{name}: {:.1} s", took.as_secs_f64());
    println!(
        "  {asked} queries, {met} met their deadline, the slowest took {:.1} ms",
        slowest.as_secs_f64() * 1e3
    );
    print!("{said}");
    Ok(())
}

type Answers = (u64, u64, Duration, Duration);

fn clients_during(
    listener: &mut Child,
    what: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<Answers, Box<dyn Error>> {
    let mut address = String::new();
    let out = listener.stdout.as_mut().ok_or("no output")?;
    BufReader::with_capacity(1, out).read_line(&mut address)?;
    let address: SocketAddr = address.trim().parse()?;
    let endpoint = Endpoint::bind("127.0.0.1:0", Options::new(RATE))?;
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| ask_until(&stop, &endpoint, address)))
            .collect();
        let done = what(address);
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let mut all = (0, 0, Duration::ZERO, took);
        for client in clients {
            let (asked, met, slowest) = client.join().map_err(|_| "a client panicked")??;
            all = (all.0 + asked, all.1 + met, all.2.max(slowest), took);
        }
        done?;
        Ok(all)
    })
}

/// Queries, one after the other: how many, how many in time, and how long the slowest took.
fn ask_until(
    stop: &AtomicBool,
    endpoint: &Endpoint,
    to: SocketAddr,
) -> io::Result<(u64, u64, Duration)> {
    let (mut asked, mut met, mut slowest) = (0, 0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let flow = Flow {
            bytes: 5,
            deadline: Some(DEADLINE),
        };
        let mut stream = endpoint.connect(to, flow)?;
        stream.write_all(b"query")?;
        stream.finish()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let took = began.elapsed();
        asked += 1;
        met += u64::from(took <= DEADLINE && answer.len() == ANSWER_BYTES);
        slowest = slowest.max(took);
        thread::sleep(PAUSE);
    }
    Ok((asked, met, slowest))
}

/// Answers queries until its standard input ends; then says what it kept.
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
        let mut most = 0;
        while !until.load(Ordering::Relaxed) {
            most = most.max(watched.streams());
            thread::sleep(Duration::from_millis(5));
        }
        most
    });
    io::stdin().read_to_end(&mut Vec::new())?;
    ended.store(true, Ordering::Relaxed);
    let most = watching.join().map_err(|_| "the watcher panicked")?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let totals = endpoint.totals();
    println!(
        "  listener: at most {most} streams, peak memory {}",
        peak.unwrap_or("unknown")
    );
    println!("  {totals:?}");
    Ok(())
}

/// Sends the flood in pieces of a millisecond.
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
            // A full buffer loses it, as a network would.
            let _ = socket.send_to(&datagram, to);
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A SYN that opens a stream of this identifier.
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
    debug_assert!(encoded.is_ok(), "a SYN has a form");
}

fn answer(mut stream: duetime_d3::Stream) -> io::Result<()> {
    stream.read_to_end(&mut Vec::new())?;
    stream.open(Flow {
        bytes: ANSWER_BYTES as u64,
        deadline: Some(DEADLINE),
    })?;
    stream.write_all(&vec![7; ANSWER_BYTES])?;
    stream.close()
}
