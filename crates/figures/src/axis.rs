//! Mapping of values to positions, and the ticks of an axis.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ticks and powers of ten are small whole numbers, and casts from floats saturate"
)]

use crate::panel::{Axis, Scale};

/// Axis with known ends.
pub(crate) struct Span {
    from: f64,
    to: f64,
    log: bool,
    /// Values and labels.
    pub ticks: Vec<(f64, String)>,
}

/// Range of the data on an axis: finite values, and only positive ones on a logarithmic axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    low: f64,
    high: f64,
}

impl Extent {
    /// Returns the smallest extent that contains both.
    pub(crate) fn join(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Self {
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            }),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn new(values: impl Iterator<Item = f64>, scale: &Scale) -> Option<Self> {
        let fits = |value: &f64| value.is_finite() && (*scale != Scale::Log || *value > 0.0);
        values
            .filter(fits)
            .fold(None, |extent, value| match extent {
                None => Some(Self {
                    low: value,
                    high: value,
                }),
                Some(Self { low, high }) => Some(Self {
                    low: low.min(value),
                    high: high.max(value),
                }),
            })
    }
}

impl Span {
    /// Creates the axis for `extent`. `snug` axes end at their data, others at a tick. If `zero` is true, the axis
    /// includes zero.
    pub(crate) fn new(axis: &Axis, extent: Option<Extent>, snug: bool, zero: bool) -> Self {
        match &axis.scale {
            Scale::Names(names) => Self {
                from: -0.5,
                to: names.len().max(1) as f64 - 0.5,
                log: false,
                ticks: names
                    .iter()
                    .enumerate()
                    .map(|(i, name)| (i as f64, name.clone()))
                    .collect(),
            },
            Scale::Linear => Self::linear(axis, extent, snug, zero),
            Scale::Log => Self::log(axis, extent),
        }
    }

    /// Returns the position of a value, from 0 at the start of the axis to 1 at its end, or `None` if the axis cannot
    /// show it.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = if self.log {
            if value <= 0.0 {
                return None;
            }
            libm::log(value / self.from) / libm::log(self.to / self.from)
        } else {
            (value - self.from) / (self.to - self.from)
        };
        place.is_finite().then_some(place)
    }

    /// Returns the value at a position from 0 to 1.
    pub(crate) fn value(&self, place: f64) -> f64 {
        if self.log {
            self.from * libm::pow(self.to / self.from, place)
        } else {
            self.from + (self.to - self.from) * place
        }
    }

    /// Returns the first and the last value of the axis.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// Returns the base of bars: zero, or the end of the axis nearest to it.
    pub(crate) fn ground(&self) -> f64 {
        if self.log {
            self.from
        } else {
            0.0_f64.clamp(self.from, self.to)
        }
    }

    fn linear(axis: &Axis, extent: Option<Extent>, snug: bool, zero: bool) -> Self {
        let Extent { mut low, mut high } = extent.unwrap_or(Extent {
            low: 0.0,
            high: 1.0,
        });
        // Include zero if the data come near it; for a snug axis, only if they almost start there.
        let near = if snug { 0.1 } else { 0.5 };
        if zero || (low > 0.0 && low < high * near) {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        (low, high) = (
            finite(axis.from).unwrap_or(low),
            finite(axis.to).unwrap_or(high),
        );
        (low, high) = (low.clamp(-MAX_END, MAX_END), high.clamp(-MAX_END, MAX_END));
        if high - low <= f64::EPSILON * low.abs().max(high.abs()) {
            let by = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low, high) = (if low == 0.0 { 0.0 } else { low - by }, low + by);
        }
        let step = nice_step((high - low) / 5.0);
        let size = step.size();
        if !snug {
            low = finite(axis.from)
                .unwrap_or((low / size + 1e-9).floor() * size)
                .min(low);
            high = finite(axis.to)
                .unwrap_or((high / size - 1e-9).ceil() * size)
                .max(high);
        } else if axis.to.is_none() {
            // If the axis almost ends at a tick, extend it to the tick.
            let next = (high / size - 1e-9).ceil() * size;
            if next - high <= (high - low) * 0.04 {
                high = next;
            }
        }
        let slack = (high - low) * 1e-9;
        let first = ((low - slack) / step.size()).ceil() as i64;
        let last = ((high + slack) / step.size()).floor() as i64;
        let ticks = (first..=last).take(20).map(|i| (step.at(i), step.label(i)));
        Self {
            from: low,
            to: high,
            log: false,
            ticks: ticks.collect(),
        }
    }

    fn log(axis: &Axis, extent: Option<Extent>) -> Self {
        let positive = |value: Option<f64>| finite(value).filter(|value| *value > 0.0);
        let Extent { low, high } = extent.unwrap_or(Extent {
            low: 1.0,
            high: 10.0,
        });
        let (low, high) = (
            positive(axis.from).unwrap_or(low),
            positive(axis.to).unwrap_or(high),
        );
        let high = high.max(low);
        let decade = |value: f64| libm::floor(libm::log10(value)) as i32;
        // Candidates are 1, 2 and 5 times the powers of ten around the data.
        let (first, last) = (decade(low).max(-300), decade(high).min(300));
        let all: Vec<Step> = (first..=last + 1)
            .flat_map(|exponent| [1, 2, 5].map(|digit| Step { digit, exponent }))
            .collect();
        let from = positive(axis.from).unwrap_or_else(|| {
            all.iter()
                .map(Step::size)
                .take_while(|&size| size <= low * 1.000_001)
                .last()
                .unwrap_or(low)
        });
        let covers = |size: &f64| *size >= high * 0.999_999 && *size > from * 1.5;
        let to = positive(axis.to)
            .filter(|&to| to > from)
            .unwrap_or_else(|| {
                all.iter()
                    .map(Step::size)
                    .find(covers)
                    .unwrap_or(high * 10.0)
            });
        let decades = libm::log10(to / from);
        let every = (decades / 8.0).ceil().max(1.0) as i32;
        let shown = |step: &&Step| match step.digit {
            1 => decades <= 8.0 || step.exponent % every == 0,
            _ => decades <= 2.1,
        };
        let inside = |step: &&Step| (from * 0.999_999..=to * 1.000_001).contains(&step.size());
        let ticks = all
            .iter()
            .filter(inside)
            .filter(shown)
            .map(|step| (step.size(), step.label(1)));
        Self {
            from,
            to,
            log: true,
            ticks: ticks.collect(),
        }
    }
}

/// Largest absolute end of a linear axis, so that ticks beyond the data remain finite. Values outside are not placed.
const MAX_END: f64 = 1e300;

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// A digit times a power of ten, stored separately so that labels are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    digit: i64,
    exponent: i32,
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> Step {
    let exponent = libm::floor(libm::log10(rough.max(1e-300))) as i32;
    let digits = [1, 2, 5].map(|digit| Step { digit, exponent });
    digits
        .into_iter()
        .find(|step| step.size() >= rough * 0.999_999)
        .unwrap_or(Step {
            digit: 1,
            exponent: exponent + 1,
        })
}

impl Step {
    fn size(&self) -> f64 {
        self.at(1)
    }

    fn at(&self, i: i64) -> f64 {
        let count = (i * self.digit) as f64;
        match self.exponent {
            0.. => count * libm::pow(10.0, f64::from(self.exponent)),
            _ => count / libm::pow(10.0, f64::from(-self.exponent)),
        }
    }

    fn label(&self, i: i64) -> String {
        let count = i * self.digit;
        if count == 0 {
            return "0".to_owned();
        }
        match self.exponent {
            ..-6 | 15.. => format!("{count}e{}", self.exponent),
            -6..0 => {
                let text = format!("{:.*}", self.exponent.unsigned_abs() as usize, self.at(i));
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => thousands(count * 10_i64.pow(self.exponent as u32)),
        }
    }
}

/// Formats 12000 as 12k, but leaves 9000 unchanged.
fn thousands(value: i64) -> String {
    for (unit, name) in [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ] {
        if value.abs() >= 10_000.max(unit) && value % (unit / 10) == 0 {
            let (whole, part) = (value / unit, (value % unit).abs() / (unit / 10));
            return if part == 0 {
                format!("{whole}{name}")
            } else {
                format!("{whole}.{part}{name}")
            };
        }
    }
    value.to_string()
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "snapshot files are rewritten if the environment variable BLESS is set"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis, low: f64, high: f64, snug: bool) -> Vec<String> {
        let extent = Extent::new([low, high].into_iter(), &axis.scale);
        Span::new(axis, extent, snug, false)
            .ticks
            .into_iter()
            .map(|tick| tick.1)
            .collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::default();
        assert_eq!(
            labels(&axis, 0.0, 1.0, false),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(
            labels(&axis, 3.0, 97.0, false),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(labels(&axis, 5.0, 40.0, true), ["10", "20", "30", "40"]);
        assert_eq!(labels(&axis, 97.1, 99.9, false), ["97", "98", "99", "100"]);
        assert_eq!(
            labels(&axis, 0.0, 45_000.0, false),
            ["0", "10k", "20k", "30k", "40k", "50k"]
        );
        assert_eq!(labels(&axis, 0.0, 1.2e12, true), ["0", "500G", "1T"]);
        assert_eq!(
            labels(&axis, -0.02, 0.013, false),
            ["-0.02", "-0.01", "0", "0.01", "0.02"]
        );
        assert_eq!(
            labels(&axis, 0.0, 0.0, false).first().map(String::as_str),
            Some("0")
        );
    }

    #[test]
    fn log_ticks_are_decades_or_1_2_5() {
        let axis = Axis::log("", "");
        assert_eq!(
            labels(&axis, 0.5, 20_000.0, false),
            ["1", "10", "100", "1000", "10k"]
        );
        assert_eq!(
            labels(&axis, 3.0, 45.0, false),
            ["2", "5", "10", "20", "50"]
        );
        assert_eq!(labels(&axis, 10.0, 10.0, false), ["10", "20"]);
    }

    /// Compares axes of many kinds with a JSON snapshot that also tests the script of the report page
    /// (`tests/browser/axis.test.mjs`).
    #[test]
    fn ticks_match_the_page_script() {
        let data = [
            (0.0, 1.0),
            (3.0, 97.0),
            (5.0, 40.0),
            (97.1, 99.9),
            (0.0, 45_000.0),
            (-0.02, 0.013),
            (0.0, 0.0),
            (0.000_12, 0.000_57),
            (0.5, 20_000.0),
            (1e-7, 3e-4),
            (2.0, 2.0),
            (-4.0, 1e16),
            (1e11, 2.4e12),
            (1_234.5, 1_234.9),
        ];
        let requested = [
            (None, None),
            (Some(0.0), Some(100.0)),
            (Some(0.31), Some(0.47)),
            (Some(2.0), Some(512.0)),
        ];
        let mut cases = Vec::new();
        for ((low, high), (from, to)) in data
            .into_iter()
            .flat_map(|data| requested.map(|ends| (data, ends)))
        {
            for kind in 0..5 {
                let [snug, zero, log] = [1, 2, 4].map(|bit| kind & bit != 0);
                let axis = Axis {
                    scale: if log { Scale::Log } else { Scale::Linear },
                    from,
                    to,
                    ..Axis::default()
                };
                let extent = Extent::new([low, high].into_iter(), &axis.scale);
                let span = Span::new(&axis, extent, snug, zero);
                let case = serde_json::json!({
                    "log": log, "snug": snug, "zero": zero, "asked": [from, to],
                    "reach": extent.map_or([None; 2], |extent| [extent.low, extent.high].map(Some)),
                    "ends": [span.from, span.to], "ticks": span.ticks,
                });
                cases.push(case.to_string());
            }
        }
        let text = format!("[\n{}\n]\n", cases.join(",\n"));
        if std::env::var_os("BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/snapshots/axes.json");
            std::fs::write(path, &text).expect("the snapshot can be written");
            return;
        }
        assert_eq!(
            text,
            include_str!("snapshots/axes.json"),
            "if the change is intended, run the test once with BLESS=1"
        );
    }

    #[test]
    fn names_are_spaced_evenly() {
        let axis = Axis::names("", ["a", "b"]);
        let span = Span::new(&axis, None, true, false);
        assert_eq!(span.place(0.0), Some(0.25));
        assert_eq!(span.place(1.0), Some(0.75));
    }

    #[test]
    fn huge_values_have_a_finite_axis() {
        for snug in [false, true] {
            let axis = Axis::default();
            let extent = Extent::new([0.0, 1.6e308].into_iter(), &axis.scale);
            let span = Span::new(&axis, extent, snug, true);
            assert_eq!(span.ends(), (0.0, MAX_END));
            assert_eq!(span.ticks.len(), 6, "{:?}", span.ticks);
        }
    }

    proptest! {
        #[test]
        fn ticks_are_within_the_axis(
            a in -1e12f64..1e12,
            size in 1e-9f64..1e12,
            log in any::<bool>(),
            snug in any::<bool>(),
            zero in any::<bool>(),
        ) {
            let axis = if log { Axis::log("", "") } else { Axis::default() };
            let low = if log { a.abs() + 1e-9 } else { a };
            let high = low + size;
            let span = Span::new(&axis, Extent::new([low, high].into_iter(), &axis.scale), snug, zero);
            prop_assert!((1..=24).contains(&span.ticks.len()), "{:?}", span.ticks);
            for (value, _) in &span.ticks {
                let place = span.place(*value).unwrap();
                prop_assert!((-1e-6..=1.000_001).contains(&place), "{value} at {place}");
            }
            prop_assert!(span.ticks.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for value in [low, high] {
                let place = span.place(value).unwrap();
                prop_assert!((-1e-4..=1.0001).contains(&place), "{value} at {place}");
            }
        }
    }
}
