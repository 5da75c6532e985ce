//! The figure of a study.

use crate::study::Completions;
use duetime_figures::{Axis, Figure, Guide, Palette, Panel, Point, Series, Style};

/// Points of a curve.
const POINTS: usize = 160;

/// The share that was complete by each time, for each transport by name, with the budget in seconds; `None` without any.
pub fn completions(curves: &[(&str, Completions)], budget_s: Option<f64>) -> Option<String> {
    let drawn = curves.iter().filter(|(_, of)| !of.ended.is_empty());
    let series: Vec<Series> = drawn.map(|(name, of)| curve(name, of)).collect();
    if series.is_empty() {
        return None;
    }
    let mut panel = Panel::new(
        Axis::log("completion time", "ms"),
        Axis::linear("complete", "%").between(0.0, 100.0),
        series,
    );
    panel.guides.extend(budget_s.map(|budget| Guide {
        vertical: true,
        at: budget * 1e3,
        label: "budget".to_owned(),
    }));
    let figure = Figure {
        palette: Palette::of_transports(),
        ..Figure::single(
            "Share complete by each time",
            "For each transport, the share that was complete by each time. The table has the same in numbers.",
            panel,
        )
    };
    Some(figure.to_svg())
}

/// The empirical CDF in few points; those that never ended keep it below all.
fn curve(name: &str, of: &Completions) -> Series {
    let mut sorted = of.ended.clone();
    sorted.sort_by(f64::total_cmp);
    let share = |i: usize| (i + 1) as f64 * 100.0 / of.all as f64;
    let every = (sorted.len() / POINTS).max(1);
    let last = sorted.len() - 1;
    // The tail, where lateness shows, in full.
    let kept = (0..=last).filter(|&i| i % every == 0 || last - i < POINTS);
    let points = kept.map(|i| Point::new(sorted[i] * 1e3, share(i)));
    let first = Point::new(sorted[0] * 1e3, 0.0);
    Series::new(
        name,
        Style::Step,
        [first].into_iter().chain(points).collect(),
    )
}
