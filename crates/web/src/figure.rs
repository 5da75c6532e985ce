//! Figure of a study.

use crate::study::Completions;
use duetime_figures::{Axis, Figure, Guide, Palette, Panel, Point, Series, Style};

/// Approximate number of points of a curve.
const POINTS: usize = 160;

/// Draws the share that takes longer than each time for each transport, and the budget in seconds. Both axes are
/// logarithmic, so that the 99th and 99.9th percentiles are as visible as the median. Returns `None` without
/// completions.
pub fn tails(
    curves: &[(&str, Completions)],
    budget_s: Option<f64>,
    palette: Palette,
) -> Option<String> {
    let drawn = curves
        .iter()
        .filter(|(_, completions)| !completions.ended.is_empty());
    let series: Vec<Series> = drawn
        .map(|(name, completions)| tail(name, completions))
        .collect();
    if series.is_empty() {
        return None;
    }
    let mut panel = Panel::new(
        Axis::log("completion time", "ms"),
        Axis {
            to: Some(100.0),
            ..Axis::log("share taking longer", "%")
        },
        series,
    );
    panel.guides.extend(budget_s.map(|budget| Guide {
        vertical: true,
        at: budget * 1e3,
        label: "budget".to_owned(),
    }));
    let figure = Figure {
        palette,
        ..Figure::single(
            "Share that takes longer than each time",
            "For each transport, the share that takes longer than each time, on logarithmic axes: 1 % is the 99th percentile. \
             The table lists the percentiles.",
            panel,
        )
    };
    Some(figure.to_svg())
}

/// Returns the complement of the empirical CDF in percent, with few points. Flows that never finish keep it above zero.
fn tail(name: &str, completions: &Completions) -> Series {
    let mut sorted = completions.ended.clone();
    sorted.sort_by(f64::total_cmp);
    let remaining =
        |ended: usize| (completions.all - ended as u64) as f64 * 100.0 / completions.all as f64;
    let every = (sorted.len() / POINTS).max(1);
    let last = sorted.len() - 1;
    // Draw all of the largest times, which show lateness.
    let kept = (0..=last).filter(|&i| i % every == 0 || last - i < POINTS);
    let point = |i: usize| {
        // A logarithmic axis cannot show zero, so the curve ends at the largest time with the share before it.
        let ended = if i as u64 + 1 == completions.all {
            i
        } else {
            i + 1
        };
        Point::new(sorted[i] * 1e3, remaining(ended))
    };
    let first = Point::new(sorted[0] * 1e3, 100.0);
    let points = [first].into_iter().chain(kept.map(point));
    Series::new(name, Style::Step, points.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns completions of 1, 2, … `ended` ms, out of `all`.
    fn completions(ended: u32, all: u64) -> Completions {
        Completions {
            ended: (1..=ended).rev().map(|ms| f64::from(ms) / 1e3).collect(),
            all,
        }
    }

    /// Returns the height of the curve at `x` ms.
    fn at(series: &Series, x: f64) -> f64 {
        let mut points = series.points.iter();
        points.rfind(|point| point.x <= x).expect("a point").y
    }

    #[test]
    fn tail_reaches_the_last_percentiles() {
        let series = tail("d3", &completions(10_000, 10_000));
        for (ms, share) in [(9_900.0, 1.0), (9_990.0, 0.1), (9_999.0, 0.01)] {
            let shown = at(&series, ms);
            assert!((shown - share).abs() < 1e-9, "{shown} at {ms}");
        }
        // The median is accurate to one drawn step.
        assert!((at(&series, 5_000.0) - 50.0).abs() < 1.0);
        // The largest time is drawn at a positive height.
        let last = series.points.last().expect("a point");
        assert!(last.x > 9_999.5 && last.y > 0.0, "{last:?}");
        assert!(series.points.len() <= 2 * POINTS + 3);
    }

    #[test]
    fn unfinished_flows_keep_the_curve_up() {
        let series = tail("cubic", &completions(90, 100));
        assert!((at(&series, 1e9) - 10.0).abs() < 1e-9);
        assert!((series.points[0].y - 100.0).abs() < 1e-9);
    }
}
