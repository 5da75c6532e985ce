//! Drawings of samples: single flows, distributions and links over time.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number of samples, and casts from floats saturate"
)]

use std::sync::Arc;

use duetime_figures::{Axis, Panel, Point, Series, Style};

use super::super::experiment::{Method, Sampled};
use super::super::spread::Pooled;
use super::super::sums::Sums;
use super::{Artist, Drawn, Sketch, join_non_empty};

impl Artist<'_> {
    /// Draws each flow at its deadline, one figure per scheme and panel.
    pub(super) fn scatter(&self, drawn: &mut Vec<Drawn>) {
        /// Maximum number of points; more would overlap.
        const MAX_POINTS: usize = 1500;
        let mut sketches = Vec::new();
        for (panel, settings) in self.experiment.panels.iter().enumerate() {
            for (scheme, curve) in self.experiment.schemes.iter().enumerate() {
                let values = 0..self.experiment.axis.values.len();
                let flows: Vec<(u64, Option<u64>)> = values
                    .flat_map(|value| self.results.seeds(self.index, panel, scheme, value))
                    .flat_map(|sums| sums.flows.iter().copied())
                    .collect();
                let step = flows.len().div_ceil(MAX_POINTS).max(1);
                let ms = |ns: u64| ns as f64 * 1e-6;
                let mut points: Vec<Point> = flows
                    .iter()
                    .step_by(step)
                    .filter_map(|&(allowed, took)| Some(Point::new(ms(allowed), ms(took?))))
                    .collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                let longest = points.iter().map(|point| point.x).fold(0.0, f64::max);
                let edge = [0.5, longest.max(1.0)].map(|at| Point::new(at, at));
                let mut line =
                    Series::new("ideal", Style::Line, edge.to_vec()).labelled("deadline");
                if points.is_empty() {
                    line.points.clear();
                }
                let flows = Series::new(&curve.name, Style::Points, points).labelled(&curve.label);
                let axes = (
                    Axis::log("Deadline", "ms"),
                    Axis::log("Completion time", "ms"),
                );
                let drawing = Panel::new(axes.0, axes.1, vec![flows, line]);
                let title = join_non_empty(&[&settings.label, &curve.label]);
                sketches.push(Sketch {
                    file: vec![settings.name.clone(), curve.name.clone(), "flows".to_owned()],
                    title,
                    note: "Each point is a flow, late if above the line. Unfinished flows are not drawn.",
                    panel: drawing,
                });
            }
        }
        self.push(sketches, drawn);
    }

    pub(super) fn distribution(&self, quantity: Sampled, at: &[usize], drawn: &mut Vec<Drawn>) {
        let mut sketches = Vec::new();
        for (panel, settings) in self.experiment.panels.iter().enumerate() {
            for &value in at {
                let mut series = Vec::new();
                for (scheme, curve) in self.experiment.schemes.iter().enumerate() {
                    let seeds = self.results.seeds(self.index, panel, scheme, value);
                    let (pooled, all) = pooled(seeds, quantity);
                    let shares = pooled.cumulative(all).into_iter();
                    let points =
                        shares.map(|(x, share)| Point::new(x * quantity.factor(), share * 100.0));
                    series.push(
                        Series::new(&curve.name, Style::Step, points.collect())
                            .labelled(&curve.label),
                    );
                }
                let (label, unit) = quantity.label_and_unit();
                let written = &self.experiment.axis.values[value];
                let shown = if written.is_empty() {
                    String::new()
                } else {
                    format!("{} {written}", self.experiment.axis.label)
                };
                let y = Axis::linear("share at or below", "%").between(0.0, 100.0);
                let drawing = Panel::new(Axis::linear(label, unit), y, series);
                let title = join_non_empty(&[&settings.label, &shown, label]);
                sketches.push(Sketch {
                    file: vec![
                        settings.name.clone(),
                        written.clone(),
                        "distribution".to_owned(),
                    ],
                    title,
                    note: "Over all seeds.",
                    panel: drawing,
                });
            }
        }
        self.push(sketches, drawn);
    }

    pub(super) fn series(
        &self,
        quantity: Sampled,
        value: usize,
        average_s: f64,
        drawn: &mut Vec<Drawn>,
    ) {
        let Method::Series { names, until_s, .. } = &self.experiment.method else {
            return;
        };
        let (label, mut unit) = quantity.label_and_unit();
        let mut scale = 1.0;
        let y = &self.experiment.y;
        // The paper's unit.
        if quantity == Sampled::Throughput && y.unit.as_deref() == Some("Gbps") {
            (unit, scale) = ("Gbps", 1e-3);
        }
        let mut sketches = Vec::new();
        for (panel, settings) in self.experiment.panels.iter().enumerate() {
            for (scheme, curve) in self.experiment.schemes.iter().enumerate() {
                let seeds = self.results.seeds(self.index, panel, scheme, value);
                let links = seeds.iter().flat_map(|sums| &sums.series);
                // If links are named, draw only those.
                let drawn = |link: &str| names.is_empty() || names.contains_key(link);
                let mut series = Vec::new();
                for link in links.filter(|link| drawn(&link.link)) {
                    let bin = ((average_s / link.every_s).round() as usize).max(1);
                    let (samples, factor) = if quantity == Sampled::Queue {
                        (&link.queue_bytes, 1e-3)
                    } else {
                        (&link.sent_bytes, scale * 8e-6 / link.every_s)
                    };
                    let samples: Vec<f64> = samples
                        .iter()
                        .map(|&sample| sample as f64 * factor)
                        .collect();
                    let points = samples.chunks(bin).enumerate().map(|(i, chunk)| {
                        let middle = (i * bin) as f64 + chunk.len() as f64 / 2.0;
                        let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
                        Point::new(middle * link.every_s, mean)
                    });
                    let name = names.get(&link.link).unwrap_or(&link.link);
                    series.push(Series::new(name, Style::Line, points.collect()));
                }
                let label = y.label.as_deref().unwrap_or(label);
                let axis = Axis::linear(label, unit);
                let drawing = Panel::new(
                    Axis {
                        from: Some(0.0),
                        to: *until_s,
                        ..Axis::linear("Time", "s")
                    },
                    match settings.range.or(y.range) {
                        Some([from, to]) => axis.between(from, to),
                        None => axis,
                    },
                    series,
                );
                sketches.push(Sketch {
                    file: vec![
                        settings.name.clone(),
                        curve.name.clone(),
                        "series".to_owned(),
                    ],
                    title: join_non_empty(&[&settings.label, &curve.label]),
                    note: "One run.",
                    panel: drawing,
                });
            }
        }
        use_milliseconds_if_short(&mut sketches);
        self.push(sketches, drawn);
    }
}

/// Changes the time axis from seconds to milliseconds if all drawings are shorter than a second.
fn use_milliseconds_if_short(sketches: &mut [Sketch]) {
    let points = |sketch: &Sketch| {
        let series = sketch.panel.series.iter();
        series
            .flat_map(|series| series.points.iter().map(|point| point.x))
            .fold(0.0, f64::max)
    };
    if sketches.iter().map(points).fold(0.0, f64::max) >= 1.0 {
        return;
    }
    for sketch in sketches {
        let axis = &mut sketch.panel.x;
        "ms".clone_into(&mut axis.unit);
        axis.to = axis.to.map(|to| to * 1e3);
        let series = sketch.panel.series.iter_mut();
        for point in series.flat_map(|series| &mut series.points) {
            point.x *= 1e3;
        }
    }
}

impl Sampled {
    fn label_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("Queue", "KB"),
            Self::Throughput => ("Throughput", "Mbps"),
            Self::Completion => ("Completion time", "ms"),
            Self::Allowed => ("Completion / time allowed", ""),
        }
    }

    /// Returns the factor from stored to displayed units.
    fn factor(self) -> f64 {
        match self {
            Self::Queue => 1e-3,
            Self::Throughput => 1e-6,
            Self::Completion => 1e3,
            Self::Allowed => 1.0,
        }
    }
}

/// Returns the pooled values of the seeds and the number of values including those that never arrived.
fn pooled(seeds: &[Arc<Sums>], quantity: Sampled) -> (Pooled, u64) {
    let links = || seeds.iter().flat_map(|sums| &sums.links);
    let groups = || {
        let groups = seeds.iter().flat_map(|sums| &sums.groups);
        groups.filter(|group| group.deadline_flows > 0 || quantity == Sampled::Completion)
    };
    match quantity {
        Sampled::Queue => {
            let all = links().map(|link| link.samples).sum();
            (Pooled::of(links().map(|link| &link.queue)), all)
        }
        Sampled::Throughput => {
            let all = links().map(|link| link.samples).sum();
            (Pooled::of(links().map(|link| &link.throughput_bps)), all)
        }
        Sampled::Completion => {
            let all = groups().map(|group| group.finite).sum();
            (Pooled::of(groups().map(|group| &group.completion_s)), all)
        }
        Sampled::Allowed => {
            let all = groups().map(|group| group.deadline_flows).sum();
            (Pooled::of(groups().map(|group| &group.allowed)), all)
        }
    }
}
