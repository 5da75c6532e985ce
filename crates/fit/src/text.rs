//! Text output of a fit.

use crate::reproduce::{MISSED, Row};
use crate::verdict::{Verdict, signed};
use duetime_results::{Estimate, Interval};
use duetime_study::text::{bytes, percent, seconds, significant, with_interval};
use std::fmt::Write;

/// Renders the verdict with its reasons, the table of quantities and the notes.
pub(crate) fn text(verdict: &Verdict, rows: &[Row], notes: &[String]) -> String {
    let mut text = format!("{}\n", verdict.answer);
    for reason in &verdict.reasons {
        let _ = writeln!(text, "reason: {reason}");
    }
    text.push('\n');
    let head = ["", "input", "fitted", "difference", "KS"].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head)
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    for (index, cells) in lines.iter().enumerate() {
        let mut line = format!("{:<1$}", cells[0], widths[0]);
        for column in 1..5 {
            let _ = write!(line, "  {:>1$}", cells[column], widths[column]);
        }
        let _ = writeln!(text, "{}", line.trim_end());
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            let _ = writeln!(text, "{}", rule.join("  "));
        }
    }
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

pub(crate) fn both(row: &Row) -> String {
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

fn cells(row: &Row) -> [String; 5] {
    let shown = |side: Option<f64>, interval| match (side, row.unit) {
        (None, _) => "?".to_owned(),
        (Some(value), "B") => bytes(value),
        (Some(value), "ns") => seconds(value * 1e-9),
        (Some(_), "share") => share(side, interval),
        (Some(value), _) => significant(value),
    };
    let difference = match row.difference {
        None => String::new(),
        Some(value) if row.quantity == MISSED => {
            format!(
                "{}{:.1} points",
                if value < 0.0 { "-" } else { "+" },
                value.abs() * 100.0
            )
        }
        Some(value) => signed(value),
    };
    let ks = row.ks.map_or(String::new(), |ks| format!("{ks:.3}"));
    [
        row.quantity.clone(),
        shown(row.input, row.input_interval),
        shown(row.fitted, row.fitted_interval),
        difference,
        ks,
    ]
}
