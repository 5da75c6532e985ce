//! Measures of two sets of runs that share their seeds, and their paired differences.

use super::{GroupSummary, Key, QuerySummary, RunSummary, keys, mean_of, ratio, total};
use crate::pool::{Pool, Samples};
use crate::{Class, Estimate};
use std::collections::BTreeSet;

/// Subject of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Queries of a workload.
    Queries(u16),
    /// Flows of a workload and class.
    Flows(u16, Class),
    /// Network.
    Network,
}

/// Measure of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Share of queries in time among those that can be late, pooled over runs.
    QueriesInTime,
    /// Share of the required answers that arrived by their deadlines, pooled over runs.
    AnswersInTime,
    /// Share of deadline flows that missed their deadline, pooled over runs.
    Missed,
    /// Mean completion time in seconds, over the finished queries or flows of all runs.
    CompletionMean,
    /// Median of the completion times of all runs in seconds.
    CompletionP50,
    /// 99th percentile of the completion times of all runs in seconds.
    CompletionP99,
    /// Mean goodput of the flows of all runs in bytes per second.
    Goodput,
    /// Retransmission timeouts per flow, pooled over runs.
    Timeouts,
    /// Utilisation of the busiest link, in [0, 1].
    Utilisation,
    /// Packets dropped because a buffer was full, per run.
    Drops,
    /// Packets marked, per run.
    Marks,
    /// Largest queue of any port in bytes.
    LargestQueue,
}

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Share, in [0, 1].
    Share,
    /// Seconds.
    Seconds,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Count.
    Count,
}

/// A measure of both sets of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Value of the first runs, or `None` if it does not exist, such as a percentile of too few samples or among
    /// unfinished flows.
    pub first: Option<Estimate>,
    /// Value of the second runs.
    pub second: Option<Estimate>,
    /// Second minus first, with the interval of the pairs; `None` if either value is.
    pub difference: Option<Estimate>,
    /// Denominators of a share in both sets; `None` for other measures.
    pub of: Option<[u64; 2]>,
}

impl Measure {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueriesInTime => "in time",
            Self::AnswersInTime => "answers in time of those asked",
            Self::Missed => "missed",
            Self::CompletionMean => "completion mean",
            Self::CompletionP50 => "completion p50",
            Self::CompletionP99 => "completion p99",
            Self::Goodput => "goodput, mean",
            Self::Timeouts => "timeouts/flow",
            Self::Utilisation => "busiest link",
            Self::Drops => "drops",
            Self::Marks => "marks",
            Self::LargestQueue => "largest queue",
        }
    }

    /// Returns the unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::QueriesInTime | Self::AnswersInTime | Self::Missed | Self::Utilisation => {
                Unit::Share
            }
            Self::CompletionMean | Self::CompletionP50 | Self::CompletionP99 => Unit::Seconds,
            Self::Goodput => Unit::BytesPerSecond,
            Self::LargestQueue => Unit::Bytes,
            Self::Timeouts | Self::Drops | Self::Marks => Unit::Count,
        }
    }

    /// Returns the measures of a subject.
    fn all(subject: Subject) -> &'static [Self] {
        match subject {
            Subject::Queries(_) => &[
                Self::QueriesInTime,
                Self::AnswersInTime,
                Self::CompletionMean,
                Self::CompletionP50,
                Self::CompletionP99,
            ],
            Subject::Flows(..) => &[
                Self::Missed,
                Self::CompletionMean,
                Self::CompletionP50,
                Self::CompletionP99,
                Self::Goodput,
                Self::Timeouts,
            ],
            Subject::Network => &[
                Self::Utilisation,
                Self::Drops,
                Self::Marks,
                Self::LargestQueue,
            ],
        }
    }

    /// Returns numerator and denominator of a pooled share in one run.
    fn counts(self, subject: Subject, run: &RunSummary) -> Option<(u64, u64)> {
        let group = || flows_of(run, subject);
        let queries = || queries_of(run, subject);
        match self {
            Self::QueriesInTime => queries().map(|query| (query.met, query.judged)),
            Self::AnswersInTime => queries().map(|query| (query.answers_in_time, query.asked)),
            Self::Missed => {
                group().map(|flows| (flows.deadline_flows - flows.met, flows.deadline_flows))
            }
            Self::Timeouts => group().map(|group| (group.timeouts, group.flows)),
            _ => None,
        }
    }

    /// Returns the samples of a run for a mean or percentile.
    fn samples(self, subject: Subject, run: &RunSummary) -> Option<&Samples> {
        match (self, subject) {
            (Self::Goodput, _) => flows_of(run, subject).map(|flows| &flows.samples.goodput),
            (_, Subject::Queries(_)) => queries_of(run, subject).map(|queries| &queries.samples),
            _ => flows_of(run, subject).map(|flows| &flows.samples.completion),
        }
    }

    /// Returns the value of a network measure in one run.
    fn value(self, run: &RunSummary) -> f64 {
        let network = &run.network;
        match self {
            Self::Utilisation => network.utilisation,
            Self::Drops => network.drops as f64,
            Self::Marks => network.marks as f64,
            _ => network.queue_max_bytes as f64,
        }
    }

    fn is_percentile(self) -> bool {
        matches!(self, Self::CompletionP50 | Self::CompletionP99)
    }

    /// Returns the values of both sets of runs.
    fn paired(self, subject: Subject, first: &[RunSummary], second: &[RunSummary]) -> Paired {
        let pooled = |per_mille| {
            let pool =
                |runs: &[RunSummary]| Pool::of(runs.iter().map(|run| self.samples(subject, run)));
            let [first, second] = [pool(first), pool(second)];
            Paired {
                first: first.estimate(per_mille),
                second: second.estimate(per_mille),
                difference: second.difference(&first, per_mille),
                of: None,
            }
        };
        match self {
            Self::CompletionMean | Self::Goodput => pooled(None),
            Self::CompletionP50 => pooled(Some(500)),
            Self::CompletionP99 => pooled(Some(990)),
            Self::QueriesInTime | Self::AnswersInTime | Self::Missed | Self::Timeouts => {
                let counts = |run: &RunSummary| self.counts(subject, run).unwrap_or_default();
                Paired {
                    of: Some([first, second].map(|runs| total(runs, counts).1)),
                    ..Paired::of(first, second, |runs| ratio(runs, counts))
                }
            }
            Self::Utilisation | Self::Drops | Self::Marks | Self::LargestQueue => {
                Paired::of(first, second, |runs| {
                    mean_of(runs, |run| Some(self.value(run)))
                })
            }
        }
    }
}

fn queries_of(run: &RunSummary, subject: Subject) -> Option<&QuerySummary> {
    let Subject::Queries(workload) = subject else {
        return None;
    };
    super::queries_of(run, workload)
}

fn flows_of(run: &RunSummary, subject: Subject) -> Option<&GroupSummary> {
    let Subject::Flows(workload, class) = subject else {
        return None;
    };
    run.group((workload, class))
}

impl Paired {
    /// Computes a statistic of two sets of runs, where `first[i]` and `second[i]` share their seed.
    pub fn of<R>(
        first: &[R],
        second: &[R],
        statistic: impl Fn(&[&R]) -> Option<f64> + Copy,
    ) -> Self {
        Self {
            first: Estimate::of(first, statistic),
            second: Estimate::of(second, statistic),
            difference: Estimate::of_difference(second, first, statistic),
            of: None,
        }
    }
}

/// Returns all measures that exist in either set of runs: of queries and flows by workload, then of the network.
/// `first[i]` and `second[i]` must share their seed.
pub fn paired(first: &[RunSummary], second: &[RunSummary]) -> Vec<(Subject, Measure, Paired)> {
    let mut found = Vec::new();
    for subject in subjects(first, second) {
        for &measure in Measure::all(subject) {
            let pair = measure.paired(subject, first, second);
            // A percentile of too few samples is listed without a value if the mean is listed.
            let is_percentile = measure.is_percentile()
                && found
                    .iter()
                    .any(|(of, measure, _)| (*of, *measure) == (subject, Measure::CompletionMean));
            if pair.first.is_some() || pair.second.is_some() || is_percentile {
                found.push((subject, measure, pair));
            }
        }
    }
    found
}

fn subjects(first: &[RunSummary], second: &[RunSummary]) -> Vec<Subject> {
    let both = || first.iter().chain(second);
    let queries = both().flat_map(|run| run.queries.iter().map(|queries| queries.workload));
    let queries: BTreeSet<u16> = queries.collect();
    let flows: BTreeSet<Key> = keys(first).into_iter().chain(keys(second)).collect();
    let queries = queries.into_iter().map(Subject::Queries);
    let flows = flows
        .into_iter()
        .map(|(workload, class)| Subject::Flows(workload, class));
    queries.chain(flows).chain([Subject::Network]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    /// Returns runs of ten flows with a deadline of 30 ms. In run `i`, `met[i]` flows take 20 ms and the others 40 ms.
    fn runs(met: &[u64]) -> Vec<RunSummary> {
        let run = |(number, &met): (usize, &u64)| {
            let mut records = sample::records();
            let finish = |flow: u64| if flow < met { 20 } else { 40 };
            records.flows = (0..10)
                .map(|flow| sample::flow(flow, 0, Some(finish(flow)), Some(30)))
                .collect();
            RunSummary::of(number as u64, &records)
        };
        met.iter().enumerate().map(run).collect()
    }

    fn find(pairs: &[(Subject, Measure, Paired)], wanted: Measure) -> Paired {
        let flows = Subject::Flows(0, Class::Response);
        let found = pairs
            .iter()
            .find(|(subject, measure, _)| (*subject, *measure) == (flows, wanted));
        found.expect("a measure").2
    }

    #[test]
    fn paired_interval_by_hand() {
        // 1, 2 and 6 more of ten flows miss: 10, 20 and 60 points. The interval of three pairs is the range of their
        // differences.
        let pair = find(
            &paired(&runs(&[10, 4, 9]), &runs(&[9, 2, 3])),
            Measure::Missed,
        );
        let value = |estimate: Option<Estimate>| estimate.expect("a value").value;
        assert!((value(pair.first) - 7.0 / 30.0).abs() < 1e-12);
        assert!((value(pair.second) - 16.0 / 30.0).abs() < 1e-12);
        let difference = pair.difference.expect("a difference");
        assert!((difference.value - 0.3).abs() < 1e-12);
        let interval = difference.interval.expect("three pairs");
        assert!((interval.low - 0.1).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - 0.6).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn equal_runs_have_zero_difference() {
        let runs = runs(&[10, 4, 9, 7]);
        let all = paired(&runs, &runs);
        assert!(all.len() > 8, "{all:?}");
        for (subject, measure, pair) in all {
            let Some(difference) = pair.difference else {
                continue;
            };
            let interval = difference.interval.expect("four pairs");
            let zero = [difference.value, interval.low, interval.high];
            assert!(
                zero.iter().all(|value| *value == 0.0),
                "{subject:?} {measure:?} {zero:?}"
            );
        }
    }

    #[test]
    fn few_samples_have_no_percentile() {
        let pair = find(
            &paired(&runs(&[10, 4, 9]), &runs(&[9, 2, 3])),
            Measure::CompletionP99,
        );
        let all = [pair.first, pair.second, pair.difference];
        assert_eq!(all, [None; 3], "30 flows");
    }

    #[test]
    fn percentile_difference_uses_pools() {
        // 23 and 14 of thirty flows take 20 ms.
        let pair = find(
            &paired(&runs(&[10, 4, 9]), &runs(&[9, 2, 3])),
            Measure::CompletionP50,
        );
        let value = |estimate: Option<Estimate>| estimate.expect("a value").value;
        assert_eq!((value(pair.first), value(pair.second)), (0.02, 0.04));
        let difference = pair.difference.expect("a difference");
        assert!((difference.value - 0.02).abs() < 1e-12);
        let interval = difference.interval.expect("three pairs");
        // Drawing the second pair three times: both medians are 40 ms. The first pair three times: both are 20 ms.
        assert!(interval.low == 0.0 && (interval.high - 0.02).abs() < 1e-12);
    }
}
