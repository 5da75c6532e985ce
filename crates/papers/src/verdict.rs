//! When a published number is met and when a check holds.

use serde::{Deserialize, Serialize};

/// Whether a value was fitted, predicted, or is not in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing was fitted to it.
    Predicted,
    /// Something was fitted to it.
    Calibrated,
    /// The paper does not state it.
    NotStated,
    /// A check that the paper does not state: a bound of our interpretation.
    LooserBound,
}

/// What became of a published value or a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number is met.
    Met,
    /// The check holds.
    Holds,
    /// Not so.
    Missed,
    /// The paper states nothing to compare with.
    NotStated,
    /// This campaign does not have the point.
    NotRun,
}

impl Verdict {
    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Holds => "holds",
            Self::Missed => "missed",
            Self::NotStated => "–",
            Self::NotRun => "not run",
        }
    }

    /// Whether it counts as a success.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Met | Self::Holds)
    }
}

impl Kind {
    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Calibrated => "calibrated",
            Self::NotStated => "not stated",
            Self::LooserBound => "looser bound",
        }
    }
}

/// Largest distance of a number from the published one, as a share of the latter.
const WITHIN: f64 = 0.15;
/// Largest half-width of an interval that may hold the published value instead, as a share of the latter.
const HALF_WIDTH: f64 = 0.05;
/// The same in points, for percentages.
const HALF_WIDTH_POINTS: f64 = 1.0;

/// A number is met within 15 % of the published value, or if our interval holds that value and is no wider than
/// ± 5 % of it or, for a percentage, ± 1 point, whichever is larger.
pub fn number(published: f64, ours: f64, (low, high): (f64, f64), percentage: bool) -> Verdict {
    let size = published.abs();
    let slack = 1e-9 * size.max(1.0);
    let near = (ours - published).abs() <= WITHIN * size + slack;
    let points = if percentage { HALF_WIDTH_POINTS } else { 0.0 };
    let narrow = (high - low) / 2.0 <= (HALF_WIDTH * size).max(points) + slack;
    let inside = low < high && low <= published && published <= high;
    if near || (inside && narrow) {
        Verdict::Met
    } else {
        Verdict::Missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(published: f64, ours: f64, interval: (f64, f64), percentage: bool) -> bool {
        number(published, ours, interval, percentage) == Verdict::Met
    }

    #[test]
    fn within_fifteen_per_cent_is_met_whatever_the_interval() {
        assert!(met(36.0, 30.6, (10.0, 60.0), false));
        assert!(met(36.0, 41.4, (41.4, 41.4), false));
        assert!(!met(36.0, 30.5, (30.5, 30.5), false));
        assert!(!met(36.0, 41.5, (41.5, 41.5), false));
    }

    #[test]
    fn a_narrow_interval_may_hold_the_value_and_a_wide_one_may_not() {
        // 1 % missed, ours 1.5 % [0.9, 2.1]: 50 % off, but within a point.
        assert!(met(1.0, 1.5, (0.9, 2.1), true));
        // The same numbers in Mbps: 0.6 is wider than 5 % of 1.
        assert!(!met(1.0, 1.5, (0.9, 2.1), false));
        // More than a point to each side.
        assert!(!met(1.0, 2.0, (0.9, 3.1), true));
        // Narrow, but elsewhere.
        assert!(!met(1.0, 1.5, (1.2, 1.8), true));
        // 5 % of 100 is more than a point; 20 % off is never within an interval of that width.
        assert!(!met(100.0, 120.0, (95.0, 145.0), true));
    }

    #[test]
    fn zero_is_met_by_zero_alone_or_by_a_narrow_interval() {
        assert!(met(0.0, 0.0, (0.0, 0.0), true));
        assert!(!met(0.0, 0.4, (0.2, 0.6), true));
        assert!(met(0.0, 0.4, (0.0, 0.8), true));
    }
}
