//! Datagrams of `due` in UDP. docs/due-wire.md specifies them.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | 0xDE |
//! | 1 | 1 | version: 1 |
//! | 2 | 1 | kind |
//! | 3 | 1 | flags |
//! | 4 | 4 | CRC-32C |
//! | 8 | 8 | identity of the message's source |
//! | 16 | 4 | number of the message, modulo 2^32 |
//! | 20 | 4 | packet, `up_to`, `from` or reason |
//! | 24 | 8 | token; in a resend, `to` in the first four bytes |
//!
//! The announcement of 24 bytes follows in packet 0, and the payload in data packets, with zeros behind it in the last
//! packet of a long message. The checksum covers all bytes of the datagram but its own.

use super::HEADER_BYTES;
use crate::checksum::crc32c;
use core::fmt;
use core::net::SocketAddr;
use duetime_core::Span;

/// First byte of all datagrams.
pub const MAGIC: u8 = 0xde;
/// Version of the format.
pub const VERSION: u8 = 1;
/// Length of the header in bytes. Replies consist of it.
pub const DATAGRAM_HEADER_BYTES: usize = 32;
/// Length of the announcement, which follows the header of packet 0, in bytes.
pub const ANNOUNCEMENT_BYTES: usize = 24;
/// Minimum length of a packet, with IP and UDP headers, that endpoints must be able to send, in bytes.
pub const MIN_MTU: u32 = 576;
/// Minimum of [`Layout::area`] for messages of several packets: [`MIN_MTU`] without the headers of IPv6 and UDP.
pub const MIN_AREA: u32 = MIN_MTU - 48 - DATAGRAM_HEADER_BYTES as u32;
/// Number of packets from which the last packet of a message is padded to the length of the others. With datagrams of
/// equal length, one system call sends the end of a message together with the next one; the wire carries at most 1/64 more.
const MIN_PADDED_PACKETS: u32 = 64;
/// Maximum time to a deadline.
pub const MAX_TIME_LEFT: Span = Span::from_secs(1_000_000);

const _: () = assert!(HEADER_BYTES as usize == 28 + DATAGRAM_HEADER_BYTES);

const CHECKSUM: core::ops::Range<usize> = 4..8;
const HAS_DEADLINE: u8 = 1;
const HAS_QUERY: u8 = 2;
const IS_REQUEST: u8 = 4;
const IS_BACKGROUND: u8 = 1;

/// Contents of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Identity of the process that sends the message; never zero.
    pub identity: u64,
    /// Number of the message, modulo 2^32.
    pub number: u32,
    /// Proof of the source's address: drawn by the receiver, and returned by the source. Zero if unknown. A resend and
    /// a reset have none.
    pub token: u64,
    /// Fields of the kind.
    pub body: Body<'a>,
}

/// Fields of a kind of datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Packet 0 of a message.
    First {
        /// Description of the message.
        announcement: Announced,
        /// First bytes of the message.
        payload: &'a [u8],
    },
    /// Another packet of a message.
    Data {
        /// Position of the packet in the message, at least 1.
        packet: u32,
        /// Bytes of the message.
        payload: &'a [u8],
    },
    /// The source aborted the message.
    Abort,
    /// Permits the packets below `up_to`.
    Grant {
        /// One past the last permitted packet.
        up_to: u32,
        /// True if the message is granted only what more urgent messages leave.
        is_background: bool,
    },
    /// Requests missing packets.
    Resend {
        /// First missing packet.
        from: u32,
        /// One past the last missing packet, above `from`.
        to: u32,
    },
    /// All packets, or the abort, arrived.
    Done,
    /// Requests packet 0 with the token of this datagram, which is not zero.
    Challenge,
    /// The message is unknown to its source or refused by its receiver.
    Reset(Reason),
}

/// Description of a message, in packet 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Time to the deadline when the packet left, in whole nanoseconds, at most [`MAX_TIME_LEFT`].
    pub left: Option<Span>,
    /// Query that the message answers.
    pub query: Option<u64>,
    /// True for a request without a deadline that another host waits for.
    pub is_request: bool,
}

/// Reason for a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// From the source: it has no such message.
    Unknown,
    /// From the receiver: it accepts no messages.
    Refused,
    /// From the receiver: it accepts no messages of this size.
    TooLong,
    /// From the receiver: its memory is full.
    NoMemory,
}

/// Reason why bytes are not a datagram of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramError {
    /// Fewer bytes than a header, or another first byte.
    NotDue,
    /// Other version.
    Version(u8),
    /// Checksum mismatch.
    Checksum,
    /// Unknown kind, or a field out of range.
    BadField,
}

/// Appends a datagram to `out` and returns its length. [`Body::Data`] must not have packet 0.
pub fn encode(datagram: &Datagram<'_>, out: &mut Vec<u8>) -> usize {
    encode_padded(datagram, 0, out)
}

/// Appends a datagram like [`encode`], with `padding` zeros behind the payload.
pub fn encode_padded(datagram: &Datagram<'_>, padding: usize, out: &mut Vec<u8>) -> usize {
    let (kind, flags, value) = datagram.body.fields();
    debug_assert!(!matches!(datagram.body, Body::Data { packet: 0, .. }));
    let mut head = [0; DATAGRAM_HEADER_BYTES];
    head[..4].copy_from_slice(&[MAGIC, VERSION, kind, flags]);
    head[8..16].copy_from_slice(&datagram.identity.to_be_bytes());
    head[16..20].copy_from_slice(&datagram.number.to_be_bytes());
    head[20..24].copy_from_slice(&value.to_be_bytes());
    match datagram.body {
        Body::Resend { to, .. } => head[24..28].copy_from_slice(&to.to_be_bytes()),
        Body::Reset(_) => {}
        _ => head[24..].copy_from_slice(&datagram.token.to_be_bytes()),
    }
    let mut extension = [0; ANNOUNCEMENT_BYTES];
    let (extension, payload): (&[u8], &[u8]) = match datagram.body {
        Body::First {
            announcement,
            payload,
        } => {
            announcement.encode(&mut extension);
            (&extension, payload)
        }
        Body::Data { payload, .. } => (&[], payload),
        _ => (&[], &[]),
    };
    let before = out.len();
    out.extend_from_slice(&head);
    out.extend_from_slice(extension);
    out.extend_from_slice(payload);
    out.resize(out.len() + padding, 0);
    // Of the copy, which is in the cache.
    let datagram = &mut out[before..];
    let crc = checksum(datagram);
    datagram[CHECKSUM].copy_from_slice(&crc.to_be_bytes());
    datagram.len()
}

/// Returns the CRC-32C of a datagram of at least a header, without its checksum.
fn checksum(datagram: &[u8]) -> u32 {
    crc32c(&[&datagram[..CHECKSUM.start], &datagram[CHECKSUM.end..]])
}

/// Parses a datagram. Accepts exactly the output of [`encode`].
pub fn decode(bytes: &[u8]) -> Result<Datagram<'_>, DatagramError> {
    let Some((head, rest)) = bytes.split_first_chunk::<DATAGRAM_HEADER_BYTES>() else {
        return Err(DatagramError::NotDue);
    };
    if head[0] != MAGIC {
        return Err(DatagramError::NotDue);
    }
    if head[1] != VERSION {
        return Err(DatagramError::Version(head[1]));
    }
    if checksum(bytes).to_be_bytes() != head[CHECKSUM] {
        return Err(DatagramError::Checksum);
    }
    let (kind, flags, value, second) = (head[2], head[3], short(head, 20), short(head, 24));
    let token = long(head, 24);
    let body = match kind {
        0 if value == 0 => {
            let (extension, payload) = rest
                .split_first_chunk::<ANNOUNCEMENT_BYTES>()
                .ok_or(DatagramError::BadField)?;
            let announcement =
                Announced::decode(flags, extension).ok_or(DatagramError::BadField)?;
            Body::First {
                announcement,
                payload,
            }
        }
        0 => Body::Data {
            packet: value,
            payload: rest,
        },
        1 => Body::Abort,
        2 => Body::Grant {
            up_to: value,
            is_background: flags & IS_BACKGROUND != 0,
        },
        3 => Body::Resend {
            from: value,
            to: second,
        },
        4 => Body::Done,
        5 => Body::Challenge,
        6 => Body::Reset(Reason::from_code(value).ok_or(DatagramError::BadField)?),
        _ => return Err(DatagramError::BadField),
    };
    let is_valid = body.fields() == (kind, flags, value)
        && match body {
            Body::First { .. } | Body::Data { .. } => true,
            Body::Resend { from, to } => from < to && short(head, 28) == 0 && rest.is_empty(),
            Body::Challenge => token != 0 && rest.is_empty(),
            Body::Reset(_) => token == 0 && rest.is_empty(),
            Body::Abort | Body::Grant { .. } | Body::Done => rest.is_empty(),
        };
    let identity = long(head, 8);
    if !is_valid || identity == 0 {
        return Err(DatagramError::BadField);
    }
    Ok(Datagram {
        identity,
        number: short(head, 16),
        token: if matches!(body, Body::Resend { .. }) {
            0
        } else {
            token
        },
        body,
    })
}

impl Body<'_> {
    /// Returns kind, flags and the field at offset 20.
    fn fields(&self) -> (u8, u8, u32) {
        match *self {
            Self::First { announcement, .. } => (0, announcement.flags(), 0),
            Self::Data { packet, .. } => (0, 0, packet),
            Self::Abort => (1, 0, 0),
            Self::Grant {
                up_to,
                is_background,
            } => (2, u8::from(is_background) * IS_BACKGROUND, up_to),
            Self::Resend { from, .. } => (3, 0, from),
            Self::Done => (4, 0, 0),
            Self::Challenge => (5, 0, 0),
            Self::Reset(reason) => (6, 0, reason as u32),
        }
    }
}

impl Announced {
    fn flags(&self) -> u8 {
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        flag(self.left.is_some(), HAS_DEADLINE)
            | flag(self.query.is_some(), HAS_QUERY)
            | flag(self.is_request, IS_REQUEST)
    }

    fn encode(&self, out: &mut [u8; ANNOUNCEMENT_BYTES]) {
        let left = self.left.unwrap_or_default().min(MAX_TIME_LEFT);
        out[..8].copy_from_slice(&self.bytes.to_be_bytes());
        out[8..16].copy_from_slice(&left.as_ns().to_be_bytes());
        out[16..].copy_from_slice(&self.query.unwrap_or_default().to_be_bytes());
    }

    /// Returns the announcement, or `None` if a field is out of range or an absent field is not zero.
    fn decode(flags: u8, bytes: &[u8; ANNOUNCEMENT_BYTES]) -> Option<Self> {
        let (left_ns, query) = (long(bytes, 8), long(bytes, 16));
        let (has_left, has_query) = (flags & HAS_DEADLINE != 0, flags & HAS_QUERY != 0);
        if left_ns > MAX_TIME_LEFT.as_ns() || !has_left && left_ns != 0 || !has_query && query != 0
        {
            return None;
        }
        Some(Self {
            bytes: long(bytes, 0),
            left: has_left.then(|| Span::from_ns(left_ns)),
            query: has_query.then_some(query),
            is_request: flags & IS_REQUEST != 0,
        })
    }
}

impl Reason {
    fn from_code(code: u32) -> Option<Self> {
        let all = [Self::Unknown, Self::Refused, Self::TooLong, Self::NoMemory];
        all.get(usize::try_from(code).ok()?).copied()
    }
}

/// Division of a message into packets. Packet 0 carries [`ANNOUNCEMENT_BYTES`] less than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    bytes: u64,
    /// Payload of a full packet other than packet 0.
    area: u32,
    /// Number of packets.
    packets: u32,
}

impl Layout {
    /// Creates the layout of a message of `bytes` to `peer`, in packets of at most `mtu` bytes with all headers, at
    /// least [`MIN_MTU`]. Returns `None` if it would have 2^32 packets or more.
    pub fn new(bytes: u64, mtu: u32, peer: SocketAddr) -> Option<Self> {
        let headers = ip_udp_bytes(peer) + DATAGRAM_HEADER_BYTES as u32;
        Self::of(bytes, mtu.max(MIN_MTU) - headers)
    }

    /// Creates the layout of a message of which packet 0, with `payload` bytes, has arrived. Returns `None` if the
    /// lengths contradict each other, packets are shorter than [`MIN_AREA`], or the message has 2^32 packets or more.
    pub fn received(bytes: u64, payload: usize) -> Option<Self> {
        let payload = u32::try_from(payload).ok()?;
        let area = payload.checked_add(ANNOUNCEMENT_BYTES as u32)?;
        let is_single = u64::from(payload) == bytes;
        let is_first = u64::from(payload) < bytes && area >= MIN_AREA;
        (is_single || is_first).then(|| Self::of(bytes, area))?
    }

    fn of(bytes: u64, area: u32) -> Option<Self> {
        let beyond_first = bytes.saturating_sub(first_payload(area));
        let packets = 1 + beyond_first.div_ceil(area.into());
        Some(Self {
            bytes,
            area,
            packets: u32::try_from(packets).ok()?,
        })
    }

    /// Returns the size of the message in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the payload of a full packet other than packet 0, in bytes.
    pub const fn area(&self) -> u32 {
        self.area
    }

    /// Returns the number of packets, at least 1.
    pub const fn packets(&self) -> u64 {
        self.packets as u64
    }

    /// Returns the position of the first byte of a packet and the number of its bytes, or `None` if the message has no
    /// such packet.
    pub fn range(&self, packet: u32) -> Option<(u64, usize)> {
        if packet >= self.packets {
            return None;
        }
        let first = first_payload(self.area);
        let (start, max) = match u64::from(packet).checked_sub(1) {
            None => (0, first),
            Some(before) => (first + before * u64::from(self.area), u64::from(self.area)),
        };
        Some((start, self.bytes.saturating_sub(start).min(max) as usize))
    }

    /// Returns the number of zeros that the source sends behind the payload of a packet.
    pub fn padding(&self, packet: u32) -> usize {
        match self.range(packet) {
            Some((_, bytes)) if packet > 0 && self.packets >= MIN_PADDED_PACKETS => {
                (self.area as usize).saturating_sub(bytes)
            }
            _ => 0,
        }
    }

    /// Returns the position of the first byte of a received packet and its part of the message. Returns `None` if the
    /// message has no packet of this length, with or without padding.
    pub fn contents<'a>(&self, packet: u32, payload: &'a [u8]) -> Option<(u64, &'a [u8])> {
        let (start, bytes) = self.range(packet)?;
        let contents = payload.get(..bytes)?;
        let is_padded = packet > 0 && payload.len() == self.area as usize;
        (is_padded || payload.len() == bytes).then_some((start, contents))
    }

    /// Returns the bytes of the first `packets` packets.
    pub fn bytes_of(&self, packets: u64) -> u64 {
        let others = packets.saturating_sub(1).saturating_mul(self.area.into());
        let bytes = others.saturating_add(first_payload(self.area));
        bytes.min(self.bytes)
    }

    /// Returns the length of the longest datagram of the message in bytes.
    pub const fn longest(&self) -> u64 {
        let first = DATAGRAM_HEADER_BYTES as u64 + ANNOUNCEMENT_BYTES as u64;
        let full = DATAGRAM_HEADER_BYTES as u64 + self.area as u64;
        if self.packets() == 1 {
            first + self.bytes
        } else {
            full
        }
    }
}

/// Returns the payload of a full packet 0 in a message whose other packets have `area` bytes.
fn first_payload(area: u32) -> u64 {
    u64::from(area) - ANNOUNCEMENT_BYTES as u64
}

/// Returns the length of the IP and UDP headers of datagrams to `peer`, in bytes.
pub const fn ip_udp_bytes(peer: SocketAddr) -> u32 {
    match peer {
        SocketAddr::V4(_) => 28,
        SocketAddr::V6(_) => 48,
    }
}

#[inline]
fn short(bytes: &[u8; DATAGRAM_HEADER_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
fn long<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(field)
}

impl fmt::Display for DatagramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDue => f.write_str("not a datagram of due"),
            Self::Version(theirs) => write!(f, "version {theirs} of the format, not {VERSION}"),
            Self::Checksum => f.write_str("the checksum does not match"),
            Self::BadField => f.write_str("unknown kind, or a field out of range"),
        }
    }
}

impl core::error::Error for DatagramError {}
