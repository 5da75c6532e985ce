//! Computation of metric values from the sums of several seeds.

use duetime_results::Class;

use super::super::spread::{Pooled, Spread};
use super::super::sums::{GroupSums, LinkSums, QuerySums, Sums};
use super::Rank;

/// Selected seeds, and one workload or all.
pub(super) struct Pick<'a> {
    pub seeds: &'a [&'a Sums],
    pub workload: Option<u16>,
}

impl Pick<'_> {
    /// Returns the groups of the selected workload, or all, of one seed.
    fn groups<'s>(&self, sums: &'s Sums) -> impl Iterator<Item = &'s GroupSums> + Clone {
        let workload = self.workload;
        sums.groups
            .iter()
            .filter(move |group| workload.is_none_or(|selected| selected == group.workload))
    }

    /// Returns the groups of all seeds. If no workload is selected and some groups have deadlines, returns only those.
    fn timed(&self) -> Vec<&GroupSums> {
        let all: Vec<&GroupSums> = self
            .seeds
            .iter()
            .flat_map(|sums| self.groups(sums))
            .collect();
        if self.workload.is_some() || all.iter().all(|group| group.deadline_flows == 0) {
            return all;
        }
        all.into_iter()
            .filter(|group| group.deadline_flows > 0)
            .collect()
    }

    /// Returns 100 × part / whole, both summed over seeds.
    pub fn ratio(&self, part: fn(&GroupSums) -> u64, whole: fn(&GroupSums) -> u64) -> Option<f64> {
        let (mut parts, mut wholes) = (0, 0);
        for group in self.seeds.iter().flat_map(|sums| self.groups(sums)) {
            parts += part(group);
            wholes += whole(group);
        }
        (wholes > 0).then(|| 100.0 * parts as f64 / wholes as f64)
    }

    /// Returns the mean over the seeds that have the value.
    pub fn mean(&self, value: impl Fn(&Sums) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.seeds.iter().filter_map(|sums| value(sums)).collect();
        duetime_results::stats::mean(&values)
    }

    pub fn goodput(&self) -> Option<f64> {
        let bulk = |group: &&GroupSums| {
            self.workload.is_some()
                || (group.deadline_flows == 0
                    && !matches!(group.class, Class::Query | Class::Cancel))
        };
        self.mean(|sums| {
            let goodputs: Vec<f64> = self
                .groups(sums)
                .filter(bulk)
                .filter_map(|group| group.goodput_mean)
                .collect();
            Some(duetime_results::stats::mean(&goodputs)? * 8e-6)
        })
    }

    pub fn completion(&self, rank: Rank) -> Option<f64> {
        let groups = self.timed();
        match rank {
            Rank::Mean => {
                let finished: u64 = groups.iter().map(|group| group.finished).sum();
                let sum: f64 = groups
                    .iter()
                    .filter_map(|group| Some(group.completion_mean_s? * group.finished as f64))
                    .sum();
                (finished > 0).then(|| sum / finished as f64 * 1e3)
            }
            Rank::Percent(percent) => {
                let all = groups.iter().map(|group| group.finite).sum();
                let pooled = Pooled::of(groups.iter().map(|group| &group.completion_s));
                Some(pooled.percentile(percent * 10, all)? * 1e3)
            }
        }
    }

    pub fn overshoot(&self, rank: Rank) -> Option<f64> {
        let groups = self.timed();
        let late: u64 = groups.iter().map(|group| group.late).sum();
        match rank {
            _ if late == 0 => None,
            Rank::Mean => {
                let sum: f64 = groups.iter().map(|group| group.overshoot).sum();
                Some(100.0 * sum / late as f64)
            }
            Rank::Percent(percent) => {
                let pooled = Pooled::of(groups.iter().map(|group| &group.allowed)).at_least(1.0);
                let all = pooled.count();
                Some(100.0 * (pooled.percentile(percent * 10, all)? - 1.0))
            }
        }
    }

    pub fn allowed(&self, rank: Rank) -> Option<f64> {
        let groups = self.timed();
        let all = groups.iter().map(|group| group.deadline_flows).sum();
        let pooled = Pooled::of(groups.iter().map(|group| &group.allowed));
        match rank {
            Rank::Percent(percent) => pooled.percentile(percent * 10, all),
            Rank::Mean => None,
        }
    }

    fn links(&self) -> impl Iterator<Item = &LinkSums> + Clone {
        self.seeds.iter().flat_map(|sums| &sums.links)
    }

    fn sampled(
        &self,
        rank: Rank,
        total: impl Fn(&LinkSums) -> f64,
        spread: impl Fn(&LinkSums) -> &Spread + Clone,
    ) -> Option<f64> {
        let samples: u64 = self.links().map(|link| link.samples).sum();
        match rank {
            _ if samples == 0 => None,
            Rank::Mean => Some(self.links().map(total).sum::<f64>() / samples as f64),
            Rank::Percent(percent) => {
                Pooled::of(self.links().map(spread)).percentile(percent * 10, samples)
            }
        }
    }

    pub fn queue(&self, rank: Rank) -> Option<f64> {
        let bytes = self.sampled(rank, |link| link.queue_bytes as f64, |link| &link.queue)?;
        Some(bytes * 1e-3)
    }

    pub fn throughput(&self, rank: Rank) -> Option<f64> {
        let bps = self.sampled(
            rank,
            |link| link.sent_bytes as f64 * 8.0 / link.every_s,
            |link| &link.throughput_bps,
        )?;
        Some(bps * 1e-6)
    }

    pub fn completeness(&self) -> Option<f64> {
        let queries: u64 = self.queries().map(|sums| sums.queries).sum();
        let in_time: f64 = self.queries().map(|sums| sums.in_time).sum();
        (queries > 0).then(|| 100.0 * in_time / queries as f64)
    }

    /// Returns the percentage of judged queries that were late.
    pub fn queries_missed(&self) -> Option<f64> {
        let judged: u64 = self.queries().map(|sums| sums.judged).sum();
        let met: u64 = self.queries().map(|sums| sums.met).sum();
        (judged > 0).then(|| 100.0 * (judged - met) as f64 / judged as f64)
    }

    fn queries(&self) -> impl Iterator<Item = &QuerySums> {
        let all = self.seeds.iter().flat_map(|sums| &sums.queries);
        all.filter(|sums| {
            self.workload
                .is_none_or(|selected| selected == sums.workload)
        })
    }

    /// Returns the largest queue of any port in any seed, in KB.
    pub fn queue_max(&self) -> Option<f64> {
        let largest = self.seeds.iter().filter_map(|sums| sums.queue_max_bytes);
        Some(largest.max()? as f64 * 1e-3)
    }
}
