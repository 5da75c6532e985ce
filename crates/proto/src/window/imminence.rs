//! Deadline imminence d = Tc / D (D2TCP §3.2): time that the flow would need under DCTCP, relative to the time left.
//!
//! All arithmetic is in unsigned 64-bit integers. It runs once per reduction, so divisions are acceptable.

use super::Completion;
use duetime_core::fixed::Factor;

/// Upper limits of windows, in segments, and of sizes, in bytes, so that no product overflows.
const MAX_SEGMENTS: u64 = 1 << 18;
const MAX_BYTES: u64 = 1 << 37;

/// Number of bits after the binary point of a window in segments.
const WINDOW_BITS: u32 = 12;

/// Returns Tc in round trips: the time to send `bytes` with a sawtooth window between `window`/2 and `window` bytes.
///
/// Both must be above zero, `window` below 2⁴³, and `mss` from 1 to 65,535. The window is clamped to 2¹⁸ segments, the
/// data to 2³⁷ bytes.
pub fn completion_rtts(form: Completion, bytes: u64, window: u64, mss: u32) -> Factor {
    let bytes = bytes.min(MAX_BYTES);
    match form {
        Completion::Approximate => approximate(bytes, window),
        Completion::Precise => precise(bytes, window, u64::from(mss)),
    }
}

/// Returns Tc = B / (3W/4).
fn approximate(bytes: u64, window: u64) -> Factor {
    Factor::from_bits(((4 * bytes) << Factor::BITS) / (3 * window))
}

/// Returns the sum over the sawtooth: a period has L = W/2 round trips, the i-th of which sends W/2 + i segments.
fn precise(bytes: u64, window: u64, mss: u64) -> Factor {
    // W and 2B in segments, as Q12 and Q24.
    let w = ((window << WINDOW_BITS) / mss).clamp(1 << WINDOW_BITS, MAX_SEGMENTS << WINDOW_BITS);
    let double_bytes = ((2 * bytes) << (2 * WINDOW_BITS)) / mss;
    // A period sends L (3W/4 - 1/2) = W (3W - 2) / 8 segments.
    let mean_times_4 = 3 * w - (2 << WINDOW_BITS);
    if double_bytes >= (w * mean_times_4) / 4 {
        // Many periods: Tc = B / (3W/4 - 1/2) = 2 (2B) / (3W - 2).
        return Factor::from_bits(
            (2 * double_bytes / mean_times_4) << (Factor::BITS - WINDOW_BITS),
        );
    }
    // Within one period: Tc = -(W-1)/2 + √((W-1)²/4 + 2B), without cancellation.
    let h = (w - (1 << WINDOW_BITS)) / 2;
    let root = (h * h + double_bytes).isqrt();
    Factor::from_bits((double_bytes << (Factor::BITS - WINDOW_BITS)) / (h + root))
}

/// Returns d = Tc / D, where Tc is `rtts` round trips of `srtt` and D is `left`, in the same unit. Both are above zero.
pub fn imminence(rtts: Factor, srtt: u64, left: u64) -> Factor {
    // Shift both until D in round trips has 16 bits after the point.
    let shift = (64 - left.leading_zeros()).saturating_sub(47);
    let (srtt, left) = ((srtt >> shift).max(1), left >> shift);
    let left_rtts = ((left << Factor::BITS) / srtt).max(1);
    let rtts = rtts.to_bits().min((1 << 47) - 1);
    Factor::from_bits((rtts << Factor::BITS) / left_rtts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;

    /// Returns Tc for a window of 16 segments.
    fn tc(form: Completion, segments: u64) -> f64 {
        completion_rtts(form, segments * u64::from(MSS), 16 * u64::from(MSS), MSS).to_f64()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3
    }

    #[test]
    fn matches_hand_computed_values() {
        // 8 + 9 + 10 + 11 + 12 = 50 segments in five round trips.
        assert!(close(tc(Completion::Precise, 50), 5.0));
        // A whole period of eight round trips sends 92.
        assert!(close(tc(Completion::Precise, 92), 8.0));
        assert!(close(tc(Completion::Precise, 91), 7.935));
        assert!(close(tc(Completion::Precise, 100), 8.696));
        assert!(close(tc(Completion::Approximate, 100), 8.333));
    }

    #[test]
    fn forms_agree_at_one_period() {
        for w in [2, 3, 5, 8, 16, 100, 1_000, 10_000_u64] {
            let period = w * (3 * w - 2) * u64::from(MSS) / 8;
            let window = w * u64::from(MSS);
            let before = completion_rtts(Completion::Precise, period - 1, window, MSS).to_f64();
            let after = completion_rtts(Completion::Precise, period + 1, window, MSS).to_f64();
            let expected = w as f64 / 2.0;
            assert!(
                (before / expected - 1.0).abs() < 2e-3,
                "W {w}: {before} before"
            );
            assert!(
                (after / expected - 1.0).abs() < 2e-3,
                "W {w}: {after} after"
            );
        }
    }

    #[test]
    fn completion_matches_real_arithmetic() {
        for w in [1.0, 2.0, 2.7, 8.3, 64.0, 700.0, 20_000.0_f64] {
            for bytes in [1.0, 800.0, 1e4, 1e6, 3e8, 1e11_f64] {
                let mss = f64::from(MSS);
                let (window, b) = (libm::floor(w * mss), bytes / mss);
                let w = window / mss;
                let real = if b >= w * (3.0 * w - 2.0) / 8.0 {
                    b / (0.75 * w - 0.5)
                } else {
                    -(w - 1.0) / 2.0 + libm::sqrt((w - 1.0) * (w - 1.0) / 4.0 + 2.0 * b)
                };
                let got =
                    completion_rtts(Completion::Precise, bytes as u64, window as u64, MSS).to_f64();
                assert!(
                    (got - real).abs() <= 5e-4 + 1e-3 * real,
                    "W {w} B {bytes}: {got}, expected {real}"
                );
            }
        }
    }

    #[test]
    fn imminence_is_a_ratio_of_times() {
        let rtts = Factor::from_f64(10.0);
        let us = 1_000_000;
        assert!(close(imminence(rtts, 200 * us, 2_000 * us).to_f64(), 1.0));
        assert!(close(imminence(rtts, 200 * us, 4_000 * us).to_f64(), 0.5));
        assert!(close(
            imminence(rtts, 200 * us, 30_000_000 * us).to_f64(),
            0.0
        ));
        // Deadlines in years and in picoseconds stay in range.
        assert!(imminence(rtts, 200 * us, 1).to_f64() > 1e5);
        assert!(close(
            imminence(rtts, u64::MAX / 10, u64::MAX).to_f64(),
            1.0
        ));
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        for form in [Completion::Approximate, Completion::Precise] {
            for bytes in [1, u64::MAX / 2, u64::MAX] {
                for window in [1, 1460, 1 << 30, 1 << 40] {
                    for mss in [1, 1460, 65_535] {
                        let rtts = completion_rtts(form, bytes, window, mss);
                        for (srtt, left) in
                            [(1, 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)]
                        {
                            imminence(rtts, srtt, left);
                        }
                    }
                }
            }
        }
    }
}
