//! Metrics: names, units, and values at one point or over the whole axis.

mod pick;

use super::sums::Sums;
use pick::Pick;

/// Constructor of a metric with a rank.
type Ranked = fn(Rank) -> Metric;

/// A metric of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Deadline flows that met their deadline, in % of all measured deadline flows.
    ApplicationThroughput,
    /// Deadline flows that missed their deadline, in %.
    Missed,
    /// Largest axis value up to which application throughput reaches this percentage, in the axis' unit.
    Capacity(u32),
    /// Smallest axis value from which upwards at most 5 % of the deadlines are missed, in the axis' unit.
    Tightest,
    /// Mean over flows of bytes delivered per active time, in Mbps.
    Goodput,
    /// Goodput in % of that of scheme `tcp`.
    GoodputRelative,
    /// Completion time in milliseconds.
    Completion(Rank),
    /// Flows that took 200 ms or more, or never finished, in %.
    SlowShare,
    /// Lateness of late flows, in % of the time allowed.
    Overshoot(Rank),
    /// Completion time over time allowed.
    Allowed(Rank),
    /// Queue of the sampled links in KB.
    Queue(Rank),
    /// Largest queue of any port in any seed, in KB.
    QueueMax,
    /// Throughput of the sampled links in Mbps.
    Throughput(Rank),
    /// Utilisation of the busiest link, in %.
    Utilisation,
    /// Packets dropped per run.
    Drops,
    /// Flows with a retransmission timeout, in %.
    Timeouts,
    /// Denied D3 requests for which a flow with a later deadline held more, in %.
    DeniedInversions,
    /// Deadline flows with at least one such denial, in %.
    InvertedFlows,
    /// Denied D3 requests, in %.
    Denied,
    /// Mean share of a query's answers in time, in %.
    QueryCompleteness,
    /// Queries that were late, in %.
    QueriesMissed,
}

/// A mean or a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rank {
    /// Mean.
    Mean,
    /// Percentile, from 1 to 99.
    Percent(u32),
}

/// Percentiles with named metrics.
const PERCENTS: [u32; 6] = [1, 5, 50, 90, 95, 99];

impl Metric {
    /// Returns all names of metrics; some metrics have several.
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
            ("queries-missed", Self::QueriesMissed),
            ("queue-max", Self::QueueMax),
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

    /// Returns the metric of this name, or `None` if it does not exist.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|(known, _)| known == name)
            .map(|(_, metric)| metric)
    }

    /// Returns the metric's first name.
    pub fn name(self) -> String {
        let mut all = Self::all().into_iter();
        let found = all.find(|(_, metric)| *metric == self);
        found.map_or_else(String::new, |(name, _)| name)
    }

    /// Returns the metric's unit, or `None` if it is the unit of the axis.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Self::Capacity(_) | Self::Tightest => None,
            Self::Goodput | Self::Throughput(_) => Some("Mbps"),
            Self::Completion(_) => Some("ms"),
            Self::Allowed(_) => Some("ratio"),
            Self::Queue(_) | Self::QueueMax => Some("KB"),
            Self::Drops => Some("packets"),
            _ => Some("%"),
        }
    }

    /// Returns the label of an axis with this metric.
    pub fn label(self) -> String {
        let ranked = |quantity: &str, rank: Rank| match rank {
            Rank::Mean => format!("mean {quantity}"),
            Rank::Percent(percent) => format!("{quantity}, p{percent}"),
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
            Self::QueriesMissed => "late queries".to_owned(),
            Self::QueueMax => "largest queue".to_owned(),
        }
    }

    /// Returns true if the metric has one value per panel and scheme, read from the whole axis.
    pub fn spans_axis(self) -> bool {
        self.reaches().is_some()
    }

    /// Returns the percentage of application throughput that a metric of the whole axis looks for, and true if it looks
    /// from the smallest axis value upwards. `None` for other metrics.
    pub fn reaches(self) -> Option<(f64, bool)> {
        match self {
            Self::Capacity(percent) => Some((f64::from(percent), true)),
            Self::Tightest => Some((95.0, false)),
            _ => None,
        }
    }

    /// Returns the value at one point over `seeds`, of one workload or of all to which the metric applies. Returns
    /// `None` if it has no value, such as a percentile that falls among unfinished flows.
    pub fn at(self, seeds: &[&Sums], workload: Option<u16>) -> Option<f64> {
        let pick = Pick { seeds, workload };
        match self {
            Self::ApplicationThroughput => pick.ratio(|g| g.met, |g| g.deadline_flows),
            Self::Missed => pick.ratio(|g| g.deadline_flows - g.met, |g| g.deadline_flows),
            Self::Capacity(_) | Self::Tightest | Self::GoodputRelative => None,
            Self::Goodput => pick.goodput(),
            Self::Completion(rank) => pick.completion(rank),
            Self::SlowShare => pick.ratio(|g| g.slow, |g| g.finite),
            Self::Overshoot(rank) => pick.overshoot(rank),
            Self::Allowed(rank) => pick.allowed(rank),
            Self::Queue(rank) => pick.queue(rank),
            Self::Throughput(rank) => pick.throughput(rank),
            Self::Utilisation => pick.mean(|sums| Some(sums.utilisation * 100.0)),
            Self::Drops => pick.mean(|sums| Some(sums.drops as f64)),
            Self::Timeouts => pick.ratio(|g| g.timeouts, |g| g.finite),
            Self::DeniedInversions => pick.ratio(|g| g.requests.2, |g| g.requests.1),
            Self::InvertedFlows => pick.ratio(|g| g.inverted, |g| g.deadline_flows),
            Self::Denied => pick.ratio(|g| g.requests.1, |g| g.requests.0),
            Self::QueryCompleteness => pick.completeness(),
            Self::QueriesMissed => pick.queries_missed(),
            Self::QueueMax => pick.queue_max(),
        }
    }

    /// Returns the value read from the axis. `points` are the axis values with their seeds, in increasing order.
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
        let (percent, upwards) = self.reaches()?;
        let points = points.iter();
        let mut tested = points.map(|(place, seeds)| (*place, reaches(seeds, percent)));
        match (tested.len(), upwards) {
            (0, _) => None,
            (_, true) => Some(last(&mut tested).unwrap_or(0.0)),
            (_, false) => last(&mut tested.rev()),
        }
    }
}

#[cfg(test)]
mod tests;
