//! Transport header that both versions share: the first 20 bytes of a datagram.
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
//! | 18 | 1 | version |
//! | 19 | 1 | kind; zero in version 0 |

use super::lengths::TRANSPORT_BYTES;
use super::{Flags, HeaderError, MAX_HOPS, Packet, Request, Tag};

/// Maximum payload of a datagram.
const MAX_PAYLOAD: u32 = (u16::MAX as usize - TRANSPORT_BYTES - Request::WIRE_BYTES - 8) as u32;

pub(super) const MAGIC: u8 = 0xd3;
pub(super) const HAS_REQUEST: u8 = 0x80;

/// Writes the header of version 0.
pub(super) fn encode(packet: &Packet, out: &mut [u8; TRANSPORT_BYTES]) -> Result<(), HeaderError> {
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

/// Parses bytes 1 to 17 of the header, and `rest`, which is the congestion header, if any, and the payload.
pub(super) fn decode<'a>(
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
