//! Requests in the bytes of passing datagrams, which routers answer in place.
//!
//! A router reads and writes the fields that [`Request::at_hop`] and [`Request::answer`] read and write in memory,
//! without decoding the datagram.

use super::checksum::Change;
use super::datagram::{Kind, VERSION};
use super::lengths::HEADER_BYTES;
use super::request::{LAST_STAMP, scale};
use super::transport::{HAS_REQUEST, MAGIC};
use super::{Flags, HopAnswer, HopRequest, MAX_HOPS, Request};
use crate::d3::{Claim, EncodedRate, FixedRate};

/// Length of the datagram headers with a request.
pub const ROUTED_BYTES: usize = HEADER_BYTES + Request::WIRE_BYTES;

/// Result of routing a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed {
    /// The datagram has no readable request, or the answer cannot be encoded; it is unchanged.
    Nothing,
    /// Six hops have already answered the request; the datagram is unchanged.
    Full,
    /// The request was answered.
    Answered {
        /// Growth of the word sum; see [`write_answer`].
        words: u64,
    },
}

/// Request as found by the next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No request: the index is invalid.
    Nothing,
    /// Request without a free slot.
    Full,
    /// Request to answer.
    Request(HopRequest),
}

/// Answers the request of a passing datagram with `answer` and updates the checksum. A damaged datagram remains
/// detectable.
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
        Found::Request(request) => write_answer(headers, &request, answer(&request))
            .map_or(Routed::Nothing, |words| Routed::Answered { words }),
    }
}

/// Returns true if the bytes are a packet of version 1 with a request. Checks the magic byte, the version, the kind and
/// the payload length, which must match the datagram, but not the checksum.
#[inline]
pub fn has_request(datagram: &[u8]) -> bool {
    let Some((head, payload)) = datagram.split_first_chunk::<ROUTED_BYTES>() else {
        return false;
    };
    head[0] == MAGIC
        && head[1] & HAS_REQUEST != 0
        && head[18] == VERSION
        && head[19] == Kind::Packet as u8
        && usize::from(u16::from_be_bytes([head[2], head[3]])) == payload.len()
}

/// Returns the claim of a datagram for which [`has_request`] is true.
pub fn claim(datagram: &[u8]) -> Claim {
    let (Some(flags), Some(desired)) = (datagram.get(1), datagram.get(HEADER_BYTES)) else {
        return Claim::Nothing;
    };
    let flags = Flags(u16::from(flags & !HAS_REQUEST));
    Claim::from_request(flags, EncodedRate::from_byte(*desired))
}

/// Returns the request of a datagram for its next hop. Requires that [`has_request`] is true.
#[inline(always)]
pub fn hop_request(headers: &[u8; ROUTED_BYTES]) -> Found {
    let Some(bytes) = headers.last_chunk::<{ Request::WIRE_BYTES }>() else {
        return Found::Nothing;
    };
    let hop = bytes[1] & 7;
    let slot = usize::from(hop);
    if slot >= MAX_HOPS {
        return if slot == MAX_HOPS {
            Found::Full
        } else {
            Found::Nothing
        };
    }
    let (scale, rest) = scale(bytes[2]);
    let stamps = bytes[1] >> 3 | rest & LAST_STAMP;
    let limit = if slot > 0 { bytes[2 + slot] } else { u8::MAX };
    Found::Request(HopRequest {
        flags: Flags(u16::from(headers[1] & !HAS_REQUEST)),
        hop,
        scale,
        pace: rest >> 6,
        stamp: stamps >> slot & 1 != 0,
        desired: FixedRate::from_byte(bytes[0]),
        previous_desired: FixedRate::from_byte(bytes[9]),
        previous_allocation: FixedRate::from_byte(bytes[10 + slot]),
        limit: FixedRate::from_byte(limit),
    })
}

/// Writes the answer to the request that [`hop_request`] found in these headers and updates the checksum. Returns the
/// growth of the sum of the datagram's 16-bit words, modulo 2^16 - 1, above zero and below 2^36, by which UDP's
/// checksum must be updated (RFC 1624). The words and the checksum are read in little-endian order (RFC 1071 §2B).
/// Returns `None` and writes nothing if the rate cannot be encoded.
#[inline(always)]
pub fn write_answer(
    headers: &mut [u8; ROUTED_BYTES],
    request: &HopRequest,
    answer: HopAnswer,
) -> Option<u64> {
    let (head, bytes) = headers.split_at_mut(HEADER_BYTES);
    let bytes = bytes.first_chunk_mut::<{ Request::WIRE_BYTES }>()?;
    let slot = usize::from(request.hop);
    let granted = answer.outcome.granted.byte()?;
    let stamp = u8::from(request.stamp != answer.stamp);
    // The index is below six, so the next one stays within its bits.
    let index = bytes[1] + 1;
    let mut change = Change::default();
    if slot < MAX_HOPS - 1 {
        let place = 3 + slot;
        change.write::<0, 2>(bytes, [(1, index ^ stamp << place), (place, granted)]);
    } else {
        change.write::<0, 2>(bytes, [(1, index), (2, bytes[2] ^ stamp << 5)]);
        change.write::<8, 1>(bytes, [(8, granted)]);
    }
    let field = head.last_chunk_mut()?;
    let before = u32::from_le_bytes(*field);
    let after = before ^ change.crc;
    *field = after.to_le_bytes();
    Some(change.words + u64::from(!before) + u64::from(after))
}

#[cfg(test)]
mod tests {
    use super::super::{DatagramError, Header, Packet, decode, encode};
    use super::*;

    #[test]
    fn routing_changes_only_the_request() {
        let mut bytes = Vec::new();
        let mut header = Header {
            kind: Kind::Packet,
            destination: 1,
            source: 2,
            window: 0,
            packet: Packet {
                len: 5,
                request: Some(Request {
                    desired: EncodedRate::from_byte(9),
                    ..Request::default()
                }),
                ..Packet::default()
            },
        };
        encode(&header, (b"hello", b""), &mut bytes).unwrap();
        let mut damaged = bytes.clone();
        damaged[70] ^= 4;
        let grant = |request: &HopRequest| {
            assert_eq!((request.hop, request.desired), (0, FixedRate::from_byte(9)));
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
}
