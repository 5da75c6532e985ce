//! Where lines lie on one another. What is drawn later would hide what was drawn before; such stretches are drawn in
//! dashes, so that the colour below shows between them.

/// Lines nearer than this, in units of the drawing, cannot be told apart.
const NEAR: f64 = 2.0;
/// A shorter stretch is a crossing.
const SHORTEST: f64 = 16.0;

/// A stretch of a line, with how many earlier lines lie below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) corners: Vec<(f64, f64)>,
    pub(crate) below: usize,
}

/// Strokes and gaps for a line that lies on so many others; none if it lies on none.
pub(crate) fn dashes(below: usize) -> Option<&'static str> {
    match below {
        0 => None,
        1 => Some("8 8"),
        2 => Some("4 12"),
        _ => Some("2 14"),
    }
}

/// How many of the `earlier` lines pass through `at`.
pub(crate) fn below(at: (f64, f64), earlier: &[Vec<(f64, f64)>]) -> usize {
    earlier.iter().filter(|line| passes(line, at)).count()
}

/// Whether a line, given by its corners in order of x, passes through a place.
fn passes(line: &[(f64, f64)], (x, y): (f64, f64)) -> bool {
    // Only segments that come as near as that in x; the corners before and after belong to them.
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

/// A line cut into stretches that lie on equally many of the `earlier` lines. Each begins where the one before ends.
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
        if stretch.corners.windows(2).map(long).sum::<f64>() < SHORTEST {
            stretch.below = 0;
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_an_earlier_line_is_a_stretch_of_its_own() {
        let earlier = vec![vec![(0.0, 10.0), (100.0, 10.0)]];
        let line = [(0.0, 50.0), (20.0, 10.5), (60.0, 10.0), (100.0, 80.0)];
        let found = stretches(&line, &earlier);
        let levels: Vec<usize> = found.iter().map(|stretch| stretch.below).collect();
        assert_eq!(levels, [0, 1, 0]);
        assert_eq!(found[1].corners, [(20.0, 10.5), (60.0, 10.0)]);
        assert_eq!(found[2].corners[0], (60.0, 10.0));
    }

    #[test]
    fn a_crossing_is_none() {
        let earlier = vec![vec![(0.0, 0.0), (100.0, 100.0)]];
        let line = [(0.0, 100.0), (49.0, 51.0), (51.0, 49.0), (100.0, 0.0)];
        assert!(
            stretches(&line, &earlier)
                .iter()
                .all(|stretch| stretch.below == 0)
        );
    }

    #[test]
    fn steep_lines_are_compared_across() {
        let earlier = vec![vec![(10.0, 0.0), (10.0, 100.0), (90.0, 100.0)]];
        assert_eq!(below((11.0, 40.0), &earlier), 1);
        assert_eq!(below((14.0, 40.0), &earlier), 0);
    }
}
