//! Hedges: second queries for slow answers.

use crate::diagnostic::Result;
use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Time};
use crate::keys::{SOME_TIME, declare};
use crate::model::{Hedge, HedgeAfter};
use crate::place::Place;
use crate::table::Reader;
use crate::values::{Readable, Resolved};
use serde_json::{Value, json};

declare! {
    /// If a leaf's answer is not complete at its parent after a time, the parent sends a second query to another host.
    /// The host is drawn, outside the tree if possible, and repeats the computation. The first answer counts.
    pub(crate) static HEDGE: "hedge" {
        /// Time from the first query to the hedge: fixed, or a percentile (`p1` to `p99.99`) of the answer times that
        /// the parent has observed, from the first query to a leaf to its first answer. `never`: no hedges.
        after: Any(&[Choice(&["never"]), Time(SOME_TIME.0, SOME_TIME.1), Kind::Percentile]);
        /// Sends a cancel message to the slower host, which stops its computation or aborts its answer. Answers on a
        /// `persistent` connection are not aborted once begun.
        cancel: Boolean, default true;
        /// For a percentile: minimum number of answer times. Missing ones come from the distributions of `compute`
        /// and `jitter`, plus the time of the messages on an idle network. If that time exceeds the percentile of
        /// `compute` and `jitter`, the parent does not hedge yet.
        samples: Integer(10, 100_000), default 100;
        /// For a percentile (exact, nearest rank): number of the parent's latest answer times.
        window: Integer(10, 100_000), default 1000;
    } for Hedge { after, cancel, samples, window }
}

pub(super) fn read(reader: &Reader<'_>, key: &'static str) -> Result<Option<Hedge>> {
    let hedge = reader.read(key, Some(None), |place, _| {
        let reader = Reader::open(place.clone(), HEDGE.table)?;
        let hedge = (HEDGE.read)(&reader)?;
        check_window(&reader, hedge.samples, hedge.window)?;
        Ok(Some(hedge))
    })?;
    Ok(hedge.filter(|hedge| hedge.after != HedgeAfter::Never))
}

/// Checks that `window` is at least `samples`.
fn check_window(reader: &Reader<'_>, samples: u32, window: u32) -> Result<()> {
    if samples > window {
        let message = format!("`samples` ({samples}) exceeds `window` ({window})");
        let key = if reader.get("window").is_some() {
            "window"
        } else {
            "samples"
        };
        let allowed = format!("`samples` of at most `window`: {window}");
        return reader.need(key)?.refuse(message, allowed);
    }
    Ok(())
}

impl Readable for HedgeAfter {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let text = place
            .str("a time or a percentile", &Kind::Percentile)?
            .trim();
        if text == "never" {
            return Ok(Self::Never);
        }
        let Some(percentile) = text.strip_prefix('p') else {
            return place.time(SOME_TIME.0, SOME_TIME.1).map(Self::Time);
        };
        match percentile.parse::<f64>() {
            Ok(percent) if (1.0..=99.99).contains(&percent) => {
                Ok(Self::Percentile(percent / 100.0))
            }
            _ => place.refuse("not a percentile", &Kind::Percentile),
        }
    }
}

impl Resolved for HedgeAfter {
    fn resolved(&self) -> Value {
        match self {
            Self::Time(span) => json!({ "ps": span.as_ps() }),
            Self::Percentile(share) => json!({ "percentile": share }),
            Self::Never => json!("never"),
        }
    }
}
