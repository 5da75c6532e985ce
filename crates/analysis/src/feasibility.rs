//! Deadlines and budgets that no transport can meet, because the network's rates and delays alone take longer.
//!
//! A message takes at least its propagation, the transmission of one minimum-size packet through every switch, the
//! transmission of its bytes over the slowest stage, and its host's minimum receive delay. A run draws which hosts and
//! sizes meet which deadlines; here, both are sampled at even steps.

mod recorded;

use duetime_core::Span;
use duetime_scenario::model::{
    Deadline, DeadlineFrom, Oldi, Scenario, Size, TraceFlow, WorkloadKind,
};
use duetime_sim::topology::Network;
use duetime_sim::unloaded::Unloaded;
use duetime_sim::workload::draw::{self, min_gap};
use duetime_sim::workload::{Mean, Mixture, Trees, Workloads, needed, quantile};
use serde::Serialize;

/// Minimum share that is reported; exponential deadlines always include some that are too short.
const MIN_SHARE: f64 = 0.01;
/// Maximum number of pairs of hosts checked per workload.
const PAIRS: usize = 64;
/// Number of sizes checked, at even steps of their distribution.
const SIZES: u32 = 32;

/// Messages or queries of a workload that are late under every transport, even if each of them were alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InfeasibleDeadlines {
    /// Name of the workload.
    pub workload: String,
    /// Kind of the deadlines.
    pub of: DeadlineKind,
    /// Approximate share of these deadlines that is too short.
    pub share: f64,
    /// Shortest deadline or budget; for drawn deadlines, the 1st percentile.
    pub shortest_ns: u64,
    /// Minimum time that any of the messages or queries takes alone.
    pub alone_ns: u64,
    /// Maximum of these times.
    pub most_alone_ns: u64,
}

/// Kind of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlineKind {
    /// Deadlines of flows.
    Flows,
    /// Deadlines of the answers of trees.
    Answers,
    /// Deadlines of query messages on their way down.
    QueryMessages,
    /// Budgets of queries.
    Queries,
}

/// Returns the deadlines and budgets that no transport can meet, by workload.
pub(super) fn find(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
) -> Vec<InfeasibleDeadlines> {
    let deadlines = |kind: &WorkloadKind| match kind {
        WorkloadKind::Long { .. } => false,
        WorkloadKind::Trace { flows } => flows.iter().any(|flow| flow.deadline.is_some()),
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => *deadline != Deadline::None,
        WorkloadKind::Oldi(oldi) => {
            let deadlines = oldi.deadline.iter().chain([&oldi.query_deadline]);
            let mut deadlines = deadlines.into_iter();
            deadlines.any(|deadline| *deadline != Deadline::None)
                || !oldi.objective.within.is_empty()
        }
        WorkloadKind::Spans(spans) => spans.can_be_late(),
    };
    let mut found = Vec::new();
    if !(scenario.workloads.iter()).any(|workload| deadlines(&workload.kind)) {
        return found;
    }
    let mut unloaded = Unloaded::with_limited_search(scenario, network);
    for (index, workload) in scenario.workloads.iter().enumerate() {
        if !deadlines(&workload.kind) {
            continue;
        }
        let mut site = Site {
            unloaded: &mut unloaded,
            workload: index,
            name: &workload.name,
            found: &mut found,
        };
        match (&workload.kind, workloads.trees(index)) {
            (WorkloadKind::Trace { flows }, _) => site.trace(flows, scenario.duration),
            (WorkloadKind::Oldi(config), Some(placed)) => site.trees(config, placed, network),
            (WorkloadKind::Spans(spans), Some(placed)) => {
                site.recorded(spans, placed, scenario.duration);
            }
            (kind, _) => site.flows(kind, workloads, scenario.duration, network.hosts()),
        }
    }
    found
}

/// A workload under inspection.
struct Site<'a> {
    unloaded: &'a mut Unloaded,
    workload: usize,
    name: &'a str,
    found: &'a mut Vec<InfeasibleDeadlines>,
}

impl Site<'_> {
    /// Returns the minimum time of a message between two hosts (from, to).
    fn alone(&mut self, ends: (u32, u32), bytes: u64) -> Span {
        self.unloaded.message_time(self.workload, ends, bytes)
    }

    fn report(&mut self, kind: DeadlineKind, share: f64, shortest: Span, alone: (Span, Span)) {
        self.found.push(InfeasibleDeadlines {
            workload: self.name.to_owned(),
            of: kind,
            share,
            shortest_ns: shortest.as_ns(),
            alone_ns: alone.0.as_ns(),
            most_alone_ns: alone.1.as_ns(),
        });
    }

    fn trace(&mut self, flows: &[TraceFlow], duration: Span) {
        let (mut all, mut late) = (0u64, 0u64);
        let mut shortest = Span::MAX;
        let mut alone = (Span::MAX, Span::ZERO);
        for flow in flows.iter().filter(|flow| flow.start < duration) {
            let Some(deadline) = flow.deadline else {
                continue;
            };
            all += 1;
            let ends = (flow.source, flow.destination);
            let time = self.alone(ends, flow.size.0);
            shortest = shortest.min(deadline);
            alone = (alone.0.min(time), alone.1.max(time));
            late += u64::from(time > deadline);
        }
        if late > 0 {
            self.report(
                DeadlineKind::Flows,
                late as f64 / all as f64,
                shortest,
                alone,
            );
        }
    }

    fn flows(&mut self, kind: &WorkloadKind, workloads: &Workloads, duration: Span, hosts: u32) {
        let (WorkloadKind::Burst { size, deadline, .. }
        | WorkloadKind::Poisson { size, deadline, .. }
        | WorkloadKind::Background { size, deadline, .. }
        | WorkloadKind::Permutation { size, deadline, .. }) = kind
        else {
            return;
        };
        let mut pairs = Vec::new();
        let mean = |_: &Size| Mean {
            packets: 0.0,
            bytes: 0.0,
        };
        workloads.offers(self.workload, kind, duration, &mean, &mut |offer| {
            pairs.push((offer.from, offer.to));
        });
        let pairs: Vec<(u32, u32)> = sample(&pairs)
            .zip(0u64..)
            .map(|(&(from, to), number)| {
                let step = (number * 0x9e37_79b9) % u64::from(hosts - 1) + 1;
                let other = (u64::from(from) + step) % u64::from(hosts);
                (from, to.unwrap_or(other as u32))
            })
            .collect();
        let parts = vec![(1.0, *deadline, 1.0)];
        self.check(DeadlineKind::Flows, &pairs, &[(size, parts, Span::ZERO)]);
    }

    fn trees(&mut self, config: &Oldi, placed: &Trees, network: &Network) {
        let trees: Vec<u32> = (0..placed.count()).collect();
        let mut pairs = Vec::new();
        for &tree in sample(&trees) {
            let edges: Vec<(u32, u32)> = placed
                .edges(tree)
                .map(|(_, child, parent)| (child, parent))
                .take(PAIRS)
                .collect();
            pairs.extend(edges);
        }
        let pairs: Vec<(u32, u32)> = sample(&pairs).copied().collect();
        let at = |list: &[Deadline], application: usize| list[application % list.len()];
        let layers = config.fan_in.len();
        let compute = match config.deadline_from {
            DeadlineFrom::Query => min_gap(&config.compute) + min_gap(&config.jitter),
            DeadlineFrom::Response => Span::ZERO,
        };
        let mut answers = Vec::new();
        for application in 0..config.applications as usize {
            let mut count = 1.0;
            for (layer, &fan_in) in config.fan_in.iter().enumerate() {
                let response = config.answer(application, layer);
                count *= f64::from(fan_in);
                let share = config.layer_share.get(layer).copied().unwrap_or(1.0);
                let deadline = at(&config.deadline, application);
                // Only leaves have a computation before their answers; aggregators are assumed to take no time.
                let before = if layer + 1 == layers {
                    compute
                } else {
                    Span::ZERO
                };
                answers.push((response, vec![(count, deadline, share)], before));
            }
        }
        self.check(DeadlineKind::Answers, &pairs, &answers);
        let query = Size::Fixed(config.query);
        let deadline = vec![(1.0, config.query_deadline, 1.0)];
        self.check(
            DeadlineKind::QueryMessages,
            &pairs,
            &[(&query, deadline, Span::ZERO)],
        );
        self.budgets(config, placed, network, &pairs);
    }

    /// Reports the share of too short deadlines of some parts of a workload. A part is a size, its deadlines and a time
    /// that passes before its messages are submitted.
    fn check(
        &mut self,
        kind: DeadlineKind,
        pairs: &[(u32, u32)],
        parts: &[(&Size, Mixture, Span)],
    ) {
        let has_deadlines = |mixture: &Mixture| {
            (mixture.iter()).all(|(_, deadline, _)| *deadline != Deadline::None)
        };
        let parts = (parts.iter()).filter(|(_, mixture, _)| has_deadlines(mixture));
        let mut all: Mixture = Vec::new();
        let (mut late, mut weights) = (0.0, 0.0);
        let mut alone = (Span::MAX, Span::ZERO);
        for (size, mixture, before) in parts {
            for &ends in pairs {
                let steps = if matches!(size, Size::Fixed(_)) {
                    1
                } else {
                    SIZES
                };
                for step in 0..steps {
                    let bytes = draw::size_at(size, (f64::from(step) + 0.5) / f64::from(steps));
                    let time = *before + self.alone(ends, bytes);
                    alone = (alone.0.min(time), alone.1.max(time));
                    for (weight, deadline, share) in mixture {
                        let weight = weight / f64::from(steps);
                        weights += weight;
                        late += weight * share_late(deadline, *share, time);
                    }
                }
            }
            all.extend(mixture);
        }
        let share = late / weights;
        if share >= MIN_SHARE {
            let whole: f64 = all.iter().map(|part| part.0).sum();
            for part in &mut all {
                part.0 /= whole;
            }
            self.report(kind, share, quantile(&all, 0.01), alone);
        }
    }

    /// Reports the applications whose budget ends before the answers to a query can be at the root: the messages down
    /// and up the layers, the leaves' computation, and the needed answers on the root's link.
    fn budgets(&mut self, config: &Oldi, placed: &Trees, network: &Network, pairs: &[(u32, u32)]) {
        let mut nearest = |bytes: u64| {
            let times = pairs.iter();
            let times = times.map(|&ends| self.alone(ends, bytes));
            times.min().unwrap_or(Span::ZERO)
        };
        let layers = config.fan_in.len() as u64;
        let query = nearest(config.query.0);
        let downlinks = placed
            .roots()
            .into_iter()
            .map(|root| network.downlink[root as usize]);
        let fastest = downlinks
            .map(|link| network.links[link as usize].rate)
            .max();
        let others = u64::from(needed(config.fan_in[0], config.objective.answers)) - 1;
        let mut late: Vec<(Span, Span)> = Vec::new();
        for application in 0..config.applications as usize {
            let Some(budget) = config.budget(application) else {
                return;
            };
            let smallest = |layer| draw::size_at(config.answer(application, layer), 0.0);
            let answers = fastest.map_or(Span::ZERO, |rate| rate.transmit(smallest(0) * others));
            let answer_times = (0..config.fan_in.len()).map(|layer| nearest(smallest(layer)));
            let up = answer_times.fold(Span::ZERO, |sum, time| sum + time);
            let time = query * layers
                + up
                + min_gap(&config.compute)
                + min_gap(&config.jitter)
                + Span::from_ps(min_gap(&config.aggregate_compute).as_ps() * (layers - 1))
                + answers;
            if time > budget {
                late.push((budget, time));
            }
        }
        if let Some(&(budget, _)) = late.iter().min() {
            let share = late.len() as f64 / f64::from(config.applications);
            let times = || late.iter().map(|(_, time)| *time);
            let alone = (
                times().min().unwrap_or_default(),
                times().max().unwrap_or_default(),
            );
            self.report(DeadlineKind::Queries, share, budget, alone);
        }
    }
}

/// Returns the probability that `share` of a deadline is shorter than `time`.
fn share_late(deadline: &Deadline, share: f64, time: Span) -> f64 {
    let longest_late = time.as_ps().saturating_sub(1) as f64 / share;
    draw::deadline_at_most(deadline, Span::from_ps(longest_late as u64))
}

/// Returns up to [`PAIRS`] of the items, at even steps.
fn sample<T>(items: &[T]) -> impl Iterator<Item = &T> {
    items.iter().step_by(items.len().div_ceil(PAIRS).max(1))
}
