//! Two run folders side by side: the same runs under two settings, paired by seed. Workloads, transports and points that
//! only one of them has are noted and left out.

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
    Side, common_points, common_transports, common_workloads, finished, incomplete, refused, there,
    versions,
};

/// What is in time, for the first answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Queries that have a budget.
    Queries,
    /// Flows with deadlines, where no query has a budget.
    Flows,
}

/// What two run folders differ in.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The folders, the first is A.
    pub folders: [PathBuf; 2],
    /// The transports of A and B if two transports of one folder are compared.
    pub pair: Option<[String; 2]>,
    /// Keys on which their scenarios disagree.
    pub settings: Vec<Change>,
    /// What to know about the comparison: what only one of them has, and what was left out.
    pub notes: Vec<String>,
    /// Transports compared, in the order of A; of two transports of one folder `A -> B`.
    pub transports: Vec<String>,
    /// Different seeds among the pairs of runs.
    pub seeds: u32,
    /// Pairs of runs, over all transports and points.
    pub pairs: usize,
    /// What the first answer counts; `None`: nothing in both has a budget or a deadline.
    pub counted: Option<Counted>,
    /// Share in time of all transports, workloads and points together; the pairs of a seed are resampled together.
    pub in_time: Paired,
    /// Each number.
    pub rows: Vec<ComparedRow>,
}

/// One number of one transport at one point.
#[derive(Clone, Debug)]
pub struct ComparedRow {
    /// The settings of the point, e.g. `workload.fan_in=40`; empty without a sweep.
    pub point: String,
    /// The transport.
    pub transport: String,
    /// Pairs of runs.
    pub pairs: usize,
    /// The workload; `None`: the network.
    pub workload: Option<String>,
    /// The class of its flows; `None`: its queries, or the network.
    pub class: Option<Class>,
    /// The number.
    pub measure: Measure,
    /// Its values.
    pub values: Paired,
}

impl ComparedRow {
    /// What the number is about.
    pub fn subject(&self) -> String {
        match (&self.workload, self.class) {
            (None, _) => "network".to_owned(),
            (Some(name), None) => format!("{name} queries"),
            (Some(name), Some(class)) => flows_name(name, class),
        }
    }
}

/// Whether a difference is more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal in every pair.
    Equal,
    /// The interval lies above zero: B has more.
    Higher,
    /// The interval lies below zero.
    Lower,
    /// The interval holds zero.
    Open,
    /// Fewer pairs than an interval needs.
    FewSeeds,
}

/// What an interval says of a difference.
pub fn verdict(difference: &Estimate) -> Verdict {
    match difference.interval {
        Some(range) if range.low == 0.0 && range.high == 0.0 => Verdict::Equal,
        None => Verdict::FewSeeds,
        Some(range) if range.is_of_few() => Verdict::FewSeeds,
        Some(range) if range.low > 0.0 => Verdict::Higher,
        Some(range) if range.high < 0.0 => Verdict::Lower,
        Some(_) => Verdict::Open,
    }
}

/// Compares two run folders over the transports asked for, all that both have where none is; `each` hears of each pair
/// of runs before it is read: how many were, and of how many.
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

/// Compares two transports of one run folder; A has the first. `each` is called as by [`compare`].
pub fn compare_transports(
    folder: &Path,
    pair: [String; 2],
    each: impl FnMut(usize, usize),
) -> Result<Compared, StudyError> {
    let sides = [Side::open(folder)?, Side::open(folder)?];
    if pair[0] == pair[1] {
        let why = format!("`{}` is both transports of the pair; name two", pair[0]);
        return Err(StudyError::Choice(why));
    }
    let mut notes = Vec::new();
    common_transports(&sides, &pair, &mut notes)?;
    let mut compared = compare_sides(&sides, std::slice::from_ref(&pair), notes, each)?;
    compared.pair = Some(pair);
    Ok(compared)
}

/// Compares two sides over pairs of transports: the first is that of A, the second that of B.
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
        .with("no run of one has the random draws of a run of the other; both need the same `seed`"));
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
            let [first, second] = [0, 1].map(|side| there(&sides[side], |run| key(side, run)));
            incomplete(sides, label, transports, [&first, &second], &mut notes);
            let both = first.intersection(&second);
            let keys: Vec<_> = both.map(|&run| [key(0, run), key(1, run)]).collect();
            cells.push((label, shown(transports), keys));
        }
    }
    let all = cells.iter().map(|(_, _, keys)| keys.len()).sum();
    if all == 0 {
        return Err(refused(sides, |side| {
            format!("{} of its runs finished", finished(side))
        })
        .with("no finished run of one has its pair in the other; finish them with `--resume`"));
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
        number(&mut first, &sides[0].workloads(), &workloads);
        number(&mut second, &sides[1].workloads(), &workloads);
        for (of, measure, values) in paired(&first, &second) {
            let (workload, class) = match of {
                Subject::Queries(of) => (Some(of), None),
                Subject::Flows(of, class) => (Some(of), Some(class)),
                Subject::Network => (None, None),
            };
            rows.push(ComparedRow {
                point: label.clone(),
                transport: transport.clone(),
                pairs: first.len(),
                workload: workload.map(|of| workloads[usize::from(of)].clone()),
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
        transports: transports.iter().map(shown).collect(),
        seeds,
        pairs: runs.len(),
        counted,
        in_time,
        rows,
    })
}

/// The name of a pair of transports.
fn shown([a, b]: &[String; 2]) -> String {
    if a == b {
        a.clone()
    } else {
        format!("{a} -> {b}")
    }
}

/// Numbers the workloads of the runs by their place in the common list, and drops those that are not in it.
fn number(runs: &mut [RunSummary], own: &[String], common: &[String]) {
    let place = |workload: u16| {
        let name = own.get(usize::from(workload))?;
        let found = common.iter().position(|of| of == name)?;
        u16::try_from(found).ok()
    };
    for run in runs {
        run.groups.retain_mut(|of| {
            let found = place(of.workload);
            of.workload = found.unwrap_or_default();
            found.is_some()
        });
        run.queries.retain_mut(|of| {
            let found = place(of.workload);
            of.workload = found.unwrap_or_default();
            found.is_some()
        });
    }
}

/// The share in time of all pairs together. Pairs of one seed share their draws, so they are resampled together.
fn together(pairs: &[(RunSummary, RunSummary)]) -> (Option<Counted>, Paired, u32) {
    type Counts = (u64, u64);
    type Count = fn(&RunSummary) -> Counts;
    let seeds: BTreeSet<u64> = pairs.iter().map(|(first, _)| first.run).collect();
    let sums = |count: Count| {
        let of_seed = |&seed: &u64| {
            let own = pairs.iter().filter(|(first, _)| first.run == seed);
            own.fold([(0, 0); 2], |sum, (first, second)| {
                let add = |sum: Counts, of: Counts| (sum.0 + of.0, sum.1 + of.1);
                [add(sum[0], count(first)), add(sum[1], count(second))]
            })
        };
        seeds.iter().map(of_seed).collect::<Vec<_>>()
    };
    let share = |drawn: &[&Counts]| {
        let sum = drawn
            .iter()
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        (sum.1 > 0).then(|| sum.0 as f64 / sum.1 as f64)
    };
    let number = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
    let both: [(Counted, Count); 2] = [
        (Counted::Queries, RunSummary::queries_in_time),
        (Counted::Flows, |run| (run.met(), run.deadline_flows())),
    ];
    for (counted, count) in both {
        let sums = sums(count);
        let [first, second] =
            [0, 1].map(|side| sums.iter().map(|of| of[side]).collect::<Vec<Counts>>());
        let asked = |of: &[Counts]| of.iter().map(|of| of.1).sum();
        let in_time = Paired {
            of: Some([asked(&first), asked(&second)]),
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
