//! `duetime bound`.

use std::io::Write;

use duetime_analysis::bound::{Best, BestPossible};
use duetime_results::Class;
use duetime_scenario::Scenario;
use duetime_scenario::model::WorkloadKind;
use duetime_study::{Plan, StudyError, bound, text};
use serde_json::json;

use super::{at_once, json_event, request};
use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::{Widths, stdout};

/// Computes the bound of a scenario and prints it.
pub fn bound(args: &args::Bound) -> Result<(), Failure> {
    let plan = Plan::new(request(&args.scenario, &args.choice)?)?;
    let scenario = &plan.base;
    let best = bound::of_scenario(scenario, at_once(args.jobs, 1))?;
    if best.is_empty() {
        return Err(Failure::from(StudyError::Choice(format!(
            "{}: no bound: {}",
            args.scenario.display(),
            match best.unknown.first() {
                None => "no measured flow has a deadline and no query has a budget",
                Some(&workload) => why_unknown(scenario, workload),
            }
        ))));
    }
    if args.json {
        return json_object(scenario, &best);
    }
    human(scenario, &best, Widths::of_stdout(args.tables.wide))
}

/// Explains why a workload has no bound.
fn why_unknown(scenario: &Scenario, workload: u16) -> &'static str {
    match &scenario.workloads[usize::from(workload)].kind {
        WorkloadKind::Oldi(oldi) if oldi.has_hedges_or_retries() => {
            "it hedges or retries: which hosts answer a leaf's part, and how often, depends on the transport"
        }
        WorkloadKind::Oldi(oldi) if oldi.cancel_spares => {
            "it cancels spare answers: which answers are spare depends on the transport"
        }
        _ => "its queries follow each other, so a faster transport receives more of them",
    }
}

fn human(scenario: &Scenario, best: &BestPossible, widths: Widths) -> Result<(), Failure> {
    let mut to = stdout();
    let mut table = Table::new(&[
        ("asked", Align::Left),
        ("number", Align::Right),
        ("missed at least", Align::Right),
        ("online EDF", Align::Right),
        ("of all links", Align::Right),
        ("", Align::Left),
    ])
    .sparing(&["of all links", "online EDF", "number"]);
    for (name, best) in rows(scenario, best) {
        let share = |estimate| text::with_interval(estimate, text::percent);
        let condition = if best.if_prompt {
            "if queries are not held back"
        } else {
            ""
        };
        table.row(vec![
            name,
            text::count(best.asked as f64),
            share(&best.late),
            share(&best.online),
            best.network.as_ref().map_or(String::new(), share),
            condition.to_owned(),
        ]);
    }
    writeln!(to, "{}\n", widths.wrapped(&sentence(scenario, best)))?;
    let table = table.without_empty_columns();
    write!(to, "{}", table.within(widths.tables))?;
    for &workload in &best.unknown {
        let name = &scenario.workloads[usize::from(workload)].name;
        let line = format!("{name}: no bound, {}", why_unknown(scenario, workload));
        writeln!(to, "{}", widths.wrapped(&line))?;
    }
    Ok(())
}

/// Returns the name and the bound of each group of queries, then of each group of flows.
fn rows<'a>(scenario: &'a Scenario, best: &'a BestPossible) -> Vec<(String, &'a Best)> {
    let name = |workload: u16| &scenario.workloads[usize::from(workload)].name;
    let queries = best
        .queries
        .iter()
        .map(|group| (format!("{} queries", name(group.workload)), &group.best));
    let flows = best.groups.iter().map(|group| {
        let kind = match group.class {
            Class::Query => "query messages",
            Class::Cancel => "cancellations",
            Class::Response => "answers",
            Class::Flow | Class::Long => "flows",
        };
        (format!("{} {kind}", name(group.workload)), &group.best)
    });
    let all = best.deadlines.iter().filter(|_| best.groups.len() > 1);
    queries
        .chain(flows)
        .chain(all.map(|bound| ("all with deadlines".to_owned(), bound)))
        .collect()
}

/// Summarizes the bounds in one sentence.
fn sentence(scenario: &Scenario, best: &BestPossible) -> String {
    let rows = rows(scenario, best);
    let each = rows
        .iter()
        .map(|(name, best)| format!("{name} missed at least {}", text::percent(best.late.value)));
    let online = rows
        .iter()
        .map(|(_, best)| text::percent(best.online.value));
    let network: Vec<String> = (rows.iter())
        .filter_map(|(_, best)| Some(text::percent(best.network?.value)))
        .collect();
    let network = if network.is_empty() {
        String::new()
    } else {
        format!(", one of all links {}", text::list(network.into_iter()))
    };
    format!(
        "no transport can do better: {}; an online EDF scheduler of the receivers' links misses {}{network}",
        text::list(each),
        text::list(online)
    )
}

fn json_object(scenario: &Scenario, best: &BestPossible) -> Result<(), Failure> {
    let mut object = serde_json::to_value(best).expect("plain data");
    object["workloads"] = json!(scenario.workload_names());
    json_event(&mut stdout(), "bound", &object)
}
