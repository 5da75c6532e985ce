//! Rates as D3 encodes them, and the fixed-point numbers that hosts and routers compute with.

use super::{Config, Rounding};
use duetime_core::{Rate, Span};

/// A rate as a request carries it in memory: 8.8 fixed point in units of 2^scale B/us. On the wire it is one byte
/// (D3 §5), so only whole units can be encoded; [`Rounding::Exact`] uses the fraction too and stays in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedRate(pub u16);

/// Fraction bits of the internal fixed-point numbers: 2^-16 of an encoded unit.
pub(super) const FRACTION_BITS: u32 = 16;
/// One encoded unit.
pub(super) const UNIT: i64 = 1 << FRACTION_BITS;
/// The largest rate that encodes.
pub(super) const LARGEST: i64 = 255 * UNIT;

const PS_PER_US: i128 = 1_000_000;

impl EncodedRate {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The rate that the wire byte means.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        Self((byte as u16) << 8)
    }

    /// The wire byte, unless the rate has a fraction.
    #[inline]
    pub const fn byte(self) -> Option<u8> {
        if self.0.trailing_zeros() >= 8 {
            Some((self.0 >> 8) as u8)
        } else {
            None
        }
    }

    /// In units of 2^scale B/us, for display and statistics.
    pub fn units(self) -> f64 {
        f64::from(self.0) / 256.0
    }

    /// The rate in bits per second, rounded down.
    pub const fn to_rate(self, scale: i8) -> Rate {
        let bits = self.0 as u64 * 8_000_000;
        Rate::from_bps(if scale >= 0 {
            (bits << scale) >> 8
        } else {
            bits >> (8 - scale)
        })
    }

    /// The whole bytes that this rate sends in `span`.
    pub(super) const fn bytes_in(self, span: Span, scale: i8) -> u64 {
        let bytes = self.0 as u128 * span.as_ps() as u128;
        let bytes = if scale >= 0 {
            bytes << scale
        } else {
            bytes >> -scale
        };
        (bytes / (256 * PS_PER_US as u128)) as u64
    }

    /// As an internal fixed-point number.
    #[inline]
    pub(super) const fn fixed(self) -> i64 {
        (self.0 as i64) << (FRACTION_BITS - 8)
    }

    /// The largest encoded rate not above `fixed` (at least zero, at most [`LARGEST`]), with fraction if `exact`.
    #[inline]
    pub(super) const fn floor(fixed: i64, exact: bool) -> Self {
        let fixed = if fixed < 0 {
            0
        } else if fixed > LARGEST {
            LARGEST
        } else {
            fixed
        };
        let encoded = (fixed >> (FRACTION_BITS - 8)) as u16;
        Self(if exact { encoded } else { encoded & 0xff00 })
    }
}

/// `rate` in internal fixed point.
pub(super) const fn fixed_from_rate(rate: Rate, scale: i8) -> i64 {
    let bits = (rate.as_bps() as i128) << 32;
    ((bits / 8_000_000) >> (32 - FRACTION_BITS as i32 + scale as i32)) as i64
}

/// `bytes` per `span` in internal fixed point, saturating far above every rate; `span` is not zero.
pub(super) const fn fixed_from_bytes(bytes: u64, span: Span, scale: i8) -> i64 {
    let scaled = (bytes as i128 * PS_PER_US)
        << (FRACTION_BITS as i32 - if scale < 0 { scale as i32 } else { 0 });
    let fixed = (scaled / span.as_ps() as i128) >> if scale > 0 { scale as u32 } else { 0 };
    if fixed > 1 << 48 {
        1 << 48
    } else {
        fixed as i64
    }
}

/// Rounds a desired rate as `config` says; `carry` is the sender's remainder of earlier roundings (§5, "a running
/// counter", used here for the header's byte as well).
pub(super) fn round_desired(config: &Config, desired: i64, carry: &mut i32) -> EncodedRate {
    if desired <= 0 {
        *carry = 0;
        return EncodedRate::ZERO;
    }
    match config.rounding {
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
    fn a_gigabit_is_125_units() {
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
    fn a_sender_carries_what_its_rounding_took() {
        let config = Config {
            rounding: Rounding::Carry,
            ..Config::default()
        };
        let mut carry = 0;
        let asked: u32 = (0..1_000)
            .map(|_| {
                u32::from(
                    round_desired(&config, UNIT * 3 / 10, &mut carry)
                        .byte()
                        .unwrap(),
                )
            })
            .sum();
        assert_eq!(asked, 299, "0.3 units a thousand times, rounded down once");
        let ceil = Config {
            rounding: Rounding::CeilFloor,
            ..config
        };
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
