//! `docs/beyond.md`: results and checks of our own experiments.

use std::fmt::Write;

use super::super::campaign::Extent;
use super::super::experiment::{Experiment, Measure, Panel};
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
    let extent = match results.campaign.extent {
        Extent::Quick => " --quick",
        Extent::Settled => "",
        Extent::Full => " --full",
    };
    let mut out = format!(
        "# Experiments beyond the papers\n\n\
         <!-- Made by `duetime paper beyond{extent} --write-docs docs/beyond.md`. -->\n\n\
         These experiments compare `due` ([due.md](due.md)) with CUBIC and DCTCP as Linux runs them, D2TCP, D3, in some\n\
         experiments the [rivals](rivals.md), and the best possible ([bound.md](bound.md)). Each check is a bound of ours;\n\
         {} hold. An experiment's notes give its setting and the cause of each miss;\n\
         [papers/README.md](../papers/README.md) defines the metrics. Brackets: 95 % interval over seeds.\n\n\
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
            tables(&mut out, results, index, measure);
        }
    }
    out
}

/// A column of a table: its title, and the panel and the axis value whose results it contains.
type Column = (String, usize, usize);

/// Appends the tables of a measure: for each panel one with a column per axis value, or one with a column per panel if
/// the measure has no axis.
fn tables(out: &mut String, results: &Results<'_>, index: usize, measure: &Measure) {
    let experiment = results.experiment(index);
    let (axis, panels) = (&experiment.axis, &experiment.panels);
    if !axis.exists() || measure.metric.spans_axis() {
        let columns = panels.iter().enumerate();
        let columns = columns.map(|(panel, Panel { label, .. })| (label.clone(), panel, 0));
        return table(out, results, index, measure, ("", ""), columns.collect());
    }
    for (panel, Panel { label, .. }) in panels.iter().enumerate() {
        let columns = axis.values.iter().enumerate();
        let columns = columns.map(|(value, title)| (title.clone(), panel, value));
        table(
            out,
            results,
            index,
            measure,
            (label, &axis.label),
            columns.collect(),
        );
    }
}

/// Appends a table with a row per scheme. Rows and columns without results are omitted.
fn table(
    out: &mut String,
    results: &Results<'_>,
    index: usize,
    measure: &Measure,
    (panel, axis): (&str, &str),
    mut columns: Vec<Column>,
) {
    let experiment = results.experiment(index);
    let schemes = 0..experiment.schemes.len();
    let cell = |scheme, &(_, panel, value): &Column| {
        results.estimate(index, panel, scheme, value, measure)
    };
    columns.retain(|column| schemes.clone().any(|scheme| cell(scheme, column).is_some()));
    if columns.is_empty() {
        return;
    }
    let mut title = capitalised(&measure.metric.label());
    let unit = measure.metric.unit().unwrap_or(&experiment.axis.unit);
    if !unit.is_empty() {
        let _ = write!(title, " ({unit})");
    }
    if let Some(workload) = &measure.workload {
        let _ = write!(title, " of `{workload}`");
    }
    if !panel.is_empty() {
        let _ = write!(title, ", {}", panel.to_lowercase());
    }
    let _ = write!(out, "\n{title}:\n\n");
    let titles = columns.iter().map(|(title, ..)| title.clone());
    let head: Vec<String> = std::iter::once(axis.to_owned()).chain(titles).collect();
    push_row(out, &head);
    let _ = writeln!(out, "|---|{}", "---:|".repeat(columns.len()));
    for scheme in schemes {
        let found: Vec<_> = columns.iter().map(|column| cell(scheme, column)).collect();
        if found.iter().any(Option::is_some) {
            let shown = found.iter().map(|found| match found {
                Some(estimate) => text::significant(estimate.value),
                None => "–".to_owned(),
            });
            let label = experiment.schemes[scheme].label.clone();
            push_row(
                out,
                &std::iter::once(label).chain(shown).collect::<Vec<_>>(),
            );
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
