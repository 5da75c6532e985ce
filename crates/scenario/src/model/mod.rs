//! Resolved scenario: typed quantities and all defaults.

mod network;
mod protocol;
mod workload;

use duetime_core::Span;
pub use network::{
    Amount, Buffer, Edge, Host, Link, LoadBalancing, Nic, Node, ServerQueue, Servers, Slots,
    Switch, Topology,
};
pub use protocol::{Protocol, RouterProgram};
pub use workload::{
    Connection, Deadline, DeadlineFrom, Destination, Gap, GiveUp, Hedge, HedgeAfter, Intensity,
    Objective, Oldi, QueryArrival, RecordedNode, RecordedQuery, Retry, RetryAt, Size, SourceGap,
    Spans, TraceFlow, Workload, WorkloadKind,
};

/// Experiment: a network, the transports to compare, and the traffic of the hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, used for the run folder.
    pub name: String,
    /// Transports to compare, in the order of the file.
    pub transports: Vec<Transport>,
    /// Number of runs per transport, each with its own seed.
    pub seeds: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Flows that start before this are not measured.
    pub warm_up: Span,
    /// Flows that start at or after this are not measured. Sources stop here.
    pub duration: Span,
    /// Time after `duration` at which the run ends even if measured flows are unfinished.
    pub drain: Span,
    /// Nodes and links.
    pub topology: Topology,
    /// Ports of all switches.
    pub switch: Switch,
    /// All hosts.
    pub host: Host,
    /// Traffic of the hosts.
    pub workloads: Vec<Workload>,
    /// Records in addition to flows and queries.
    pub record: Record,
    /// Options of the testbed; the simulator ignores them.
    pub lab: Lab,
}

impl Scenario {
    /// Returns the names of the transports to compare.
    pub fn transport_names(&self) -> Vec<&str> {
        self.transports
            .iter()
            .map(|transport| transport.name.as_str())
            .collect()
    }

    /// Returns the names of the workloads.
    pub fn workload_names(&self) -> Vec<&str> {
        self.workloads
            .iter()
            .map(|workload| workload.name.as_str())
            .collect()
    }

    /// Returns the trees of a workload, or `None` if it has none.
    pub fn oldi(&self, workload: usize) -> Option<&Oldi> {
        self.workloads.get(workload)?.oldi()
    }

    /// Returns the objective of a workload's queries, or `None` if it has no queries.
    pub fn objective(&self, workload: usize) -> Option<&Objective> {
        self.workloads.get(workload)?.objective()
    }

    /// Returns the number of strict-priority classes at every port that the workloads' own [`Workload::priority`]
    /// requires; 1 if no workload sets it.
    pub fn workload_classes(&self) -> u8 {
        let priorities = self
            .workloads
            .iter()
            .filter_map(|workload| workload.priority);
        priorities
            .max()
            .map_or(1, |lowest| lowest.saturating_add(1))
    }

    /// Returns true if a workload does not end by itself, so that `duration` determines how much is sent. Only bursts,
    /// permutations and traces end by themselves.
    pub fn is_endless(&self) -> bool {
        self.workloads.iter().any(|workload| {
            !matches!(
                workload.kind,
                WorkloadKind::Burst { .. }
                    | WorkloadKind::Permutation { .. }
                    | WorkloadKind::Trace { .. }
                    | WorkloadKind::Spans(_)
            )
        })
    }
}

/// Transport with all its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Name in tables and folders: a built-in name such as `dctcp`, or the name of a variant.
    pub name: String,
    /// Protocol with its options.
    pub protocol: Protocol,
    /// Strict-priority classes at every port, 1 (none) to 8.
    pub priorities: u8,
}

/// Records in addition to flows and queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Sampling period of queue lengths and throughput, or `None` for no samples.
    pub every: Option<Span>,
    /// Sampled directed links, as `from->to` node names; empty: the links into the first 32 roots of trees and
    /// receivers of bursts.
    pub links: Vec<String>,
    /// Directed links captured to pcapng, as `from->to` node names.
    pub pcap: Vec<String>,
    /// Captured bytes of each packet.
    pub snap_length: u32,
}

/// Options of the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lab {
    /// Divisor of all rates and multiplier of all times, 1 to 1,000,000.
    pub scale: u32,
}

impl Default for Lab {
    fn default() -> Self {
        Self { scale: 1 }
    }
}
