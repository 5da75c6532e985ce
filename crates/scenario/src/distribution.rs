//! Random quantities as they are written: gaps, deadlines and flow sizes.

use crate::cdf;
use crate::document::Value;
use crate::keys::Kind::{self, Any, List, Number, OneOrMore, Text, Time};
use crate::keys::{ANY_TIME, FLOW_SIZE, H, SOME_TIME, Table};
use crate::model::{Deadline, Gap, Size};
use crate::options::{Readable, Resolved, Result, keys};
use crate::place::Place;
use crate::quantity::{SIZE, TIME, percent};
use crate::table::Reader;
use duetime_core::{Bytes, Span};
use serde_json::{Value as Json, json};

pub(crate) const SIZE_FORMS: &str = "\"10 KB\", \"uniform 2 KB..50 KB\", \"web-search\", \"web-search-packets\", \"data-mining\", \"data-mining-packets\", \"hadoop\", \"storage\", { cdf = \"file.csv\" }, { points = [[\"1 KB\", 0], [\"10 KB\", 1]] }";
pub(crate) const DEADLINE_FORMS: &str = "\"30 ms\", \"none\", { base = \"35 ms\", variation = \"uniform 50%\" }, { mean = \"30 ms\", floor = \"5 ms\" }";
const VARIATIONS: &str =
    "\"none\", \"uniform 50%\", \"around 10%\", \"exponential\", \"exponential 5 ms\"";
const GAPS: &str = "\"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\"";

/// A table of [`Kind::Sizes`].
pub(crate) static SIZES: Table = Table {
    name: "size",
    doc: "A piecewise-linear CDF of sizes. Give `cdf` or `points`.",
    keys: &[keys! {
        /// A CSV file of `size,probability` with a line `# unit: bytes` (or `packets of 1460 bytes`, `KB`), or the name
        /// of a published distribution.
        cdf: Text, otherwise "none";
        /// Pairs ["10 KB", 0.15] that rise to 1.
        points: List(&List(&Any(&[Kind::Size(0, FLOW_SIZE.1), Number(0.0, 1.0)]))), otherwise "none";
    }],
};

/// A table of [`Kind::Deadline`].
pub(crate) static DEADLINES: Table = Table {
    name: "deadline",
    doc: "A distribution of deadlines: `base` with or without `variation`, or `mean` with or without `floor`.",
    keys: &[keys! {
        /// The shortest deadline; in `oldi` a list has one entry per application.
        base: OneOrMore(&Time(SOME_TIME.0, SOME_TIME.1)), otherwise "none";
        /// `uniform 50%`: adds U[0, 50 %] of the base. `around 10%`: U[-10 %, 10 %]. `exponential`: adds an exponential
        /// with the base as its mean; `exponential 5 ms`: with that mean.
        variation: Text, default "none";
        /// Mean of an exponential deadline.
        mean: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// Exponential deadlines below this are raised to it.
        floor: Time(0, H), default "0 us";
    }],
};

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

impl Readable for Gap {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        gap(place, false)
    }
}

impl Resolved for Gap {
    fn resolved(&self) -> Json {
        match self {
            Self::Fixed(span) => json!({ "fixed_ps": span.as_ps() }),
            Self::Uniform(low, high) => json!({ "uniform_ps": [low.as_ps(), high.as_ps()] }),
            Self::Exponential(mean) => json!({ "exponential_ps": mean.as_ps() }),
        }
    }
}

impl Readable for Size {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        if place.node.table().is_some() {
            size_table(place)
        } else {
            size(place)
        }
    }
}

impl Resolved for Size {
    fn resolved(&self) -> Json {
        match self {
            Self::Fixed(bytes) => json!({ "bytes": bytes.0 }),
            Self::Uniform(low, high) => json!({ "uniform_bytes": [low.0, high.0] }),
            Self::Cdf { name, points } => json!({ "cdf": name, "points": points }),
        }
    }
}

fn size(place: &Place<'_>) -> Result<Size> {
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

fn size_table(place: &Place<'_>) -> Result<Size> {
    let reader = Reader::open(place.clone(), &SIZES)?;
    match (reader.get("cdf"), reader.get("points")) {
        (Some(file), None) => {
            let name = file.str(
                "the name of a file",
                "the name of a CSV file, seen from the scenario",
            )?;
            cdf::named(&file, name, place.scope.sources)
        }
        (None, Some(points)) => cdf::inline(&points),
        _ => place.refuse("give either `cdf` or `points`", SIZE_FORMS),
    }
}

impl Readable for Deadline {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        match deadlines(place, kind)?[..] {
            [one] => Ok(one),
            _ => place.refuse(
                "only an `oldi` workload has a list of deadlines",
                DEADLINE_FORMS,
            ),
        }
    }
}

impl Resolved for Deadline {
    fn resolved(&self) -> Json {
        match self {
            Self::None => Json::Null,
            Self::Added { base, added } => json!({ "base_ps": base.as_ps(), "added": added }),
            Self::Around { base, variation } => {
                json!({ "base_ps": base.as_ps(), "around": variation })
            }
            Self::Exponential { mean, floor } => {
                json!({ "mean_ps": mean.as_ps(), "floor_ps": floor.as_ps() })
            }
            Self::AddedExponential { base, mean } => {
                json!({ "base_ps": base.as_ps(), "added_mean_ps": mean.as_ps() })
            }
        }
    }
}

/// Deadlines, one entry per application: a list, or a table whose `base` is a list.
pub(crate) fn deadlines(place: &Place<'_>, kind: &'static Kind) -> Result<Vec<Deadline>> {
    match &place.node.value {
        Value::Array(items) if items.is_empty() => place.refuse("an empty list", DEADLINE_FORMS),
        Value::Array(items) => items
            .iter()
            .map(|item| Readable::read(&place.element(item), kind))
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
    let floor: Option<Span> = reader.value("floor")?;
    if let Some(mean) = reader.value("mean")? {
        for key in ["base", "variation"] {
            if let Some(other) = reader.get(key) {
                return other.refuse("`mean` stands alone, or with `floor`", DEADLINE_FORMS);
            }
        }
        return Ok(vec![Deadline::Exponential {
            mean,
            floor: floor.unwrap_or(Span::ZERO),
        }]);
    }
    if let Some(floor) = reader.get("floor") {
        return floor.refuse("`floor` goes with `mean`", DEADLINE_FORMS);
    }
    let base = reader.get("base");
    let base = base.ok_or_else(|| reader.missing("base").allowed(DEADLINE_FORMS))?;
    let bases = base.items();
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
            let allowed = format!("{word} 0% to {word} {}%", most * 100.0);
            place.refuse("out of range", allowed)
        }
        None => place.refuse("the percentage is missing", VARIATIONS),
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
        _ => place.refuse("not a variation", VARIATIONS),
    }
}

fn two<'t>(place: &Place<'_>, text: &'t str, allowed: &str) -> Result<(&'t str, &'t str)> {
    text.split_once("..")
        .ok_or_else(|| place.wrong("two bounds are needed").allowed(allowed))
}

fn ordered<T: PartialOrd + Copy>(place: &Place<'_>, low: T, high: T) -> Result<()> {
    if low > high {
        return place.refuse("the bounds are the wrong way round", "LOW..HIGH");
    }
    Ok(())
}
