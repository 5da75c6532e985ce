//! `docs/beyond.md`: results and checks of our own experiments.

use std::fmt::Write;

use super::super::experiment::{Experiment, Measure};
use super::super::results::Results;
use super::super::rows::{Counts, Row};
use super::{belongs, checks, push_row};
use duetime_study::text;

/// Returns the document as Markdown. Its links are relative to `docs/`.
pub(super) fn beyond_md(
    results: &Results<'_>,
    rows: &[Row],
    experiments: &[&Experiment],
) -> String {
    let quick = if results.campaign.quick {
        " --quick"
    } else {
        ""
    };
    let mut out = format!(
        "# Experiments beyond the papers\n\n\
         <!-- Made by `duetime paper beyond{quick} --write-docs docs/beyond.md`. -->\n\n\
         These experiments compare `due` ([due.md](due.md)) with CUBIC and DCTCP as Linux runs them, D2TCP, D3 and the best\n\
         that any transport can do ([bound.md](bound.md)). Each check is a bound of ours; {} hold. The notes of an experiment describe its setting and the cause of each miss;\n\
         [papers/README.md](../papers/README.md) defines the metrics and explains how to run an experiment. Brackets: 95 %\n\
         interval over seeds.\n\n\
         ## Experiments\n\n\
         | experiment | title | checks |\n|---|---|---|\n",
        Counts::of(rows).looser_bounds,
    );
    for experiment in experiments {
        let own = rows.iter().filter(|row| belongs(row, experiment));
        let counts = Counts::of(&own.cloned().collect::<Vec<_>>());
        let (id, title) = (experiment.id(), &experiment.title);
        let link = format!("[{id}](../papers/{id}/reading.md)");
        push_row(
            &mut out,
            &[link, title.clone(), super::short(counts.looser_bounds)],
        );
    }
    let made = rows.iter().filter(|row| row.check);
    checks(&mut out, "Checks", made, experiments);
    for (experiment, &index) in experiments.iter().zip(&results.campaign.chosen) {
        let _ = write!(out, "\n## {}\n", experiment.title);
        let drawn = experiment.figures.iter().map(|figure| &figure.measure);
        for measure in std::iter::once(&experiment.measure).chain(drawn) {
            for panel in 0..experiment.panels.len() {
                values(&mut out, results, (index, panel), measure);
            }
        }
    }
    out
}

/// Appends a table of a measure: one row per scheme, one column per axis value.
fn values(
    out: &mut String,
    results: &Results<'_>,
    (index, panel): (usize, usize),
    measure: &Measure,
) {
    let experiment = results.experiment(index);
    let axis = &experiment.axis;
    let swept = axis.exists() && !measure.metric.spans_axis();
    let columns = if swept {
        &axis.values[..]
    } else {
        &[String::new()]
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (scheme, curve) in experiment.schemes.iter().enumerate() {
        let value = |value| results.estimate(index, panel, scheme, value, measure);
        let found: Vec<_> = (0..columns.len()).map(value).collect();
        if found.iter().any(Option::is_some) {
            let shown = found.iter().map(|found| match found {
                Some(estimate) => text::significant(estimate.value),
                None => "–".to_owned(),
            });
            rows.push(std::iter::once(curve.label.clone()).chain(shown).collect());
        }
    }
    if rows.is_empty() {
        return;
    }
    let unit = measure.metric.unit().unwrap_or(&axis.unit);
    let mut title = format!("{} ({unit})", measure.metric.label());
    if let Some(workload) = &measure.workload {
        let _ = write!(title, " of `{workload}`");
    }
    let label = &experiment.panels[panel].label;
    if !label.is_empty() {
        let _ = write!(title, ", {}", label.to_lowercase());
    }
    let _ = write!(out, "\n{}:\n\n", capitalised(&title));
    let first = if swept {
        axis.label.clone()
    } else {
        String::new()
    };
    let head: Vec<String> = std::iter::once(first)
        .chain(columns.iter().cloned())
        .collect();
    push_row(out, &head);
    let _ = writeln!(out, "|---|{}", "---:|".repeat(columns.len()));
    for row in &rows {
        push_row(out, row);
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
