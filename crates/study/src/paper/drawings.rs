//! What the paper draws, drawn from our runs: same axes and panels, our interval as a band, published points beside.

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style};
use serde::Serialize;
use std::sync::Arc;

use super::experiment::{Drawing, Experiment, Measure, Method, Sampled, YAxis};
use super::metric::Metric;
use super::raster;
use super::results::Results;
use super::spread::Pooled;
use super::sums::Sums;

/// One drawn figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// Index of the experiment.
    pub experiment: usize,
    /// Name of a file for it, without its ending: `d3-fig10-moderate`.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The drawing.
    pub svg: String,
}

impl Drawn {
    /// The drawing as PNG on white, 1320 pixels wide: three per unit of the SVG.
    pub fn png(&self) -> Vec<u8> {
        raster::png(&self.svg)
    }
}

/// All drawings of the experiments asked for, one per panel.
pub fn drawings(results: &Results<'_>) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for &index in &results.campaign.chosen {
        let artist = Artist {
            results,
            index,
            of: results.experiment(index),
        };
        artist.experiment(&mut drawn);
    }
    drawn
}

struct Artist<'a> {
    results: &'a Results<'a>,
    index: usize,
    of: &'a Experiment,
}

const BANDS: &str = "Bands: 95 % intervals over seeds.";

impl Artist<'_> {
    fn experiment(&self, drawn: &mut Vec<Drawn>) {
        match &self.of.method {
            Method::Note => return,
            Method::Scatter { .. } => self.scatter(drawn),
            Method::Distribution { of, at } => self.distribution(*of, at, drawn),
            Method::Series {
                of, at, average_s, ..
            } => self.series(*of, *at, *average_s, drawn),
            Method::Simulate | Method::Fluid => {}
        }
        let main = Drawing {
            title: None,
            measure: self.of.measure.clone(),
            y: self.of.y.clone(),
        };
        let mut all = vec![main];
        if self.of.measure.metric.reads_the_axis() {
            all.push(Drawing {
                title: None,
                measure: Measure {
                    metric: if self.of.measure.metric == Metric::Tightest {
                        Metric::Missed
                    } else {
                        Metric::ApplicationThroughput
                    },
                    ..self.of.measure.clone()
                },
                y: YAxis::default(),
            });
        }
        all.extend(self.of.figures.iter().cloned());
        for (number, drawing) in all.iter().enumerate() {
            let swept = self.of.axis.is_there() && !drawing.measure.metric.reads_the_axis();
            if swept {
                self.curves(number, drawing, drawn);
            } else {
                self.bars(number, drawing, drawn);
            }
        }
    }

    /// Puts a figure of one panel in its place, if there is anything to see.
    fn put(
        &self,
        file: &[&str],
        title: String,
        note: &str,
        panels: Vec<Panel>,
        drawn: &mut Vec<Drawn>,
    ) {
        let there = |panel: &Panel| panel.series.iter().any(|series| !series.points.is_empty());
        if !panels.iter().any(there) {
            return;
        }
        let words: Vec<&str> = [self.of.paper.as_str(), &self.of.name]
            .into_iter()
            .chain(file.iter().copied())
            .filter(|word| !word.is_empty())
            .collect();
        let svg = Figure {
            title: String::new(),
            description: format!("{}: {title}. {note}", self.of.title),
            panels,
        }
        .to_svg();
        drawn.push(Drawn {
            experiment: self.index,
            file: duetime_store::folder_name(&words.join("-")),
            title,
            note: note.to_owned(),
            svg,
        });
    }

    fn title(&self, panel: usize, drawing: &Drawing) -> String {
        let of = &self.of.panels[panel];
        let what = drawing
            .title
            .clone()
            .or_else(|| drawing.y.label.clone())
            .unwrap_or_else(|| drawing.measure.metric.label());
        if of.label.is_empty() {
            what
        } else {
            format!("{}: {what}", of.label)
        }
    }

    fn x(&self) -> Axis {
        let axis = &self.of.axis;
        match &axis.places {
            Some(_) if axis.log => Axis::log(&axis.label, &axis.unit),
            Some(_) => Axis::linear(&axis.label, &axis.unit),
            None => Axis::names(&axis.label, axis.values.iter().cloned()),
        }
    }

    fn y(&self, drawing: &Drawing) -> Axis {
        let metric = drawing.measure.metric;
        let label = drawing.y.label.clone().unwrap_or_else(|| metric.label());
        let unit = drawing
            .y
            .unit
            .clone()
            .unwrap_or_else(|| match metric.unit() {
                Some("ratio") => String::new(),
                Some(unit) => unit.to_owned(),
                None => self.of.axis.unit.clone(),
            });
        // A label that carries its unit, as the papers write it, needs none beside it.
        let unit = if label.contains(&format!("({unit})")) {
            ""
        } else {
            &unit
        };
        let axis = if drawing.y.log {
            Axis::log(&label, unit)
        } else {
            Axis::linear(&label, unit)
        };
        match drawing.y.range {
            Some([from, to]) => axis.between(from, to),
            None => axis,
        }
    }

    /// The published values of one scheme and panel, at `x` of each.
    fn published(
        &self,
        panel: usize,
        scheme: usize,
        measure: &Measure,
        x: impl Fn(Option<usize>) -> f64,
    ) -> Series {
        let own = self
            .of
            .published
            .iter()
            .filter(|of| of.panel == panel && of.scheme == scheme && of.measure == *measure);
        let points = own.filter_map(|of| Some(Point::new(x(of.at), of.value?)));
        Series::new(
            &self.of.schemes[scheme].name,
            Style::Published,
            points.collect(),
        )
    }

    fn curves(&self, number: usize, drawing: &Drawing, drawn: &mut Vec<Drawn>) {
        let axis = &self.of.axis;
        for (panel, of) in self.of.panels.iter().enumerate() {
            let mut series = Vec::new();
            for (scheme, curve) in self.of.schemes.iter().enumerate() {
                let point = |value: usize| {
                    let found = self.results.estimate(
                        self.index,
                        panel,
                        scheme,
                        value,
                        &drawing.measure,
                    )?;
                    Some(Point::of(axis.place(value), &found, 1.0))
                };
                let mut points: Vec<Point> = (0..axis.values.len()).filter_map(point).collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                series.push(Series::new(&curve.name, Style::Line, points).labelled(&curve.label));
            }
            for scheme in 0..self.of.schemes.len() {
                series.push(self.published(panel, scheme, &drawing.measure, |at| {
                    axis.place(at.unwrap_or(0))
                }));
            }
            let mut drawing_panel = Panel::new(self.x(), self.y(drawing), series);
            self.read_off(panel, drawing, &mut drawing_panel);
            let file = [of.name.as_str(), &suffix(number, drawing)];
            let title = self.title(panel, drawing);
            self.put(&file, title, BANDS, vec![drawing_panel], drawn);
        }
    }

    /// Published values that are read off the axis (N95, say) stand in the curve's drawing where the paper has them.
    fn read_off(&self, panel: usize, drawing: &Drawing, on: &mut Panel) {
        if drawing.measure.metric != Metric::ApplicationThroughput {
            return;
        }
        for of in self.of.published.iter().filter(|of| of.panel == panel) {
            let (Metric::Capacity(percent), Some(value)) = (of.measure.metric, of.value) else {
                continue;
            };
            let points = vec![Point::new(value, f64::from(percent))];
            let name = &self.of.schemes[of.scheme].name;
            on.series.push(Series::new(name, Style::Published, points));
            let guide = Guide {
                vertical: false,
                at: f64::from(percent),
                label: format!("{percent} %"),
            };
            if !on.guides.contains(&guide) {
                on.guides.push(guide);
            }
        }
    }

    /// One value per panel and scheme: bars side by side, one place per panel; without panels one place per workload
    /// that a published value names.
    fn bars(&self, number: usize, drawing: &Drawing, drawn: &mut Vec<Drawn>) {
        let places = self.places(drawing);
        let mut series = Vec::new();
        for (scheme, of) in self.of.schemes.iter().enumerate() {
            let point = |(x, (_, panel, measure)): (usize, &(String, usize, Measure))| {
                let found = self
                    .results
                    .estimate(self.index, *panel, scheme, 0, measure)?;
                Some(Point::of(x as f64, &found, 1.0))
            };
            let points = places.iter().enumerate().filter_map(point).collect();
            series.push(Series::new(&of.name, Style::Bars, points).labelled(&of.label));
        }
        for scheme in 0..self.of.schemes.len() {
            for (x, (_, panel, measure)) in places.iter().enumerate() {
                series.push(self.published(*panel, scheme, measure, |_| x as f64));
            }
        }
        let names = places.iter().map(|(name, _, _)| name.clone());
        let panel = Panel::new(Axis::names("", names), self.y(drawing), series);
        let title = drawing
            .title
            .clone()
            .unwrap_or_else(|| drawing.measure.metric.label());
        let note = "Error bars: 95 % intervals over seeds.";
        self.put(&[&suffix(number, drawing)], title, note, vec![panel], drawn);
    }

    /// The places of a bar chart: name, panel, measure.
    fn places(&self, drawing: &Drawing) -> Vec<(String, usize, Measure)> {
        if self.of.panels.len() > 1 {
            let panels = self.of.panels.iter().enumerate();
            return panels
                .map(|(index, panel)| (panel.label.clone(), index, drawing.measure.clone()))
                .collect();
        }
        let mut places = vec![(String::new(), 0, drawing.measure.clone())];
        for of in &self.of.published {
            let same = of.measure.metric == drawing.measure.metric;
            if same && !places.iter().any(|(_, _, measure)| *measure == of.measure) {
                let name = of.measure.workload.clone().unwrap_or_default();
                places.push((name, 0, of.measure.clone()));
            }
        }
        if places.len() > 1 && places[0].2.workload.is_none() {
            places.remove(0);
        }
        for (name, _, measure) in &mut places {
            if name.is_empty() {
                *name = measure
                    .workload
                    .clone()
                    .unwrap_or_else(|| self.of.panels[0].label.clone());
            }
        }
        places
    }

    /// Each flow at its deadline, one drawing per scheme and panel.
    fn scatter(&self, drawn: &mut Vec<Drawn>) {
        /// More points than this cannot be told apart.
        const MOST: usize = 1500;
        for (panel, of) in self.of.panels.iter().enumerate() {
            for (scheme, curve) in self.of.schemes.iter().enumerate() {
                let values = 0..self.of.axis.values.len();
                let flows: Vec<(u64, Option<u64>)> = values
                    .flat_map(|value| self.results.seeds(self.index, panel, scheme, value))
                    .flat_map(|sums| sums.flows.iter().copied())
                    .collect();
                let step = flows.len().div_ceil(MOST).max(1);
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
                let title = words(&[&of.label, &curve.label]);
                let note = "Each point is a flow; above the line it is late. Flows that never finished are not drawn.";
                self.put(
                    &[&of.name, &curve.name, "flows"],
                    title,
                    note,
                    vec![drawing],
                    drawn,
                );
            }
        }
    }

    fn distribution(&self, what: Sampled, at: &[usize], drawn: &mut Vec<Drawn>) {
        for (panel, of) in self.of.panels.iter().enumerate() {
            for &value in at {
                let mut series = Vec::new();
                for (scheme, curve) in self.of.schemes.iter().enumerate() {
                    let seeds = self.results.seeds(self.index, panel, scheme, value);
                    let (pooled, all) = pooled(seeds, what);
                    let shares = pooled.cumulative(all).into_iter();
                    let points =
                        shares.map(|(x, share)| Point::new(x * what.factor(), share * 100.0));
                    series.push(
                        Series::new(&curve.name, Style::Step, points.collect())
                            .labelled(&curve.label),
                    );
                }
                let (label, unit) = what.words();
                let written = &self.of.axis.values[value];
                let shown = if written.is_empty() {
                    String::new()
                } else {
                    format!("{} {written}", self.of.axis.label)
                };
                let y = Axis::linear("share at or below", "%").between(0.0, 100.0);
                let drawing = Panel::new(Axis::linear(label, unit), y, series);
                let title = words(&[&of.label, &shown, label]);
                let file = [of.name.as_str(), written, "distribution"];
                self.put(&file, title, "Over all seeds.", vec![drawing], drawn);
            }
        }
    }

    fn series(&self, what: Sampled, value: usize, average_s: f64, drawn: &mut Vec<Drawn>) {
        let Method::Series { names, .. } = &self.of.method else {
            return;
        };
        for (panel, of) in self.of.panels.iter().enumerate() {
            for (scheme, curve) in self.of.schemes.iter().enumerate() {
                let seeds = self.results.seeds(self.index, panel, scheme, value);
                let mut series = Vec::new();
                for link in seeds.iter().flat_map(|sums| &sums.series) {
                    let bin = ((average_s / link.every_s).round() as usize).max(1);
                    let (samples, scale) = if what == Sampled::Queue {
                        (&link.queue_bytes, 1e-3)
                    } else {
                        (&link.sent_bytes, 8e-6 / link.every_s)
                    };
                    let samples: Vec<f64> = samples.iter().map(|&of| of as f64 * scale).collect();
                    let points = samples.chunks(bin).enumerate().map(|(i, chunk)| {
                        let middle = (i * bin) as f64 + chunk.len() as f64 / 2.0;
                        let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
                        Point::new(middle * link.every_s * 1e3, mean)
                    });
                    let name = names.get(&link.link).unwrap_or(&link.link);
                    series.push(Series::new(name, Style::Line, points.collect()));
                }
                let (label, unit) = what.words();
                let drawing = Panel::new(
                    Axis::linear("Time", "ms"),
                    Axis::linear(label, unit),
                    series,
                );
                let title = words(&[&of.label, &curve.label]);
                self.put(
                    &[&of.name, &curve.name, "series"],
                    title,
                    "One run.",
                    vec![drawing],
                    drawn,
                );
            }
        }
    }
}

impl Sampled {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("Queue", "KB"),
            Self::Throughput => ("Throughput", "Mbps"),
            Self::Completion => ("Completion time", "ms"),
            Self::Allowed => ("Completion / time allowed", ""),
        }
    }

    /// From what is kept to what is shown.
    fn factor(self) -> f64 {
        match self {
            Self::Queue => 1e-3,
            Self::Throughput => 1e-6,
            Self::Completion => 1e3,
            Self::Allowed => 1.0,
        }
    }
}

/// All values of some seeds, and how many there are with those that never came.
fn pooled(seeds: &[Arc<Sums>], what: Sampled) -> (Pooled, u64) {
    let links = || seeds.iter().flat_map(|sums| &sums.links);
    let groups = || {
        let groups = seeds.iter().flat_map(|sums| &sums.groups);
        groups.filter(|group| group.deadline_flows > 0 || what == Sampled::Completion)
    };
    match what {
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

fn words(of: &[&str]) -> String {
    let said: Vec<&str> = of.iter().copied().filter(|word| !word.is_empty()).collect();
    said.join(", ")
}

/// The end of a file's name for drawings after the first.
fn suffix(number: usize, drawing: &Drawing) -> String {
    if number == 0 {
        return String::new();
    }
    let workload = drawing.measure.workload.as_deref();
    let words: Vec<&str> = workload.into_iter().collect();
    let name = drawing.measure.metric.name();
    if words.is_empty() {
        name
    } else {
        format!("{name}-{}", words.join("-"))
    }
}
