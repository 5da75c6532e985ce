//! Numbers with units, formatted for people.

use duetime_results::Estimate;
use duetime_results::summary::NamedLink;
pub use duetime_results::text::{list, percent, percent_near};

/// Formats an estimate as its value and its interval in brackets: `950 Mbps`, `[912, 983]`. An interval of no width is
/// omitted. Both ends have the value's unit; if the value is zero, they have the unit of the larger end, which is then
/// printed. With two or three runs the interval is only their range, so the number of runs is added: `[912, 983] from 2
/// seeds`.
pub fn estimate(estimate: &Estimate, show: impl Fn(f64) -> String) -> (String, Option<String>) {
    let value = show(estimate.value);
    let range = estimate.interval.filter(|range| range.low < range.high);
    let range = range.map(|range| {
        let furthest = range.low.abs().max(range.high.abs());
        let like = if estimate.value == 0.0 {
            show(furthest)
        } else {
            value.clone()
        };
        let unit = unit(&like);
        let shown_unit = if estimate.value == 0.0 && unit != self::unit(&value) {
            unit
        } else {
            ""
        };
        let ends = [range.low, range.high].map(|end| number_in(unit, &show(end)));
        let few = if range.has_few_runs() {
            format!(" from {} seeds", range.runs)
        } else {
            String::new()
        };
        let text = format!("[{}] {shown_unit}", ends.join(", "));
        format!("{}{few}", text.trim_end())
    });
    (value, range)
}

/// Formats an estimate and its interval in one text: `950 Mbps [912, 983]`.
pub fn with_interval(value: &Estimate, show: impl Fn(f64) -> String) -> String {
    let (value, interval) = estimate(value, show);
    [value]
        .into_iter()
        .chain(interval)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
pub fn either(alternatives: &[String]) -> String {
    match alternatives {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Returns a word of a shell command, quoted if necessary.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Formats a share of a total: `92.6 % of 1722`.
pub fn part(share: f64, whole: u64) -> String {
    format!("{} of {}", percent(share), count(whole as f64))
}

/// Families of units that can be converted into each other.
const LADDERS: [&[(&str, f64)]; 4] = [SECONDS, RATE, BYTES, COUNT];
const SECONDS: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
const RATE: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
];
const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];
const COUNT: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

/// Returns the unit of a formatted value.
fn unit(shown: &str) -> &str {
    shown.split_once(' ').map_or("", |(_, unit)| unit)
}

/// Returns the number of a formatted value, converted to `wanted` if the units are of the same family.
fn number_in(wanted: &str, shown: &str) -> String {
    let own = unit(shown);
    let number = shown.strip_suffix(own).unwrap_or(shown).trim_end();
    let size = |ladder: &[(&str, f64)], name: &str| {
        let step = ladder.iter().find(|(known, _)| *known == name);
        step.map(|&(_, size)| size)
    };
    let sizes = LADDERS
        .iter()
        .find_map(|ladder| Some((size(ladder, own)?, size(ladder, wanted)?)));
    match (sizes, number.parse::<f64>()) {
        _ if own == wanted => number.to_owned(),
        (Some((own, wanted)), Ok(number)) => significant(number * own / wanted),
        _ => shown.to_owned(),
    }
}

/// Returns the name of a notable link, with the number of runs it was notable in, or an empty string for `None`.
pub fn named(link: Option<&NamedLink>, runs: u64) -> String {
    link.map_or_else(String::new, |link| {
        name_with_runs(&link.link, link.runs, runs)
    })
}

/// Returns the name, with the number of runs that it applies to if these are not all `runs`.
pub fn name_with_runs(name: &str, in_runs: u64, runs: u64) -> String {
    if in_runs == runs {
        name.to_owned()
    } else {
        format!("{name} in {in_runs} of {runs} runs")
    }
}

/// Formats a span of simulated time.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => (0.0, "s"),
        s if s.abs() >= 1.0 => (s, "s"),
        s if s.abs() >= 1e-3 => (s * 1e3, "ms"),
        s if s.abs() >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", significant(value))
}

/// Formats a span of wall time.
pub fn wall(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Formats a count in units of k, M, G or T; below 10,000 in full.
pub fn count(value: f64) -> String {
    if value.abs() < 1e4 {
        return significant(value);
    }
    scaled(value, COUNT)
}

/// Formats a rate given in bits per second.
pub fn rate(bps: f64) -> String {
    scaled(bps, RATE)
}

/// Formats an amount of data given in bytes.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, BYTES)
}

/// Formats a value in the largest unit in which it rounds to at least 1: 999.96 Mbps is 1 Gbps. `units` are in
/// ascending order.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |(_, size): &&(&str, f64)| value.abs() >= 0.9995 * *size;
    let (unit, size) = units.iter().rfind(fits).unwrap_or(&units[0]);
    format!("{} {unit}", significant(value / size))
}

/// Formats a number with three significant digits; whole numbers are printed in full.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    // A value that rounds up to the next power of ten is printed with the digits of that power.
    match size {
        _ if size >= 99.95 || size.fract() == 0.0 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.0995 => format!("{value:.2}"),
        _ if size >= 0.000_995 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// Parses values as numbers with a common unit. Returns `None` if a value is not a number or the units differ.
pub fn numbers(values: &[String]) -> Option<(Vec<f64>, String)> {
    let split = |value: &String| {
        let value = value.trim_matches('"').trim();
        let end = value
            .find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)))
            .unwrap_or(value.len());
        Some((
            value[..end].parse::<f64>().ok()?,
            value[end..].trim().to_owned(),
        ))
    };
    let split: Vec<(f64, String)> = values.iter().map(split).collect::<Option<_>>()?;
    let unit = split.first()?.1.clone();
    let same = split.iter().all(|(_, other)| *other == unit);
    same.then(|| (split.into_iter().map(|(number, _)| number).collect(), unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_with_intervals() {
        use duetime_results::Interval;
        let from = |runs, value, low, high| Estimate {
            value,
            interval: Some(Interval { low, high, runs }),
        };
        let of_20 = |value, low, high| from(20, value, low, high);
        let shown = |value: &str, interval: &str| (value.to_owned(), Some(interval.to_owned()));
        assert_eq!(
            estimate(&of_20(0.123, 0.118, 0.129), percent),
            shown("12.3 %", "[11.8, 12.9]")
        );
        assert_eq!(
            estimate(&of_20(9.5e8, 9e8, 1.1e9), rate),
            shown("950 Mbps", "[900, 1100]")
        );
        assert_eq!(
            estimate(&of_20(1.07, 0.128, 2.92), seconds),
            shown("1.07 s", "[0.13, 2.92]")
        );
        assert_eq!(
            estimate(&of_20(-1.84, -3.56, -0.109), seconds),
            shown("-1.84 s", "[-3.56, -0.11]")
        );
        assert_eq!(
            estimate(&of_20(12_000.0, 9_500.0, 1.4e6), count),
            shown("12 k", "[9.50, 1400]")
        );
        assert_eq!(
            estimate(&of_20(0.0, 0.0, 0.0031), seconds),
            shown("0 s", "[0, 3.10] ms")
        );
        assert_eq!(
            estimate(&from(2, 0.123, 0.118, 0.129), percent),
            shown("12.3 %", "[11.8, 12.9] from 2 seeds")
        );
        assert_eq!(
            estimate(&of_20(0.0, 0.0, 0.0), percent),
            ("0 %".to_owned(), None)
        );
        assert_eq!(
            estimate(
                &Estimate {
                    value: 0.5,
                    interval: None
                },
                percent
            ),
            ("50.0 %".to_owned(), None)
        );
    }

    #[test]
    fn formatted_numbers() {
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(1.5), "1.50 s");
        assert_eq!(seconds(2e-6), "2 us");
        assert_eq!(wall(75.2), "75 s");
        assert_eq!(wall(150.0), "2 min 30 s");
        assert_eq!(count(12_345.0), "12.3 k");
        assert_eq!(count(7.0), "7");
        assert_eq!(rate(9.5e8), "950 Mbps");
        assert_eq!(rate(1e12), "1 Tbps");
        assert_eq!(bytes(2.5e12), "2.50 TB");
        assert_eq!(significant(99.97), "100");
        assert_eq!(significant(9.996), "10.0");
        assert_eq!(significant(-12.34), "-12.3");
        assert_eq!(significant(0.0021), "0.002");
        assert_eq!(significant(0.00021), "2.1e-4");
    }

    #[test]
    fn parses_values_of_one_unit() {
        let values = |texts: &[&str]| {
            numbers(
                &texts
                    .iter()
                    .map(|&text| text.to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(values(&["5", "10"]), Some((vec![5.0, 10.0], String::new())));
        assert_eq!(
            values(&["20 ms", "\"30 ms\""]),
            Some((vec![20.0, 30.0], "ms".to_owned()))
        );
        assert_eq!(values(&["20 ms", "30 us"]), None);
        assert_eq!(values(&["web-search", "hadoop"]), None);
    }
}
