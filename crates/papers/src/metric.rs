//! What an experiment can measure: names, units, and values at one point or read off the axis.

mod pick;

use super::sums::Sums;
use pick::Pick;

/// A metric that has a rank.
type Ranked = fn(Rank) -> Metric;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Deadline flows met / all measured deadline flows, %.
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
    /// Deadline flows with at least one such denial, %.
    InvertedFlows,
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
            ("inverted-flows", Self::InvertedFlows),
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
        let mut all = Self::all().into_iter();
        all.find(|(of, _)| of == name).map(|(_, metric)| metric)
    }

    /// Its first name.
    pub fn name(self) -> String {
        let mut all = Self::all().into_iter();
        let found = all.find(|(_, metric)| *metric == self);
        found.map_or_else(String::new, |(name, _)| name)
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
            Self::InvertedFlows => "flows with a priority inversion".to_owned(),
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
            Self::InvertedFlows => of.ratio(|g| g.inverted, |g| g.deadline_flows),
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

#[cfg(test)]
mod tests;
