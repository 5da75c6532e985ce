//! Sockets that use the congestion controllers, and their state.

use duetime_core::fixed::{Factor, Fraction};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Congestion controller of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `duetime_dctcp`.
    Dctcp,
    /// `duetime_d2tcp`.
    D2tcp,
}

impl Algorithm {
    /// Returns the name for `TCP_CONGESTION`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dctcp => "duetime_dctcp",
            Self::D2tcp => "duetime_d2tcp",
        }
    }
}

/// State of a socket and its controller.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketState {
    /// Congestion controller.
    pub algorithm: Algorithm,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Inode number of its network namespace.
    pub network_namespace: u32,
    /// TCP state; 1 is established (`include/net/tcp_states.h`).
    pub tcp_state: u8,
    /// True if ECN was negotiated.
    pub ecn: bool,
    /// α, the average marked fraction.
    pub alpha: Fraction,
    /// Imminence d of the last reduction; 1 before the first.
    pub imminence: Factor,
    /// First announced message, if any.
    pub message: Option<MessageState>,
    /// Number of announced and unacknowledged messages.
    pub messages: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow-start threshold, in segments; 2³¹-1 is infinite.
    pub ssthresh: u32,
    /// Length of a full segment, in bytes.
    pub mss: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets delivered with a mark.
    pub marks: u32,
    /// Window reductions by marks.
    pub reductions: u32,
    /// Window reductions by losses, and timeouts.
    pub losses: u32,
    /// Retransmitted packets.
    pub retransmits: u32,
}

/// Message with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageState {
    /// Unacknowledged bytes.
    pub remaining_bytes: u64,
    /// Nanoseconds until the deadline; negative if it has passed.
    pub left_ns: i64,
}

/// Size of `struct socket_record`.
const RECORD: usize = 128;

/// Parses the records of the program `duetime_sockets`.
pub(crate) fn parse(bytes: &[u8]) -> Vec<SocketState> {
    bytes.chunks_exact(RECORD).filter_map(record).collect()
}

fn record(bytes: &[u8]) -> Option<SocketState> {
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let short = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"));
    let address = |at: usize| {
        let octets: [u8; 16] = bytes[at..at + 16].try_into().expect("sixteen bytes");
        if i32::from(short(68)) == libc::AF_INET6 {
            let v6 = Ipv6Addr::from(octets);
            v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
        } else {
            IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]))
        }
    };
    Some(SocketState {
        algorithm: match word(76) {
            1 => Algorithm::Dctcp,
            2 => Algorithm::D2tcp,
            _ => return None,
        },
        local: SocketAddr::new(address(32), short(70)),
        remote: SocketAddr::new(address(48), short(72)),
        network_namespace: word(64),
        tcp_state: bytes[74],
        ecn: bytes[75] != 0,
        alpha: Fraction::from_bits(word(84)),
        imminence: Factor::from_bits(long(16)),
        message: (word(124) != 0).then(|| MessageState {
            remaining_bytes: long(0),
            left_ns: long(8).cast_signed(),
        }),
        messages: word(80),
        cwnd: word(88),
        ssthresh: word(92),
        mss: word(96),
        srtt_us: word(100),
        bytes_acked: long(24),
        delivered: word(104),
        marks: word(108),
        reductions: word(112),
        losses: word(116),
        retransmits: word(120),
    })
}
