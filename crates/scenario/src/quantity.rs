//! Quantities as written in a scenario: a number, a space and a unit. Messages use the same format.

use crate::expected::Form;
use duetime_core::{Bytes, Rate, Span};
use std::fmt::Write as _;

/// Kind of quantity with its units.
pub(crate) struct Units {
    /// Name in messages.
    pub what: &'static str,
    /// Units: name and multiple of the base unit.
    pub names: &'static [(&'static str, u64)],
    /// Example of a valid value.
    pub example: &'static str,
    /// Form of a value.
    pub form: Form,
    /// Formats an amount of the base unit.
    pub show: fn(u64) -> String,
}

/// Times, in picoseconds.
pub(crate) const TIME: Units = Units {
    what: "time",
    names: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    example: "20 us",
    form: Form::Quantity,
    show: |ps| match ps {
        0 => "0 us".to_owned(),
        _ if ps.is_multiple_of(3_600_000_000_000_000) => {
            format!("{} h", ps / 3_600_000_000_000_000)
        }
        _ => Span::from_ps(ps).to_string(),
    },
};

/// Rates, in bits per second.
pub(crate) const RATE: Units = Units {
    what: "rate",
    names: &[
        ("bps", 1),
        ("Kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    example: "1 Gbps",
    form: Form::Quantity,
    show: |bps| Rate::from_bps(bps).to_string(),
};

/// Sizes, in bytes. KB and MB are 10³ and 10⁶ bytes; KiB and MiB are 2¹⁰ and 2²⁰ bytes.
pub(crate) const SIZE: Units = Units {
    what: "size",
    names: &[
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    example: "10 KB",
    form: Form::Quantity,
    show: |bytes| Bytes(bytes).to_string(),
};

/// Numbers of packets of any size.
pub(crate) const PACKETS: Units = Units {
    what: "number of packets",
    names: &[("packets", 1), ("packet", 1)],
    example: "20 packets",
    form: Form::Packets,
    show: |packets| format!("{packets} packets"),
};

/// Frequencies, in thousandths per second.
pub(crate) const FREQUENCY: Units = Units {
    what: "frequency",
    names: &[("/s", 1_000), ("per second", 1_000)],
    example: "2000 /s",
    form: Form::Quantity,
    show: |thousandths| format!("{} /s", thousandths as f64 / 1e3),
};

/// Error for a text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidQuantity {
    /// Description of the error.
    pub message: String,
    /// Allowed values.
    pub allowed: String,
}

/// Parses a time such as `35 ms`.
pub fn parse_time(text: &str) -> Result<Span, InvalidQuantity> {
    TIME.parse(text).map(Span::from_ps)
}

/// Parses a size such as `10 KB`.
pub fn parse_size(text: &str) -> Result<Bytes, InvalidQuantity> {
    SIZE.parse(text).map(Bytes)
}

/// Parses a rate such as `100 Mbps`.
pub fn parse_rate(text: &str) -> Result<Rate, InvalidQuantity> {
    RATE.parse(text).map(Rate::from_bps)
}

/// Parses a number of packets such as `20 packets`.
pub fn parse_packets(text: &str) -> Result<u32, InvalidQuantity> {
    let packets = PACKETS.parse(text)?;
    u32::try_from(packets).map_err(|_| PACKETS.error("too many packets"))
}

impl Units {
    /// Parses `text` into the base unit, exact in decimal and rounded to the nearest integer.
    pub fn parse(&self, text: &str) -> Result<u64, InvalidQuantity> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
            .unwrap_or(text.len());
        let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
        let lower = text.to_ascii_lowercase();
        if lower.contains("nan") || lower.contains("inf") {
            return Err(self.error("not a finite number"));
        }
        if number.is_empty() {
            return Err(self.error(format!("a {} starts with a number", self.what)));
        }
        if unit.is_empty() {
            return Err(self.error(format!("the unit of this {} is missing", self.what)));
        }
        let Some(&(_, scale)) = self.names.iter().find(|(name, _)| *name == unit) else {
            let mut error = self.error(format!("`{unit}` is not a unit of a {}", self.what));
            let same = |name: &str| name.eq_ignore_ascii_case(unit);
            if let Some((name, _)) = self.names.iter().find(|(name, _)| same(name)) {
                let _ = write!(error.message, "; did you mean `{name}`?");
            }
            return Err(error);
        };
        if number.starts_with('-') {
            return Err(self.error(format!("a {} cannot be negative", self.what)));
        }
        decimal(&number, scale).map_err(|message| self.error(message))
    }

    fn error(&self, message: impl Into<String>) -> InvalidQuantity {
        let mut names: Vec<&str> = self.names.iter().map(|(name, _)| *name).collect();
        names.retain(|name| !matches!(*name, "µs" | "packet"));
        let allowed = format!(
            "a number with a unit ({}), such as \"{}\"",
            names.join(", "),
            self.example
        );
        InvalidQuantity {
            message: message.into(),
            allowed,
        }
    }
}

/// Computes `number × scale`, exact in decimal and rounded to the nearest integer.
fn decimal(number: &str, scale: u64) -> Result<u64, String> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(format!("`{number}` is not a number"));
    }
    let fraction = &fraction[..fraction.len().min(15)];
    let power = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let too_large = || "larger than the simulator supports".to_owned();
    let mantissa: u128 = format!("0{whole}{fraction}")
        .parse()
        .map_err(|_| too_large())?;
    let scaled = mantissa
        .checked_mul(u128::from(scale))
        .ok_or_else(too_large)?;
    u64::try_from((scaled + power / 2) / power).map_err(|_| too_large())
}

/// Rounds to whole picoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of a scenario are at most an hour"
)]
pub(crate) fn whole(ps: f64) -> u64 {
    libm::round(ps) as u64
}

/// Parses a share such as `0.01` or `1%`.
pub fn parse_share(text: &str) -> Result<f64, InvalidQuantity> {
    let share = percent(text).or_else(|| text.trim().parse().ok());
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| InvalidQuantity {
            message: "not a share".to_owned(),
            allowed: "0..=1, or a percentage such as \"50%\"".to_owned(),
        })
}

/// Parses a percentage such as `50%` into a share. Returns `None` without `%`.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim();
    // Shift the decimal point in the text: 99.9 / 100 is not the closest float to 0.999.
    format!("{number}e-2").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(TIME.parse("20 us"), Ok(20_000_000));
        assert_eq!(TIME.parse("0.3ms"), Ok(300_000_000));
        assert_eq!(TIME.parse(" 1.5 s "), Ok(1_500_000_000_000));
        assert_eq!(SIZE.parse("4 MiB"), Ok(4 << 20));
        assert_eq!(SIZE.parse("2.9 KB"), Ok(2_900));
        assert_eq!(RATE.parse("2.5 Gbps"), Ok(2_500_000_000));
        assert_eq!(PACKETS.parse("1 packet"), Ok(1));
        assert_eq!(FREQUENCY.parse("0.5 /s"), Ok(500));
        assert_eq!(SIZE.parse("1_000 B"), Ok(1_000));
    }

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!(parse_share("0.25"), Ok(0.25));
        assert_eq!(parse_share(" 99.9 %"), Ok(0.999));
        for wrong in ["", "%", "-1%", "101%", "1.5", "NaN", "half"] {
            assert_eq!(parse_share(wrong).unwrap_err().message, "not a share");
        }
    }

    #[test]
    fn error_messages() {
        let message = |units: &Units, text| units.parse(text).unwrap_err().message;
        assert_eq!(message(&TIME, "20"), "the unit of this time is missing");
        assert_eq!(message(&TIME, "20 sec"), "`sec` is not a unit of a time");
        assert_eq!(
            message(&SIZE, "10 kb"),
            "`kb` is not a unit of a size; did you mean `KB`?"
        );
        assert_eq!(message(&SIZE, "-1 KB"), "a size cannot be negative");
        assert_eq!(message(&TIME, "NaN ms"), "not a finite number");
        assert_eq!(message(&TIME, "inf s"), "not a finite number");
        assert_eq!(message(&RATE, "1..2 Gbps"), "`1..2` is not a number");
        assert_eq!(message(&TIME, "soon"), "a time starts with a number");
        assert!(message(&TIME, "99999999999999999999999 s").contains("larger"));
    }
}
