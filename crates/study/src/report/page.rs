//! Content of the page.

pub mod capacity;

use duetime_scenario::Scenario;
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::draw;
use super::queries::{self, Possible, Service};
use super::samples::Samples;
use super::tables::{Drawn, Entry};
use crate::error::StudyError;
use crate::gather::{Cell, Gathered};
use crate::plan::{Plan, Request};
use crate::tables::{On, percent, tables};
use crate::text;
use crate::verdict::Verdict;

/// Figure on the page.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Explanation; may be empty.
    pub note: String,
    /// SVG drawing.
    pub svg: String,
}

/// Named value.
#[derive(Debug, Serialize)]
pub struct Named {
    /// Name.
    pub name: String,
    /// Formatted value.
    pub value: String,
    /// Interval in brackets; may be empty.
    pub interval: String,
}

#[derive(Debug, Serialize)]
struct Headline {
    title: String,
    note: String,
    bars: Vec<Named>,
}

#[derive(Debug, Serialize)]
struct Failure {
    name: String,
    error: String,
}

#[derive(Debug, Serialize)]
struct Term {
    name: &'static str,
    meaning: &'static str,
}

/// Input of the page's template.
#[derive(Default, Serialize)]
struct View<'a> {
    title: &'a str,
    style: &'a str,
    script: String,
    version: &'a str,
    answer: Option<String>,
    lead: String,
    services: Vec<Service>,
    verdicts: &'a [Verdict],
    facts: Vec<Named>,
    warnings: Vec<&'a str>,
    failures: Vec<Failure>,
    headline: Option<Headline>,
    tables: Vec<Drawn>,
    figures: Vec<Figure>,
    command: String,
    file: String,
    scenario: &'a str,
    terms: &'a [Term],
}

/// Renders the page.
pub fn html(plan: &Plan, gathered: &Gathered, samples: &Samples) -> Result<String, StudyError> {
    let failures: Vec<Failure> = gathered
        .absent
        .iter()
        .map(|(run, error)| Failure {
            name: run.to_string(),
            error: error.clone(),
        })
        .collect();
    let possible = Possible::of(plan, gathered);
    let services = queries::services(plan, gathered, &possible);
    let tables = tables(plan, gathered);
    let transports = plan.base.transport_names();
    let shown = tables.iter().filter(|table| table.on != On::Terminal);
    let tables: Vec<Drawn> = shown
        .map(|table| Drawn::of(table, plan.points.len() > 1, &transports))
        .collect();
    let view = View {
        answer: queries::answer(plan, gathered, &possible),
        title: plan.name(),
        style: super::PAGE_STYLE,
        script: super::page_script(),
        version: duetime_store::VERSION,
        lead: lead(&plan.request, &plan.base),
        facts: facts(plan, gathered),
        warnings: gathered
            .warnings
            .iter()
            .map(|warning| warning.text.as_str())
            .collect(),
        failures,
        // If queries are judged, missed deadlines of flows are only in their table.
        headline: headline(plan, gathered).filter(|_| services.is_empty()),
        services,
        verdicts: &gathered.verdicts,
        tables,
        figures: draw::figures(plan, gathered, samples),
        command: command(plan),
        file: file_name(&plan.request),
        scenario: &plan.request.text,
        terms: TERMS,
    };
    render(&view)
}

fn render(view: &View<'_>) -> Result<String, StudyError> {
    Environment::new()
        .render_named_str("page.html", include_str!("page.html"), Serde(view))
        .map_err(|error| StudyError::Choice(format!("cannot render the report: {error}")))
}

/// Returns the first comment of the scenario file, or the names of the transports if there is none.
fn lead(request: &Request, base: &Scenario) -> String {
    let comment = request
        .text
        .lines()
        .take_while(|line| line.starts_with('#'));
    let comment: Vec<&str> = comment
        .map(|line| line.trim_start_matches('#').trim())
        .collect();
    if !comment.is_empty() {
        return comment.join(" ");
    }
    format!("Transports: {}.", base.transport_names().join(", "))
}

fn facts(plan: &Plan, gathered: &Gathered) -> Vec<Named> {
    let fact = |name: &str, value: String| Named {
        name: name.to_owned(),
        value,
        interval: String::new(),
    };
    let scenario = &plan.base;
    let runs: usize = gathered.cells.iter().map(|cell| cell.runs.len()).sum();
    let hops: u64 = gathered
        .cells
        .iter()
        .flat_map(|cell| &cell.runs)
        .map(|run| run.network.packet_hops)
        .sum();
    let mut facts = vec![
        fact("transports", scenario.transports.len().to_string()),
        fact("runs per transport", scenario.seeds.to_string()),
        fact("runs", format!("{runs} of {}", plan.jobs().len())),
        fact("seed", scenario.seed.to_string()),
        fact(
            "measurement window",
            text::seconds(scenario.duration.as_secs_f64() - scenario.warm_up.as_secs_f64()),
        ),
        fact("packet-hops simulated", text::count(hops as f64)),
    ];
    if plan.points.len() > 1 {
        facts.insert(
            0,
            fact("points of the sweep", plan.points.len().to_string()),
        );
    }
    facts
}

/// Returns the missed deadlines of each transport, or `None` for a sweep or without deadlines.
fn headline(plan: &Plan, gathered: &Gathered) -> Option<Headline> {
    if plan.points.len() > 1 {
        return None;
    }
    let bar = |cell: &Cell| {
        let missed = percent(&cell.summary.deadlines?.missed);
        let Entry {
            value, interval, ..
        } = Entry::of(&missed);
        Some(Named {
            name: cell.summary.transport.clone(),
            value,
            interval,
        })
    };
    let bars: Vec<Named> = gathered.cells.iter().filter_map(bar).collect();
    let flows = gathered
        .cells
        .iter()
        .filter_map(|cell| cell.summary.deadlines)
        .map(|deadlines| deadlines.flows)
        .min()?;
    Some(Headline {
        title: "Missed deadlines".to_owned(),
        note: format!(
            "Share of the flows with deadlines that were not delivered in time, over all workloads and runs; {} such \
             flows per transport. In brackets: 95 % interval over runs.",
            text::count(flows as f64)
        ),
        bars,
    })
}

fn file_name(request: &Request) -> String {
    request
        .file
        .file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// Returns the command that reproduces the folder.
fn command(plan: &Plan) -> String {
    let command = if plan.request.points.is_empty() {
        "run"
    } else {
        "sweep"
    };
    let mut words = vec!["duetime".to_owned(), command.to_owned()];
    words.push(text::quoted(&file_name(&plan.request)));
    let names = plan.base.transport_names();
    words.extend(["--transport".to_owned(), names.join(",")]);
    for (key, value) in &plan.request.settings {
        match key.as_str() {
            "seeds" | "seed" => words.extend([format!("--{key}"), value.clone()]),
            _ => words.extend(["--set".to_owned(), text::quoted(&format!("{key}={value}"))]),
        }
    }
    for (key, values) in plan.axes() {
        words.extend([
            "--vary".to_owned(),
            text::quoted(&format!("{key}={}", values.join(","))),
        ]);
    }
    words.join(" ")
}

const TERMS: &[Term] = &[
    Term {
        name: "Query in time",
        meaning: "The root of its tree received enough answers within the budget, which starts when the query arrives \
                  there. The workload's objective sets the budget and the number of answers. Queries are measured if \
                  they arrive after the warm-up and before the end.",
    },
    Term {
        name: "Answers in time, of all requested",
        meaning: "All answers that the measured queries requested, in all layers of their trees. An answer that was \
                  never sent is not in time.",
    },
    Term {
        name: "Aggregators that timed out",
        meaning: "They stopped waiting for their children and answered with what they had (`give_up`).",
    },
    Term {
        name: "Completion time",
        meaning: "From the submission of the flow by the application to the in-order delivery of its last byte. \
                  Includes the handshake, but not the FIN exchange.",
    },
    Term {
        name: "Missed",
        meaning: "Not delivered by its deadline, for any reason. Flows are measured if they start after the warm-up \
                  and before the end. Runs continue until the last measured deadline has passed.",
    },
    Term {
        name: "Slack",
        meaning: "Deadline minus completion time; negative if late. 99 % of the flows had at least the p99 of slack.",
    },
    Term {
        name: "Answers in time per query",
        meaning: "Share of the root's direct children whose answers met their deadlines, averaged over queries.",
    },
    Term {
        name: "Intervals",
        meaning: "95 %, by bootstrap over runs. Runs with the same number have the same seed under all transports. One \
                  run gives no interval. With two or three runs it is their range, and with a handful it is too \
                  narrow.",
    },
    Term {
        name: "KB, MB",
        meaning: "1,000 and 1,000,000 bytes.",
    },
];
