//! Timeout of aggregators.

use crate::diagnostic::Result;
use crate::expected::{Expected, Form};
use crate::keys::{Kind, SOME_TIME};
use crate::model::GiveUp;
use crate::place::Place;
use crate::values::{Readable, Resolved};
use serde_json::{Value, json};

pub(super) const GIVE_UPS: &[&str] = &["children", "own", "never"];

impl Readable for GiveUp {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let allowed = Expected::new(
            "\"children\", \"own\", \"never\", or a time such as \"5 ms\"",
            &[Form::Word, Form::Quantity],
        );
        let text = place.str("a word or a time", allowed.clone())?;
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self::After(place.time(SOME_TIME.0, SOME_TIME.1)?));
        }
        let choice = place
            .choice(GIVE_UPS)
            .map_err(|error| error.expected(allowed))?;
        Ok(match choice {
            "own" => Self::Own,
            "never" => Self::Never,
            _ => Self::Children,
        })
    }
}

impl Resolved for GiveUp {
    fn resolved(&self) -> Value {
        match self {
            Self::Children => json!("children"),
            Self::Own => json!("own"),
            Self::Never => json!("never"),
            Self::After(span) => json!({ "after_ps": span.as_ps() }),
        }
    }
}
