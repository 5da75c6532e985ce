//! Contents of the test applications: every byte follows from its stream and position.

/// Returns the byte of a stream at a position.
pub fn byte(stream: u64, position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9) >> 11) as u8 ^ (position >> 3) as u8 ^ (stream as u8)
}

/// Returns a byte of a query: its number and the answer's length in 16 bytes, then its payload.
pub fn query_byte(number: u64, answer: u64, position: u64) -> u8 {
    match position {
        0..8 => number.to_be_bytes()[position as usize],
        8..16 => answer.to_be_bytes()[position as usize - 8],
        _ => byte(number, position),
    }
}
