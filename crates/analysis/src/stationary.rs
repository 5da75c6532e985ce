//! Tests of stationarity. The results of a run that is not stationary depend on its duration.
//!
//! Two tests cover the measurement window [warm-up, duration) of all runs of a transport together:
//!
//! - *Backlog*: the bytes of open flows (started, not ended), averaged over each quarter. The backlog grows if it is
//!   larger in each quarter than in the one before, and if it grows from the second to the last quarter by at least 5 %
//!   of the bytes that start in half of the time and by more than three times the noise. The noise assumes independent
//!   arrivals: the root of the summed squares of open bytes, with the flows of a query as one. Above a load of 1, the
//!   backlog grows by (1 - 1 / load) of the bytes that start.
//! - *Shares*: the share of late queries (late flows if no query of the workload can be late) among those that start in
//!   the first and in the second half. They differ if their 99.9 % intervals do not overlap and they are at least half
//!   a point apart. The intervals are those of the ratio over ten blocks of time per half and run, because queries that
//!   start together are late together, but never narrower than for as many independent draws as there are queries
//!   (Agresti and Coull 1998). Halves with fewer than six non-empty blocks are not tested.

use duetime_core::Time;
use duetime_results::{FlowRecord, RunRecords};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of time per half.
const BLOCKS: usize = 10;
/// Minimum number of non-empty blocks per half.
const MIN_BLOCKS: usize = 6;
/// Two-sided 99.9 % quantile of the normal distribution.
const Z: f64 = 3.291;
/// Minimum growth of the backlog from the second to the last quarter, as a share of the bytes that start in half of the
/// time.
const MIN_GROWTH: f64 = 0.05;
/// Minimum growth of the backlog in units of its noise.
const MIN_GROWTH_TO_NOISE: f64 = 3.0;
/// Minimum difference of two shares that is reported.
const MIN_SHARE_DIFFERENCE: f64 = 0.005;

/// Backlog and late shares of one run over its measurement window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Late queries or flows, by workload and block of time.
    shares: BTreeMap<u16, Vec<Block>>,
    /// Mean bytes of open flows, by quarter.
    backlog: [f64; 4],
    /// Mean of the summed squares of open bytes, by quarter.
    squares: [f64; 4],
    /// Bytes of the flows that start in the measurement window.
    started: f64,
}

/// Queries or flows that start in one block of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    late: u64,
    all: u64,
    /// Number of queries that they belong to. A flow without a query counts as one.
    queries: u64,
}

/// Reason why runs were not stationary.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum NonStationarity {
    /// The backlog grows.
    Backlog {
        /// Mean bytes of open flows in the second quarter of the measurement window, per run.
        second_quarter_bytes: f64,
        /// Mean bytes of open flows in the last quarter, per run.
        last_quarter_bytes: f64,
        /// Growth between these quarters, as a share of the bytes that start in half of the time.
        of_started: f64,
    },
    /// The late share differs between the halves.
    Share {
        /// Index of the workload in the scenario.
        workload: u16,
        /// Late share of the queries or flows that start in the first half.
        first: f64,
        /// 99.9 % interval of `first`.
        first_interval: [f64; 2],
        /// Late share of the queries or flows that start in the second half.
        second: f64,
        /// 99.9 % interval of `second`.
        second_interval: [f64; 2],
    },
}

impl Course {
    /// Computes the course of a run from `from` to `until`.
    pub fn of(records: &RunRecords, from: Time, until: Time) -> Self {
        if until <= from {
            return Self::default();
        }
        let time = Measured { from, until };
        let (backlog, squares, started) = time.backlog(&records.flows);
        Self {
            shares: time.shares(records),
            backlog,
            squares,
            started,
        }
    }
}

/// Returns the reasons why the runs of one transport were not stationary; empty if they were.
pub fn drifts(runs: &[Course]) -> Vec<NonStationarity> {
    let workloads: BTreeSet<u16> = runs
        .iter()
        .flat_map(|run| run.shares.keys().copied())
        .collect();
    let shares = workloads
        .into_iter()
        .filter_map(|workload| share(runs, workload));
    backlog(runs).into_iter().chain(shares).collect()
}

fn backlog(runs: &[Course]) -> Option<NonStationarity> {
    let sum = |pick: &dyn Fn(&Course) -> f64| runs.iter().map(pick).sum::<f64>();
    let quarters: [f64; 4] = std::array::from_fn(|quarter| sum(&|run| run.backlog[quarter]));
    let growth = quarters[3] - quarters[1];
    let noise = sum(&|run| run.squares[1] + run.squares[3]).sqrt();
    let of_started = growth / (sum(&|run| run.started) / 2.0);
    let grows = quarters.windows(2).all(|pair| pair[0] < pair[1])
        && of_started >= MIN_GROWTH
        && growth > MIN_GROWTH_TO_NOISE * noise;
    let number = runs.len() as f64;
    grows.then(|| NonStationarity::Backlog {
        second_quarter_bytes: quarters[1] / number,
        last_quarter_bytes: quarters[3] / number,
        of_started,
    })
}

fn share(runs: &[Course], workload: u16) -> Option<NonStationarity> {
    let half = |blocks: std::ops::Range<usize>| {
        let runs = runs.iter().filter_map(|run| run.shares.get(&workload));
        let non_empty: Vec<Block> = runs
            .flat_map(|all| all[blocks.clone()].iter().copied())
            .filter(|block| block.all > 0)
            .collect();
        estimate(&non_empty)
    };
    let ((first, first_interval), (second, second_interval)) =
        (half(0..BLOCKS)?, half(BLOCKS..2 * BLOCKS)?);
    let apart = first_interval[1] < second_interval[0] || second_interval[1] < first_interval[0];
    (apart && (first - second).abs() >= MIN_SHARE_DIFFERENCE).then_some(NonStationarity::Share {
        workload,
        first,
        first_interval,
        second,
        second_interval,
    })
}

/// Returns the late share with its 99.9 % interval, or `None` if there are too few blocks.
fn estimate(blocks: &[Block]) -> Option<(f64, [f64; 2])> {
    if blocks.len() < MIN_BLOCKS {
        return None;
    }
    let count = blocks.len() as f64;
    let sum = |pick: fn(&Block) -> u64| blocks.iter().map(pick).sum::<u64>() as f64;
    let (all, queries) = (sum(|block| block.all), sum(|block| block.queries));
    let share = sum(|block| block.late) / all;
    let squares: f64 = blocks
        .iter()
        .map(|block| {
            let off = block.late as f64 - share * block.all as f64;
            off * off
        })
        .sum();
    let by_blocks = squares * count / (count - 1.0) / (all * all);
    // Agresti and Coull: add two late and two in time, so that the interval of a share of 0 is not empty.
    let drawn = (share * queries + 2.0) / (queries + 4.0);
    let by_draws = drawn * (1.0 - drawn) / (queries + 4.0);
    let wide = student(count - 1.0) * by_blocks.max(by_draws).sqrt();
    let interval = [share - wide, share + wide];
    Some((share, interval))
}

/// Returns the two-sided 99.9 % quantile of Student's distribution, by its expansion about the normal one (Fisher and
/// Cornish 1960).
fn student(freedom: f64) -> f64 {
    let (cube, fifth) = (Z * Z * Z, Z * Z * Z * Z * Z);
    Z + (cube + Z) / (4.0 * freedom)
        + (5.0 * fifth + 16.0 * cube + 3.0 * Z) / (96.0 * freedom * freedom)
}

struct Measured {
    from: Time,
    until: Time,
}

impl Measured {
    /// Returns the position of a time in the window, 0 at its beginning and 1 at its end.
    fn position(&self, at: Time) -> f64 {
        let length = self.until.since(self.from).as_ps() as f64;
        (at.as_ps() as f64 - self.from.as_ps() as f64) / length
    }

    fn shares(&self, records: &RunRecords) -> BTreeMap<u16, Vec<Block>> {
        let mut shares = BTreeMap::new();
        let mut last = BTreeMap::new();
        let mut add = |workload: u16, query: Option<u64>, start: Time, met: bool| {
            let blocks: &mut Vec<Block> = shares
                .entry(workload)
                .or_insert_with(|| vec![Block::default(); 2 * BLOCKS]);
            let number = (self.position(start) * (2 * BLOCKS) as f64) as usize;
            let number = number.min(2 * BLOCKS - 1);
            let block = &mut blocks[number];
            block.late += u64::from(!met);
            block.all += 1;
            // A query with flows in two blocks counts in both.
            let seen = query.map(|query| last.insert((workload, query), number));
            block.queries += u64::from(seen.flatten() != Some(number));
        };
        let mut judged = BTreeSet::new();
        for query in records.queries.iter().filter(|query| query.measured) {
            if let Some(met) = query.met() {
                judged.insert(query.workload);
                add(query.workload, Some(query.query), query.start, met);
            }
        }
        let flows = records.flows.iter();
        for flow in flows.filter(|flow| flow.measured && !judged.contains(&flow.workload)) {
            // A measured flow of a query may start after the end of the window.
            if let Some(met) = flow.met().filter(|_| flow.start < self.until) {
                add(flow.workload, flow.query, flow.start, met);
            }
        }
        shares
    }

    /// Returns the mean open bytes and the mean summed squares by quarter, and the bytes that start.
    fn backlog(&self, flows: &[FlowRecord]) -> ([f64; 4], [f64; 4], f64) {
        let mut started = 0.0;
        // (time, change of open bytes, query)
        let mut changes: Vec<(Time, f64, Option<u64>)> = Vec::new();
        for flow in flows.iter().filter(|flow| flow.is_finite()) {
            // The time of quenching is not recorded; it is at most the deadline.
            let end = match (flow.finish, flow.quenched) {
                (Some(finish), _) => finish,
                (None, true) => flow.deadline.unwrap_or(flow.start),
                (None, false) => self.until,
            };
            let bytes = flow.size_bytes as f64;
            if flow.start >= self.from && flow.start < self.until {
                started += bytes;
            }
            let (start, end) = (flow.start.max(self.from), end.min(self.until));
            if start < end {
                changes.push((start, bytes, flow.query));
                changes.push((end, -bytes, flow.query));
            }
        }
        changes.sort_by_key(|change| change.0);
        let mut open_of_query: BTreeMap<u64, f64> = BTreeMap::new();
        let (mut open, mut square) = (0.0f64, 0.0f64);
        let (mut backlog, mut squares) = ([0.0; 4], [0.0; 4]);
        let mut last = 0.0;
        for (at, bytes, query) in changes {
            let now = self.position(at);
            spread(last, now, open, &mut backlog);
            spread(last, now, square, &mut squares);
            last = now;
            open = (open + bytes).max(0.0);
            let before = query.map(|query| open_of_query.get(&query).copied().unwrap_or(0.0));
            match (query, before) {
                (Some(query), Some(before)) => {
                    let after = (before + bytes).max(0.0);
                    square += after * after - before * before;
                    if after > 0.0 {
                        open_of_query.insert(query, after);
                    } else {
                        open_of_query.remove(&query);
                    }
                }
                _ => square += bytes.signum() * bytes * bytes,
            }
            square = square.max(0.0);
        }
        spread(last, 1.0, open, &mut backlog);
        spread(last, 1.0, square, &mut squares);
        (backlog, squares, started)
    }
}

/// Adds the contribution of `value` between two positions to the mean of each quarter.
fn spread(from: f64, to: f64, value: f64, quarters: &mut [f64; 4]) {
    for (quarter, mean) in quarters.iter_mut().enumerate() {
        let (start, end) = (quarter as f64 / 4.0, (quarter + 1) as f64 / 4.0);
        *mean += value * (to.min(end) - from.max(start)).max(0.0) * 4.0;
    }
}

#[cfg(test)]
mod tests;
