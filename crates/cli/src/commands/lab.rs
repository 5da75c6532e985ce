//! `duetime lab`: scenarios on kernel TCP, D3 and `due`.

mod fidelity;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use duetime_lab::{Choices, Fidelity, Gain, LabError, Line, Run, Testbed, over_udp, scaled};
use duetime_results::stats::Estimate;
use duetime_scenario::model::Scenario;
use duetime_store::{IfExists, RunFolder, StoreError};
use duetime_study::{Engine, Execution, Outcome, Plan, Simulator, StudyError};
use serde_json::json;

use super::request;
use super::run::{human, json_rows, verdict};
use crate::args::Choice;
use crate::args::lab::{Lab, LabCommand, LabRun, LabShell, LabUp, Recovery};
use crate::failure::Failure;
use crate::progress::Detail;
use crate::terminal::stdout;
use crate::{interrupt, progress};

/// Runs a subcommand of `duetime lab`.
pub fn lab(args: &Lab) -> Result<(), Failure> {
    match &args.command {
        LabCommand::Run(args) => run(args),
        LabCommand::Compare(args) => compare(args),
        LabCommand::Up(args) => up(args),
        LabCommand::Shell(args) => shell(args),
        LabCommand::Clean => clean(),
        LabCommand::Doctor => doctor(),
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Failure::Input(error.to_string())
    }
}

/// Returns the plan with its scenarios scaled by the command line or by `lab.scale`.
fn plan(path: &Path, choice: &Choice, scale: Option<u32>) -> Result<Plan, Failure> {
    let mut plan = Plan::new(request(path, choice)?)?;
    let source = if scale.is_some() {
        "--scale"
    } else {
        "lab.scale"
    };
    let scaled = |scenario: &Scenario| {
        let mut scenario = scaled(scenario, scale.unwrap_or(scenario.lab.scale))
            .map_err(|error| Failure::Input(format!("{}: {source}: {error}", path.display())))?;
        over_udp(&mut scenario);
        Ok::<_, Failure>(scenario)
    };
    plan.base = scaled(&plan.base)?;
    for point in &mut plan.points {
        point.scenario = scaled(&point.scenario)?;
    }
    Ok(plan)
}

fn testbed(args: &LabRun, plan: &Plan) -> Result<Testbed, Failure> {
    let choices = Choices {
        recovery: match args.recovery {
            Recovery::Kernel => duetime_lab::Recovery::Kernel,
            Recovery::Plain => duetime_lab::Recovery::Plain,
        },
        repeats: args.repeats,
        real_time: !args.normal_priority,
    };
    let scenarios: Vec<_> = plan.points.iter().map(|point| &point.scenario).collect();
    Ok(Testbed::new(choices, &scenarios)?)
}

fn folder_of(args: &LabRun, plan: &Plan) -> PathBuf {
    let default = || Path::new("out").join(format!("{}-lab", plan.name()));
    args.out.clone().unwrap_or_else(default)
}

/// Executes the runs of a plan one after the other.
fn execute(
    args: &LabRun,
    plan: &Plan,
    out: &Path,
    engine: &dyn Engine,
    cancel: &std::sync::Arc<std::sync::atomic::AtomicBool>,
) -> Result<Outcome, Failure> {
    let execution = Execution {
        jobs: 1,
        threads: 1,
        if_exists: match (args.overwrite, args.resume) {
            (true, _) => IfExists::Replace,
            (_, true) => IfExists::Resume,
            (false, false) => IfExists::Refuse,
        },
        cancel: std::sync::Arc::clone(cancel),
    };
    let listener = progress::listener(args.json, false, Detail::Runs);
    duetime_study::execute(plan, out, &execution, engine, &*listener).map_err(|error| {
        let more = match &error {
            StudyError::Store(StoreError::Exists { .. }) => " (--resume, --overwrite, --out)",
            _ => "",
        };
        Failure::from(error).and(more)
    })
}

fn run(args: &LabRun) -> Result<(), Failure> {
    let plan = plan(&args.scenario, &args.choice, args.scale)?;
    let testbed = testbed(args, &plan)?;
    let out = folder_of(args, &plan);
    let cancel = interrupt::flag();
    if args.resume {
        fidelity::earlier(&out, args)?;
    }
    let outcome = execute(args, &plan, &out, &testbed, &cancel)?;
    let folder = RunFolder::open(&out)?;
    fidelity::write(&out, args, &plan, &testbed)?;
    let gathered = duetime_study::gather(&plan, &folder, |_, _| {})?;
    duetime_study::write_summary(&plan, &folder, &gathered)?;
    if args.json {
        json_rows(&plan, &gathered, &out, None)?;
    } else {
        human(&plan, &gathered, &outcome, &out, None, args.tables)?;
    }
    fidelity::show(args, &testbed)?;
    only_late(&outcome, &testbed)?;
    verdict(&outcome, &gathered)
}

/// Returns an error if runs failed only because of a lack of processor time.
fn only_late(outcome: &Outcome, testbed: &Testbed) -> Result<(), Failure> {
    let reports = testbed.reports();
    // Only the last attempt of a run can be valid.
    let never_valid = reports.iter().enumerate().filter(|(index, report)| {
        let is_same_run =
            |later: &Fidelity| (later.run, &later.transport) == (report.run, &report.transport);
        !report.is_valid() && !reports[index + 1..].iter().any(is_same_run)
    });
    let late = never_valid.filter(|(_, report)| report.is_late()).count();
    if outcome.cancelled || late == 0 || late < outcome.failures.len() {
        return Ok(());
    }
    Err(Failure::Late(format!(
        "{late} of {} runs on the testbed were never valid: this machine has too little spare processor time",
        late + outcome.finished
    )))
}

fn compare(args: &LabRun) -> Result<(), Failure> {
    let plan = plan(&args.scenario, &args.choice, args.scale)?;
    let testbed = testbed(args, &plan)?;
    let out = folder_of(args, &plan);
    let cancel = interrupt::flag();
    if args.resume {
        fidelity::earlier(&out, args)?;
    }
    execute(args, &plan, &out.join("simulator"), &Simulator, &cancel)?;
    let outcome = execute(args, &plan, &out.join("testbed"), &testbed, &cancel)?;
    fidelity::write(&out, args, &plan, &testbed)?;
    let simulated = records(&plan, &out.join("simulator"))?;
    let real = records(&plan, &out.join("testbed"))?;
    let (lines, gains) = duetime_lab::compare(&plan.points[0].scenario, &simulated, &real);
    let text = serde_json::to_string_pretty(&json!({ "lines": lines, "gains": gains }))
        .expect("plain data");
    write(&out.join("compare.json"), &text)?;
    if args.json {
        let mut to = stdout();
        for line in &lines {
            writeln!(to, "{}", json!({ "event": "compared", "line": line }))?;
        }
        for gain in &gains {
            writeln!(to, "{}", json!({ "event": "gain", "gain": gain }))?;
        }
    } else {
        side_by_side(&lines, &gains)?;
    }
    fidelity::show(args, &testbed)?;
    for (run, error) in &outcome.failures {
        writeln!(stdout(), "FAILED  {run}: {error}")?;
    }
    only_late(&outcome, &testbed)?;
    match (outcome.cancelled, outcome.failures.len()) {
        (true, _) => Err(Failure::Runs("stopped".to_owned())),
        (_, 0) => Ok(()),
        (_, failed) => Err(Failure::Runs(format!(
            "{failed} of {} runs on the testbed are invalid or failed",
            failed + outcome.finished
        ))),
    }
}

/// Reads the records of the runs in a folder.
fn records(plan: &Plan, folder: &Path) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    duetime_study::gather(plan, &RunFolder::open(folder)?, |job, records| {
        runs.push(Run {
            transport: job.transport,
            run: job.run,
            records: records.clone(),
        });
    })?;
    Ok(runs)
}

fn side_by_side(lines: &[Line], gains: &[Gain]) -> Result<(), Failure> {
    let mut to = stdout();
    writeln!(
        to,
        "\n{:<10} {:<16} {:<28} {:>24} {:>24} {:>22}",
        "transport", "of", "quantity", "simulator", "testbed", "testbed / simulator"
    )?;
    for line in lines {
        writeln!(
            to,
            "{:<10} {:<16} {:<28} {:>24} {:>24} {:>22}",
            line.transport,
            line.of,
            line.quantity,
            shown(line.simulator.as_ref()),
            shown(line.testbed.as_ref()),
            shown(line.ratio.as_ref()),
        )?;
    }
    if !gains.is_empty() {
        writeln!(to, "\nRelative to {}:", gains[0].baseline)?;
    }
    for gain in gains {
        writeln!(
            to,
            "{:<10} {:<16} {:<28} {:>24} {:>24}",
            gain.transport,
            gain.workload,
            format!("{}, {} runs", gain.quantity, gain.runs),
            shown(gain.simulator.as_ref()),
            shown(gain.testbed.as_ref()),
        )?;
    }
    Ok(())
}

/// Formats a value with its interval.
fn shown(estimate: Option<&Estimate>) -> String {
    let Some(Estimate { value, interval }) = estimate else {
        return "-".to_owned();
    };
    match interval {
        Some(interval) => format!("{value:.3} [{:.3}, {:.3}]", interval.low, interval.high),
        None => format!("{value:.3}"),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|why| Failure::Unwritten(format!("cannot write `{}`: {why}", path.display())))
}

fn up(args: &LabUp) -> Result<(), Failure> {
    let plan = plan(&args.scenario, &args.choice, args.scale)?;
    let scenario = &plan.points[0].scenario;
    let testbed = Testbed::new(Choices::default(), &[scenario])?;
    let policy = match &args.policy {
        Some(path) => Some(duetime_lab::Policy::read(path)?),
        None => None,
    };
    let stop = interrupt::flag();
    let ready = |hosts: &[duetime_lab::RunningHost]| {
        let mut to = stdout();
        for host in hosts {
            let address = host.address.as_deref().unwrap_or("-");
            let _ = writeln!(to, "{:<16} {address}", host.name);
        }
        let _ = writeln!(
            to,
            "the testbed is up; in another terminal, run: duetime lab shell HOST"
        );
        let _ = to.flush();
    };
    testbed.hold(scenario, policy.as_ref(), &stop, ready)?;
    debug_assert!(
        stop.load(Ordering::Relaxed),
        "only Ctrl-C stops the testbed"
    );
    Ok(())
}

fn shell(args: &LabShell) -> Result<(), Failure> {
    let status = duetime_lab::shell(&args.host, &args.command)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Runs(format!(
        "the command in {} failed: {status}",
        args.host
    )))
}

fn clean() -> Result<(), Failure> {
    let removed = duetime_lab::clean()?;
    // Before Linux 6.4, the controllers stay registered after a testbed was killed.
    let left = duetime_kernel::unregister_left()?;
    let mut to = stdout();
    for path in &removed {
        writeln!(to, "removed {}", path.display())?;
    }
    for name in &left {
        writeln!(to, "unregistered {name}")?;
    }
    if removed.is_empty() && left.is_empty() {
        writeln!(to, "nothing to remove")?;
    }
    Ok(())
}

fn doctor() -> Result<(), Failure> {
    let findings = duetime_lab::doctor();
    let mut to = stdout();
    for finding in &findings {
        match &finding.found {
            Ok(()) => writeln!(to, "has     {}", finding.what)?,
            Err(problem) => {
                let state = if finding.needed { "NEEDS" } else { "lacks" };
                writeln!(to, "{state:<7} {}: {problem}", finding.what)?;
            }
        }
    }
    let lacking = findings
        .iter()
        .filter(|finding| finding.needed && finding.found.is_err())
        .count();
    if lacking == 0 {
        writeln!(to, "the testbed can run here")?;
        return Ok(());
    }
    Err(Failure::Runs(format!(
        "{lacking} requirements of the testbed are missing"
    )))
}
