//! Piecewise-linear CDFs of flow sizes: the published ones, files, and points in the scenario itself.
//!
//! A CDF is a list of (size, probability). It starts at probability 0 (a first point above 0 is an atom at its size),
//! neither column falls, and it ends at 1. Two points of equal size are a jump; sizes between points are linear.

use crate::diagnostic::Diagnostic;
use crate::keys::FLOW_SIZE;
use crate::model::Size;
use crate::place::Place;
use crate::sources::Sources;
use crate::text::{decode, unquoted};
use crate::words::quoted;

type Result<T> = std::result::Result<T, Diagnostic>;

/// The published distributions by name. Each file names its source.
pub const PUBLISHED: &[(&str, &str)] = &[
    ("web-search", include_str!("../data/web-search.csv")),
    (
        "web-search-packets",
        include_str!("../data/web-search-packets.csv"),
    ),
    ("data-mining", include_str!("../data/data-mining.csv")),
    (
        "data-mining-packets",
        include_str!("../data/data-mining-packets.csv"),
    ),
    ("hadoop", include_str!("../data/hadoop.csv")),
    ("storage", include_str!("../data/storage.csv")),
];

/// A published distribution, named in the scenario at `place`.
pub(crate) fn published(place: &Place<'_>, name: &str) -> Result<Size> {
    let names: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
    let (name, text) = PUBLISHED[place.one_of(name, &names, "no such distribution")?];
    Ok(Size::Cdf {
        name: name.to_owned(),
        points: parse(text, name)?,
    })
}

/// What `cdf` names at `place`: a published distribution, or else a file.
pub(crate) fn named(place: &Place<'_>, name: &str, sources: &dyn Sources) -> Result<Size> {
    let names = PUBLISHED.iter().map(|(name, _)| *name);
    if names.clone().any(|published| published == name) {
        return published(place, name);
    }
    let file = sources.shown(name);
    let bytes = sources.read_bytes(name).map_err(|why| {
        let error = place.wrong(format!("cannot be read: {why}"));
        let published: Vec<&str> = names.clone().collect();
        let allowed = format!(
            "a CSV file, seen from the scenario, or one of {}",
            quoted(&published)
        );
        error.allowed(allowed).suggest(name, names, '"')
    })?;
    let text = decode(bytes, &file)?;
    Ok(Size::Cdf {
        name: name.to_owned(),
        points: parse(&text, &file)?,
    })
}

/// Points written in the scenario: `[["10 KB", 0.15], …]`.
pub(crate) fn inline(place: &Place<'_>) -> Result<Size> {
    let mut points = Points::default();
    for pair in place.array()? {
        let allowed = "a pair of size and probability, such as [\"10 KB\", 0.15]";
        let items = pair.array()?;
        let [size, probability] = &items[..] else {
            return pair.refuse("not a pair", allowed);
        };
        let bytes = size.size(0, FLOW_SIZE.1)?.0 as f64;
        let value = probability.number(0.0, 1.0)?;
        points
            .push(bytes, value)
            .map_err(|wrong| pair.wrong(wrong.message).allowed(wrong.allowed))?;
    }
    let points = points
        .finish()
        .map_err(|wrong| place.wrong(wrong.message).allowed(wrong.allowed))?;
    Ok(Size::Cdf {
        name: "points".to_owned(),
        points,
    })
}

/// The points of a CDF file, in bytes.
fn parse(text: &str, file: &str) -> Result<Vec<(f64, f64)>> {
    let mut points = Points::default();
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
        // A spreadsheet puts quotes around a comment too.
        if let Some(comment) = unquoted(line).strip_prefix('#') {
            if let Some(name) = comment.trim().strip_prefix("unit:") {
                unit = Some(bytes_in(name.trim()).ok_or_else(|| wrong("not a known unit", UNITS))?);
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let columns = "two numbers: size,probability";
        let (size, probability) = line
            .split_once(',')
            .map(|(size, probability)| (unquoted(size), unquoted(probability)))
            .ok_or_else(|| wrong("not a point of a CDF", columns))?;
        if (size, probability) == ("size", "probability") {
            continue;
        }
        let number = |text: &str| text.parse::<f64>().ok();
        let (Some(size), Some(probability)) = (number(size), number(probability)) else {
            return Err(wrong("not a point of a CDF", columns));
        };
        let unit = unit.ok_or_else(|| {
            wrong(
                "the unit of the sizes is not given before the first point",
                UNITS,
            )
        })?;
        points
            .push(size * unit, probability)
            .map_err(|error| wrong(&error.message, error.allowed))?;
        last = span;
    }
    points
        .finish()
        .map_err(|error| Diagnostic::at(file, text, last, error.message).allowed(error.allowed))
}

const UNITS: &str = "a line `# unit: bytes`, `# unit: KB` or `# unit: packets of 1460 bytes`";

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

/// Points being collected, checked one by one.
#[derive(Default)]
struct Points(Vec<(f64, f64)>);

struct Wrong {
    message: String,
    allowed: &'static str,
}

impl Points {
    fn push(&mut self, size: f64, probability: f64) -> std::result::Result<(), Wrong> {
        let wrong = |message: String, allowed| Err(Wrong { message, allowed });
        if !size.is_finite() || !probability.is_finite() {
            return wrong("not a finite number".to_owned(), "numbers");
        }
        if !(0.0..=1.0).contains(&probability) {
            return wrong(
                format!("probability {probability} is out of range"),
                "0 to 1, rising",
            );
        }
        if !(0.0..=FLOW_SIZE.1 as f64).contains(&size) {
            return wrong(format!("size {size} B is out of range"), "0 B to 1000 GB");
        }
        if let Some(&(before, reached)) = self.0.last() {
            if size < before {
                return wrong(
                    format!("sizes are not sorted: {size} B after {before} B"),
                    "sizes that rise",
                );
            }
            if probability < reached {
                return wrong(
                    format!("the probability falls from {reached} to {probability}"),
                    "probabilities that rise to 1",
                );
            }
        } else if probability > 0.0 {
            self.0.push((size, 0.0));
        }
        self.0.push((size, probability));
        Ok(())
    }

    fn finish(self) -> std::result::Result<Vec<(f64, f64)>, Wrong> {
        let wrong = |message: String, allowed| Err(Wrong { message, allowed });
        match self.0.last() {
            None => wrong(
                "a CDF without points".to_owned(),
                "points that rise to probability 1",
            ),
            Some(&(_, reached)) if reached < 1.0 => wrong(
                format!("the CDF ends at {reached}"),
                "a last point with probability 1",
            ),
            Some(&(0.0, _)) => wrong("all sizes are zero".to_owned(), "sizes of at least 1 B"),
            _ => Ok(self.0),
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
    fn the_published_distributions_have_their_published_means() {
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
            let found = mean(&parse(text, name).unwrap());
            assert!(
                (found / expected - 1.0).abs() < 1e-3,
                "{name}: {found}, expected {expected}"
            );
        }
    }

    #[test]
    fn a_first_point_above_zero_is_an_atom() {
        let points = parse("# unit: KB\n2,0.5\n4,1\n", "f").unwrap();
        assert_eq!(points, [(2_000.0, 0.0), (2_000.0, 0.5), (4_000.0, 1.0)]);
    }
}
