//! Encoded rates of D3, and the fixed-point numbers of hosts and routers.

use super::{Config, Rounding};
use duetime_core::{Rate, Span};

/// Rate in a request: 8.8 fixed point in units of 2^scale B/us. On the wire it is one byte (D3 §5), so only whole units
/// can be encoded; [`Rounding::Exact`] also uses the fraction and exists in memory only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedRate(pub u16);

/// Rate for computations in routers, in 2^-16 of an encoded unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FixedRate(pub(super) i64);

impl FixedRate {
    /// Returns the rate of the wire byte.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        Self((byte as i64) << FRACTION_BITS)
    }

    /// Returns the encoded rate.
    #[inline]
    pub const fn encoded(self) -> EncodedRate {
        EncodedRate((self.0 >> (FRACTION_BITS - 8)) as u16)
    }
}

impl From<EncodedRate> for FixedRate {
    #[inline]
    fn from(rate: EncodedRate) -> Self {
        Self(rate.fixed())
    }
}

/// Number of fraction bits of internal fixed-point numbers: 2^-16 of an encoded unit.
pub(super) const FRACTION_BITS: u32 = 16;
/// One encoded unit.
pub(super) const UNIT: i64 = 1 << FRACTION_BITS;
/// Largest rate that can be encoded.
pub(super) const MAX_FIXED: i64 = EncodedRate::MAX.fixed();

const PS_PER_US: u64 = 1_000_000;

impl EncodedRate {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Largest rate of a wire byte.
    pub const MAX: Self = Self::from_byte(u8::MAX);

    /// Returns the rate of the wire byte.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        Self((byte as u16) << 8)
    }

    /// Returns the wire byte, or `None` if the rate has a fraction.
    #[inline]
    pub const fn byte(self) -> Option<u8> {
        if self.0.trailing_zeros() >= 8 {
            Some((self.0 >> 8) as u8)
        } else {
            None
        }
    }

    /// Returns the rate in units of 2^scale B/us, for display and statistics.
    pub fn units(self) -> f64 {
        f64::from(self.0) / 256.0
    }

    /// Returns the rate in bits per second, rounded down.
    pub const fn to_rate(self, scale: i8) -> Rate {
        let bits = self.0 as u64 * 8_000_000;
        Rate::from_bps(if scale >= 0 {
            (bits << scale) >> 8
        } else {
            bits >> (8 - scale)
        })
    }

    /// Returns the number of whole bytes that this rate sends in `span`.
    pub(super) const fn bytes_in(self, span: Span, scale: i8) -> u64 {
        // Use 64 bits while the product fits: 128-bit divisions are function calls.
        if let Some(bytes) = (self.0 as u64).checked_mul(span.as_ps())
            && bytes.leading_zeros() as i32 >= scale as i32
        {
            let bytes = if scale >= 0 {
                bytes << scale
            } else {
                bytes >> -scale
            };
            return bytes / (256 * PS_PER_US);
        }
        let bytes = self.0 as u128 * span.as_ps() as u128;
        let bytes = if scale >= 0 {
            bytes << scale
        } else {
            bytes >> -scale
        };
        (bytes / (256 * PS_PER_US as u128)) as u64
    }

    /// Converts to an internal fixed-point number.
    #[inline]
    pub(super) const fn fixed(self) -> i64 {
        (self.0 as i64) << (FRACTION_BITS - 8)
    }

    /// Returns the largest encoded rate not above `fixed`, clamped to [0, `MAX_FIXED`], with a fraction if `exact`.
    #[inline]
    pub(super) const fn floor(fixed: i64, exact: bool) -> Self {
        let fixed = if fixed < 0 {
            0
        } else if fixed > MAX_FIXED {
            MAX_FIXED
        } else {
            fixed
        };
        let encoded = (fixed >> (FRACTION_BITS - 8)) as u16;
        Self(if exact { encoded } else { encoded & 0xff00 })
    }
}

/// Converts `rate` to internal fixed point.
pub(super) const fn fixed_from_rate(rate: Rate, scale: i8) -> i64 {
    let shift = (FRACTION_BITS as i32 - scale as i32) as u32;
    if rate.as_bps().leading_zeros() > shift {
        return ((rate.as_bps() << shift) / 8_000_000) as i64;
    }
    let bits = (rate.as_bps() as i128) << 32;
    ((bits / 8_000_000) >> (32 - FRACTION_BITS as i32 + scale as i32)) as i64
}

/// Returns `bytes` per `span` in internal fixed point, saturating far above every rate; `span` must not be zero.
pub(super) const fn fixed_from_bytes(bytes: u64, span: Span, scale: i8) -> i64 {
    let up = (FRACTION_BITS as i32 - if scale < 0 { scale as i32 } else { 0 }) as u32;
    let down = if scale > 0 { scale as u32 } else { 0 };
    let fixed = if bytes <= (u64::MAX / PS_PER_US) >> up {
        ((bytes * PS_PER_US) << up) / span.as_ps()
    } else {
        let fixed = ((bytes as u128 * PS_PER_US as u128) << up) / span.as_ps() as u128;
        if fixed > u64::MAX as u128 {
            u64::MAX
        } else {
            fixed as u64
        }
    };
    let fixed = fixed >> down;
    if fixed > 1 << 48 {
        1 << 48
    } else {
        fixed as i64
    }
}

/// Returns the number of whole bytes that `fixed`, in internal fixed point, sends in `span`; zero if negative.
pub(super) const fn bytes_from_fixed(fixed: i64, span: Span, scale: i8) -> u64 {
    if fixed <= 0 {
        return 0;
    }
    let shift = (FRACTION_BITS as i32 - scale as i32) as u32;
    let bytes = ((fixed as u128 * span.as_ps() as u128) >> shift) / PS_PER_US as u128;
    if bytes > u64::MAX as u128 {
        u64::MAX
    } else {
        bytes as u64
    }
}

/// Rounds a desired rate according to `config`. `carry` is the sender's remainder of earlier roundings (§5, "a running
/// counter", used here also for the header's byte).
pub(super) fn round_desired(config: &Config, desired: i64, carry: &mut i32) -> EncodedRate {
    if desired <= 0 {
        *carry = 0;
        return EncodedRate::ZERO;
    }
    match config.wire.rounding {
        Rounding::Exact => EncodedRate::floor(desired, true),
        Rounding::FloorFloor => EncodedRate::floor(desired, false),
        Rounding::CeilFloor => EncodedRate::floor(desired.saturating_add(UNIT - 1), false),
        Rounding::Carry => {
            let total = desired + i64::from(*carry);
            let rounded = EncodedRate::floor(total, false);
            *carry = (total - rounded.fixed()).min(UNIT - 1) as i32;
            rounded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_converts_back_to_bytes() {
        for scale in [-16, -3, 0, 4, 15] {
            for bytes in [0, 1_000, 100_000, 3_000_000] {
                let fixed = fixed_from_bytes(bytes, Span::from_us(800), scale);
                let converted = bytes_from_fixed(fixed, Span::from_us(800), scale);
                let unit = bytes_from_fixed(1, Span::from_us(800), scale);
                assert!((bytes.saturating_sub(unit + 1)..=bytes).contains(&converted));
            }
        }
        assert_eq!(bytes_from_fixed(-5, Span::from_us(800), 0), 0);
        assert_eq!(bytes_from_fixed(i64::MAX, Span::MAX, 15), u64::MAX);
    }

    #[test]
    fn one_gigabit_is_125_units() {
        assert_eq!(fixed_from_rate(Rate::from_gbps(1), 0), 125 * UNIT);
        assert_eq!(fixed_from_rate(Rate::from_mbps(100), -3), 100 * UNIT);
        assert_eq!(fixed_from_bytes(100_000, Span::from_us(800), 0), 125 * UNIT);
        assert_eq!(EncodedRate::from_byte(125).to_rate(0), Rate::from_gbps(1));
        assert_eq!(
            EncodedRate::from_byte(100).to_rate(-3),
            Rate::from_mbps(100)
        );
        assert_eq!(
            EncodedRate::from_byte(10).bytes_in(Span::from_us(300), 0),
            3_000
        );
    }

    #[test]
    fn narrow_and_wide_arithmetic_agree() {
        let spans = [
            1,
            999,
            10_000_000,
            300_000_000,
            1 << 40,
            1 << 47,
            1 << 48,
            1 << 63,
        ];
        for scale in -16_i8..16 {
            let (up, down) = (-scale.min(0), scale.max(0));
            for span in spans.map(Span::from_ps) {
                for bits in 0..62 {
                    for bytes in [
                        1_u64 << bits,
                        (1 << bits) + (1 << bits) / 7 * 3,
                        (2 << bits) - 1,
                    ] {
                        let wide = ((u128::from(bytes) * 1_000_000) << (16 + up))
                            / u128::from(span.as_ps());
                        assert_eq!(
                            u128::try_from(fixed_from_bytes(bytes, span, scale)),
                            Ok((wide >> down).min(1 << 48)),
                            "{bytes} B in {span}, scale {scale}"
                        );
                        let bps = bytes >> 20; // up to 17 Tbps
                        let wide = ((u128::from(bps) << 32) / 8_000_000) >> (16 + scale);
                        assert_eq!(
                            fixed_from_rate(Rate::from_bps(bps), scale),
                            wide as i64,
                            "{bps} bps, scale {scale}"
                        );
                    }
                }
                for rate in [0, 1, 0x100, 0x1234, 0xff00, 0xffff].map(EncodedRate) {
                    let wide = ((u128::from(rate.0) * u128::from(span.as_ps())) << down) >> up;
                    assert_eq!(
                        rate.bytes_in(span, scale),
                        (wide / 256_000_000) as u64,
                        "{rate:?} in {span}, scale {scale}"
                    );
                }
            }
        }
    }

    #[test]
    fn rounding_carries_the_remainder() {
        let config = Config::default().with(|c| c.wire.rounding = Rounding::Carry);
        let mut carry = 0;
        let total: u32 = (0..1_000)
            .map(|_| {
                u32::from(
                    round_desired(&config, UNIT * 3 / 10, &mut carry)
                        .byte()
                        .unwrap(),
                )
            })
            .sum();
        assert_eq!(total, 299, "1,000 times 0.3 units, rounded down once");
        let ceil = config.with(|c| c.wire.rounding = Rounding::CeilFloor);
        assert_eq!(
            round_desired(&ceil, 1, &mut carry),
            EncodedRate::from_byte(1)
        );
        assert_eq!(
            round_desired(&ceil, i64::MAX, &mut carry),
            EncodedRate::from_byte(255)
        );
    }
}
