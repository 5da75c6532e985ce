//! Bytes of an incoming message. Memory grows with the bytes that have arrived, not with the announced size.

use super::super::wire::Layout;
use super::spare::Spare;

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

    /// Stores bytes of the message from `start` on. Grows for the `granted` packets that the source may send, with memory
    /// of `spare` if possible. Returns false, without effect, if that requires more than `free` bytes of additional memory
    /// or the bytes are not within the message.
    pub fn put(
        &mut self,
        start: u64,
        payload: &[u8],
        granted: u64,
        (free, spare): (u64, &mut Spare),
    ) -> bool {
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
            // Reserves memory for all granted packets, which avoids copies of most messages, or doubles, so that each
            // byte is copied once on average. A message never gets more than its size.
            let granted = self.layout.bytes_of(granted);
            let granted = usize::try_from(granted).unwrap_or(usize::MAX);
            let more = end.max(before.saturating_mul(2)).max(granted).min(total);
            let max = before.saturating_add(usize::try_from(free).unwrap_or(usize::MAX));
            let capacity = if more <= max { more } else { end };
            if capacity > max {
                return false;
            }
            let max = max.min(capacity.saturating_mul(2));
            if let Some(mut buffer) = spare.take(capacity, max) {
                buffer.extend_from_slice(&self.bytes);
                self.bytes = buffer;
            } else {
                self.bytes.reserve_exact(capacity - self.bytes.len());
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn assembly() -> (Assembly, Spare) {
        let layout = Layout::received(100_000, 976).expect("a layout");
        (Assembly::new(layout), Spare::new(1 << 20))
    }

    #[test]
    fn memory_follows_the_grants() {
        let (mut assembly, mut spare) = assembly();
        assert!(assembly.put(0, &[1; 976], 1, (1 << 20, &mut spare)));
        assert_eq!(assembly.memory(), 976);
        assert!(assembly.put(976, &[2; 1_000], 50, (1 << 20, &mut spare)));
        assert_eq!(assembly.memory(), 976 + 49 * 1_000);
        // The free memory is smaller than the granted packets.
        assert!(assembly.put(50_976, &[3; 1_000], 90, (2_000, &mut spare)));
        assert_eq!(assembly.memory(), 51_976);
        assert!(!assembly.put(51_976, &[4; 1_000], 90, (999, &mut spare)));
        assert!(!assembly.put(99_001, &[5; 1_000], 200, (1 << 20, &mut spare)));
    }

    #[test]
    fn spare_memory_is_used_within_the_limit() {
        let (mut assembly, mut spare) = assembly();
        assert!(assembly.put(0, &[1; 976], 1, (1 << 20, &mut spare)));
        let buffer = vec![7; 150_000];
        let address = buffer.as_ptr();
        spare.put(buffer);
        assert!(assembly.put(976, &[2; 1_000], 200, (140_000, &mut spare)));
        assert_eq!(assembly.memory(), 100_000);
        let (mut assembly, _) = self::assembly();
        assert!(assembly.put(976, &[2; 1_000], 200, (150_000, &mut spare)));
        assert_eq!(assembly.memory(), 150_000);
        let bytes = assembly.into_bytes();
        assert_eq!((bytes.as_ptr(), bytes.len()), (address, 1_976));
        assert_eq!(bytes[..976], [0; 976]);
    }
}
