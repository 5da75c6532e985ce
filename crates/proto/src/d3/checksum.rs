//! How a router brings a datagram's CRC-32C up to date from the bytes that it changes.
//!
//! The CRC is linear: what changes in it depends on the difference of the bytes alone, and each byte of the difference adds
//! its part. A router changes three bytes of the 22 at most, so three look-ups do.

use super::Request;

/// The last bytes that the checksum covers: the congestion header.
const BYTES: usize = Request::WIRE_BYTES;
/// Those of them that a router may change: the first. An even number, as the Internet checksum wants it.
pub(super) const CHANGING: usize = 10;
/// The polynomial of Castagnoli, reflected (RFC 9260, appendix A).
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// By place and difference there: what changes in the checksum.
static CHANGES: [[u32; 256]; CHANGING] = changes();

/// What changes in the checksum when the first bytes of the congestion header change.
#[inline]
pub(super) fn change(before: &[u8; CHANGING], after: &[u8; CHANGING]) -> u32 {
    let long = |bytes: &[u8; CHANGING], at: usize| {
        u64::from_le_bytes(core::array::from_fn(|byte| bytes[at + byte]))
    };
    let difference = |at| long(before, at) ^ long(after, at);
    // The second eight bytes overlap with the first.
    let mut sum = 0;
    for (at, mut difference) in [(0, difference(0)), (8, difference(2) >> 48)] {
        while difference != 0 {
            let bit = difference.trailing_zeros() & !7;
            let byte = difference >> bit & 0xff;
            sum ^= CHANGES[at + (bit / 8) as usize][byte as usize];
            difference ^= byte << bit;
        }
    }
    sum
}

const fn changes() -> [[u32; 256]; CHANGING] {
    let last = last();
    let mut changes = [[0; 256]; CHANGING];
    let mut byte = 0;
    while byte < 256 {
        let mut change = last[byte];
        let mut place = BYTES - 1;
        while place > 0 {
            if place < CHANGING {
                changes[place][byte] = change;
            }
            // One zero byte more follows at the place before.
            change = last[(change & 0xff) as usize] ^ change >> 8;
            place -= 1;
        }
        changes[0][byte] = change;
        byte += 1;
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
    fn the_change_is_that_of_the_whole_checksum() {
        let mut noise = 1_u64;
        let mut draw = || {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (noise >> 56) as u8
        };
        for length in 0..300 {
            let head: Vec<u8> = (0..length).map(|_| draw()).collect();
            let before: [u8; BYTES] = core::array::from_fn(|_| draw());
            let mut after = before;
            for _ in 0..draw() % 5 {
                after[usize::from(draw()) % CHANGING] ^= draw();
            }
            let whole = |last: &[u8]| crc32c(&[&head[..], last].concat());
            let first = |bytes: &[u8; BYTES]| *bytes.first_chunk().unwrap();
            assert_eq!(
                change(&first(&before), &first(&after)),
                whole(&before) ^ whole(&after)
            );
        }
    }
}
