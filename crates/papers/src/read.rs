//! Reader of `papers/PAPER/NAME/`. Errors give the file, line, value and allowed values.

mod across;
mod calibrated;
mod checks;
mod choose;
mod method;
mod schemes;
mod styles;

use std::ops::Range;
use std::path::Path;

use duetime_figures::Palette;
use duetime_scenario::Diagnostic;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::experiment::{
    Axis, Calibration, Drawing, Experiment, Measure, Method, Repetitions, YAxis,
};
use super::file::{self, Text, owned, place, written};
use super::metric::Metric;
use super::origin::{BUILT_IN_FOLDER, Origin};
use super::verdict::Kind;
use across::across;
use calibrated::calibrated;
pub use choose::choose;
use duetime_study::StudyError;
use duetime_study::text::numbers;
use styles::styles;

type Result<T> = std::result::Result<T, Diagnostic>;
type Value = Spanned<toml::Value>;

/// Reads all experiments below `papers`, sorted by paper and name.
pub fn library(papers: &Path) -> std::result::Result<Vec<Experiment>, StudyError> {
    library_of(Origin::Disk, papers)
}

/// Returns the experiments built into the program.
pub fn built_in_library() -> std::result::Result<Vec<Experiment>, StudyError> {
    library_of(Origin::BuiltIn, Path::new(BUILT_IN_FOLDER))
}

fn library_of(origin: Origin, papers: &Path) -> std::result::Result<Vec<Experiment>, StudyError> {
    let folders = |path: &Path| {
        origin.folders(path).map_err(|why| {
            StudyError::Choice(format!(
                "cannot read the folder of experiments `{}`: {why}",
                path.display()
            ))
        })
    };
    let palette = styles(origin, papers)?;
    let mut experiments = Vec::new();
    for paper in folders(papers)? {
        for folder in folders(&paper)? {
            if origin.has(&folder.join(EXPERIMENT)) {
                experiments.push(Experiment {
                    palette: palette.clone(),
                    ..read(origin, &folder)?
                });
            }
        }
    }
    if experiments.is_empty() {
        let place = papers.display();
        return Err(StudyError::Choice(format!(
            "no experiments in `{place}`: no PAPER/NAME/{EXPERIMENT} found"
        )));
    }
    for experiment in &experiments {
        across(experiment, &experiments)?;
        calibrated(experiment, &experiments)?;
    }
    Ok(experiments)
}

const EXPERIMENT: &str = "experiment.toml";

/// Reads one experiment.
fn read(origin: Origin, folder: &Path) -> Result<Experiment> {
    let load = |name: &str| {
        let path = folder.join(name);
        origin.read(&path).map_err(|why| {
            Diagnostic::of_file(
                &path.display().to_string(),
                format!("cannot be read: {why}"),
            )
        })
    };
    let last = |path: &Path| {
        path.file_name()
            .map_or(String::new(), |name| name.to_string_lossy().into_owned())
    };
    let text = load(EXPERIMENT)?;
    let reader = Reader {
        name: folder.join(EXPERIMENT).display().to_string(),
        text: &text,
    };
    let written: file::File = reader.toml()?;
    let mut experiment = Experiment {
        paper: folder.parent().map_or(String::new(), last),
        name: last(folder),
        folder: folder.to_path_buf(),
        origin,
        title: written.title.clone(),
        source: written.source.clone(),
        method: Method::Simulate,
        measure: Measure {
            metric: Metric::Missed,
            workload: None,
        },
        repetitions: Repetitions { full: 1, quick: 1 },
        axis: reader.axis(written.axis.as_ref())?,
        y: YAxis::default(),
        figures: Vec::new(),
        panels: reader.panels(&written)?,
        schemes: Vec::new(),
        palette: Palette::default(),
        published: Vec::new(),
        checks: Vec::new(),
        calibrations: Vec::new(),
        scenario: String::new(),
        reading: load("reading.md")?,
        text: text.clone(),
    };
    experiment.method = reader.method(&written, &experiment)?;
    if experiment.method == Method::Note {
        return Ok(experiment);
    }
    experiment.scenario = load("scenario.toml")?;
    let missing =
        |key: &str| Diagnostic::of_file(&reader.name, format!("the key `{key}` is missing"));
    let metric = written.metric.as_ref().ok_or_else(|| missing("metric"))?;
    experiment.measure = reader.measure(metric, written.workload.as_ref())?;
    let repetitions = written.repetitions.as_ref();
    experiment.repetitions =
        reader.repetitions(repetitions.ok_or_else(|| missing("repetitions"))?)?;
    experiment.y = reader.y(&written.y)?;
    experiment.figures = written
        .figure
        .iter()
        .map(|figure| reader.drawing(figure))
        .collect::<Result<_>>()?;
    experiment.schemes = reader.schemes(&written, &experiment)?;
    experiment.published = written
        .published
        .iter()
        .map(|published| reader.published(published, &experiment))
        .collect::<Result<_>>()?;
    experiment.checks = written
        .check
        .iter()
        .map(|check| reader.check(check, &experiment))
        .collect::<Result<_>>()?;
    experiment.calibrations = written.calibration.iter().map(calibration).collect();
    Ok(experiment)
}

fn calibration(raw: &file::Calibration) -> Calibration {
    let on = &raw.on;
    Calibration {
        key: raw.key.get_ref().clone(),
        value: written(raw.value.get_ref()),
        experiment: owned(on.experiment.as_ref()),
        scheme: on.scheme.get_ref().clone(),
        panel: owned(on.panel.as_ref()),
        at: on.at.as_ref().map(|value| written(value.get_ref())),
        metric: on
            .metric
            .as_ref()
            .and_then(|metric| Metric::named(metric.get_ref())),
        span: place(&on.scheme),
    }
}

/// An experiment file, with its name and text for error messages.
struct Reader<'a> {
    name: String,
    text: &'a str,
}

impl Reader<'_> {
    fn toml<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(self.text).map_err(|error| {
            let end = self.text.len();
            let span = error.span().unwrap_or(end..end);
            let why = error.message().replace('\n', "; ");
            Diagnostic::at(&self.name, self.text, span, why)
        })
    }

    fn wrong(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let wrong = Diagnostic::at(&self.name, self.text, span, message);
        if value.is_empty() || value.contains('\n') {
            wrong
        } else {
            wrong.key("value").value(value)
        }
    }

    /// Returns an error at `span` with the allowed values.
    fn refuse<T>(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Result<T> {
        Err(self.wrong(span, message).allowed(allowed))
    }

    /// Looks up a text among `names`. `noun` describes it in the error.
    fn one_of<T: Copy>(&self, text: &Text, noun: &str, names: &[(&str, T)]) -> Result<T> {
        let word = text.get_ref();
        if let Some(&(_, value)) = names.iter().find(|(name, _)| name == word) {
            return Ok(value);
        }
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let wrong = self.wrong(place(text), format!("unknown {noun}"));
        Err(wrong.allowed(known.join(", ")).suggest(word, known, '`'))
    }

    fn measure(&self, metric: &Text, workload: Option<&Text>) -> Result<Measure> {
        let all = Metric::all();
        let names: Vec<(&str, Metric)> = all
            .iter()
            .map(|(name, metric)| (name.as_str(), *metric))
            .collect();
        Ok(Measure {
            metric: self.one_of(metric, "metric", &names)?,
            workload: owned(workload),
        })
    }

    fn log(&self, scale: Option<&Text>) -> Result<bool> {
        scale.map_or(Ok(false), |scale| {
            self.one_of(scale, "scale", &[("linear", false), ("log", true)])
        })
    }

    fn axis(&self, axis: Option<&Spanned<file::Axis>>) -> Result<Axis> {
        let Some(spanned) = axis else {
            return Ok(Axis {
                keys: Vec::new(),
                label: String::new(),
                unit: String::new(),
                values: vec![String::new()],
                quick: vec![true],
                places: None,
                log: false,
            });
        };
        let axis = spanned.get_ref();
        let keys: Vec<String> = axis
            .key
            .iter()
            .chain(&axis.keys)
            .map(|key| key.get_ref().clone())
            .collect();
        if keys.is_empty() {
            return self.refuse(place(spanned), "the axis has no key", "key or keys");
        }
        let values: Vec<String> = axis
            .values
            .iter()
            .map(|value| written(value.get_ref()))
            .collect();
        if values.is_empty() {
            return Err(self.wrong(place(spanned), "the axis has no values"));
        }
        let mut quick = vec![axis.quick.is_none(); values.len()];
        for value in axis.quick.iter().flatten() {
            quick[self.axis_value(value, &values)?] = true;
        }
        let numbers = numbers(&values);
        let unit = match &numbers {
            Some((_, unit)) if axis.unit.is_empty() => unit.clone(),
            _ => axis.unit.clone(),
        };
        Ok(Axis {
            keys,
            label: axis.label.clone(),
            unit,
            places: numbers.map(|(numbers, _)| numbers),
            values,
            quick,
            log: self.log(axis.scale.as_ref())?,
        })
    }

    fn axis_value(&self, value: &Value, values: &[String]) -> Result<usize> {
        let text = written(value.get_ref());
        values
            .iter()
            .position(|known| *known == text)
            .ok_or_else(|| {
                self.wrong(place(value), "not a value of the axis")
                    .allowed(values.join(", "))
            })
    }

    fn y(&self, y: &file::Y) -> Result<YAxis> {
        Ok(YAxis {
            label: y.label.clone(),
            unit: y.unit.clone(),
            range: y.range,
            log: self.log(y.scale.as_ref())?,
        })
    }

    fn drawing(&self, figure: &file::Figure) -> Result<Drawing> {
        Ok(Drawing {
            title: figure.title.clone(),
            measure: self.measure(&figure.metric, figure.workload.as_ref())?,
            y: YAxis {
                label: figure.label.clone(),
                unit: None,
                range: figure.range,
                log: self.log(figure.scale.as_ref())?,
            },
        })
    }

    fn repetitions(&self, raw: &Spanned<file::Repetitions>) -> Result<Repetitions> {
        let &file::Repetitions { full, quick } = raw.get_ref();
        if quick == 0 || quick > full {
            return self.refuse(
                place(raw),
                "quick repetitions must be at least 1 and at most the full ones",
                "{ full = N, quick = 1..=N }",
            );
        }
        Ok(Repetitions { full, quick })
    }

    fn panel(&self, name: Option<&Text>, experiment: &Experiment) -> Result<usize> {
        let panels = experiment.panels.iter().map(|panel| panel.name.as_str());
        name.map_or(Ok(0), |name| self.one_of(name, "panel", &numbered(panels)))
    }

    fn kind(&self, kind: &Text) -> Result<Kind> {
        let kinds = [
            ("predicted", Kind::Predicted),
            ("calibrated", Kind::Calibrated),
            ("not-stated", Kind::NotStated),
        ];
        self.one_of(kind, "kind", &kinds)
    }
}

/// Pairs names with their indices.
fn numbered<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, usize)> {
    names.zip(0..).collect()
}
