//! Differences between two transports, paired by run.

use super::{GroupSamples, Percentiles, RunSummary, keys, missed_of, ratio};
use crate::pool::{PER_MILLE, Pool, Samples};
use crate::{Class, Estimate};
use serde::Serialize;

type Pick = fn(&GroupSamples) -> &Samples;

/// Differences between a transport and a baseline with the same seeds: the transport's value minus the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the transport.
    pub transport: String,
    /// Name of the baseline.
    pub baseline: String,
    /// Share of deadline flows that missed their deadline, over all workloads.
    pub missed: Option<Estimate>,
    /// Differences by workload and class.
    pub groups: Vec<GroupComparison>,
}

/// Differences of one workload and class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupComparison {
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// Share of deadline flows that missed their deadline.
    pub missed: Option<Estimate>,
    /// Completion time in seconds.
    pub completion_s: Percentiles<Option<Estimate>>,
    /// Goodput in bytes per second, per flow.
    pub goodput_bytes_per_s: Percentiles<Option<Estimate>>,
}

impl Comparison {
    /// Compares the runs of two transports, paired by the index of the run. Runs without a partner are ignored.
    pub fn of(ours: (&str, &[RunSummary]), baseline: (&str, &[RunSummary])) -> Self {
        let pairs: Vec<(&RunSummary, &RunSummary)> = ours
            .1
            .iter()
            .filter_map(|run| Some((run, baseline.1.iter().find(|other| other.run == run.run)?)))
            .collect();
        let left: Vec<RunSummary> = pairs.iter().map(|pair| pair.0.clone()).collect();
        let right: Vec<RunSummary> = pairs.iter().map(|pair| pair.1.clone()).collect();
        let difference = |statistic: &dyn Fn(&[&RunSummary]) -> Option<f64>| {
            Estimate::of_difference(&left, &right, statistic)
        };
        let groups = keys(&left).into_iter().map(|key| {
            let pool = |runs: &[RunSummary], pick: Pick| {
                Pool::of(runs.iter().map(|run| Some(pick(&run.group(key)?.samples))))
            };
            let percentiles = |pick: Pick| {
                let (ours, theirs) = (pool(&left, pick), pool(&right, pick));
                Percentiles::from_fn(|field| ours.difference(&theirs, field(&PER_MILLE)))
            };
            GroupComparison {
                workload: key.0,
                class: key.1,
                missed: difference(&|drawn| missed_of(drawn, key)),
                completion_s: percentiles(|samples| &samples.completion),
                goodput_bytes_per_s: percentiles(|samples| &samples.goodput),
            }
        });
        Self {
            transport: ours.0.to_owned(),
            baseline: baseline.0.to_owned(),
            missed: difference(&|drawn| {
                ratio(drawn, |run| {
                    (run.deadline_flows() - run.met(), run.deadline_flows())
                })
            }),
            groups: groups.collect(),
        }
    }
}
