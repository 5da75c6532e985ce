//! The tables across transports and points: differences to the first transport, and one figure of each point of a sweep.

use duetime_results::{Estimate, Summary};
use duetime_scenario::Scenario;

use super::cell::{cell, near, never, share, word};
use super::column::column;
use super::{Cell, Column, Line, On, Spare, Table};
use crate::bound::{BestPossible, NO_TRANSPORT};
use crate::gather::{self, Gathered};
use crate::objective::target;
use crate::plan::{Plan, Point};
use crate::text;

/// What each transport does differently from the first one, paired by seed.
pub(super) fn differences(plan: &Plan, gathered: &Gathered) -> Option<Table> {
    type Difference = ([String; 3], Estimate);
    let comparisons = gathered.comparisons();
    let baseline = comparisons.first()?.1.baseline.clone();
    let rows = comparisons.iter().filter_map(|(point, of)| {
        let names = [
            plan.points[*point].label(),
            of.transport.clone(),
            String::new(),
        ];
        Some((names, of.missed?))
    });
    let rows: Vec<Difference> = rows.collect();
    let column = column::<Difference>;
    let specs = vec![
        column("difference", |(_, missed)| {
            cell(missed, |share| format!("{:+.2} points", share * 100.0))
        }),
        column("missed", |(_, missed)| {
            word(match missed.interval {
                Some(range) if range.high < 0.0 => "fewer",
                Some(range) if range.low > 0.0 => "more",
                Some(_) => "cannot be told apart",
                None => "",
            })
        })
        .words(),
    ];
    let title = format!("Missed deadlines beside {baseline}");
    Some(Table {
        note: format!(
            "Difference to {baseline} in percentage points. Runs with the same seed offer the same flows, so they are \
             compared in pairs."
        ),
        on: On::Page,
        ..Table::new(title, "", specs, &rows, |(names, _)| names.clone(), &[])
    })
}

/// What is read of a summary, or of a bound.
type Read<T> = fn(&T) -> Option<Estimate>;

/// How many queries or flows a share is of.
type Whole = fn(&Summary) -> Option<u64>;

/// A count, or its range where the transports differ in it.
fn counts(of: impl Iterator<Item = u64> + Clone) -> Cell {
    let shown = |of: u64| text::count(of as f64);
    match (of.clone().min(), of.max()) {
        (Some(least), Some(most)) if least == most => word(&shown(least)),
        (Some(least), Some(most)) => word(&format!("{} to {}", shown(least), shown(most))),
        _ => Cell::default(),
    }
}

/// Queries in time and missed deadlines: a line per point of the sweep and a column per transport.
pub(super) fn overviews(plan: &Plan, gathered: &Gathered) -> Vec<Table> {
    type Aim = fn(&Scenario) -> Option<f64>;
    type Overview = (
        &'static str,
        &'static str,
        Aim,
        Whole,
        Read<Summary>,
        Read<BestPossible>,
    );
    let all: [Overview; 2] = [
        (
            "Queries in time",
            "Share of the queries with enough answers at their root within the budget",
            target,
            |of| of.objective.map(|of| of.queries),
            |of| of.objective.map(|of| of.in_time),
            |best| best.objective.map(|of| of.in_time()),
        ),
        (
            "Missed deadlines",
            "Share of the flows with deadlines that were not delivered in time",
            |_| None,
            |of| of.deadlines.map(|of| of.flows),
            |of| of.deadlines.map(|of| of.missed),
            |best| best.deadlines.map(|of| of.late),
        ),
    ];
    let mut names: Vec<&str> = Vec::new();
    for cell in &gathered.cells {
        if !names.contains(&cell.summary.transport.as_str()) {
            names.push(&cell.summary.transport);
        }
    }
    let heads = names.iter().chain(&[NO_TRANSPORT]).map(|&name| Column {
        intervals: true,
        spare: Spare::Intervals,
        ..column::<()>(name, |()| Cell::default()).column
    });
    let number = column::<()>("number", |()| Cell::default()).column;
    let heads: Vec<Column> = [number].into_iter().chain(heads).collect();
    let overview = |(title, note, aim, whole, of, best): &Overview| {
        let line = |(index, point): (usize, &Point)| {
            let under = |name: &&str| {
                let mut cells = gathered.cells.iter();
                let here =
                    |cell: &&gather::Cell| cell.point == index && cell.summary.transport == **name;
                let found = cells.find(here).and_then(|cell| of(&cell.summary));
                found.map_or_else(never, |of| near(&of, aim(&point.scenario)))
            };
            let here = gathered.cells.iter().filter(|cell| cell.point == index);
            let wholes = here.filter_map(|cell| whole(&cell.summary));
            let most = gathered.best_at(index).and_then(best);
            Line {
                names: [point.label(), String::new(), String::new()],
                cells: [counts(wholes)]
                    .into_iter()
                    .chain(names.iter().map(under))
                    .chain([share(most)])
                    .collect(),
            }
        };
        let mut cells = gathered.cells.iter();
        cells.find_map(|cell| of(&cell.summary))?;
        Some(Table {
            title: (*title).to_owned(),
            note: format!(
                "{note}, all workloads and runs together. In brackets: 95 % interval over runs."
            ),
            condition: String::new(),
            dashes: String::new(),
            on: On::Both,
            is_overview: true,
            names: ["point", "", ""],
            columns: heads.clone(),
            lines: plan.points.iter().enumerate().map(line).collect(),
        })
    };
    all.iter().filter_map(overview).collect()
}
