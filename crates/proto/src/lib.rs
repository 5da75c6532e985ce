//! Transport protocols as state machines without I/O or clock. [`tcp`] implements NewReno, DCTCP and D2TCP (with the
//! congestion controllers in [`window`]); [`d3`] implements D3 and RCPdc; [`pfabric`] implements pFabric. The simulator
//! and the real stacks run the same code.
//!
//! # The driver contract
//!
//! A *driver* owns the clock, the timers, the network and the bytes; a state machine makes the decisions. The `Sender`
//! and `Receiver` of every transport, and [`d3::PortDriver`] at a router's port, share these calls:
//!
//! | call | use |
//! |---|---|
//! | `input(…, packet)` | for each packet that arrives |
//! | `timeout(config, now)` | when `next_timeout()` is reached |
//! | `poll_transmit(…)` | after every other call and when the interface is free, until it returns `None` |
//! | `can_transmit(…)` | true if `poll_transmit` would return a packet |
//! | `next_timeout()` | after every other call, because the timer may have moved; [`Time::MAX`] means never |
//! | `close()` | once, when the application has no more to send (TCP) or abandons the flow (D3) |
//! | `is_closed()` | if true, drop a sender; keep a receiver for some timeouts to answer a repeated FIN |
//!
//! - **Time** and configuration are arguments of the calls that use them. Time never goes back, and the configuration of
//!   a state machine stays the same. A [`d3::Receiver`] has no timers.
//! - **Timeouts** may be early, and then have no effect, or late. A driver may call `timeout` at any time, so it need
//!   not cancel a timer that has moved.
//! - **Packets leave when they are polled.** A sender measures round trips from that moment. While its interface is
//!   busy, a driver stops polling and does not queue packets: unsent data costs a state machine no memory.
//! - **The network** may lose, duplicate, reorder and forge packets. No packet makes a state machine panic.
//! - **The driver owns the payload**, unless [`d3::endpoint`] is the driver. A state machine tracks positions only. A
//!   packet names `len` bytes at `seq`; the driver keeps submitted bytes until they are acknowledged, and stores
//!   received bytes at their position. [`tcp::Delivery`] and [`d3::Delivery`] report how many bytes have become
//!   readable in order.
//! - **Memory.** No call allocates on the common path. A TCP sender allocates for messages queued behind the first; a
//!   receiver allocates for data that arrives out of order, within the receive window.
//!
//! ## TCP
//!
//! Position 0 is the SYN; the first byte is at position 1. One connection can carry many messages in sequence.
//!
//! With [`tcp::Recovery::Sack`], an acknowledgement with the flag [`tcp::Flags::SACK`] carries blocks. The driver reads
//! them with [`tcp::Receiver::sack`] right after polling the acknowledgement, and passes both to
//! [`tcp::Sender::input_sack`] instead of `input`.
//!
//! ```
//! use duetime_core::{Span, Time};
//! use duetime_proto::tcp::{Config, Receiver, Sender};
//! use duetime_proto::Message;
//!
//! let config = Config::default();
//! let data = vec![7; 100_000];
//! let mut stream = vec![0; data.len()];
//! let mut readable = 0;
//!
//! let mut now = Time::ZERO;
//! let mut sender = Sender::new(&config, now);
//! let mut receiver = Receiver::new(&config);
//! sender.send(&config, now, Message::new(data.len() as u64, None));
//! sender.close();
//! while !sender.is_closed() {
//!     // The interface is never busy: send all that the window allows.
//!     let mut arriving = Vec::new();
//!     while let Some(segment) = sender.poll_transmit(&config, now) {
//!         let start = segment.seq.saturating_sub(1) as usize;
//!         arriving.push((segment, &data[start..start + segment.len as usize]));
//!     }
//!     now += Span::from_us(50);
//!     let mut answers = Vec::new();
//!     for (segment, payload) in arriving {
//!         let start = segment.seq.saturating_sub(1) as usize;
//!         stream[start..start + payload.len()].copy_from_slice(payload);
//!         readable += receiver.input(&config, now, segment).bytes;
//!     }
//!     receiver.timeout(&config, now); // no effect unless a delayed acknowledgement is due
//!     while let Some(answer) = receiver.poll_transmit() {
//!         answers.push(answer);
//!     }
//!     now += Span::from_us(50);
//!     for answer in answers {
//!         sender.input(&config, now, answer);
//!     }
//!     sender.timeout(&config, now);
//! }
//! assert!(receiver.is_closed() && readable == 100_000 && stream == data);
//! ```
//!
//! ## D3
//!
//! The first byte is at position 0. A flow is one message and ends when the message is delivered. Routers take part:
//! each port on the path, including the sender's own interface, processes the requests that leave through it.
//!
//! Most packets have no request. `input_plain` and `poll_plain` are `input` and `poll_transmit` for such packets: they
//! are faster, and a driver may mix both.
//!
//! ```
//! use duetime_core::{Rate, Span, Time};
//! use duetime_proto::d3::{Config, PortDriver, Reading, Receiver, Sender};
//! use duetime_proto::Message;
//!
//! let config = Config::default();
//! let rate = Rate::from_gbps(1);
//! let mut now = Time::ZERO;
//! let deadline = Some(now + Span::from_ms(20));
//! let mut sender = Sender::new(&config, now, rate, Message::new(1_000_000, deadline));
//! let mut receiver = Receiver::new();
//! let mut port = PortDriver::new(&config, rate, Span::ZERO);
//! let mut departed_bytes = 0;
//! while !sender.is_closed() {
//!     let mut arriving = Vec::new();
//!     while let Some(mut packet) = sender.poll_transmit(&config, now) {
//!         port.sample(sender.overdue());
//!         if let Some(request) = &mut packet.request {
//!             port.process(&config, now, packet.flags, request);
//!         }
//!         departed_bytes += u64::from(packet.wire_bytes(&config));
//!         now += rate.transmit(u64::from(packet.wire_bytes(&config)));
//!         arriving.push(packet);
//!     }
//!     port.timeout(&config, now, Reading { departed_bytes, queue_bytes: sender.overdue() });
//!     now += Span::from_us(50);
//!     for packet in arriving {
//!         receiver.input(&packet);
//!     }
//!     while let Some(answer) = receiver.poll_transmit(&config) {
//!         sender.input(&config, now, &answer);
//!     }
//!     sender.timeout(&config, now);
//! }
//! assert_eq!((receiver.delivered(), sender.is_quenched()), (1_000_000, false));
//! assert!(Some(now) < deadline);
//! ```

//! ## D3 over datagrams
//!
//! [`d3::endpoint`] carries many streams over one socket. It assigns datagrams to flows, buffers the bytes of both
//! directions, bounds the resources that a peer can use, and answers requests at its own interface, so a driver only
//! moves datagrams. The module documentation states its contract. Two endpoints without loss:
//!
//! ```
//! use duetime_core::{Rate, Span, Time};
//! use duetime_proto::Message;
//! use duetime_proto::d3::endpoint::{Endpoint, Options};
//! use std::net::SocketAddr;
//!
//! let options = Options::new(Rate::from_gbps(1));
//! let policy = options.config.host.policy;
//! let addresses: [SocketAddr; 2] = ["10.0.0.1:7000".parse()?, "10.0.0.2:7000".parse()?];
//! // Fixed secrets; a program draws them at random.
//! let mut endpoints = [Endpoint::new(options, [1, 2])?, Endpoint::new(options, [3, 4])?];
//! let mut now = Time::ZERO;
//!
//! endpoints[1].listen(16);
//! let query = Message::new(5, Some(now + Span::from_ms(10)));
//! let client = endpoints[0].connect(now, addresses[1], query, &policy)?;
//! endpoints[0].write(now, client, b"query")?;
//! endpoints[0].finish(now, client)?;
//!
//! let (mut server, mut answer, mut buffer) = (None, Vec::new(), [0; 4_096]);
//! while answer.len() < 100_000 {
//!     assert!(now < Time::ZERO + Span::from_ms(5), "in time");
//!     // Both drivers: each datagram arrives 20 us after it is sent.
//!     let mut arriving = Vec::new();
//!     for host in 0..2 {
//!         let mut bytes = Vec::new();
//!         while let Some(transmit) = endpoints[host].poll_transmit(now, &mut bytes) {
//!             let to = usize::from(transmit.peer == addresses[1]);
//!             arriving.push((to, addresses[host], std::mem::take(&mut bytes)));
//!         }
//!     }
//!     now += Span::from_us(20);
//!     for (to, from, datagram) in arriving {
//!         endpoints[to].input(now, from, &datagram);
//!     }
//!     for endpoint in &mut endpoints {
//!         endpoint.timeout(now);
//!     }
//!     // The server reads the whole query and answers with 100 kB, due within 5 ms.
//!     server = server.or(endpoints[1].accept(now).map(|accepted| accepted.0));
//!     if let Some(stream) = server
//!         && endpoints[1].read(now, stream, &mut buffer) == Ok(0)
//!     {
//!         let answer = Message::new(100_000, Some(now + Span::from_ms(5)));
//!         endpoints[1].open(now, stream, answer, &policy)?;
//!         endpoints[1].write(now, stream, &[7; 100_000])?;
//!         endpoints[1].release(now, stream); // written bytes are still sent
//!         server = None;
//!     }
//!     if let Ok(length) = endpoints[0].read(now, client, &mut buffer) {
//!         answer.extend_from_slice(&buffer[..length]);
//!     }
//! }
//! assert!(answer == [7; 100_000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## `due`
//!
//! [`due::endpoint`] carries messages between socket addresses over one socket, with the same calls for its driver.
//!
//! ## Homa
//!
//! [`homa`] is for the simulator only: it has no datagrams. `poll_transmit` of its sender needs the time, because silence
//! counts from a message's last packet.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded where they are created"
)]
#![expect(clippy::inline_always, reason = "the packet path: measured")]

mod checksum;
pub mod d3;
pub mod due;
pub mod homa;
mod pace;
pub mod pdq;
pub mod pfabric;
mod recent;
pub mod sird;
pub mod tcp;
pub mod window;

use core::net::SocketAddr;
use duetime_core::Time;

/// Message that an application submits to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Length. A message of a TCP stream has at least one byte.
    pub length: Length,
    /// Time by which the message should be delivered.
    pub deadline: Option<Time>,
}

impl Message {
    /// Creates a message of this length, in bytes or [`Length::Endless`].
    pub fn new(length: impl Into<Length>, deadline: Option<Time>) -> Self {
        Self {
            length: length.into(),
            deadline,
        }
    }
}

/// Length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Number of bytes.
    Bytes(u64),
    /// The message has no end, or its end is unknown when it is submitted.
    Endless,
}

impl Length {
    /// Position after the last byte of an endless message, which no sender reaches.
    pub(crate) const END: u64 = u64::MAX / 2;

    /// Returns the number of bytes, at most [`Length::END`].
    pub(crate) const fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) if bytes < Self::END => bytes,
            Self::Bytes(_) | Self::Endless => Self::END,
        }
    }
}

impl From<u64> for Length {
    fn from(bytes: u64) -> Self {
        Self::Bytes(bytes)
    }
}

/// Datagram to send, which an endpoint has appended to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination address.
    pub peer: SocketAddr,
    /// Length in bytes.
    pub bytes: usize,
}
