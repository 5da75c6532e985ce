//! Summary of the runs in a folder.

use duetime_analysis::bound::BestPossible;
use duetime_analysis::stationary::{Course, NonStationarity, drifts};
use duetime_core::Time;
use duetime_results::summary::{
    Comparison, GroupEstimate, NetworkEstimate, QueryEstimate, ServersEstimate,
};
use duetime_results::{Class, RunRecords, RunSummary, Summary};
use duetime_store::{RunFolder, RunKey};
use serde::Serialize;

use crate::bound;
use crate::error::StudyError;
use crate::event::RunName;
use crate::objective::{objective, target_of};
use crate::plan::{Job, Plan};
use crate::verdict::{self, Verdict};
use crate::warnings::{self, Warning};

/// All runs of one transport at one point.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index into the plan's points.
    pub point: usize,
    /// Index into the point's transports.
    pub transport: usize,
    /// Summary of each run, without the samples of its percentiles.
    pub runs: Vec<RunSummary>,
    /// Summary of all runs together.
    pub summary: Summary,
    /// Differences from the first transport of the point, paired by seed; `None` for that transport itself.
    pub comparison: Option<Comparison>,
    /// Signs that the runs were not stationary.
    pub drifts: Vec<NonStationarity>,
}

/// Results of a plan that a folder holds.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// Cells with at least one run, by point, then transport.
    pub cells: Vec<Cell>,
    /// Missing runs with the reasons.
    pub absent: Vec<(RunName, String)>,
    /// Warnings, those known before the runs first.
    pub warnings: Vec<Warning>,
    /// Verdicts on the queries of the first transport, by workload. Empty until [`crate::verdict::verdicts`] has
    /// computed them.
    pub verdicts: Vec<Verdict>,
    /// Number of warnings that were known before the runs.
    pub foretold: usize,
    /// Best possible results by point, for points that have a run and a bound.
    pub best: Vec<(usize, BestPossible)>,
}

/// Row of the final table: flows of one class of one workload, under one transport at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Settings of the point, such as `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// Name of the transport.
    pub transport: String,
    /// Number of runs.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// Measures of the flows.
    #[serde(flatten)]
    pub group: GroupEstimate,
    /// Measures of the workload's queries, in the row of its answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryEstimate>,
    /// Measures of the network, equal in all rows of a transport at a point.
    pub network: NetworkEstimate,
    /// Measures of the hosts' servers, equal in all rows of a transport at a point; `None` if servers are unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersEstimate>,
}

/// Row of the first table: queries of one workload under one transport at one point.
#[derive(Clone, Debug, Serialize)]
pub struct QueryRow {
    /// Settings of the point, such as `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// Name of the transport.
    pub transport: String,
    /// Number of runs.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// Objective as text.
    pub wanted: String,
    /// Share of the queries that must be in time.
    #[serde(skip)]
    pub target: Option<f64>,
    /// Measures of the queries.
    #[serde(flatten)]
    pub queries: QueryEstimate,
}

impl Cell {
    fn drop_samples(&mut self) {
        self.runs.iter_mut().for_each(RunSummary::drop_samples);
    }

    /// Returns true if no flow and no query was measured.
    pub fn measured_nothing(&self) -> bool {
        self.summary.groups.is_empty() && self.summary.queries.is_empty()
    }
}

impl Row {
    /// Returns the name of the row's flows.
    pub fn flows_name(&self) -> String {
        flows_name(&self.workload_name, self.group.class)
    }
}

/// Returns the workload's name, followed by the class if its flows have several.
pub(crate) fn flows_name(workload: &str, class: Class) -> String {
    match class {
        Class::Query | Class::Response | Class::Cancel => format!("{workload} {}", class.name()),
        Class::Flow | Class::Long => workload.to_owned(),
    }
}

/// Returns the name of the flows of a cell's group.
pub fn group_name(plan: &Plan, cell: &Cell, group: &GroupEstimate) -> String {
    flows_name(&workload_name(plan, cell, group.workload), group.class)
}

/// Returns true if the group's goodput deserves a figure. Flows with deadlines are judged by their completion, and
/// queries are too small.
pub fn is_bulk(group: &GroupEstimate) -> bool {
    group.deadlines.is_none() && !matches!(group.class, Class::Query | Class::Cancel)
}

/// Reads all runs of the plan that the folder holds, and passes each to `each` in order.
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
                settle(&mut gathered.cells);
                gathered.cells.push(Cell {
                    point: job.point,
                    transport: job.transport,
                    runs: vec![run],
                    summary: Summary::of(&key.transport, &[]),
                    comparison: None,
                    drifts: Vec::new(),
                });
                courses.push(vec![course]);
            }
        }
    }
    settle(&mut gathered.cells);
    for cell in &mut gathered.cells {
        cell.drop_samples();
    }
    for (cell, courses) in gathered.cells.iter_mut().zip(&courses) {
        if plan.points[cell.point].scenario.is_endless() {
            cell.drifts = drifts(courses);
        }
    }
    let mut points: Vec<usize> = gathered.cells.iter().map(|cell| cell.point).collect();
    points.dedup();
    gathered.best = bound::of_points(plan, points.into_iter())?;
    gathered.best.retain(|(_, best)| !best.is_empty());
    gathered.warnings = warnings::of_plan(plan, &warnings::described(plan)?);
    // The runs show whether anything was measured, so drop the prediction.
    gathered
        .warnings
        .retain(|warning| warning.about != warnings::About::NothingMeasured);
    gathered.foretold = gathered.warnings.len();
    let after = warnings::afterwards(plan, &gathered);
    gathered.warnings.extend(after);
    gathered.verdicts = verdict::kept(folder, &gathered)?;
    Ok(gathered)
}

/// Summarizes the last cell, whose runs have all been read, and compares it with the first transport of its point. Only
/// the samples of that first transport are kept, and only until the next point, because the samples of all runs of a
/// sweep may not fit into memory.
fn settle(cells: &mut [Cell]) {
    let Some((last, earlier)) = cells.split_last_mut() else {
        return;
    };
    last.summary = Summary::of(&last.summary.transport, &last.runs);
    if last.transport != 0 {
        let base = earlier
            .iter()
            .rfind(|cell| cell.point == last.point && cell.transport == 0);
        last.comparison = base.map(|base| {
            let [ours, theirs] =
                [&*last, base].map(|cell| (cell.summary.transport.as_str(), cell.runs.as_slice()));
            Comparison::of(ours, theirs)
        });
        last.drop_samples();
    }
    let point = last.point;
    if let Some(base) = earlier
        .iter_mut()
        .rfind(|cell| cell.transport == 0 && cell.point != point)
    {
        base.drop_samples();
    }
}

/// Returns the reason why a run is missing.
fn absence(folder: &RunFolder, key: &RunKey) -> String {
    let scan = folder.scan(std::slice::from_ref(key));
    scan.failed
        .into_iter()
        .next()
        .map_or_else(|| "not run yet".to_owned(), |(_, reason)| reason)
}

impl Gathered {
    /// Returns the best possible results at a point of the plan, or `None` if nothing has a bound there.
    pub fn best_at(&self, point: usize) -> Option<&BestPossible> {
        let found = self.best.iter().find(|(index, _)| *index == point);
        found.map(|(_, best)| best)
    }

    /// Returns the rows of all queries that can be late.
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
                    target: target_of(&point.scenario, queries.workload),
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

    /// Returns the warning that a transport measured nothing, or `None` if all measured something.
    pub fn nothing_measured(&self) -> Option<&Warning> {
        let empty = self.cells.iter().any(Cell::measured_nothing);
        self.warnings
            .iter()
            .rfind(|warning| empty && warning.about == warnings::About::NothingMeasured)
    }

    /// Returns the rows of the final table.
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
                    servers: cell.summary.servers.clone(),
                });
            }
        }
        rows
    }

    /// Returns the differences of each transport from the first transport of its point, paired by seed, with the index
    /// of the point.
    pub fn comparisons(&self) -> Vec<(usize, &Comparison)> {
        let each = self.cells.iter();
        each.filter_map(|cell| Some((cell.point, cell.comparison.as_ref()?)))
            .collect()
    }
}

/// Returns the name of a workload of the cell's scenario, or its index if it does not exist.
pub fn workload_name(plan: &Plan, cell: &Cell, workload: u16) -> String {
    let workloads = &plan.points[cell.point].scenario.workloads;
    workloads
        .get(usize::from(workload))
        .map_or_else(|| workload.to_string(), |found| found.name.clone())
}

/// Content of `summary.json`.
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
    /// Empty in a study with a sweep.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verdicts: &'a [Verdict],
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<&'a BestPossible>,
    comparisons: Vec<&'a Comparison>,
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
        let at_point = comparisons.iter().filter(|(point, _)| *point == index);
        let runs = cells().map(|cell| Runs {
            transport: &cell.summary.transport,
            runs: &cell.runs,
        });
        PointSummary {
            settings: &point.settings,
            workloads: point.scenario.workload_names(),
            transports: cells().map(|cell| &cell.summary).collect(),
            verdicts: &gathered.verdicts,
            best: gathered.best_at(index),
            comparisons: at_point.map(|(_, comparison)| *comparison).collect(),
            runs: runs.collect(),
        }
    });
    Ok(folder.write_summary(&SummaryFile {
        warnings: &gathered.warnings,
        points: points.collect(),
    })?)
}
