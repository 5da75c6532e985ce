//! What an experiment can measure: names, units, and how a value comes from the sums of some seeds.

use duetime_results::Class;

use super::spread::{Pooled, Spread};
use super::sums::{GroupSums, LinkSums, Sums};

/// A metric that has a rank.
type Ranked = fn(Rank) -> Metric;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Deadline flows met / all counted deadline flows, %.
    ApplicationThroughput,
    /// The rest, %.
    Missed,
    /// The largest axis value up to which application throughput reaches so many %, in the axis' unit.
    Capacity(u32),
    /// The smallest axis value from which on at most 5 % are missed, in the axis' unit.
    Tightest,
    /// Mean over flows of bytes delivered per active time, Mbps.
    Goodput,
    /// The same over that of scheme `tcp`, %.
    GoodputRelative,
    /// Completion time, ms.
    Completion(Rank),
    /// Flows that took 200 ms or never finished, %.
    SlowShare,
    /// By how much late flows are late, % of the time allowed.
    Overshoot(Rank),
    /// Completion over time allowed.
    Allowed(Rank),
    /// Samples of the sampled links' queues, KB.
    Queue(Rank),
    /// Samples of the sampled links' throughput, Mbps.
    Throughput(Rank),
    /// Of the busiest link, %.
    Utilisation,
    /// Packets dropped per run.
    Drops,
    /// Flows with a retransmission timeout, %.
    Timeouts,
    /// Of denied D3 requests, those denied while a later deadline held more, %.
    DeniedInversions,
    /// Denied D3 requests, %.
    Denied,
    /// Mean share of a query's answers in time, %.
    QueryCompleteness,
}

/// A mean or a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rank {
    /// The mean.
    Mean,
    /// So many per cent.
    Percent(u32),
}

/// The percentiles that have a name.
const PERCENTS: [u32; 6] = [1, 5, 50, 90, 95, 99];

impl Metric {
    /// Every metric by its name.
    pub fn all() -> Vec<(String, Self)> {
        let mut all: Vec<(String, Self)> = [
            ("application-throughput", Self::ApplicationThroughput),
            ("missed", Self::Missed),
            ("n95", Self::Capacity(95)),
            ("n99", Self::Capacity(99)),
            ("max-rate", Self::Capacity(99)),
            ("tightest", Self::Tightest),
            ("goodput", Self::Goodput),
            ("background-goodput", Self::Goodput),
            ("goodput-by-class", Self::Goodput),
            ("goodput-relative", Self::GoodputRelative),
            ("slow-share", Self::SlowShare),
            ("queue-median", Self::Queue(Rank::Percent(50))),
            ("utilisation", Self::Utilisation),
            ("drops", Self::Drops),
            ("timeouts", Self::Timeouts),
            ("denied-inversions", Self::DeniedInversions),
            ("denied", Self::Denied),
            ("query-completeness", Self::QueryCompleteness),
        ]
        .into_iter()
        .map(|(name, metric)| (name.to_owned(), metric))
        .collect();
        let ranked: [(&str, Ranked); 6] = [
            ("fct", Self::Completion),
            ("overshoot", Self::Overshoot),
            ("allowed", Self::Allowed),
            ("latency-to-allowed", Self::Allowed),
            ("queue", Self::Queue),
            ("throughput", Self::Throughput),
        ];
        for (name, metric) in ranked {
            all.push((format!("{name}-mean"), metric(Rank::Mean)));
            let ranks = PERCENTS
                .map(|percent| (format!("{name}-p{percent}"), metric(Rank::Percent(percent))));
            all.extend(ranks);
        }
        all
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = Self::all().into_iter();
        all.filter(|(of, _)| of == name)
            .map(|(_, metric)| metric)
            .next()
    }

    /// Its first name.
    pub fn name(self) -> String {
        let all = Self::all().into_iter();
        all.filter(|(_, metric)| *metric == self)
            .map(|(name, _)| name)
            .next()
            .unwrap_or_default()
    }

    /// Its unit; none where it is that of the axis.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Self::Capacity(_) | Self::Tightest => None,
            Self::Goodput | Self::Throughput(_) => Some("Mbps"),
            Self::Completion(_) => Some("ms"),
            Self::Allowed(_) => Some("ratio"),
            Self::Queue(_) => Some("KB"),
            Self::Drops => Some("packets"),
            _ => Some("%"),
        }
    }

    /// What an axis of it says.
    pub fn label(self) -> String {
        let ranked = |what: &str, rank: Rank| match rank {
            Rank::Mean => format!("mean {what}"),
            Rank::Percent(percent) => format!("{what}, p{percent}"),
        };
        match self {
            Self::ApplicationThroughput => "application throughput".to_owned(),
            Self::Missed => "missed deadlines".to_owned(),
            Self::Capacity(percent) => format!("most with {percent} % in time"),
            Self::Tightest => "tightest with 5 % missed".to_owned(),
            Self::Goodput => "mean goodput".to_owned(),
            Self::GoodputRelative => "goodput over TCP's".to_owned(),
            Self::Completion(rank) => ranked("completion time", rank),
            Self::SlowShare => "flows of 200 ms and more".to_owned(),
            Self::Overshoot(rank) => ranked("lateness of late flows", rank),
            Self::Allowed(rank) => ranked("completion / time allowed", rank),
            Self::Queue(rank) => ranked("queue", rank),
            Self::Throughput(rank) => ranked("throughput", rank),
            Self::Utilisation => "utilisation".to_owned(),
            Self::Drops => "drops".to_owned(),
            Self::Timeouts => "flows with a timeout".to_owned(),
            Self::DeniedInversions => "inverted denials".to_owned(),
            Self::Denied => "denied requests".to_owned(),
            Self::QueryCompleteness => "answers in time per query".to_owned(),
        }
    }

    /// Whether it has one value per panel and scheme, read off the whole axis.
    pub fn reads_the_axis(self) -> bool {
        matches!(self, Self::Capacity(_) | Self::Tightest)
    }

    /// Its value at one point, over these seeds; of one workload or of all that it concerns. `None` where there is
    /// none, as for a percentile among unfinished flows.
    pub fn at(self, seeds: &[&Sums], workload: Option<u16>) -> Option<f64> {
        let of = Pick { seeds, workload };
        match self {
            Self::ApplicationThroughput => of.ratio(|g| g.met, |g| g.deadline_flows),
            Self::Missed => of.ratio(|g| g.deadline_flows - g.met, |g| g.deadline_flows),
            Self::Capacity(_) | Self::Tightest | Self::GoodputRelative => None,
            Self::Goodput => of.goodput(),
            Self::Completion(rank) => of.completion(rank),
            Self::SlowShare => of.ratio(|g| g.slow, |g| g.finite),
            Self::Overshoot(rank) => of.overshoot(rank),
            Self::Allowed(rank) => of.allowed(rank),
            Self::Queue(rank) => of.queue(rank),
            Self::Throughput(rank) => of.throughput(rank),
            Self::Utilisation => of.mean(|sums| Some(sums.utilisation * 100.0)),
            Self::Drops => of.mean(|sums| Some(sums.drops as f64)),
            Self::Timeouts => of.ratio(|g| g.timeouts, |g| g.finite),
            Self::DeniedInversions => of.ratio(|g| g.requests.2, |g| g.requests.1),
            Self::Denied => of.ratio(|g| g.requests.1, |g| g.requests.0),
            Self::QueryCompleteness => of.completeness(),
        }
    }

    /// Its value read off the axis: `points` are the seeds at each value, by place.
    pub fn along(self, points: &[(f64, Vec<&Sums>)], workload: Option<u16>) -> Option<f64> {
        let reaches = |seeds: &[&Sums], percent: f64| {
            Self::ApplicationThroughput
                .at(seeds, workload)
                .is_some_and(|met| met >= percent - 1e-9)
        };
        let last = |reached: &mut dyn Iterator<Item = (f64, bool)>| {
            reached
                .take_while(|(_, reached)| *reached)
                .map(|(place, _)| place)
                .last()
        };
        let tested = |percent: f64| {
            points
                .iter()
                .map(move |(place, seeds)| (*place, reaches(seeds, percent)))
        };
        match self {
            _ if points.is_empty() => None,
            Self::Capacity(percent) => Some(last(&mut tested(f64::from(percent))).unwrap_or(0.0)),
            Self::Tightest => last(&mut tested(95.0).rev()),
            _ => None,
        }
    }
}

/// Some seeds, and one workload or all.
struct Pick<'a> {
    seeds: &'a [&'a Sums],
    workload: Option<u16>,
}

impl Pick<'_> {
    /// The groups of one seed that count: of the workload asked for, or all.
    fn groups<'s>(&self, sums: &'s Sums) -> impl Iterator<Item = &'s GroupSums> + Clone {
        let workload = self.workload;
        sums.groups
            .iter()
            .filter(move |group| workload.is_none_or(|of| of == group.workload))
    }

    /// The same, and of all workloads only those with deadlines, where there are any.
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

    /// 100 × part / whole, both summed over seeds.
    fn ratio(&self, part: fn(&GroupSums) -> u64, whole: fn(&GroupSums) -> u64) -> Option<f64> {
        let (mut parts, mut wholes) = (0, 0);
        for group in self.seeds.iter().flat_map(|sums| self.groups(sums)) {
            parts += part(group);
            wholes += whole(group);
        }
        (wholes > 0).then(|| 100.0 * parts as f64 / wholes as f64)
    }

    /// The mean over the seeds that have the value.
    fn mean(&self, value: impl Fn(&Sums) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.seeds.iter().filter_map(|sums| value(sums)).collect();
        duetime_results::stats::mean(&values)
    }

    fn goodput(&self) -> Option<f64> {
        let bulk = |group: &&GroupSums| {
            self.workload.is_some() || (group.deadline_flows == 0 && group.class != Class::Query)
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

    fn completion(&self, rank: Rank) -> Option<f64> {
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

    fn overshoot(&self, rank: Rank) -> Option<f64> {
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

    fn allowed(&self, rank: Rank) -> Option<f64> {
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

    fn queue(&self, rank: Rank) -> Option<f64> {
        let bytes = self.sampled(rank, |link| link.queue_bytes as f64, |link| &link.queue)?;
        Some(bytes * 1e-3)
    }

    fn throughput(&self, rank: Rank) -> Option<f64> {
        let bps = self.sampled(
            rank,
            |link| link.sent_bytes as f64 * 8.0 / link.every_s,
            |link| &link.throughput_bps,
        )?;
        Some(bps * 1e-6)
    }

    fn completeness(&self) -> Option<f64> {
        let (mut queries, mut in_time) = (0, 0.0);
        let rows = self.seeds.iter().flat_map(|sums| &sums.queries);
        for &(workload, number, share) in rows {
            if self.workload.is_none_or(|of| of == workload) {
                queries += number;
                in_time += share;
            }
        }
        (queries > 0).then(|| 100.0 * in_time / queries as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One seed of ten deadline flows.
    fn seed(met: u64) -> Sums {
        let group = GroupSums {
            workload: 0,
            class: Class::Flow,
            finite: 10,
            finished: 10,
            deadline_flows: 10,
            met,
            late: 10 - met,
            overshoot: 0.25 * (10 - met) as f64,
            timeouts: 1,
            slow: 0,
            requests: (20, 8, 2),
            completion_mean_s: Some(0.01),
            goodput_mean: Some(1e6),
            completion_s: Spread::of([0.01; 10]),
            allowed: Spread::of((0..10).map(|i| if i < met { 0.5 } else { 1.25 })),
        };
        Sums {
            groups: vec![group],
            ..Sums::default()
        }
    }

    #[test]
    fn every_name_is_one_metric_and_has_a_way_back() {
        for (name, metric) in Metric::all() {
            assert_eq!(Metric::named(&name), Some(metric), "{name}");
            assert_eq!(Metric::named(&metric.name()), Some(metric), "{name}");
        }
        assert_eq!(Metric::named("throughputs"), None);
    }

    #[test]
    fn shares_are_pooled_over_seeds() {
        let (a, b) = (seed(10), seed(5));
        let seeds = [&a, &b];
        let at = |metric: Metric| metric.at(&seeds, None);
        assert_eq!(at(Metric::ApplicationThroughput), Some(75.0));
        assert_eq!(at(Metric::Missed), Some(25.0));
        assert_eq!(at(Metric::Overshoot(Rank::Mean)), Some(25.0));
        assert_eq!(at(Metric::DeniedInversions), Some(25.0));
        assert_eq!(at(Metric::Timeouts), Some(10.0));
        assert_eq!(at(Metric::Goodput), None);
        assert_eq!(Metric::Goodput.at(&seeds, Some(0)), Some(8.0));
        assert_eq!(Metric::Missed.at(&seeds, Some(1)), None);
        let p95 = at(Metric::Overshoot(Rank::Percent(95))).unwrap();
        assert!((p95 - 25.0).abs() < 0.5, "{p95}");
    }

    #[test]
    fn capacity_is_read_up_to_the_first_failure() {
        let (good, bad) = (seed(10), seed(5));
        let points = |seeds: [&'static str; 4]| -> Vec<bool> {
            seeds.iter().map(|of| *of == "good").collect()
        };
        let along = |metric: Metric, of: [&'static str; 4]| {
            let points: Vec<(f64, Vec<&Sums>)> = points(of)
                .into_iter()
                .zip([5.0, 10.0, 15.0, 20.0])
                .map(|(ok, place)| (place, vec![if ok { &good } else { &bad }]))
                .collect();
            metric.along(&points, None)
        };
        let n99 = Metric::Capacity(99);
        assert_eq!(along(n99, ["good", "good", "bad", "good"]), Some(10.0));
        assert_eq!(along(n99, ["bad", "good", "good", "good"]), Some(0.0));
        let tightest = Metric::Tightest;
        assert_eq!(along(tightest, ["bad", "good", "bad", "good"]), Some(20.0));
        assert_eq!(along(tightest, ["good", "good", "good", "bad"]), None);
    }
}
