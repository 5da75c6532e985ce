//! Blocks of a selective acknowledgement: data received beyond the cumulative acknowledgement (RFC 2018).

/// Number of blocks that fit into a TCP header without other options (RFC 2018 §3).
const MAX_BLOCKS: usize = 4;

/// Blocks of one acknowledgement, the most recently changed first; a small plain value.
///
/// Positions are relative to the acknowledged one. A block 2³¹ or more bytes away is omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Offsets from the acknowledged position, wrapping: the first block may be before it (RFC 2883).
    blocks: [(u32, u32); MAX_BLOCKS],
    count: u8,
}

impl Sack {
    /// No blocks.
    pub const NONE: Self = Self {
        blocks: [(0, 0); MAX_BLOCKS],
        count: 0,
    };

    /// Adds the block `start..end` to an acknowledgement of `ack`. Returns false if it does not fit.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) -> bool {
        const REACH: u64 = 1 << 31;
        let near = |position: u64| position.abs_diff(ack) < REACH;
        if usize::from(self.count) == MAX_BLOCKS || start >= end || !near(start) || !near(end) {
            return false;
        }
        let offset = |position: u64| position.wrapping_sub(ack) as u32;
        self.blocks[usize::from(self.count)] = (offset(start), offset(end));
        self.count += 1;
        true
    }

    /// Returns the blocks of an acknowledgement of `ack` as positions.
    pub fn blocks(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let position = move |offset: u32| ack.wrapping_add_signed(i64::from(offset.cast_signed()));
        let (blocks, count) = (self.blocks, usize::from(self.count));
        let all = blocks.into_iter().take(count);
        all.map(move |(start, end)| (position(start), position(end)))
    }

    /// Returns true if there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of blocks.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the length in bytes of the option in a TCP header, with padding (RFC 2018 §3).
    pub const fn option_bytes(&self) -> u32 {
        if self.count == 0 {
            0
        } else {
            4 + 8 * self.count as u32
        }
    }

    /// Returns the first block if it reports duplicate data (RFC 2883 §4), that is, if it is before `ack` or within the
    /// second block.
    pub fn duplicate(&self, ack: u64) -> Option<(u64, u64)> {
        let mut blocks = self.blocks(ack);
        let first = blocks.next()?;
        let within = blocks
            .next()
            .is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        (first.0 < ack || within).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_four_blocks() {
        let mut sack = Sack::NONE;
        assert_eq!(sack.option_bytes(), 0);
        let ack = (7 << 32) + 11;
        for number in 0..4 {
            assert!(sack.push(ack, ack + 10 * number + 2, ack + 10 * number + 5));
        }
        assert!(!sack.push(ack, ack + 100, ack + 101), "a fifth block");
        let expected: Vec<_> = (0..4)
            .map(|n| (ack + 10 * n + 2, ack + 10 * n + 5))
            .collect();
        assert_eq!(sack.blocks(ack).collect::<Vec<_>>(), expected);
        assert_eq!((sack.len(), sack.option_bytes()), (4, 36));
        let mut far = Sack::NONE;
        assert!(!far.push(ack, ack + 1, ack + (1 << 31)) && far.is_empty());
        assert!(!far.push(ack, ack + 5, ack + 5), "empty block");
    }

    #[test]
    fn first_block_may_be_a_duplicate() {
        // RFC 2883 §4.1: data before the cumulative acknowledgement.
        let duplicate = |blocks: &[(u64, u64)]| {
            let mut sack = Sack::NONE;
            for &(start, end) in blocks {
                assert!(sack.push(4_000, start, end));
            }
            sack.duplicate(4_000)
        };
        assert_eq!(duplicate(&[(3_000, 3_500)]), Some((3_000, 3_500)));
        assert_eq!(
            duplicate(&[(3_000, 3_500), (4_500, 5_000)]),
            Some((3_000, 3_500))
        );
        // §4.2.2: data within the next block.
        assert_eq!(
            duplicate(&[(5_000, 5_500), (4_500, 6_000)]),
            Some((5_000, 5_500))
        );
        assert_eq!(duplicate(&[(4_500, 5_000), (5_500, 6_000)]), None);
        assert_eq!(duplicate(&[]), None);
    }
}
