//! Formatting of the cells of a table.

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

/// Placeholder for a percentile that does not exist.
pub const DASH: &str = "–";

pub(super) fn never() -> Cell {
    word(DASH)
}

pub(super) fn number(count: u64) -> Cell {
    word(&text::count(count as f64))
}

/// Formats a count, or returns an empty cell for 0.
pub(super) fn some(count: u64) -> Cell {
    if count > 0 {
        number(count)
    } else {
        Cell::default()
    }
}

/// Formats an estimate with its interval.
pub(super) fn cell(estimate: &Estimate, show: impl Fn(f64) -> String) -> Cell {
    let (value, interval) = text::estimate(estimate, show);
    Cell {
        value,
        interval: interval.unwrap_or_default(),
        ..Cell::default()
    }
}

fn cell_or_empty(estimate: Option<Estimate>, show: impl Fn(f64) -> String) -> Cell {
    estimate.map_or(Cell::default(), |estimate| cell(&estimate, show))
}

/// Formats a share in per cent.
pub(crate) fn percent(share: &Estimate) -> Cell {
    cell(share, text::percent)
}

pub(super) fn share(share: Option<Estimate>) -> Cell {
    cell_or_empty(share, text::percent)
}

/// Formats a share of a total, such as `92.6 % of 1722`.
pub(super) fn part(estimate: Option<Estimate>, total: u64) -> Cell {
    let cell = share(estimate);
    if estimate.is_none() {
        return cell;
    }
    cell.of(&text::count(total as f64))
}

impl Cell {
    /// Appends the total that the value is a share of.
    pub(super) fn of(self, total: &str) -> Self {
        Self {
            value: format!("{} of {total}", self.value),
            ..self
        }
    }
}

/// Formats a share with enough digits to compare it with its target.
pub(super) fn near(share: &Estimate, target: Option<f64>) -> Cell {
    cell(share, |share| text::percent_near(share, target))
}

pub(super) fn mean(estimate: Option<Estimate>) -> Cell {
    cell_or_empty(estimate, text::significant)
}

pub(super) fn count(estimate: Option<Estimate>) -> Cell {
    cell_or_empty(estimate, text::count)
}

pub(super) fn seconds(estimate: Option<Estimate>) -> Cell {
    cell_or_empty(estimate, text::seconds)
}

pub(super) fn bytes(estimate: Option<Estimate>) -> Cell {
    cell_or_empty(estimate, text::bytes)
}

pub(super) fn goodput(estimate: Option<Estimate>) -> Cell {
    estimate.map_or_else(never, |goodput| {
        cell(&goodput, |bytes| text::rate(bytes * 8.0))
    })
}

/// Formats a percentile of a number of samples, or returns a dash with the reason why there is none.
pub(crate) fn percentile(
    estimate: Option<Estimate>,
    samples: u64,
    per_mille: u32,
    show: impl Fn(f64) -> String,
) -> Cell {
    if let Some(estimate) = estimate {
        return cell(&estimate, show);
    }
    let needed = min_samples(per_mille);
    let hint = if samples < needed {
        let counts = [needed, samples].map(|count| text::count(count as f64));
        format!("Needs {}, has {}", counts[0], counts[1])
    } else {
        "Too many never finished".to_owned()
    };
    Cell { hint, ..never() }
}

/// Formats a percentile of completion times.
pub(super) fn time(estimate: Option<Estimate>, samples: u64, per_mille: u32) -> Cell {
    percentile(estimate, samples, per_mille, text::seconds)
}
