//! How a router brings the checksums of a datagram up to date from the bytes that it changes: the CRC-32C, and the sum of
//! words that UDP's checksum is made of.
//!
//! The CRC is linear: what changes in it depends on the difference of the bytes alone, and each byte of the difference
//! adds its part. A router changes two bytes of the 22, at the last hop three, so a few look-ups do.

use super::Request;

/// The last bytes that the checksum covers: the congestion header.
const BYTES: usize = Request::WIRE_BYTES;
/// Those of them that a router may change: the first.
pub(super) const CHANGING: usize = 9;
/// The polynomial of Castagnoli, reflected (RFC 9260, appendix A).
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// By place and difference there: what changes in the checksum, as it is read from its field in little-endian order.
static CHANGES: [[u32; 256]; CHANGING] = changes();

/// What changes in the checksums of a datagram when bytes of its congestion header change.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// The difference of the CRC-32C, of its field in little-endian order.
    pub crc: u32,
    /// By how much the sum of the datagram's 16-bit words grows, modulo 2^16 - 1; above zero once something was written, and
    /// at most 2^33 for each time. The words are little-endian (RFC 1071 §2B).
    pub words: u64,
}

impl Change {
    /// Writes bytes at these places of the header, which are different and within the eight from `FROM` on. `FROM` is even,
    /// as the offset of the header in the datagram.
    #[inline(always)]
    pub fn write<const FROM: usize, const N: usize>(
        &mut self,
        header: &mut [u8; BYTES],
        places: [(usize, u8); N],
    ) {
        let Some(bytes) = header.get_mut(FROM..).and_then(<[u8]>::first_chunk_mut) else {
            return;
        };
        let before = u64::from_le_bytes(*bytes);
        let mut after = before;
        for (place, byte) in places {
            let shift = 8 * (place - FROM);
            let difference = (before >> shift) as u8 ^ byte;
            self.crc ^= CHANGES[place][usize::from(difference)];
            after ^= u64::from(difference) << shift;
        }
        *bytes = after.to_le_bytes();
        // In one's complement, where a difference is the sum with the complement: what is carried out comes in again.
        let (grown, carry) = after.overflowing_add(!before);
        self.words += u64::from(grown as u32) + (grown >> 32) + u64::from(carry);
    }
}

const fn changes() -> [[u32; 256]; CHANGING] {
    let last = last();
    let mut changes = [[0; 256]; CHANGING];
    let mut difference = 0;
    while difference < 256 {
        let mut change = last[difference];
        let mut place = BYTES - 1;
        while place > 0 {
            // One zero byte more follows at the place before.
            change = last[(change & 0xff) as usize] ^ change >> 8;
            place -= 1;
            if place < CHANGING {
                changes[place][difference] = change.swap_bytes();
            }
        }
        difference += 1;
    }
    changes
}

/// By difference: what changes in a checksum when its last byte changes.
const fn last() -> [u32; 256] {
    let mut changes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut change = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = if change & 1 != 0 { POLYNOMIAL } else { 0 };
            change = change >> 1 ^ carry;
            bit += 1;
        }
        changes[byte] = change;
        byte += 1;
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc32c::crc32c;

    #[test]
    fn the_change_is_that_of_the_whole_checksums() {
        let mut noise = 1_u64;
        let mut draw = || {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (noise >> 56) as u8
        };
        for length in (0..300).step_by(2) {
            let head: Vec<u8> = (0..length).map(|_| draw()).collect();
            let before: [u8; BYTES] = core::array::from_fn(|_| draw());
            let (mut after, mut change) = (before, Change::default());
            let times = 1 + draw() % 4;
            for _ in 0..times {
                let place = usize::from(draw() % 4);
                let places = [(place, draw()), (4 + place, draw())];
                change.write::<0, 2>(&mut after, places);
                change.write::<8, 1>(&mut after, [(8, draw())]);
                assert_eq!(
                    places.map(|(place, _)| after[place]),
                    places.map(|(_, to)| to)
                );
            }
            let all = |last: &[u8]| [&head[..], last].concat();
            let crc = crc32c(&all(&before)) ^ crc32c(&all(&after));
            assert_eq!(change.crc, crc.swap_bytes());
            let words = |bytes: &[u8]| -> u64 {
                let pairs = bytes.chunks(2);
                pairs
                    .map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])))
                    .sum()
            };
            let grown = words(&all(&before)) + change.words % 0xffff;
            assert_eq!(words(&all(&after)) % 0xffff, grown % 0xffff);
        }
    }
}
