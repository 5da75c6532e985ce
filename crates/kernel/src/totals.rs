//! Totals of the congestion controllers over all their sockets.

use crate::sockets::Algorithm;

/// Totals of a controller over all its sockets since it was attached. They need no list of the sockets, which some kernels
/// do not permit. Open connections are counted up to the end of their last window of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections that selected the controller.
    pub opened: u64,
    /// Connections that ended, or selected another one.
    pub closed: u64,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets delivered with a mark.
    pub marks: u64,
    /// Window reductions by marks.
    pub reductions: u64,
    /// Window reductions by losses, and timeouts.
    pub losses: u64,
    /// Messages that were acknowledged by their deadlines.
    pub met: u64,
    /// Messages that were acknowledged after their deadlines, or not at all.
    pub missed: u64,
}

/// Index of a controller in the map of totals.
pub(crate) const fn index(algorithm: Algorithm) -> u32 {
    match algorithm {
        Algorithm::Dctcp => 0,
        Algorithm::D2tcp => 1,
    }
}

impl Totals {
    /// Adds up the processors' values, each a `struct totals`.
    pub(crate) fn sum(processors: &[Vec<u8>]) -> Self {
        let mut sums = [0_u64; 9];
        for bytes in processors {
            for (sum, word) in sums.iter_mut().zip(bytes.chunks_exact(8)) {
                let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
                *sum = sum.wrapping_add(word);
            }
        }
        // In the order of `struct totals`.
        Self {
            opened: sums[0],
            closed: sums[1],
            acked_bytes: sums[2],
            delivered: sums[3],
            marks: sums[4],
            reductions: sums[5],
            losses: sums[6],
            met: sums[7],
            missed: sums[8],
        }
    }
}
