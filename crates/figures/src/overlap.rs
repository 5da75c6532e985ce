//! Detection of overlapping lines. A later line would hide an earlier one, so overlapping stretches are dashed and the
//! colour below shows in the gaps.

/// Distance below which lines cannot be distinguished, in units of the drawing.
const NEAR: f64 = 2.0;
/// Minimum length of an overlap; shorter ones are crossings.
const MIN_OVERLAP: f64 = 16.0;

/// Stretch of a line, with the number of earlier lines below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) corners: Vec<(f64, f64)>,
    pub(crate) below: usize,
}

/// Returns the dash pattern of a line that covers `below` others, or `None` if it covers none.
pub(crate) fn dashes(below: usize) -> Option<&'static str> {
    match below {
        0 => None,
        1 => Some("8 8"),
        2 => Some("4 12"),
        _ => Some("2 14"),
    }
}

/// Returns the number of `earlier` lines that pass through `at`.
pub(crate) fn below(at: (f64, f64), earlier: &[Vec<(f64, f64)>]) -> usize {
    earlier.iter().filter(|line| passes(line, at)).count()
}

/// Returns true if a line, given by its corners in order of x, passes through a point.
fn passes(line: &[(f64, f64)], (x, y): (f64, f64)) -> bool {
    // Consider only segments within this distance in x, including the corners before and after.
    let from = line.partition_point(|corner| corner.0 < x - NEAR);
    let to = line.partition_point(|corner| corner.0 <= x + NEAR);
    let near = &line[from.saturating_sub(1)..(to + 1).min(line.len())];
    near.windows(2)
        .any(|pair| distance((x, y), pair[0], pair[1]) <= NEAR)
}

fn distance((x, y): (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let size = dx * dx + dy * dy;
    let along = if size > 0.0 {
        (((x - a.0) * dx + (y - a.1) * dy) / size).clamp(0.0, 1.0)
    } else {
        0.0
    };
    libm::hypot(x - a.0 - along * dx, y - a.1 - along * dy)
}

/// Splits a line into stretches that each cover a constant number of `earlier` lines. Each stretch begins where the
/// previous one ends.
pub(crate) fn stretches(line: &[(f64, f64)], earlier: &[Vec<(f64, f64)>]) -> Vec<Stretch> {
    let levels: Vec<usize> = line.iter().map(|&at| below(at, earlier)).collect();
    let mut stretches: Vec<Stretch> = Vec::new();
    for (i, pair) in line.windows(2).enumerate() {
        let level = levels[i].min(levels[i + 1]);
        match stretches.last_mut() {
            Some(last) if last.below == level => last.corners.push(pair[1]),
            _ => stretches.push(Stretch {
                corners: pair.to_vec(),
                below: level,
            }),
        }
    }
    for stretch in &mut stretches {
        let long = |pair: &[(f64, f64)]| libm::hypot(pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        if stretch.corners.windows(2).map(long).sum::<f64>() < MIN_OVERLAP {
            stretch.below = 0;
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_becomes_a_separate_stretch() {
        let earlier = vec![vec![(0.0, 10.0), (100.0, 10.0)]];
        let line = [(0.0, 50.0), (20.0, 10.5), (60.0, 10.0), (100.0, 80.0)];
        let found = stretches(&line, &earlier);
        let levels: Vec<usize> = found.iter().map(|stretch| stretch.below).collect();
        assert_eq!(levels, [0, 1, 0]);
        assert_eq!(found[1].corners, [(20.0, 10.5), (60.0, 10.0)]);
        assert_eq!(found[2].corners[0], (60.0, 10.0));
    }

    #[test]
    fn crossing_is_not_an_overlap() {
        let earlier = vec![vec![(0.0, 0.0), (100.0, 100.0)]];
        let line = [(0.0, 100.0), (49.0, 51.0), (51.0, 49.0), (100.0, 0.0)];
        assert!(
            stretches(&line, &earlier)
                .iter()
                .all(|stretch| stretch.below == 0)
        );
    }

    #[test]
    fn distance_to_steep_lines() {
        let earlier = vec![vec![(10.0, 0.0), (10.0, 100.0), (90.0, 100.0)]];
        assert_eq!(below((11.0, 40.0), &earlier), 1);
        assert_eq!(below((14.0, 40.0), &earlier), 0);
    }
}
