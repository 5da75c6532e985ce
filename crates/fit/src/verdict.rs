//! Whether a fit reproduces its input, and why not.

use crate::model::Model;
use crate::reproduce::{COMPLETION, FAN_IN, LOAD, MISSED, POINTS, Row, SIZE, WITHIN};
use crate::text::both;
use duetime_study::text::{list, percent};

/// The verdict on a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// True if every quantity with a threshold is within it.
    pub reproduces: bool,
    /// One sentence that names what is reproduced and what is not.
    pub answer: String,
    /// Likely reasons of a bad fit, each with what to change.
    pub reasons: Vec<String>,
}

/// Judges the rows of a fit under this transport.
pub(crate) fn verdict(rows: &[Row], model: &Model, transport: &str) -> Verdict {
    let main = [("answer size", SIZE), ("fan-in", FAN_IN), ("load", LOAD)];
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (called, name) in main {
        match worst(rows, name) {
            Some(row) if row.near == Some(false) => {
                far.push(format!("{called} ({})", off(row)));
            }
            Some(row) if row.near == Some(true) => near.push(called.to_owned()),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    if !near.is_empty() {
        parts.push(format!("{} within {}", list(near), percent(WITHIN)));
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
                format!("{at} {}", off(row))
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
            POINTS * 100.0,
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
            "Whether the fitted scenario reproduces its input is not known (under {transport})."
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

/// The row of this quantity, of those of all layers the one with the largest difference.
fn worst<'r>(rows: &'r [Row], name: &str) -> Option<&'r Row> {
    let size = |row: &Row| row.difference.map_or(0.0, f64::abs);
    let of = rows.iter().filter(|row| row.quantity.ends_with(name));
    of.max_by(|a, b| {
        let bad = |row: &Row| row.near == Some(false);
        bad(a).cmp(&bad(b)).then(size(a).total_cmp(&size(b)))
    })
}

/// The rows of completion times.
fn completion(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let is = |row: &&Row| COMPLETION.iter().any(|of| of.1 == row.quantity);
    rows.iter().filter(is)
}

/// Parts of a sentence, which may hold commas themselves.
fn listed(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        [rest @ .., last] => format!("{}, and {last}", rest.join(", ")),
        [] => String::new(),
    }
}

/// The likely reasons of each quantity that is off.
fn reasons(rows: &[Row], model: &Model) -> Vec<String> {
    let is_far = |name: &str| worst(rows, name).is_some_and(|row| row.near == Some(false));
    let mut reasons = Vec::new();
    if is_far(FAN_IN) {
        let why = "the fan-in varies, and the scenario has one number per layer: replay the spans with the workload \
                   `trace`, or fit kinds of queries apart";
        reasons.push(why.to_owned());
    }
    if is_far(SIZE) {
        let why = "a few large answers carry most bytes, and the runs draw too few of them: lengthen the input, or replay \
                   the spans with the workload `trace`";
        reasons.push(why.to_owned());
    } else if is_far(LOAD) && !is_far(FAN_IN) {
        let why = "answer sizes and fan-ins of a query depend on each other: replay the spans with the workload `trace`";
        reasons.push(why.to_owned());
    }
    let most = completion(rows)
        .filter(|row| row.near == Some(false))
        .filter_map(|row| row.difference)
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let typical = completion(rows).next().and_then(|row| row.near);
    match most {
        Some(off) if off < 0.0 && model.compute.is_none() => {
            let why = "the fit is too fast, and the input does not show how long servers compute: fit spans, or a table \
                       with `compute_ns`";
            reasons.push(why.to_owned());
        }
        Some(off) if off < 0.0 && typical == Some(true) => {
            let why = "slow queries are too fast in the fit: the service has waits that the scenario lacks, such as other \
                       traffic (`--other-load`), smaller buffers (`--buffer`) or servers that are slow together";
            reasons.push(why.to_owned());
        }
        Some(off) if off < 0.0 => {
            let why = "the fit is too fast: the service has waits that the scenario lacks, such as slower or longer links \
                       (`--link`, `latency`), other traffic (`--other-load`), queues at servers, or calls that follow one another";
            reasons.push(why.to_owned());
        }
        Some(_) => {
            let why = format!(
                "the fit is too slow: the service's network is faster than the scenario's (`--link` is {}), or its queries \
                 do not wait for all answers",
                model.link
            );
            reasons.push(why);
        }
        None if is_far(MISSED) => {
            let why = match model.give_up {
                Some(of) => format!(
                    "the aggregators give up at different times, and the scenario has one, {}",
                    of.after
                ),
                None => "the budget is where completion times are dense, or the input counts queries late for other reasons \
                         than their last answer: state `--budget`"
                    .to_owned(),
            };
            reasons.push(why);
        }
        None => {}
    }
    reasons
}

fn off(row: &Row) -> String {
    row.difference.map_or("far".to_owned(), signed)
}

/// A relative difference, as it is shown.
pub(crate) fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}
