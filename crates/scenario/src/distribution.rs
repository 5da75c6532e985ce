//! Random quantities of a scenario: gaps, deadlines and flow sizes.

use crate::cdf;
use crate::diagnostic::Result;
use crate::document::Value;
use crate::keys::Kind::{self, Any, List, Number, OneOrMore, Text, Time};
use crate::keys::{ANY_TIME, FLOW_SIZE, H, SOME_TIME, declare};
use crate::model::{Deadline, Gap, Size};
use crate::place::Place;
use crate::quantity::{SIZE, TIME, percent, whole};
use crate::table::Reader;
use crate::values::{Readable, Resolved};
use duetime_core::{Bytes, Span};
use serde_json::{Value as Json, json};

const VARIATIONS: &str =
    "\"none\", \"uniform 50%\", \"around 10%\", \"exponential\", \"exponential 5 ms\"";

declare! {
    /// Piecewise-linear CDF of sizes. Requires `cdf` or `points`.
    pub(crate) static SIZES: "size" {
        /// CSV file of `size,probability` with a line `# unit: bytes` (or `packets of 1460 bytes`, `KB`), or the name
        /// of a published distribution.
        cdf: Text, otherwise "none";
        /// Pairs such as ["10 KB", 0.15], rising to probability 1.
        points: List(&List(&Any(&[Kind::Size(0, FLOW_SIZE.1), Number(0.0, 1.0)]))), otherwise "none";
    }

    /// Distribution of deadlines: `base`, optionally with `variation`; or `mean`, optionally with `floor`.
    pub(crate) static DEADLINES: "deadline" {
        /// Base deadline. In `oldi`, a list has one entry per application.
        base: OneOrMore(&Time(SOME_TIME.0, SOME_TIME.1)), otherwise "none";
        /// `uniform 50%`: adds U[0, 50 %] of the base. `around 10%`: adds U[-10 %, 10 %]. `exponential`: adds an
        /// exponential time with the base as mean; `exponential 5 ms`: with that mean.
        variation: Text, default "none";
        /// Mean of an exponential deadline.
        mean: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// Minimum of an exponential deadline.
        floor: Time(0, H), default "0 us";
    }

    /// Distribution of times: lognormal (`median` or `mean`, and `sigma`), Pareto (`min`, `shape`, optionally `cap`),
    /// or a piecewise-linear CDF (`cdf` or `points`). Draws are at most 24 h.
    pub(crate) static TIMES: "time" {
        /// Lognormal: median.
        median: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// Lognormal: mean, instead of the median, which is the mean times exp(-sigma²/2).
        mean: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// Lognormal: standard deviation of the natural logarithm.
        sigma: Number(SIGMA.0, SIGMA.1), otherwise "none";
        /// Pareto: minimum m. A time exceeds t with probability (m/t)^shape.
        min: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// Pareto: tail exponent. A value of 1 or less has no mean and requires `cap`.
        shape: Number(SHAPE.0, SHAPE.1), otherwise "none";
        /// Pareto: maximum; longer draws are reduced to it.
        cap: Time(SOME_TIME.0, SOME_TIME.1), otherwise "none";
        /// CSV file of `time,probability` with a line `# unit: us` (or ps, ns, ms, s, min, h).
        cdf: Text, otherwise "none";
        /// Pairs such as ["2 ms", 0.5], rising to probability 1.
        points: List(&List(&Any(&[Time(ANY_TIME.0, ANY_TIME.1), Number(0.0, 1.0)]))), otherwise "none";
    }
}

/// Range of `sigma`.
const SIGMA: (f64, f64) = (0.001, 4.0);
/// Range of `shape`.
const SHAPE: (f64, f64) = (0.1, 100.0);

/// Reads a random time, which may be zero if `zero`.
pub(crate) fn gap(place: &Place<'_>, zero: bool) -> Result<Gap> {
    if place.node.table().is_some() {
        return gap_table(place);
    }
    let range = if zero { ANY_TIME } else { SOME_TIME };
    let text = place.str("a time", &Kind::Gap)?.trim();
    if let Some(measured) = cdf::measured(text) {
        return measured;
    }
    let time = |text: &str| place.part(text, &TIME, range).map(Span::from_ps);
    if let Some(mean) = text.strip_prefix("exponential") {
        return Ok(Gap::Exponential(time(mean)?));
    }
    if let Some(bounds) = text.strip_prefix("uniform") {
        let (low, high) = two(place, bounds, &Kind::Gap)?;
        let (low, high) = (time(low)?, time(high)?);
        ordered(place, low, high)?;
        return Ok(Gap::Uniform(low, high));
    }
    time(text).map(Gap::Fixed)
}

/// Reads a random time that may be zero.
pub(crate) fn delay(reader: &Reader<'_>, key: &'static str) -> Result<Gap> {
    reader.read(key, None, |place, _| gap(place, true))
}

fn gap_table(place: &Place<'_>) -> Result<Gap> {
    let reader = Reader::open(place.clone(), &TIMES)?;
    let given: Vec<&str> = (TIMES.all().map(|key| key.name))
        .filter(|key| reader.find(key).is_some())
        .collect();
    match given[..] {
        ["median" | "mean", "sigma"] => lognormal(&reader),
        ["min", "shape"] | ["min", "shape", "cap"] => pareto(&reader),
        ["cdf"] => {
            let file = reader.need("cdf")?;
            let allowed = "the name of a CSV file, relative to the scenario";
            let name = file.str("the name of a file", allowed)?;
            let unread = |why| {
                file.wrong(format!("cannot be read: {why}"))
                    .allowed(allowed)
            };
            Ok(Gap::Cdf {
                name: name.to_owned(),
                points: cdf::file(name, &cdf::TIMES, place.scope.sources, unread)?,
            })
        }
        ["points"] => {
            let read = |time: &Place<'_>| Ok(time.time(ANY_TIME.0, ANY_TIME.1)?.as_ps() as f64);
            Ok(Gap::Cdf {
                name: "points".to_owned(),
                points: cdf::inline(&reader.need("points")?, &cdf::TIMES, read)?,
            })
        }
        _ => place.refuse("not the keys of one distribution", &Kind::Gap),
    }
}

fn lognormal(reader: &Reader<'_>) -> Result<Gap> {
    let sigma: Option<f64> = reader.value("sigma")?;
    let sigma = sigma.ok_or_else(|| reader.missing("sigma"))?;
    let mean: Option<Span> = reader.value("mean")?;
    let median: Option<Span> = reader.value("median")?;
    let of_mean = |mean: Span| {
        let ps = mean.as_ps() as f64 * libm::exp(-sigma * sigma / 2.0);
        Span::from_ps(whole(ps).max(1))
    };
    let median = median.or(mean.map(of_mean));
    Ok(Gap::LogNormal {
        median: median.ok_or_else(|| reader.missing("median"))?,
        sigma,
    })
}

fn pareto(reader: &Reader<'_>) -> Result<Gap> {
    let (least, shape): (Option<Span>, Option<f64>) =
        (reader.value("min")?, reader.value("shape")?);
    let least = least.ok_or_else(|| reader.missing("min"))?;
    let shape = shape.ok_or_else(|| reader.missing("shape"))?;
    let most: Option<Span> = reader.value("cap")?;
    if let Some(most) = most.filter(|most| *most < least) {
        let message = format!("{most} is below the shortest time, {least}");
        return reader
            .need("cap")?
            .refuse(message, format!("at least `min`: {least}"));
    }
    if most.is_none() && shape <= 1.0 {
        let message = "such a distribution has no mean";
        return reader.need("shape")?.refuse(message, "above 1, or a `cap`");
    }
    Ok(Gap::Pareto { least, shape, most })
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
            Self::LogNormal { median, sigma } => {
                json!({ "lognormal_median_ps": median.as_ps(), "sigma": sigma })
            }
            Self::Pareto { least, shape, most } => json!({
                "pareto_min_ps": least.as_ps(), "shape": shape, "cap_ps": most.map(Span::as_ps),
            }),
            Self::Cdf { name, points } => json!({ "cdf": name, "points_ps": points }),
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
    let text = place.str("a size", &Kind::Sizes)?.trim();
    if let Some(bounds) = text.strip_prefix("uniform") {
        let (low, high) = two(place, bounds, &Kind::Sizes)?;
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
                "the name of a CSV file, relative to the scenario",
            )?;
            cdf::named(&file, name, place.scope.sources)
        }
        (None, Some(points)) => {
            let read = |size: &Place<'_>| Ok(size.size(0, FLOW_SIZE.1)?.0 as f64);
            Ok(Size::Cdf {
                name: "points".to_owned(),
                points: cdf::inline(&points, &cdf::SIZES, read)?,
            })
        }
        _ => place.refuse("either `cdf` or `points` is required", &Kind::Sizes),
    }
}

impl Readable for Deadline {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        match deadlines(place, kind)?[..] {
            [one] => Ok(one),
            _ => place.refuse(
                "only an `oldi` workload has a list of deadlines",
                &Kind::Deadline,
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

/// Reads deadlines, one entry per application: a list, or a table whose `base` is a list.
pub(crate) fn deadlines(place: &Place<'_>, kind: &'static Kind) -> Result<Vec<Deadline>> {
    match &place.node.value {
        Value::Array(items) if items.is_empty() => place.refuse("an empty list", &Kind::Deadline),
        Value::Array(items) => items
            .iter()
            .map(|item| Readable::read(&place.element(item), kind))
            .collect(),
        Value::Table(_) => deadline_table(place),
        _ => {
            let text = place.str("a deadline", &Kind::Deadline)?.trim();
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
                return other.refuse("`mean` goes only with `floor`", &Kind::Deadline);
            }
        }
        return Ok(vec![Deadline::Exponential {
            mean,
            floor: floor.unwrap_or(Span::ZERO),
        }]);
    }
    if let Some(floor) = reader.get("floor") {
        return floor.refuse("`floor` goes only with `mean`", &Kind::Deadline);
    }
    let base = reader.get("base");
    let base = base.ok_or_else(|| reader.missing("base").expected(&Kind::Deadline))?;
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

fn two<'t>(place: &Place<'_>, text: &'t str, allowed: &Kind) -> Result<(&'t str, &'t str)> {
    text.split_once("..")
        .ok_or_else(|| place.wrong("two bounds are needed").expected(allowed))
}

fn ordered<T: PartialOrd + Copy>(place: &Place<'_>, low: T, high: T) -> Result<()> {
    if low > high {
        return place.refuse("the bounds are the wrong way round", "LOW..HIGH");
    }
    Ok(())
}
