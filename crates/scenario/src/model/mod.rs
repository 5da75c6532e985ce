//! The scenario as the rest of Duetime sees it: resolved, with units in the types and no default left open.

mod network;
mod workload;

use duetime_core::Span;
use duetime_proto::{d3, tcp};
pub use network::{
    Amount, Buffer, Edge, Host, Link, Nic, Node, ServerQueue, Servers, Slots, Switch, Topology,
};
pub use workload::{
    Connection, Deadline, DeadlineFrom, Destination, Gap, GiveUp, Hedge, HedgeAfter, Intensity,
    Objective, Oldi, QueryArrival, RecordedNode, RecordedQuery, Retry, RetryAt, Size, SourceGap,
    Spans, TraceFlow, Workload, WorkloadKind,
};

/// One experiment: a network, a transport or several to compare, and what the hosts do.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, used for the run folder.
    pub name: String,
    /// The transports to compare, in the order of the file.
    pub transports: Vec<Transport>,
    /// Number of runs per transport, each with its own seed.
    pub seeds: u32,
    /// Root of all random streams.
    pub seed: u64,
    /// Flows that start before this are not measured.
    pub warm_up: Span,
    /// Flows that start at or after this are not measured; sources stop here.
    pub duration: Span,
    /// The run ends this long after `duration` even if measured flows are unfinished.
    pub drain: Span,
    /// Nodes and links.
    pub topology: Topology,
    /// The ports of all switches, unless a link says otherwise.
    pub switch: Switch,
    /// The hosts.
    pub host: Host,
    /// What the hosts do.
    pub workloads: Vec<Workload>,
    /// What is recorded beside flows and queries.
    pub record: Record,
    /// How it runs on the testbed; the simulator does not read it.
    pub lab: Lab,
}

impl Scenario {
    /// The names of the transports that are compared.
    pub fn transport_names(&self) -> Vec<&str> {
        self.transports.iter().map(|of| of.name.as_str()).collect()
    }

    /// The names of the workloads.
    pub fn workload_names(&self) -> Vec<&str> {
        self.workloads.iter().map(|of| of.name.as_str()).collect()
    }

    /// The trees of a workload, if it has trees.
    pub fn oldi(&self, workload: usize) -> Option<&Oldi> {
        self.workloads.get(workload)?.oldi()
    }

    /// What the owner of a workload wants of its queries, if it has queries.
    pub fn objective(&self, workload: usize) -> Option<&Objective> {
        self.workloads.get(workload)?.objective()
    }

    /// How many strict-priority classes the workloads' own [`Workload::priority`] needs at every port; 1: none has one.
    pub fn own_classes(&self) -> u8 {
        let own = self.workloads.iter().filter_map(|of| of.priority);
        own.max().map_or(1, |lowest| lowest.saturating_add(1))
    }

    /// Whether some workload never stops by itself, so that `duration` decides how much is sent: all but bursts,
    /// permutations and traces.
    pub fn never_stops(&self) -> bool {
        self.workloads.iter().any(|of| {
            !matches!(
                of.kind,
                WorkloadKind::Burst { .. }
                    | WorkloadKind::Permutation { .. }
                    | WorkloadKind::Trace { .. }
                    | WorkloadKind::Spans(_)
            )
        })
    }
}

/// One transport with all its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Its name in tables and folders: `tcp`, `dctcp`, `d2tcp`, `rcpdc`, `d3`, `tcp-prio`, `rcpdc-prio`, or one
    /// given by the file.
    pub name: String,
    /// Which protocol, with its options.
    pub protocol: Protocol,
    /// Strict-priority classes at every port, 1 (none) to 4.
    pub priorities: u8,
}

/// The two families.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// A window protocol: TCP `NewReno`, DCTCP or D2TCP, by its congestion control.
    Tcp(tcp::Config),
    /// D3, or `RCPdc` where deadlines are ignored.
    D3(d3::Config),
}

/// What is recorded beside flows and queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Sampling period of queue lengths and throughput; `None`: no series.
    pub every: Option<Span>,
    /// The directed links sampled, as `from->to` node names; empty: the links into the first
    /// 32 hosts that end a tree or a burst.
    pub links: Vec<String>,
    /// The directed links captured to pcapng, as `from->to` node names.
    pub pcap: Vec<String>,
    /// Bytes kept of each captured packet.
    pub snap_length: u32,
}

/// How a scenario runs on the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lab {
    /// All rates are divided by this and all times multiplied by it; 1 to 1,000,000.
    pub scale: u32,
}

impl Default for Lab {
    fn default() -> Self {
        Self { scale: 1 }
    }
}
