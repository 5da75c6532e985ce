//! Comparison of two run folders: pairs of runs with the same seed under two settings. Workloads, transports and points
//! that only one folder has are noted and skipped.

mod sides;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use duetime_results::summary::{Measure, Paired, Subject, paired};
use duetime_results::{Class, Estimate, RunSummary};
use duetime_scenario::{Change, changes};
use duetime_store::RunKey;

use crate::error::StudyError;
use crate::gather::flows_name;
use sides::{
    Side, common_points, common_transports, common_workloads, finished, incomplete, refused,
    stored, versions,
};

/// Unit of the share in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Queries that have a budget.
    Queries,
    /// Flows with deadlines, if no query has a budget.
    Flows,
}

/// Comparison of two run folders.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Folders A and B.
    pub folders: [PathBuf; 2],
    /// Transports A and B, if two transports of one folder are compared.
    pub pair: Option<[String; 2]>,
    /// Settings that differ between the scenarios.
    pub settings: Vec<Change>,
    /// Notes on what only one folder has and what was skipped.
    pub notes: Vec<String>,
    /// Compared transports, in the order of A, or `A -> B` for two transports of one folder.
    pub transports: Vec<String>,
    /// Number of distinct seeds among the pairs of runs.
    pub seeds: u32,
    /// Number of pairs of runs, over all transports and points.
    pub pairs: usize,
    /// Unit of `in_time`, or `None` if nothing in both folders has a budget or a deadline.
    pub counted: Option<Counted>,
    /// Share in time over all transports, workloads and points. The pairs of a seed are resampled together.
    pub in_time: Paired,
    /// Rows of the comparison.
    pub rows: Vec<ComparedRow>,
}

/// Row of the comparison: one measure of one transport at one point.
#[derive(Clone, Debug)]
pub struct ComparedRow {
    /// Settings of the point, such as `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// Name of the transport.
    pub transport: String,
    /// Number of pairs of runs.
    pub pairs: usize,
    /// Name of the workload, or `None` for the network.
    pub workload: Option<String>,
    /// Class of the workload's flows, or `None` for its queries or the network.
    pub class: Option<Class>,
    /// Measure.
    pub measure: Measure,
    /// Values of A and B and their difference.
    pub values: Paired,
}

impl ComparedRow {
    /// Returns the name of the measured flows or queries, or `network`.
    pub fn subject(&self) -> String {
        match (&self.workload, self.class) {
            (None, _) => "network".to_owned(),
            (Some(name), None) => format!("{name} queries"),
            (Some(name), Some(class)) => flows_name(name, class),
        }
    }
}

/// Significance of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal in every pair.
    Equal,
    /// The interval is above zero: B has more.
    Higher,
    /// The interval is below zero: B has less.
    Lower,
    /// The interval includes zero.
    Open,
    /// Too few pairs for an interval.
    FewSeeds,
}

/// Returns the significance of a difference.
pub fn verdict(difference: &Estimate) -> Verdict {
    match difference.interval {
        Some(range) if range.low == 0.0 && range.high == 0.0 => Verdict::Equal,
        None => Verdict::FewSeeds,
        Some(range) if range.has_few_runs() => Verdict::FewSeeds,
        Some(range) if range.low > 0.0 => Verdict::Higher,
        Some(range) if range.high < 0.0 => Verdict::Lower,
        Some(_) => Verdict::Open,
    }
}

/// Compares two run folders over the given transports, or over all common transports if none are given. `each` is
/// called before each pair of runs is read, with the number of pairs read so far and the total.
pub fn compare(
    a: &Path,
    b: &Path,
    transports: &[String],
    each: impl FnMut(usize, usize),
) -> Result<Compared, StudyError> {
    let sides = [Side::open(a)?, Side::open(b)?];
    let mut notes = Vec::new();
    let transports = common_transports(&sides, transports, &mut notes)?;
    let pairs = transports.into_iter().map(|name| [name.clone(), name]);
    compare_sides(&sides, &pairs.collect::<Vec<_>>(), notes, each)
}

/// Compares two transports of one run folder; the first is A. `each` is called as in [`compare`].
pub fn compare_transports(
    folder: &Path,
    pair: [String; 2],
    each: impl FnMut(usize, usize),
) -> Result<Compared, StudyError> {
    let sides = [Side::open(folder)?, Side::open(folder)?];
    if pair[0] == pair[1] {
        let why = format!(
            "`{}` is named twice; name two different transports",
            pair[0]
        );
        return Err(StudyError::Choice(why));
    }
    let mut notes = Vec::new();
    common_transports(&sides, &pair, &mut notes)?;
    let mut compared = compare_sides(&sides, std::slice::from_ref(&pair), notes, each)?;
    compared.pair = Some(pair);
    Ok(compared)
}

/// Compares two sides over pairs of transports, the first of A, the second of B.
fn compare_sides(
    sides: &[Side; 2],
    transports: &[[String; 2]],
    mut notes: Vec<String>,
    mut each: impl FnMut(usize, usize),
) -> Result<Compared, StudyError> {
    let points = common_points(sides, &mut notes)?;
    if sides[0].manifest.seed != sides[1].manifest.seed {
        return Err(refused(sides, |side| {
            format!("seed {}", side.manifest.seed)
        })
        .with("runs with different seeds have no common random draws; both folders need the same `seed`"));
    }
    versions(sides, &mut notes);
    let workloads = common_workloads(sides, &mut notes)?;
    let mut cells = Vec::new();
    for (id, label) in &points {
        for transports in transports {
            let key = |side: usize, run| RunKey {
                point: id.clone(),
                transport: transports[side].clone(),
                run,
            };
            let [first, second] = [0, 1].map(|side| stored(&sides[side], |run| key(side, run)));
            incomplete(sides, label, transports, [&first, &second], &mut notes);
            let both = first.intersection(&second);
            let keys: Vec<_> = both.map(|&run| [key(0, run), key(1, run)]).collect();
            cells.push((label, pair_name(transports), keys));
        }
    }
    let all = cells.iter().map(|(_, _, keys)| keys.len()).sum();
    if all == 0 {
        return Err(
            refused(sides, |side| format!("{} finished runs", finished(side)))
                .with("no pair of finished runs; complete the folders with `--resume`"),
        );
    }
    let mut done = 0;
    let mut rows = Vec::new();
    let mut runs = Vec::new();
    for (label, transport, keys) in cells {
        let mut pair = [Vec::new(), Vec::new()];
        for keys in &keys {
            each(done, all);
            done += 1;
            for ((side, key), into) in sides.iter().zip(keys).zip(&mut pair) {
                let records = side.folder.read_run(key)?.records;
                into.push(RunSummary::of(key.run, &records));
            }
        }
        let [mut first, mut second] = pair;
        renumber(&mut first, &sides[0].workloads(), &workloads);
        renumber(&mut second, &sides[1].workloads(), &workloads);
        for (subject, measure, values) in paired(&first, &second) {
            let (workload, class) = match subject {
                Subject::Queries(workload) => (Some(workload), None),
                Subject::Flows(workload, class) => (Some(workload), Some(class)),
                Subject::Network => (None, None),
            };
            rows.push(ComparedRow {
                point: label.clone(),
                transport: transport.clone(),
                pairs: first.len(),
                workload: workload.map(|index| workloads[usize::from(index)].clone()),
                class,
                measure,
                values,
            });
        }
        first
            .iter_mut()
            .chain(&mut second)
            .for_each(RunSummary::drop_samples);
        runs.extend(first.into_iter().zip(second));
    }
    let (counted, in_time, seeds) = together(&runs);
    Ok(Compared {
        folders: [0, 1].map(|side| sides[side].folder.path().to_path_buf()),
        pair: None,
        settings: changes(&sides[0].manifest.scenario, &sides[1].manifest.scenario),
        notes,
        transports: transports.iter().map(pair_name).collect(),
        seeds,
        pairs: runs.len(),
        counted,
        in_time,
        rows,
    })
}

/// Returns the name of a pair of transports.
fn pair_name([a, b]: &[String; 2]) -> String {
    if a == b {
        a.clone()
    } else {
        format!("{a} -> {b}")
    }
}

/// Replaces workload indices into `names` by indices into `common`, and drops workloads that are not common.
fn renumber(runs: &mut [RunSummary], names: &[String], common: &[String]) {
    let place = |workload: u16| {
        let name = names.get(usize::from(workload))?;
        let found = common.iter().position(|other| other == name)?;
        u16::try_from(found).ok()
    };
    for run in runs {
        run.groups.retain_mut(|group| {
            let found = place(group.workload);
            group.workload = found.unwrap_or_default();
            found.is_some()
        });
        run.queries.retain_mut(|queries| {
            let found = place(queries.workload);
            queries.workload = found.unwrap_or_default();
            found.is_some()
        });
    }
}

/// Returns the unit, the share in time over all pairs, and the number of seeds. Pairs of one seed share random draws,
/// so they are resampled together.
fn together(pairs: &[(RunSummary, RunSummary)]) -> (Option<Counted>, Paired, u32) {
    type Counts = (u64, u64);
    type Count = fn(&RunSummary) -> Counts;
    let seeds: BTreeSet<u64> = pairs.iter().map(|(first, _)| first.run).collect();
    let sums = |count: Count| {
        let sum_of_seed = |&seed: &u64| {
            let with_seed = pairs.iter().filter(|(first, _)| first.run == seed);
            with_seed.fold([(0, 0); 2], |sum, (first, second)| {
                let add = |sum: Counts, counts: Counts| (sum.0 + counts.0, sum.1 + counts.1);
                [add(sum[0], count(first)), add(sum[1], count(second))]
            })
        };
        seeds.iter().map(sum_of_seed).collect::<Vec<_>>()
    };
    let share = |drawn: &[&Counts]| {
        let sum = drawn
            .iter()
            .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        (sum.1 > 0).then(|| sum.0 as f64 / sum.1 as f64)
    };
    let number = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
    let both: [(Counted, Count); 2] = [
        (Counted::Queries, RunSummary::queries_in_time),
        (Counted::Flows, |run| (run.met(), run.deadline_flows())),
    ];
    for (counted, count) in both {
        let sums = sums(count);
        let [first, second] = [0, 1].map(|side| {
            sums.iter()
                .map(|sides| sides[side])
                .collect::<Vec<Counts>>()
        });
        let total = |counts: &[Counts]| counts.iter().map(|(_, all)| all).sum();
        let in_time = Paired {
            of: Some([total(&first), total(&second)]),
            ..Paired::of(&first, &second, share)
        };
        if in_time.difference.is_some() {
            return (Some(counted), in_time, number);
        }
    }
    let none = Paired {
        first: None,
        second: None,
        difference: None,
        of: None,
    };
    (None, none, number)
}
