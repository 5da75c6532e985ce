//! What the runs in a folder amount to.

use duetime_core::Time;
use duetime_results::summary::{
    Comparison, Course, Drift, GroupEstimate, NetworkEstimate, QueryEstimate, ServersEstimate,
    drifts,
};
use duetime_results::{Class, RunRecords, RunSummary, Summary};
use duetime_store::{RunFolder, RunKey};
use serde::Serialize;

use crate::bound::BestPossible;
use crate::error::StudyError;
use crate::event::RunName;
use crate::objective::{objective, target_of};
use crate::plan::{Job, Plan};
use crate::verdict::{self, Verdict};
use crate::warnings::{self, Warning};

/// One transport at one point, over all its runs.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index into the plan's points.
    pub point: usize,
    /// Index into the point's transports.
    pub transport: usize,
    /// Each run, without the samples of its percentiles.
    pub runs: Vec<RunSummary>,
    /// All of them.
    pub summary: Summary,
    /// Differences to the first transport of the point, paired by seed; `None` for that one.
    pub comparison: Option<Comparison>,
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
    /// What limits the queries under the first transport, by workload; empty until [`crate::verdict::verdicts`] has found
    /// it.
    pub verdicts: Vec<Verdict>,
    /// How many of the warnings were known before the runs.
    pub foretold: usize,
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
    /// Servers of the hosts, the same for all rows of a transport at a point; `None` where they are unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersEstimate>,
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
    /// Share of the queries that shall be in time.
    #[serde(skip)]
    pub target: Option<f64>,
    /// The queries.
    #[serde(flatten)]
    pub queries: QueryEstimate,
}

impl Cell {
    fn drop_samples(&mut self) {
        self.runs.iter_mut().for_each(RunSummary::drop_samples);
    }

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
        if plan.points[cell.point].scenario.never_stops() {
            cell.drifts = drifts(courses);
        }
    }
    let mut points: Vec<usize> = gathered.cells.iter().map(|cell| cell.point).collect();
    points.dedup();
    gathered.best = BestPossible::of_points(plan, points.into_iter())?;
    gathered.best.retain(|(_, best)| !best.is_empty());
    gathered.warnings = warnings::of_plan(plan, &warnings::described(plan)?);
    // Whether anything measured is known by now.
    gathered
        .warnings
        .retain(|of| of.about != warnings::About::NothingMeasured);
    gathered.foretold = gathered.warnings.len();
    let after = warnings::afterwards(plan, &gathered);
    gathered.warnings.extend(after);
    gathered.verdicts = verdict::kept(folder, &gathered)?;
    Ok(gathered)
}

/// Summarizes the last cell, of which all runs are read, and compares it with the first transport of its point. Samples
/// are kept of that one transport alone, and until the next point: those of all runs of a sweep need not fit into memory.
fn settle(cells: &mut [Cell]) {
    let Some((last, earlier)) = cells.split_last_mut() else {
        return;
    };
    last.summary = Summary::of(&last.summary.transport, &last.runs);
    if last.transport != 0 {
        let base = earlier
            .iter()
            .rfind(|of| of.point == last.point && of.transport == 0);
        last.comparison = base.map(|base| {
            let [ours, theirs] =
                [&*last, base].map(|of| (of.summary.transport.as_str(), of.runs.as_slice()));
            Comparison::of(ours, theirs)
        });
        last.drop_samples();
    }
    let point = last.point;
    if let Some(base) = earlier
        .iter_mut()
        .rfind(|of| of.transport == 0 && of.point != point)
    {
        base.drop_samples();
    }
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
                    servers: cell.summary.servers.clone(),
                });
            }
        }
        rows
    }

    /// Differences of each transport to the first one of its point, paired by seed, with the index of the point.
    pub fn comparisons(&self) -> Vec<(usize, &Comparison)> {
        let each = self.cells.iter();
        each.filter_map(|cell| Some((cell.point, cell.comparison.as_ref()?)))
            .collect()
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
    /// A study with a sweep has none.
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
        let own = comparisons.iter().filter(|(of, _)| *of == index);
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
            comparisons: own.map(|(_, of)| *of).collect(),
            runs: runs.collect(),
        }
    });
    Ok(folder.write_summary(&SummaryFile {
        warnings: &gathered.warnings,
        points: points.collect(),
    })?)
}
