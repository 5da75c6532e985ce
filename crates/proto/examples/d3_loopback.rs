//! Ten megabytes each way between two processes over loopback UDP, through the state machines and codecs that the
//! simulator runs, unchanged. Each process drops one datagram in a hundred before it is sent, and asks the port
//! of its own (imagined) gigabit interface before each request leaves.
//!
//! `cargo run --release -p duetime-proto --example d3_loopback`

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "its numbers are small"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program with sockets, a clock and two processes"
)]
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{
    Config, Counters, Flags, Packet, PortDriver, Reading, Receiver, Sender, wire,
};
use std::error::Error;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: usize = 10_000_000;
const INTERFACE: Rate = Rate::from_gbps(1);
/// One datagram in so many is dropped.
const DROP_ONE_IN: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a finished side stays to answer a repeated FIN.
const LINGER: Duration = Duration::from_millis(300);
/// How far the imagined interface may lag behind the clock: the scheduler wakes us late.
const CATCH_UP: Span = Span::from_us(300);

/// What one side has to say in the end.
#[derive(Debug)]
pub struct Report {
    /// Hash of what it sent.
    pub sent: u64,
    /// Hash of what it received.
    pub received: u64,
    /// Duration of the exchange.
    pub seconds: f64,
    /// Datagrams dropped on purpose.
    pub dropped: u64,
    /// The sender's counters.
    pub counters: Counters,
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(peer) = std::env::args().nth(1) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let report = exchange(&socket, Some(peer.parse()?), 2)?;
        // For the parent, which compares.
        println!(
            "{:016x} {:016x} {}",
            report.sent,
            report.received,
            describe(&report)
        );
        return Ok(());
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg(socket.local_addr()?.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let ours = exchange(&socket, None, 1);
    if ours.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    let ours = ours?;
    let mut said = String::new();
    child
        .stdout
        .take()
        .ok_or("the child has no output")?
        .read_to_string(&mut said)?;
    let mut words = said.splitn(3, ' ');
    let mut hash = || -> Result<u64, Box<dyn Error>> {
        Ok(u64::from_str_radix(words.next().unwrap_or(""), 16)?)
    };
    let (sent, received) = (hash()?, hash()?);
    println!(
        "parent: sent {:016x}, received {:016x}, {}",
        ours.sent,
        ours.received,
        describe(&ours)
    );
    println!(
        "child:  sent {sent:016x}, received {received:016x}, {}",
        words.next().unwrap_or("").trim_end()
    );
    if !status.success() || ours.sent != received || ours.received != sent {
        return Err("what was received is not what was sent".into());
    }
    println!("{BYTES} bytes each way, and the hashes agree");
    Ok(())
}

fn describe(report: &Report) -> String {
    let Counters {
        retransmits,
        timeouts,
        lost_requests,
        requests,
        ..
    } = report.counters;
    format!(
        "{:.3} s, {} datagrams dropped, {retransmits} packets sent again, {timeouts} timeouts, \
         {lost_requests} of {requests} requests lost",
        report.seconds, report.dropped
    )
}

/// One side: sends its bytes and receives the other's over one socket. Without `peer`, whoever speaks first is it.
pub fn exchange(
    socket: &UdpSocket,
    peer: Option<SocketAddr>,
    seed: u64,
) -> Result<Report, Box<dyn Error>> {
    socket.set_nonblocking(true)?;
    Side::new(socket, peer, seed).run()
}

struct Side<'a> {
    socket: &'a UdpSocket,
    peer: Option<SocketAddr>,
    config: Config,
    clock: Instant,
    sender: Sender,
    receiver: Receiver,
    port: PortDriver,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// When the interface has sent what it was given.
    free: Time,
    departed_bytes: u64,
    random: u64,
    dropped: u64,
}

impl<'a> Side<'a> {
    fn new(socket: &'a UdpSocket, peer: Option<SocketAddr>, seed: u64) -> Self {
        let config = Config {
            scale: Some(Config::scale_for(INTERFACE)),
            header_bytes: wire::UDP_BYTES,
            ..Config::default()
        };
        let message = Message {
            bytes: BYTES as u64,
            deadline: None,
        };
        let mut side = Self {
            socket,
            peer,
            config,
            clock: Instant::now(),
            sender: Sender::new(&config, Time::ZERO, INTERFACE, message),
            receiver: Receiver::new(&config),
            port: PortDriver::new(&config, INTERFACE, Span::ZERO),
            outgoing: Vec::with_capacity(BYTES),
            incoming: vec![0; BYTES],
            free: Time::ZERO,
            departed_bytes: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            dropped: 0,
        };
        while side.outgoing.len() < BYTES {
            let word = side.draw();
            side.outgoing.extend_from_slice(&word.to_le_bytes());
        }
        side
    }

    fn run(mut self) -> Result<Report, Box<dyn Error>> {
        let mut finished: Option<Instant> = None;
        loop {
            let busy = self.receive()? | self.advance()?;
            let done = self.sender.is_closed() && self.receiver.is_closed();
            if done && finished.get_or_insert_with(Instant::now).elapsed() > LINGER {
                break;
            }
            if self.clock.elapsed() > PATIENCE {
                return Err("out of patience".into());
            }
            if !busy {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        if self.sender.acked() != BYTES as u64 || self.receiver.delivered() != BYTES as u64 {
            return Err("the transfer is not complete".into());
        }
        Ok(Report {
            sent: fnv(&self.outgoing),
            received: fnv(&self.incoming),
            seconds: self.clock.elapsed().saturating_sub(LINGER).as_secs_f64(),
            dropped: self.dropped,
            counters: self.sender.counters(),
        })
    }

    /// Picoseconds since the start.
    fn now(&self) -> Time {
        Time::ZERO + Span::from_ns(self.clock.elapsed().as_nanos() as u64)
    }

    fn receive(&mut self) -> Result<bool, Box<dyn Error>> {
        let mut datagram = [0; 2_048];
        let mut any = false;
        loop {
            let (length, from) = match self.socket.recv_from(&mut datagram) {
                Ok(received) => received,
                // The other side's socket may not exist yet, or any more.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
                    ) =>
                {
                    return Ok(any);
                }
                Err(error) => return Err(error.into()),
            };
            any = true;
            let Ok((packet, payload)) = wire::decode(&datagram[..length]) else {
                continue;
            };
            if *self.peer.get_or_insert(from) != from {
                continue;
            }
            let now = self.now();
            if packet.flags.contains(Flags::ACK) {
                self.sender.input(&self.config, now, &packet);
                continue;
            }
            // The state machine keeps positions; the bytes are ours to keep.
            if let Some(end) = packet.seq.checked_add(payload.len() as u64)
                && end <= BYTES as u64
            {
                self.incoming[packet.seq as usize..end as usize].copy_from_slice(payload);
                self.receiver.input(&self.config, now, &packet);
            }
        }
    }

    /// Timers, and whatever may leave.
    fn advance(&mut self) -> Result<bool, Box<dyn Error>> {
        let now = self.now();
        if self.sender.next_timeout() <= now {
            self.sender.timeout(&self.config, now);
        }
        if self.port.next_timeout() <= now {
            let reading = Reading {
                departed_bytes: self.departed_bytes,
                queue_bytes: self.sender.overdue(),
            };
            self.port.timeout(&self.config, now, reading);
        }
        if self.peer.is_none() {
            return Ok(false);
        }
        self.free = self
            .free
            .max(Time::from_ps(now.as_ps().saturating_sub(CATCH_UP.as_ps())));
        let mut any = false;
        while self.free <= now {
            let packet = match self.receiver.poll_transmit(&self.config, now) {
                Some(packet) => Some(packet),
                None => self.sender.poll_transmit(&self.config, now),
            };
            let Some(packet) = packet else { break };
            self.send(packet, now)?;
            any = true;
        }
        Ok(any)
    }

    fn send(&mut self, mut packet: Packet, now: Time) -> Result<(), Box<dyn Error>> {
        if let Some(request) = &mut packet.request {
            self.port.process(&self.config, now, packet.flags, request);
        }
        self.free += INTERFACE.transmit(u64::from(packet.wire_bytes(&self.config)));
        self.departed_bytes += u64::from(packet.wire_bytes(&self.config));
        let mut header = [0; wire::MAX_HEADER_BYTES];
        let length = wire::encode(&packet, &mut header)?;
        let mut datagram = header[..length].to_vec();
        let start = packet.seq as usize;
        if packet.len > 0 {
            datagram.extend_from_slice(&self.outgoing[start..start + packet.len as usize]);
        }
        let Some(peer) = self.peer else { return Ok(()) };
        if self.draw().is_multiple_of(DROP_ONE_IN) {
            self.dropped += 1;
            return Ok(());
        }
        match self.socket.send_to(&datagram, peer) {
            Err(error)
                if !matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
                ) =>
            {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    /// Xorshift: the same drops and bytes in each run.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
