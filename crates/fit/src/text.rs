//! What the command prints.

use crate::reproduce::{MISSED, Row};
use crate::verdict::{Verdict, signed};
use duetime_results::{Estimate, Interval};
use duetime_study::text::{bytes, percent, seconds, significant, with_interval};
use std::fmt::Write;

/// The verdict with its reasons, both sides as a table, and the notes.
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
