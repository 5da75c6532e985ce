//! When a study will be done: from finished runs of the same point and transport, from those at work, and from what the
//! scenario offers, in this order.
//!
//! Work is counted in packet-hops: one transport may need five times those of another for the same flows. A run at work
//! that has reached its duration only waits for open flows, so what is left of it is told by how fast they become fewer.

use std::collections::BTreeMap;

use crate::pool::{AtWork, Estimator};

/// What is known of the time that runs take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eta {
    /// By point: packet-hops of a run, to first order.
    offered: Vec<f64>,
    /// By task: point and transport.
    kinds: Vec<(usize, usize)>,
    /// By point and transport: finished runs, their wall time and packet-hops.
    finished: BTreeMap<(usize, usize), Finished>,
    /// By task: where its drain began.
    drains: BTreeMap<usize, Drain>,
    /// When something was told last, and what.
    told: Option<(f64, f64)>,
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

/// Of a run's packet-hops, what its drain may add as long as nothing is known of it.
const DRAIN: f64 = 0.1;
/// Part of a run's duration from which it tells how long it will take.
const TELLING: f64 = 0.05;

impl Eta {
    /// For points whose runs take so many packet-hops, to first order; 0 where that is not known. `kinds` are the point
    /// and the transport of each task.
    pub fn new(offered: Vec<f64>, kinds: Vec<(usize, usize)>) -> Self {
        Self {
            offered,
            kinds,
            ..Self::default()
        }
    }

    /// What is told counts down with the clock as long as the estimate stays within a quarter of it: small changes of
    /// opinion are not worth a jump.
    fn steady(&mut self, now_s: f64, estimate: f64) -> f64 {
        let counting_down = self.told.map(|(at, eta)| eta - (now_s - at));
        let told = match counting_down {
            Some(eta) if (eta - estimate).abs() <= 0.25 * estimate => eta,
            _ => estimate,
        };
        self.told = Some((now_s, told));
        told
    }

    /// Wall time that a run at work still needs; `None` as long as it does not tell.
    fn left(&mut self, run: &AtWork) -> Option<f64> {
        let hops = run.packet_hops as f64;
        if hops <= 0.0 || run.wall_s <= 0.0 {
            return None;
        }
        let per_hop = run.wall_s / hops;
        let learned = self.finished.get(&self.kinds[run.task]);
        let learned = learned.map(|of| (of.packet_hops / of.runs - hops).max(0.0) * per_hop);
        let part = run.simulated_s / run.of_s.max(1e-12);
        if part < 1.0 {
            if part < TELLING {
                return learned.filter(|left| *left > 0.0);
            }
            // What has been sent so far goes on until the duration; then what is open is drained.
            let until_stop = run.wall_s * (1.0 - part) / part;
            let drain = (run.wall_s + until_stop) * DRAIN;
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
        // At the latest it is cut.
        let passed = run.simulated_s - drain.simulated_s;
        let by_cut =
            (passed > 0.0).then(|| draining * (run.cut_s - run.simulated_s).max(0.0) / passed);
        let guess = learned
            .filter(|left| *left > 0.0)
            .or(by_flows)
            .unwrap_or(run.wall_s * DRAIN);
        Some(by_cut.map_or(guess, |cut| guess.min(cut)))
    }

    /// Wall time of a whole run.
    fn whole(&self, task: usize, at_work: &[(AtWork, f64)]) -> Option<f64> {
        let mean = |of: &Finished| of.wall_s / of.runs;
        let (own_point, own_transport) = self.kinds[task];
        if let Some(of) = self.finished.get(&self.kinds[task]) {
            return Some(mean(of));
        }
        let offered = |point: usize| self.offered.get(point).copied().filter(|hops| *hops > 0.0);
        // By first order, runs of two points differ as what they are offered; without that they are alike.
        let scale = |from: usize| {
            offered(own_point)
                .zip(offered(from))
                .map_or(1.0, |(ours, theirs)| ours / theirs)
        };
        // (how unlike it is, wall time of a whole run)
        let unlike = |point: usize, transport: usize| {
            2 * u8::from(transport != own_transport) + u8::from(point != own_point)
        };
        let ended = self
            .finished
            .iter()
            .map(|(&(point, transport), of)| (unlike(point, transport), mean(of) * scale(point)));
        let running = at_work.iter().map(|(run, left)| {
            let (point, transport) = self.kinds[run.task];
            let whole = (run.wall_s + left) * scale(point);
            (unlike(point, transport), whole)
        });
        let all: Vec<(u8, f64)> = ended.chain(running).collect();
        let nearest = all.iter().map(|of| of.0).min()?;
        let alike: Vec<f64> = all
            .iter()
            .filter(|of| of.0 == nearest)
            .map(|of| of.1)
            .collect();
        Some(alike.iter().sum::<f64>() / alike.len() as f64)
    }
}

impl Estimator for Eta {
    fn ended(&mut self, task: usize, wall_s: f64, packet_hops: u64) {
        let of = self.finished.entry(self.kinds[task]).or_default();
        of.runs += 1.0;
        of.wall_s += wall_s;
        of.packet_hops += packet_hops as f64;
        self.drains.remove(&task);
    }

    fn left_s(
        &mut self,
        now_s: f64,
        at_work: &[AtWork],
        waiting: &[usize],
        workers: usize,
    ) -> Option<f64> {
        if at_work.is_empty() && waiting.is_empty() {
            // The last runs are being written.
            return None;
        }
        let left: Vec<Option<f64>> = at_work.iter().map(|run| self.left(run)).collect();
        let known: Vec<(AtWork, f64)> = at_work
            .iter()
            .zip(&left)
            .filter_map(|(run, left)| Some((*run, (*left)?)))
            .collect();
        let mut total = 0.0;
        let mut longest: f64 = 0.0;
        for (run, left) in at_work.iter().zip(&left) {
            let whole = || Some((self.whole(run.task, &known)? - run.wall_s).max(0.0));
            let left = left.or_else(whole)?;
            total += left;
            longest = longest.max(left);
        }
        for &task in waiting {
            let whole = self.whole(task, &known)?;
            total += whole;
            longest = longest.max(whole);
        }
        let told = self.steady(now_s, (total / workers.max(1) as f64).max(longest));
        // "0.0 s" would say that it is done.
        (told >= 0.1).then_some(told)
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

    /// A run of so many wall seconds, of which the drain is a part, at `wall_s`. Flows end evenly in the drain.
    fn at(task: usize, whole_s: f64, drain: f64, rate: f64, wall_s: f64) -> AtWork {
        let stop = whole_s * (1.0 - drain);
        let in_drain = ((wall_s - stop) / (whole_s - stop)).max(0.0);
        AtWork {
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

    /// Five runs of each of two transports on one core, of which the second takes five times as long and drains for
    /// most of it, in the order in which studies begin them. What is told, and what is true, every tenth of a second.
    fn told() -> Vec<(f64, Option<f64>, f64, usize)> {
        let mut eta = Eta::new(vec![1e7], [(0, 0), (0, 1)].repeat(5));
        let tasks: Vec<usize> = (0..10).collect();
        let whole = |task: usize| [2.0, 10.0][task % 2];
        let drain = |task: usize| [0.05, 0.6][task % 2];
        let total: f64 = tasks.iter().map(|&task| whole(task)).sum();
        let (mut told, mut now) = (Vec::new(), 0.0);
        for &of in &tasks {
            let began = now;
            while now - began < whole(of) - 1e-9 {
                now += 0.1;
                let run = at(of, whole(of), drain(of), 5e6, now - began);
                let found = eta.left_s(now, &[run], &tasks[of + 1..], 1);
                told.push((now, found, total - now, of));
            }
            eta.ended(of, whole(of), (whole(of) * 5e6) as u64);
        }
        told
    }

    #[test]
    fn the_drain_is_seen_and_five_times_the_events_are_learned() {
        for (now, found, truth, number) in told() {
            // From the second run of each transport on all is known.
            if number >= 2 && truth > 1.0 {
                let found = found.unwrap();
                assert!(
                    (0.7..1.4).contains(&(found / truth)),
                    "at {now}: {found} instead of {truth}"
                );
            }
        }
    }

    #[test]
    fn a_run_that_drains_is_never_said_to_be_done() {
        // The only run of its kind, with nothing learned: told by the flows that are open.
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
    fn what_is_told_counts_down() {
        let told = told().into_iter();
        let told: Vec<_> = told.filter(|of| of.3 >= 2 && of.2 > 1.0).collect();
        let rises = told
            .windows(2)
            .filter(|pair| pair[1].1.unwrap() > pair[0].1.unwrap() + 1e-9);
        assert!(rises.count() <= 2, "of {} ticks", told.len());
    }

    #[test]
    fn another_point_is_scaled_by_what_it_is_offered() {
        let new = || Eta::new(vec![1e6, 4e6], vec![(0, 0), (1, 0)]);
        let mut eta = new();
        eta.ended(0, 3.0, 1_000_000);
        assert_eq!(eta.left_s(3.0, &[], &[1], 1), Some(12.0));
        // Nothing known, nothing told.
        assert_eq!(new().left_s(1.0, &[], &[1], 1), None);
    }

    #[test]
    fn what_runs_side_by_side_takes_as_long_as_the_longest() {
        let mut eta = Eta::new(vec![0.0], vec![(0, 0); 4]);
        eta.ended(0, 8.0, 1_000);
        assert_eq!(eta.left_s(8.0, &[], &[1], 4), Some(8.0));
        assert_eq!(eta.left_s(8.1, &[], &[1, 2, 3], 2), Some(12.0));
    }
}
