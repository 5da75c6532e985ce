//! Traffic of each workload, as far as it is known before the run.

mod measured;
mod recorded;

use crate::offered_load::LinkLoad;
use duetime_core::{Rate, Span};
use duetime_scenario::model::{
    Destination, Intensity, Oldi, QueryArrival, Scenario, Size, SourceGap, TraceFlow, Workload,
    WorkloadKind,
};
use duetime_sim::topology::Network;
use duetime_sim::workload::{
    Background, Mixture, Trees, Workloads, draw, mixture, needed, quantile,
};
use serde::Serialize;

/// Properties of one workload. Bytes "on the wire" include 40 B of headers per segment, and the frame overhead if any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkloadDescription {
    /// Name of the workload.
    pub name: String,
    /// Kind of the workload, as in the scenario file.
    pub kind: &'static str,
    /// Number of hosts that send.
    pub senders: u32,
    /// Number of flows expected to start within the duration, queries included, or `None` if it depends on the network.
    pub expected_flows: Option<f64>,
    /// Maximum difference between the starts of flows that start together, not counting the start jitter of one packet
    /// time, or `None` without `jitter`.
    pub jitter_ns: Option<u64>,
    /// Mean application bytes of a flow (of an answer, for trees), or `None` for endless flows.
    pub mean_size_bytes: Option<f64>,
    /// Mean bytes on the wire of a flow (of an answer, for trees).
    pub mean_wire_bytes: Option<f64>,
    /// Mean bits per second on the wire, over the duration and the whole network.
    pub offered_bps: Option<f64>,
    /// Offered load as a share of the access links named by `load_of`.
    pub offered_load: Option<f64>,
    /// Links that `offered_load` is a share of.
    pub load_of: Option<&'static str>,
    /// Directed link with the highest sustained load of this workload, or `None` without a sustained load.
    pub busiest_link: Option<LinkLoad>,
    /// Number of flows, or queries of trees, expected to start in the measurement window [warm-up, duration), or `None`
    /// if it depends on the network.
    pub expected_measured: Option<f64>,
    /// Quantiles of the drawn deadlines of flows (of answers, for trees), relative to the start of their clocks.
    pub deadline: Option<DeadlineQuantiles>,
    /// Mean bytes on the wire sent to one host at once: of one burst, or of one query's answers at the root.
    pub burst_bytes: Option<f64>,
    /// Transmission time of these bytes on the receiver's link.
    pub burst_drain_ns: Option<u64>,
    /// Number of trees of all applications.
    pub trees: Option<u32>,
    /// Hosts of the trees' roots.
    pub roots: Vec<u32>,
    /// Number of children per node, by layer.
    pub fan_in: Vec<u32>,
    /// Maximum number of requests by a root, if it differs between queries.
    pub largest_fan_in: Option<u32>,
    /// Number of answers that complete a query.
    pub answers_needed: Option<u32>,
    /// Number of queries expected within the duration, or `None` if they are back to back.
    pub expected_queries: Option<f64>,
}

/// Quantiles of a distribution of deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeadlineQuantiles {
    /// 1st percentile.
    pub p1_ns: u64,
    /// 25th percentile.
    pub p25_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 75th percentile.
    pub p75_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

pub(super) fn describe(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
) -> Vec<WorkloadDescription> {
    let site = Site {
        network,
        duration: scenario.duration,
        header: workloads.header(),
    };
    let describe = |(index, workload): (usize, &Workload)| {
        let kind = &workload.kind;
        let parts = mixture(kind);
        let shared = WorkloadDescription {
            name: workload.name.clone(),
            deadline: (!parts.is_empty()).then(|| DeadlineQuantiles::from_mixture(&parts)),
            ..WorkloadDescription::default()
        };
        let described = match (kind, workloads.trees(index), workloads.background(index)) {
            (WorkloadKind::Oldi(config), Some(placed), _) => site.oldi(config, placed, shared),
            (WorkloadKind::Spans(spans), Some(placed), _) => site.recorded(spans, placed, shared),
            (WorkloadKind::Background { size, every, .. }, _, Some(placed)) => {
                site.background(size, every, placed, shared)
            }
            _ => site.plain(kind, shared),
        };
        let expected = described.expected_flows;
        WorkloadDescription {
            expected_measured: measured::expected(scenario, kind, workloads.trees(index), expected),
            ..described
        }
    };
    scenario
        .workloads
        .iter()
        .enumerate()
        .map(describe)
        .collect()
}

struct Site<'a> {
    network: &'a Network,
    duration: Span,
    header: u32,
}

impl Site<'_> {
    fn oldi(
        &self,
        config: &Oldi,
        placed: &Trees,
        shared: WorkloadDescription,
    ) -> WorkloadDescription {
        let answer_size = |application: usize| config.answer(application, 0);
        let applications = f64::from(config.applications);
        let mean = |value: &dyn Fn(&Size) -> f64| {
            (0..config.applications as usize)
                .map(|application| value(answer_size(application)))
                .sum::<f64>()
                / applications
        };
        let roots = placed.roots();
        let fan_in = f64::from(config.fan_in[0]);
        let query_wire = draw::mean_wire(&Size::Fixed(config.query), self.header);
        let mut width = 1.0;
        let widths = config.fan_in.iter().map(|&fan_in| {
            width *= f64::from(fan_in);
            width
        });
        let widths: Vec<f64> = widths.collect();
        let below: f64 = widths.iter().sum();
        let (mut queries, mut bits, mut load) = (0.0, 0.0, 0.0);
        let back_to_back = config.arrival == QueryArrival::BackToBack;
        for ((application, gap), &root) in placed.mean_gaps().zip(&roots) {
            let Some(gap) = gap else { continue };
            let answer = draw::mean_wire(answer_size(application), self.header);
            queries += self.duration.as_secs_f64() / gap.as_secs_f64();
            let answers = |(depth, count): (usize, f64)| {
                count * draw::mean_wire(config.answer(application, depth), self.header)
            };
            let all: f64 = widths.iter().copied().enumerate().map(answers).sum();
            bits += 8.0 * (all + below * query_wire) / gap.as_secs_f64();
            load += 8.0 * fan_in * answer / gap.as_secs_f64() / self.access(root).as_bps() as f64;
        }
        let burst = fan_in * mean(&|size| draw::mean_wire(size, self.header));
        let known = |value: f64| (!back_to_back).then_some(value);
        WorkloadDescription {
            kind: "oldi",
            senders: placed.hosts_in_use(),
            expected_flows: known(queries * 2.0 * below),
            mean_size_bytes: Some(mean(&draw::mean_size)),
            mean_wire_bytes: Some(burst / fan_in),
            offered_bps: known(bits),
            offered_load: known(load / roots.len() as f64),
            load_of: Some("each root's link, by the answers to it"),
            burst_bytes: Some(burst),
            burst_drain_ns: Some(self.drain_ns(roots[0], burst)),
            trees: Some(placed.count()),
            fan_in: config.fan_in.clone(),
            answers_needed: Some(needed(config.fan_in[0], config.complete_at)),
            expected_queries: known(queries),
            roots,
            ..shared
        }
    }

    fn plain(&self, kind: &WorkloadKind, shared: WorkloadDescription) -> WorkloadDescription {
        let hosts = self.network.hosts();
        match kind {
            WorkloadKind::Oldi(_) | WorkloadKind::Spans(_) | WorkloadKind::Background { .. } => {
                shared
            }
            WorkloadKind::Burst {
                senders,
                receiver,
                size,
                at,
                repeat,
                every,
                jitter,
                ..
            } => {
                let rounds = self.rounds(*at, *repeat, *every, *jitter);
                let burst = f64::from(*senders) * draw::mean_wire(size, self.header);
                WorkloadDescription {
                    kind: "burst",
                    jitter_ns: jitter_ns(*jitter),
                    burst_bytes: Some(burst),
                    burst_drain_ns: Some(self.drain_ns(receiver.unwrap_or(0), burst)),
                    ..self.flows(
                        f64::from(*senders) * rounds,
                        size,
                        (*senders).min(hosts - 1),
                        shared,
                    )
                }
            }
            WorkloadKind::Poisson {
                size,
                intensity,
                destination,
                ..
            } => {
                let all = *destination == Destination::Uniform;
                let senders =
                    (0..hosts).filter(|&host| all || *destination != Destination::Host(host));
                let wire_bits = 8.0 * draw::mean_wire(size, self.header);
                let links: f64 = senders.map(|host| self.access(host).as_bps() as f64).sum();
                let per_second = match *intensity {
                    Intensity::Load(load) => load * links / wire_bits,
                    Intensity::FlowsPerSecond(rate) => rate,
                };
                WorkloadDescription {
                    kind: "poisson",
                    offered_load: Some(per_second * wire_bits / links),
                    load_of: Some("the senders' links"),
                    ..self.flows(
                        per_second * self.duration.as_secs_f64(),
                        size,
                        hosts - u32::from(!all),
                        shared,
                    )
                }
            }
            WorkloadKind::Permutation { size, at, .. } => {
                let rounds = self.rounds(*at, 1, Span::ZERO, Span::ZERO);
                WorkloadDescription {
                    kind: "permutation",
                    ..self.flows(f64::from(hosts) * rounds, size, hosts, shared)
                }
            }
            WorkloadKind::Long { pairs, at, jitter } => {
                let rounds = self.rounds(*at, 1, Span::ZERO, *jitter);
                WorkloadDescription {
                    kind: "long",
                    senders: distinct(pairs.iter().map(|pair| pair.0)),
                    expected_flows: Some(pairs.len() as f64 * rounds),
                    jitter_ns: jitter_ns(*jitter),
                    ..shared
                }
            }
            WorkloadKind::Trace { flows } => self.trace(flows, shared),
        }
    }

    fn background(
        &self,
        size: &Size,
        every: &SourceGap,
        placed: &Background,
        shared: WorkloadDescription,
    ) -> WorkloadDescription {
        let bps = |host: u32| self.access(host).as_bps() as f64;
        let (mut flows, mut sources, mut sources_bps) = (0.0, 0, 0.0);
        for (host, gap, _) in placed.sources() {
            flows += self.duration.as_secs_f64() / gap.as_secs_f64();
            sources += 1;
            sources_bps += bps(host);
        }
        let hosts = self.network.hosts();
        let described = self.flows(flows, size, hosts.min(sources), shared);
        let (links, load_of) = match every {
            SourceGap::AtLoad(_) => (sources_bps, "each source's link"),
            SourceGap::Given(_) => ((0..hosts).map(bps).sum(), "all hosts' links"),
        };
        WorkloadDescription {
            kind: "background",
            offered_load: described.offered_bps.map(|bps| bps / links),
            load_of: Some(load_of),
            ..described
        }
    }

    fn trace(&self, flows: &[TraceFlow], shared: WorkloadDescription) -> WorkloadDescription {
        let started: Vec<&TraceFlow> = flows
            .iter()
            .filter(|flow| flow.start < self.duration)
            .collect();
        let count = started.len().max(1) as f64;
        let total = |bytes: &dyn Fn(&Size) -> f64| -> f64 {
            started
                .iter()
                .map(|flow| bytes(&Size::Fixed(flow.size)))
                .sum()
        };
        let wire = total(&|size| draw::mean_wire(size, self.header));
        let mut deadlines: Vec<Span> = started.iter().filter_map(|flow| flow.deadline).collect();
        deadlines.sort_unstable();
        WorkloadDescription {
            kind: "trace",
            senders: distinct(started.iter().map(|flow| flow.source)),
            expected_flows: Some(started.len() as f64),
            mean_size_bytes: Some(total(&draw::mean_size) / count),
            mean_wire_bytes: Some(wire / count),
            offered_bps: Some(8.0 * wire / self.duration.as_secs_f64()),
            deadline: DeadlineQuantiles::from_sorted(&deadlines),
            ..shared
        }
    }

    /// Describes a workload whose flow sizes are drawn.
    fn flows(
        &self,
        count: f64,
        size: &Size,
        senders: u32,
        shared: WorkloadDescription,
    ) -> WorkloadDescription {
        let wire = draw::mean_wire(size, self.header);
        WorkloadDescription {
            senders,
            expected_flows: Some(count),
            mean_size_bytes: Some(draw::mean_size(size)),
            mean_wire_bytes: Some(wire),
            offered_bps: Some(8.0 * count * wire / self.duration.as_secs_f64()),
            ..shared
        }
    }

    /// Returns the number of rounds, out of `repeat`, that start within the duration. The last round counts by the
    /// share of its flows that start in time.
    fn rounds(&self, at: Span, repeat: u32, every: Span, jitter: Span) -> f64 {
        if at >= self.duration {
            return 0.0;
        }
        let after_first = (self.duration - at).as_ps() - 1;
        let in_time = after_first
            .checked_div(every.as_ps())
            .map_or(u64::MAX, |further| further.saturating_add(1));
        let before_last = in_time.min(u64::from(repeat.max(1))) - 1;
        let left = self.duration - (at + every * before_last);
        let share = if left < jitter {
            left.as_ps() as f64 / jitter.as_ps() as f64
        } else {
            1.0
        };
        before_last as f64 + share
    }

    fn drain_ns(&self, receiver: u32, bytes: f64) -> u64 {
        self.access(receiver)
            .transmit(libm::round(bytes) as u64)
            .as_ns()
    }

    fn access(&self, host: u32) -> Rate {
        self.network.links[self.network.uplink[host as usize] as usize].rate
    }
}

impl DeadlineQuantiles {
    fn from_mixture(parts: &Mixture) -> Self {
        Self::from_quantile(|share| quantile(parts, share))
    }

    fn from_sorted(deadlines: &[Span]) -> Option<Self> {
        let rank = |share: f64| libm::ceil(share * deadlines.len() as f64).max(1.0) as usize - 1;
        (!deadlines.is_empty()).then(|| Self::from_quantile(|share| deadlines[rank(share)]))
    }

    fn from_quantile(quantile: impl Fn(f64) -> Span) -> Self {
        Self {
            p1_ns: quantile(0.01).as_ns(),
            p25_ns: quantile(0.25).as_ns(),
            p50_ns: quantile(0.5).as_ns(),
            p75_ns: quantile(0.75).as_ns(),
            p99_ns: quantile(0.99).as_ns(),
        }
    }
}

/// Returns a jitter in nanoseconds, or `None` if it is zero.
fn jitter_ns(jitter: Span) -> Option<u64> {
    (jitter > Span::ZERO).then(|| jitter.as_ns())
}

fn distinct(hosts: impl Iterator<Item = u32>) -> u32 {
    let mut hosts: Vec<u32> = hosts.collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len() as u32
}
