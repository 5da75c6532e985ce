//! Who will send to whom, and how much, as far as it is known before the run.

use super::{Source, Workloads};
use duetime_core::Span;
use duetime_scenario::model::{Destination, Oldi, Size, Spans, WorkloadKind};

/// How a workload loads the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It offers so much per second for as long as the run lasts.
    Sustained,
    /// All at once, or once in the run: its bytes over the duration say nothing about overload.
    Once,
    /// It sends as fast as the network lets it, so that it offers no load of its own.
    Backlogged,
}

/// Mean traffic from one host to another, or to all others alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    /// Sending host.
    pub from: u32,
    /// Receiving host; `None`: any other host, each equally often.
    pub to: Option<u32>,
    /// Flows per second.
    pub flows_per_s: f64,
    /// Their packets per second, without acknowledgements.
    pub packets_per_s: f64,
    /// Bytes on the wire per second.
    pub bytes_per_s: f64,
}

/// A flow in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    /// Its packets, without acknowledgements.
    pub packets: f64,
    /// Its bytes on the wire.
    pub bytes: f64,
}

impl Workloads {
    /// Tells `each` offer of workload number `index`, which is of this kind, over a run of this duration. `wire` gives
    /// what a flow of a size is in the mean.
    pub(crate) fn offers(
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
            (Source::Poisson(it), WorkloadKind::Poisson { size, .. }) => {
                let flow = wire(size);
                for (from, gap, to) in it.senders() {
                    let to = match to {
                        Destination::Host(host) => Some(host),
                        Destination::Uniform => None,
                    };
                    offer(from, to, 1.0 / gap.as_secs_f64(), flow);
                }
                Pace::Sustained
            }
            (Source::Background(it), WorkloadKind::Background { size, .. }) => {
                let flow = wire(size);
                for (from, gap, to) in it.sources() {
                    offer(from, to, 1.0 / gap.as_secs_f64(), flow);
                }
                Pace::Sustained
            }
            (
                Source::Burst(it),
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
                for &from in it.senders() {
                    offer(
                        from,
                        Some(it.receiver()),
                        1.0 / period.as_secs_f64().max(1e-12),
                        flow,
                    );
                }
                if repeats { Pace::Sustained } else { Pace::Once }
            }
            (Source::Permutation(it), WorkloadKind::Permutation { size, .. }) => {
                let flow = wire(size);
                for (from, &to) in it.to().iter().enumerate() {
                    offer(from as u32, Some(to), 1.0 / seconds, flow);
                }
                Pace::Once
            }
            (_, WorkloadKind::Trace { flows }) => {
                let started = || flows.iter().filter(|flow| flow.start < duration);
                for of in started() {
                    let flow = wire(&Size::Fixed(of.size));
                    offer(of.source, Some(of.destination), 1.0 / seconds, flow);
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

/// Each recorded query that starts comes once.
fn offers_of_queries(
    placed: &super::oldi::Oldi,
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
    // The first query is at the start.
    if last * 2 >= duration {
        Pace::Sustained
    } else {
        Pace::Once
    }
}

/// Queries go down every edge of a tree, answers come up.
fn offers_of_trees(
    placed: &super::oldi::Oldi,
    config: &Oldi,
    wire: &dyn Fn(&Size) -> Mean,
    offer: &mut dyn FnMut(u32, Option<u32>, f64, Mean),
) -> Pace {
    let layers = 0..config.fan_in.len();
    let of = |application: usize| {
        let answers = layers
            .clone()
            .map(|depth| wire(config.answer(application, depth)));
        answers.collect()
    };
    let answers: Vec<Vec<Mean>> = (0..config.applications as usize).map(of).collect();
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
