//! Version 1, which travels in UDP.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 18 | common header (see `transport`) |
//! | 18 | 1 | version: 1 |
//! | 19 | 1 | kind |
//! | 20 | 8 | stream identifier at the destination; while unknown, the cookie of a challenge or zero |
//! | 28 | 8 | stream identifier at the source |
//! | 36 | 4 | receive window (acknowledgements only) |
//! | 40 | 4 | CRC-32C |
//!
//! The checksum covers the bytes before it, then the payload, then the congestion header. Routers rewrite the
//! congestion header and can update the checksum from its 22 bytes alone ([`route`](super::route)). It remains an
//! end-to-end check, and no router reads payloads.

use super::lengths::{HEADER_BYTES, TRANSPORT_BYTES};
use super::transport::{self, HAS_REQUEST, MAGIC};
use super::{Flags, HeaderError, Packet, ROUTED_BYTES};
use crate::checksum::crc32c;
use core::fmt;

/// Version of the format.
pub const VERSION: u8 = 1;

const CHECKSUM: usize = HEADER_BYTES - 4;

/// Contents of a datagram other than its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the datagram.
    pub kind: Kind,
    /// Stream identifier at the receiving endpoint; zero in a first SYN, and the cookie in a SYN that answers a
    /// challenge.
    pub destination: u64,
    /// Stream identifier at the sending endpoint; never zero in a SYN.
    pub source: u64,
    /// Free receive buffer in bytes, from the acknowledged position on.
    pub window: u32,
    /// Packet. Kinds other than [`Kind::Packet`] use its position only.
    pub packet: Packet,
}

/// Kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Packet of the protocol.
    Packet,
    /// Request for a [`Kind::Pong`].
    Ping,
    /// Reply to a [`Kind::Ping`].
    Pong,
    /// Notice that the source has no such stream or no longer accepts its data. The position gives the [`Reason`].
    Reset,
    /// Reply to a SYN: the SYN must be repeated with the source field of this datagram as its destination. A listener
    /// thereby verifies the address without storing it.
    Challenge,
}

/// Reason for the reset of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The host accepts no streams.
    Refused,
    /// The identifier belongs to no stream: it has ended, or the host was restarted.
    Unknown,
    /// The application released the stream and reads no more.
    Abandoned,
    /// The version of the datagram is not supported. The version of the reply is.
    Version,
}

/// Reason why bytes are not a datagram of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramError {
    /// Malformed header.
    Header(HeaderError),
    /// Checksum mismatch.
    Checksum,
    /// Datagram of another version. Its identifiers are at the same offsets; nothing else is known, including its
    /// integrity.
    Version {
        /// Version of the datagram.
        theirs: u8,
        /// Destination identifier.
        destination: u64,
        /// Source identifier.
        source: u64,
    },
}

/// Appends a datagram to `out` and returns its length. The payload may be in two pieces with the packet's total length.
pub fn encode(
    header: &Header,
    payload: (&[u8], &[u8]),
    out: &mut Vec<u8>,
) -> Result<usize, HeaderError> {
    if payload.0.len() + payload.1.len() != header.packet.len as usize {
        return Err(HeaderError::BadLength);
    }
    check(header)?;
    let mut head = [0; ROUTED_BYTES];
    let (bytes, request) = head.split_at_mut(HEADER_BYTES);
    let (common, rest) = bytes.split_at_mut(TRANSPORT_BYTES);
    let common = common.first_chunk_mut().ok_or(HeaderError::TooShort)?;
    transport::encode(&header.packet, common)?;
    common[18] = VERSION;
    common[19] = header.kind as u8;
    rest[..8].copy_from_slice(&header.destination.to_be_bytes());
    rest[8..16].copy_from_slice(&header.source.to_be_bytes());
    rest[16..20].copy_from_slice(&header.window.to_be_bytes());
    let end = match &header.packet.request {
        Some(fields) => {
            fields.encode(request.first_chunk_mut().ok_or(HeaderError::TooShort)?)?;
            ROUTED_BYTES
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

/// Parses a datagram into header and payload. Accepts exactly the output of [`encode`].
pub fn decode(datagram: &[u8]) -> Result<(Header, &[u8]), DatagramError> {
    let Some((head, rest)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
        return Err(HeaderError::TooShort.into());
    };
    if head[0] != MAGIC {
        return Err(HeaderError::BadMagic.into());
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
        ROUTED_BYTES
    } else {
        HEADER_BYTES
    };
    if datagram.len() < end {
        return Err(HeaderError::TooShort.into());
    }
    let (headers, payload) = datagram.split_at(end);
    if checksum_of(headers, (payload, &[])).to_be_bytes() != head[CHECKSUM..] {
        return Err(DatagramError::Checksum);
    }
    let common = head.first_chunk().ok_or(HeaderError::TooShort)?;
    let (packet, payload) = transport::decode(common, rest)?;
    let kind = Kind::from_byte(head[19]).ok_or(HeaderError::BadFlags)?;
    let header = Header {
        kind,
        destination,
        source,
        window: u32::from_be_bytes(core::array::from_fn(|byte| head[36 + byte])),
        packet,
    };
    check(&header)?;
    Ok((header, payload))
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

    /// Returns the code of the reason in the position field of a reset.
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// Returns the reason for the position field of a reset; unknown codes map to [`Reason::Unknown`].
    pub fn from_code(code: u64) -> Self {
        let known = usize::try_from(code)
            .ok()
            .and_then(|code| Self::ALL.get(code));
        known.copied().unwrap_or(Self::Unknown)
    }
}

/// Returns the checksum. `headers` is the header, with its checksum field ignored, and the congestion header if
/// present.
fn checksum_of(headers: &[u8], payload: (&[u8], &[u8])) -> u32 {
    let (before, after) = (&headers[..CHECKSUM], &headers[HEADER_BYTES..]);
    crc32c(&[before, payload.0, payload.1, after])
}

/// Checks the fields against the kind: only packets have flags, a payload and a request; only acknowledgements have a
/// window; only packets and resets have a position.
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
    use super::super::Request;
    use super::*;
    use crate::d3::EncodedRate;

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
    fn layout_matches_the_documentation() {
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
        assert_eq!(bytes[40..44], crc32c::crc32c(&covered).to_be_bytes());
        assert_eq!(decode(&bytes), Ok((header, &b"abc"[..])));
    }

    #[test]
    fn any_bit_flip_is_detected() {
        let mut bytes = Vec::new();
        encode(&with_request(5), (b"hello", b""), &mut bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn other_versions_report_identifiers() {
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
