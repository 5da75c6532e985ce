//! Traffic that the workloads offer, as far as it is known before the run.

use super::{Source, Trees, Workloads};
use duetime_core::Span;
use duetime_scenario::model::{Destination, Oldi, Size, Spans, WorkloadKind};

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
        let seconds = duration.as_secs_f64();
        let mut offer = |from: u32, to: Option<u32>, flows_per_s: f64, flow: Mean| {
            each(Offer {
                from,
                to,
                flows_per_s,
                packets_per_s: flows_per_s * flow.packets,
                bytes_per_s: flows_per_s * flow.bytes,
            });
        };
        match (&self.sources[index], kind) {
            (Source::Oldi(placed), WorkloadKind::Oldi(config)) => {
                offers_of_trees(placed, config, wire, &mut offer)
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
                offers_of_queries(placed, spans, duration, wire, &mut offer)
            }
            _ => Pace::Backlogged,
        }
    }
}

/// Passes the traffic of recorded queries to `offer`: each query that starts before the end occurs once.
fn offers_of_queries(
    placed: &Trees,
    spans: &Spans,
    duration: Span,
    wire: &dyn Fn(&Size) -> Mean,
    offer: &mut dyn FnMut(u32, Option<u32>, f64, Mean),
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
fn offers_of_trees(
    placed: &Trees,
    config: &Oldi,
    wire: &dyn Fn(&Size) -> Mean,
    offer: &mut dyn FnMut(u32, Option<u32>, f64, Mean),
) -> Pace {
    let layers = 0..config.fan_in.len();
    let means = |application: usize| {
        let answers = layers
            .clone()
            .map(|depth| wire(config.answer(application, depth)));
        answers.collect()
    };
    let answers: Vec<Vec<Mean>> = (0..config.applications as usize).map(means).collect();
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
