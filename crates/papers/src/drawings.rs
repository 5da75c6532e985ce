//! What the paper draws, drawn from our runs: same axes and panels, our interval as a band, published points beside.

mod bounds;
mod samples;

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style, share_axes};
use serde::{Deserialize, Serialize};

use super::experiment::{Drawing, Experiment, Measure, Method, YAxis};
use super::metric::Metric;
use super::raster;
use super::results::Results;

/// One drawn figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// A figure before its axes have their ends.
struct Sketch {
    /// Words of the file's name, after those of the experiment.
    file: Vec<String>,
    title: String,
    note: &'static str,
    panel: Panel,
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
        // The y axis of an experiment is that of its main drawing.
        let sampled = matches!(self.of.method, Method::Series { .. });
        let main = Drawing {
            title: None,
            measure: self.of.measure.clone(),
            y: if sampled {
                YAxis::default()
            } else {
                self.of.y.clone()
            },
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

    /// Puts figures of one panel each in their places, those that have anything to see. They measure the same thing, so
    /// their axes have the same ends.
    fn put(&self, mut sketches: Vec<Sketch>, drawn: &mut Vec<Drawn>) {
        let there = |panel: &Panel| panel.series.iter().any(|series| !series.points.is_empty());
        sketches.retain(|sketch| there(&sketch.panel));
        let mut panels: Vec<Panel> = sketches.iter().map(|of| of.panel.clone()).collect();
        if panels.len() > 1 {
            share_axes(&mut panels);
        }
        for (sketch, panel) in sketches.into_iter().zip(panels) {
            let Sketch { title, note, .. } = sketch;
            let words: Vec<&str> = [self.of.paper.as_str(), &self.of.name]
                .into_iter()
                .chain(sketch.file.iter().map(String::as_str))
                .filter(|word| !word.is_empty())
                .collect();
            let svg = Figure {
                title: String::new(),
                description: format!("{}: {title}. {note}", self.of.title),
                panels: vec![panel],
                palette: self.of.palette.clone(),
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

    /// `range`: the ends that the panel has of its own.
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
        match range.or(drawing.y.range) {
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
        let mut sketches = Vec::new();
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
            let mut drawing_panel = Panel::new(self.x(), self.y(drawing, of.range), series);
            self.read_off(panel, drawing, &mut drawing_panel);
            sketches.push(Sketch {
                file: vec![of.name.clone(), suffix(number, drawing)],
                title: self.title(panel, drawing),
                note: BANDS,
                panel: drawing_panel,
            });
        }
        self.put(sketches, drawn);
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
        self.put(vec![sketch], drawn);
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
