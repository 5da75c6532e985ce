//! Wire format: packets in memory, and the bytes of their datagrams (docs/wire.md).
//!
//! A [`Packet`] is data or an acknowledgement of a flow, with a [`Request`] for a rate in the first packet of each round
//! trip. Its datagram is a transport header, the request as congestion header, and the payload. All numbers are
//! big-endian.
//!
//! ```text
//!              bytes   20         24                    22
//! version 1, in UDP    transport  identifiers, window,  congestion header  payload
//!                                 checksum              (requests only)
//! version 0, in the    transport                        congestion header  payload
//! simulator's captures                                  (requests only)
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `packet` | [`Packet`], and the [`Tag`] that matches feedback to requests |
//! | `flags` | [`Flags`] of a packet |
//! | `request` | congestion header (D3 §5), and its fields as seen by one hop of the path |
//! | `transport` | header that both versions share |
//! | `datagram` | version 1: [`encode`] and [`decode`] |
//! | `routing` | requests in passing datagrams of version 1, for routers: [`route`] |
//! | `lengths` | lengths of the headers |
//! | `checksum` | updates of the checksums for the bytes that a router changes |
//! | [`capture`] | version 0: shorter headers, only in the simulator's captures |
//!
//! The simulator's packets have version 0's lengths, so its captures use version 0.

pub mod capture;
mod checksum;
mod datagram;
mod flags;
pub(super) mod lengths;
mod packet;
mod request;
mod routing;
mod transport;

pub use datagram::{DatagramError, Header, Kind, Reason, VERSION, decode, encode};
pub use flags::Flags;
pub use lengths::{HEADER_BYTES, UDP_IPV4_BYTES, UDP_IPV6_BYTES};
pub use packet::{Packet, Tag};
pub use request::{HeaderError, HopAnswer, HopRequest, MAX_HOPS, Outcome, Request};
pub use routing::{
    Found, ROUTED_BYTES, Routed, claim, has_request, hop_request, route, write_answer,
};
