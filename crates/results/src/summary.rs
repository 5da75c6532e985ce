//! Summaries of one run, and of all runs of a transport.
//!
//! - Only measured flows and queries count: those that start in [warm-up, duration).
//! - *Queries in time* are queries with enough leaf answers at the root within their budget, as a share of all measured
//!   queries that can be late, pooled over runs. The budget starts when the query arrives at the root. *Answers in
//!   time* arrived by their deadlines, as a share of all answers that the measured queries require, sent or not. *Leaf
//!   coverage* is the share of leaves whose answers reached the root in time.
//! - *Hedged* and *retried* are hedges and retries per leaf and query. *Added computations* are the computations
//!   started for them, per leaf and query. *Added answer bytes* are the delivered bytes of spare answers, as a share of
//!   those of all other answers. Spare answers, where another query to the leaf was answered first, count nowhere else.
//! - *Application throughput* is the share of measured deadline flows that met their deadline, pooled over runs. All
//!   others are *missed*: late, quenched, reset and unfinished flows.
//! - *Completion* percentiles include all measured queries, or all measured flows with an end. Unfinished ones count as
//!   later than all others, so a percentile that falls among them is absent. The mean includes only finished ones.
//! - *Slack* is deadline minus finish, negative if late. Its p99 is the slack that 99 % of the deadline flows had at
//!   least; absent if it falls among unfinished flows.
//! - *Goodput* is the bytes delivered in order per second while a flow is active, per flow. Its p99 is the goodput that
//!   99 % of the flows had at least. Quenched flows do not count, because their end does not show their rate.
//! - Percentiles, means and shares of several runs pool the samples of all runs ([`crate::pool`]). A percentile of
//!   fewer than 10 / (1 - p) samples is absent. Fairness and network values are means over runs. Intervals are those of
//!   [`crate::stats`].

mod comparison;
mod paired;
mod run;
mod servers;

pub use comparison::{Comparison, GroupComparison};
pub use paired::{Measure, Paired, Subject, Unit, paired};
pub use run::{
    GroupSamples, GroupSummary, NetworkSummary, QuerySummary, Reissues, RunSummary, SampledQueue,
};
pub use servers::{NamedHost, ServersEstimate, ServersSummary};

use crate::pool::{Pool, Samples};
use crate::{Class, Estimate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Mean and percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles<T> {
    /// Arithmetic mean.
    pub mean: T,
    /// Median.
    pub p50: T,
    /// 90th percentile.
    pub p90: T,
    /// 95th percentile.
    pub p95: T,
    /// 99th percentile.
    pub p99: T,
    /// 99.9th percentile.
    pub p999: T,
}

/// Summary of all runs of one transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the transport.
    pub transport: String,
    /// Number of runs.
    pub runs: u64,
    /// Queries of all workloads together; `None` if no query can be late.
    pub objective: Option<ObjectiveEstimate>,
    /// Deadline flows of all workloads together; `None` without any.
    pub deadlines: Option<DeadlineEstimate>,
    /// Flows, by workload and class.
    pub groups: Vec<GroupEstimate>,
    /// Queries, by workload.
    pub queries: Vec<QueryEstimate>,
    /// Network.
    pub network: NetworkEstimate,
    /// Servers of the hosts; `None` if they are unlimited or computed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersEstimate>,
}

/// Number and share of queries in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObjectiveEstimate {
    /// Measured queries that can be late, over all runs.
    pub queries: u64,
    /// Queries in time.
    pub met: u64,
    /// Share of queries in time, in [0, 1].
    pub in_time: Estimate,
}

/// Number and share of flows that met their deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeadlineEstimate {
    /// Measured flows with a deadline, over all runs.
    pub flows: u64,
    /// Flows that met their deadline.
    pub met: u64,
    /// Share of flows that met their deadline, in [0, 1].
    pub application_throughput: Estimate,
    /// Share of flows that missed their deadline, in [0, 1].
    pub missed: Estimate,
}

/// Flows of one workload and class, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupEstimate {
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// Measured flows, over all runs.
    pub flows: u64,
    /// Finished flows.
    pub finished: u64,
    /// Quenched flows.
    pub quenched: u64,
    /// Deadline flows; `None` without any.
    pub deadlines: Option<DeadlineEstimate>,
    /// Completion time in seconds.
    pub completion_s: Percentiles<Option<Estimate>>,
    /// Slack in seconds.
    pub slack_s: Percentiles<Option<Estimate>>,
    /// Goodput in bytes per second, per flow.
    pub goodput_bytes_per_s: Percentiles<Option<Estimate>>,
    /// Jain's index of the goodputs of long flows.
    pub fairness: Option<Estimate>,
    /// Retransmission timeouts per flow; this and the next two are `None` if no packets were counted.
    pub timeouts_per_flow: Option<Estimate>,
    /// Retransmitted segments per flow.
    pub retransmits_per_flow: Option<Estimate>,
    /// Marked data segments per flow.
    pub marks_per_flow: Option<Estimate>,
    /// D3: rate requests, over all runs.
    pub requests: u64,
    /// D3: denied rate requests, over all runs.
    pub denials: u64,
    /// D3: share of rate requests that were denied.
    pub denied_requests: Option<Estimate>,
    /// D3: share of denials that were priority inversions.
    pub inverted_denials: Option<Estimate>,
}

/// Queries of one workload, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryEstimate {
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Measured queries, over all runs.
    pub queries: u64,
    /// Mean share of a query's answers in time.
    pub in_time: Option<Estimate>,
    /// Share of queries without a single answer in time.
    pub no_answer: Option<Estimate>,
    /// Share of queries with less than 95 % of their answers in time.
    pub below_95: Option<Estimate>,
    /// Seconds from arrival until the root had enough leaf answers.
    pub completion_s: Percentiles<Option<Estimate>>,
    /// Queries in time; `None` if no query can be late.
    pub objective: Option<ObjectiveEstimate>,
    /// Answers required in all layers, over all runs.
    pub asked: u64,
    /// Share of the required answers that arrived by their deadlines.
    pub answers_in_time: Option<Estimate>,
    /// Leaves of all queries, over all runs.
    pub leaves: u64,
    /// Share of the leaves whose answers reached the root in time.
    pub leaf_coverage: Option<Estimate>,
    /// Aggregators that timed out waiting for their children, over all runs.
    pub gave_up: u64,
    /// Hedges and retries; `None` without any.
    pub again: Option<ReissuesEstimate>,
}

/// Hedges and retries, and their cost, over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReissuesEstimate {
    /// Counts over all runs.
    pub counts: Reissues,
    /// Hedges per leaf and query.
    pub hedged: Option<Estimate>,
    /// Retries per leaf and query.
    pub retried: Option<Estimate>,
    /// Computations started for hedges and retries, per leaf and query.
    pub extra_computes: Option<Estimate>,
    /// Delivered bytes of spare answers, as a share of those of all other answers.
    pub extra_answer_bytes: Option<Estimate>,
}

/// Network, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkEstimate {
    /// Packets dropped because a buffer was full, per run.
    pub drops: Option<Estimate>,
    /// Packets lost by seeded loss, per run.
    pub losses: Option<Estimate>,
    /// Packets marked, per run.
    pub marks: Option<Estimate>,
    /// Largest queue of any port, per run, in bytes.
    pub queue_max_bytes: Option<Estimate>,
    /// Mean queue of the port with the largest queue, per run, in bytes.
    pub queue_mean_bytes: Option<Estimate>,
    /// Utilisation of the busiest link, in [0, 1].
    pub utilisation: Option<Estimate>,
    /// Link that was the busiest in most runs.
    pub busiest_link: Option<NamedLink>,
    /// Packets dropped at the port with the most drops, per run.
    pub most_drops: Option<Estimate>,
    /// Link that had the most drops in most runs; `None` without drops.
    pub most_drops_link: Option<NamedLink>,
}

/// Name of a link with an extreme value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedLink {
    /// `from->to`, by node names.
    pub link: String,
    /// Number of runs in which this link had the extreme value.
    pub runs: u64,
}

impl NamedLink {
    /// Returns the most frequent name, or the first of several. Empty names, from runs without such a link, are
    /// ignored.
    fn of<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut found: Vec<Self> = Vec::new();
        for name in names.filter(|name| !name.is_empty()) {
            match found.iter_mut().find(|named| named.link == name) {
                Some(named) => named.runs += 1,
                None => found.push(Self {
                    link: name.to_owned(),
                    runs: 1,
                }),
            }
        }
        let better = |best: Self, next: Self| if next.runs > best.runs { next } else { best };
        found.into_iter().reduce(better)
    }
}

type Key = (u16, Class);

impl Summary {
    /// Summarizes the runs of one transport.
    pub fn of(transport: &str, runs: &[RunSummary]) -> Self {
        let queries = runs.iter().flat_map(|run| &run.queries);
        let workloads: BTreeSet<u16> = queries.map(|query| query.workload).collect();
        Self {
            transport: transport.to_owned(),
            runs: runs.len() as u64,
            objective: ObjectiveEstimate::of(runs, RunSummary::queries_in_time),
            deadlines: DeadlineEstimate::of(runs, |run| (run.met(), run.deadline_flows())),
            groups: keys(runs)
                .into_iter()
                .map(|key| GroupEstimate::of(key, runs))
                .collect(),
            queries: workloads
                .into_iter()
                .map(|workload| QueryEstimate::of(workload, runs))
                .collect(),
            network: NetworkEstimate::of(runs),
            servers: ServersEstimate::of(runs),
        }
    }

    /// Returns the flows of one workload and class.
    pub fn group(&self, workload: u16, class: Class) -> Option<&GroupEstimate> {
        self.groups
            .iter()
            .find(|group| group.workload == workload && group.class == class)
    }
}

impl ObjectiveEstimate {
    fn of(runs: &[RunSummary], count: impl Fn(&RunSummary) -> (u64, u64)) -> Option<Self> {
        let (met, queries) = total(runs, &count);
        Some(Self {
            queries,
            met,
            in_time: Estimate::of(runs, |drawn| ratio(drawn, &count))?,
        })
    }
}

impl DeadlineEstimate {
    fn of(runs: &[RunSummary], count: impl Fn(&RunSummary) -> (u64, u64)) -> Option<Self> {
        let (met, flows) = total(runs, &count);
        Some(Self {
            flows,
            met,
            application_throughput: Estimate::of(runs, |drawn| ratio(drawn, &count))?,
            missed: Estimate::of(runs, |drawn| {
                ratio(drawn, |run| {
                    let (met, all) = count(run);
                    (all - met, all)
                })
            })?,
        })
    }
}

impl GroupEstimate {
    fn of(key: Key, runs: &[RunSummary]) -> Self {
        let total = |pick: fn(&GroupSummary) -> u64| {
            runs.iter()
                .filter_map(|run| run.group(key))
                .map(pick)
                .sum::<u64>()
        };
        let counts = |part: fn(&GroupSummary) -> u64, whole: fn(&GroupSummary) -> u64| {
            move |run: &RunSummary| {
                let group = run.group(key);
                group.map_or((0, 0), |group| (part(group), whole(group)))
            }
        };
        let share = |part, whole| Estimate::of(runs, |drawn| ratio(drawn, counts(part, whole)));
        let counts_packets = count_packets(runs);
        let per_flow = |part| share(part, |group| group.flows).filter(|_| counts_packets);
        let percentiles = |pick: fn(&GroupSamples) -> &Samples| {
            Pool::of(runs.iter().map(|run| Some(pick(&run.group(key)?.samples)))).estimates()
        };
        Self {
            workload: key.0,
            class: key.1,
            flows: total(|group| group.flows),
            finished: total(|group| group.finished),
            quenched: total(|group| group.quenched),
            deadlines: DeadlineEstimate::of(
                runs,
                counts(|group| group.met, |group| group.deadline_flows),
            ),
            completion_s: percentiles(|samples| &samples.completion),
            slack_s: percentiles(|samples| &samples.slack),
            goodput_bytes_per_s: percentiles(|samples| &samples.goodput),
            fairness: Estimate::of(runs, |drawn| mean_of(drawn, |run| run.group(key)?.fairness)),
            timeouts_per_flow: per_flow(|group| group.timeouts),
            retransmits_per_flow: per_flow(|group| group.retransmits),
            marks_per_flow: per_flow(|group| group.marks),
            requests: total(|group| group.requests),
            denials: total(|group| group.denials),
            denied_requests: share(|group| group.denials, |group| group.requests),
            inverted_denials: share(|group| group.inversions, |group| group.denials),
        }
    }
}

impl QueryEstimate {
    fn of(workload: u16, runs: &[RunSummary]) -> Self {
        let share = |part: fn(&QuerySummary) -> f64| {
            Estimate::of(runs, |drawn| {
                let rows = drawn.iter().filter_map(|run| queries_of(run, workload));
                let (part, whole) = rows.fold((0.0, 0), |(sum, whole), query| {
                    (sum + part(query), whole + query.queries)
                });
                (whole > 0).then(|| part / whole as f64)
            })
        };
        let counts = |part: fn(&QuerySummary) -> u64, whole: fn(&QuerySummary) -> u64| {
            Estimate::of(runs, |drawn| {
                ratio(drawn, |run| {
                    queries_of(run, workload).map_or((0, 0), |query| (part(query), whole(query)))
                })
            })
        };
        let present: Vec<&QuerySummary> = runs
            .iter()
            .filter_map(|run| queries_of(run, workload))
            .collect();
        Self {
            objective: ObjectiveEstimate::of(runs, |run| {
                queries_of(run, workload).map_or((0, 0), |query| (query.met, query.judged))
            }),
            asked: present.iter().map(|query| query.asked).sum(),
            answers_in_time: counts(|query| query.answers_in_time, |query| query.asked),
            leaves: present.iter().map(|query| query.leaves).sum(),
            leaf_coverage: counts(|query| query.leaves_in_time, |query| query.leaves),
            gave_up: present.iter().map(|query| query.gave_up).sum(),
            again: ReissuesEstimate::of(&present, &counts),
            workload,
            queries: present.iter().map(|query| query.queries).sum(),
            in_time: share(|query| query.in_time),
            no_answer: share(|query| query.no_answer as f64),
            below_95: share(|query| query.below_95 as f64),
            completion_s: Pool::of(
                runs.iter()
                    .map(|run| Some(&queries_of(run, workload)?.samples)),
            )
            .estimates(),
        }
    }
}

impl ReissuesEstimate {
    /// Summarizes the hedges and retries of `runs`, or returns `None` without any. `ratio` returns the ratio of two
    /// sums with its interval.
    fn of(
        runs: &[&QuerySummary],
        ratio: &impl Fn(fn(&QuerySummary) -> u64, fn(&QuerySummary) -> u64) -> Option<Estimate>,
    ) -> Option<Self> {
        let sum = |pick: fn(&Reissues) -> u64| runs.iter().map(|run| pick(&run.again)).sum();
        let counts = Reissues {
            hedges: sum(|again| again.hedges),
            hedges_won: sum(|again| again.hedges_won),
            retries: sum(|again| again.retries),
            retries_won: sum(|again| again.retries_won),
            extra_computes: sum(|again| again.extra_computes),
            extra_answer_bytes: sum(|again| again.extra_answer_bytes),
            answer_bytes: sum(|again| again.answer_bytes),
        };
        (counts.hedges + counts.retries > 0).then(|| Self {
            counts,
            hedged: ratio(|query| query.again.hedges, |query| query.leaves),
            retried: ratio(|query| query.again.retries, |query| query.leaves),
            extra_computes: ratio(|query| query.again.extra_computes, |query| query.leaves),
            extra_answer_bytes: ratio(
                |query| query.again.extra_answer_bytes,
                |query| query.again.answer_bytes,
            ),
        })
    }
}

impl NetworkEstimate {
    fn of(runs: &[RunSummary]) -> Self {
        let counts_packets = count_packets(runs);
        let mean = |pick: fn(&NetworkSummary) -> f64| {
            Estimate::of(runs, |drawn| mean_of(drawn, |run| Some(pick(&run.network))))
                .filter(|_| counts_packets)
        };
        Self {
            drops: mean(|network| network.drops as f64),
            losses: mean(|network| network.losses as f64),
            marks: mean(|network| network.marks as f64),
            queue_max_bytes: mean(|network| network.queue_max_bytes as f64),
            queue_mean_bytes: mean(|network| network.queue_mean_bytes),
            utilisation: mean(|network| network.utilisation),
            busiest_link: NamedLink::of(runs.iter().map(|run| run.network.busiest_link.as_str())),
            most_drops: mean(|network| network.most_drops as f64),
            most_drops_link: NamedLink::of(
                runs.iter().map(|run| run.network.most_drops_link.as_str()),
            ),
        }
    }
}

impl<T> Percentiles<T> {
    /// Creates each field by calling `each` with a function that selects that field of another set.
    pub fn from_fn<U: Copy>(each: impl Fn(fn(&Percentiles<U>) -> U) -> T) -> Self {
        Self {
            mean: each(|set| set.mean),
            p50: each(|set| set.p50),
            p90: each(|set| set.p90),
            p95: each(|set| set.p95),
            p99: each(|set| set.p99),
            p999: each(|set| set.p999),
        }
    }
}

/// Returns true if the runs count packets. Those of `duetime load` do not, and know nothing of senders and ports.
fn count_packets(runs: &[RunSummary]) -> bool {
    runs.iter().any(|run| run.network.packet_hops > 0)
}

/// Returns all pairs of workload and class that occur in a run, in order.
fn keys(runs: &[RunSummary]) -> BTreeSet<Key> {
    let groups = runs.iter().flat_map(|run| &run.groups);
    groups.map(|group| (group.workload, group.class)).collect()
}

/// Returns a run's queries of one workload.
fn queries_of(run: &RunSummary, workload: u16) -> Option<&QuerySummary> {
    run.queries.iter().find(|query| query.workload == workload)
}

fn missed_of(runs: &[&RunSummary], key: Key) -> Option<f64> {
    ratio(runs, |run| {
        run.group(key).map_or((0, 0), |group| {
            (group.deadline_flows - group.met, group.deadline_flows)
        })
    })
}

/// Returns the sums of the parts and of the wholes over the runs.
fn total<'r>(
    runs: impl IntoIterator<Item = &'r RunSummary>,
    count: impl Fn(&RunSummary) -> (u64, u64),
) -> (u64, u64) {
    let each = runs.into_iter().map(count);
    each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Returns the sum of the parts over the sum of the wholes, or `None` if the latter is zero.
fn ratio(runs: &[&RunSummary], count: impl Fn(&RunSummary) -> (u64, u64)) -> Option<f64> {
    let (part, whole) = total(runs.iter().copied(), count);
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the mean over the runs that have a value.
fn mean_of(runs: &[&RunSummary], value: impl Fn(&RunSummary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
    crate::stats::mean(&values)
}

#[cfg(test)]
mod tests;
