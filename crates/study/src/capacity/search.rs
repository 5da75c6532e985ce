//! Search for the largest number up to which a target is reached, with its confidence interval.
//!
//! N99 is the largest n such that *every* n' <= n reaches 99 %: a value that fails below disqualifies all values above
//! it. Throughput does not always fall steadily, and runs are finite, so bisection alone can miss such a value. The
//! search bisects, and then also tries a skipped range if:
//!
//! - an end of the range is within its own interval of the target, or
//! - throughput rises across the range or directly after it, so that it may contain a minimum.
//!
//! [`Capacity::untried`] counts the values that are still skipped. [`Check::All`] skips none.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use duetime_results::Estimate;
use duetime_results::stats::bootstrap;

/// Unit that must be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Queries, by their objectives. A query without answers is not in time.
    Queries,
    /// Answers, as a share of all requested answers, and other flows with deadlines.
    Answers,
}

/// Deadlines of one run: those of its queries, or of its answers and other flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Measured deadlines that were met.
    pub met: u64,
    /// Measured deadlines.
    pub measured: u64,
}

impl Deadlines {
    /// Returns the share that was met, in [0, 1], or `None` without any deadlines.
    pub fn throughput(self) -> Option<f64> {
        (self.measured > 0).then(|| self.met as f64 / self.measured as f64)
    }

    /// Returns the sum of all deadlines.
    pub(super) fn pooled<D: Borrow<Self>>(all: impl IntoIterator<Item = D>) -> Self {
        all.into_iter().fold(Self::default(), |sum, run| Self {
            met: sum.met + run.borrow().met,
            measured: sum.measured + run.borrow().measured,
        })
    }
}

/// Share of deadlines that must be met, above 0 and at most 1, stored in parts per million, so that comparisons are
/// exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target(u32);

const WHOLE: u32 = 1_000_000;

impl Target {
    /// Target of N99.
    pub const N99: Self = Self(990_000);
    /// Target of N95, and of searches for the tightest deadlines.
    pub const N95: Self = Self(950_000);

    /// Creates a target from a share in (0, 1], rounded to a millionth. Returns `None` for other values.
    pub fn new(share: f64) -> Option<Self> {
        let millionths = (share * f64::from(WHOLE)).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and WHOLE"
        )]
        (millionths >= 1.0 && share <= 1.0).then_some(Self(millionths as u32))
    }

    /// Returns the target as a share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// Returns true if these deadlines reach the target.
    pub fn is_reached(self, by: Deadlines) -> bool {
        u128::from(by.met) * u128::from(WHOLE) >= u128::from(by.measured) * u128::from(self.0)
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    /// Parses a share such as `99%`, `99.5 %` or `0.99`.
    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "expected a share above 0 and at most 1, such as 99% or 0.99";
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

/// Policy for values below the answer that bisection skips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Try the uncertain ranges.
    #[default]
    Doubtful,
    /// Try every value.
    All,
}

/// Settings of a search among the whole numbers from 1 (easiest) to `last` (hardest).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Share of deadlines that must be met.
    pub target: Target,
    /// Hardest value, at least 1.
    pub last: u32,
    /// First value to try.
    pub start: u32,
    /// Distance from the first to the second value, if a harder one is needed. Later steps double.
    pub stride: u32,
    /// Policy for skipped values below the answer.
    pub check: Check,
}

impl Search {
    /// Creates a search from 1 to `last` that starts in the middle.
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

/// Tried value.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Value.
    pub x: u32,
    /// Deadlines of all runs.
    pub deadlines: Deadlines,
    /// Share of deadlines met, with its interval over runs.
    pub throughput: Estimate,
    /// True if the target is reached.
    pub reached: bool,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Largest x such that every tried x' <= x reaches the target; 0 if 1 fails.
    pub value: u32,
    /// 95 % interval of the value, by bootstrap over runs with the same draw at every value; `None` for a single run.
    /// The ends are as exact as `value`: their neighbours were tried.
    pub interval: Option<(u32, u32)>,
    /// True if no value up to [`Search::last`] failed, so the capacity may be larger.
    pub at_limit: bool,
    /// Number of values up to `value` that were not tried.
    pub untried: u32,
    /// Tried values in ascending order.
    pub curve: Vec<Tried>,
}

/// Error of a search.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError<E> {
    /// A value could not be probed.
    #[error("{0}")]
    Probe(E),
    /// No deadline was measured at this value.
    #[error("no flow with a deadline was measured at {0}")]
    NoDeadlines(u32),
    /// The number of runs at this value differs from that at the first value.
    #[error("{runs} runs at {x}, but {expected} elsewhere")]
    Runs {
        /// Value.
        x: u32,
        /// Number of runs at this value.
        runs: usize,
        /// Number of runs at the first value.
        expected: usize,
    },
}

/// Finds the largest x up to which the target is reached. `probe(x)` returns the deadlines of each run at x: the same
/// number of runs for every x, in the order of their seeds, so that common random draws cancel. It is called at most
/// once for each x. The first error of `probe` ends the search.
pub fn search<E>(
    settings: &Search,
    mut probe: impl FnMut(u32) -> Result<Vec<Deadlines>, E>,
) -> Result<Capacity, SearchError<E>> {
    search_with_progress(settings, |x, _| probe(x))
}

/// Searches as [`search`] does. Also passes to `probe` the maximum number of values that bisection tries after this
/// one, or `None` while no value has failed. Tries of uncertain ranges are not included.
pub(super) fn search_with_progress<E>(
    settings: &Search,
    mut probe: impl FnMut(u32, Option<u32>) -> Result<Vec<Deadlines>, E>,
) -> Result<Capacity, SearchError<E>> {
    let mut curve = Curve {
        search: Search {
            last: settings.last.max(1),
            start: settings.start.clamp(1, settings.last.max(1)),
            ..*settings
        },
        points: BTreeMap::new(),
    };
    while let Some(x) = curve.next() {
        let runs = probe(x, curve.bisections_after(x)).map_err(SearchError::Probe)?;
        curve.add(x, runs)?;
    }
    Ok(curve.answer())
}

/// Values tried so far.
struct Curve {
    search: Search,
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
            reached: self.search.target.is_reached(Deadlines::pooled(&runs)),
            runs,
        };
        self.points.insert(x, point);
        Ok(())
    }

    /// Returns the value to try next, or `None` if the search is complete.
    fn next(&self) -> Option<u32> {
        if self.points.is_empty() {
            return Some(self.search.start);
        }
        // Without the easiest value, no range below the others is bounded.
        if !self.points.contains_key(&1) {
            return Some(1);
        }
        let value = self.capacity(|point| point.reached);
        self.after(value)
            .or_else(|| self.uncertain(value))
            .or_else(|| {
                let (low, high) = self.interval()?;
                self.after(low).or_else(|| self.after(high))
            })
    }

    /// Returns the last value before the first for which `holds` returns false, or 0 if the first value fails.
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

    /// Returns a value between `x` and the next tried value, or beyond `x` if it is the last. Returns `None` if no
    /// value is left.
    fn after(&self, x: u32) -> Option<u32> {
        match self.points.range(x + 1..).next() {
            Some((&next, _)) => middle(x, next),
            None if x < self.search.last => {
                let step = x
                    .saturating_sub(self.search.start)
                    .max(self.search.stride)
                    .max(1);
                Some(x.saturating_add(step).min(self.search.last))
            }
            None => None,
        }
    }

    /// Returns the maximum number of values that bisection tries after `x`, or `None` while no value has failed.
    fn bisections_after(&self, x: u32) -> Option<u32> {
        let value = self.capacity(|point| point.reached);
        let (&short, _) = self.points.range(value + 1..).next()?;
        let wider = if (value..short).contains(&x) {
            (x - value).max(short - x)
        } else {
            short - value
        };
        // Each value halves the gap, and a gap of one is final.
        Some(wider.next_power_of_two().ilog2())
    }

    /// Returns a value to try in an uncertain range below `value`, or `None` if there is none.
    fn uncertain(&self, value: u32) -> Option<u32> {
        let target = self.search.target.share();
        let below: Vec<(u32, Option<&Point>)> = std::iter::once((0, None))
            .chain(
                self.points
                    .range(..=value)
                    .map(|(&x, point)| (x, Some(point))),
            )
            .collect();
        let near = |index: usize| {
            below[index]
                .1
                .is_some_and(|point| point.throughput.low() < target)
        };
        let rises_to = |index: usize| {
            let throughput = |index: usize| Some(below.get(index)?.1?.throughput.value);
            throughput(index) > throughput(index - 1)
        };
        (1..below.len()).find_map(|index| {
            let is_uncertain = self.search.check == Check::All
                || near(index - 1)
                || near(index)
                || (index > 1 && rises_to(index))
                || rises_to(index + 1);
            is_uncertain
                .then(|| middle(below[index - 1].0, below[index].0))
                .flatten()
        })
    }

    /// Returns the interval of the capacity from the tried values.
    fn interval(&self) -> Option<(u32, u32)> {
        let runs = self.points.values().next()?.runs.len();
        let capacity_of = |draw: &[usize]| {
            let holds = |point: &Point| {
                let drawn = Deadlines::pooled(draw.iter().map(|&run| &point.runs[run]));
                self.search.target.is_reached(drawn)
            };
            Some(f64::from(self.capacity(holds)))
        };
        let ends = bootstrap(runs, capacity_of)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the ends are among the tried values, which are u32"
        )]
        Some((ends.low as u32, ends.high as u32))
    }

    fn answer(self) -> Capacity {
        let value = self.capacity(|point| point.reached);
        let tried: u32 = self.points.range(..=value).map(|_| 1).sum();
        Capacity {
            value,
            interval: self.interval(),
            at_limit: value == self.search.last,
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

/// Returns the value half-way between two values, or `None` if they are adjacent.
fn middle(a: u32, b: u32) -> Option<u32> {
    (b - a > 1).then(|| a + (b - a) / 2)
}

#[cfg(test)]
mod tests;
