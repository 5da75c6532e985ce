//! Remaining time of a study, estimated from finished runs of the same point and transport, active runs and the offered
//! load, in this order of preference.
//!
//! Work is counted in packet-hops: for the same flows, one transport may need five times as many as another. A run that
//! has reached its duration only waits for open flows, so its remaining time is estimated from the rate at which they
//! finish.

use std::collections::BTreeMap;

use crate::pool::{ActiveRun, Estimator};

/// Estimator of the remaining wall time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eta {
    /// First-order estimate of the packet-hops of a run, by point.
    offered: Vec<f64>,
    /// Point and transport of each task.
    kinds: Vec<(usize, usize)>,
    /// Totals of the finished runs, by point and transport.
    finished: BTreeMap<(usize, usize), Finished>,
    /// Start of the drain, by task.
    drains: BTreeMap<usize, Drain>,
    /// Time and value of the last estimate reported.
    reported: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Finished {
    runs: f64,
    wall_s: f64,
    packet_hops: f64,
}

#[derive(Clone, Copy, Debug)]
struct Drain {
    wall_s: f64,
    simulated_s: f64,
    open_flows: u64,
}

/// Assumed time of a run's drain as a share of the time before it, while nothing is known about it.
const DRAIN_SHARE: f64 = 0.1;
/// Share of the duration that a run must have simulated for its progress to be used.
const MIN_PROGRESS: f64 = 0.05;

impl Eta {
    /// Creates an estimator. `offered` holds a first-order estimate of the packet-hops of a run by point, 0 where it is
    /// unknown. `kinds` holds the point and the transport of each task.
    pub fn new(offered: Vec<f64>, kinds: Vec<(usize, usize)>) -> Self {
        Self {
            offered,
            kinds,
            ..Self::default()
        }
    }

    /// Smooths an estimate: the reported time counts down with the clock while the estimate stays within a quarter of
    /// it, so that small corrections do not make it jump.
    fn steady(&mut self, now_s: f64, estimate: f64) -> f64 {
        let counting_down = self.reported.map(|(at, eta)| eta - (now_s - at));
        let reported = match counting_down {
            Some(eta) if (eta - estimate).abs() <= 0.25 * estimate => eta,
            _ => estimate,
        };
        self.reported = Some((now_s, reported));
        reported
    }

    /// Returns the remaining wall time of an active run, or `None` if its progress does not show it yet.
    fn remaining(&mut self, run: &ActiveRun) -> Option<f64> {
        let hops = run.packet_hops as f64;
        if hops <= 0.0 || run.wall_s <= 0.0 {
            return None;
        }
        let per_hop = run.wall_s / hops;
        let learned = self.finished.get(&self.kinds[run.task]);
        let learned = learned
            .map(|finished| (finished.packet_hops / finished.runs - hops).max(0.0) * per_hop);
        let part = run.simulated_s / run.of_s.max(1e-12);
        if part < 1.0 {
            if part < MIN_PROGRESS {
                return learned.filter(|left| *left > 0.0);
            }
            // Sources send at the same pace until the duration; then open flows are drained.
            let until_stop = run.wall_s * (1.0 - part) / part;
            let drain = (run.wall_s + until_stop) * DRAIN_SHARE;
            return Some(learned.map_or(until_stop + drain, |learned| learned.max(until_stop)));
        }
        let drain = *self.drains.entry(run.task).or_insert(Drain {
            wall_s: run.wall_s,
            simulated_s: run.simulated_s,
            open_flows: run.open_flows,
        });
        let draining = run.wall_s - drain.wall_s;
        let ended = drain.open_flows.saturating_sub(run.open_flows) as f64;
        let by_flows = (ended > 0.0).then(|| draining * run.open_flows as f64 / ended);
        // The run is cut off at the end of the drain time.
        let passed = run.simulated_s - drain.simulated_s;
        let by_cut =
            (passed > 0.0).then(|| draining * (run.cut_s - run.simulated_s).max(0.0) / passed);
        let guess = learned
            .filter(|left| *left > 0.0)
            .or(by_flows)
            .unwrap_or(run.wall_s * DRAIN_SHARE);
        Some(by_cut.map_or(guess, |cut| guess.min(cut)))
    }

    /// Returns the estimated wall time of a complete run, or `None` if no run has been timed.
    fn total_wall(&self, task: usize, at_work: &[(ActiveRun, f64)]) -> Option<f64> {
        let mean = |finished: &Finished| finished.wall_s / finished.runs;
        let (own_point, own_transport) = self.kinds[task];
        if let Some(finished) = self.finished.get(&self.kinds[task]) {
            return Some(mean(finished));
        }
        let offered = |point: usize| self.offered.get(point).copied().filter(|hops| *hops > 0.0);
        // To first order, the times of two points differ as their offered loads do. If these are unknown, assume equal
        // times.
        let scale = |from: usize| {
            offered(own_point)
                .zip(offered(from))
                .map_or(1.0, |(ours, theirs)| ours / theirs)
        };
        // Distance of another run's kind from this task's: the transport counts more than the point.
        let distance = |point: usize, transport: usize| {
            2 * u8::from(transport != own_transport) + u8::from(point != own_point)
        };
        let ended = self.finished.iter().map(|(&(point, transport), finished)| {
            (distance(point, transport), mean(finished) * scale(point))
        });
        let running = at_work.iter().map(|(run, left)| {
            let (point, transport) = self.kinds[run.task];
            let wall_s = (run.wall_s + left) * scale(point);
            (distance(point, transport), wall_s)
        });
        let all: Vec<(u8, f64)> = ended.chain(running).collect();
        let nearest = all.iter().map(|(distance, _)| *distance).min()?;
        let alike: Vec<f64> = all
            .iter()
            .filter(|(distance, _)| *distance == nearest)
            .map(|(_, wall_s)| *wall_s)
            .collect();
        Some(alike.iter().sum::<f64>() / alike.len() as f64)
    }
}

impl Estimator for Eta {
    fn ended(&mut self, task: usize, wall_s: f64, packet_hops: u64) {
        let finished = self.finished.entry(self.kinds[task]).or_default();
        finished.runs += 1.0;
        finished.wall_s += wall_s;
        finished.packet_hops += packet_hops as f64;
        self.drains.remove(&task);
    }

    fn left_s(
        &mut self,
        now_s: f64,
        at_work: &[ActiveRun],
        waiting: &[usize],
        workers: usize,
    ) -> Option<f64> {
        if at_work.is_empty() && waiting.is_empty() {
            // The last runs are being written.
            return None;
        }
        let left: Vec<Option<f64>> = at_work.iter().map(|run| self.remaining(run)).collect();
        let known: Vec<(ActiveRun, f64)> = at_work
            .iter()
            .zip(&left)
            .filter_map(|(run, left)| Some((*run, (*left)?)))
            .collect();
        let mut total = 0.0;
        let mut longest: f64 = 0.0;
        for (run, left) in at_work.iter().zip(&left) {
            let estimated = || Some((self.total_wall(run.task, &known)? - run.wall_s).max(0.0));
            let left = left.or_else(estimated)?;
            total += left;
            longest = longest.max(left);
        }
        for &task in waiting {
            let wall_s = self.total_wall(task, &known)?;
            total += wall_s;
            longest = longest.max(wall_s);
        }
        let remaining = self.steady(now_s, (total / workers.max(1) as f64).max(longest));
        // "0.0 s" would mean that the study is done.
        (remaining >= 0.1).then_some(remaining)
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]
mod tests {
    use super::*;

    /// An active run of `whole_s` wall seconds at `wall_s`. Its drain takes the share `drain`, in which flows end
    /// evenly.
    fn at(task: usize, whole_s: f64, drain: f64, rate: f64, wall_s: f64) -> ActiveRun {
        let stop = whole_s * (1.0 - drain);
        let in_drain = ((wall_s - stop) / (whole_s - stop)).max(0.0);
        ActiveRun {
            task,
            wall_s,
            simulated_s: if wall_s < stop {
                wall_s / stop
            } else {
                1.0 + 5.0 * in_drain
            },
            of_s: 1.0,
            cut_s: 11.0,
            packet_hops: (wall_s * rate) as u64,
            open_flows: if in_drain > 0.0 {
                (10_000.0 * (1.0 - in_drain)) as u64
            } else {
                500
            },
        }
    }

    /// Simulates five runs of each of two transports on one core, in the order in which studies start them. The second
    /// transport takes five times as long and drains for most of its time. Returns the time, the estimate, the true
    /// remaining time and the task, every tenth of a second.
    fn estimates() -> Vec<(f64, Option<f64>, f64, usize)> {
        let mut eta = Eta::new(vec![1e7], [(0, 0), (0, 1)].repeat(5));
        let tasks: Vec<usize> = (0..10).collect();
        let whole = |task: usize| [2.0, 10.0][task % 2];
        let drain = |task: usize| [0.05, 0.6][task % 2];
        let total: f64 = tasks.iter().map(|&task| whole(task)).sum();
        let (mut estimates, mut now) = (Vec::new(), 0.0);
        for &task in &tasks {
            let began = now;
            while now - began < whole(task) - 1e-9 {
                now += 0.1;
                let run = at(task, whole(task), drain(task), 5e6, now - began);
                let found = eta.left_s(now, &[run], &tasks[task + 1..], 1);
                estimates.push((now, found, total - now, task));
            }
            eta.ended(task, whole(task), (whole(task) * 5e6) as u64);
        }
        estimates
    }

    #[test]
    fn accurate_from_the_second_run_of_a_transport() {
        for (now, found, truth, task) in estimates() {
            if task >= 2 && truth > 1.0 {
                let found = found.unwrap();
                assert!(
                    (0.7..1.4).contains(&(found / truth)),
                    "at {now}: {found} instead of {truth}"
                );
            }
        }
    }

    #[test]
    fn draining_run_uses_its_open_flows() {
        // No other run has finished, so only the open flows show the progress.
        let mut eta = Eta::new(vec![0.0], vec![(0, 0)]);
        let mut last = f64::MAX;
        for tick in 1..98 {
            let wall_s = f64::from(tick) * 0.1;
            let run = at(0, 10.0, 0.7, 1e6, wall_s);
            let found = eta.left_s(wall_s, &[run], &[], 1);
            // The drain begins after 3 s.
            if wall_s > 3.2 {
                let (found, truth) = (found.unwrap(), 10.0 - wall_s);
                assert!(found > 0.0, "at {wall_s}");
                if wall_s > 3.5 {
                    assert!(
                        (found / truth - 1.0).abs() < 0.35,
                        "at {wall_s}: {found} instead of {truth}"
                    );
                    assert!(found <= last + 1e-9, "at {wall_s}: {found} after {last}");
                    last = found;
                }
            }
        }
    }

    #[test]
    fn estimate_counts_down() {
        let all = estimates().into_iter();
        let late: Vec<_> = all
            .filter(|&(_, _, truth, task)| task >= 2 && truth > 1.0)
            .collect();
        let rises = late
            .windows(2)
            .filter(|pair| pair[1].1.unwrap() > pair[0].1.unwrap() + 1e-9);
        assert!(rises.count() <= 2, "of {} ticks", late.len());
    }

    #[test]
    fn other_points_are_scaled_by_offered_load() {
        let new = || Eta::new(vec![1e6, 4e6], vec![(0, 0), (1, 0)]);
        let mut eta = new();
        eta.ended(0, 3.0, 1_000_000);
        assert_eq!(eta.left_s(3.0, &[], &[1], 1), Some(12.0));
        // Without any timed run there is no estimate.
        assert_eq!(new().left_s(1.0, &[], &[1], 1), None);
    }

    #[test]
    fn parallel_runs_take_as_long_as_the_longest() {
        let mut eta = Eta::new(vec![0.0], vec![(0, 0); 4]);
        eta.ended(0, 8.0, 1_000);
        assert_eq!(eta.left_s(8.0, &[], &[1], 4), Some(8.0));
        assert_eq!(eta.left_s(8.1, &[], &[1, 2, 3], 2), Some(12.0));
    }
}
