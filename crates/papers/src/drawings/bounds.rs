//! Drawing of stated bounds, such as "below 7 %".

use duetime_figures::{Point, Series, Style};

use super::super::experiment::{Measure, Side};
use super::super::rows::{Bound, Bounded};
use super::Artist;

/// A stated bound on the values of one scheme.
pub(super) struct Stated<'a> {
    scheme: &'a str,
    style: Style,
    value: f64,
    /// Indices of the axis values to which the bound applies.
    pub(super) at: Vec<usize>,
}

impl Stated<'_> {
    /// Returns the bound as a series at these places.
    pub(super) fn series(&self, places: &[f64]) -> Series {
        let points = places.iter().map(|&x| Point::new(x, self.value));
        Series::new(self.scheme, self.style, points.collect())
    }
}

impl Artist<'_> {
    /// Returns the stated bounds on a measure in a panel, from checks that compare one curve with a constant.
    pub(super) fn bounds(&self, panel: usize, measure: &Measure) -> Vec<Stated<'_>> {
        let mut found = Vec::new();
        for check in self.experiment.checks.iter().filter(|check| check.stated) {
            let Side::Measured(left) = &check.left else {
                continue;
            };
            let bound = Bound::of(check);
            let here = match &left.panel {
                None => panel == 0,
                Some(name) => self.experiment.panels[panel].name == *name,
            };
            let applies = left.experiment.is_none() && left.measure(self.experiment) == measure;
            if bound.of != Bounded::Value || !here || !applies {
                continue;
            }
            let values = match &left.at {
                Some(written) => self.experiment.value(written).into_iter().collect(),
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
