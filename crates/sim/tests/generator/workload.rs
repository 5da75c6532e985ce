//! Workloads of every kind, within the budget of the case.

use super::{Budget, Draw};
use duetime_core::{Bytes, Span};
use duetime_scenario::model::{
    Connection, Deadline, DeadlineFrom, Destination, Gap, GiveUp, Hedge, HedgeAfter, Intensity,
    Objective, Oldi, QueryArrival, Retry, RetryAt, Size, SourceGap, TraceFlow, Transport, Workload,
    WorkloadKind,
};

/// Kind of a workload to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Oldi,
    Burst,
    Poisson,
    Background,
    Permutation,
    Long,
    Trace,
}

pub(super) fn kinds(draw: &mut Draw, lenient: bool) -> Vec<Kind> {
    use Kind::{Background, Burst, Long, Oldi, Permutation, Poisson, Trace};
    let all = [
        Oldi,
        Oldi,
        Burst,
        Poisson,
        Background,
        Permutation,
        Trace,
        Long,
    ];
    let count = draw.between(1, 3);
    let allowed = if lenient { &all[..7] } else { &all };
    (0..count).map(|_| draw.one_of(allowed)).collect()
}

pub(super) fn workloads(
    draw: &mut Draw,
    budget: &Budget,
    hosts: u32,
    kinds: &[Kind],
    others: &[Transport],
) -> Vec<Workload> {
    let flows = (budget.flows / kinds.len() as u64).max(1);
    let share = Share {
        flows,
        bytes: (budget.bytes / kinds.len() as u64 / flows).max(1),
        hosts,
        budget,
    };
    kinds
        .iter()
        .enumerate()
        .map(|(number, &kind)| Workload {
            name: format!("{kind:?}-{number}"),
            kind: share.kind(draw, kind),
            transport: draw.flag(0.25).then(|| draw.one_of(others)),
            connection: draw.one_of(&[Connection::PerFlow, Connection::Persistent]),
            priority: None,
        })
        .collect()
}

/// Sets the classes of workloads in some scenarios, independently of their transports.
pub(super) fn classes(draw: &mut Draw, workloads: &mut [Workload]) {
    if !draw.flag(0.25) {
        return;
    }
    for workload in workloads {
        if draw.flag(0.6) {
            workload.priority = Some(draw.below(4) as u8);
        }
    }
}

/// Sets a random start jitter of some workloads.
pub(super) fn jitter(draw: &mut Draw, budget: &Budget, workloads: &mut [Workload]) {
    for workload in workloads {
        let (jitter, max) = match &mut workload.kind {
            WorkloadKind::Burst { every, jitter, .. } => (jitter, *every),
            WorkloadKind::Long { jitter, .. } => (jitter, budget.duration / 4),
            _ => continue,
        };
        if draw.flag(0.3) {
            *jitter = draw.span(Span::from_ns(1), max);
        }
    }
}

/// Gives some trees features of services: other distributions of times, sizes per layer, hedges and retries. Trees are
/// changed independently, so that the other workloads of a seed stay the same.
pub(super) fn services(draw: &mut Draw, budget: &Budget, workloads: &mut [Workload]) {
    for workload in workloads {
        let WorkloadKind::Oldi(oldi) = &mut workload.kind else {
            continue;
        };
        if !draw.flag(0.4) {
            continue;
        }
        // With back-to-back queries, only a fixed computation separates the queries.
        if oldi.arrival != QueryArrival::BackToBack && draw.flag(0.5) {
            oldi.compute = time(draw, budget.duration / 10);
        }
        if draw.flag(0.5) {
            oldi.aggregate_compute = time(draw, budget.duration / 20);
        }
        if draw.flag(0.3) {
            let layers = 0..oldi.fan_in.len();
            oldi.layer_response = layers.map(|_| draw.one_of(&oldi.response)).collect();
            oldi.response.clear();
        }
        if draw.flag(0.6) {
            oldi.hedge = Some(Hedge {
                after: if draw.flag(0.5) {
                    HedgeAfter::Time(draw.span(Span::from_us(1), budget.duration / 4))
                } else {
                    HedgeAfter::Percentile(draw.one_of(&[0.01, 0.5, 0.95]))
                },
                cancel: draw.flag(0.5),
                samples: 10,
                window: draw.between(10, 40) as u32,
            });
        }
        if draw.flag(0.5) {
            oldi.retry = Some(Retry {
                timeout: draw.span(Span::from_us(1), budget.duration / 2),
                times: draw.between(1, 8) as u32,
                at: draw.one_of(&[RetryAt::Other, RetryAt::Same]),
                cancel: draw.flag(0.5),
            });
        }
        oldi.cancel_spares = draw.flag(0.3);
    }
}

/// Gives some background flows a load instead of a gap, with about the same number of flows.
pub(super) fn loads(draw: &mut Draw, budget: &Budget, workloads: &mut [Workload]) {
    for workload in workloads {
        let WorkloadKind::Background { size, every, .. } = &mut workload.kind else {
            continue;
        };
        let SourceGap::Given(Gap::Fixed(mean) | Gap::Exponential(mean)) = every else {
            continue;
        };
        if draw.flag(0.6) {
            let line = budget.rate.as_bps() as f64 * mean.as_secs_f64() / 8.0;
            // Links of a graph may be ten times as fast.
            let load = wire_bytes(size) / line / 10.0;
            *every = SourceGap::AtLoad(load.clamp(1e-6, 0.99));
        }
    }
}

/// Returns a random time of about this length, from a heavy-tailed distribution.
fn time(draw: &mut Draw, about: Span) -> Gap {
    let about = draw.span(Span::from_us(1), about);
    match draw.below(3) {
        0 => Gap::LogNormal {
            median: about,
            sigma: draw.real(0.1, 1.5),
        },
        1 => Gap::Pareto {
            least: about / 2,
            shape: draw.real(0.5, 4.0),
            most: Some(about * 10),
        },
        _ => {
            let ps = about.as_ps() as f64;
            Gap::Cdf {
                name: "drawn".to_owned(),
                points: vec![(0.0, 0.0), (ps, 0.5), (ps, 0.7), (ps * 4.0, 1.0)],
            }
        }
    }
}

/// Limits of one workload.
struct Share<'a> {
    flows: u64,
    /// Bytes per flow.
    bytes: u64,
    hosts: u32,
    budget: &'a Budget,
}

impl Share<'_> {
    fn kind(&self, draw: &mut Draw, kind: Kind) -> WorkloadKind {
        let (size, deadline) = (self.size(draw), self.deadline(draw));
        let duration = self.budget.duration;
        match kind {
            Kind::Oldi => WorkloadKind::Oldi(self.oldi(draw)),
            Kind::Burst => {
                let senders = draw.scale(1, self.flows.min(80)) as u32;
                WorkloadKind::Burst {
                    senders,
                    receiver: draw.flag(0.5).then(|| self.host(draw)),
                    from: None,
                    size,
                    deadline,
                    at: self.start(draw),
                    repeat: (self.flows / u64::from(senders)).clamp(1, 20) as u32,
                    every: draw.span(Span::from_us(1), duration),
                    jitter: Span::ZERO,
                }
            }
            Kind::Poisson => WorkloadKind::Poisson {
                intensity: self.intensity(draw, &size),
                size,
                deadline,
                destination: if draw.flag(0.7) {
                    Destination::Uniform
                } else {
                    Destination::Host(self.host(draw))
                },
            },
            Kind::Background => {
                let count = draw.scale(1, self.flows) as u32;
                let mean = duration * u64::from(count) / self.flows;
                WorkloadKind::Background {
                    count,
                    size,
                    deadline,
                    every: SourceGap::Given(gap(draw, mean)),
                    to_roots_of: None,
                }
            }
            Kind::Permutation => WorkloadKind::Permutation {
                size,
                deadline,
                at: self.start(draw),
            },
            Kind::Long => WorkloadKind::Long {
                pairs: (0..draw.between(1, 4)).map(|_| self.pair(draw)).collect(),
                at: self.start(draw),
                jitter: Span::ZERO,
            },
            Kind::Trace => WorkloadKind::Trace {
                flows: self.trace(draw),
            },
        }
    }

    fn oldi(&self, draw: &mut Draw) -> Oldi {
        let two_layers = draw.flag(0.4) && self.hosts >= 3;
        let share_hosts = draw.flag(0.4) || two_layers && self.hosts < 4;
        let max_fan_in = if share_hosts {
            20
        } else {
            u64::from(self.hosts - 1)
        }
        .min(self.flows)
        .max(1);
        let fan_in = if two_layers {
            let first = draw.scale(1, (max_fan_in / 2).clamp(1, 5));
            let max_inner = if share_hosts {
                5
            } else {
                ((u64::from(self.hosts) - 1 - first) / first).clamp(1, 5)
            };
            vec![first as u32, draw.between(1, max_inner) as u32]
        } else {
            vec![draw.scale(1, max_fan_in) as u32]
        };
        let nodes = 1 + fan_in[0] + fan_in.get(1).map_or(0, |inner| fan_in[0] * inner);
        let max_trees = if share_hosts {
            6
        } else {
            u64::from(self.hosts / nodes).clamp(1, 6)
        };
        let all_trees = draw.between(1, max_trees) as u32;
        let applications = if all_trees.is_multiple_of(2) { 2 } else { 1 };
        // Number of queries per tree; each query sends two messages per edge.
        let queries = (self.flows / u64::from(all_trees * (nodes - 1) * 2)).max(1);
        let every = self.budget.duration / queries;
        let back_to_back = draw.flag(0.2);
        // With back-to-back queries, only computing and deadlines separate the queries.
        let compute = if back_to_back {
            Gap::Fixed(every)
        } else {
            self.pause(draw)
        };
        let response: Vec<Size> = (0..applications).map(|_| self.size(draw)).collect();
        let deadline = (0..applications).map(|_| match self.deadline(draw) {
            _ if back_to_back && draw.flag(0.5) => Deadline::None,
            _ if back_to_back => Deadline::Added {
                base: every,
                added: 0.5,
            },
            deadline => deadline,
        });
        let deadline = deadline.collect();
        let arrival = match draw.below(3) {
            _ if back_to_back => QueryArrival::BackToBack,
            0 | 1 => {
                let answer =
                    response.iter().map(wire_bytes).fold(f64::MAX, f64::min) * f64::from(fan_in[0]);
                let line = self.budget.rate.as_bps() as f64 * every.as_secs_f64() / 8.0;
                // Links of a graph may be ten times as fast.
                let load = (answer / line / 10.0).clamp(0.0001, 0.99);
                QueryArrival::Load {
                    load,
                    poisson: draw.flag(0.5),
                    each_tree: true,
                }
            }
            _ => QueryArrival::Every(gap(draw, every)),
        };
        Oldi {
            applications,
            trees: all_trees / applications,
            layer_share: fan_in
                .iter()
                .enumerate()
                .map(|(layer, _)| [1.0, 0.6][layer])
                .collect(),
            fan_in,
            query: Bytes(draw.one_of(&[1, 100, 1_460, 5_000])),
            response,
            deadline,
            deadline_from: draw.one_of(&[DeadlineFrom::Query, DeadlineFrom::Response]),
            query_deadline: if draw.flag(0.3) {
                self.deadline(draw)
            } else {
                Deadline::None
            },
            arrival,
            compute,
            jitter: self.pause(draw),
            complete_at: draw.one_of(&[1.0, 1.0, 0.95, 0.5, 0.001]),
            objective: Objective {
                within: if draw.flag(0.5) {
                    vec![draw.span(Span::from_us(1), self.budget.duration)]
                } else {
                    Vec::new()
                },
                answers: draw.one_of(&[1.0, 0.99, 0.5, 0.001]),
                share: draw.one_of(&[None, Some(0.99)]),
            },
            hedge: None,
            cancel_spares: false,
            retry: None,
            aggregate_compute: Gap::ZERO,
            layer_response: Vec::new(),
            give_up: match draw.below(5) {
                0 => GiveUp::Own,
                1 => GiveUp::Never,
                2 => GiveUp::After(draw.span(Span::from_us(1), self.budget.duration)),
                _ => GiveUp::Children,
            },
            share_hosts,
        }
    }

    /// Returns zero or a random time of up to a tenth of the duration.
    fn pause(&self, draw: &mut Draw) -> Gap {
        if draw.flag(0.4) {
            return Gap::Fixed(Span::ZERO);
        }
        let mean = draw.span(Span::from_us(1), self.budget.duration / 10);
        gap(draw, mean)
    }

    fn intensity(&self, draw: &mut Draw, size: &Size) -> Intensity {
        let seconds = self.budget.duration.as_secs_f64();
        if draw.flag(0.5) {
            return Intensity::FlowsPerSecond(self.flows as f64 / seconds);
        }
        let per_host = self.flows as f64 / f64::from(self.hosts);
        let line = self.budget.rate.as_bps() as f64 * seconds / 8.0;
        Intensity::Load((per_host * wire_bytes(size) / line / 2.0).clamp(1e-6, 0.99))
    }

    fn size(&self, draw: &mut Draw) -> Size {
        let bytes = self.bytes;
        match draw.below(7) {
            0 => Size::Fixed(Bytes(1)),
            1 => Size::Fixed(Bytes(
                draw.one_of(&[2, 60, 1_438, 1_460, 1_461, 2_920])
                    .min(bytes.max(60)),
            )),
            2 | 3 => Size::Fixed(Bytes(draw.scale(bytes / 10, bytes))),
            4 => Size::Uniform(Bytes(1), Bytes(bytes * 2)),
            _ => {
                let max = bytes as f64 * 4.0;
                let points = vec![
                    (1.0, 0.0),
                    (1.0, 0.1),
                    (max / 20.0 + 1.0, 0.5),
                    (max / 10.0 + 1.0, 0.5),
                ];
                let last = (max + 2.0, 1.0);
                Size::Cdf {
                    name: "drawn".to_owned(),
                    points: [points, vec![(max / 5.0 + 1.0, 0.9), last]].concat(),
                }
            }
        }
    }

    fn deadline(&self, draw: &mut Draw) -> Deadline {
        let base = draw.span(Span::from_us(1), self.budget.duration * 2);
        match draw.below(6) {
            0 | 1 => Deadline::None,
            2 => Deadline::Added {
                base,
                added: draw.one_of(&[0.0, 0.5, 3.0]),
            },
            3 => Deadline::Around {
                base,
                variation: draw.real(0.0, 0.99),
            },
            4 => Deadline::Exponential {
                mean: base,
                floor: base / 4,
            },
            _ => Deadline::AddedExponential {
                base: base / 4,
                mean: base,
            },
        }
    }

    fn trace(&self, draw: &mut Draw) -> Vec<TraceFlow> {
        let mut flows: Vec<TraceFlow> = (0..self.flows)
            .map(|_| {
                let (source, destination) = self.pair(draw);
                TraceFlow {
                    // Many flows start at the same instant, some after the end.
                    start: self.budget.duration * draw.between(0, 22) / 20,
                    source,
                    destination,
                    size: Bytes(draw.scale(1, self.bytes * 2)),
                    deadline: draw
                        .flag(0.5)
                        .then(|| draw.span(Span::from_us(1), self.budget.duration * 2)),
                }
            })
            .collect();
        flows.sort_by_key(|flow| flow.start);
        flows
    }

    fn start(&self, draw: &mut Draw) -> Span {
        if draw.flag(0.5) {
            Span::ZERO
        } else {
            self.budget.duration * draw.between(0, 8) / 10
        }
    }

    fn host(&self, draw: &mut Draw) -> u32 {
        draw.below(self.hosts as usize) as u32
    }

    fn pair(&self, draw: &mut Draw) -> (u32, u32) {
        let ends = draw.permutation(self.hosts as usize);
        (ends[0], ends[1])
    }
}

/// Returns a gap with this mean.
fn gap(draw: &mut Draw, mean: Span) -> Gap {
    let mean = mean.max(Span::from_ns(1));
    match draw.below(3) {
        0 => Gap::Fixed(mean),
        1 => Gap::Uniform(mean / 2, mean + mean / 2),
        _ => Gap::Exponential(mean),
    }
}

/// Returns a rough lower bound on the mean bytes of a flow on the wire.
fn wire_bytes(size: &Size) -> f64 {
    let bytes = match size {
        Size::Fixed(bytes) => bytes.0 as f64,
        Size::Uniform(low, high) => (low.0 + high.0) as f64 / 2.0,
        Size::Cdf { points, .. } => points
            .windows(2)
            .map(|p| (p[1].1 - p[0].1) * (p[0].0 + p[1].0) / 2.0)
            .sum(),
    };
    bytes + 40.0 + bytes / 1_460.0 * 40.0
}
