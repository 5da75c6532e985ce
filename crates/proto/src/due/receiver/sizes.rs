//! True over announced sizes, by source: a source that always announces twice the size is believed half. What a source
//! announces does not affect the sizes that are expected of others.

use std::collections::BTreeMap;

/// Weight of a source's earlier messages for each new one: 7/8.
const DECAY: u64 = 8;
/// Upper limit of a sum, so that products fit in 128 bits and sums in 64.
const MAX_PACKETS: u64 = 1 << 48;

/// Packets of finished messages, weighted by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sums {
    announced: u64,
    sent: u64,
}

/// Announced and true sizes of finished messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sizes {
    by_source: BTreeMap<u32, Sums>,
    max_sources: usize,
}

impl Sizes {
    pub const fn new(max_sources: usize) -> Self {
        Self {
            by_source: BTreeMap::new(),
            max_sources,
        }
    }

    /// Records a finished message: the packets that its source announced first, and those that it had.
    pub fn record(&mut self, source: u32, announced: u64, sent: u64) {
        if self.by_source.len() < self.max_sources || self.by_source.contains_key(&source) {
            let sums = self.by_source.entry(source).or_default();
            sums.add(announced, sent);
        }
    }

    /// Removes the sums of a source.
    pub fn forget(&mut self, source: u32) {
        self.by_source.remove(&source);
    }

    /// Returns the number of packets to expect of a message.
    pub fn expect(&self, source: u32, announced: u64) -> u64 {
        let Some(sums) = self.by_source.get(&source) else {
            return announced;
        };
        let expected = u128::from(announced) * u128::from(sums.sent);
        let expected = expected.div_ceil(u128::from(sums.announced.max(1)));
        u64::try_from(expected).unwrap_or(u64::MAX).max(1)
    }
}

impl Sums {
    fn add(&mut self, announced: u64, sent: u64) {
        let add = |old: u64, new: u64| old - old.div_ceil(DECAY) + new.min(MAX_PACKETS);
        self.announced = add(self.announced, announced);
        self.sent = add(self.sent, sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_sources_are_believed_exactly() {
        let mut sizes = Sizes::new(2);
        for packets in [1, 70, 3, u64::MAX, 5] {
            sizes.record(0, packets, packets);
        }
        assert_eq!(sizes.expect(0, 12_345), 12_345);
        assert_eq!(sizes.expect(1, 12_345), 12_345);
    }

    #[test]
    fn constant_errors_are_corrected_and_forgotten() {
        let mut sizes = Sizes::new(1);
        sizes.record(0, 1_000, 100);
        assert_eq!((sizes.expect(0, 500), sizes.expect(2, 500)), (50, 500));
        for _ in 0..100 {
            sizes.record(0, 1_000, 1_000);
        }
        assert!(sizes.expect(0, 500) > 490);
    }
}
