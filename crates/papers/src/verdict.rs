//! Verdicts on published numbers and checks.

use serde::{Deserialize, Serialize};

/// Origin of a compared value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A published value to which nothing was fitted.
    Predicted,
    /// A published value to which something was fitted.
    Calibrated,
    /// A value that the paper does not state.
    NotStated,
    /// A bound of our interpretation that the paper does not state.
    LooserBound,
}

/// Verdict on a published value or a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number is met.
    Met,
    /// The check holds.
    Holds,
    /// The number is not met, or the check does not hold.
    Missed,
    /// The paper states no value.
    NotStated,
    /// The point is not part of the campaign.
    NotRun,
}

impl Verdict {
    /// Returns the text in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Holds => "holds",
            Self::Missed => "missed",
            Self::NotStated => "–",
            Self::NotRun => "not run",
        }
    }

    /// Returns true for `Met` and `Holds`.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Met | Self::Holds)
    }
}

impl Kind {
    /// Returns the text in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Calibrated => "calibrated",
            Self::NotStated => "not stated",
            Self::LooserBound => "looser bound",
        }
    }
}

/// Largest relative distance from the published value.
const WITHIN: f64 = 0.15;
/// Largest half-width of an interval that contains the published value, as a share of that value.
const HALF_WIDTH: f64 = 0.05;
/// Largest half-width of such an interval of a percentage, in points.
const HALF_WIDTH_POINTS: f64 = 1.0;

/// Compares a number with the published value. It is met within 15 % of that value, or if our interval contains it and
/// is no wider than ± 5 % of it or, for a percentage, ± 1 point, whichever is larger.
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

/// Returns true if all values in the range have the same verdict, whatever their interval.
pub(super) fn is_settled(published: f64, (low, high): (f64, f64)) -> bool {
    let reach = WITHIN * published.abs() + 1e-9 * published.abs().max(1.0);
    let (least, most) = (published - reach, published + reach);
    least <= low && high <= most || high < least || most < low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(published: f64, ours: f64, interval: (f64, f64), percentage: bool) -> bool {
        number(published, ours, interval, percentage) == Verdict::Met
    }

    #[test]
    fn within_15_percent_is_met() {
        assert!(met(36.0, 30.6, (10.0, 60.0), false));
        assert!(met(36.0, 41.4, (41.4, 41.4), false));
        assert!(!met(36.0, 30.5, (30.5, 30.5), false));
        assert!(!met(36.0, 41.5, (41.5, 41.5), false));
    }

    #[test]
    fn interval_must_be_narrow() {
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
    fn zero_needs_zero_or_narrow_interval() {
        assert!(met(0.0, 0.0, (0.0, 0.0), true));
        assert!(!met(0.0, 0.4, (0.2, 0.6), true));
        assert!(met(0.0, 0.4, (0.0, 0.8), true));
    }
}
