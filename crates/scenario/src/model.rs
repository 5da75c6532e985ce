//! The scenario as the rest of Duetime sees it: resolved, with units in the types and no default left open.

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::{d3, tcp};

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

    /// Whether some workload never stops by itself, so that `duration` decides how much is sent: all but bursts,
    /// permutations and traces.
    pub fn never_stops(&self) -> bool {
        self.workloads.iter().any(|of| {
            !matches!(
                of.kind,
                WorkloadKind::Burst { .. }
                    | WorkloadKind::Permutation { .. }
                    | WorkloadKind::Trace { .. }
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

impl Topology {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        match self {
            Self::Star { hosts, .. } => *hosts,
            Self::Dumbbell { left, right, .. } => left + right,
            Self::D3Testbed { .. } => 14,
            Self::LeafSpine {
                racks,
                hosts_per_rack,
                ..
            } => racks * hosts_per_rack,
            Self::FatTree { k, .. } => k * k * k / 4,
            Self::Graph { nodes, .. } => nodes.iter().map(|node| u32::from(node.host)).sum(),
        }
    }
}

/// The network's shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Each host's link.
        link: Link,
    },
    /// `left` and `right` hosts on two switches joined by one link.
    Dumbbell {
        /// Hosts on the left; they come first.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Each host's link.
        link: Link,
        /// The link between the switches.
        bottleneck: Link,
    },
    /// The D3 testbed (D3 §6): 4 racks of 3 hosts under one root, and 2 traffic generators at the root.
    D3Testbed {
        /// Every link.
        link: Link,
    },
    /// Racks of hosts, each rack's switch joined to every spine.
    LeafSpine {
        /// Number of racks.
        racks: u32,
        /// Hosts in each rack.
        hosts_per_rack: u32,
        /// Spine switches.
        spines: u32,
        /// From a host to its rack's switch.
        host_link: Link,
        /// From a rack's switch to each spine.
        uplink: Link,
    },
    /// A k-ary fat-tree: k³/4 hosts.
    FatTree {
        /// Ports per switch, even.
        k: u32,
        /// Every link.
        link: Link,
    },
    /// Any graph, by names.
    Graph {
        /// Hosts, then switches; hosts are numbered in this order.
        nodes: Vec<Node>,
        /// The links.
        edges: Vec<Edge>,
    },
}

/// A full-duplex link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Capacity.
    pub rate: Rate,
    /// One-way propagation delay.
    pub latency: Span,
    /// Probability that a packet is lost on it, each way, in [0, 1).
    pub loss: f64,
}

/// A node of [`Topology::Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// A host, or a switch.
    pub host: bool,
}

/// An edge of [`Topology::Graph`], by indices into its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// The link.
    pub link: Link,
}

/// Every switch port.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Memory for packets.
    pub buffer: Buffer,
    /// Packets are marked when at least this much is queued, the packet in service included. Used by transports
    /// with ECN: (link rate, threshold) pairs, sorted, the first at rate 0; a port takes the last at or below its own.
    pub ecn_threshold: Vec<(Rate, Amount)>,
}

/// How a switch's memory is given out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// Each port has its own.
    Static(Amount),
    /// One pool per switch; a port may hold up to `alpha × free` (Choudhury and Hahne, 1998).
    Dynamic {
        /// Memory of the switch.
        pool: Bytes,
        /// Share of the free memory that one port may hold.
        alpha: f64,
    },
}

/// An amount of queue, in the unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

/// Every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// How the NIC takes packets from the flows.
    pub nic: Nic,
    /// Bytes added to each packet's IP length on the wire: 0, or 38 for Ethernet with preamble and gap.
    pub frame_overhead: u32,
    /// Senders start with a jitter of U[0, one packet time] when true.
    pub start_jitter: bool,
    /// Each packet leaves its host later by U[0, this), out of the gap behind it; 0 to 1 ms.
    pub send_jitter: Span,
}

/// How the NIC takes packets from the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// It pulls: acknowledgements first, then ready flows in turn.
    Pull,
    /// A plain unlimited queue.
    Fifo,
}

/// One workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name in tables; `kind`, or `kind-2` … where not given.
    pub name: String,
    /// What it does.
    pub kind: WorkloadKind,
    /// The transport that these flows use whatever the compared one is, with its options; `None`: the compared one.
    pub transport: Option<Transport>,
    /// Whether flows between the same two hosts share one long-lived connection.
    pub connection: Connection,
}

impl Workload {
    /// The trees, if it has trees.
    pub fn oldi(&self) -> Option<&Oldi> {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => Some(oldi),
            _ => None,
        }
    }
}

/// Whether a flow opens its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// One per flow, with handshake and FIN.
    PerFlow,
    /// One per (workload, sender, receiver), opened on first use.
    Persistent,
}

/// What a workload does.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadKind {
    /// Partition-aggregate trees.
    Oldi(Oldi),
    /// `senders` flows to one receiver, all at `at`, repeated `repeat` times every `every`.
    Burst {
        /// Flows at once, each from a host of its own.
        senders: u32,
        /// The receiving host; `None`: drawn.
        receiver: Option<u32>,
        /// The sending hosts; `None`: drawn among all but the receiver.
        from: Option<Vec<u32>>,
        /// Bytes of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// The first burst.
        at: Span,
        /// How often, at least 1.
        repeat: u32,
        /// From burst to burst.
        every: Span,
        /// Each flow starts later by U[0, jitter], drawn anew in each burst; at most `every` where bursts repeat.
        jitter: Span,
    },
    /// Poisson arrivals between uniformly random hosts, at `load` of all host links (or `rate` flows per second).
    Poisson {
        /// Bytes of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// How many flows.
        intensity: Intensity,
        /// To whom.
        destination: Destination,
    },
    /// `count` sources, each starting flows one after another: the gap runs from start to start (`every`).
    Background {
        /// Sources, each at a random host.
        count: u32,
        /// Bytes of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// From start to start at one source.
        every: Gap,
        /// Position of an earlier workload of trees: source i sends to the root of its tree i, in turn. None: each
        /// flow goes to a random host.
        to_roots_of: Option<usize>,
    },
    /// Each host sends one flow to another, so that every host sends and receives exactly one.
    Permutation {
        /// Bytes of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// When all start.
        at: Span,
    },
    /// Flows that never end, between given hosts.
    Long {
        /// (from, to) hosts.
        pairs: Vec<(u32, u32)>,
        /// When all start.
        at: Span,
        /// Each flow starts later by U[0, jitter].
        jitter: Span,
    },
    /// Given flows.
    Trace {
        /// Sorted by start.
        flows: Vec<TraceFlow>,
    },
}

/// Partition-aggregate trees ("online data-intensive": D2TCP §2, D3 §2.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Oldi {
    /// Number of applications; application i takes entry i (modulo the length) of every list below.
    pub applications: u32,
    /// Trees per application.
    pub trees: u32,
    /// Children per node, one entry per layer, the root's first.
    pub fan_in: Vec<u32>,
    /// Size of a query packet's message.
    pub query: Bytes,
    /// Size of each answer, one entry per application.
    pub response: Vec<Size>,
    /// Deadline of each answer, one entry per application; deeper layers take `layer_share` of it.
    pub deadline: Vec<Deadline>,
    /// Deadline of layer i's answers as a share of the query's whole budget; 1 for the first layer.
    pub layer_share: Vec<f64>,
    /// When the deadline's clock starts.
    pub deadline_from: DeadlineFrom,
    /// Whether queries carry the deadline as flows of their own.
    pub query_deadline: Deadline,
    /// Arrivals of queries at each tree.
    pub arrival: QueryArrival,
    /// Computation time of a leaf before it answers.
    pub compute: Gap,
    /// Extra random delay of a leaf's answer (jitter).
    pub jitter: Gap,
    /// An answer is complete when this share of the children has answered, in (0, 1].
    pub complete_at: f64,
    /// What its owner wants of a query.
    pub objective: Objective,
    /// When an aggregator stops waiting for its children.
    pub give_up: GiveUp,
    /// Hosts may play several roles at once; otherwise each host has at most one.
    pub share_hosts: bool,
}

impl Oldi {
    /// The budget of an application's queries, from their arrival at the root; `None`: each leaf's answer has its own
    /// deadline.
    pub fn budget(&self, application: usize) -> Option<Span> {
        let within = &self.objective.within;
        within.get(application % within.len().max(1)).copied()
    }

    /// Whether anything says when an application's query is late.
    pub fn is_judged(&self, application: usize) -> bool {
        let deadline = self.deadline.get(application % self.deadline.len().max(1));
        self.budget(application).is_some() || deadline.is_some_and(|of| *of != Deadline::None)
    }
}

/// What the owner of a service wants of a query: enough answers soon enough, for most queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Budget of a query, from its arrival at the root, one entry per application. Empty: none of its own; each leaf's
    /// answer is then judged by its own deadline, where it has one.
    pub within: Vec<Span>,
    /// Share of the leaves whose answers must be at the root, in (0, 1]. Aggregators hand on what they hold.
    pub answers: f64,
    /// Share of the queries that shall be in time, in (0, 1]; `None`: no target.
    pub share: Option<f64>,
}

/// When an aggregator that still lacks answers stops waiting and answers with what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// At the last of its children's deadlines, counting from when it got the query.
    Children,
    /// At its own answer's deadline, counting from when its parent got the query.
    Own,
    /// Never.
    Never,
    /// This long after it got the query.
    After(Span),
}

/// When the deadline's clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineFrom {
    /// When the parent gets the query: computing eats into it.
    Query,
    /// When the leaf submits its answer.
    Response,
}

/// Arrivals of queries at one tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryArrival {
    /// At this share of the parent's access link (offered answer bytes on the wire / its rate).
    Load {
        /// Mean share, in (0, 1).
        load: f64,
        /// Poisson arrivals; otherwise periodic.
        poisson: bool,
        /// Every tree offers `load`; otherwise all trees ask equally often and offer it in the mean.
        each_tree: bool,
    },
    /// A fixed or random gap.
    Every(Gap),
    /// As soon as the previous answer is complete.
    BackToBack,
}

/// A random or fixed span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always this.
    Fixed(Span),
    /// Uniform between the two.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
}

/// How many flows a Poisson workload offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Mean share of each sender's access link, in wire bytes.
    Load(f64),
    /// Flows per second in total.
    FlowsPerSecond(f64),
}

/// Whom a Poisson workload sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Any other host.
    Uniform,
    /// Always this host, from all others.
    Host(u32),
}

/// Flow sizes, in bytes of application data.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Always this.
    Fixed(Bytes),
    /// Uniform between the two, both included.
    Uniform(Bytes, Bytes),
    /// A piecewise-linear CDF: (bytes, probability), neither falling, from probability 0 to 1; two points of equal
    /// size are a jump.
    Cdf {
        /// The published name, or the file.
        name: String,
        /// (bytes, probability).
        points: Vec<(f64, f64)>,
    },
}

/// Deadlines, relative to their clock's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deadline {
    /// None.
    None,
    /// `base + U[0, added × base]`; fixed when `added` is 0.
    Added {
        /// The shortest.
        base: Span,
        /// Share of `base` that is added at most.
        added: f64,
    },
    /// `base × (1 + U[-v, v])`.
    Around {
        /// The mean.
        base: Span,
        /// v, below 1.
        variation: f64,
    },
    /// `max(floor, Exp(mean))`.
    Exponential {
        /// Mean before the floor.
        mean: Span,
        /// The shortest.
        floor: Span,
    },
    /// `base + Exp(mean)`.
    AddedExponential {
        /// The shortest.
        base: Span,
        /// Mean of what is added.
        mean: Span,
    },
}

impl Deadline {
    /// The time, if it is always the same.
    pub fn fixed(&self) -> Option<Span> {
        match *self {
            Self::Added { base, added: 0.0 } => Some(base),
            _ => None,
        }
    }

    /// The times that it is made of. Variations that are shares of one follow it.
    pub fn spans_mut(&mut self) -> impl Iterator<Item = &mut Span> {
        let (one, other) = match self {
            Self::None => (None, None),
            Self::Added { base, .. } | Self::Around { base, .. } => (Some(base), None),
            Self::Exponential { mean, floor } => (Some(mean), Some(floor)),
            Self::AddedExponential { base, mean } => (Some(base), Some(mean)),
        };
        one.into_iter().chain(other)
    }
}

/// One flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFlow {
    /// When the application submits it.
    pub start: Span,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes.
    pub size: Bytes,
    /// Relative to `start`.
    pub deadline: Option<Span>,
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
