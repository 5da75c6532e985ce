//! Fixed-point arithmetic of the congestion controllers, bit-exact on every machine and in the kernel.
//!
//! All operations are unsigned 64-bit addition, multiplication, shift and (rarely) division, so that code without
//! floating point or signed division can reproduce them exactly.

use core::fmt;

/// Fraction in [0, 1] with 20 bits after the binary point: α, p and marked fractions (D2TCP §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u32);

/// Non-negative factor with 16 bits after the binary point: the deadline imminence d (D2TCP §3.2) and times in round
/// trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor(u64);

impl Fraction {
    /// Number of bits after the binary point.
    pub const BITS: u32 = 20;
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(1 << Self::BITS);

    /// Creates a fraction from its bits, clamped to one.
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        if bits > Self::ONE.0 {
            Self::ONE
        } else {
            Self(bits)
        }
    }

    /// Returns the fraction times 2²⁰.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns the fraction nearest to `value`, clamped to [0, 1], or zero for NaN.
    pub const fn from_f64(value: f64) -> Self {
        Self::from_bits((value * Self::ONE.0 as f64 + 0.5) as u32)
    }

    /// Returns the fraction as a float, for display and statistics only.
    pub const fn to_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    /// Returns `amount` times the fraction, rounded down. `amount` must be below 2⁴³.
    #[inline]
    pub const fn of(self, amount: u64) -> u64 {
        (amount * self.0 as u64) >> Self::BITS
    }

    /// Returns the moving average with gain g = 2^-`gain_shift` after one step towards `part / whole`: `(1 - g) self +
    /// g part / whole`. Repeated steps reach zero and one exactly.
    ///
    /// Requires `part ≤ whole < 2⁴⁴`, `whole > 0` and `gain_shift ≤ 20`.
    #[inline]
    #[must_use]
    pub const fn averaged(self, gain_shift: u32, part: u64, whole: u64) -> Self {
        let decay = match self.0 >> gain_shift {
            0 => self.0, // the shift rounds to zero: drop the remainder so that the average reaches zero
            share => share,
        };
        let gained = (part << (Self::BITS - gain_shift)) / whole;
        Self::from_bits(self.0 - decay + gained as u32)
    }

    /// Returns the fraction to the power of `exponent`, within 10⁻⁶ of real arithmetic for exponents up to 4.
    ///
    /// Powers of zero and one, and the first power of any fraction, are exact; other powers are above zero. A larger
    /// exponent never gives a larger power. Exponents above 4096 are treated as 4096.
    #[inline]
    #[must_use]
    pub const fn power(self, exponent: Factor) -> Self {
        if self.0 == 0 || exponent.0 == Factor::ONE.0 {
            return self;
        }
        let exponent = if exponent.0 > MAX_EXPONENT {
            MAX_EXPONENT
        } else {
            exponent.0
        };
        exp2_of_minus((minus_log2(self) * exponent) >> Factor::BITS)
    }
}

impl Factor {
    /// Number of bits after the binary point.
    pub const BITS: u32 = 16;
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(1 << Self::BITS);

    /// Creates a factor from its bits.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the factor times 2¹⁶.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the factor nearest to `value`, or zero for NaN and negative values.
    pub const fn from_f64(value: f64) -> Self {
        Self((value * Self::ONE.0 as f64 + 0.5) as u64)
    }

    /// Returns the factor as a float, for display and statistics only.
    pub const fn to_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.to_f64())
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.to_f64())
    }
}

/// Number of bits after the binary point in the logarithm and the exponential.
const INNER: u32 = 30;

/// Maximum exponent, 4096: keeps the product of logarithm and exponent within 63 bits.
const MAX_EXPONENT: u64 = 1 << (12 + Factor::BITS);

/// Coefficients of log2(1 + x) = x (c0 - x (c1 - x (c2 - …))) for x in [0, 1): error up to 2·10⁻⁷, exact at both ends.
const LOG2: [u64; 8] = [
    1_549_081_644,
    774_495_135,
    515_373_117,
    378_899_413,
    273_273_819,
    164_392_645,
    66_504_412,
    12_703_975,
];

/// Coefficients of 2^x = 1 + x (c0 + x (c1 + …)) for x in [0, 1]: error up to 2·10⁻⁸, exact at both ends.
const EXP2: [u64; 6] = [
    744_261_106,
    257_942_067,
    59_587_742,
    10_366_067,
    1_360_125,
    224_717,
];

/// Returns -log2 of a non-zero fraction, in [0, 20], with 30 bits after the point.
#[doc(hidden)] // for tests of implementations in other languages
#[inline]
pub const fn minus_log2(fraction: Fraction) -> u64 {
    let top = fraction.0.ilog2();
    let x = ((fraction.0 as u64) << (INNER - top)) - (1 << INNER);
    let mut sum = LOG2[7];
    let mut term = 7;
    while term > 0 {
        term -= 1;
        sum = LOG2[term] - ((x * sum) >> INNER);
    }
    let log2 = (x * sum) >> INNER;
    (((Fraction::BITS - top) as u64) << INNER) - log2
}

/// Returns 2^-`x`, rounded to nearest but above zero; `x` has 30 bits after the point.
#[doc(hidden)]
#[inline]
pub const fn exp2_of_minus(x: u64) -> Fraction {
    let whole = x >> INNER;
    // 2^-f = 2^(1-f) / 2 keeps every term positive.
    let g = (1 << INNER) - (x & ((1 << INNER) - 1));
    let mut sum = EXP2[5];
    let mut term = 5;
    while term > 0 {
        term -= 1;
        sum = EXP2[term] + ((g * sum) >> INNER);
    }
    let double = (1 << INNER) + ((g * sum) >> INNER);
    // Below 2^-32 every result would round to zero.
    let whole = if whole > 32 { 32 } else { whole };
    let shift = whole + 1 + (INNER - Fraction::BITS) as u64;
    match ((double + (1 << (shift - 1))) >> shift) as u32 {
        // A marked flow has p > 0, however imminent its deadline.
        0 => Fraction(1),
        nearest => Fraction(nearest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `alpha` to the power of `d` in floating point, from the pure-Rust libm.
    fn real(alpha: Fraction, d: Factor) -> f64 {
        libm::pow(alpha.to_f64(), d.to_f64())
    }

    #[test]
    fn power_error_is_bounded_on_a_grid() {
        let mut worst = 0.0_f64;
        for exponent in (Factor::ONE.0 / 4..=4 * Factor::ONE.0).step_by(1021) {
            let exponent = Factor(exponent);
            for alpha in (0..=Fraction::ONE.0).step_by(509).chain(0..64) {
                let error =
                    Fraction(alpha).power(exponent).to_f64() - real(Fraction(alpha), exponent);
                worst = worst.max(error.abs());
            }
        }
        assert!(worst <= 1e-6, "worst error {worst}");
    }

    #[test]
    fn power_error_is_bounded_at_the_clamps() {
        for exponent in [0.5, 2.0].map(Factor::from_f64) {
            for alpha in 0..=Fraction::ONE.0 {
                let alpha = Fraction(alpha);
                let error = alpha.power(exponent).to_f64() - real(alpha, exponent);
                assert!(error.abs() <= 1e-6, "{alpha:?}^{exponent:?}: {error}");
            }
        }
    }

    #[test]
    fn powers_of_zero_and_one_are_exact() {
        for bits in (0..=Fraction::ONE.0).step_by(97) {
            assert_eq!(Fraction(bits).power(Factor::ONE), Fraction(bits));
        }
        for d in [0, 1, 1 << 15, 1 << 16, 1 << 17, 3 << 20, u64::MAX].map(Factor) {
            assert_eq!(Fraction::ONE.power(d), Fraction::ONE);
            assert_eq!(Fraction::ZERO.power(d), Fraction::ZERO);
        }
    }

    #[test]
    fn power_is_monotonic() {
        for alpha in (1..Fraction::ONE.0).step_by(4_999) {
            let mut last = Fraction::ONE;
            for d in (1..=4 * Factor::ONE.0).step_by(331) {
                let p = Fraction(alpha).power(Factor(d));
                assert!(p <= last, "alpha {alpha} d {d}");
                last = p;
            }
        }
        for d in (Factor::ONE.0 / 2..=2 * Factor::ONE.0).step_by(9_973) {
            let mut last = Fraction::ZERO;
            for alpha in (0..=Fraction::ONE.0).step_by(61) {
                let p = Fraction(alpha).power(Factor(d));
                assert!(p >= last, "alpha {alpha} d {d}");
                last = p;
            }
        }
    }

    #[test]
    fn average_reaches_zero_and_one() {
        let mut alpha = Fraction::ZERO;
        alpha = alpha.averaged(4, 1460, 1460);
        assert_eq!(alpha, Fraction::from_f64(1.0 / 16.0));
        for _ in 0..400 {
            alpha = alpha.averaged(4, 7, 7);
        }
        assert_eq!(alpha, Fraction::ONE);
        for _ in 0..400 {
            alpha = alpha.averaged(4, 0, 7);
        }
        assert_eq!(alpha, Fraction::ZERO);
    }

    #[test]
    fn conversions_clamp() {
        assert_eq!(Fraction::from_f64(f64::NAN), Fraction::ZERO);
        assert_eq!(Fraction::from_f64(-1.0), Fraction::ZERO);
        assert_eq!(Fraction::from_f64(7.0), Fraction::ONE);
        assert_eq!(Factor::from_f64(0.5).to_bits(), 1 << 15);
        assert_eq!(Fraction::from_f64(0.5).of(3001), 1500);
    }
}
