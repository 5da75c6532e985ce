//! CRC-32C (RFC 3720, appendix B.4), the checksum of datagrams.

use crc_fast::{CrcAlgorithm, Digest};

/// Returns the CRC-32C of the concatenation of `parts`.
#[inline]
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    // A sum of 32 bits.
    digest.finalize() as u32
}
