//! Sizes, rates, and exact transmission times.

use crate::Span;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Number of bytes. KB and MB are 10³ and 10⁶ bytes; KiB and MiB are 2¹⁰ and 2²⁰ bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Transmission time per packet at a fixed rate: `ceil(bytes × num / den)` picoseconds. The fraction is reduced in
/// advance, so that common rates (1, 10, 40, 100 Gbps) need no division per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitCost {
    num: u64,
    den: u64,
}

const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;

impl Rate {
    /// Creates a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Creates a rate of `mbps` megabits (10⁶ bits) per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Creates a rate of `gbps` gigabits (10⁹ bits) per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Returns the rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the transmission cost at this rate.
    ///
    /// # Panics
    /// Panics if the rate is zero. Scenarios are validated before this is called.
    pub const fn transmit_cost(self) -> TransmitCost {
        let (mut a, mut b) = (PS_BITS_PER_BYTE, self.0);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        TransmitCost {
            num: PS_BITS_PER_BYTE / a,
            den: self.0 / a,
        }
    }

    /// Returns the transmission time of `bytes` at this rate, rounded up to a picosecond.
    pub const fn transmit(self, bytes: u64) -> Span {
        self.transmit_cost().of_large(bytes)
    }

    /// Returns the number of whole bytes that can be transmitted in `span` at this rate.
    pub const fn bytes_in(self, span: Span) -> u64 {
        (self.0 as u128 * span.as_ps() as u128 / PS_BITS_PER_BYTE as u128) as u64
    }
}

impl TransmitCost {
    /// Returns the picoseconds per byte, or `None` if they are not a whole number.
    pub const fn ps_per_byte(self) -> Option<u64> {
        if self.den == 1 { Some(self.num) } else { None }
    }

    /// Returns the transmission time of one packet of `bytes` (below 2¹⁶), rounded up to a picosecond.
    #[inline]
    pub const fn of(self, bytes: u32) -> Span {
        let product = bytes as u64 * self.num;
        if self.den == 1 {
            Span::from_ps(product)
        } else {
            Span::from_ps(product.div_ceil(self.den))
        }
    }

    const fn of_large(self, bytes: u64) -> Span {
        Span::from_ps((bytes as u128 * self.num as u128).div_ceil(self.den as u128) as u64)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(
            f,
            self.0,
            &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")],
            "B",
        )
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(
            f,
            self.0,
            &[
                (1_000_000_000, "Gbps"),
                (1_000_000, "Mbps"),
                (1_000, "Kbps"),
            ],
            "bps",
        )
    }
}

fn scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
    base: &str,
) -> fmt::Result {
    for &(unit, name) in units {
        if value >= unit {
            let thousandths = value % unit * 1_000 / unit;
            if thousandths == 0 {
                return write!(f, "{} {name}", value / unit);
            }
            let digits = alloc::format!("{thousandths:03}");
            return write!(
                f,
                "{}.{} {name}",
                value / unit,
                digits.trim_end_matches('0')
            );
        }
    }
    write!(f, "{value} {base}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn transmission_rounds_up_to_a_picosecond() {
        assert_eq!(
            Rate::from_gbps(1).transmit_cost().of(1500),
            Span::from_us(12)
        );
        assert_eq!(Rate::from_gbps(40).transmit_cost().of(40), Span::from_ns(8));
        // 1500 B at 3 Gbps: 4 µs exactly; 1 B: 2666.67 ps, so 2667.
        assert_eq!(
            Rate::from_gbps(3).transmit_cost().of(1500),
            Span::from_us(4)
        );
        assert_eq!(
            Rate::from_gbps(3).transmit_cost().of(1),
            Span::from_ps(2667)
        );
        assert_eq!(
            Rate::from_bps(7).transmit(u64::from(u32::MAX)).as_ps(),
            (u128::from(u32::MAX) * 8_000_000_000_000).div_ceil(7) as u64
        );
    }

    #[test]
    fn display_uses_scenario_units() {
        assert_eq!(Bytes(4_000_000).to_string(), "4 MB");
        assert_eq!(Bytes(1_500).to_string(), "1.5 KB");
        assert_eq!(Rate::from_mbps(250).to_string(), "250 Mbps");
    }
}
