//! Ranges that the axes of each panel must show. Panels of one figure with equal axes share their ends, so that they
//! can be compared by eye, and shared linear y axes include zero.

use crate::axis::{Extent, Span};
use crate::panel::{Axis, Panel, Scale};
use crate::series::Style;

/// Ranges of the data on the two axes of a panel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) x: Option<Extent>,
    pub(crate) y: Option<Extent>,
    /// True if the y axis must show zero.
    pub(crate) zero: bool,
}

impl Reach {
    fn new(panel: &Panel) -> Self {
        let points = || panel.series.iter().flat_map(|series| &series.points);
        let at = |vertical: bool| {
            let guides = panel.guides.iter();
            guides
                .filter(move |guide| guide.vertical == vertical)
                .map(|guide| guide.at)
        };
        let across = points().map(|point| point.x).chain(at(true));
        let up = points()
            .flat_map(|point| [point.y, point.low, point.high])
            .chain(at(false));
        Self {
            x: Extent::new(across, &panel.x.scale),
            y: Extent::new(up, &panel.y.scale),
            zero: panel
                .series
                .iter()
                .any(|series| series.style == Style::Bars),
        }
    }

    /// Returns the x and the y axis of the panel.
    pub(crate) fn spans(&self, panel: &Panel) -> (Span, Span) {
        (
            Span::new(&panel.x, self.x, true, false),
            Span::new(&panel.y, self.y, false, self.zero),
        )
    }
}

/// Returns true if two axes show the same quantity.
fn same_quantity(a: &Axis, b: &Axis) -> bool {
    a == b && !matches!(a.scale, Scale::Names(_))
}

/// Fixes the axes of panels in different figures as if they were panels of one figure.
pub fn share_axes(panels: &mut [Panel]) {
    let reaches = reaches(panels);
    for (panel, reach) in panels.iter_mut().zip(reaches) {
        let (x, y) = reach.spans(panel);
        for (axis, span) in [(&mut panel.x, x), (&mut panel.y, y)] {
            if !matches!(axis.scale, Scale::Names(_)) {
                let (from, to) = span.ends();
                (axis.from, axis.to) = (Some(from), Some(to));
            }
        }
    }
}

/// Returns the ranges of each panel, after sharing.
pub(crate) fn reaches(panels: &[Panel]) -> Vec<Reach> {
    let unshared: Vec<Reach> = panels.iter().map(Reach::new).collect();
    let others = |index: usize, axis: fn(&Panel) -> &Axis| {
        let reference = axis(&panels[index]);
        (0..panels.len())
            .filter(move |&other| other != index && same_quantity(axis(&panels[other]), reference))
    };
    let shared = |index: usize| {
        let mut reach = unshared[index];
        for other in others(index, |panel| &panel.x) {
            reach.x = Extent::join(reach.x, unshared[other].x);
        }
        for other in others(index, |panel| &panel.y) {
            reach.y = Extent::join(reach.y, unshared[other].y);
            reach.zero = true;
        }
        reach
    };
    (0..panels.len()).map(shared).collect()
}
