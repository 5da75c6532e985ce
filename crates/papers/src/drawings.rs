//! Figures with the axes and panels of the papers: our values with bands for the intervals, and the published points.

mod bounds;
mod samples;

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style, share_axes};
use serde::{Deserialize, Serialize};

use super::experiment::{Drawing, Experiment, Measure, Method, YAxis};
use super::metric::Metric;
use super::raster;
use super::results::Results;

/// A drawn figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Index of the experiment.
    pub experiment: usize,
    /// File name without extension, such as `d3-fig10-moderate`.
    pub file: String,
    /// Title.
    pub title: String,
    /// Note on how to read the figure.
    pub note: String,
    /// Drawing as SVG.
    pub svg: String,
}

impl Drawn {
    /// Renders the drawing as PNG on white, 1320 pixels wide: three per SVG unit.
    pub fn png(&self) -> Vec<u8> {
        raster::png(&self.svg)
    }
}

/// Draws the selected experiments, one figure per panel.
pub fn drawings(results: &Results<'_>) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for &index in &results.campaign.chosen {
        let artist = Artist {
            results,
            index,
            experiment: results.experiment(index),
        };
        artist.draw(&mut drawn);
    }
    drawn
}

/// A figure before the ends of its axes are set.
struct Sketch {
    /// Parts of the file name after those of the experiment.
    file: Vec<String>,
    title: String,
    note: &'static str,
    panel: Panel,
}

struct Artist<'a> {
    results: &'a Results<'a>,
    index: usize,
    experiment: &'a Experiment,
}

const BANDS: &str = "Bands: 95 % intervals over seeds.";

impl Artist<'_> {
    fn draw(&self, drawn: &mut Vec<Drawn>) {
        match &self.experiment.method {
            Method::Note => return,
            Method::Scatter { .. } => self.scatter(drawn),
            Method::Distribution { of, at } => self.distribution(*of, at, drawn),
            Method::Series {
                of, at, average_s, ..
            } => self.series(*of, *at, *average_s, drawn),
            Method::Simulate | Method::Fluid => {}
        }
        // The y axis of an experiment applies to its main drawing.
        let sampled = matches!(self.experiment.method, Method::Series { .. });
        let main = Drawing {
            title: None,
            measure: self.experiment.measure.clone(),
            y: if sampled {
                YAxis::default()
            } else {
                self.experiment.y.clone()
            },
        };
        let mut all = vec![main];
        if self.experiment.measure.metric.spans_axis() {
            all.push(Drawing {
                title: None,
                measure: Measure {
                    metric: if self.experiment.measure.metric == Metric::Tightest {
                        Metric::Missed
                    } else {
                        Metric::ApplicationThroughput
                    },
                    ..self.experiment.measure.clone()
                },
                y: YAxis::default(),
            });
        }
        all.extend(self.experiment.figures.iter().cloned());
        for (number, drawing) in all.iter().enumerate() {
            let swept = self.experiment.axis.exists() && !drawing.measure.metric.spans_axis();
            if swept {
                self.curves(number, drawing, drawn);
            } else {
                self.bars(number, drawing, drawn);
            }
        }
    }

    /// Appends the figures that have points, with the series that have some. They show the same measure, so their axes
    /// get the same ends.
    fn push(&self, mut sketches: Vec<Sketch>, drawn: &mut Vec<Drawn>) {
        for Sketch { panel, .. } in &mut sketches {
            panel.series.retain(|series| !series.points.is_empty());
        }
        sketches.retain(|sketch| !sketch.panel.series.is_empty());
        let mut panels: Vec<Panel> = sketches.iter().map(|sketch| sketch.panel.clone()).collect();
        if panels.len() > 1 {
            share_axes(&mut panels);
        }
        for (sketch, panel) in sketches.into_iter().zip(panels) {
            let Sketch { title, note, .. } = sketch;
            let words: Vec<&str> = [self.experiment.paper.as_str(), &self.experiment.name]
                .into_iter()
                .chain(sketch.file.iter().map(String::as_str))
                .filter(|word| !word.is_empty())
                .collect();
            let svg = Figure {
                title: String::new(),
                description: format!("{}: {title}. {note}", self.experiment.title),
                panels: vec![panel],
                palette: self.experiment.palette.clone(),
            }
            .to_svg_with_data();
            drawn.push(Drawn {
                experiment: self.index,
                file: duetime_store::folder_name(&words.join("-")),
                title,
                note: note.to_owned(),
                svg,
            });
        }
    }

    fn title(&self, panel: usize, drawing: &Drawing) -> String {
        let label = &self.experiment.panels[panel].label;
        let title = drawing
            .title
            .clone()
            .or_else(|| drawing.y.label.clone())
            .unwrap_or_else(|| drawing.measure.metric.label());
        if label.is_empty() {
            title
        } else {
            format!("{label}: {title}")
        }
    }

    fn x(&self) -> Axis {
        let axis = &self.experiment.axis;
        let unit = unit_after(&axis.label, &axis.unit);
        match &axis.places {
            Some(_) if axis.log => Axis::log(&axis.label, unit),
            Some(_) => Axis::linear(&axis.label, unit),
            None => Axis::names(&axis.label, axis.values.iter().cloned()),
        }
    }

    /// Returns the vertical axis. `range` is that of the panel, if any.
    fn y(&self, drawing: &Drawing, range: Option<[f64; 2]>) -> Axis {
        let metric = drawing.measure.metric;
        let label = drawing.y.label.clone().unwrap_or_else(|| metric.label());
        let unit = drawing
            .y
            .unit
            .clone()
            .unwrap_or_else(|| match metric.unit() {
                Some("ratio") => String::new(),
                Some(unit) => unit.to_owned(),
                None => self.experiment.axis.unit.clone(),
            });
        let unit = unit_after(&label, &unit);
        let axis = if drawing.y.log {
            Axis::log(&label, unit)
        } else {
            Axis::linear(&label, unit)
        };
        match range.or(drawing.y.range) {
            Some([from, to]) => axis.between(from, to),
            None => axis,
        }
    }

    /// Returns the published values of a scheme and panel, at the places that `x` gives.
    fn published(
        &self,
        panel: usize,
        scheme: usize,
        measure: &Measure,
        x: impl Fn(Option<usize>) -> f64,
    ) -> Series {
        let published = self.experiment.published.iter().filter(|published| {
            published.panel == panel && published.scheme == scheme && published.measure == *measure
        });
        let points =
            published.filter_map(|published| Some(Point::new(x(published.at), published.value?)));
        Series::new(
            &self.experiment.schemes[scheme].name,
            Style::Published,
            points.collect(),
        )
    }

    fn curves(&self, number: usize, drawing: &Drawing, drawn: &mut Vec<Drawn>) {
        let axis = &self.experiment.axis;
        let mut sketches = Vec::new();
        for (panel, settings) in self.experiment.panels.iter().enumerate() {
            let mut series = Vec::new();
            for (scheme, curve) in self.experiment.schemes.iter().enumerate() {
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
            for scheme in 0..self.experiment.schemes.len() {
                series.push(self.published(panel, scheme, &drawing.measure, |at| {
                    axis.place(at.unwrap_or(0))
                }));
            }
            for bound in self.bounds(panel, &drawing.measure) {
                series.push(
                    bound.series(
                        &bound
                            .at
                            .iter()
                            .map(|&at| axis.place(at))
                            .collect::<Vec<_>>(),
                    ),
                );
            }
            let mut drawing_panel = Panel::new(self.x(), self.y(drawing, settings.range), series);
            self.add_capacities(panel, drawing, &mut drawing_panel);
            sketches.push(Sketch {
                file: vec![settings.name.clone(), suffix(number, drawing)],
                title: self.title(panel, drawing),
                note: BANDS,
                panel: drawing_panel,
            });
        }
        self.push(sketches, drawn);
    }

    /// Adds published values that are read from the axis, such as N95, to the drawing of the curves.
    fn add_capacities(&self, panel: usize, drawing: &Drawing, on: &mut Panel) {
        if drawing.measure.metric != Metric::ApplicationThroughput {
            return;
        }
        let published = self.experiment.published.iter();
        for published in published.filter(|published| published.panel == panel) {
            let (Metric::Capacity(percent), Some(value)) =
                (published.measure.metric, published.value)
            else {
                continue;
            };
            let points = vec![Point::new(value, f64::from(percent))];
            let name = &self.experiment.schemes[published.scheme].name;
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

    /// Draws one value per panel and scheme as bars, one group per panel. With a single panel, draws one group per
    /// workload of the published values.
    fn bars(&self, number: usize, drawing: &Drawing, drawn: &mut Vec<Drawn>) {
        let places = self.places(drawing);
        let mut series = Vec::new();
        for (scheme, curve) in self.experiment.schemes.iter().enumerate() {
            let point = |(x, (_, panel, measure)): (usize, &(String, usize, Measure))| {
                let found = self
                    .results
                    .estimate(self.index, *panel, scheme, 0, measure)?;
                Some(Point::of(x as f64, &found, 1.0))
            };
            let points = places.iter().enumerate().filter_map(point).collect();
            series.push(Series::new(&curve.name, Style::Bars, points).labelled(&curve.label));
        }
        for scheme in 0..self.experiment.schemes.len() {
            for (x, (_, panel, measure)) in places.iter().enumerate() {
                series.push(self.published(*panel, scheme, measure, |_| x as f64));
            }
        }
        for (x, (_, panel, measure)) in places.iter().enumerate() {
            let bounds = self.bounds(*panel, measure);
            series.extend(bounds.iter().map(|bound| bound.series(&[x as f64])));
        }
        let names = places.iter().map(|(name, _, _)| name.clone());
        let panel = Panel::new(Axis::names("", names), self.y(drawing, None), series);
        let sketch = Sketch {
            file: vec![suffix(number, drawing)],
            title: drawing
                .title
                .clone()
                .unwrap_or_else(|| drawing.measure.metric.label()),
            note: "Error bars: 95 % intervals over seeds.",
            panel,
        };
        self.push(vec![sketch], drawn);
    }

    /// Returns name, panel and measure of each group of bars.
    fn places(&self, drawing: &Drawing) -> Vec<(String, usize, Measure)> {
        if self.experiment.panels.len() > 1 {
            let panels = self.experiment.panels.iter().enumerate();
            return panels
                .map(|(index, panel)| (panel.label.clone(), index, drawing.measure.clone()))
                .collect();
        }
        let mut places = vec![(String::new(), 0, drawing.measure.clone())];
        for published in &self.experiment.published {
            let measure = &published.measure;
            let same = measure.metric == drawing.measure.metric;
            if same && !places.iter().any(|(_, _, other)| other == measure) {
                let name = measure.workload.clone().unwrap_or_default();
                places.push((name, 0, measure.clone()));
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
                    .unwrap_or_else(|| self.experiment.panels[0].label.clone());
            }
        }
        places
    }
}

fn join_non_empty(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(", ")
}

/// Returns the last part of the file name of additional drawings.
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

/// Returns the unit, or nothing if the label contains it: labels can be copied from the papers.
fn unit_after<'a>(label: &str, unit: &'a str) -> &'a str {
    if label.contains(&format!("({unit})")) || label.eq_ignore_ascii_case(unit) {
        ""
    } else {
        unit
    }
}
