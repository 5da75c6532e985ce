//! `duetime bound`

use std::io::Write;

use duetime_results::Class;
use duetime_scenario::Scenario;
use duetime_scenario::model::WorkloadKind;
use duetime_study::bound::Best;
use duetime_study::{BestPossible, Plan, StudyError, text};
use serde_json::json;

use super::{at_once, json_event, request};
use crate::args;
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::terminal::{Room, stdout};

/// Bounds what any transport can do, and prints it.
pub fn bound(args: &args::Bound) -> Result<(), Failure> {
    let plan = Plan::new(request(&args.scenario, &args.choice)?)?;
    let scenario = &plan.base;
    let best = BestPossible::of(scenario, at_once(args.jobs, 1))?;
    if best.is_empty() {
        return Err(Failure::from(StudyError::Choice(format!(
            "{}: there is no bound: {}",
            args.scenario.display(),
            match best.unknown.first() {
                None => "no measured flow has a deadline, and no query is judged",
                Some(&workload) => why_unknown(scenario, workload),
            }
        ))));
    }
    if args.json {
        return json_object(scenario, &best);
    }
    human(scenario, &best, Room::of_stdout(args.tables.wide))
}

/// Why nothing is known beforehand of a workload.
fn why_unknown(scenario: &Scenario, workload: u16) -> &'static str {
    match &scenario.workloads[usize::from(workload)].kind {
        WorkloadKind::Oldi(oldi) if oldi.asks_again() => {
            "it hedges or retries: which hosts answer a leaf's part, and how often, depends on the transport"
        }
        WorkloadKind::Oldi(oldi) if oldi.cancel_spares => {
            "it cancels spare answers: which answers are spare depends on the transport"
        }
        _ => "its queries follow each other, so that a faster transport is asked more",
    }
}

fn human(scenario: &Scenario, best: &BestPossible, room: Room) -> Result<(), Failure> {
    let mut to = stdout();
    let mut table = Table::new(&[
        ("asked", Align::Left),
        ("number", Align::Right),
        ("missed at least", Align::Right),
        ("online EDF", Align::Right),
        ("", Align::Left),
    ])
    .sparing(&["online EDF", "number"]);
    for (name, best) in rows(scenario, best) {
        let share = |of| text::with_interval(of, text::percent);
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
            condition.to_owned(),
        ]);
    }
    writeln!(to, "{}\n", room.wrapped(&sentence(scenario, best)))?;
    let table = table.without_empty_columns();
    write!(to, "{}", table.within(room.tables))?;
    for &workload in &best.unknown {
        let name = &scenario.workloads[usize::from(workload)].name;
        let line = format!("{name}: no bound, {}", why_unknown(scenario, workload));
        writeln!(to, "{}", room.wrapped(&line))?;
    }
    Ok(())
}

/// Each group of queries and flows, by name: queries first.
fn rows<'a>(scenario: &'a Scenario, best: &'a BestPossible) -> Vec<(String, &'a Best)> {
    let name = |workload: u16| &scenario.workloads[usize::from(workload)].name;
    let queries = best
        .queries
        .iter()
        .map(|of| (format!("{} queries", name(of.workload)), &of.best));
    let flows = best.groups.iter().map(|of| {
        let what = match of.class {
            Class::Query => "query messages",
            Class::Cancel => "cancellations",
            Class::Response => "answers",
            Class::Flow | Class::Long => "flows",
        };
        (format!("{} {what}", name(of.workload)), &of.best)
    });
    let all = best.deadlines.iter().filter(|_| best.groups.len() > 1);
    queries
        .chain(flows)
        .chain(all.map(|of| ("all with deadlines".to_owned(), of)))
        .collect()
}

/// What it comes to, in one sentence.
fn sentence(scenario: &Scenario, best: &BestPossible) -> String {
    let rows = rows(scenario, best);
    let each = rows
        .iter()
        .map(|(name, best)| format!("{name} missed at least {}", text::percent(best.late.value)));
    let online = rows
        .iter()
        .map(|(_, best)| text::percent(best.online.value));
    format!(
        "no transport can do better: {}; an online EDF scheduler of the receivers' links misses {}",
        text::list(each),
        text::list(online)
    )
}

fn json_object(scenario: &Scenario, best: &BestPossible) -> Result<(), Failure> {
    let mut object = serde_json::to_value(best).expect("plain data");
    object["workloads"] = json!(scenario.workload_names());
    json_event(&mut stdout(), "bound", &object)
}
