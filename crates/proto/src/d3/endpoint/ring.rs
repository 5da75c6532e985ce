//! Ring buffer of a stream's bytes, addressed by position.

/// Ring buffer that grows on demand.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Empty, or a power of two of bytes; position `p` is at `p` modulo the length.
    bytes: Vec<u8>,
    /// First stored position.
    start: u64,
}

impl Ring {
    const MIN_CAPACITY: usize = 4_096;

    /// Returns the first stored position.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Stores `data` at `position`. Bytes before the first stored position are discarded.
    pub fn put(&mut self, position: u64, data: &[u8]) {
        let old = self.start.saturating_sub(position).min(data.len() as u64) as usize;
        let (position, data) = (position.max(self.start), &data[old..]);
        if data.is_empty() {
            return;
        }
        self.grow((position - self.start) as usize + data.len());
        let at = self.index(position);
        let first = data.len().min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&data[..first]);
        self.bytes[..data.len() - first].copy_from_slice(&data[first..]);
    }

    /// Returns the `len` bytes at `position`, in two pieces. They must have been stored.
    pub fn get(&self, position: u64, len: usize) -> (&[u8], &[u8]) {
        if len == 0 {
            return (&[], &[]);
        }
        let at = self.index(position);
        let first = len.min(self.bytes.len() - at);
        (&self.bytes[at..at + first], &self.bytes[..len - first])
    }

    /// Discards the bytes before `position`.
    pub fn advance(&mut self, position: u64) {
        self.start = self.start.max(position);
    }

    /// Discards all bytes.
    pub fn clear(&mut self) {
        self.bytes = Vec::new();
    }

    fn index(&self, position: u64) -> usize {
        position as usize & (self.bytes.len() - 1)
    }

    fn grow(&mut self, len: usize) {
        if len <= self.bytes.len() {
            return;
        }
        let mut larger = Self {
            bytes: vec![0; len.next_power_of_two().max(Self::MIN_CAPACITY)],
            start: self.start,
        };
        let (first, second) = self.get(self.start, self.bytes.len());
        larger.put(self.start, first);
        larger.put(self.start + first.len() as u64, second);
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ring: &Ring, position: u64, len: usize) -> Vec<u8> {
        let (first, second) = ring.get(position, len);
        [first, second].concat()
    }

    #[test]
    fn get_returns_stored_bytes() {
        let data: Vec<u8> = (0..20_000_u32).map(|i| (i * 7 / 3) as u8).collect();
        let mut ring = Ring::default();
        let (mut put, mut got) = (0, 0);
        for step in [1, 3_000, 4_000, 900, 12_000, 99] {
            ring.put(put as u64, &data[put..put + step]);
            put += step;
            let end = put - step / 3;
            assert_eq!(read(&ring, got as u64, end - got), data[got..end]);
            got = end;
            ring.advance(got as u64);
        }
    }

    #[test]
    fn duplicates_and_gaps_are_handled() {
        let mut ring = Ring::default();
        ring.put(10, b"klm");
        ring.put(0, b"abcdefghijk");
        assert_eq!(read(&ring, 0, 13), b"abcdefghijklm");
        ring.advance(5);
        ring.put(0, b"-----fg");
        ring.put(0, b"--");
        assert_eq!(read(&ring, 5, 8), b"fghijklm");
    }
}
