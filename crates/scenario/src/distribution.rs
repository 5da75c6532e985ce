//! Random quantities as they are written: gaps, deadlines and flow sizes.

use crate::cdf;
use crate::diagnostic::Diagnostic;
use crate::document::Value;
use crate::keys::{ANY_TIME, DEADLINES, FLOW_SIZE, SIZES, SOME_TIME};
use crate::model::{Deadline, Gap, Size};
use crate::place::Place;
use crate::quantity::{SIZE, TIME, percent};
use crate::sources::Sources;
use crate::table::Reader;
use duetime_core::{Bytes, Span};

type Result<T> = std::result::Result<T, Diagnostic>;

pub(crate) const SIZE_FORMS: &str = "\"10 KB\", \"uniform 2 KB..50 KB\", \"web-search\", \"web-search-packets\", \"data-mining\", \"data-mining-packets\", \"hadoop\", \"storage\", { cdf = \"file.csv\" }, { points = [[\"1 KB\", 0], [\"10 KB\", 1]] }";
pub(crate) const DEADLINE_FORMS: &str = "\"30 ms\", \"none\", { base = \"35 ms\", variation = \"uniform 50%\" }, { mean = \"30 ms\", floor = \"5 ms\" }";
const VARIATIONS: &str =
    "\"none\", \"uniform 50%\", \"around 10%\", \"exponential\", \"exponential 5 ms\"";
const GAPS: &str = "\"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\"";

/// A gap; `zero` says whether it may be nothing.
pub(crate) fn gap(place: &Place<'_>, zero: bool) -> Result<Gap> {
    let range = if zero { ANY_TIME } else { SOME_TIME };
    let text = place.str("a time", GAPS)?.trim();
    let time = |text: &str| place.part(text, &TIME, range).map(Span::from_ps);
    if let Some(mean) = text.strip_prefix("exponential") {
        return Ok(Gap::Exponential(time(mean)?));
    }
    if let Some(bounds) = text.strip_prefix("uniform") {
        let (low, high) = two(place, bounds, GAPS)?;
        let (low, high) = (time(low)?, time(high)?);
        ordered(place, low, high)?;
        return Ok(Gap::Uniform(low, high));
    }
    time(text).map(Gap::Fixed)
}

/// A distribution of flow sizes.
pub(crate) fn size(place: &Place<'_>, sources: &dyn Sources) -> Result<Size> {
    if place.node.table().is_some() {
        return size_table(place, sources);
    }
    let text = place.str("a size", SIZE_FORMS)?.trim();
    if let Some(bounds) = text.strip_prefix("uniform") {
        let (low, high) = two(place, bounds, SIZE_FORMS)?;
        let bytes = |text: &str| place.part(text, &SIZE, FLOW_SIZE).map(Bytes);
        let (low, high) = (bytes(low)?, bytes(high)?);
        ordered(place, low, high)?;
        return Ok(Size::Uniform(low, high));
    }
    if text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.to_lowercase().starts_with("nan")
    {
        return cdf::published(place, text);
    }
    place
        .part(text, &SIZE, FLOW_SIZE)
        .map(|bytes| Size::Fixed(Bytes(bytes)))
}

fn size_table(place: &Place<'_>, sources: &dyn Sources) -> Result<Size> {
    let reader = Reader::open(place.clone(), &SIZES)?;
    match (reader.get("cdf"), reader.get("points")) {
        (Some(file), None) => {
            let name = file.str(
                "the name of a file",
                "the name of a CSV file, seen from the scenario",
            )?;
            if name.contains('.') {
                cdf::file(&file, name, sources)
            } else {
                cdf::published(&file, name)
            }
        }
        (None, Some(points)) => cdf::inline(&points),
        _ => Err(place
            .wrong("give either `cdf` or `points`")
            .allowed(SIZE_FORMS)),
    }
}

/// A distribution of deadlines.
pub(crate) fn deadline(place: &Place<'_>) -> Result<Deadline> {
    let all = deadlines(place)?;
    match all[..] {
        [one] => Ok(one),
        _ => Err(place
            .wrong("only an `oldi` workload has a list of deadlines")
            .allowed(DEADLINE_FORMS)),
    }
}

/// Deadlines, one entry per application: a list, or a table whose `base` is a list.
pub(crate) fn deadlines(place: &Place<'_>) -> Result<Vec<Deadline>> {
    match &place.node.value {
        Value::Array(items) if items.is_empty() => {
            Err(place.wrong("an empty list").allowed(DEADLINE_FORMS))
        }
        Value::Array(items) => items
            .iter()
            .map(|item| deadline(&place.element(item)))
            .collect(),
        Value::Table(_) => deadline_table(place),
        _ => {
            let text = place.str("a deadline", DEADLINE_FORMS)?.trim();
            if text == "none" {
                return Ok(vec![Deadline::None]);
            }
            let base = Span::from_ps(place.part(text, &TIME, SOME_TIME)?);
            Ok(vec![Deadline::Added { base, added: 0.0 }])
        }
    }
}

fn deadline_table(place: &Place<'_>) -> Result<Vec<Deadline>> {
    let reader = Reader::open(place.clone(), &DEADLINES)?;
    let floor = reader.time("floor")?;
    if let Some(mean) = reader.time("mean")? {
        for key in ["base", "variation"] {
            if let Some(other) = reader.get(key) {
                return Err(other
                    .wrong("`mean` stands alone, or with `floor`")
                    .allowed(DEADLINE_FORMS));
            }
        }
        return Ok(vec![Deadline::Exponential {
            mean,
            floor: floor.unwrap_or(Span::ZERO),
        }]);
    }
    if let Some(floor) = reader.get("floor") {
        return Err(floor
            .wrong("`floor` goes with `mean`")
            .allowed(DEADLINE_FORMS));
    }
    let bases = reader.need("base")?.items();
    if bases.is_empty() {
        return Err(reader.missing("base"));
    }
    let variation = reader.get("variation");
    let read = |base: &Place<'_>| {
        let base = base.time(SOME_TIME.0, SOME_TIME.1)?;
        variation
            .as_ref()
            .map_or(Ok(Deadline::Added { base, added: 0.0 }), |v| vary(v, base))
    };
    bases.iter().map(read).collect()
}

fn vary(place: &Place<'_>, base: Span) -> Result<Deadline> {
    let text = place.str("a variation", VARIATIONS)?.trim();
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let share = |most: f64| match percent(rest) {
        Some(share) if (0.0..=most).contains(&share) => Ok(share),
        Some(_) => {
            let error = place.wrong("out of range");
            Err(error.allowed(format!("{word} 0% to {word} {}%", most * 100.0)))
        }
        None => Err(place.wrong("the percentage is missing").allowed(VARIATIONS)),
    };
    match (word, rest.trim()) {
        ("none", "") => Ok(Deadline::Added { base, added: 0.0 }),
        ("uniform", _) => Ok(Deadline::Added {
            base,
            added: share(100.0)?,
        }),
        ("around", _) => Ok(Deadline::Around {
            base,
            variation: share(0.99)?,
        }),
        ("exponential", "") => Ok(Deadline::AddedExponential { base, mean: base }),
        ("exponential", mean) => {
            let mean = Span::from_ps(place.part(mean, &TIME, SOME_TIME)?);
            Ok(Deadline::AddedExponential { base, mean })
        }
        _ => Err(place.wrong("not a variation").allowed(VARIATIONS)),
    }
}

fn two<'t>(place: &Place<'_>, text: &'t str, allowed: &str) -> Result<(&'t str, &'t str)> {
    text.split_once("..")
        .ok_or_else(|| place.wrong("two bounds are needed").allowed(allowed))
}

fn ordered<T: PartialOrd + Copy>(place: &Place<'_>, low: T, high: T) -> Result<()> {
    if low > high {
        return Err(place
            .wrong("the bounds are the wrong way round")
            .allowed("LOW..HIGH"));
    }
    Ok(())
}
