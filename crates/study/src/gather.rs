//! What the runs in a folder amount to.

use duetime_core::Time;
use duetime_results::summary::{
    Comparison, Course, Drift, GroupEstimate, NetworkEstimate, QueryEstimate, drifts,
};
use duetime_results::{Class, RunRecords, RunSummary, Summary};
use duetime_store::{RunFolder, RunKey};
use serde::Serialize;

use crate::bound::BestPossible;
use crate::error::StudyError;
use crate::event::RunName;
use crate::objective::objective;
use crate::plan::{Job, Plan};
use crate::warnings::{self, Warning};

/// One transport at one point, over all its runs.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index into the plan's points.
    pub point: usize,
    /// Index into the point's transports.
    pub transport: usize,
    /// Each run.
    pub runs: Vec<RunSummary>,
    /// All of them.
    pub summary: Summary,
    /// In which ways they were not stationary.
    pub drifts: Vec<Drift>,
}

/// Everything that a folder holds of a plan.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// By point, then transport; only those with at least one run.
    pub cells: Vec<Cell>,
    /// Runs that are not there, and why.
    pub absent: Vec<(RunName, String)>,
    /// What to know before any number: what was known before the runs first.
    pub warnings: Vec<Warning>,
    /// The best possible at each point that has a run, by point; points where nothing has a bound are left out.
    pub best: Vec<(usize, BestPossible)>,
}

/// One row of the final table: one workload's flows of one class under one transport at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The settings of the point, e.g. `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// The transport.
    pub transport: String,
    /// Runs summed up.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// The flows.
    #[serde(flatten)]
    pub group: GroupEstimate,
    /// The workload's queries, beside its answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryEstimate>,
    /// The network, the same for all rows of a transport at a point.
    pub network: NetworkEstimate,
}

/// One workload's queries under one transport at one point: the first thing that a table shows.
#[derive(Clone, Debug, Serialize)]
pub struct QueryRow {
    /// The settings of the point, e.g. `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// The transport.
    pub transport: String,
    /// Runs summed up.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// What is wanted of a query, in words.
    pub wanted: String,
    /// The queries.
    #[serde(flatten)]
    pub queries: QueryEstimate,
}

impl Cell {
    /// Whether there is no measured flow and no measured query.
    pub fn measured_nothing(&self) -> bool {
        self.summary.groups.is_empty() && self.summary.queries.is_empty()
    }
}

impl Row {
    /// What its flows are called.
    pub fn flows_name(&self) -> String {
        flows_name(&self.workload_name, self.group.class)
    }
}

/// The workload's name, and the class where it has several.
pub(crate) fn flows_name(workload: &str, class: Class) -> String {
    match class {
        Class::Query | Class::Response | Class::Cancel => format!("{workload} {}", class.name()),
        Class::Flow | Class::Long => workload.to_owned(),
    }
}

/// What the flows of a cell's group are called.
pub fn group_name(plan: &Plan, cell: &Cell, group: &GroupEstimate) -> String {
    flows_name(&workload_name(plan, cell, group.workload), group.class)
}

/// Whether the group's goodput is worth a figure: that of deadline flows is told by their completion, and that of
/// queries of a few bytes by nothing.
pub fn is_bulk(group: &GroupEstimate) -> bool {
    group.deadlines.is_none() && !matches!(group.class, Class::Query | Class::Cancel)
}

/// Reads all runs of the plan that the folder holds, and shows each to `each` in order.
pub fn gather(
    plan: &Plan,
    folder: &RunFolder,
    mut each: impl FnMut(Job, &RunRecords),
) -> Result<Gathered, StudyError> {
    let mut gathered = Gathered::default();
    let mut courses: Vec<Vec<Course>> = Vec::new();
    let mut jobs: Vec<(Job, RunKey)> = plan.jobs().into_iter().zip(plan.keys()).collect();
    jobs.sort_by_key(|(job, _)| (job.point, job.transport, job.run));
    for (job, key) in jobs {
        let records = match folder.read_run(&key) {
            Ok(run) => run.records,
            Err(error) => {
                let why = if folder.has_run(&key) {
                    error.to_string()
                } else {
                    absence(folder, &key)
                };
                gathered.absent.push((plan.describe(job), why));
                continue;
            }
        };
        each(job, &records);
        let run = RunSummary::of(key.run, &records);
        let scenario = &plan.points[job.point].scenario;
        let course = Course::of(
            &records,
            Time::ZERO + scenario.warm_up,
            Time::ZERO + scenario.duration,
        );
        match gathered.cells.last_mut() {
            Some(cell) if (cell.point, cell.transport) == (job.point, job.transport) => {
                cell.runs.push(run);
                courses.last_mut().expect("one per cell").push(course);
            }
            _ => {
                gathered.cells.push(Cell {
                    point: job.point,
                    transport: job.transport,
                    runs: vec![run],
                    summary: Summary::of(&key.transport, &[]),
                    drifts: Vec::new(),
                });
                courses.push(vec![course]);
            }
        }
    }
    for (cell, courses) in gathered.cells.iter_mut().zip(&courses) {
        if plan.points[cell.point].scenario.never_stops() {
            cell.drifts = drifts(courses);
        }
        cell.summary = Summary::of(&cell.summary.transport, &cell.runs);
    }
    let mut points: Vec<usize> = gathered.cells.iter().map(|cell| cell.point).collect();
    points.dedup();
    gathered.best = BestPossible::of_points(plan, points.into_iter())?;
    gathered.best.retain(|(_, best)| !best.is_empty());
    gathered.warnings = warnings::of_points(&warnings::described(plan)?);
    // Whether anything measured is known by now.
    gathered
        .warnings
        .retain(|of| of.about != warnings::About::NothingMeasured);
    let after = warnings::afterwards(plan, &gathered);
    gathered.warnings.extend(after);
    Ok(gathered)
}

/// Why a run is not there.
fn absence(folder: &RunFolder, key: &RunKey) -> String {
    let scan = folder.scan(std::slice::from_ref(key));
    scan.failed
        .into_iter()
        .next()
        .map_or_else(|| "not run yet".to_owned(), |(_, reason)| reason)
}

impl Gathered {
    /// The best possible at a point of the plan.
    pub fn best_at(&self, point: usize) -> Option<&BestPossible> {
        let found = self.best.iter().find(|(of, _)| *of == point);
        found.map(|(_, best)| best)
    }

    /// The rows of all queries that can be late.
    pub fn query_rows(&self, plan: &Plan) -> Vec<QueryRow> {
        let of_cell = |cell: &Cell| {
            let point = &plan.points[cell.point];
            let row = |queries: &QueryEstimate| {
                queries.objective?;
                Some(QueryRow {
                    point: point.label(),
                    transport: cell.summary.transport.clone(),
                    runs: cell.summary.runs,
                    workload_name: workload_name(plan, cell, queries.workload),
                    wanted: objective(&point.scenario, queries.workload)?,
                    queries: queries.clone(),
                })
            };
            cell.summary
                .queries
                .iter()
                .filter_map(row)
                .collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(of_cell).collect()
    }

    /// The warning that some transport has run and measured nothing, if one has.
    pub fn nothing_measured(&self) -> Option<&Warning> {
        let empty = self.cells.iter().any(Cell::measured_nothing);
        self.warnings
            .iter()
            .rfind(|of| empty && of.about == warnings::About::NothingMeasured)
    }

    /// The rows of the final table.
    pub fn rows(&self, plan: &Plan) -> Vec<Row> {
        let mut rows = Vec::new();
        for cell in &self.cells {
            let point = &plan.points[cell.point];
            for group in &cell.summary.groups {
                let queries = cell
                    .summary
                    .queries
                    .iter()
                    .find(|queries| queries.workload == group.workload);
                rows.push(Row {
                    point: point.label(),
                    transport: cell.summary.transport.clone(),
                    runs: cell.summary.runs,
                    workload_name: workload_name(plan, cell, group.workload),
                    group: group.clone(),
                    queries: queries.filter(|_| group.class == Class::Response).cloned(),
                    network: cell.summary.network.clone(),
                });
            }
        }
        rows
    }

    /// Each transport beside the first one of its point: differences, paired by seed.
    pub fn comparisons(&self) -> Vec<(usize, Comparison)> {
        let first = |of: &Cell| {
            self.cells
                .iter()
                .find(|cell| cell.point == of.point && cell.transport == 0)
        };
        let pair = |cell: &Cell| {
            let base = first(cell).filter(|base| base.transport != cell.transport)?;
            let ours = (cell.summary.transport.as_str(), cell.runs.as_slice());
            Some((
                cell.point,
                Comparison::of(
                    ours,
                    (base.summary.transport.as_str(), base.runs.as_slice()),
                ),
            ))
        };
        self.cells.iter().filter_map(pair).collect()
    }
}

/// The name of a workload of the cell's scenario.
pub fn workload_name(plan: &Plan, cell: &Cell, workload: u16) -> String {
    let workloads = &plan.points[cell.point].scenario.workloads;
    workloads
        .get(usize::from(workload))
        .map_or_else(|| workload.to_string(), |of| of.name.clone())
}

/// `summary.json`.
#[derive(Debug, Serialize)]
struct SummaryFile<'a> {
    warnings: &'a [Warning],
    points: Vec<PointSummary<'a>>,
}

#[derive(Debug, Serialize)]
struct PointSummary<'a> {
    settings: &'a [(String, String)],
    workloads: Vec<&'a str>,
    transports: Vec<&'a Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<&'a BestPossible>,
    comparisons: Vec<Comparison>,
    runs: Vec<Runs<'a>>,
}

#[derive(Debug, Serialize)]
struct Runs<'a> {
    transport: &'a str,
    runs: &'a [RunSummary],
}

/// Writes `summary.json`.
pub fn write_summary(
    plan: &Plan,
    folder: &RunFolder,
    gathered: &Gathered,
) -> Result<(), StudyError> {
    let comparisons = gathered.comparisons();
    let points = plan.points.iter().enumerate().map(|(index, point)| {
        let cells = || {
            gathered
                .cells
                .iter()
                .filter(move |cell| cell.point == index)
        };
        let own = comparisons.iter().filter(|(of, _)| *of == index);
        let runs = cells().map(|cell| Runs {
            transport: &cell.summary.transport,
            runs: &cell.runs,
        });
        PointSummary {
            settings: &point.settings,
            workloads: point.scenario.workload_names(),
            transports: cells().map(|cell| &cell.summary).collect(),
            best: gathered.best_at(index),
            comparisons: own.map(|(_, of)| of.clone()).collect(),
            runs: runs.collect(),
        }
    });
    Ok(folder.write_summary(&SummaryFile {
        warnings: &gathered.warnings,
        points: points.collect(),
    })?)
}
