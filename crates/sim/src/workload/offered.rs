//! Traffic that the workloads offer, as far as it is known before the run.

use super::draw::size_at;
use super::{Source, Trees, Workloads};
use duetime_core::Span;
use duetime_scenario::model::{Destination, Oldi, Scenario, Size, Spans, WorkloadKind};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Time pattern of a workload's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Offers its rate for the whole run.
    Sustained,
    /// Sends all at once, or once in the run, so that bytes divided by the duration do not indicate overload.
    Once,
    /// Sends as fast as the network permits and therefore offers no fixed load.
    Backlogged,
}

/// Mean traffic from one host to another, or to all others equally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// Sending host.
    pub from: u32,
    /// Receiving host, or `None` for all other hosts, equally often.
    pub to: Option<u32>,
    /// Number of flows per second.
    pub flows_per_s: f64,
    /// Number of packets per second, without acknowledgements.
    pub packets_per_s: f64,
    /// Bytes on the wire per second.
    pub bytes_per_s: f64,
}

/// Mean size of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Number of packets, without acknowledgements.
    pub packets: f64,
    /// Bytes on the wire.
    pub bytes: f64,
}

impl Workloads {
    /// Calls `each` with every offer of the workload with index `index` and kind `kind` in a run of `duration`. `wire`
    /// returns the mean flow of a size distribution.
    pub fn offers(
        &self,
        index: usize,
        kind: &WorkloadKind,
        duration: Span,
        wire: &dyn Fn(&Size) -> Mean,
        each: &mut dyn FnMut(Offer),
    ) -> Pace {
        self.flows(
            index,
            kind,
            duration,
            wire,
            &mut |from, to, flows_per_s, flow| {
                each(Offer {
                    from,
                    to,
                    flows_per_s,
                    packets_per_s: flows_per_s * flow.packets,
                    bytes_per_s: flows_per_s * flow.bytes,
                });
            },
        )
    }

    /// Returns sizes of the scenario's messages in bytes, rising, with their relative frequency in units of 2⁻³². A
    /// distribution is represented by quantiles, an endless flow by the maximum.
    pub fn sizes(&self, scenario: &Scenario) -> Vec<(u64, u64)> {
        /// Number of quantiles of a distribution.
        const QUANTILES: u32 = 256;
        let mut rates = BTreeMap::<u64, f64>::new();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let known = RefCell::new(Vec::<(Size, f64)>::new());
            let number = |size: &Size| {
                let mut known = known.borrow_mut();
                let last = known.len();
                if known.last().is_none_or(|(other, _)| other != size) {
                    known.push((size.clone(), 0.0));
                    return last;
                }
                last - 1
            };
            let mut add = |_: u32, _: Option<u32>, flows_per_s: f64, number: usize| {
                known.borrow_mut()[number].1 += flows_per_s;
            };
            self.flows(index, &workload.kind, scenario.duration, &number, &mut add);
            if let WorkloadKind::Long { pairs, .. } = &workload.kind {
                let seconds = scenario.duration.as_secs_f64();
                *rates.entry(u64::MAX).or_default() += pairs.len() as f64 / seconds;
            }
            for (size, flows_per_s) in known.into_inner() {
                if let Size::Fixed(bytes) = size {
                    *rates.entry(bytes.0).or_default() += flows_per_s;
                    continue;
                }
                for quantile in 0..QUANTILES {
                    let share = (f64::from(quantile) + 0.5) / f64::from(QUANTILES);
                    let rate = rates.entry(size_at(&size, share)).or_default();
                    *rate += flows_per_s / f64::from(QUANTILES);
                }
            }
        }
        let total: f64 = rates.values().sum();
        let unit = f64::from(u32::MAX) / total.max(f64::MIN_POSITIVE);
        rates
            .into_iter()
            .map(|(bytes, rate)| (bytes, (rate * unit) as u64))
            .collect()
    }

    /// Calls `offer` with every offer of a workload: sender, receiver, flows per second, and the result of `wire` for the
    /// size distribution.
    fn flows<M: Copy>(
        &self,
        index: usize,
        kind: &WorkloadKind,
        duration: Span,
        wire: &dyn Fn(&Size) -> M,
        offer: &mut dyn FnMut(u32, Option<u32>, f64, M),
    ) -> Pace {
        let seconds = duration.as_secs_f64();
        match (&self.sources[index], kind) {
            (Source::Oldi(placed), WorkloadKind::Oldi(config)) => {
                offers_of_trees(placed, config, wire, offer)
            }
            (Source::Poisson(poisson), WorkloadKind::Poisson { size, .. }) => {
                let flow = wire(size);
                for (from, gap, to) in poisson.senders() {
                    let to = match to {
                        Destination::Host(host) => Some(host),
                        Destination::Uniform => None,
                    };
                    offer(from, to, 1.0 / gap.as_secs_f64(), flow);
                }
                Pace::Sustained
            }
            (Source::Background(background), WorkloadKind::Background { size, .. }) => {
                let flow = wire(size);
                for (from, gap, to) in background.sources() {
                    offer(from, to, 1.0 / gap.as_secs_f64(), flow);
                }
                Pace::Sustained
            }
            (
                Source::Burst(burst),
                WorkloadKind::Burst {
                    size,
                    at,
                    repeat,
                    every,
                    ..
                },
            ) => {
                let repeats = *repeat > 1 && *at + *every < duration;
                let period = if repeats { *every } else { duration };
                let flow = wire(size);
                for &from in burst.senders() {
                    offer(
                        from,
                        Some(burst.receiver()),
                        1.0 / period.as_secs_f64().max(1e-12),
                        flow,
                    );
                }
                if repeats { Pace::Sustained } else { Pace::Once }
            }
            (Source::Permutation(permutation), WorkloadKind::Permutation { size, .. }) => {
                let flow = wire(size);
                for (from, &to) in permutation.to().iter().enumerate() {
                    offer(from as u32, Some(to), 1.0 / seconds, flow);
                }
                Pace::Once
            }
            (_, WorkloadKind::Trace { flows }) => {
                let started = || flows.iter().filter(|flow| flow.start < duration);
                for entry in started() {
                    let flow = wire(&Size::Fixed(entry.size));
                    offer(entry.source, Some(entry.destination), 1.0 / seconds, flow);
                }
                let first = started().map(|flow| flow.start).min().unwrap_or_default();
                let last = started().map(|flow| flow.start).max().unwrap_or_default();
                if (last - first) * 2 >= duration {
                    Pace::Sustained
                } else {
                    Pace::Once
                }
            }
            (Source::Oldi(placed), WorkloadKind::Spans(spans)) => {
                offers_of_queries(placed, spans, duration, wire, offer)
            }
            _ => Pace::Backlogged,
        }
    }
}

/// Passes the traffic of recorded queries to `offer`: each query that starts before the end occurs once.
fn offers_of_queries<M: Copy>(
    placed: &Trees,
    spans: &Spans,
    duration: Span,
    wire: &dyn Fn(&Size) -> M,
    offer: &mut dyn FnMut(u32, Option<u32>, f64, M),
) -> Pace {
    let per_second = 1.0 / duration.as_secs_f64();
    let started = (0u32..).zip(&spans.queries);
    let started = started.take_while(|(_, query)| query.start < duration);
    let mut last = Span::ZERO;
    for (tree, query) in started {
        last = query.start;
        for (node, (_, child, parent)) in query.nodes[1..].iter().zip(placed.edges(tree)) {
            offer(
                parent,
                Some(child),
                per_second,
                wire(&Size::Fixed(node.request)),
            );
            offer(
                child,
                Some(parent),
                per_second,
                wire(&Size::Fixed(node.response)),
            );
        }
    }
    // The first query is at the start of the run.
    if last * 2 >= duration {
        Pace::Sustained
    } else {
        Pace::Once
    }
}

/// Passes the traffic of trees to `offer`: queries down every edge, answers up.
fn offers_of_trees<M: Copy>(
    placed: &Trees,
    config: &Oldi,
    wire: &dyn Fn(&Size) -> M,
    offer: &mut dyn FnMut(u32, Option<u32>, f64, M),
) -> Pace {
    let layers = 0..config.fan_in.len();
    let means = |application: usize| {
        let answers = layers
            .clone()
            .map(|depth| wire(config.answer(application, depth)));
        answers.collect()
    };
    let answers: Vec<Vec<M>> = (0..config.applications as usize).map(means).collect();
    let query = wire(&Size::Fixed(config.query));
    let mut pace = Pace::Backlogged;
    for (tree, (application, gap)) in placed.mean_gaps().enumerate() {
        let Some(gap) = gap else { continue };
        pace = Pace::Sustained;
        let per_second = 1.0 / gap.as_secs_f64();
        for (depth, child, parent) in placed.edges(tree as u32) {
            offer(parent, Some(child), per_second, query);
            offer(child, Some(parent), per_second, answers[application][depth]);
        }
    }
    pace
}
