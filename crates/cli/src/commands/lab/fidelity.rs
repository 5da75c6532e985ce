//! Fidelity reports of runs on the testbed, in `fidelity.json` and as a summary.

use std::io::{ErrorKind, Write};
use std::path::Path;

use duetime_lab::{D3Port, Testbed};
use duetime_study::Plan;
use serde_json::{Value, json};

use crate::args::lab::{LabRun, Recovery};
use crate::failure::Failure;
use crate::terminal::stdout;

/// Writes the fidelity reports of the runs, after those of earlier runs in the folder.
pub fn write(out: &Path, args: &LabRun, plan: &Plan, testbed: &Testbed) -> Result<(), Failure> {
    let mut runs = if args.resume {
        earlier(out, args)?
    } else {
        Vec::new()
    };
    runs.extend(testbed.reports().iter().map(|report| json!(report)));
    let text = serde_json::to_string_pretty(&json!({
        "scale": args.scale.unwrap_or(plan.base.lab.scale),
        "recovery": recovery(args),
        "runs": runs,
    }))
    .expect("plain data");
    super::write(&out.join("fidelity.json"), &text)
}

/// Reads the fidelity reports in a folder.
pub fn earlier(out: &Path, args: &LabRun) -> Result<Vec<Value>, Failure> {
    let path = out.join("fidelity.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.display());
            return Err(Failure::Input(message));
        }
    };
    let refused = |why: String| Failure::Input(format!("`{}`: {why}", path.display()));
    let mut found: Value =
        serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    let (requested, present) = (recovery(args), found["recovery"].as_str());
    if present != Some(requested) {
        let present = present.unwrap_or("another");
        return Err(refused(format!(
            "its runs used --recovery {present}, not {requested}"
        )));
    }
    match found["runs"].take() {
        Value::Array(runs) => Ok(runs),
        _ => Err(refused("`runs` is not a list".to_owned())),
    }
}

const fn recovery(args: &LabRun) -> &'static str {
    match args.recovery {
        Recovery::Kernel => "kernel",
        Recovery::Plain => "plain",
    }
}

/// Prints a summary of the fidelity reports.
pub fn show(args: &LabRun, testbed: &Testbed) -> Result<(), Failure> {
    let reports = testbed.reports();
    let mut to = stdout();
    if args.json {
        for report in &reports {
            writeln!(to, "{}", json!({ "event": "fidelity", "report": report }))?;
        }
        return Ok(());
    }
    // A comparison that resumes may find all runs.
    if reports.is_empty() {
        return Ok(());
    }
    writeln!(to, "\nFidelity (details in fidelity.json)")?;
    for report in &reports {
        let state = if report.is_valid() {
            "valid"
        } else {
            "INVALID"
        };
        writeln!(
            to,
            "{} run {} attempt {}: {state}; processors {:.0} % busy; applications ran {:.0} %, waited {:.1} %; \
             switch ran {:.0} %, waited {:.1} %; late at p99: wake-ups {:.0} us, packets {:.0} us (at most {:.0} us); \
             marks asked {}, made {}; ECN on {} of {}; {} at {:.1} of {:.1} Mbps",
            report.transport,
            report.run,
            report.repeated + 1,
            report.processors_busy * 100.0,
            report.applications.ran * 100.0,
            report.applications.waited * 100.0,
            report.switch.ran * 100.0,
            report.switch.waited * 100.0,
            report.wake_lateness.p99_us,
            report.switch_lateness.p99_us,
            report.allowed_lateness_us,
            report.marks_asked,
            report.marks_made,
            report.with_ecn.0,
            report.with_ecn.1,
            report.busiest_link.0,
            report.busiest_link.1 / 1e6,
            report.busiest_capacity / 1e6,
        )?;
        if !report.d3.is_empty() {
            writeln!(to, "    {}", d3_summary(&report.d3))?;
        }
        for reason in &report.invalid {
            writeln!(to, "    {reason}")?;
        }
    }
    let invalid = reports.iter().filter(|report| !report.is_valid()).count();
    writeln!(to, "{invalid} of {} attempts were invalid", reports.len())?;
    let mut refused: Vec<_> = reports.iter().flat_map(|report| &report.refused).collect();
    refused.sort();
    refused.dedup();
    for refused in refused {
        writeln!(to, "not applied: {}: {}", refused.key, refused.why)?;
    }
    Ok(())
}

/// Summarizes D3's routers: their requests, and the state that is left after the run.
fn d3_summary(ports: &[D3Port]) -> String {
    let sum = |counter: fn(&D3Port) -> u64| -> u64 { ports.iter().map(counter).sum() };
    let remaining: Vec<String> = ports
        .iter()
        .filter(|port| port.after.flows + port.after.demand_bps + port.after.allocated_bps > 0)
        .map(|port| {
            let after = &port.after;
            format!(
                "{} holds N = {}, D = {:.1} Mbps, A = {:.1} Mbps",
                port.link,
                after.flows,
                after.demand_bps as f64 / 1e6,
                after.allocated_bps as f64 / 1e6
            )
        })
        .collect();
    format!(
        "D3: the switch received {} requests, denied {} and left {} unanswered; after the run {}",
        sum(|port| port.after.requests),
        sum(|port| port.after.denied),
        sum(|port| port.after.unanswered),
        if remaining.is_empty() {
            format!("N, D and A are 0 at all {} ports", ports.len())
        } else {
            remaining.join("; ")
        }
    )
}
