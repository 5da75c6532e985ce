//! Transfers ten megabytes in each direction between two processes over loopback UDP, with the same endpoint, state
//! machines and codecs as in simulation. Each process drops one in a hundred datagrams before sending. `drive` is all
//! the glue that an endpoint needs for a socket and a clock.
//!
//! `cargo run --release -p duetime-proto --example d3_loopback`

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the example uses sockets, a clock and two processes"
)]
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Options, Statistics, StreamError};
use std::error::Error;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: usize = 10_000_000;
/// One in this many datagrams is dropped.
const DROP_ONE_IN: u64 = 100;
const TIMEOUT: Duration = Duration::from_secs(25);

/// Sends all pending datagrams and receives one, or sleeps briefly if there is none.
fn drive(side: &mut Side) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    while let Some(transmit) = side.endpoint.poll_transmit(side.now(), &mut bytes) {
        if side.draw().is_multiple_of(DROP_ONE_IN) {
            side.dropped += 1;
        } else {
            // Datagrams that the socket rejects are lost, as in the network.
            let _ = side.socket.send_to(&bytes, transmit.peer);
        }
        bytes.clear();
    }
    let mut datagram = [0; 2_048];
    match side.socket.recv_from(&mut datagram) {
        Ok((length, peer)) => {
            let now = side.now();
            side.endpoint.input(now, peer, &datagram[..length]);
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            std::thread::sleep(Duration::from_micros(50));
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
        Err(error) => return Err(error.into()),
    }
    let now = side.now();
    side.endpoint.timeout(now);
    Ok(())
}

/// Results of one side.
#[derive(Debug)]
pub struct Report {
    /// Hash of the sent bytes.
    pub sent: u64,
    /// Hash of the received bytes.
    pub received: u64,
    /// Duration of the exchange.
    pub seconds: f64,
    /// Number of datagrams dropped on purpose.
    pub dropped: u64,
    /// Statistics of the stream.
    pub statistics: Statistics,
}

struct Side {
    socket: UdpSocket,
    endpoint: Endpoint,
    clock: Instant,
    random: u64,
    dropped: u64,
}

/// Runs one side, which sends its bytes and receives the other's on one stream. Without `peer` it accepts the stream.
pub fn exchange(
    socket: UdpSocket,
    peer: Option<SocketAddr>,
    seed: u64,
) -> Result<Report, Box<dyn Error>> {
    socket.set_nonblocking(true)?;
    let mut side = Side {
        socket,
        // A fixed secret for the example; a program draws one at random.
        endpoint: Endpoint::new(Options::new(Rate::from_gbps(1)), [seed, 1])?,
        clock: Instant::now(),
        random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        dropped: 0,
    };
    let outgoing: Vec<u8> = (0..BYTES).map(|_| side.draw().to_be_bytes()[0]).collect();
    let mut incoming = Vec::with_capacity(BYTES);
    let message = Message::new(BYTES as u64, None);
    let policy = side.endpoint.options().config.host.policy;
    side.endpoint.listen(1);
    let mut stream = match peer {
        Some(peer) => Some(side.endpoint.connect(side.now(), peer, message, &policy)?),
        None => None,
    };
    let (mut written, mut ended, mut buffer) = (0, false, [0; 16_384]);
    while side.clock.elapsed() < TIMEOUT {
        drive(&mut side)?;
        let now = side.now();
        let Some(id) = stream else {
            stream = side.endpoint.accept(now).map(|accepted| accepted.0);
            continue;
        };
        if written < BYTES {
            written += unless_blocked(side.endpoint.write(now, id, &outgoing[written..]))?;
            if written == BYTES {
                side.endpoint.finish(now, id)?;
            }
        }
        if !ended {
            let read = side.endpoint.read(now, id, &mut buffer);
            ended = read == Ok(0);
            incoming.extend_from_slice(&buffer[..unless_blocked(read)?]);
        }
        if ended && side.endpoint.delivery(id).is_ok() {
            let report = Report {
                sent: fnv(&outgoing),
                received: fnv(&incoming),
                seconds: side.clock.elapsed().as_secs_f64(),
                dropped: side.dropped,
                statistics: side.endpoint.statistics(id)?,
            };
            // Keep the stream to answer a repeated FIN.
            side.endpoint.release(now, id);
            while side.now() < now + Span::from_ms(300) {
                drive(&mut side)?;
            }
            return Ok(report);
        }
    }
    Err("timed out".into())
}

fn unless_blocked(result: Result<usize, StreamError>) -> Result<usize, StreamError> {
    match result {
        Err(StreamError::Blocked) => Ok(0),
        result => result,
    }
}

impl Side {
    /// Returns the time since the start.
    fn now(&self) -> Time {
        let elapsed = self.clock.elapsed().as_nanos();
        Time::ZERO + Span::from_ns(u64::try_from(elapsed).unwrap_or(u64::MAX / 1_000))
    }

    /// Returns the next xorshift number: drops and bytes are the same in each run.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    if let Some(peer) = std::env::args().nth(1) {
        let report = exchange(socket, Some(peer.parse()?), 2)?;
        // Output for the parent, which compares the hashes.
        let (sent, received) = (report.sent, report.received);
        println!("{sent:016x} {received:016x} {}", describe(&report));
        return Ok(());
    }
    let mut child = Command::new(std::env::current_exe()?)
        .arg(socket.local_addr()?.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let ours = exchange(socket, None, 1);
    if ours.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    let ours = ours?;
    let mut output_text = String::new();
    let output = child.stdout.take().ok_or("the child has no output")?;
    { output }.read_to_string(&mut output_text)?;
    let mut fields = output_text.splitn(3, ' ');
    let mut field = || fields.next().unwrap_or("").trim_end().to_owned();
    let (sent, received, description) = (field(), field(), field());
    let [our_sent, our_received] = [ours.sent, ours.received].map(|hash| format!("{hash:016x}"));
    println!(
        "parent: sent {our_sent}, received {our_received}, {}",
        describe(&ours)
    );
    println!("child:  sent {sent}, received {received}, {description}");
    if !status.success() || our_sent != received || our_received != sent {
        return Err("received bytes differ from sent bytes".into());
    }
    println!("{BYTES} bytes in each direction; hashes agree");
    Ok(())
}

fn describe(report: &Report) -> String {
    let counters = report.statistics.counters;
    format!(
        "{:.3} s, {} datagrams dropped, {} packets retransmitted, {} timeouts, {} of {} requests lost",
        report.seconds,
        report.dropped,
        counters.retransmits,
        counters.timeouts,
        counters.lost_requests,
        counters.requests
    )
}

/// Returns the FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
