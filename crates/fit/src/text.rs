//! What the command prints.

use crate::reproduce::{FAN_IN, LOAD, MISSED, POINTS, Row, SIZE, WITHIN, is_near};
use duetime_results::{Estimate, Interval};
use duetime_study::text::{bytes, list, percent, seconds, significant, with_interval};
use std::fmt::Write;

/// What it says, then both sides as a table, then what to know.
pub(crate) fn text(answer: &str, rows: &[Row], notes: &[String]) -> String {
    let mut text = format!("{answer}\n\n");
    let head = ["", "input", "fitted", "difference", "KS"].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head)
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|of| of[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    for (at, cells) in lines.iter().enumerate() {
        let mut line = format!("{:<1$}", cells[0], widths[0]);
        for column in 1..5 {
            let _ = write!(line, "  {:>1$}", cells[column], widths[column]);
        }
        let _ = writeln!(text, "{}", line.trim_end());
        if at == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            let _ = writeln!(text, "{}", rule.join("  "));
        }
    }
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The sentence that says how well the input is reproduced under this transport.
pub(crate) fn answer(rows: &[Row], transport: &str) -> String {
    let worst = |name: &str| {
        let of = rows.iter().filter(|row| row.quantity.ends_with(name));
        of.max_by(|a, b| {
            let size = |row: &Row| row.difference.map_or(0.0, f64::abs);
            size(a).total_cmp(&size(b))
        })
    };
    let main = [("answer size", SIZE), ("fan-in", FAN_IN), ("load", LOAD)];
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (called, name) in main {
        match worst(name).map(|row| (row, is_near(row))) {
            Some((_, Some(true))) => near.push(called.to_owned()),
            Some((row, Some(false))) => far.push(format!("{called} ({})", off(row))),
            _ => {}
        }
    }
    let mut said = if near.is_empty() {
        "The fitted scenario does not reproduce its input".to_owned()
    } else {
        format!(
            "The fitted scenario reproduces {} within {}",
            list(near),
            percent(WITHIN)
        )
    };
    match worst(MISSED).and_then(|row| Some((row, is_near(row)?))) {
        Some((row, true)) => {
            let _ = write!(
                said,
                ", and the missed share within {:.0} points: {}",
                POINTS * 100.0,
                both(row)
            );
        }
        Some((row, false)) => far.push(format!("the missed share: {}", both(row))),
        None => {}
    }
    if !far.is_empty() {
        let _ = write!(said, ", but not {}", list(far));
    }
    let _ = write!(said, " (under {transport}).");
    said
}

fn both(row: &Row) -> String {
    format!(
        "{} in the input, {} fitted",
        share(row.input, row.input_interval),
        share(row.fitted, row.fitted_interval)
    )
}

fn share(value: Option<f64>, interval: Option<Interval>) -> String {
    value.map_or("?".to_owned(), |value| {
        with_interval(&Estimate { value, interval }, percent)
    })
}

fn off(row: &Row) -> String {
    row.difference.map_or(String::new(), signed)
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}

fn cells(row: &Row) -> [String; 5] {
    let value = |side: Option<f64>, interval| match (side, row.unit) {
        (None, _) => "?".to_owned(),
        (Some(of), "B") => bytes(of),
        (Some(of), "ns") => seconds(of * 1e-9),
        (Some(_), "share") => share(side, interval),
        (Some(of), _) => significant(of),
    };
    let difference = match row.difference {
        None => String::new(),
        Some(of) if row.quantity == MISSED => {
            format!(
                "{}{:.1} points",
                if of < 0.0 { "-" } else { "+" },
                of.abs() * 100.0
            )
        }
        Some(of) => signed(of),
    };
    let ks = row.ks.map_or(String::new(), |ks| format!("{ks:.3}"));
    [
        row.quantity.clone(),
        value(row.input, row.input_interval),
        value(row.fitted, row.fitted_interval),
        difference,
        ks,
    ]
}
