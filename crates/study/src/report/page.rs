//! What the page says.

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

/// A figure on the page.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What to know to read it; may be empty.
    pub note: String,
    /// The drawing.
    pub svg: String,
}

/// A value under a name.
#[derive(Debug, Serialize)]
pub struct Named {
    /// Of what.
    pub name: String,
    /// The value.
    pub value: String,
    /// Its interval, in brackets; may be empty.
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

/// Everything that the page's template takes.
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

/// The page.
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
            .map(|of| of.text.as_str())
            .collect(),
        failures,
        // Where queries are judged, flows explain them, and have their table.
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
    rendered(&view)
}

/// The page that shows all of this.
fn rendered(view: &View<'_>) -> Result<String, StudyError> {
    Environment::new()
        .render_named_str("page.html", include_str!("page.html"), Serde(view))
        .map_err(|error| StudyError::Choice(format!("the report cannot be drawn: {error}")))
}

/// The first comment of the scenario file, which says what it is about; else what was compared.
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
    format!("{} compared.", base.transport_names().join(", "))
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

/// Missed deadlines per transport, large. A sweep has no single number.
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
        .map(|of| of.flows)
        .min()?;
    Some(Headline {
        title: "Missed deadlines".to_owned(),
        note: format!(
            "Share of the flows with deadlines that were not delivered in time, all workloads and runs together; {} \
             such flows per transport. In brackets: 95 % interval over runs.",
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

/// The command that makes the folder again.
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
        meaning: "Enough answers were at the root of its tree within its budget, which begins when the query arrives \
                  there. How many are enough and the budget are the workload's objective. Queries count if they arrive \
                  after the warm-up and before the end.",
    },
    Term {
        name: "Answers asked",
        meaning: "All answers that the measured queries asked for, in all layers of their trees. One that was never sent \
                  is not in time.",
    },
    Term {
        name: "Aggregators that gave up",
        meaning: "They stopped waiting for their children and answered with what they had (the key give_up).",
    },
    Term {
        name: "Completion time",
        meaning: "From the moment the application submits the flow to the in-order delivery of its last byte; the \
                  handshake is within, the FIN exchange is not.",
    },
    Term {
        name: "Missed",
        meaning: "Not delivered by its deadline, for whatever reason. Flows count if they start after the warm-up and \
                  before the end; runs go on until the last measured deadline has passed.",
    },
    Term {
        name: "Slack",
        meaning: "Deadline minus completion; negative is late. Its p99 is what 99 % had at least.",
    },
    Term {
        name: "Answers in time per query",
        meaning: "Share of the root's own children whose answers met their deadlines, averaged over queries.",
    },
    Term {
        name: "Intervals",
        meaning: "95 %, by bootstrap over runs. Runs with equal numbers share their seed between transports. One run \
                  gives no interval; of two or three it is the range of what was seen, and of a handful it is too narrow.",
    },
    Term {
        name: "KB, MB",
        meaning: "1000 and 1,000,000 bytes.",
    },
];
