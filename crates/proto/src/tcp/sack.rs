//! What a selective acknowledgement tells: the blocks of data that arrived beyond what is acknowledged (RFC 2018).

/// Blocks that fit into a TCP header without other options (RFC 2018 §3).
const MOST_BLOCKS: usize = 4;

/// The blocks that travel with one acknowledgement, the one that changed last first; a small plain value.
///
/// Positions count from the acknowledged one. A block beyond 2³² from there is left out, as no header could carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// From the acknowledged position, wrapping: the first may lie before it (RFC 2883).
    blocks: [(u32, u32); MOST_BLOCKS],
    count: u8,
}

impl Sack {
    /// None.
    pub const NONE: Self = Self {
        blocks: [(0, 0); MOST_BLOCKS],
        count: 0,
    };

    /// Adds the block `start..end` to an acknowledgement of `ack`, if it fits; says whether it did.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) -> bool {
        const REACH: u64 = 1 << 31;
        let near = |position: u64| position.abs_diff(ack) < REACH;
        if usize::from(self.count) == MOST_BLOCKS || start >= end || !near(start) || !near(end) {
            return false;
        }
        let offset = |position: u64| position.wrapping_sub(ack) as u32;
        self.blocks[usize::from(self.count)] = (offset(start), offset(end));
        self.count += 1;
        true
    }

    /// The blocks of an acknowledgement of `ack`, as positions.
    pub fn blocks(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let position = move |offset: u32| ack.wrapping_add_signed(i64::from(offset.cast_signed()));
        let (blocks, count) = (self.blocks, usize::from(self.count));
        let all = blocks.into_iter().take(count);
        all.map(move |(start, end)| (position(start), position(end)))
    }

    /// Whether there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many blocks there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// The length of the option in a TCP header, with what aligns it (RFC 2018 §3).
    pub const fn option_bytes(&self) -> u32 {
        if self.count == 0 {
            0
        } else {
            4 + 8 * self.count as u32
        }
    }

    /// The first block, if it tells of data that came twice (RFC 2883 §4): it lies before `ack` or within the second.
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
    fn blocks_keep_their_places_and_four_fit() {
        let mut sack = Sack::NONE;
        assert_eq!(sack.option_bytes(), 0);
        let ack = (7 << 32) + 11;
        for number in 0..4 {
            assert!(sack.push(ack, ack + 10 * number + 2, ack + 10 * number + 5));
        }
        assert!(!sack.push(ack, ack + 100, ack + 101), "a fifth");
        let expected: Vec<_> = (0..4)
            .map(|n| (ack + 10 * n + 2, ack + 10 * n + 5))
            .collect();
        assert_eq!(sack.blocks(ack).collect::<Vec<_>>(), expected);
        assert_eq!((sack.len(), sack.option_bytes()), (4, 36));
        let mut far = Sack::NONE;
        assert!(!far.push(ack, ack + 1, ack + (1 << 31)) && far.is_empty());
        assert!(!far.push(ack, ack + 5, ack + 5), "nothing is in it");
    }

    #[test]
    fn the_first_block_may_tell_of_a_duplicate() {
        // RFC 2883 §4.1: data before what is acknowledged.
        let of = |blocks: &[(u64, u64)]| {
            let mut sack = Sack::NONE;
            for &(start, end) in blocks {
                assert!(sack.push(4_000, start, end));
            }
            sack.duplicate(4_000)
        };
        assert_eq!(of(&[(3_000, 3_500)]), Some((3_000, 3_500)));
        assert_eq!(of(&[(3_000, 3_500), (4_500, 5_000)]), Some((3_000, 3_500)));
        // §4.2.2: data within a block that is told of next.
        assert_eq!(of(&[(5_000, 5_500), (4_500, 6_000)]), Some((5_000, 5_500)));
        assert_eq!(of(&[(4_500, 5_000), (5_500, 6_000)]), None);
        assert_eq!(of(&[]), None);
    }
}
