//! Random draws of the workloads.

/// `SplitMix64` generator.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number from 0 to `limit` - 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Returns a random permutation without fixed points, as pairs: each host of a shuffled ring sends to the next.
pub(crate) fn cycle(hosts: usize) -> Vec<(usize, usize)> {
    let mut random = Random(2);
    let mut order: Vec<usize> = (0..hosts).collect();
    for last in (1..hosts).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    (0..hosts)
        .map(|place| (order[place], order[(place + 1) % hosts]))
        .collect()
}
