//! Congestion header: 22 bytes with a request and feedback (D3 §5, Fig 6).
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | desired rate r(t+1) |
//! | 1 | 1 | bits 0..=2: index of the next free slot; bits 3..=7: stamps of hops 0..=4 |
//! | 2 | 1 | bits 0..=4: signed scale; bits 5..=7: its sign, inverted by the stamp of hop 5 (5) and the pace (6, 7) |
//! | 3 | 6 | current allocations a(t+1) |
//! | 9 | 1 | previous desired rate r(t) |
//! | 10 | 6 | previous allocations a(t) |
//! | 16 | 6 | feedback: allocations of the opposite direction |
//!
//! Stamps and pace belong to the repair of the counters (see `repair`). Without repair they are zero, and the layout is
//! the paper's, with the scale in two's complement.

use super::super::repair::SLOWEST_PACE;
use super::super::{EncodedRate, FixedRate};
use super::Flags;
use core::fmt;

/// Maximum number of routers on a path, including the sender's own interface (D3 §5).
pub const MAX_HOPS: usize = 6;

/// Rate request with feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// Desired rate for the next round trip.
    pub desired: EncodedRate,
    /// Next free slot of `allocations`, 0..=6.
    pub index: u8,
    /// Exponent of every rate, -16..=15.
    pub scale: i8,
    /// Rates granted by the routers so far, for the next round trip.
    pub allocations: [EncodedRate; MAX_HOPS],
    /// Desired rate that the routers have registered for this flow.
    pub previous_desired: EncodedRate,
    /// Allocations that the routers have registered for this flow.
    pub previous_allocations: [EncodedRate; MAX_HOPS],
    /// Allocations granted to the last request of the opposite direction.
    pub feedback: [EncodedRate; MAX_HOPS],
    /// One bit per hop: the epoch in which the hop last counted this flow (see `repair`).
    pub stamps: u8,
    /// Pace of the flow's requests, 0..=3; a slower pace is larger (see `repair`).
    pub pace: u8,
}

/// Error in encoding or decoding a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// There are fewer bytes than the header needs.
    TooShort,
    /// The index is above six.
    BadIndex,
    /// The scale is outside -16..=15.
    BadScale,
    /// A rate has a fraction: `Rounding::Exact` exists in memory only.
    Fraction,
    /// The bytes are not a datagram of this protocol and version.
    BadMagic,
    /// A length field disagrees with the datagram.
    BadLength,
    /// A flag or reserved bit is set that has no meaning.
    BadFlags,
}

impl Request {
    /// Length of the header on the wire, in bytes.
    pub const WIRE_BYTES: usize = 22;

    /// Writes the header. Fails for values that cannot be encoded; the contents of `out` are then unspecified.
    #[inline]
    pub fn encode(&self, out: &mut [u8; Self::WIRE_BYTES]) -> Result<(), HeaderError> {
        if usize::from(self.index) > MAX_HOPS {
            return Err(HeaderError::BadIndex);
        }
        if !(-16..16).contains(&self.scale) {
            return Err(HeaderError::BadScale);
        }
        if self.stamps >> MAX_HOPS != 0 || self.pace > SLOWEST_PACE {
            return Err(HeaderError::BadFlags);
        }
        out[0] = byte(self.desired)?;
        out[1] = self.index | self.stamps << 3;
        out[2] = self.scale as u8 ^ (self.stamps & LAST_STAMP | self.pace << 6);
        encode_vector(&self.allocations, &mut out[3..9])?;
        out[9] = byte(self.previous_desired)?;
        encode_vector(&self.previous_allocations, &mut out[10..16])?;
        encode_vector(&self.feedback, &mut out[16..22])
    }

    /// Parses a header from the first 22 bytes. Fails for everything that `encode` cannot write.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes: &[u8; Self::WIRE_BYTES] = bytes.first_chunk().ok_or(HeaderError::TooShort)?;
        let index = bytes[1] & 7;
        if usize::from(index) > MAX_HOPS {
            return Err(HeaderError::BadIndex);
        }
        let (scale, rest) = scale(bytes[2]);
        Ok(Self {
            desired: EncodedRate::from_byte(bytes[0]),
            index,
            scale,
            allocations: decode_vector(&bytes[3..9]),
            previous_desired: EncodedRate::from_byte(bytes[9]),
            previous_allocations: decode_vector(&bytes[10..16]),
            feedback: decode_vector(&bytes[16..22]),
            stamps: bytes[1] >> 3 | rest & LAST_STAMP,
            pace: rest >> 6,
        })
    }
}

/// Request as seen by the current hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRequest {
    /// Flags of the packet.
    pub flags: Flags,
    /// Slot of this hop, below [`MAX_HOPS`].
    pub hop: u8,
    /// Exponent of every rate, -16..=15.
    pub scale: i8,
    /// Pace of the flow's requests, 0..=3; a slower pace is larger (see `repair`).
    pub pace: u8,
    /// Epoch in which this hop last counted the flow (see `repair`).
    pub stamp: bool,
    /// Desired rate for the next round trip.
    pub desired: FixedRate,
    /// Desired rate that this hop has registered for the flow.
    pub previous_desired: FixedRate,
    /// Allocation that this hop has registered for the flow.
    pub previous_allocation: FixedRate,
    /// Rate granted by the previous hop, or the largest rate at the first hop.
    pub limit: FixedRate,
}

/// Outcome of a request at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Desired rate, as encoded.
    pub desired: EncodedRate,
    /// Allocation granted.
    pub granted: EncodedRate,
    /// True if the grant is below the desired rate.
    pub denied: bool,
}

impl Outcome {
    #[inline]
    pub(in crate::d3) fn of(desired: FixedRate, granted: FixedRate) -> Self {
        Self {
            desired: desired.encoded(),
            granted: granted.encoded(),
            denied: granted < desired,
        }
    }
}

/// Answer of a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopAnswer {
    /// Outcome of the request; the granted rate is written to the hop's slot.
    pub outcome: Outcome,
    /// Stamp for the hop's bit (see `repair`).
    pub stamp: bool,
}

impl Request {
    /// Returns the request as seen by the current hop, or `None` if no slot is free.
    #[inline]
    pub fn at_hop(&self, flags: Flags) -> Option<HopRequest> {
        let slot = usize::from(self.index);
        if slot >= MAX_HOPS {
            return None;
        }
        Some(HopRequest {
            flags,
            hop: self.index,
            scale: self.scale,
            pace: self.pace,
            stamp: self.stamps >> slot & 1 != 0,
            desired: self.desired.into(),
            previous_desired: self.previous_desired.into(),
            previous_allocation: self.previous_allocations[slot].into(),
            limit: if slot > 0 {
                self.allocations[slot - 1].into()
            } else {
                EncodedRate::MAX.into()
            },
        })
    }

    /// Writes the answer of the current hop, if a slot is free, and advances to the next hop.
    #[inline]
    pub fn answer(&mut self, answer: HopAnswer) {
        let slot = usize::from(self.index);
        if let Some(allocation) = self.allocations.get_mut(slot) {
            *allocation = answer.outcome.granted;
            self.stamps = self.stamps & !(1 << slot) | u8::from(answer.stamp) << slot;
            self.index += 1;
        }
    }
}

/// Stamp of hop 5, in the byte of the scale and in a request's stamps.
pub(super) const LAST_STAMP: u8 = 0x20;

/// Returns the scale, which is five bits of two's complement, and the bits of the byte that differ from its sign
/// extension.
#[inline]
pub(super) fn scale(byte: u8) -> (i8, u8) {
    let scale = (byte << 3) as i8 >> 3;
    (scale, byte ^ scale as u8)
}

#[inline]
fn byte(rate: EncodedRate) -> Result<u8, HeaderError> {
    rate.byte().ok_or(HeaderError::Fraction)
}

/// Writes a vector of rates. Fractions are checked after writing all rates, which avoids a branch per rate.
#[inline]
fn encode_vector(rates: &[EncodedRate; MAX_HOPS], out: &mut [u8]) -> Result<(), HeaderError> {
    let mut fractions = 0;
    for (out, rate) in out.iter_mut().zip(rates) {
        *out = (rate.0 >> 8) as u8;
        fractions |= rate.0;
    }
    if fractions & 0xff != 0 {
        return Err(HeaderError::Fraction);
    }
    Ok(())
}

#[inline]
fn decode_vector(bytes: &[u8]) -> [EncodedRate; MAX_HOPS] {
    core::array::from_fn(|i| EncodedRate::from_byte(bytes[i]))
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "shorter than its header",
            Self::BadIndex => "index above six",
            Self::BadScale => "scale outside -16..=15",
            Self::Fraction => "a rate with a fraction has no encoding",
            Self::BadMagic => "not a D3 datagram",
            Self::BadLength => "length disagrees with the datagram",
            Self::BadFlags => "unknown flag or reserved bit",
        })
    }
}

impl core::error::Error for HeaderError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_without_stamps_matches_the_paper() {
        let rates = |first: u8| core::array::from_fn(|i| EncodedRate::from_byte(first + i as u8));
        let request = Request {
            desired: EncodedRate::from_byte(9),
            index: 2,
            scale: -3,
            allocations: rates(10),
            previous_desired: EncodedRate::from_byte(7),
            previous_allocations: rates(20),
            feedback: rates(30),
            stamps: 0,
            pace: 0,
        };
        let mut bytes = [0; 22];
        request.encode(&mut bytes).unwrap();
        assert_eq!(
            bytes,
            [
                9, 2, 0xfd, 10, 11, 12, 13, 14, 15, 7, 20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34,
                35
            ]
        );
        assert_eq!(Request::decode(&bytes), Ok(request));
    }

    #[test]
    fn stamps_pace_and_scale_round_trip() {
        for scale in -16..16 {
            for stamps in 0..64 {
                let request = Request {
                    scale,
                    stamps,
                    pace: stamps % 4,
                    index: 6,
                    ..Request::default()
                };
                let mut bytes = [0; 22];
                request.encode(&mut bytes).unwrap();
                assert_eq!(Request::decode(&bytes), Ok(request));
            }
        }
    }

    #[test]
    fn unencodable_values_are_rejected() {
        let mut bytes = [0; 22];
        let fraction = Request {
            desired: EncodedRate(0x0180),
            ..Request::default()
        };
        assert_eq!(fraction.encode(&mut bytes), Err(HeaderError::Fraction));
        assert_eq!(
            Request {
                index: 7,
                ..Request::default()
            }
            .encode(&mut bytes),
            Err(HeaderError::BadIndex)
        );
        assert_eq!(
            Request {
                scale: 16,
                ..Request::default()
            }
            .encode(&mut bytes),
            Err(HeaderError::BadScale)
        );
        assert_eq!(Request::decode(&[0; 21]), Err(HeaderError::TooShort));
        bytes[1] = 7;
        assert_eq!(Request::decode(&bytes), Err(HeaderError::BadIndex));
    }
}
