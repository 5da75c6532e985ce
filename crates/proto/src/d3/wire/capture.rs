//! Version 0, which the simulator's captures contain: the transport header and the congestion header only. Flows are
//! identified by addresses and ports.

pub use super::lengths::IP_BYTES;

use super::lengths::TRANSPORT_BYTES;
use super::transport::{self, MAGIC};
use super::{HeaderError, Packet, Request};

/// Maximum length of the headers.
pub const MAX_HEADER_BYTES: usize = TRANSPORT_BYTES + Request::WIRE_BYTES;

/// Writes the headers of `packet` and returns their length. The payload follows them.
pub fn encode(packet: &Packet, out: &mut [u8; MAX_HEADER_BYTES]) -> Result<usize, HeaderError> {
    let (common, rest) = out.split_at_mut(TRANSPORT_BYTES);
    let common = common.first_chunk_mut().ok_or(HeaderError::TooShort)?;
    transport::encode(packet, common)?;
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
    transport::decode(header, rest)
}
