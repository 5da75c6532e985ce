//! The same numbers of two sets of runs that share their seeds, and their differences, pair by pair.

use super::{GroupSummary, Key, QuerySummary, RunSummary, keys, mean_of, ratio, total};
use crate::pool::{Pool, Samples};
use crate::{Class, Estimate};
use std::collections::BTreeSet;

/// What a number is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A workload's queries.
    Queries(u16),
    /// A workload's flows of one class.
    Flows(u16, Class),
    /// The network.
    Network,
}

/// A number that runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Share of the judged queries that were in time, pooled over runs.
    QueriesInTime,
    /// Share of the answers asked for that arrived by their deadlines, pooled over runs.
    AnswersInTime,
    /// Share of the flows with deadlines that missed them, pooled over runs.
    Missed,
    /// Mean completion time in seconds, of the finished ones of all runs.
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
    /// Packets dropped for want of buffer, per run.
    Drops,
    /// Packets marked, per run.
    Marks,
    /// Largest queue of any port in bytes.
    LargestQueue,
}

/// What a measure's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In [0, 1].
    Share,
    /// Seconds.
    Seconds,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
}

/// A number on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Value of the first runs; `None` if they have none, such as a percentile of too few samples or among unfinished
    /// flows.
    pub first: Option<Estimate>,
    /// Of the second runs.
    pub second: Option<Estimate>,
    /// The second less the first, with the interval of the pairs; `None` where a side is.
    pub difference: Option<Estimate>,
    /// Of a share, what it is a share of on each side.
    pub of: Option<[u64; 2]>,
}

impl Measure {
    /// Its name in tables.
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

    /// What its numbers are.
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

    /// Those of a subject.
    fn all(of: Subject) -> &'static [Self] {
        match of {
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

    /// What it adds up to in a run of shares that are pooled: part and whole.
    fn counts(self, of: Subject, run: &RunSummary) -> Option<(u64, u64)> {
        let group = || flows_of(run, of);
        let queries = || queries_of(run, of);
        match self {
            Self::QueriesInTime => queries().map(|of| (of.met, of.judged)),
            Self::AnswersInTime => queries().map(|of| (of.answers_in_time, of.asked)),
            Self::Missed => group().map(|of| (of.deadline_flows - of.met, of.deadline_flows)),
            Self::Timeouts => group().map(|of| (of.timeouts, of.flows)),
            _ => None,
        }
    }

    /// The samples of a run that a mean or percentile is of.
    fn samples(self, of: Subject, run: &RunSummary) -> Option<&Samples> {
        match (self, of) {
            (Self::Goodput, _) => flows_of(run, of).map(|of| &of.samples.goodput),
            (_, Subject::Queries(_)) => queries_of(run, of).map(|of| &of.samples),
            _ => flows_of(run, of).map(|of| &of.samples.completion),
        }
    }

    /// Its value in one run, of the numbers of the network.
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

    /// Its values on both sides.
    fn paired(self, of: Subject, first: &[RunSummary], second: &[RunSummary]) -> Paired {
        let pooled = |per_mille| {
            let pool = |runs: &[RunSummary]| Pool::of(runs.iter().map(|run| self.samples(of, run)));
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
                let counts = |run: &RunSummary| self.counts(of, run).unwrap_or_default();
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

fn queries_of(run: &RunSummary, of: Subject) -> Option<&QuerySummary> {
    let Subject::Queries(workload) = of else {
        return None;
    };
    super::queries_of(run, workload)
}

fn flows_of(run: &RunSummary, of: Subject) -> Option<&GroupSummary> {
    let Subject::Flows(workload, class) = of else {
        return None;
    };
    run.group((workload, class))
}

impl Paired {
    /// A statistic of runs where `first[i]` and `second[i]` share their seed.
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

/// All measures that a side has, of runs where `first[i]` and `second[i]` share their seed: those of queries and flows by
/// workload, then those of the network.
pub fn paired(first: &[RunSummary], second: &[RunSummary]) -> Vec<(Subject, Measure, Paired)> {
    let mut found = Vec::new();
    for of in subjects(first, second) {
        for &measure in Measure::all(of) {
            let pair = measure.paired(of, first, second);
            // A percentile of too few samples is listed, with the mean before it, and has no value.
            let is_percentile = measure.is_percentile()
                && found.iter().any(|(subject, measure, _)| {
                    (*subject, *measure) == (of, Measure::CompletionMean)
                });
            if pair.first.is_some() || pair.second.is_some() || is_percentile {
                found.push((of, measure, pair));
            }
        }
    }
    found
}

fn subjects(first: &[RunSummary], second: &[RunSummary]) -> Vec<Subject> {
    let both = || first.iter().chain(second);
    let queries = both().flat_map(|run| run.queries.iter().map(|of| of.workload));
    let queries: BTreeSet<u16> = queries.collect();
    let flows: BTreeSet<Key> = keys(first).into_iter().chain(keys(second)).collect();
    let queries = queries.into_iter().map(Subject::Queries);
    let flows = flows
        .into_iter()
        .map(|(of, class)| Subject::Flows(of, class));
    queries.chain(flows).chain([Subject::Network]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    /// Runs of ten flows with a deadline of 30 ms, of which `met[i]` take 20 ms and the others 40 ms.
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

    fn find(of: &[(Subject, Measure, Paired)], wanted: Measure) -> Paired {
        let flows = Subject::Flows(0, Class::Response);
        let found = of
            .iter()
            .find(|(of, measure, _)| (*of, *measure) == (flows, wanted));
        found.expect("a measure").2
    }

    #[test]
    fn a_paired_interval_by_hand() {
        // 1, 2 and 6 of ten flows more miss: 10, 20 and 60 points. Of three pairs the interval is the range of the
        // differences; unpaired, the runs overlap from 0 to 100 %.
        let pair = find(
            &paired(&runs(&[10, 4, 9]), &runs(&[9, 2, 3])),
            Measure::Missed,
        );
        let value = |of: Option<Estimate>| of.expect("a value").value;
        assert!((value(pair.first) - 7.0 / 30.0).abs() < 1e-12);
        assert!((value(pair.second) - 16.0 / 30.0).abs() < 1e-12);
        let difference = pair.difference.expect("a difference");
        assert!((difference.value - 0.3).abs() < 1e-12);
        let interval = difference.interval.expect("three pairs");
        assert!((interval.low - 0.1).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - 0.6).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn equal_runs_differ_by_nothing_for_certain() {
        let runs = runs(&[10, 4, 9, 7]);
        let all = paired(&runs, &runs);
        assert!(all.len() > 8, "{all:?}");
        for (of, measure, pair) in all {
            let Some(difference) = pair.difference else {
                continue;
            };
            let interval = difference.interval.expect("four pairs");
            let zero = [difference.value, interval.low, interval.high];
            assert!(
                zero.iter().all(|of| *of == 0.0),
                "{of:?} {measure:?} {zero:?}"
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
    fn percentiles_differ_by_their_pools() {
        // Of thirty flows, 23 and 14 take 20 ms; of each first and second pair 20 and 13, 8 and 4, 18 and 11.
        let pair = find(
            &paired(&runs(&[10, 4, 9]), &runs(&[9, 2, 3])),
            Measure::CompletionP50,
        );
        let value = |of: Option<Estimate>| of.expect("a value").value;
        assert_eq!((value(pair.first), value(pair.second)), (0.02, 0.04));
        let difference = pair.difference.expect("a difference");
        assert!((difference.value - 0.02).abs() < 1e-12);
        let interval = difference.interval.expect("three pairs");
        // Thrice the second pair: both take 40 ms. Thrice the first: both 20 ms.
        assert!(interval.low == 0.0 && (interval.high - 0.02).abs() < 1e-12);
    }
}
