//! Memory of messages that the application has processed, for later ones.

/// Maximum number of buffers.
const MAX_BUFFERS: usize = 64;

/// Buffers without contents.
#[derive(Debug)]
pub(super) struct Spare {
    buffers: Vec<Vec<u8>>,
    /// Memory of the buffers in bytes.
    bytes: u64,
    max_bytes: u64,
}

impl Spare {
    /// Creates a store for at most `max_bytes` bytes.
    pub const fn new(max_bytes: u64) -> Self {
        Self {
            buffers: Vec::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Stores a buffer, unless the store is full.
    pub fn put(&mut self, mut buffer: Vec<u8>) {
        let bytes = self.bytes.saturating_add(buffer.capacity() as u64);
        if bytes <= self.max_bytes && self.buffers.len() < MAX_BUFFERS && buffer.capacity() > 0 {
            buffer.clear();
            self.bytes = bytes;
            self.buffers.push(buffer);
        }
    }

    /// Removes and returns a buffer of `min` to `max` bytes.
    pub fn take(&mut self, min: usize, max: usize) -> Option<Vec<u8>> {
        let fits = |buffer: &Vec<u8>| (min..=max).contains(&buffer.capacity());
        // The latest is the most likely to be in the processor's cache.
        let index = self.buffers.iter().rposition(fits)?;
        let buffer = self.buffers.swap_remove(index);
        self.bytes -= buffer.capacity() as u64;
        Some(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_the_requested_size_are_returned() {
        let mut spare = Spare::new(1_000);
        for bytes in [300, 100, 500, 200] {
            spare.put(Vec::with_capacity(bytes)); // the last exceeds the limit
        }
        spare.put(Vec::new());
        let mut take = |min, max| spare.take(min, max).map(|buffer| buffer.capacity());
        assert_eq!((take(101, 299), take(501, 2_000)), (None, None));
        assert_eq!((take(100, 400), take(100, 400)), (Some(100), Some(300)));
        assert_eq!((take(1, 1_000), take(1, 1_000)), (Some(500), None));
        assert_eq!(spare.bytes, 0);
    }

    #[test]
    fn the_number_of_buffers_is_limited() {
        let mut spare = Spare::new(u64::MAX);
        for _ in 0..2 * MAX_BUFFERS {
            spare.put(vec![7]);
        }
        assert_eq!(spare.buffers.len(), MAX_BUFFERS);
        assert_eq!(spare.take(1, 1), Some(vec![]));
    }
}
