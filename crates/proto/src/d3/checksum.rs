//! How a router brings a datagram's CRC-32C up to date from the bytes that it changes.
//!
//! The CRC is linear: what changes in it depends on the difference of the bytes alone, and each byte of the difference adds
//! its part. A router changes three bytes of the 22 at most, so three look-ups do.

use super::Request;

const BYTES: usize = Request::WIRE_BYTES;
/// The polynomial of Castagnoli, reflected (RFC 9260, appendix A).
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// By place in the last 22 bytes that the checksum covers, and difference there: what changes in the checksum.
static CHANGES: [[u32; 256]; BYTES] = changes();

/// What changes in the checksum when its last 22 bytes change.
#[inline]
pub(super) fn change(before: &[u8; BYTES], after: &[u8; BYTES]) -> u32 {
    let long = |bytes: &[u8; BYTES], at: usize| {
        u64::from_le_bytes(core::array::from_fn(|byte| bytes[at + byte]))
    };
    let difference = |at| long(before, at) ^ long(after, at);
    // The last eight bytes overlap with those before.
    let parts = [
        (0, difference(0)),
        (8, difference(8)),
        (16, difference(14) >> 16),
    ];
    let mut sum = 0;
    for (at, mut difference) in parts {
        while difference != 0 {
            let bit = difference.trailing_zeros() & !7;
            let byte = difference >> bit & 0xff;
            sum ^= CHANGES[at + (bit / 8) as usize][byte as usize];
            difference ^= byte << bit;
        }
    }
    sum
}

#[expect(clippy::large_stack_arrays, reason = "the compiler evaluates it")]
const fn changes() -> [[u32; 256]; BYTES] {
    let mut changes = [[0; 256]; BYTES];
    let mut byte = 0;
    while byte < 256 {
        let mut change = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = if change & 1 != 0 { POLYNOMIAL } else { 0 };
            change = change >> 1 ^ carry;
            bit += 1;
        }
        changes[BYTES - 1][byte] = change;
        byte += 1;
    }
    // One zero byte more follows at each place before.
    let mut place = BYTES - 1;
    while place > 0 {
        let mut byte = 0;
        while byte < 256 {
            let change = changes[place][byte];
            changes[place - 1][byte] = changes[BYTES - 1][(change & 0xff) as usize] ^ change >> 8;
            byte += 1;
        }
        place -= 1;
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
        for length in 0..200 {
            let head: Vec<u8> = (0..length).map(|_| draw()).collect();
            let before: [u8; BYTES] = core::array::from_fn(|_| draw());
            let mut after = before;
            for _ in 0..draw() % 5 {
                after[usize::from(draw()) % BYTES] ^= draw();
            }
            let whole = |last: &[u8]| crc32c(&[&head[..], last].concat());
            assert_eq!(change(&before, &after), whole(&before) ^ whole(&after));
        }
    }
}
