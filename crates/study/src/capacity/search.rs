//! The largest number up to which a target is reached, and how sure that is.
//!
//! N99 is the largest n such that *every* n' <= n reaches 99 %: one value that falls short below makes all above it
//! worthless. Throughput need not fall steadily, and runs are finite, so bisection alone would overlook such a value.
//! The search bisects, and then looks again wherever there is a reason to doubt a stretch that it has skipped:
//!
//! - one of its ends is within its own interval of the target, or
//! - throughput rises across it or right after it, so that a valley may lie there.
//!
//! What is still skipped is counted in [`Capacity::untried`]; [`Check::All`] skips nothing.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use duetime_results::Estimate;
use duetime_results::stats::bootstrap;

/// What must be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Queries, as their objectives say; one whose answers were never sent is not in time.
    Queries,
    /// Answers over all that were asked for, and other flows with deadlines.
    Answers,
}

/// The deadlines of one run: of its queries, or of its answers and other flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Measured ones that were in time.
    pub met: u64,
    /// Measured ones that could be late.
    pub measured: u64,
}

impl Deadlines {
    /// Share that was met, in [0, 1]; `None` without any.
    pub fn throughput(self) -> Option<f64> {
        (self.measured > 0).then(|| self.met as f64 / self.measured as f64)
    }

    /// Those of all.
    pub(super) fn pooled<D: Borrow<Self>>(all: impl IntoIterator<Item = D>) -> Self {
        all.into_iter().fold(Self::default(), |sum, of| Self {
            met: sum.met + of.borrow().met,
            measured: sum.measured + of.borrow().measured,
        })
    }
}

/// The share of deadlines that must be met: above 0 and at most 1, in parts per million, so that comparing is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target(u32);

const WHOLE: u32 = 1_000_000;

impl Target {
    /// The target of N99.
    pub const N99: Self = Self(990_000);
    /// The target of N95, and of deadlines of which at most 5 % are missed.
    pub const N95: Self = Self(950_000);

    /// `share` in (0, 1], rounded to a millionth; `None` outside.
    pub fn new(share: f64) -> Option<Self> {
        let millionths = (share * f64::from(WHOLE)).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and WHOLE"
        )]
        (millionths >= 1.0 && share <= 1.0).then_some(Self(millionths as u32))
    }

    /// As a share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// Whether that many deadlines reach it.
    pub fn is_reached(self, by: Deadlines) -> bool {
        u128::from(by.met) * u128::from(WHOLE) >= u128::from(by.measured) * u128::from(self.0)
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    /// `99%`, `99.5 %` or `0.99`.
    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "write a share above 0 and at most 1, such as 99% or 0.99";
        let (number, whole) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        let number: f64 = number.parse().map_err(|_| allowed.to_owned())?;
        match Self::new(number / whole) {
            Some(target) => Ok(target),
            None if whole < 2.0 && (1.0..=100.0).contains(&number) => {
                Err(format!("{allowed} (did you mean {number}%?)"))
            }
            None => Err(allowed.to_owned()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 1e4)
    }
}

/// How much of what lies below the answer is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// The stretches that there is a reason to doubt.
    #[default]
    Doubtful,
    /// Every value: the definition to the letter.
    All,
}

/// What to look for among the whole numbers 1 (the easiest) to `last` (the hardest).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Share of deadlines that must be met.
    pub target: Target,
    /// The hardest value, at least 1.
    pub last: u32,
    /// The first value tried.
    pub start: u32,
    /// How far above it the second lies, if it is needed; the steps double from there.
    pub stride: u32,
    /// What is tried below the answer.
    pub check: Check,
}

impl Search {
    /// A search from 1 to `last` that begins in the middle.
    pub fn within(target: Target, last: u32) -> Self {
        let last = last.max(1);
        Self {
            target,
            last,
            start: last.div_ceil(2),
            stride: (last / 8).max(1),
            check: Check::default(),
        }
    }
}

/// One value that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The value.
    pub x: u32,
    /// The deadlines of all runs.
    pub deadlines: Deadlines,
    /// Share of deadlines met, with its interval over runs.
    pub throughput: Estimate,
    /// Whether that reaches the target.
    pub reached: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The largest x such that every x' <= x that was tried reaches the target; 0 where even 1 does not.
    pub value: u32,
    /// Its 95 % interval, by bootstrap over runs with the same draw at every value; `None` for a single run. Both ends
    /// are as fine as `value`: the values beside them were tried.
    pub interval: Option<(u32, u32)>,
    /// Nothing failed up to [`Search::last`]: the capacity may be larger.
    pub at_limit: bool,
    /// Values up to `value` that were not tried, for want of a reason to doubt them.
    pub untried: u32,
    /// What was tried, in ascending order.
    pub curve: Vec<Tried>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError<E> {
    /// A value could not be probed.
    #[error("{0}")]
    Probe(E),
    /// No deadline was measured at this value.
    #[error("no flow with a deadline was measured at {0}")]
    NoDeadlines(u32),
    /// This value was probed with another number of runs than the first.
    #[error("{runs} runs at {x}, but {expected} elsewhere")]
    Runs {
        /// The value.
        x: u32,
        /// Its runs.
        runs: usize,
        /// The first value's.
        expected: usize,
    },
}

/// Finds the largest x up to which the target is reached. `probe(x)` says what each run saw at x: the same number of
/// runs for every x, in the order of their seeds, so that what seeds have in common cancels. It is asked at most once
/// for each x. Its first error ends the search.
pub fn search<E>(
    of: &Search,
    mut probe: impl FnMut(u32) -> Result<Vec<Deadlines>, E>,
) -> Result<Capacity, SearchError<E>> {
    search_telling(of, |x, _| probe(x))
}

/// The same; `probe` also hears how many values bisection will try at most after this one, once a value that falls
/// short is known. Stretches that are doubted come on top.
pub(super) fn search_telling<E>(
    of: &Search,
    mut probe: impl FnMut(u32, Option<u32>) -> Result<Vec<Deadlines>, E>,
) -> Result<Capacity, SearchError<E>> {
    let mut curve = Curve {
        of: Search {
            last: of.last.max(1),
            start: of.start.clamp(1, of.last.max(1)),
            ..*of
        },
        points: BTreeMap::new(),
    };
    while let Some(x) = curve.next() {
        let runs = probe(x, curve.bisections_after(x)).map_err(SearchError::Probe)?;
        curve.add(x, runs)?;
    }
    Ok(curve.answer())
}

/// What is known so far.
struct Curve {
    of: Search,
    points: BTreeMap<u32, Point>,
}

struct Point {
    runs: Vec<Deadlines>,
    throughput: Estimate,
    reached: bool,
}

impl Curve {
    fn add<E>(&mut self, x: u32, runs: Vec<Deadlines>) -> Result<(), SearchError<E>> {
        if let Some(first) = self.points.values().next()
            && first.runs.len() != runs.len()
        {
            return Err(SearchError::Runs {
                x,
                runs: runs.len(),
                expected: first.runs.len(),
            });
        }
        let throughput = Estimate::of(&runs, |runs| {
            Deadlines::pooled(runs.iter().copied()).throughput()
        });
        let point = Point {
            throughput: throughput.ok_or(SearchError::NoDeadlines(x))?,
            reached: self.of.target.is_reached(Deadlines::pooled(&runs)),
            runs,
        };
        self.points.insert(x, point);
        Ok(())
    }

    /// The value to try next; `None` when the answer is as sure as it shall be.
    fn next(&self) -> Option<u32> {
        if self.points.is_empty() {
            return Some(self.of.start);
        }
        // The easiest value anchors all others.
        if !self.points.contains_key(&1) {
            return Some(1);
        }
        let value = self.capacity(|point| point.reached);
        self.after(value)
            .or_else(|| self.doubtful(value))
            .or_else(|| {
                let (low, high) = self.interval()?;
                self.after(low).or_else(|| self.after(high))
            })
    }

    /// The last value before the first that does not hold; 0 if none does.
    fn capacity(&self, holds: impl Fn(&Point) -> bool) -> u32 {
        let mut last = 0;
        for (&x, point) in &self.points {
            if !holds(point) {
                break;
            }
            last = x;
        }
        last
    }

    /// Where to look between `x` and the next value that was tried, or beyond it; `None` if they are neighbours.
    fn after(&self, x: u32) -> Option<u32> {
        match self.points.range(x + 1..).next() {
            Some((&next, _)) => middle(x, next),
            None if x < self.of.last => {
                let step = x.saturating_sub(self.of.start).max(self.of.stride).max(1);
                Some(x.saturating_add(step).min(self.of.last))
            }
            None => None,
        }
    }

    /// Values that bisection tries at most after `x`; `None` while all that was tried holds.
    fn bisections_after(&self, x: u32) -> Option<u32> {
        let value = self.capacity(|point| point.reached);
        let (&short, _) = self.points.range(value + 1..).next()?;
        let wider = if (value..short).contains(&x) {
            (x - value).max(short - x)
        } else {
            short - value
        };
        // Each value halves the gap; a gap of one leaves nothing to try.
        Some(wider.next_power_of_two().ilog2())
    }

    /// Where to look below `value`, which would hold if nothing below it failed.
    fn doubtful(&self, value: u32) -> Option<u32> {
        let target = self.of.target.share();
        let below: Vec<(u32, Option<&Point>)> = std::iter::once((0, None))
            .chain(
                self.points
                    .range(..=value)
                    .map(|(&x, point)| (x, Some(point))),
            )
            .collect();
        let near = |at: usize| {
            below[at]
                .1
                .is_some_and(|point| point.throughput.low() < target)
        };
        let rises_to = |at: usize| {
            let throughput = |at: usize| Some(below.get(at)?.1?.throughput.value);
            throughput(at) > throughput(at - 1)
        };
        (1..below.len()).find_map(|at| {
            let doubt = self.of.check == Check::All
                || near(at - 1)
                || near(at)
                || (at > 1 && rises_to(at))
                || rises_to(at + 1);
            doubt
                .then(|| middle(below[at - 1].0, below[at].0))
                .flatten()
        })
    }

    /// The interval of the capacity on what was tried.
    fn interval(&self) -> Option<(u32, u32)> {
        let runs = self.points.values().next()?.runs.len();
        let of_draw = |draw: &[usize]| {
            let holds = |point: &Point| {
                let drawn = Deadlines::pooled(draw.iter().map(|&run| &point.runs[run]));
                self.of.target.is_reached(drawn)
            };
            Some(f64::from(self.capacity(holds)))
        };
        let ends = bootstrap(runs, of_draw)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the ends are among the values tried, which are u32"
        )]
        Some((ends.low as u32, ends.high as u32))
    }

    fn answer(self) -> Capacity {
        let value = self.capacity(|point| point.reached);
        let tried: u32 = self.points.range(..=value).map(|_| 1).sum();
        Capacity {
            value,
            interval: self.interval(),
            at_limit: value == self.of.last,
            untried: value - tried,
            curve: self
                .points
                .into_iter()
                .map(|(x, point)| Tried {
                    x,
                    deadlines: Deadlines::pooled(&point.runs),
                    throughput: point.throughput,
                    reached: point.reached,
                })
                .collect(),
        }
    }
}

/// Half-way between two values; `None` if nothing lies between them.
fn middle(a: u32, b: u32) -> Option<u32> {
    (b - a > 1).then(|| a + (b - a) / 2)
}

#[cfg(test)]
mod tests;
