//! `duetime run` and `duetime sweep`.

use std::fmt::{Display, Write as _};
use std::io::Write;
use std::path::{Path, PathBuf};

use duetime_scenario::sweep::grid;
use duetime_scenario::{Axis, Document};
use duetime_store::{IfExists, Manifest, RunFolder, StoreError};
use duetime_study::tables::{DASH, On, tables};
use duetime_study::{Gathered, Outcome, Plan, Request, Simulator, StudyError, text};
use serde_json::json;

use super::{at_once, execution, json_event, request};
use crate::args::{self, Tables, Work};
use crate::failure::Failure;
use crate::progress;
use crate::progress::Detail;
use crate::table::Table;
use crate::terminal::{Widths, stdout};

/// Runs a scenario and prints the results.
pub fn run(args: &args::Run) -> Result<(), Failure> {
    let plan = Plan::new(request(&args.scenario, &args.choice)?)?;
    let if_exists = match (args.work.overwrite, args.resume) {
        (true, _) => IfExists::Replace,
        (_, true) => IfExists::Resume,
        _ => IfExists::Refuse,
    };
    work(&plan, &args.work, if_exists)
}

/// Runs the missing runs of a grid and prints the results.
pub fn sweep(args: &args::Sweep) -> Result<(), Failure> {
    let is_plan = args
        .scenario
        .extension()
        .is_some_and(|extension| extension == "json");
    let request = if is_plan {
        planned(args)?
    } else {
        varied(args)?
    };
    let plan = Plan::new(request)?;
    if args.dry_run {
        return dry_run(&plan, &args.work);
    }
    work(
        &plan,
        &args.work,
        if args.work.overwrite {
            IfExists::Replace
        } else {
            IfExists::Resume
        },
    )
}

/// Reads the request from the plan of a sweep.
fn planned(args: &args::Sweep) -> Result<Request, Failure> {
    let file = &args.scenario;
    let wrong = |why: &str| Failure::Input(format!("{}: {why}", file.display()));
    if !args.vary.is_empty() || args.choice.any() {
        let why = "a plan cannot be combined with --vary, --set, --transport, --seeds or --seed";
        return Err(wrong(why));
    }
    let bytes =
        std::fs::read(file).map_err(|why| wrong(&format!("cannot read the plan: {why}")))?;
    let request = duetime_study::request(&Manifest::from_json(&bytes, file)?);
    if request.points.is_empty() {
        return Err(wrong("not a sweep: the manifest has no points"));
    }
    Ok(request)
}

/// Builds the request from a scenario and its axes, from the command line or the file.
fn varied(args: &args::Sweep) -> Result<Request, Failure> {
    let mut request = request(&args.scenario, &args.choice)?;
    let mut axes = args
        .vary
        .iter()
        .map(|text| Axis::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    if axes.is_empty() {
        let file = args.scenario.display().to_string();
        axes = Document::parse(&request.text, &file)?.sweep()?;
        if axes.is_empty() {
            let why = "nothing to vary: use --vary KEY=VALUES, or add a [sweep] table to the file";
            return Err(Failure::Input(format!("{file}: {why}")));
        }
    }
    request.points = grid(&axes);
    Ok(request)
}

/// Executes the runs, then writes and prints the results.
fn work(plan: &Plan, work: &Work, if_exists: IfExists) -> Result<(), Failure> {
    let out = out(plan, work);
    let execution = execution(work.jobs, work.threads, if_exists);
    let listener = progress::listener(work.json, work.quiet, Detail::Runs);
    let outcome = duetime_study::execute(plan, &out, &execution, &Simulator, &*listener).map_err(
        |error| {
            let more = match &error {
                StudyError::Store(StoreError::Exists { .. }) => " (--resume, --overwrite, --out)",
                StudyError::Store(StoreError::NotResumable { .. }) => " (--overwrite, --out)",
                _ => "",
            };
            Failure::from(error).and(more)
        },
    )?;
    let folder = RunFolder::open(&out)?;
    if !outcome.cancelled {
        duetime_study::verdict::verdicts(plan, &folder, &execution, &Simulator, &*listener)?;
    }
    drop(listener);
    let mut report = None;
    let gathered = if work.no_report {
        duetime_study::gather(plan, &folder, |_, _| {})?
    } else {
        let (gathered, path) = duetime_study::report(plan, &folder)?;
        report = Some(path);
        gathered
    };
    duetime_study::write_summary(plan, &folder, &gathered)?;
    if work.json {
        json_rows(plan, &gathered, &out, report.as_deref())?;
    } else {
        human(
            plan,
            &gathered,
            &outcome,
            &out,
            report.as_deref(),
            work.tables,
        )?;
    }
    verdict(&outcome, &gathered)
}

/// Returns an error if runs failed or are missing, or if nothing was measured.
pub(super) fn verdict(outcome: &Outcome, gathered: &Gathered) -> Result<(), Failure> {
    if outcome.cancelled {
        return Err(Failure::Runs(format!(
            "stopped: {} runs are missing; repeat the sweep, or use run --resume, to complete them",
            outcome.missing
        )));
    }
    match outcome.failures.len() {
        0 => match gathered.nothing_measured() {
            Some(warning) => Err(Failure::Runs(warning.text.clone())),
            None => Ok(()),
        },
        failed => Err(Failure::Runs(format!(
            "{failed} of {} runs failed",
            failed + outcome.finished
        ))),
    }
}

pub(super) fn human(
    plan: &Plan,
    gathered: &Gathered,
    outcome: &Outcome,
    out: &Path,
    report: Option<&Path>,
    shown: Tables,
) -> Result<(), Failure> {
    let mut to = stdout();
    let widths = Widths::of_stdout(shown.wide);
    writeln!(to)?;
    // Earlier warnings were printed when the runs started.
    for warning in &gathered.warnings[gathered.foretold..] {
        writeln!(to, "{}", widths.wrapped(&warning.line()))?;
    }
    write!(to, "{}", tables_text(plan, gathered, widths))?;
    for (run, error) in &outcome.failures {
        writeln!(to, "FAILED  {run}: {error}")?;
    }
    if !outcome.failures.is_empty() {
        writeln!(to)?;
    }
    writeln!(to, "runs    {}", out.display())?;
    if let Some(report) = report {
        writeln!(to, "report  {}", report.display())?;
    }
    Ok(())
}

/// Renders the warnings and tables of a study, with all columns.
pub fn results(plan: &Plan, gathered: &Gathered) -> String {
    let warnings = gathered
        .warnings
        .iter()
        .map(|warning| warning.line() + "\n");
    warnings
        .chain([tables_text(plan, gathered, Widths::UNLIMITED)])
        .collect()
}

/// Renders the tables and verdicts of a study.
fn tables_text(plan: &Plan, gathered: &Gathered, widths: Widths) -> String {
    let mut shown = String::new();
    let mut line = |text: &dyn Display| {
        writeln!(shown, "{text}").expect("a string can always grow");
    };
    let tables = tables(plan, gathered);
    for table in tables.iter().filter(|table| table.on != On::Page) {
        line(&widths.wrapped(&table.title));
        let drawn = Table::from_results(table).within(widths.tables);
        line(&drawn);
        let dashes = Some(table.dashes.as_str()).filter(|_| drawn.has(DASH));
        let below = [table.condition.as_str(), dashes.unwrap_or_default()].join(" ");
        if !below.trim().is_empty() {
            line(&format_args!("{}\n", widths.wrapped(below.trim())));
        }
    }
    for verdict in &gathered.verdicts {
        let text = match plan.base.workloads.len() {
            1 => verdict.text.clone(),
            _ => format!("{}: {}", verdict.workload_name, verdict.text),
        };
        line(&widths.wrapped(&text));
        if let Some(command) = &verdict.command {
            line(&format_args!("  {command}"));
        }
        line(&"");
    }
    shown
}

/// Prints the rows of the tables and the paths of the results as JSON lines.
pub(super) fn json_rows(
    plan: &Plan,
    gathered: &Gathered,
    out: &Path,
    report: Option<&Path>,
) -> Result<(), Failure> {
    let mut to = stdout();
    for row in gathered.query_rows(plan) {
        json_event(&mut to, "queries", &row)?;
    }
    for row in gathered.best_rows(plan) {
        json_event(&mut to, "best", &row)?;
    }
    for row in gathered.rows(plan) {
        json_event(&mut to, "row", &row)?;
    }
    for verdict in &gathered.verdicts {
        json_event(&mut to, "verdict", verdict)?;
    }
    let done = json!({ "folder": out, "report": report, "warnings": gathered.warnings });
    json_event(&mut to, "done", &done)
}

/// Prints the number of runs and an estimate of their duration.
fn dry_run(plan: &Plan, work: &Work) -> Result<(), Failure> {
    let out = out(plan, work);
    duetime_study::check(plan)?;
    let missing = if work.overwrite {
        all(plan)
    } else {
        unfinished(plan, &out)?
    };
    let runs = plan.jobs().len();
    let jobs = at_once(work.jobs, work.threads);
    let seconds = duetime_study::estimate(plan, &missing, jobs, &Simulator)?;
    let mut to = stdout();
    if work.json {
        let line = json!({
            "points": plan.points.len(), "runs": runs, "missing": missing.len(), "estimate_s": seconds,
        });
        return json_event(&mut to, "dry-run", &line);
    }
    let transports = plan.base.transport_names();
    writeln!(
        to,
        "{} points x {} transports ({}) x {} seeds = {runs} runs",
        plan.points.len(),
        transports.len(),
        transports.join(", "),
        plan.base.seeds
    )?;
    writeln!(
        to,
        "{} already in {}, {} to run",
        runs - missing.len(),
        out.display(),
        missing.len()
    )?;
    writeln!(
        to,
        "about {} with {} at a time (estimated from a short run of the middle point)",
        text::wall(seconds),
        jobs
    )?;
    Ok(())
}

fn all(plan: &Plan) -> Vec<(usize, duetime_study::Job)> {
    plan.jobs().into_iter().enumerate().collect()
}

/// Returns the jobs whose results are not in the folder, or an error if the folder contains another study.
fn unfinished(plan: &Plan, out: &Path) -> Result<Vec<(usize, duetime_study::Job)>, Failure> {
    match RunFolder::open_to_resume(out, &duetime_study::manifest(plan))? {
        None => Ok(all(plan)),
        Some(folder) => Ok(duetime_study::missing(plan, &folder)),
    }
}

fn out(plan: &Plan, work: &Work) -> PathBuf {
    work.out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(plan.name()))
}
