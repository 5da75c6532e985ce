//! DCTCP: the marked fraction α, measured per window of data and averaged over windows, and the window reduction (RFC
//! 8257 §3.3).

use super::{Control, Dctcp, Progress, Window};
use crate::tcp::Config;
use duetime_core::Time;
use duetime_core::fixed::Fraction;

/// Counts the marked bytes of the current window and keeps the moving average α of their share.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct State {
    /// Position at which the window begins.
    start: u64,
    /// Position that must be acknowledged to end the window.
    end: u64,
    /// Bytes of the window acknowledged with a mark.
    marked: u64,
    alpha: Fraction,
    gain_shift: u8,
}

impl Control for State {
    const USES_MARKS: bool = true;

    #[inline(always)]
    fn on_ecn_feedback(&mut self, marked: u64, ack: u64, next: u64) {
        self.marked += marked;
        if ack >= self.end {
            self.update_alpha(ack, next);
        }
    }

    /// Multiplies the window W by 1 - α/2.
    #[inline(always)]
    fn on_explicit_congestion(
        &mut self,
        config: &Config,
        _now: Time,
        window: &mut Window,
        _progress: impl FnOnce() -> Progress,
    ) {
        window.reduce(config, self.alpha);
    }

    fn alpha(&self) -> Fraction {
        self.alpha
    }
}

impl State {
    /// Creates a state with nothing counted. The first byte of data is at position 1.
    pub fn new(options: Dctcp) -> Self {
        Self {
            start: 1,
            end: 0,
            marked: 0,
            alpha: Fraction::from_f64(options.initial_alpha),
            gain_shift: options.gain_shift.min(20),
        }
    }

    /// Updates α with the marked fraction of the window. Called once per window of data.
    #[inline(always)]
    fn update_alpha(&mut self, ack: u64, next: u64) {
        self.alpha = self
            .alpha
            .averaged(u32::from(self.gain_shift), self.marked, ack - self.start);
        (self.marked, self.start, self.end) = (0, ack, next);
    }
}

impl Window {
    /// Multiplies the window by 1 - `p`/2 (D2TCP §3.1) and ends slow start.
    #[inline]
    pub fn reduce(&mut self, config: &Config, p: Fraction) {
        let floor = u64::from(config.min_window.max(1)) * u64::from(config.mss);
        self.ssthresh = reduced(self.cwnd, p, floor);
        self.cwnd = self.cwnd.min(self.ssthresh);
    }
}

/// Returns W (1 - p/2), but at least `floor`, all in bytes. `window` must be below 2⁴³.
#[inline]
pub fn reduced(window: u64, p: Fraction, floor: u64) -> u64 {
    (window - p.of(window) / 2).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_updated_once_per_window() {
        let mut state = State::new(Dctcp {
            gain_shift: 4,
            initial_alpha: 0.0,
        });
        state.on_ecn_feedback(0, 1_001, 4_001);
        assert_eq!(state.alpha(), Fraction::ZERO);
        state.on_ecn_feedback(1_000, 2_001, 5_001);
        state.on_ecn_feedback(0, 3_001, 6_001);
        assert_eq!(state.alpha(), Fraction::ZERO, "the window lasts until 4001");
        state.on_ecn_feedback(1_000, 4_001, 8_001);
        // 2000 of 3000 bytes.
        assert_eq!(state.alpha().to_bits(), (2_000 << 16) / 3_000);
        state.on_ecn_feedback(0, 8_000, 12_000);
        let before = state.alpha();
        state.on_ecn_feedback(0, 8_001, 12_000);
        assert_eq!(
            state.alpha().to_bits(),
            before.to_bits() - before.to_bits() / 16
        );
    }
}
