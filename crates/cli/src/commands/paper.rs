//! `duetime paper`.

use std::io::Write;
use std::path::PathBuf;

use duetime_papers::{
    Campaign, Counts, Experiment, Extent, Line, Method, PaperRow, Results, built_in_library,
    choose, keep, library, papers_md, rows, run_campaign,
};
use duetime_store::{IfExists, replace_file};
use duetime_study::{Outcome, Simulator};

use super::{execution, json_line};
use crate::args::Paper;
use crate::failure::Failure;
use crate::progress;
use crate::progress::Detail;
use crate::table::{Align, Table};
use crate::terminal::{stderr, stdout};

/// Lists the experiments, or runs the selected ones and prints their results.
pub fn paper(args: &Paper) -> Result<(), Failure> {
    let experiments = match &args.papers {
        Some(papers) => library(papers)?,
        None => built_in_library()?,
    };
    let all = ["all".to_owned()];
    let which = match &args.which[..] {
        [] if args.quick => &all,
        [] => return list(experiments),
        which => which,
    };
    let chosen = choose(&experiments, which)?;
    let extent = match (args.quick, args.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Settled,
    };
    let campaign = Campaign::new(experiments, chosen, extent)?;
    let execution = execution(args.jobs, 1, IfExists::Resume);
    let listener = progress::listener(false, args.quiet, Detail::Whole);
    let (results, outcome) =
        run_campaign(&campaign, &args.out, &execution, &Simulator, &*listener)?;
    if outcome.cancelled {
        return Err(Failure::Runs(format!(
            "stopped: {} runs are missing; repeat the command to complete them",
            outcome.missing
        )));
    }
    let rows = rows(&results);
    // Results are printed even if they cannot be written.
    let files = write(args, &results, &rows);
    if args.json {
        let mut to = stdout();
        rows.iter().try_for_each(|row| json_line(&mut to, row))?;
        // Standard output contains only the rows.
        writeln!(stderr(), "{}", counts(&rows, campaign.extent))?;
    } else {
        let mut to = stdout();
        writeln!(to, "\n{}", table(&rows))?;
        for (run, error) in &outcome.failures {
            writeln!(to, "FAILED  {run}: {error}")?;
        }
        writeln!(to, "{}", counts(&rows, campaign.extent))?;
        for (name, path) in files.iter().flatten() {
            writeln!(to, "{name:<8}{}", path.display())?;
        }
    }
    verdict(&outcome)?;
    files.map(|_| ())
}

/// Returns an error if runs failed. A missed value is a valid result.
fn verdict(outcome: &Outcome) -> Result<(), Failure> {
    match outcome.failures.len() {
        0 => Ok(()),
        failed => {
            let missing = match outcome.missing {
                0 => String::new(),
                missing => format!(", {missing} runs are missing"),
            };
            Err(Failure::Runs(format!(
                "points that failed: {failed}{missing}; repeat the command to retry them"
            )))
        }
    }
}

fn list(experiments: Vec<Experiment>) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("experiment", Align::Left),
        ("runs at most", Align::Right),
        ("quick", Align::Right),
        ("numbers", Align::Right),
        ("checks", Align::Right),
        ("shows", Align::Left),
    ]);
    let all: Vec<usize> = (0..experiments.len()).collect();
    let mut runs = [Vec::new(), Vec::new()];
    let mut experiments = experiments;
    for (counts, extent) in runs.iter_mut().zip([Extent::Full, Extent::Quick]) {
        let campaign = Campaign::new(experiments, all.clone(), extent)?;
        counts.extend(all.iter().map(|&index| campaign.own_runs(index)));
        experiments = campaign.experiments;
    }
    for (index, experiment) in experiments.iter().enumerate() {
        let runs = |quick: usize| match experiment.method {
            Method::Note => "–".to_owned(),
            _ => runs[quick][index].to_string(),
        };
        table.row(vec![
            format!("{} {}", experiment.paper, experiment.name),
            runs(0),
            runs(1),
            experiment.published.len().to_string(),
            experiment.checks.len().to_string(),
            experiment.title.clone(),
        ]);
    }
    Ok(write!(stdout(), "{table}")?)
}

fn table(rows: &[PaperRow]) -> Table {
    let mut table = Table::new(&[
        ("experiment", Align::Left),
        ("scheme", Align::Left),
        ("point", Align::Left),
        ("published", Align::Right),
        ("ours", Align::Right),
        ("95 % interval", Align::Right),
        ("verdict", Align::Left),
        ("kind", Align::Left),
    ]);
    for row in rows {
        let line = Line::of(row);
        table.row(vec![
            format!("{} {}", row.paper, row.experiment),
            row.scheme.clone(),
            row.point.clone(),
            line.published,
            line.ours,
            line.interval,
            line.verdict,
            line.kind.to_owned(),
        ]);
    }
    table
}

fn counts(rows: &[PaperRow], extent: Extent) -> String {
    let counts = Counts::of(rows);
    let line = |label: &str, count: &dyn std::fmt::Display| format!("{label:<37}{count}");
    let mut lines = vec![
        line("published numbers met", &counts.numbers),
        line("stated orderings and trends", &counts.orderings),
        line("looser bounds of our interpretation", &counts.looser_bounds),
        line("calibrated numbers", &counts.calibrated_numbers),
        line("calibrated orderings", &counts.calibrated_orderings),
        line("not stated in the papers", &counts.not_stated),
    ];
    if counts.not_run > 0 {
        lines.push(line("not in this campaign", &counts.not_run));
    }
    if extent == Extent::Quick {
        let note = "quick campaign: few repetitions and wide intervals; omit --quick to settle the verdicts";
        lines.push(note.to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Writes the results of a campaign and, on request, the document. Returns the kind and path of each file.
fn write(
    args: &Paper,
    results: &Results<'_>,
    rows: &[PaperRow],
) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let mut files = keep(results, rows, &args.out)?;
    if let Some(docs) = &args.write_docs {
        replace_file(docs, papers_md(results, rows).as_bytes())?;
        files.push(("docs", docs.clone()));
    }
    Ok(files)
}
