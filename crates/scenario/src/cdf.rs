//! Piecewise-linear CDFs of flow sizes and times: published distributions, files, and points in the scenario.
//!
//! A CDF is a list of (value, probability) in which both columns never fall. It starts at probability 0 (a first point
//! above 0 is an atom) and ends at 1. Two points of equal value are a jump; between points it is linear.

use crate::diagnostic::{Diagnostic, Result};
use crate::expected::quoted;
use crate::keys::{ANY_TIME, FLOW_SIZE};
use crate::model::{Gap, Size};
use crate::place::Place;
use crate::published::{MEASURED, PUBLISHED};
use crate::quantity::{TIME, whole};
use crate::sources::Sources;
use crate::text::{decode, unquoted};

/// Quantity of a CDF's values, with its messages.
pub(crate) struct Of {
    /// Noun, in singular and plural.
    nouns: [&'static str; 2],
    /// Columns of a file.
    columns: &'static str,
    /// Multiplier from a file's unit to the base unit (bytes, picoseconds).
    unit: fn(&str) -> Option<f64>,
    /// Allowed units of a file.
    units: &'static str,
    /// Maximum value, in the base unit.
    max: f64,
    /// Range of values, as text.
    range: &'static str,
    /// Requirement that values rise, as text.
    rising: &'static str,
    /// Requirement that values are not all zero, as text.
    some: &'static str,
    /// Formats a value.
    show: fn(f64) -> String,
    /// Description of a point in a list of points.
    pair: &'static str,
}

/// Sizes, in bytes.
pub(crate) static SIZES: Of = Of {
    nouns: ["size", "sizes"],
    columns: "two numbers: size,probability",
    unit: bytes_in,
    units: "a line `# unit: bytes`, `# unit: KB` or `# unit: packets of 1460 bytes`",
    max: FLOW_SIZE.1 as f64,
    range: "0 B to 1000 GB",
    rising: "sizes that rise",
    some: "sizes of at least 1 B",
    show: |bytes| format!("{bytes} B"),
    pair: "a pair of size and probability, such as [\"10 KB\", 0.15]",
};

/// Times, in picoseconds.
pub(crate) static TIMES: Of = Of {
    nouns: ["time", "times"],
    columns: "two numbers: time,probability",
    unit: ps_in,
    units: "a line `# unit: us`, or another of ps, ns, us, ms, s, min, h",
    max: ANY_TIME.1 as f64,
    range: "0 us to 1 h",
    rising: "times that rise",
    some: "times above 0",
    show: |ps| match ps {
        ..0.0 => format!("{} us", ps / 1e6),
        _ => (TIME.show)(whole(ps)),
    },
    pair: "a pair of time and probability, such as [\"2 ms\", 0.5]",
};

/// Returns the measured distribution of times of that name, or `None` if there is none.
pub(crate) fn measured(name: &str) -> Option<Result<Gap>> {
    let (name, text) = MEASURED.iter().find(|(measured, _)| *measured == name)?;
    Some(parse(text, name, &TIMES).map(|points| Gap::Cdf {
        name: (*name).to_owned(),
        points,
    }))
}

/// Returns the published distribution of that name. Errors point at `place`.
pub(crate) fn published(place: &Place<'_>, name: &str) -> Result<Size> {
    let names: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
    let (name, text) = PUBLISHED[place.one_of(name, &names, "no such distribution")?];
    Ok(Size::Cdf {
        name: name.to_owned(),
        points: parse(text, name, &SIZES)?,
    })
}

/// Returns the published distribution of that name, or else the CDF in the file of that name. Errors point at `place`.
pub(crate) fn named(place: &Place<'_>, name: &str, sources: &dyn Sources) -> Result<Size> {
    let names = PUBLISHED.iter().map(|(name, _)| *name);
    if names.clone().any(|published| published == name) {
        return published(place, name);
    }
    let read = file(name, &SIZES, sources, |why| {
        let error = place.wrong(format!("cannot be read: {why}"));
        let published: Vec<&str> = names.clone().collect();
        let allowed = format!(
            "a CSV file, relative to the scenario, or one of {}",
            quoted(&published)
        );
        error.allowed(allowed).suggest(name, names, '"')
    });
    Ok(Size::Cdf {
        name: name.to_owned(),
        points: read?,
    })
}

/// Reads the points of a file. `unread` returns the error if the file cannot be read.
pub(crate) fn file(
    name: &str,
    of: &Of,
    sources: &dyn Sources,
    unread: impl FnOnce(String) -> Diagnostic,
) -> Result<Vec<(f64, f64)>> {
    let file = sources.shown(name);
    let text = decode(sources.read_bytes(name).map_err(unread)?, &file)?;
    parse(&text, &file, of)
}

/// Reads points in the scenario, such as `[["10 KB", 0.15], …]`. `read` reads a value.
pub(crate) fn inline(
    place: &Place<'_>,
    of: &'static Of,
    read: impl Fn(&Place<'_>) -> Result<f64>,
) -> Result<Vec<(f64, f64)>> {
    let mut points = Points::of(of);
    for pair in place.array()? {
        let items = pair.array()?;
        let [value, probability] = &items[..] else {
            return pair.refuse("not a pair", of.pair);
        };
        let base = read(value)?;
        let share = probability.number(0.0, 1.0)?;
        points
            .push(base, share)
            .map_err(|wrong| pair.wrong(wrong.message).allowed(wrong.allowed))?;
    }
    points
        .finish()
        .map_err(|wrong| place.wrong(wrong.message).allowed(wrong.allowed))
}

/// Parses the points of a CDF file, in the base unit.
fn parse(text: &str, file: &str, of: &Of) -> Result<Vec<(f64, f64)>> {
    let mut points = Points::of(of);
    let mut unit: Option<f64> = None;
    let mut last = 0..0;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        let wrong = |message: &str, allowed: &str| {
            Diagnostic::at(file, text, span.clone(), message).allowed(allowed)
        };
        // Spreadsheets also quote comments.
        if let Some(comment) = unquoted(line).strip_prefix('#') {
            if let Some(name) = comment.trim().strip_prefix("unit:") {
                let known = (of.unit)(name.trim());
                unit = Some(known.ok_or_else(|| wrong("not a known unit", of.units))?);
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let (value, probability) = line
            .split_once(',')
            .map(|(value, probability)| (unquoted(value), unquoted(probability)))
            .ok_or_else(|| wrong("not a point of a CDF", of.columns))?;
        if (value, probability) == (of.nouns[0], "probability") {
            continue;
        }
        let number = |text: &str| text.parse::<f64>().ok();
        let (Some(value), Some(probability)) = (number(value), number(probability)) else {
            return Err(wrong("not a point of a CDF", of.columns));
        };
        let unit = unit.ok_or_else(|| {
            let message = format!(
                "the unit of the {} is not given before the first point",
                of.nouns[1]
            );
            wrong(&message, of.units)
        })?;
        points
            .push(value * unit, probability)
            .map_err(|error| wrong(&error.message, error.allowed))?;
        last = span;
    }
    points
        .finish()
        .map_err(|error| Diagnostic::at(file, text, last, error.message).allowed(error.allowed))
}

fn bytes_in(unit: &str) -> Option<f64> {
    match unit {
        "bytes" => Some(1.0),
        "KB" => Some(1_000.0),
        _ => {
            let size: f64 = unit
                .strip_prefix("packets of ")?
                .strip_suffix(" bytes")?
                .trim()
                .parse()
                .ok()?;
            (1.0..=65_536.0).contains(&size).then_some(size)
        }
    }
}

fn ps_in(unit: &str) -> Option<f64> {
    let (_, ps) = TIME.names.iter().find(|(name, _)| *name == unit)?;
    Some(*ps as f64)
}

/// Collects points and checks each of them.
struct Points<'o> {
    of: &'o Of,
    list: Vec<(f64, f64)>,
}

struct Wrong {
    message: String,
    allowed: &'static str,
}

impl<'o> Points<'o> {
    fn of(of: &'o Of) -> Self {
        Self {
            of,
            list: Vec::new(),
        }
    }

    fn push(&mut self, value: f64, probability: f64) -> std::result::Result<(), Wrong> {
        let wrong = |message: String, allowed| Err(Wrong { message, allowed });
        let Of {
            nouns: [one, several],
            max,
            range,
            show,
            ..
        } = *self.of;
        if !value.is_finite() || !probability.is_finite() {
            return wrong("not a finite number".to_owned(), "numbers");
        }
        if !(0.0..=1.0).contains(&probability) {
            return wrong(
                format!("probability {probability} is out of range"),
                "0 to 1, rising",
            );
        }
        if !(0.0..=max).contains(&value) {
            return wrong(format!("{one} {} is out of range", show(value)), range);
        }
        if let Some(&(before, reached)) = self.list.last() {
            if value < before {
                let (value, before) = (show(value), show(before));
                return wrong(
                    format!("{several} are not sorted: {value} after {before}"),
                    self.of.rising,
                );
            }
            if probability < reached {
                return wrong(
                    format!("the probability falls from {reached} to {probability}"),
                    "probabilities that rise to 1",
                );
            }
        } else if probability > 0.0 {
            self.list.push((value, 0.0));
        }
        self.list.push((value, probability));
        Ok(())
    }

    fn finish(self) -> std::result::Result<Vec<(f64, f64)>, Wrong> {
        let wrong = |message: String, allowed| Err(Wrong { message, allowed });
        match self.list.last() {
            None => wrong(
                "a CDF without points".to_owned(),
                "points that rise to probability 1",
            ),
            Some(&(_, reached)) if reached < 1.0 => wrong(
                format!("the CDF ends at {reached}"),
                "a last point with probability 1",
            ),
            Some(&(0.0, _)) => {
                let message = format!("all {} are zero", self.of.nouns[1]);
                wrong(message, self.of.some)
            }
            _ => Ok(self.list),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(points: &[(f64, f64)]) -> f64 {
        points
            .windows(2)
            .map(|w| (w[1].1 - w[0].1) * f64::midpoint(w[0].0, w[1].0))
            .sum()
    }

    #[test]
    fn published_means() {
        let means = [
            ("web-search", 1.711e6),
            ("web-search-packets", 1141.0 * 1460.0),
            ("data-mining", 12.66e6),
            ("data-mining-packets", 5117.0 * 1460.0),
            ("hadoop", 120.4e3),
            ("storage", 40.87e3),
        ];
        for ((name, text), (expected_name, expected)) in PUBLISHED.iter().zip(means) {
            assert_eq!(*name, expected_name);
            let found = mean(&parse(text, name, &SIZES).unwrap());
            assert!(
                (found / expected - 1.0).abs() < 1e-3,
                "{name}: {found}, expected {expected}"
            );
        }
    }

    #[test]
    fn first_point_above_zero_is_an_atom() {
        let points = parse("# unit: KB\n2,0.5\n4,1\n", "f", &SIZES).unwrap();
        assert_eq!(points, [(2_000.0, 0.0), (2_000.0, 0.5), (4_000.0, 1.0)]);
    }

    #[test]
    fn units_of_times() {
        let file = "# unit: us\ntime,probability\n2,0.5\n4,1\n";
        let points = parse(file, "f", &TIMES).unwrap();
        assert_eq!(points, [(2e6, 0.0), (2e6, 0.5), (4e6, 1.0)]);
        let error = parse("# unit: KB\n2,1\n", "f", &TIMES).unwrap_err();
        assert!(
            error.to_string().contains("ps, ns, us, ms, s, min, h"),
            "{error}"
        );
    }
}
