//! How the numbers of a table are written.

use duetime_results::Estimate;
use duetime_results::pool::min_samples;

use super::Cell;
use crate::text;

pub(super) fn word(text: &str) -> Cell {
    Cell {
        value: text.to_owned(),
        ..Cell::default()
    }
}

/// A percentile where there is none.
pub const DASH: &str = "–";

pub(super) fn never() -> Cell {
    word(DASH)
}

pub(super) fn number(of: u64) -> Cell {
    word(&text::count(of as f64))
}

/// Nothing instead of none.
pub(super) fn some(of: u64) -> Cell {
    if of > 0 { number(of) } else { Cell::default() }
}

/// A statistic with its interval.
pub(super) fn cell(of: &Estimate, show: impl Fn(f64) -> String) -> Cell {
    let (value, interval) = text::estimate(of, show);
    Cell {
        value,
        interval: interval.unwrap_or_default(),
        ..Cell::default()
    }
}

fn shown(of: Option<Estimate>, show: impl Fn(f64) -> String) -> Cell {
    of.map_or(Cell::default(), |of| cell(&of, show))
}

/// A share in per cent.
pub(crate) fn percent(of: &Estimate) -> Cell {
    cell(of, text::percent)
}

pub(super) fn share(of: Option<Estimate>) -> Cell {
    shown(of, text::percent)
}

/// A share of a number of things, such as `92.6 % of 1722`.
pub(super) fn part(of: Option<Estimate>, whole: u64) -> Cell {
    let shown = share(of);
    if of.is_none() {
        return shown;
    }
    shown.of(&text::count(whole as f64))
}

impl Cell {
    /// Appends what the value is a share of.
    pub(super) fn of(self, whole: &str) -> Self {
        Self {
            value: format!("{} of {whole}", self.value),
            ..self
        }
    }
}

/// A share that is to reach a target, with the digits that show whether it does.
pub(super) fn near(of: &Estimate, target: Option<f64>) -> Cell {
    cell(of, |share| text::percent_near(share, target))
}

pub(super) fn mean(of: Option<Estimate>) -> Cell {
    shown(of, text::significant)
}

pub(super) fn count(of: Option<Estimate>) -> Cell {
    shown(of, text::count)
}

pub(super) fn seconds(of: Option<Estimate>) -> Cell {
    shown(of, text::seconds)
}

pub(super) fn bytes(of: Option<Estimate>) -> Cell {
    shown(of, text::bytes)
}

pub(super) fn goodput(of: Option<Estimate>) -> Cell {
    of.map_or_else(never, |of| cell(&of, |bytes| text::rate(bytes * 8.0)))
}

/// The percentile at a rank of so many samples, or a dash that says why there is none.
pub(crate) fn percentile(
    of: Option<Estimate>,
    samples: u64,
    per_mille: u32,
    show: impl Fn(f64) -> String,
) -> Cell {
    if let Some(of) = of {
        return cell(&of, show);
    }
    let needed = min_samples(per_mille);
    let hint = if samples < needed {
        let counts = [needed, samples].map(|of| text::count(of as f64));
        format!("Needs {}, has {}", counts[0], counts[1])
    } else {
        "So many never finished".to_owned()
    };
    Cell { hint, ..never() }
}

/// A percentile of completion times.
pub(super) fn time(of: Option<Estimate>, samples: u64, per_mille: u32) -> Cell {
    percentile(of, samples, per_mille, text::seconds)
}
