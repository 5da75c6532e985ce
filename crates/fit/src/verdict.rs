//! Verdict on a fit, with likely reasons for differences.

use crate::model::Model;
use crate::reproduce::{
    COMPLETION, FAN_IN, LOAD, MISSED, MISSED_THRESHOLD, RELATIVE_THRESHOLD, Row, SIZE,
};
use crate::text::both;
use duetime_study::text::{list, percent};

/// Verdict on a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// True if every quantity with a threshold is within it.
    pub reproduces: bool,
    /// Sentence that names the reproduced quantities and the others.
    pub answer: String,
    /// Likely reasons for a bad fit, each with a remedy.
    pub reasons: Vec<String>,
}

/// Judges the rows of a fit with this transport.
pub(crate) fn verdict(rows: &[Row], model: &Model, transport: &str) -> Verdict {
    let main = [("answer size", SIZE), ("fan-in", FAN_IN), ("load", LOAD)];
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (called, name) in main {
        match worst(rows, name) {
            Some(row) if row.near == Some(false) => {
                far.push(format!("{called} ({})", difference(row)));
            }
            Some(row) if row.near == Some(true) => near.push(called.to_owned()),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    if !near.is_empty() {
        parts.push(format!(
            "{} within {}",
            list(near),
            percent(RELATIVE_THRESHOLD)
        ));
    }
    let completion = || completion(rows);
    let missing: Vec<&Row> = completion().filter(|row| row.near == Some(false)).collect();
    let distance = completion().find_map(|row| row.ks);
    if let Some(ks) = distance {
        if missing.is_empty() {
            parts.push(format!("completion times (KS {ks:.3})"));
        } else {
            let each = missing.iter().map(|row| {
                let at = row.quantity.rsplit(' ').next().unwrap_or_default();
                format!("{at} {}", difference(row))
            });
            let each: Vec<String> = each.collect();
            far.push(format!(
                "completion times (KS {ks:.3}; {})",
                each.join(", ")
            ));
        }
    }
    let missed = worst(rows, MISSED);
    match missed.map(|row| (row, row.near)) {
        Some((row, Some(true))) => parts.push(format!(
            "the missed share within {:.0} points: {}",
            MISSED_THRESHOLD * 100.0,
            both(row)
        )),
        Some((row, Some(false))) => far.push(format!(
            "the missed share ({:+.1} points: {})",
            row.difference.unwrap_or_default() * 100.0,
            both(row)
        )),
        _ => {}
    }
    let reproduces = far.is_empty() && !parts.is_empty();
    let answer = match (reproduces, far.is_empty()) {
        (true, _) => format!(
            "The fitted scenario reproduces {} (under {transport}).",
            listed(&parts)
        ),
        (false, true) => format!(
            "The input does not show whether the fitted scenario reproduces it (under {transport})."
        ),
        (false, false) => format!(
            "The fitted scenario does not reproduce {} (under {transport}).",
            far.join(", nor ")
        ),
    };
    let reasons = if reproduces {
        Vec::new()
    } else {
        reasons(rows, model)
    };
    Verdict {
        reproduces,
        answer,
        reasons,
    }
}

/// Returns the row of this quantity with the largest difference over all layers.
fn worst<'r>(rows: &'r [Row], name: &str) -> Option<&'r Row> {
    let size = |row: &Row| row.difference.map_or(0.0, f64::abs);
    let matching = rows.iter().filter(|row| row.quantity.ends_with(name));
    matching.max_by(|a, b| {
        let bad = |row: &Row| row.near == Some(false);
        bad(a).cmp(&bad(b)).then(size(a).total_cmp(&size(b)))
    })
}

/// Returns the rows of completion times.
fn completion(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let is_completion = |row: &&Row| COMPLETION.iter().any(|(_, name, _)| *name == row.quantity);
    rows.iter().filter(is_completion)
}

/// Joins parts of a sentence, which may contain commas.
fn listed(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        [rest @ .., last] => format!("{}, and {last}", rest.join(", ")),
        [] => String::new(),
    }
}

/// Returns the likely reasons for quantities beyond their thresholds.
fn reasons(rows: &[Row], model: &Model) -> Vec<String> {
    let is_far = |name: &str| worst(rows, name).is_some_and(|row| row.near == Some(false));
    let mut reasons = Vec::new();
    if is_far(FAN_IN) {
        let why = "the fan-in varies, but the scenario has one value per layer: replay the spans with the workload `trace`, or \
                   fit the kinds of queries separately";
        reasons.push(why.to_owned());
    }
    if is_far(SIZE) {
        let why = "a few large answers carry most bytes, and the runs contain too few of them: use a longer input, or replay \
                   the spans with the workload `trace`";
        reasons.push(why.to_owned());
    } else if is_far(LOAD) && !is_far(FAN_IN) {
        let why =
            "answer sizes and fan-ins are correlated: replay the spans with the workload `trace`";
        reasons.push(why.to_owned());
    }
    let largest = completion(rows)
        .filter(|row| row.near == Some(false))
        .filter_map(|row| row.difference)
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let typical = completion(rows).next().and_then(|row| row.near);
    match largest {
        Some(off) if off < 0.0 && model.compute.is_none() => {
            let why = "the fit is too fast, and the input contains no computation times: fit spans, or a table with \
                       `compute_ns`";
            reasons.push(why.to_owned());
        }
        Some(off) if off < 0.0 && typical == Some(true) => {
            let why = "slow queries are too fast in the fit: the service has delays that the scenario lacks, such as other \
                       traffic (`--other-load`), smaller buffers (`--buffer`) or correlated slow servers";
            reasons.push(why.to_owned());
        }
        Some(off) if off < 0.0 => {
            let why = "the fit is too fast: the service has delays that the scenario lacks, such as slower or longer links \
                       (`--link`, `latency`), other traffic (`--other-load`), queues at servers or sequential calls";
            reasons.push(why.to_owned());
        }
        Some(_) => {
            let why = format!(
                "the fit is too slow: the service's network is faster than the scenario's (`--link` is {}), or its queries \
                 do not need all answers",
                model.link
            );
            reasons.push(why);
        }
        None if is_far(MISSED) => {
            let why = match model.give_up {
                Some(give_up) => format!(
                    "the aggregators have different timeouts, but the scenario has one, {}",
                    give_up.after
                ),
                None => "many completion times are close to the budget, or queries in the input are late for other reasons than their \
                         last answer: set `--budget`"
                    .to_owned(),
            };
            reasons.push(why);
        }
        None => {}
    }
    reasons
}

fn difference(row: &Row) -> String {
    row.difference.map_or("far".to_owned(), signed)
}

/// Formats a relative difference.
pub(crate) fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}
