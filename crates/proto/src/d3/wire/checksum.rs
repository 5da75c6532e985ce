//! Incremental checksum updates for the bytes of a datagram that a router changes: the CRC-32C, and the sum of words
//! that UDP's checksum is built on.
//!
//! The CRC is linear: its change depends only on the differences of the bytes, and each differing byte contributes
//! independently. A router changes two of the 22 bytes (three at the last hop), so a few table look-ups suffice.

use super::Request;

/// Length of the congestion header, the last bytes that the checksum covers.
const BYTES: usize = Request::WIRE_BYTES;
/// Number of leading bytes that a router may change.
const CHANGING: usize = 9;
/// Castagnoli polynomial, reflected (RFC 9260, appendix A).
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Changes of the checksum by position and byte difference, as read from the checksum field in little-endian order.
static CHANGES: [[u32; 256]; CHANGING] = changes();

/// Change of a datagram's checksums when bytes of its congestion header change.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Difference (XOR) of the CRC-32C, as read from its field in little-endian order.
    pub crc: u32,
    /// Growth of the sum of the datagram's 16-bit words, modulo 2^16 - 1; above zero after a write, and at most 2^33
    /// per write. The words are little-endian (RFC 1071 §2B).
    pub words: u64,
}

impl Change {
    /// Writes bytes at the given distinct positions of the header, which must be among the eight from `FROM` on. `FROM`
    /// must be even, like the offset of the header in the datagram.
    #[inline(always)]
    pub fn write<const FROM: usize, const N: usize>(
        &mut self,
        header: &mut [u8; BYTES],
        positions: [(usize, u8); N],
    ) {
        let Some(bytes) = header.get_mut(FROM..).and_then(<[u8]>::first_chunk_mut) else {
            return;
        };
        let before = u64::from_le_bytes(*bytes);
        let mut after = before;
        for (position, byte) in positions {
            let shift = 8 * (position - FROM);
            let difference = (before >> shift) as u8 ^ byte;
            self.crc ^= CHANGES[position][usize::from(difference)];
            after ^= u64::from(difference) << shift;
        }
        *bytes = after.to_le_bytes();
        // One's complement: a difference is the sum with the complement, and the carry is added back.
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
        let mut position = BYTES - 1;
        while position > 0 {
            // One more zero byte follows for the position before.
            change = last[(change & 0xff) as usize] ^ change >> 8;
            position -= 1;
            if position < CHANGING {
                changes[position][difference] = change.swap_bytes();
            }
        }
        difference += 1;
    }
    changes
}

/// Returns the changes of a checksum by the difference of its last covered byte.
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
    fn change_matches_recomputed_checksums() {
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
                let position = usize::from(draw() % 4);
                let positions = [(position, draw()), (4 + position, draw())];
                change.write::<0, 2>(&mut after, positions);
                change.write::<8, 1>(&mut after, [(8, draw())]);
                assert_eq!(
                    positions.map(|(position, _)| after[position]),
                    positions.map(|(_, to)| to)
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
