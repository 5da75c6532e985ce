//! Reads `papers/PAPER/NAME/`: every mistake is named with its file, line and value, and with what is allowed.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use duetime_scenario::{Diagnostic, nearest};
use toml::Spanned;

use super::experiment::{
    Axis, Calibration, Check, Drawing, Experiment, Ideal, Measure, Method, Panel, Published,
    Relation, Repetitions, Sampled, Scheme, Side, YAxis,
};
use super::file::{self, Text, place, written};
use super::metric::Metric;
use super::verdict::Kind;
use crate::error::StudyError;
use crate::text::numbers;

type Result<T> = std::result::Result<T, Diagnostic>;
type Value = Spanned<toml::Value>;

/// All experiments below `papers`, by paper and name.
pub fn library(papers: &Path) -> std::result::Result<Vec<Experiment>, StudyError> {
    let mut experiments = Vec::new();
    for paper in folders(papers)? {
        for folder in folders(&paper)? {
            if folder.join(EXPERIMENT).is_file() {
                experiments.push(read(&folder)?);
            }
        }
    }
    if experiments.is_empty() {
        let place = papers.display();
        return Err(StudyError::Choice(format!(
            "there is no experiment at `{place}`: it has no PAPER/NAME/{EXPERIMENT}"
        )));
    }
    for experiment in &experiments {
        across(experiment, &experiments)?;
    }
    Ok(experiments)
}

const EXPERIMENT: &str = "experiment.toml";

/// The experiments that `words` name: `all`, or a paper, or a paper and some of its experiments, or `d3/fig10`.
/// An unknown name suggests the nearest.
pub fn choose(
    experiments: &[Experiment],
    words: &[String],
) -> std::result::Result<Vec<usize>, StudyError> {
    let mut papers: Vec<&str> = experiments.iter().map(|of| of.paper.as_str()).collect();
    papers.dedup();
    let refuse = |word: &str, known: &[&str]| {
        let near = nearest(word, known.iter().copied());
        let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let known = known.join(", ");
        StudyError::Choice(format!(
            "there is no paper or experiment `{word}`{help} There are: {known}"
        ))
    };
    let mut chosen = vec![false; experiments.len()];
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "all" {
            chosen.fill(true);
            continue;
        }
        if let Some(index) = experiments.iter().position(|of| of.id() == word) {
            chosen[index] = true;
            continue;
        }
        if !papers.contains(&word) {
            let ids: Vec<String> = experiments.iter().map(Experiment::id).collect();
            let mut known: Vec<&str> = papers.clone();
            known.push("all");
            known.extend(ids.iter().map(String::as_str));
            return Err(refuse(word, &known));
        }
        let mut whole = true;
        while let Some(name) =
            words.next_if(|next| !papers.contains(next) && *next != "all" && !next.contains('/'))
        {
            whole = false;
            let own = |of: &Experiment| of.paper == word;
            let Some(index) = experiments.iter().position(|of| own(of) && of.name == name) else {
                let names: Vec<&str> = experiments
                    .iter()
                    .filter(|of| own(of))
                    .map(|of| of.name.as_str())
                    .collect();
                return Err(refuse(name, &names));
            };
            chosen[index] = true;
        }
        if whole {
            for (index, experiment) in experiments.iter().enumerate() {
                chosen[index] |= experiment.paper == word;
            }
        }
    }
    Ok((0..experiments.len()).filter(|&i| chosen[i]).collect())
}

/// The folders in a folder, by name.
fn folders(path: &Path) -> std::result::Result<Vec<PathBuf>, StudyError> {
    let refused = |why: std::io::Error| {
        StudyError::Choice(format!(
            "cannot read the folder of experiments `{}`: {why}",
            path.display()
        ))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads one experiment.
pub(super) fn read(folder: &Path) -> Result<Experiment> {
    let load = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|why| {
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
    let written: file::File = toml::from_str(&text).map_err(|error| {
        let span = error.span().unwrap_or(text.len()..text.len());
        Diagnostic::at(
            &reader.name,
            &text,
            span,
            error.message().replace('\n', "; "),
        )
    })?;
    let mut experiment = Experiment {
        paper: folder.parent().map_or(String::new(), last),
        name: last(folder),
        folder: folder.to_path_buf(),
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

fn calibration(of: &file::Calibration) -> Calibration {
    let text = |of: &Option<Text>| of.as_ref().map(|text| text.get_ref().clone());
    Calibration {
        key: of.key.get_ref().clone(),
        value: written(of.value.get_ref()),
        experiment: text(&of.on.experiment),
        scheme: of.on.scheme.get_ref().clone(),
        panel: text(&of.on.panel),
        at: of.on.at.as_ref().map(|value| written(value.get_ref())),
        metric: of
            .on
            .metric
            .as_ref()
            .and_then(|metric| Metric::named(metric.get_ref())),
        span: place(&of.on.scheme),
    }
}

/// What can only be checked beside the other experiments: sides that read them, and points that were fitted.
fn across(experiment: &Experiment, all: &[Experiment]) -> Result<()> {
    let file = experiment.folder.join(EXPERIMENT).display().to_string();
    let wrong = |span: &Range<usize>, message: String| {
        Diagnostic::at(&file, &experiment.text, span.clone(), message)
    };
    let find = |name: Option<&str>| match name {
        None => Some(experiment),
        Some(name) => all
            .iter()
            .find(|of| of.paper == experiment.paper && of.name == name),
    };
    for check in &experiment.checks {
        for side in std::iter::once(&check.left).chain(&check.right) {
            side_exists(side, &find).map_err(|message| wrong(&check.span, message))?;
        }
    }
    for of in &experiment.calibrations {
        let on = find(of.experiment.as_deref()).ok_or_else(|| {
            let name = of.experiment.as_deref().unwrap_or_default();
            wrong(&of.span, format!("there is no experiment `{name}`"))
        })?;
        let Some(scheme) = on.scheme(&of.scheme) else {
            let name = &of.scheme;
            return Err(wrong(
                &of.span,
                format!("there is no scheme `{name}` in {}", on.id()),
            ));
        };
        let deadline_aware = ["d3", "d2tcp"]
            .iter()
            .any(|name| of.scheme.starts_with(name));
        if deadline_aware && on.id() == experiment.id() {
            let message = format!(
                "`{}` was fitted on {}'s own curve: its points would predict themselves",
                of.key, of.scheme
            );
            return Err(wrong(&of.span, message).allowed("a curve of another scheme"));
        }
        let fitted = |check: &&Check| {
            let mut sides = std::iter::once(&check.left).chain(&check.right);
            check.kind == Kind::Predicted
                && check.stated
                && sides.all(|side| side_lies_on(side, of, on))
        };
        if let Some(free) = on.checks.iter().find(fitted) {
            let message = format!(
                "`{}` was fitted here, and {}'s check \"{}\" reads nothing else",
                of.key,
                on.id(),
                free.text
            );
            return Err(wrong(&of.span, message).allowed("kind = \"calibrated\" there"));
        }
        let lies_on = |published: &&Published| {
            let panel = &on.panels[published.panel].name;
            let at = published.at.map(|at| &on.axis.values[at]);
            published.scheme == scheme
                && of.panel.as_ref().is_none_or(|name| name == panel)
                && (of.at.is_none() || at.is_none() || of.at.as_ref() == at)
                && of
                    .metric
                    .is_none_or(|metric| metric == published.measure.metric)
        };
        if let Some(free) = on
            .published
            .iter()
            .filter(lies_on)
            .find(|published| published.kind == Kind::Predicted)
        {
            let message = format!(
                "`{}` was fitted here, and {} has a published value of {} ({}) that says kind = \"predicted\"",
                of.key,
                on.id(),
                of.scheme,
                free.source
            );
            return Err(wrong(&of.span, message).allowed("kind = \"calibrated\" there"));
        }
    }
    Ok(())
}

/// Whether a side of one of `on`'s checks reads nothing but what was fitted.
fn side_lies_on(side: &Side, of: &Calibration, on: &Experiment) -> bool {
    match side {
        Side::Value(_) => true,
        Side::Over(a, b) | Side::Minus(a, b) => side_lies_on(a, of, on) && side_lies_on(b, of, on),
        Side::Measured {
            experiment,
            scheme,
            panel,
            at,
            measure,
        } => {
            let panel = panel.as_deref().unwrap_or(&on.panels[0].name);
            let metric = measure.as_ref().unwrap_or(&on.measure).metric;
            experiment.is_none()
                && *scheme == of.scheme
                && of.panel.as_deref().is_none_or(|name| name == panel)
                && (of.at.is_none() || of.at == *at)
                && of.metric.is_none_or(|fitted| fitted == metric)
        }
    }
}

/// Whether every name of a side is known, as an error in words.
fn side_exists<'a>(
    side: &Side,
    find: &impl Fn(Option<&str>) -> Option<&'a Experiment>,
) -> std::result::Result<(), String> {
    match side {
        Side::Value(_) => Ok(()),
        Side::Over(a, b) | Side::Minus(a, b) => {
            side_exists(a, find)?;
            side_exists(b, find)
        }
        Side::Measured {
            experiment,
            scheme,
            panel,
            at,
            ..
        } => {
            let name = experiment.as_deref();
            let Some(of) = find(name) else {
                let name = name.unwrap_or_default();
                return Err(format!("there is no experiment `{name}` beside this one"));
            };
            let list = |names: Vec<&str>| names.join(", ");
            if of.scheme(scheme).is_none() {
                let known = list(of.schemes.iter().map(|of| of.name.as_str()).collect());
                return Err(format!(
                    "{} has no scheme `{scheme}`; it has {known}",
                    of.id()
                ));
            }
            if let Some(panel) = panel.as_ref().filter(|name| of.panel(name).is_none()) {
                let known = list(of.panels.iter().map(|of| of.name.as_str()).collect());
                return Err(format!(
                    "{} has no panel `{panel}`; it has {known}",
                    of.id()
                ));
            }
            if let Some(at) = at.as_ref().filter(|at| of.value(at).is_none()) {
                let known = of.axis.values.join(", ");
                return Err(format!(
                    "{} has no axis value {at}; it has {known}",
                    of.id()
                ));
            }
            Ok(())
        }
    }
}

/// The file, for messages.
struct Reader<'a> {
    name: String,
    text: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let wrong = Diagnostic::at(&self.name, self.text, span, message);
        if value.is_empty() || value.contains('\n') {
            wrong
        } else {
            wrong.key("value").value(value)
        }
    }

    /// One of some names.
    fn one_of<T: Copy>(&self, text: &Text, what: &str, names: &[(&str, T)]) -> Result<T> {
        let word = text.get_ref();
        if let Some(&(_, value)) = names.iter().find(|(name, _)| name == word) {
            return Ok(value);
        }
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let wrong = self
            .wrong(place(text), format!("there is no such {what}"))
            .allowed(known.join(", "));
        Err(match nearest(word, known) {
            Some(near) => wrong.help(format!("did you mean `{near}`?")),
            None => wrong,
        })
    }

    fn measure(&self, metric: &Text, workload: Option<&Text>) -> Result<Measure> {
        let all = Metric::all();
        let names: Vec<(&str, Metric)> = all
            .iter()
            .map(|(name, metric)| (name.as_str(), *metric))
            .collect();
        Ok(Measure {
            metric: self.one_of(metric, "metric", &names)?,
            workload: workload.map(|name| name.get_ref().clone()),
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
            return Err(self
                .wrong(place(spanned), "the axis has no key")
                .allowed("key or keys"));
        }
        let values: Vec<String> = axis.values.iter().map(|of| written(of.get_ref())).collect();
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
        values.iter().position(|of| *of == text).ok_or_else(|| {
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

    fn repetitions(&self, of: &Spanned<file::Repetitions>) -> Result<Repetitions> {
        let &file::Repetitions { full, quick } = of.get_ref();
        if quick == 0 || quick > full {
            return Err(self
                .wrong(
                    place(of),
                    "quick repetitions must be at least 1 and at most the full ones",
                )
                .allowed("{ full = N, quick = 1..=N }"));
        }
        Ok(Repetitions { full, quick })
    }

    fn panels(&self, file: &file::File) -> Result<Vec<Panel>> {
        let mut panels: Vec<Panel> = Vec::new();
        for panel in &file.panel {
            let name = panel.name.get_ref().clone();
            if panels.iter().any(|of| of.name == name) {
                return Err(self.wrong(place(&panel.name), "a second panel of this name"));
            }
            panels.push(Panel {
                label: panel.label.clone().unwrap_or_else(|| name.clone()),
                name,
                set: settings(&panel.set),
                quick: panel.quick,
            });
        }
        if panels.is_empty() {
            panels.push(Panel {
                name: String::new(),
                label: String::new(),
                set: Vec::new(),
                quick: true,
            });
        }
        Ok(panels)
    }

    fn method(&self, file: &file::File, experiment: &Experiment) -> Result<Method> {
        #[derive(Clone, Copy)]
        enum Word {
            Simulate,
            Fluid,
            Scatter,
            Distribution,
            Series,
            Note,
        }
        let Some(method) = &file.method else {
            return Ok(Method::Simulate);
        };
        let values = &experiment.axis.values;
        let table =
            |name: &str| self.wrong(place(method), format!("the table [{name}] is missing"));
        let names = [
            ("simulate", Word::Simulate),
            ("fluid", Word::Fluid),
            ("scatter", Word::Scatter),
            ("distribution", Word::Distribution),
            ("series", Word::Series),
            ("note", Word::Note),
        ];
        let sampled = [
            ("queue", Sampled::Queue),
            ("throughput", Sampled::Throughput),
        ];
        Ok(match self.one_of(method, "method", &names)? {
            Word::Simulate => Method::Simulate,
            Word::Fluid => Method::Fluid,
            Word::Note => Method::Note,
            Word::Scatter => Method::Scatter {
                runs: file.scatter.as_ref().ok_or_else(|| table("scatter"))?.runs,
            },
            Word::Distribution => {
                let of = file
                    .distribution
                    .as_ref()
                    .ok_or_else(|| table("distribution"))?;
                let more = [
                    ("completion", Sampled::Completion),
                    ("latency-to-allowed", Sampled::Allowed),
                ];
                let names: Vec<_> = sampled.into_iter().chain(more).collect();
                let at = match &of.at {
                    Some(at) => at
                        .iter()
                        .map(|value| self.axis_value(value, values))
                        .collect::<Result<_>>()?,
                    None => (0..values.len()).collect(),
                };
                Method::Distribution {
                    of: self.one_of(&of.of, "quantity", &names)?,
                    at,
                }
            }
            Word::Series => {
                let of = file.series.as_ref().ok_or_else(|| table("series"))?;
                let at = of.at.as_ref();
                Method::Series {
                    of: self.one_of(&of.of, "quantity", &sampled)?,
                    at: at.map_or(Ok(0), |value| self.axis_value(value, values))?,
                    names: of.names.clone(),
                    average_s: of
                        .average
                        .as_ref()
                        .map_or(Ok(0.0), |text| self.time(text))?,
                }
            }
        })
    }

    /// A time such as "20 ms", in s.
    fn time(&self, text: &Text) -> Result<f64> {
        let units = [
            ("ps", 1e-12),
            ("ns", 1e-9),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
        ];
        let parsed = text.get_ref().split_once(' ').and_then(|(number, unit)| {
            let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
            Some(number.parse::<f64>().ok()? * factor)
        });
        parsed.ok_or_else(|| {
            self.wrong(place(text), "not a time")
                .allowed("a time such as \"20 ms\"")
        })
    }

    fn schemes(&self, file: &file::File, experiment: &Experiment) -> Result<Vec<Scheme>> {
        let mut schemes: Vec<Scheme> = Vec::new();
        for scheme in &file.scheme {
            let name = scheme.name.get_ref().clone();
            if schemes.iter().any(|of| of.name == name) {
                return Err(self.wrong(place(&scheme.name), "a second scheme of this name"));
            }
            let panels = match &scheme.panels {
                None => vec![true; experiment.panels.len()],
                Some(names) => {
                    let mut panels = vec![false; experiment.panels.len()];
                    for name in names {
                        panels[self.panel(Some(name), experiment)?] = true;
                    }
                    panels
                }
            };
            let mut values = vec![scheme.values.is_none(); experiment.axis.values.len()];
            for value in scheme.values.iter().flatten() {
                values[self.axis_value(value, &experiment.axis.values)?] = true;
            }
            schemes.push(Scheme {
                label: scheme.label.clone().unwrap_or_else(|| name.clone()),
                name,
                set: settings(&scheme.set),
                panels,
                values,
                quick: scheme.quick,
                repetitions: match &scheme.repetitions {
                    Some(own) => self.repetitions(own)?,
                    None => experiment.repetitions,
                },
                ideal: self
                    .ideal(scheme, &experiment.method)?
                    .map(|ideal| (ideal, None)),
            });
        }
        if schemes.is_empty() {
            return Err(Diagnostic::of_file(&self.name, "there is no [[scheme]]"));
        }
        if experiment.method != Method::Fluid {
            self.flows_of(file, &mut schemes)?;
        }
        Ok(schemes)
    }

    /// The scheduler that a scheme stands for, if it is one.
    fn ideal(&self, scheme: &file::Scheme, method: &Method) -> Result<Option<Ideal>> {
        if let Some(method) = &scheme.method {
            self.one_of(method, "method of a scheme", &[("fluid", ())])?;
        } else if *method != Method::Fluid {
            return Ok(None);
        }
        let ideal = self.one_of(&scheme.name, "ideal scheduler", &Ideal::ALL)?;
        Ok(Some(ideal))
    }

    /// Whose flows the ideal schedulers take.
    fn flows_of(&self, file: &file::File, schemes: &mut [Scheme]) -> Result<()> {
        let simulated: Vec<(String, usize)> = schemes
            .iter()
            .enumerate()
            .filter(|(_, scheme)| scheme.ideal.is_none())
            .map(|(index, scheme)| (scheme.name.clone(), index))
            .collect();
        let names: Vec<(&str, usize)> = simulated
            .iter()
            .map(|(name, index)| (name.as_str(), *index))
            .collect();
        for (scheme, written) in schemes.iter_mut().zip(&file.scheme) {
            let Some((_, source)) = &mut scheme.ideal else {
                continue;
            };
            if let Some(key) = written.set.keys().next() {
                let message =
                    "an ideal scheduler takes the flows of another scheme, and so its settings";
                return Err(self.wrong(place(key), message).allowed("no `set`"));
            }
            *source = match (&written.flows_of, names.first()) {
                (Some(name), _) => Some(self.one_of(name, "simulated scheme", &names)?),
                (None, Some(&(_, first))) => Some(first),
                (None, None) => {
                    let message = "no scheme is simulated whose flows it could take";
                    return Err(self
                        .wrong(place(&written.name), message)
                        .help("say method = \"fluid\" at the top"));
                }
            };
        }
        Ok(())
    }

    fn panel(&self, name: Option<&Text>, experiment: &Experiment) -> Result<usize> {
        let names: Vec<(&str, usize)> = experiment
            .panels
            .iter()
            .enumerate()
            .map(|(index, panel)| (panel.name.as_str(), index))
            .collect();
        name.map_or(Ok(0), |name| self.one_of(name, "panel", &names))
    }

    fn kind(&self, kind: &Text) -> Result<Kind> {
        let kinds = [
            ("predicted", Kind::Predicted),
            ("calibrated", Kind::Calibrated),
            ("not-stated", Kind::NotStated),
        ];
        self.one_of(kind, "kind", &kinds)
    }

    fn published(&self, of: &file::Published, experiment: &Experiment) -> Result<Published> {
        let names: Vec<(&str, usize)> = experiment
            .schemes
            .iter()
            .enumerate()
            .map(|(index, scheme)| (scheme.name.as_str(), index))
            .collect();
        let scheme = self.one_of(&of.scheme, "scheme", &names)?;
        let measure = match &of.metric {
            Some(metric) => self.measure(metric, of.workload.as_ref())?,
            None => Measure {
                workload: of
                    .workload
                    .as_ref()
                    .map(|name| name.get_ref().clone())
                    .or_else(|| experiment.measure.workload.clone()),
                ..experiment.measure.clone()
            },
        };
        let at = of
            .at
            .as_ref()
            .map(|value| self.axis_value(value, &experiment.axis.values))
            .transpose()?;
        let needs_at = experiment.axis.is_there() && !measure.metric.reads_the_axis();
        if needs_at && at.is_none() && experiment.axis.values.len() > 1 {
            let message = format!(
                "`{}` has a value at each point: say which",
                measure.metric.name()
            );
            return Err(self
                .wrong(place(&of.scheme), message)
                .allowed(format!("at = {}", experiment.axis.values.join(", "))));
        }
        if let (Some(unit), Some(own)) = (&of.unit, measure.metric.unit())
            && unit.get_ref() != own
        {
            let message = format!("{} is measured in {own}", measure.metric.name());
            return Err(self
                .wrong(place(unit), message)
                .allowed(format!("\"{own}\"")));
        }
        let kind = self.kind(&of.kind)?;
        if of.value.is_none() != (kind == Kind::NotStated) {
            let message =
                "a value that the paper does not state has no `value`, and any other has one";
            return Err(self.wrong(place(&of.kind), message));
        }
        Ok(Published {
            scheme,
            panel: self.panel(of.panel.as_ref(), experiment)?,
            at: if needs_at {
                Some(at.unwrap_or(0))
            } else {
                None
            },
            measure,
            value: of.value,
            kind,
            source: of.source.clone(),
        })
    }

    fn check(&self, of: &file::Check, experiment: &Experiment) -> Result<Check> {
        let values = &experiment.axis.values;
        let end = |value: Option<&Value>, default: usize| {
            value.map_or(Ok(default), |value| self.axis_value(value, values))
        };
        let range = (
            end(of.from.as_ref(), 0)?,
            end(of.to.as_ref(), values.len() - 1)?,
        );
        let left = self.side(&of.left, of, None)?;
        let right = of
            .right
            .as_ref()
            .map(|side| self.side(side, of, None))
            .transpose()?;
        let by = of.by.unwrap_or(0.0);
        let (low, high) = (
            of.low.unwrap_or(f64::NEG_INFINITY),
            of.high.unwrap_or(f64::INFINITY),
        );
        let relations = [
            ("greater", Relation::Greater(by)),
            ("less", Relation::Less(by)),
            ("ratio", Relation::Ratio(low, high)),
            ("difference", Relation::Difference(low, high)),
            ("within", Relation::Within(low, high)),
            ("monotone-up", Relation::MonotoneUp(by)),
            ("monotone-down", Relation::MonotoneDown(by)),
            ("same", Relation::Same),
        ];
        let relation = self.one_of(&of.relation, "relation", &relations)?;
        let bounded = matches!(
            relation,
            Relation::Ratio(..) | Relation::Difference(..) | Relation::Within(..)
        );
        if bounded && of.low.is_none() && of.high.is_none() {
            return Err(self
                .wrong(place(&of.relation), "nothing bounds it")
                .allowed("low, high or both"));
        }
        if bounded && low > high {
            return Err(self.wrong(
                place(&of.relation),
                format!("low = {low} is above high = {high}"),
            ));
        }
        let alone = matches!(
            relation,
            Relation::Within(..) | Relation::MonotoneUp(_) | Relation::MonotoneDown(_)
        );
        if alone == right.is_some() {
            let message = if alone {
                "this relation has no right side"
            } else {
                "this relation needs a right side"
            };
            return Err(self.wrong(place(&of.relation), message));
        }
        let kind = of
            .kind
            .as_ref()
            .map_or(Ok(Kind::Predicted), |kind| self.kind(kind))?;
        Ok(Check {
            text: of.text.get_ref().clone(),
            left,
            right,
            relation,
            range,
            stated: of.stated,
            kind,
            source: of
                .source
                .clone()
                .unwrap_or_else(|| experiment.source.clone()),
            span: place(&of.text),
        })
    }

    /// A side; what it does not say is that of `outer`, of the check or of the experiment.
    fn side(
        &self,
        of: &file::Side,
        check: &file::Check,
        outer: Option<&file::Side>,
    ) -> Result<Side> {
        if let Some(value) = of.value {
            return Ok(Side::Value(value));
        }
        let inherited = |pick: fn(&file::Side) -> Option<&Text>, default: Option<&Text>| {
            pick(of)
                .or_else(|| outer.and_then(pick))
                .or(default)
                .map(|text| text.get_ref().clone())
        };
        let Some(scheme) = inherited(|side| side.scheme.as_ref(), None) else {
            return Err(self
                .wrong(place(&check.text), "a side of this check names no scheme")
                .allowed("scheme = \"NAME\" or value = NUMBER"));
        };
        let metric = of
            .metric
            .as_ref()
            .or_else(|| outer.and_then(|side| side.metric.as_ref()))
            .or(check.metric.as_ref());
        let workload = of
            .workload
            .as_ref()
            .or_else(|| outer.and_then(|side| side.workload.as_ref()))
            .or(check.workload.as_ref());
        let measure = match (metric, workload) {
            (None, None) => None,
            (Some(metric), workload) => Some(self.measure(metric, workload)?),
            (None, Some(workload)) => {
                return Err(self
                    .wrong(place(workload), "a workload needs a metric beside it")
                    .allowed("metric = \"NAME\""));
            }
        };
        let at = of
            .at
            .as_ref()
            .or_else(|| outer.and_then(|side| side.at.as_ref()));
        let measured = Side::Measured {
            experiment: inherited(|side| side.experiment.as_ref(), None),
            scheme,
            panel: inherited(|side| side.panel.as_ref(), check.panel.as_ref()),
            at: at.map(|value| written(value.get_ref())),
            measure,
        };
        let measured = match &of.minus {
            Some(minus) => Side::Minus(
                Box::new(measured),
                Box::new(self.side(minus, check, Some(of))?),
            ),
            None => measured,
        };
        Ok(match &of.over {
            Some(over) => Side::Over(
                Box::new(measured),
                Box::new(self.side(over, check, Some(of))?),
            ),
            None => measured,
        })
    }
}

/// Settings as `--set` takes them.
fn settings(set: &file::Set) -> Vec<(String, String)> {
    set.iter()
        .map(|(key, value)| (key.get_ref().clone(), written(value.get_ref())))
        .collect()
}
