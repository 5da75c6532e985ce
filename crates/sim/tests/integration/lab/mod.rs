//! Shared parts of the tests that print results: scenarios and statistics from records.

pub mod busy_port;

use crate::bare;
pub use crate::bare::workload;
use duetime_core::random::Stream;
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_proto::d3;
use duetime_results::{FlowRecord, RunRecords, stats};
use duetime_scenario::model::{
    Amount, Link, Protocol, Scenario, Topology, TraceFlow, Transport, Workload, WorkloadKind,
};
use duetime_sim::{Options, RunOutput};

/// Creates a scenario of `hosts` hosts on one switch with unlimited buffers, without ECN, workloads and series.
pub fn star(hosts: u32, rate: Rate, latency: Span, protocol: Protocol, duration: Span) -> Scenario {
    let link = Link {
        rate,
        latency,
        loss: 0.0,
    };
    let mut scenario = Scenario {
        transports: vec![transport(protocol)],
        duration,
        drain: Span::ZERO,
        ..bare::scenario(Topology::Star { hosts, link }, Vec::new())
    };
    scenario.host.start_jitter = true;
    scenario.host.send_jitter = Span::from_ns(1);
    scenario
}

pub fn transport(protocol: Protocol) -> Transport {
    Transport {
        name: "compared".into(),
        protocol,
        priorities: 1,
    }
}

/// Creates a flow without an end from each of `sources` to host 0, all at once.
pub fn long(sources: impl IntoIterator<Item = u32>) -> Workload {
    let pairs = sources.into_iter().map(|source| (source, 0)).collect();
    workload(
        "long",
        WorkloadKind::Long {
            pairs,
            at: Span::ZERO,
            jitter: Span::ZERO,
        },
    )
}

/// Deadline flows from hosts 1 to `senders` to host 0, which arrive as a Poisson process.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineFlows {
    pub senders: u64,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// Share of the link that the flows offer.
    pub load: f64,
    /// Minimum and maximum of the uniform sizes.
    pub bytes: (u64, u64),
    /// Mean and floor of the exponential deadlines.
    pub deadline: (Span, Span),
}

impl DeadlineFlows {
    /// Draws the flows that start before `end`.
    pub fn draw(&self, stream: &mut Stream, end: Span) -> Vec<TraceFlow> {
        let mean = (self.bytes.0 + self.bytes.1) as f64 / 2.0;
        let gap = Span::from_ps((mean * 8e12 / (self.load * self.rate.as_bps() as f64)) as u64);
        let mut flows = Vec::new();
        let mut at = stream.exponential(gap);
        while at < end {
            flows.push(TraceFlow {
                start: at,
                source: 1 + stream.below(self.senders) as u32,
                destination: 0,
                size: Bytes(stream.between(self.bytes.0, self.bytes.1)),
                deadline: Some(stream.exponential(self.deadline.0).max(self.deadline.1)),
            });
            at += stream.exponential(gap);
        }
        flows
    }
}

pub fn trace(mut flows: Vec<TraceFlow>) -> Workload {
    flows.sort_by_key(|flow| flow.start);
    workload("trace", WorkloadKind::Trace { flows })
}

pub fn d3() -> Protocol {
    Protocol::D3(d3::Config::default())
}

/// Marks packets that find at least `packets` in the port.
pub fn mark_at(scenario: &mut Scenario, packets: u32) {
    scenario.switch.ecn_threshold = vec![(Rate::from_bps(0), Amount::Packets(packets))];
}

/// Samples the queue of the link into host 0.
pub fn sample(scenario: &mut Scenario, every: Span) {
    scenario.record.every = Some(every);
    scenario.record.links = vec!["switch->host0".into()];
}

pub fn run(scenario: &Scenario, options: &Options) -> RunOutput {
    duetime_sim::run(scenario, 0, 0, options).expect("the scenario is valid")
}

/// Returns the queue samples in bytes, from `from` on.
pub fn queue(records: &RunRecords, from: Span) -> Vec<u64> {
    samples(records, from)
        .map(|sample| sample.queue_bytes)
        .collect()
}

/// Returns the share of `rate` that left the sampled link from `from` on.
pub fn utilisation(records: &RunRecords, from: Span, rate: Rate, every: Span) -> f64 {
    let (mut bytes, mut spans) = (0, 0);
    for sample in samples(records, from) {
        bytes += sample.sent_bytes;
        spans += 1;
    }
    bytes as f64 / rate.bytes_in(every * spans) as f64
}

fn samples(
    records: &RunRecords,
    from: Span,
) -> impl Iterator<Item = &duetime_results::SeriesSample> {
    let from = Time::ZERO + from;
    records
        .series
        .iter()
        .filter(move |sample| sample.link == 0 && sample.at > from)
}

pub fn percentile(values: &mut [u64], per_mille: u32) -> u64 {
    values.sort_unstable();
    *stats::nearest_rank(values, per_mille).expect("samples")
}

pub fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

pub fn drops(records: &RunRecords) -> u64 {
    records.ports.iter().map(|port| port.drops).sum()
}

/// Returns the share of the measured deadline flows among `flows` that missed, and the number of these flows.
pub fn missed<'a>(flows: impl IntoIterator<Item = &'a FlowRecord>) -> (f64, u64) {
    let (mut missed, mut all) = (0, 0);
    for met in flows
        .into_iter()
        .filter(|flow| flow.measured)
        .filter_map(FlowRecord::met)
    {
        all += 1;
        missed += u64::from(!met);
    }
    (missed as f64 / all.max(1) as f64, all)
}

/// Returns a flow's delivered bytes as a rate in Mbps over `span`.
pub fn mbps(flow: &FlowRecord, span: Span) -> f64 {
    flow.delivered_bytes as f64 * 8e-6 / span.as_secs_f64()
}
