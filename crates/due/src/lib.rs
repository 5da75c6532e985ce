//! Messages with deadlines over UDP. The receiving host knows the size and deadline of every message to it, and decides
//! which of them use its link.
//!
//! ```
//! use duetime_due::{Message, Options, Rate, Socket, random_query};
//! use std::time::Duration;
//!
//! // A worker, on an interface of 1 Gbps.
//! let worker = Socket::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1)))?;
//! let address = worker.local_addr()?;
//! let working = std::thread::spawn(move || -> std::io::Result<()> {
//!     let query = worker.receive()?;
//!     let answer = query.bytes.to_ascii_uppercase();
//!     // The answer belongs to the query and is due within 50 ms.
//!     let answer = query.answer(answer).within(Duration::from_millis(50));
//!     worker.send(query.from, answer)?.wait()
//! });
//!
//! // The parent of the query.
//! let parent = Socket::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1)))?;
//! let query = Message::request("better never than late").of_query(random_query()?);
//! parent.send(address, query)?;
//! let answer = parent.receive()?;
//! assert_eq!(answer.bytes, b"BETTER NEVER THAN LATE");
//! assert!(answer.time_left > Some(Duration::ZERO)); // in time
//! working.join().unwrap()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Messages
//!
//! A [`Message`] is delivered as a whole or not at all. It may have a deadline ([`within`](Message::within)) and belong
//! to a query ([`of_query`](Message::of_query)). Messages to one socket arrive in the order in which they complete, not
//! in the order in which they were sent.
//! - Messages that can meet their deadlines come first, so that as many queries as possible are complete in time.
//!   Late messages are delivered too, after the others.
//! - [`Socket::send`] returns as soon as the message is submitted. [`Sending::wait`] waits until the peer's socket has
//!   received it. A dropped [`Sending`] leaves the message under way.
//! - [`Sending::abort`] abandons a message.
//!
//! # Sockets
//!
//! A [`Socket`] consists of a UDP socket, a thread, and the protocol's endpoint ([`duetime_proto::due::endpoint`]). It
//! sends and receives, and its clones are the same socket. A socket schedules only the messages that it receives, unless
//! all sockets of an interface share its link ([`Socket::bind_shared`], Linux).
//!
//! Threads and tasks can use a socket at the same time. The `…_async` methods work on any runtime.

#![cfg_attr(not(feature = "c"), forbid(unsafe_code))]

#[cfg(unix)]
mod asynchronous;
#[cfg(all(unix, feature = "c"))]
pub mod c;
#[cfg(unix)]
mod error;
#[cfg(target_os = "linux")]
mod link_file;
mod message;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod sending;
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), path = "no_shared_link.rs")]
mod shared_link;
#[cfg(unix)]
mod socket;

pub use duetime_core::{Rate, Span};
pub use duetime_proto::due::endpoint::{Failure, Options, OptionsError, Totals};
#[cfg(unix)]
pub use error::failure;
pub use message::{Message, Received};
#[cfg(unix)]
pub use sending::Sending;
#[cfg(unix)]
pub use socket::{Socket, random_query};

/// Compiles the code of the guide with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/due-sockets.md")]
struct Guide;
