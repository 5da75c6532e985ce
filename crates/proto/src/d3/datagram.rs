//! Version 1 of the datagram format: what leaves a real socket. docs/wire.md documents it for other implementations.
//!
//! 44 bytes of header, big-endian; then the congestion header, if there is one; then the payload.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 18 | as in version 0 (see [`wire`](super::wire)) |
//! | 18 | 1 | version: 1 |
//! | 19 | 1 | kind of datagram |
//! | 20 | 8 | identifier of the stream at the destination; a challenge's answer or zero while it is unknown |
//! | 28 | 8 | identifier of the stream at the source |
//! | 36 | 4 | receive window, with an acknowledgement |
//! | 40 | 4 | CRC-32C |
//!
//! The checksum covers the bytes before it, then the payload, and the congestion header last. Routers rewrite that
//! header, and can so bring the checksum up to date from the 22 bytes alone ([`route`]): it stays an end-to-end check,
//! and no router reads a payload.

use super::header;
pub use super::header::Found;
use super::wire::{HAS_REQUEST, MAGIC, TRANSPORT_BYTES, decode_transport, encode_transport};
use super::{Claim, EncodedRate, Flags, HeaderError, HopAnswer, HopRequest, Packet, Request};
use core::fmt;
use crc32c::{crc32c, crc32c_append};

/// The version of the format.
pub const VERSION: u8 = 1;
/// Length of the header, without the congestion header.
pub const HEADER_BYTES: usize = TRANSPORT_BYTES + 24;
/// IPv4, UDP and datagram headers: `header_bytes` of the [`Config`](super::Config).
pub const UDP_IPV4_BYTES: u32 = 20 + 8 + HEADER_BYTES as u32;
/// IPv6, UDP and datagram headers.
pub const UDP_IPV6_BYTES: u32 = 40 + 8 + HEADER_BYTES as u32;

/// Length of the headers of a datagram with a request.
pub const ROUTED_BYTES: usize = REQUEST_END;

const REQUEST_END: usize = HEADER_BYTES + Request::WIRE_BYTES;
const CHECKSUM: usize = HEADER_BYTES - 4;

/// What a datagram says beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the datagram is.
    pub kind: Kind,
    /// The stream, as the receiving endpoint names it; the cookie of a challenge in the SYN that answers it; zero in a
    /// first SYN.
    pub destination: u64,
    /// The stream, as the sending endpoint names it; never zero in a SYN.
    pub source: u64,
    /// Bytes from the position acknowledged on for which the receiver has buffer space.
    pub window: u32,
    /// The packet. Kinds other than [`Kind::Packet`] have a position at most.
    pub packet: Packet,
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet of the protocol.
    Packet,
    /// Asks for a [`Kind::Pong`].
    Ping,
    /// The peer is there.
    Pong,
    /// There is no such stream at the source, or there will be none. The position says why: see [`Reason`].
    Reset,
    /// Answer to a SYN: send it again to the destination that the source field names. So a listener learns that the
    /// address is true, without remembering it.
    Challenge,
}

/// Why a stream was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nobody accepts streams there.
    Refused,
    /// No stream has this identifier: it ended, or the host restarted.
    Unknown,
    /// The application has dropped the stream and reads no more.
    Abandoned,
    /// The datagram's version is not spoken there. Its answer's own version is.
    Version,
}

/// Why bytes are not a datagram of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramError {
    /// Its form is wrong.
    Header(HeaderError),
    /// The checksum disagrees with the bytes.
    Checksum,
    /// Another version. Its identifiers stand where ours do; nothing else is known of it, not even whether it is intact.
    Version {
        /// The version.
        theirs: u8,
        /// Its destination.
        destination: u64,
        /// Its source.
        source: u64,
    },
}

/// Appends a datagram to `out` and returns its length. The payload may come in two pieces; their length is the packet's.
pub fn encode(
    header: &Header,
    payload: (&[u8], &[u8]),
    out: &mut Vec<u8>,
) -> Result<usize, HeaderError> {
    if payload.0.len() + payload.1.len() != header.packet.len as usize {
        return Err(HeaderError::BadLength);
    }
    check(header)?;
    let mut head = [0; REQUEST_END];
    let (bytes, request) = head.split_at_mut(HEADER_BYTES);
    let (transport, rest) = bytes.split_at_mut(TRANSPORT_BYTES);
    let transport: &mut [u8; TRANSPORT_BYTES] =
        transport.try_into().map_err(|_| HeaderError::TooShort)?;
    encode_transport(&header.packet, transport)?;
    transport[18] = VERSION;
    transport[19] = header.kind as u8;
    rest[..8].copy_from_slice(&header.destination.to_be_bytes());
    rest[8..16].copy_from_slice(&header.source.to_be_bytes());
    rest[16..20].copy_from_slice(&header.window.to_be_bytes());
    let end = match &header.packet.request {
        Some(fields) => {
            fields.encode(request.first_chunk_mut().ok_or(HeaderError::TooShort)?)?;
            REQUEST_END
        }
        None => HEADER_BYTES,
    };
    let checksum = checksum_of(&head[..end], payload);
    head[CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_be_bytes());
    let before = out.len();
    out.extend_from_slice(&head[..end]);
    out.extend_from_slice(payload.0);
    out.extend_from_slice(payload.1);
    Ok(out.len() - before)
}

/// Reads a datagram: its header and its payload. Accepts exactly what [`encode`] writes.
pub fn decode(datagram: &[u8]) -> Result<(Header, &[u8]), DatagramError> {
    let Some((head, rest)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
        return Err(DatagramError::Header(HeaderError::TooShort));
    };
    if head[0] != MAGIC {
        return Err(DatagramError::Header(HeaderError::BadMagic));
    }
    let long = |i: usize| u64::from_be_bytes(core::array::from_fn(|byte| head[i + byte]));
    let (destination, source) = (long(20), long(28));
    if head[18] != VERSION {
        return Err(DatagramError::Version {
            theirs: head[18],
            destination,
            source,
        });
    }
    let has_request = head[1] & HAS_REQUEST != 0;
    let end = if has_request {
        REQUEST_END
    } else {
        HEADER_BYTES
    };
    if datagram.len() < end {
        return Err(DatagramError::Header(HeaderError::TooShort));
    }
    let (headers, payload) = datagram.split_at(end);
    if checksum_of(headers, (payload, &[])).to_be_bytes() != head[CHECKSUM..] {
        return Err(DatagramError::Checksum);
    }
    let transport = head
        .first_chunk()
        .ok_or(DatagramError::Header(HeaderError::TooShort))?;
    let (packet, payload) = decode_transport(transport, rest).map_err(DatagramError::Header)?;
    let kind = Kind::from_byte(head[19]).ok_or(DatagramError::Header(HeaderError::BadFlags))?;
    let header = Header {
        kind,
        destination,
        source,
        window: u32::from_be_bytes(core::array::from_fn(|byte| head[36 + byte])),
        packet,
    };
    check(&header).map_err(DatagramError::Header)?;
    Ok((header, payload))
}

/// For a router: whether this is a packet of this version with a request. Looks at the magic byte, the version, the kind
/// and the payload length, which must be what is left of the datagram; not at the checksum.
#[inline]
pub fn has_request(datagram: &[u8]) -> bool {
    let Some((head, payload)) = datagram.split_first_chunk::<REQUEST_END>() else {
        return false;
    };
    head[0] == MAGIC
        && head[1] & HAS_REQUEST != 0
        && head[18] == VERSION
        && head[19] == Kind::Packet as u8
        && usize::from(u16::from_be_bytes([head[2], head[3]])) == payload.len()
}

/// For a router: what a datagram of which [`has_request`] is known claims.
pub fn claim(datagram: &[u8]) -> Claim {
    let (Some(flags), Some(desired)) = (datagram.get(1), datagram.get(HEADER_BYTES)) else {
        return Claim::Nothing;
    };
    let flags = Flags(u16::from(flags & !HAS_REQUEST));
    Claim::of(flags, EncodedRate::from_byte(*desired))
}

/// What a router has done with the request of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed {
    /// There is none that can be read, or the answer cannot be written; nothing has changed.
    Nothing,
    /// Six hops have answered it; nothing has changed.
    Full,
    /// It was answered.
    Answered {
        /// See [`write_answer`].
        words: u64,
    },
}

/// For a router: lets `answer` answer the request of a datagram that passes, and brings the checksum up to date. A
/// datagram that was damaged on its way stays damaged.
#[inline]
pub fn route(datagram: &mut [u8], answer: impl FnOnce(&HopRequest) -> HopAnswer) -> Routed {
    if !has_request(datagram) {
        return Routed::Nothing;
    }
    let Some(headers) = datagram.first_chunk_mut() else {
        return Routed::Nothing;
    };
    match hop_request(headers) {
        Found::Nothing => Routed::Nothing,
        Found::Full => Routed::Full,
        Found::Request(asked) => write_answer(headers, &asked, answer(&asked))
            .map_or(Routed::Nothing, |words| Routed::Answered { words }),
    }
}

/// What the headers of a datagram of which [`has_request`] is known say to the next hop.
#[inline(always)]
pub fn hop_request(headers: &[u8; ROUTED_BYTES]) -> Found {
    let flags = Flags(u16::from(headers[1] & !HAS_REQUEST));
    headers
        .last_chunk()
        .map_or(Found::Nothing, |request| header::at_hop(request, flags))
}

/// Writes the answer to what [`hop_request`] has found in these headers, and brings the checksum up to date. The result is
/// by how much the sum of the datagram's 16-bit words has grown, modulo 2^16 - 1, above zero and below 2^36: UDP's checksum
/// must follow (RFC 1624). The words, and so the checksum, are read in little-endian order (RFC 1071 §2B). `None`, and
/// nothing is written, for a rate that has no encoding.
#[inline(always)]
pub fn write_answer(
    headers: &mut [u8; ROUTED_BYTES],
    asked: &HopRequest,
    answer: HopAnswer,
) -> Option<u64> {
    let (head, request) = headers.split_at_mut(HEADER_BYTES);
    let change = header::answer(request.first_chunk_mut()?, asked, answer)?;
    let field = head.last_chunk_mut()?;
    let before = u32::from_le_bytes(*field);
    let after = before ^ change.crc;
    *field = after.to_le_bytes();
    Some(change.words + u64::from(!before) + u64::from(after))
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Packet,
        Self::Ping,
        Self::Pong,
        Self::Reset,
        Self::Challenge,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

impl Reason {
    const ALL: [Self; 4] = [Self::Refused, Self::Unknown, Self::Abandoned, Self::Version];

    /// As the position field of a reset.
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// Of a reset's position field; a code that has no meaning counts as [`Reason::Unknown`].
    pub fn from_code(code: u64) -> Self {
        let known = usize::try_from(code)
            .ok()
            .and_then(|code| Self::ALL.get(code));
        known.copied().unwrap_or(Self::Unknown)
    }
}

/// `headers`: the header, its checksum field left out of account, and the congestion header if there is one.
fn checksum_of(headers: &[u8], payload: (&[u8], &[u8])) -> u32 {
    let crc = crc32c(&headers[..CHECKSUM]);
    let crc = crc32c_append(crc32c_append(crc, payload.0), payload.1);
    crc32c_append(crc, &headers[HEADER_BYTES..])
}

/// Only packets have flags, a payload and a request; only acknowledgements a window; only packets and resets a position.
fn check(header: &Header) -> Result<(), HeaderError> {
    let packet = &header.packet;
    let plain = Packet {
        seq: packet.seq,
        ..Packet::default()
    };
    let fits = match header.kind {
        Kind::Packet => header.window == 0 || packet.flags.contains(Flags::ACK),
        Kind::Reset => *packet == plain && header.window == 0,
        Kind::Ping | Kind::Pong | Kind::Challenge => {
            *packet == Packet::default() && header.window == 0
        }
    };
    if fits {
        Ok(())
    } else {
        Err(HeaderError::BadFlags)
    }
}

impl From<HeaderError> for DatagramError {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}

impl fmt::Display for DatagramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => error.fmt(f),
            Self::Checksum => f.write_str("the checksum disagrees with the bytes"),
            Self::Version { theirs, .. } => {
                write!(f, "version {theirs} of the format, and not {VERSION}")
            }
        }
    }
}

impl core::error::Error for DatagramError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::d3::FixedRate;

    fn with_request(len: u32) -> Header {
        Header {
            kind: Kind::Packet,
            destination: 0x0102_0304_0506_0708,
            source: 0x1112_1314_1516_1718,
            window: 0,
            packet: Packet {
                seq: 77,
                len,
                request: Some(Request {
                    desired: EncodedRate::from_byte(9),
                    ..Request::default()
                }),
                ..Packet::default()
            },
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = Vec::new();
        let header = with_request(3);
        assert_eq!(encode(&header, (b"a", b"bc"), &mut bytes), Ok(44 + 22 + 3));
        let expected = [
            0xd3, 0x80, 0, 3, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7,
            8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 0,
        ];
        assert_eq!(bytes[..40], expected);
        assert_eq!((bytes[44], &bytes[66..]), (9, &b"abc"[..]));
        let covered = [&bytes[..40], b"abc", &bytes[44..66]].concat();
        assert_eq!(bytes[40..44], crc32c(&covered).to_be_bytes());
        assert_eq!(decode(&bytes), Ok((header, &b"abc"[..])));
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        let mut bytes = Vec::new();
        encode(&with_request(5), (b"hello", b""), &mut bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_router_changes_the_request_and_nothing_else_and_hides_no_damage() {
        let mut bytes = Vec::new();
        let mut header = with_request(5);
        encode(&header, (b"hello", b""), &mut bytes).unwrap();
        let mut damaged = bytes.clone();
        damaged[70] ^= 4;
        let grant = |asked: &HopRequest| {
            assert_eq!((asked.hop, asked.desired), (0, FixedRate::from_byte(9)));
            let mut answer = HopAnswer::default();
            answer.outcome.granted = EncodedRate::from_byte(200);
            answer
        };
        for bytes in [&mut bytes, &mut damaged] {
            assert!(matches!(route(bytes, grant), Routed::Answered { .. }));
        }
        let request = header.packet.request.as_mut().unwrap();
        request.index = 1;
        request.allocations[0] = EncodedRate::from_byte(200);
        assert_eq!(decode(&bytes), Ok((header, &b"hello"[..])));
        assert_eq!(decode(&damaged), Err(DatagramError::Checksum));
        let plain = Header {
            packet: Packet::default(),
            ..header
        };
        let mut plain_bytes = Vec::new();
        encode(&plain, (&[], &[]), &mut plain_bytes).unwrap();
        assert_eq!(route(&mut plain_bytes, grant), Routed::Nothing);
        assert_eq!(route(&mut plain_bytes[..10], grant), Routed::Nothing);
    }

    #[test]
    fn another_version_is_told_with_its_identifiers() {
        let mut bytes = Vec::new();
        let header = with_request(0);
        encode(&header, (&[], &[]), &mut bytes).unwrap();
        bytes[18] = 9;
        let version = DatagramError::Version {
            theirs: 9,
            destination: header.destination,
            source: header.source,
        };
        assert_eq!(decode(&bytes), Err(version));
    }
}
