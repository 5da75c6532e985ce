//! Formatting of a row for tables.

use serde::Serialize;

use super::rows::{Bound, Bounded, Row};
use super::verdict::Verdict;
use duetime_study::text;

/// Displayed texts of a row.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    /// Scheme or schemes.
    pub scheme: &'a str,
    /// Panel, axis value and metric; for a check, its text.
    pub point: &'a str,
    /// Published value, or the range that a check requires.
    pub published: String,
    /// Measured value.
    pub ours: String,
    /// 95 % interval of the measured value, or an empty text.
    pub interval: String,
    /// Verdict; for a missed range, also the end that was passed.
    pub verdict: String,
    /// True if met or holding.
    pub good: bool,
    /// True if missed.
    pub bad: bool,
    /// Predicted, calibrated, not stated or looser bound.
    pub kind: &'static str,
    /// Place in the paper.
    pub source: &'a str,
}

impl<'a> Line<'a> {
    /// Formats a row.
    pub fn of(row: &'a Row) -> Self {
        let unit = unit(row);
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) if low < high && !is_sameness(row) => {
                let few = row.seeds.filter(|&seeds| (2..4).contains(&seeds));
                let from = few.map_or(String::new(), |seeds| format!(" from {seeds} seeds"));
                let ends = [low, high].map(text::significant);
                format!("[{}]{from}", ends.join(", "))
            }
            _ => String::new(),
        };
        Self {
            scheme: &row.scheme,
            point: &row.point,
            published: match &row.bound {
                Some(bound) => requirement(bound, unit),
                None => with_unit(row.published, unit),
            },
            ours: match row.ours {
                Some(0.0) if is_sameness(row) => "the same".to_owned(),
                Some(_) if is_sameness(row) => "not the same".to_owned(),
                ours => with_unit(ours, unit),
            },
            interval,
            verdict: verdict(row),
            good: row.verdict.is_good(),
            bad: row.verdict == Verdict::Missed,
            kind: row.kind.name(),
            source: &row.source,
        }
    }
}

fn is_sameness(row: &Row) -> bool {
    row.bound.is_some_and(|bound| bound.of == Bounded::Sameness)
}

/// Returns the displayed unit: points for differences of percentages, times for ratios.
fn unit(row: &Row) -> &str {
    match (row.bound.map(|bound| bound.of), row.unit.as_str()) {
        (Some(Bounded::Difference | Bounded::Step), "%") => "points",
        (Some(Bounded::Ratio), _) | (_, "ratio") => "times",
        (_, unit) => unit,
    }
}

fn with_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or("–".to_owned(), |value| {
        let text = format!("{} {unit}", text::significant(value));
        text.trim_end().to_owned()
    })
}

/// Formats a required range: `below 7 %`, `4.25 to 5.75 times`, `a difference above 0 points`.
fn requirement(bound: &Bound, unit: &str) -> String {
    let number = text::significant;
    let ends = match (bound.low, bound.high, bound.strict) {
        _ if bound.of == Bounded::Sameness => return "the same in every seed".to_owned(),
        (Some(low), Some(high), _) => format!("{} to {}", number(low), number(high)),
        (Some(low), None, true) => format!("above {}", number(low)),
        (Some(low), None, false) => format!("at least {}", number(low)),
        (None, Some(high), true) => format!("below {}", number(high)),
        (None, Some(high), false) => format!("at most {}", number(high)),
        (None, None, _) => return "–".to_owned(),
    };
    let quantity = match bound.of {
        Bounded::Difference => "a difference ",
        Bounded::Step => "each step ",
        _ => "",
    };
    format!("{quantity}{ends} {unit}").trim_end().to_owned()
}

fn verdict(row: &Row) -> String {
    let side = match (row.verdict, row.bound, row.ours) {
        (Verdict::Missed, Some(bound), Some(ours)) => match (bound.low, bound.high) {
            (Some(low), Some(_)) if ours < low => ": below",
            (Some(_), Some(high)) if ours > high => ": above",
            _ => "",
        },
        _ => "",
    };
    format!("{}{side}", row.verdict.name())
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Kind;
    use super::*;

    fn row(of: Bounded, ends: (Option<f64>, Option<f64>), strict: bool, unit: &str) -> Row {
        Row {
            paper: "d3".to_owned(),
            experiment: "fig16".to_owned(),
            scheme: "d3".to_owned(),
            point: String::new(),
            published: ends.1.or(ends.0),
            ours: Some(7.08),
            low: Some(6.87),
            high: Some(7.21),
            seeds: Some(2),
            unit: unit.to_owned(),
            verdict: Verdict::Missed,
            kind: Kind::Predicted,
            check: true,
            bound: Some(Bound {
                of,
                low: ends.0,
                high: ends.1,
                strict,
            }),
            source: String::new(),
        }
    }

    #[test]
    fn bounds_are_formatted() {
        let shown = |row: &Row| {
            let line = Line::of(row);
            (line.published, line.ours, line.interval, line.verdict)
        };
        let words = |published: &str, ours: &str, verdict: &str| {
            let interval = "[6.87, 7.21] from 2 seeds";
            let [published, ours, interval, verdict] =
                [published, ours, interval, verdict].map(str::to_owned);
            (published, ours, interval, verdict)
        };
        assert_eq!(
            shown(&row(
                Bounded::Ratio,
                (Some(4.25), Some(5.75)),
                false,
                "ratio"
            )),
            words("4.25 to 5.75 times", "7.08 times", "missed: above")
        );
        assert_eq!(
            shown(&row(Bounded::Value, (None, Some(7.0)), true, "%")),
            words("below 7 %", "7.08 %", "missed")
        );
        assert_eq!(
            shown(&row(Bounded::Difference, (None, Some(0.0)), true, "%")),
            words("a difference below 0 points", "7.08 points", "missed")
        );
        assert_eq!(
            shown(&row(Bounded::Step, (Some(-1.0), None), false, "KB")),
            words("each step at least -1 KB", "7.08 KB", "missed")
        );
        let same = row(Bounded::Sameness, (None, Some(0.0)), false, "");
        let line = Line::of(&same);
        assert_eq!(
            (line.published.as_str(), line.ours.as_str()),
            ("the same in every seed", "not the same")
        );
        assert_eq!(line.interval, "");
    }
}
