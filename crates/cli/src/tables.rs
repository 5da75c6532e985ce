//! The final tables: what a study found, in text.

use duetime_results::{Estimate, Summary};
use duetime_study::bound::{BestRow, NO_TRANSPORT};
use duetime_study::{BestPossible, Gathered, Plan, QueryRow, Row};

use crate::table::{Align, Table};
use duetime_study::text;

/// The tables of a study, each with its title.
pub fn of(plan: &Plan, gathered: &Gathered) -> Vec<String> {
    let rows = gathered.rows(plan);
    let mut tables = warnings(gathered);
    if plan.points.len() > 1 {
        tables.extend(sweep(plan, gathered, Figure::Queries));
        tables.extend(sweep(plan, gathered, Figure::Deadlines));
    }
    let asked = gathered.query_rows(plan);
    let best = gathered.best_rows(plan);
    if !asked.is_empty() {
        tables.push(format!(
            "{}\n{}",
            queries_title(plan),
            queries(&asked, &best)
        ));
    }
    let (deadline, other): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.group.deadlines.is_some());
    if !deadline.is_empty() {
        tables.push(format!(
            "Flows with deadlines\n{}{}",
            deadlines(&deadline, &best),
            condition(&best)
        ));
    }
    if !other.is_empty() {
        tables.push(format!("Flows without deadlines\n{}", without(&other)));
    }
    if !rows.is_empty() {
        tables.push(format!("Network, per run\n{}", network(&rows)));
    }
    tables
}

/// What to know before any number.
fn warnings(gathered: &Gathered) -> Vec<String> {
    let warnings = gathered.warnings.iter();
    warnings.map(|of| format!("WARNING  {}", of.text)).collect()
}

/// What a table of a sweep shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// Queries in time.
    Queries,
    /// Missed deadlines of flows.
    Deadlines,
}

impl Figure {
    fn title(self) -> &'static str {
        match self {
            Self::Queries => "Queries in time",
            Self::Deadlines => "Missed deadlines",
        }
    }

    /// The same of the best possible: the most queries in time, the fewest deadlines missed.
    fn best(self, best: &BestPossible) -> Option<Estimate> {
        match self {
            Self::Queries => best.objective.map(|of| of.in_time()),
            Self::Deadlines => best.deadlines.map(|of| of.late),
        }
    }

    fn of(self, summary: &Summary) -> Option<Estimate> {
        match self {
            Self::Queries => summary.objective.map(|of| of.in_time),
            Self::Deadlines => summary.deadlines.map(|of| of.missed),
        }
    }
}

/// One figure, a row per point and a column per transport.
fn sweep(plan: &Plan, gathered: &Gathered, figure: Figure) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &gathered.cells {
        if !names.contains(&cell.summary.transport.as_str()) {
            names.push(&cell.summary.transport);
        }
    }
    let mut cells = gathered.cells.iter();
    cells.find_map(|cell| figure.of(&cell.summary))?;
    let mut head = vec![("", Align::Left)];
    head.extend(names.iter().map(|&name| (name, Align::Right)));
    head.push((NO_TRANSPORT, Align::Right));
    let mut table = Table::new(&head);
    for (index, point) in plan.points.iter().enumerate() {
        let shown = |name: &&str| {
            let cell = gathered
                .cells
                .iter()
                .find(|cell| cell.point == index && cell.summary.transport == **name);
            cell.and_then(|cell| figure.of(&cell.summary))
                .map_or("-".to_owned(), |of| percent(&of))
        };
        let mut cells = vec![point.label()];
        cells.extend(names.iter().map(shown));
        let best = gathered.best_at(index).and_then(|best| figure.best(best));
        cells.push(best.map_or(String::new(), |of| percent(&of)));
        table.row(cells);
    }
    let table = table.without_empty_columns();
    Some(format!("{}\n{table}", figure.title()))
}

/// What the queries' table is about, with what is wanted of a query.
fn queries_title(plan: &Plan) -> String {
    let wanted = duetime_study::objective_of_all(&plan.base);
    let wanted = wanted.map_or(String::new(), |wanted| format!(": {wanted}"));
    let target = duetime_study::target(&plan.base);
    let target = target.map_or(String::new(), |target| {
        format!(" for {} of them", text::percent(target))
    });
    format!("Queries{wanted}{target}")
}

/// On what the bound depends, where it does.
fn condition(best: &[BestRow]) -> &'static str {
    if best.iter().any(|row| row.class.is_some() && row.if_prompt) {
        "Some deadlines start when a query has come down its tree: the bound is for transports that do not hold queries back.\n"
    } else {
        ""
    }
}

/// Whether a row is the last of its point.
fn is_last<T>(rows: &[T], at: usize, point: impl Fn(&T) -> &str) -> bool {
    rows.get(at + 1)
        .is_none_or(|next| point(next) != point(&rows[at]))
}

fn queries(rows: &[QueryRow], best: &[BestRow]) -> Table {
    let mut table = Table::new(&[
        ("point", Align::Left),
        ("transport", Align::Left),
        ("workload", Align::Left),
        ("queries", Align::Right),
        ("in time", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("answers in time of those asked", Align::Right),
        ("leaf coverage", Align::Right),
        ("gave up", Align::Right),
    ]);
    let mut names: Vec<&str> = rows.iter().map(|row| row.workload_name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for (at, row) in rows.iter().enumerate() {
        let queries = &row.queries;
        let share = |of: Option<Estimate>| of.map_or(String::new(), |of| text::percent(of.value));
        let name = if names.len() > 1 {
            &row.workload_name
        } else {
            ""
        };
        table.row(vec![
            row.point.clone(),
            row.transport.clone(),
            name.to_owned(),
            text::count(queries.queries as f64),
            queries
                .objective
                .map_or(String::new(), |of| percent(&of.in_time)),
            time(queries.completion_s.p50.as_ref()),
            time(queries.completion_s.p90.as_ref()),
            time(queries.completion_s.p99.as_ref()),
            time(queries.completion_s.p999.as_ref()),
            share(queries.answers_in_time),
            share(queries.leaf_coverage),
            if queries.gave_up > 0 {
                text::count(queries.gave_up as f64)
            } else {
                String::new()
            },
        ]);
        if is_last(rows, at, |row| &row.point) {
            let here = |of: &&BestRow| of.class.is_none() && of.point == row.point;
            for of in best.iter().filter(here) {
                let name = if names.len() > 1 {
                    &of.workload_name
                } else {
                    ""
                };
                let mut cells = vec![
                    of.point.clone(),
                    of.transport.to_owned(),
                    name.to_owned(),
                    text::count(of.asked as f64),
                    percent(&of.in_time),
                ];
                cells.resize(12, String::new());
                table.row(cells);
            }
        }
    }
    table.without_empty_columns()
}

fn deadlines(rows: &[&Row], best: &[BestRow]) -> Table {
    let mut table = Table::new(&[
        ("point", Align::Left),
        ("transport", Align::Left),
        ("flows", Align::Left),
        ("number", Align::Right),
        ("missed", Align::Right),
        ("answers in time per query", Align::Right),
        ("queries below 95 %", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("slack p99", Align::Right),
        ("timeouts/flow", Align::Right),
        ("denied", Align::Right),
        ("inverted", Align::Right),
    ]);
    for (at, row) in rows.iter().enumerate() {
        let Some(deadlines) = &row.group.deadlines else {
            continue;
        };
        let queries = row.queries.as_ref();
        table.row(vec![
            row.point.clone(),
            row.transport.clone(),
            row.flows_name(),
            text::count(deadlines.flows as f64),
            percent(&deadlines.missed),
            queries
                .and_then(|of| of.in_time)
                .map_or(String::new(), |of| percent(&of)),
            queries
                .and_then(|of| of.below_95)
                .map_or(String::new(), |of| text::percent(of.value)),
            time(row.group.completion_s.p50.as_ref()),
            time(row.group.completion_s.p99.as_ref()),
            time(row.group.slack_s.p99.as_ref()),
            row.group
                .timeouts_per_flow
                .map_or(String::new(), |of| text::significant(of.value)),
            row.group
                .denied_requests
                .map_or(String::new(), |of| text::percent(of.value)),
            row.group
                .inverted_denials
                .map_or(String::new(), |of| text::percent(of.value)),
        ]);
        if is_last(rows, at, |row| &row.point) {
            let here = |of: &&BestRow| of.class.is_some() && of.point == row.point;
            for of in best.iter().filter(here) {
                let mut cells = vec![
                    of.point.clone(),
                    of.transport.to_owned(),
                    of.flows_name(),
                    text::count(of.asked as f64),
                    percent(&of.missed),
                ];
                cells.resize(13, String::new());
                table.row(cells);
            }
        }
    }
    table.without_empty_columns()
}

fn without(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        ("point", Align::Left),
        ("transport", Align::Left),
        ("flows", Align::Left),
        ("number", Align::Right),
        ("finished", Align::Right),
        ("goodput, mean", Align::Right),
        ("goodput, p50", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("timeouts/flow", Align::Right),
        ("fairness", Align::Right),
    ]);
    for row in rows {
        let goodput = &row.group.goodput_bytes_per_s;
        table.row(vec![
            row.point.clone(),
            row.transport.clone(),
            row.flows_name(),
            text::count(row.group.flows as f64),
            text::count(row.group.finished as f64),
            goodput.mean.map_or(String::new(), |of| {
                interval(&of, |bytes| text::rate(bytes * 8.0))
            }),
            goodput
                .p50
                .map_or(String::new(), |of| text::rate(of.value * 8.0)),
            time(row.group.completion_s.p50.as_ref()),
            time(row.group.completion_s.p99.as_ref()),
            row.group
                .timeouts_per_flow
                .map_or(String::new(), |of| text::significant(of.value)),
            row.group
                .fairness
                .map_or(String::new(), |of| text::significant(of.value)),
        ]);
    }
    table.without_empty_columns()
}

/// One line per transport and point.
fn network(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        ("point", Align::Left),
        ("transport", Align::Left),
        ("runs", Align::Right),
        ("drops", Align::Right),
        ("most at", Align::Left),
        ("losses", Align::Right),
        ("marks", Align::Right),
        ("largest queue", Align::Right),
        ("its mean", Align::Right),
        ("busiest link", Align::Right),
        ("which", Align::Left),
    ]);
    let mut last = None;
    for row in rows {
        let here = Some((&row.point, &row.transport));
        if std::mem::replace(&mut last, here) == here {
            continue;
        }
        let number = |of: Option<Estimate>| of.map_or(String::new(), |of| text::count(of.value));
        let some = |of: Option<Estimate>| number(of.filter(|of| of.value > 0.0));
        table.row(vec![
            row.point.clone(),
            row.transport.clone(),
            row.runs.to_string(),
            number(row.network.drops),
            text::named(row.network.most_drops_link.as_ref(), row.runs),
            some(row.network.losses),
            some(row.network.marks),
            row.network
                .queue_max_bytes
                .map_or(String::new(), |of| text::bytes(of.value)),
            row.network
                .queue_mean_bytes
                .map_or(String::new(), |of| text::bytes(of.value)),
            row.network
                .utilisation
                .map_or(String::new(), |of| text::percent(of.value)),
            text::named(row.network.busiest_link.as_ref(), row.runs),
        ]);
    }
    table.without_empty_columns()
}

/// `12.3 % [11.8, 12.9]`
fn percent(of: &Estimate) -> String {
    interval(of, text::percent)
}

fn interval(of: &Estimate, show: impl Fn(f64) -> String) -> String {
    let (value, range) = text::estimate(of, show);
    range.map_or(value.clone(), |range| format!("{value} {range}"))
}

/// A time, or `-` where the percentile falls among flows that never finished.
fn time(of: Option<&Estimate>) -> String {
    of.map_or("-".to_owned(), |of| text::seconds(of.value))
}
