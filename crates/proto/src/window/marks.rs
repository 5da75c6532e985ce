//! The marked fraction α: counted over one window of data, averaged over windows (RFC 8257 §3.3).

use duetime_core::fixed::Fraction;

/// Counts acknowledged and marked bytes of the current window and keeps their moving average α.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Marks {
    /// The window ends when this position is acknowledged.
    end: u64,
    acked: u64,
    marked: u64,
    /// Marked bytes of all ended windows.
    marked_before: u64,
    alpha: Fraction,
    gain_shift: u8,
}

impl Marks {
    /// Nothing counted; α starts at `initial`, the gain is 2^-`gain_shift`, at least 2⁻²⁰.
    pub const fn new(initial: Fraction, gain_shift: u8) -> Self {
        Self {
            end: 0,
            acked: 0,
            marked: 0,
            marked_before: 0,
            alpha: initial,
            gain_shift: if gain_shift > 20 { 20 } else { gain_shift },
        }
    }

    /// Takes `bytes` newly acknowledged, up to position `ack`; `next` is the next new position to be sent.
    #[inline]
    pub fn count(&mut self, bytes: u64, marked: bool, ack: u64, next: u64) {
        self.acked += bytes;
        self.marked += if marked { bytes } else { 0 };
        if ack >= self.end {
            self.end_window(next);
        }
    }

    /// α takes in the window's marked fraction: once per window of data.
    #[inline]
    fn end_window(&mut self, next: u64) {
        if self.acked > 0 {
            self.alpha = self
                .alpha
                .averaged(u32::from(self.gain_shift), self.marked, self.acked);
        }
        self.marked_before += self.marked;
        (self.acked, self.marked, self.end) = (0, 0, next);
    }

    /// α, in [0, 1].
    #[inline]
    pub const fn alpha(&self) -> Fraction {
        self.alpha
    }

    /// All bytes acknowledged with a mark so far.
    pub const fn marked_bytes(&self) -> u64 {
        self.marked_before + self.marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_moves_once_per_window_by_the_marked_fraction() {
        let mut marks = Marks::new(Fraction::ZERO, 4);
        marks.count(1_000, false, 1_001, 4_001);
        assert_eq!(marks.alpha(), Fraction::ZERO);
        marks.count(1_000, true, 2_001, 5_001);
        marks.count(1_000, false, 3_001, 6_001);
        assert_eq!(marks.alpha(), Fraction::ZERO, "the window lasts until 4001");
        marks.count(1_000, true, 4_001, 8_001);
        // 2000 of 3000 bytes.
        assert_eq!(marks.alpha().to_bits(), (2_000 << 16) / 3_000);
        assert_eq!(marks.marked_bytes(), 2_000);
        marks.count(3_999, false, 8_000, 12_000);
        let before = marks.alpha();
        marks.count(1, false, 8_001, 12_000);
        assert_eq!(
            marks.alpha().to_bits(),
            before.to_bits() - before.to_bits() / 16
        );
    }
}
