//! Version 0 of the packet format (docs/wire.md), used in the simulator's captures. Flows are identified by addresses
//! and ports only. [`datagram`](super::datagram) is version 1, for real sockets: its first 20 bytes have the same
//! layout.
//!
//! A packet has 20 bytes of transport header (big-endian), an optional congestion header, and the payload. The
//! `header_bytes` of the [`Config`](super::Config) include the headers below.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | 0xD3 |
//! | 1 | 1 | flags; bit 7: a congestion header follows |
//! | 2 | 2 | payload length |
//! | 4 | 8 | position |
//! | 12 | 2 | number of the request |
//! | 14 | 2 | number of the request answered |
//! | 16 | 1 | filled slots of the feedback |
//! | 17 | 1 | stamps of the feedback |
//! | 18 | 1 | version: 0 |
//! | 19 | 1 | zero |

use super::{Flags, HeaderError, MAX_HOPS, Packet, Request, Tag};

/// Length of the transport header in bytes.
pub const TRANSPORT_BYTES: usize = 20;
/// Length of the IPv4 and transport headers.
pub const IP_BYTES: u32 = 20 + TRANSPORT_BYTES as u32;
/// Maximum length of the transport and congestion headers.
pub const MAX_HEADER_BYTES: usize = TRANSPORT_BYTES + Request::WIRE_BYTES;
/// Maximum payload of a datagram.
pub const MAX_PAYLOAD: u32 = (u16::MAX as usize - MAX_HEADER_BYTES - 8) as u32;

pub(super) const MAGIC: u8 = 0xd3;
pub(super) const HAS_REQUEST: u8 = 0x80;

/// Writes the headers of `packet` and returns their length. The payload follows them.
pub fn encode(packet: &Packet, out: &mut [u8; MAX_HEADER_BYTES]) -> Result<usize, HeaderError> {
    let (transport, rest) = out.split_at_mut(TRANSPORT_BYTES);
    let transport = transport.first_chunk_mut().ok_or(HeaderError::TooShort)?;
    encode_transport(packet, transport)?;
    let Some(request) = &packet.request else {
        return Ok(TRANSPORT_BYTES);
    };
    let header = rest.first_chunk_mut().ok_or(HeaderError::TooShort)?;
    request.encode(header)?;
    Ok(MAX_HEADER_BYTES)
}

/// Parses a datagram into packet and payload. Accepts exactly what `encode` writes.
pub fn decode(datagram: &[u8]) -> Result<(Packet, &[u8]), HeaderError> {
    let Some((header, rest)) = datagram.split_first_chunk::<TRANSPORT_BYTES>() else {
        return Err(HeaderError::TooShort);
    };
    if header[0] != MAGIC {
        return Err(HeaderError::BadMagic);
    }
    if header[18] != 0 || header[19] != 0 {
        return Err(HeaderError::BadFlags);
    }
    decode_transport(header, rest)
}

/// Writes the first 20 bytes; the last two are zero.
pub(super) fn encode_transport(
    packet: &Packet,
    out: &mut [u8; TRANSPORT_BYTES],
) -> Result<(), HeaderError> {
    if packet.len > MAX_PAYLOAD {
        return Err(HeaderError::BadLength);
    }
    check(packet.flags, packet.tag, packet.request.is_some())?;
    out[0] = MAGIC;
    out[1] = packet.flags.0 as u8
        | if packet.request.is_some() {
            HAS_REQUEST
        } else {
            0
        };
    out[2..4].copy_from_slice(&(packet.len as u16).to_be_bytes());
    out[4..12].copy_from_slice(&packet.seq.to_be_bytes());
    out[12..14].copy_from_slice(&packet.tag.number.to_be_bytes());
    out[14..16].copy_from_slice(&packet.tag.echo.to_be_bytes());
    out[16] = packet.tag.hops;
    out[17] = packet.tag.stamps;
    out[18] = 0;
    out[19] = 0;
    Ok(())
}

/// Parses bytes 1 to 17 of a transport header, and `rest`, which is the congestion header, if any, and the payload.
pub(super) fn decode_transport<'a>(
    header: &[u8; TRANSPORT_BYTES],
    rest: &'a [u8],
) -> Result<(Packet, &'a [u8]), HeaderError> {
    let short = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
    let has_request = header[1] & HAS_REQUEST != 0;
    let flags = Flags(u16::from(header[1] & !HAS_REQUEST));
    let tag = Tag {
        number: short(12),
        echo: short(14),
        hops: header[16],
        stamps: header[17],
    };
    check(flags, tag, has_request)?;
    let (request, payload) = if has_request {
        let request = Request::decode(rest)?;
        (Some(request), &rest[Request::WIRE_BYTES..])
    } else {
        (None, rest)
    };
    let len = u32::from(short(2));
    if payload.len() != len as usize || len > MAX_PAYLOAD {
        return Err(HeaderError::BadLength);
    }
    let seq = u64::from_be_bytes(core::array::from_fn(|i| header[4 + i]));
    Ok((
        Packet {
            seq,
            len,
            flags,
            tag,
            request,
        },
        payload,
    ))
}

fn check(flags: Flags, tag: Tag, has_request: bool) -> Result<(), HeaderError> {
    if !Flags::ALL.contains(flags)
        || !has_request && tag != Tag::default()
        || tag.stamps >> MAX_HOPS != 0
    {
        return Err(HeaderError::BadFlags);
    }
    if usize::from(tag.hops) > MAX_HOPS {
        return Err(HeaderError::BadIndex);
    }
    Ok(())
}
