//! Bounds that the papers state, such as "below 7 %", drawn where they hold.

use duetime_figures::{Point, Series, Style};

use super::super::experiment::{Measure, Side};
use super::super::rows::{Bound, Bounded};
use super::Artist;

/// A bound on one scheme's values.
pub(super) struct Stated<'a> {
    scheme: &'a str,
    style: Style,
    value: f64,
    /// Indices of the axis values at which it holds.
    pub(super) at: Vec<usize>,
}

impl Stated<'_> {
    /// Drawn at these places.
    pub(super) fn series(&self, places: &[f64]) -> Series {
        let points = places.iter().map(|&x| Point::new(x, self.value));
        Series::new(self.scheme, self.style, points.collect())
    }
}

impl Artist<'_> {
    /// The bounds that the paper states on a measure in a panel: those of checks that compare one curve with a number.
    pub(super) fn bounds(&self, panel: usize, of: &Measure) -> Vec<Stated<'_>> {
        let mut found = Vec::new();
        for check in self.of.checks.iter().filter(|check| check.stated) {
            let Side::Measured(left) = &check.left else {
                continue;
            };
            let bound = Bound::of(check);
            let here = match &left.panel {
                None => panel == 0,
                Some(name) => self.of.panels[panel].name == *name,
            };
            let own = left.experiment.is_none() && left.measure(self.of) == of;
            if bound.of != Bounded::Value || !here || !own {
                continue;
            }
            let values = match &left.at {
                Some(written) => self.of.value(written).into_iter().collect(),
                None => (check.range.0..=check.range.1).collect::<Vec<usize>>(),
            };
            for (style, value) in [(Style::AtLeast, bound.low), (Style::AtMost, bound.high)] {
                found.extend(value.map(|value| Stated {
                    scheme: &left.scheme,
                    style,
                    value,
                    at: values.clone(),
                }));
            }
        }
        found
    }
}
