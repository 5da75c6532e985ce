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

/// By place and difference there: what changes in the checksum.
static CHANGES: [[u32; 256]; CHANGING] = changes();

/// What changes in the checksums of a datagram when bytes of its congestion header change.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// The difference of the CRC-32C.
    pub crc: u32,
    /// By how much the sum of the datagram's 16-bit words grows (RFC 1071).
    pub words: i32,
}

impl Change {
    /// The byte at this place of the header, below [`CHANGING`], changes.
    #[inline]
    pub fn byte(&mut self, place: usize, before: u8, after: u8) {
        self.crc ^= CHANGES[place][usize::from(before ^ after)];
        // The header begins with a word.
        let shift = if place.is_multiple_of(2) { 8 } else { 0 };
        self.words += (i32::from(after) - i32::from(before)) << shift;
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
                changes[place][difference] = change;
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
            for _ in 0..draw() % 5 {
                let place = usize::from(draw()) % CHANGING;
                let to = draw();
                change.byte(place, after[place], to);
                after[place] = to;
            }
            let all = |last: &[u8]| [&head[..], last].concat();
            assert_eq!(change.crc, crc32c(&all(&before)) ^ crc32c(&all(&after)));
            let words = |bytes: &[u8]| -> i32 {
                let pairs = bytes.chunks(2);
                pairs
                    .map(|pair| i32::from(pair[0]) << 8 | i32::from(pair[1]))
                    .sum()
            };
            assert_eq!(change.words, words(&all(&after)) - words(&all(&before)));
        }
    }
}
