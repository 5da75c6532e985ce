//! Arrival of queries at the roots.

use crate::diagnostic::Result;
use crate::distribution::gap;
use crate::document::Value as Written;
use crate::keys::SOME_TIME;
use crate::model::{Gap, QueryArrival};
use crate::place::Place;
use crate::table::Reader;
use crate::values::Resolved;
use duetime_core::Span;
use serde_json::{Value, json};

pub(super) fn read(reader: &Reader<'_>, key: &'static str) -> Result<QueryArrival> {
    let arrival = reader.choice(key)?;
    let every = reader.get("every");
    let load: Option<f64> = reader.value("load")?;
    let over = reader.choice("load_over")?;
    if over.is_some() && load.is_none() {
        let place = reader.need("load_over")?;
        return place.refuse(
            "`load_over` without `load`",
            "`load_over` together with `load`",
        );
    }
    let each_tree = over != Some("workload");
    let allowed = "one of `load` or `rate` (with `arrival` \"poisson\" or \"periodic\"), `every`, `arrival = \"back-to-back\"`";
    if let Some(rate) = reader.get("rate") {
        if load.is_some() || every.is_some() || arrival == Some("back-to-back") {
            return rate.refuse(
                "conflicts with another key for the arrival of queries",
                allowed,
            );
        }
        let (applications, trees): (u64, u64) =
            (reader.value("applications")?, reader.value("trees")?);
        return at_rate(&rate, applications * trees, arrival != Some("periodic"));
    }
    match (load, every, arrival) {
        (None, None, Some("back-to-back")) => Ok(QueryArrival::BackToBack),
        (Some(load), None, None | Some("poisson")) => Ok(QueryArrival::Load {
            load,
            poisson: true,
            each_tree,
        }),
        (Some(load), None, Some("periodic")) => Ok(QueryArrival::Load {
            load,
            poisson: false,
            each_tree,
        }),
        (None, Some(every), None) => Ok(QueryArrival::Every(gap(&every, false)?)),
        (None, Some(every), Some("periodic")) => match every.node.value {
            Written::String(_) => Ok(QueryArrival::Every(Gap::Fixed(
                every.time(SOME_TIME.0, SOME_TIME.1)?,
            ))),
            _ => Err(every.expected("a time", "\"300 ms\"")),
        },
        (None, Some(every), Some("poisson")) => Ok(QueryArrival::Every(Gap::Exponential(
            every.time(SOME_TIME.0, SOME_TIME.1)?,
        ))),
        (None, None, _) => Err(reader.missing("load").allowed(allowed)),
        (Some(_), Some(every), _) => every.refuse("`load` is given too", allowed),
        _ => {
            let place = reader.need("arrival")?;
            place.refuse("needs neither `load` nor `every`", allowed)
        }
    }
}

/// Reads the rate of the queries of all trees together.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a gap within its range"
)]
fn at_rate(place: &Place<'_>, trees: u64, poisson: bool) -> Result<QueryArrival> {
    let (shortest, longest) = SOME_TIME;
    let each = trees as f64 * 1e12 / place.frequency()?;
    if !(shortest as f64..=longest as f64).contains(&each) {
        let rate = |gap: u64| trees as f64 * 1e12 / gap as f64;
        // Bounds, rounded inwards to values that can be written.
        let least = (rate(longest) * 1e4).ceil() / 1e4;
        let most = rate(shortest).floor();
        let often = if each < shortest as f64 {
            "often"
        } else {
            "seldom"
        };
        let seconds = each / 1e12;
        let message = format!("a query at each of {trees} trees every {seconds} s: too {often}");
        return place.refuse(message, format!("{least} /s to {most} /s"));
    }
    let gap = Span::from_ps(each.round() as u64);
    Ok(QueryArrival::Every(if poisson {
        Gap::Exponential(gap)
    } else {
        Gap::Fixed(gap)
    }))
}

impl Resolved for QueryArrival {
    fn resolved(&self) -> Value {
        match self {
            Self::Load {
                load,
                poisson,
                each_tree,
            } => {
                let over = if *each_tree { "tree" } else { "workload" };
                json!({ "load": load, "poisson": poisson, "load_over": over })
            }
            Self::Every(every) => json!({ "every": every.resolved() }),
            Self::BackToBack => json!("back-to-back"),
        }
    }
}
