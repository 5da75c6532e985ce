//! Bytes of an incoming message. Memory grows with the bytes that have arrived, not with the announced size.

use super::super::wire::Layout;

/// Bytes of an incoming message.
#[derive(Debug)]
pub(super) struct Assembly {
    pub layout: Layout,
    bytes: Vec<u8>,
}

impl Assembly {
    pub const fn new(layout: Layout) -> Self {
        Self {
            layout,
            bytes: Vec::new(),
        }
    }

    /// Returns the memory in use in bytes.
    pub fn memory(&self) -> u64 {
        self.bytes.capacity() as u64
    }

    /// Stores bytes of the message from `start` on. Returns false, without effect, if that requires more than `free`
    /// bytes of additional memory or the bytes are not within the message.
    pub fn put(&mut self, start: u64, payload: &[u8], free: u64) -> bool {
        let end = start.saturating_add(payload.len() as u64);
        let (Ok(start), Ok(end), Ok(total)) = (
            usize::try_from(start),
            usize::try_from(end),
            usize::try_from(self.layout.bytes()),
        ) else {
            return false;
        };
        if end > total {
            return false;
        }
        let before = self.bytes.capacity();
        if end > before {
            // Doubles, to copy each byte once on average; but no more than the message needs.
            let doubled = end.max(before.saturating_mul(2)).min(total);
            let fits = |capacity: usize| (capacity - before) as u64 <= free;
            let capacity = if fits(doubled) { doubled } else { end };
            if !fits(capacity) {
                return false;
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        if start == self.bytes.len() {
            self.bytes.extend_from_slice(payload);
            return true;
        }
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(payload);
        true
    }

    /// Returns the bytes of the complete message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
