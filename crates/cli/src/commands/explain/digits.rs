//! Formatting of spans with five significant digits, and of parts that add up to the printed total.

use duetime_core::Span;

/// Parts below this share of the total are combined in one row.
const MIN_SHARE: f64 = 0.01;
/// Maximum number of parts with separate rows.
const MAX_ROWS: usize = 12;

/// Unit and number of decimals that show five digits of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    unit: &'static str,
    decimals: usize,
    /// Value of the last digit in picoseconds.
    last: u64,
}

impl Digits {
    /// Returns the format for spans up to `whole`.
    pub fn of(whole: Span) -> Self {
        let units = [("s", 12), ("ms", 9), ("us", 6), ("ns", 3)];
        let size = whole.as_ps().max(1).ilog10();
        let (unit, power) = units
            .into_iter()
            .find(|&(_, power)| size >= power)
            .unwrap_or(("ns", 3));
        let last = size.saturating_sub(4).min(power);
        Self {
            unit,
            decimals: (power - last) as usize,
            last: 10_u64.pow(last),
        }
    }

    /// Formats a span, rounded.
    pub fn show(self, span: Span) -> String {
        self.text((span.as_ps() + self.last / 2) / self.last)
    }

    /// Formats the parts of `whole`, rounded up or down so that the printed values add up to the printed `whole`.
    pub fn parts(self, whole: Span, parts: &[Span]) -> Vec<String> {
        let mut counts: Vec<u64> = parts.iter().map(|part| part.as_ps() / self.last).collect();
        let target = (whole.as_ps() + self.last / 2) / self.last;
        let missing = target.saturating_sub(counts.iter().sum());
        let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
        by_remainder.sort_by_key(|&index| std::cmp::Reverse(parts[index].as_ps() % self.last));
        for &index in by_remainder
            .iter()
            .take(usize::try_from(missing).unwrap_or(usize::MAX))
        {
            counts[index] += 1;
        }
        counts.into_iter().map(|count| self.text(count)).collect()
    }

    fn text(self, count: u64) -> String {
        let tens = 10_u64.pow(u32::try_from(self.decimals).unwrap_or(0));
        let (whole, rest) = (count / tens, count % tens);
        match self.decimals {
            0 => format!("{whole} {}", self.unit),
            decimals => format!("{whole}.{rest:0decimals$} {}", self.unit),
        }
    }
}

/// Returns the number of parts, in descending order, that get separate rows. The remaining parts share a row.
pub fn separate_rows(whole: Span, parts: &[Span]) -> usize {
    let minimum = whole.as_secs_f64() * MIN_SHARE;
    let large = parts.partition_point(|part| part.as_secs_f64() >= minimum);
    // A single small part keeps its name, since a combined row would be as long.
    match large {
        _ if large + 1 == parts.len() && large < MAX_ROWS => parts.len(),
        _ => large.min(MAX_ROWS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ps: u64) -> String {
        Digits::of(Span::from_ps(ps)).show(Span::from_ps(ps))
    }

    #[test]
    fn spans_have_five_digits() {
        assert_eq!(shown(12_345_678_901), "12.346 ms");
        assert_eq!(shown(7_312_400_001), "7.3124 ms");
        assert_eq!(shown(40_000_000), "40.000 us");
        assert_eq!(shown(1_234_567_890_123), "1.2346 s");
        assert_eq!(shown(123_456_000_000_000), "123.46 s");
        assert_eq!(shown(320_000), "320.00 ns");
        assert_eq!(shown(7), "0.007 ns");
        assert_eq!(shown(0), "0.000 ns");
    }

    #[test]
    fn printed_parts_add_up() {
        // Nine of 1111.1 us and one of 0.1 us are 10 ms, printed to the microsecond.
        let mut parts = vec![Span::from_ps(1_111_100_000); 9];
        parts.push(Span::from_ps(100_000));
        let whole = parts.iter().fold(Span::ZERO, |sum, &part| sum + part);
        let digits = Digits::of(whole);
        assert_eq!(digits.show(whole), "10.000 ms");
        let printed = digits.parts(whole, &parts);
        let sum: f64 = printed
            .iter()
            .map(|text| text.strip_suffix(" ms").unwrap().parse::<f64>().unwrap())
            .sum();
        assert!((sum - 10.0).abs() < 1e-9, "{printed:?}");
        assert_eq!(printed.last().unwrap(), "0.000 ms");
        assert!(
            printed[..9]
                .iter()
                .all(|part| part == "1.111 ms" || part == "1.112 ms")
        );
    }

    #[test]
    fn small_parts_share_a_row() {
        let us = |list: &[u64]| list.iter().map(|&us| Span::from_us(us)).collect::<Vec<_>>();
        let whole = Span::from_us(1_000);
        assert_eq!(separate_rows(whole, &us(&[990, 4, 3, 3])), 1);
        assert_eq!(
            separate_rows(whole, &us(&[980, 16, 4])),
            3,
            "a single small part is named"
        );
        assert_eq!(separate_rows(whole, &us(&[50; 20])), 12, "at most 12 rows");
        assert_eq!(separate_rows(whole, &us(&[500, 500])), 2);
        assert_eq!(separate_rows(Span::ZERO, &[]), 0);
    }
}
