//! Tables across transports and points: differences from the first transport, and overviews of sweeps.

use duetime_analysis::bound::BestPossible;
use duetime_results::{Estimate, Summary};
use duetime_scenario::Scenario;

use super::cell::{cell, near, never, share, word};
use super::column::column;
use super::{Cell, Column, Line, On, Spare, Table};
use crate::bound::NO_TRANSPORT;
use crate::gather::{self, Gathered};
use crate::objective::target;
use crate::plan::{Plan, Point};
use crate::text;

/// Returns the differences of each transport from the first one, paired by seed, or `None` with a single transport.
pub(super) fn differences(plan: &Plan, gathered: &Gathered) -> Option<Table> {
    type Difference = ([String; 3], Estimate);
    let comparisons = gathered.comparisons();
    let baseline = comparisons.first()?.1.baseline.clone();
    let rows = comparisons.iter().filter_map(|(point, comparison)| {
        let names = [
            plan.points[*point].label(),
            comparison.transport.clone(),
            String::new(),
        ];
        Some((names, comparison.missed?))
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
                Some(_) => "no significant difference",
                None => "",
            })
        })
        .words(),
    ];
    let title = format!("Missed deadlines compared with {baseline}");
    Some(Table {
        note: format!(
            "Difference from {baseline} in percentage points. Runs with the same seed offer the same flows, so they \
             are compared in pairs."
        ),
        on: On::Page,
        ..Table::new(title, "", specs, &rows, |(names, _)| names.clone(), &[])
    })
}

/// Reader of an estimate from a summary or a bound.
type Read<T> = fn(&T) -> Option<Estimate>;

/// Reader of the number of queries or flows that a share refers to.
type Total = fn(&Summary) -> Option<u64>;

/// Formats a count, or its range if the transports differ.
fn counts(counts: impl Iterator<Item = u64> + Clone) -> Cell {
    let shown = |count: u64| text::count(count as f64);
    match (counts.clone().min(), counts.max()) {
        (Some(least), Some(most)) if least == most => word(&shown(least)),
        (Some(least), Some(most)) => word(&format!("{} to {}", shown(least), shown(most))),
        _ => Cell::default(),
    }
}

/// Returns overviews of queries in time and missed deadlines, with a line per point of the sweep and a column per
/// transport.
pub(super) fn overviews(plan: &Plan, gathered: &Gathered) -> Vec<Table> {
    type Target = fn(&Scenario) -> Option<f64>;
    type Overview = (
        &'static str,
        &'static str,
        Target,
        Total,
        Read<Summary>,
        Read<BestPossible>,
    );
    let all: [Overview; 2] = [
        (
            "Queries in time",
            "Share of the queries with enough answers within the budget",
            target,
            |summary| summary.objective.map(|objective| objective.queries),
            |summary| summary.objective.map(|objective| objective.in_time),
            |best| best.objective.map(|bound| bound.in_time()),
        ),
        (
            "Missed deadlines",
            "Share of the flows with deadlines that were not delivered in time",
            |_| None,
            |summary| summary.deadlines.map(|deadlines| deadlines.flows),
            |summary| summary.deadlines.map(|deadlines| deadlines.missed),
            |best| best.deadlines.map(|bound| bound.late),
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
    let overview = |(title, note, target, total, read, best): &Overview| {
        let line = |(index, point): (usize, &Point)| {
            let under = |name: &&str| {
                let mut cells = gathered.cells.iter();
                let here =
                    |cell: &&gather::Cell| cell.point == index && cell.summary.transport == **name;
                let found = cells.find(here).and_then(|cell| read(&cell.summary));
                found.map_or_else(never, |share| near(&share, target(&point.scenario)))
            };
            let here = gathered.cells.iter().filter(|cell| cell.point == index);
            let totals = here.filter_map(|cell| total(&cell.summary));
            let bound = gathered.best_at(index).and_then(best);
            Line {
                names: [point.label(), String::new(), String::new()],
                cells: [counts(totals)]
                    .into_iter()
                    .chain(names.iter().map(under))
                    .chain([share(bound)])
                    .collect(),
            }
        };
        let mut cells = gathered.cells.iter();
        cells.find_map(|cell| read(&cell.summary))?;
        Some(Table {
            title: (*title).to_owned(),
            note: format!(
                "{note}, over all workloads and runs. In brackets: 95 % interval over runs."
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
