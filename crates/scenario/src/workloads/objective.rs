//! Objective of queries.

use crate::diagnostic::Result;
use crate::keys::Kind::{self, Any, OneOrMore, Share, Time};
use crate::keys::{SOME_TIME, declare};
use crate::model::{Deadline, Objective};
use crate::place::{Place, complete};
use crate::table::Reader;
use crate::values::Resolved;
use duetime_core::Span;
use serde_json::{Value, json};

declare! {
    /// A query is in time if enough leaf answers reach the root within its budget, directly or through aggregators.
    pub(crate) static OBJECTIVE: "objective" {
        /// Budget of a query, from its arrival at the root. A list has one entry per application.
        within: WITHIN,
            otherwise "the answers' `deadline` if it is fixed; else each leaf's answer has its own deadline";
        /// Leaf answers that a query needs: a share, or a number out of all leaves of a tree, such as `"10 of 14"`.
        answers: ENOUGH, otherwise "`complete_at`";
        /// Required share of queries in time.
        share: Share(0.001, 1.0), otherwise "no target";
    }
}

const ENOUGH: Kind = Any(&[Share(0.001, 1.0), Kind::OutOf]);
const WITHIN: Kind = OneOrMore(&Time(SOME_TIME.0, SOME_TIME.1));

/// Reads the objective of queries. Without `within`, fixed deadlines of the answers are the budgets.
pub(super) fn read(
    reader: &Reader<'_>,
    deadlines: &[Deadline],
    leaves: Option<u64>,
) -> Result<Objective> {
    let complete_at = reader.value("complete_at")?;
    let default = || {
        let within: Option<Vec<Span>> = deadlines.iter().map(Deadline::fixed).collect();
        within.unwrap_or_default()
    };
    let Some(place) = reader.get("objective") else {
        return Ok(Objective {
            within: default(),
            answers: complete_at,
            share: None,
        });
    };
    let reader = Reader::open(place, &OBJECTIVE)?;
    let within = match reader.get("within") {
        None => default(),
        Some(place) => {
            let items = place.some_items("one time per application")?;
            let time = |item: &Place<'_>| item.time(SOME_TIME.0, SOME_TIME.1);
            let times = items.iter().map(time).collect::<Result<_>>();
            times.map_err(|error| complete(error, &place, &WITHIN))?
        }
    };
    Ok(Objective {
        within,
        answers: match reader.get("answers") {
            Some(place) => enough(&place, leaves)?,
            None => complete_at,
        },
        share: reader.value("share")?,
    })
}

/// Reads the share of the leaf answers that a query needs. `leaves` is the number of leaves per tree, or `None` if
/// trees differ.
fn enough(place: &Place<'_>, leaves: Option<u64>) -> Result<f64> {
    let written = place.node.str().and_then(|text| text.split_once(" of "));
    let Some((needed, all)) = written else {
        let share = place.share(0.001, 1.0);
        return share.map_err(|error| complete(error, place, &ENOUGH));
    };
    let allowed = match leaves {
        Some(leaves) => {
            format!("\"1 of {leaves}\" to \"{leaves} of {leaves}\", or a share of the answers")
        }
        None => {
            "a share of the answers: recorded trees have different numbers of leaves".to_owned()
        }
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (number(needed), number(all), leaves) {
        (Some(needed), Some(all), Some(leaves)) if all != leaves => {
            let message = format!("each query has {leaves} leaves, not {all} ({needed} of {all})");
            Err(place.wrong(message).allowed(allowed))
        }
        (Some(needed), Some(all), Some(_)) if (1..=all).contains(&needed) => {
            Ok(needed as f64 / all as f64)
        }
        (Some(_), Some(_), Some(_)) => place.refuse("no number of the answers", allowed),
        _ => place.refuse("not a number of the answers", allowed),
    }
}

impl Resolved for Objective {
    fn resolved(&self) -> Value {
        json!({ "within_ps": self.within.resolved(), "answers": self.answers, "share": self.share })
    }
}
