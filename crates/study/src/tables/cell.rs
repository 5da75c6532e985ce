//! How the numbers of a table are written.

use duetime_results::Estimate;

use super::Cell;
use crate::text;

pub(super) fn word(text: &str) -> Cell {
    Cell {
        value: text.to_owned(),
        interval: String::new(),
    }
}

/// What a percentile shows where it falls among flows or queries that never finished.
pub(super) fn never() -> Cell {
    word("–")
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

pub(super) fn mean(of: Option<Estimate>) -> Cell {
    shown(of, text::significant)
}

pub(super) fn count(of: Option<Estimate>) -> Cell {
    shown(of, text::count)
}

pub(super) fn bytes(of: Option<Estimate>) -> Cell {
    shown(of, text::bytes)
}

pub(super) fn goodput(of: Option<Estimate>) -> Cell {
    of.map_or_else(never, |of| cell(&of, |bytes| text::rate(bytes * 8.0)))
}

pub(super) fn time(of: Option<Estimate>) -> Cell {
    of.map_or_else(never, |of| cell(&of, text::seconds))
}
