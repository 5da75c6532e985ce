//! Workloads, with their sizes, deadlines and gaps.

use super::Transport;
use duetime_core::{Bytes, Span};

/// Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name in tables; by default `kind`, `kind-2`, …
    pub name: String,
    /// Kind of traffic.
    pub kind: WorkloadKind,
    /// Transport of these flows, regardless of the compared one; `None`: the compared one.
    pub transport: Option<Transport>,
    /// Connections of the flows.
    pub connection: Connection,
    /// Strict-priority class of all packets at every port, 0 (the highest) to 3; `None`: by deadline if the transport
    /// has classes, else 0.
    pub priority: Option<u8>,
}

impl Workload {
    /// Returns the trees, or `None` if the workload has none.
    pub fn oldi(&self) -> Option<&Oldi> {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => Some(oldi),
            _ => None,
        }
    }

    /// Returns the objective of the queries, or `None` if the workload has none.
    pub fn objective(&self) -> Option<&Objective> {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => Some(&oldi.objective),
            WorkloadKind::Spans(spans) => Some(&spans.objective),
            _ => None,
        }
    }

    /// Returns true if the workload has queries that can be late: they have a budget, or their answers have deadlines.
    pub fn can_be_late(&self) -> bool {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => {
                (0..oldi.applications as usize).any(|application| oldi.can_be_late(application))
            }
            WorkloadKind::Spans(spans) => spans.can_be_late(),
            _ => false,
        }
    }

    /// Returns true if the workload has queries with deadlines of their answers.
    pub fn answers_have_deadlines(&self) -> bool {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => oldi
                .deadline
                .iter()
                .any(|deadline| *deadline != Deadline::None),
            WorkloadKind::Spans(spans) => spans.deadline != Deadline::None,
            _ => false,
        }
    }
}

/// Use of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// One connection per flow, with handshake and FIN.
    PerFlow,
    /// One connection per (workload, sender, receiver).
    Persistent,
}

/// Kind of traffic of a workload.
#[expect(
    clippy::large_enum_variant,
    reason = "a scenario has few workloads, and trees are the usual one"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadKind {
    /// Partition-aggregate trees.
    Oldi(Oldi),
    /// `senders` flows to one receiver, all at `at`, repeated `repeat` times every `every`.
    Burst {
        /// Flows per burst.
        senders: u32,
        /// Receiving host; `None`: drawn.
        receiver: Option<u32>,
        /// Sending hosts; `None`: drawn from all except the receiver.
        from: Option<Vec<u32>>,
        /// Size of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// Start of the first burst.
        at: Span,
        /// Number of bursts, at least 1.
        repeat: u32,
        /// Time between the starts of bursts.
        every: Span,
        /// Additional delay of each flow's start, U[0, jitter], drawn for each burst; at most `every` if bursts repeat.
        jitter: Span,
    },
    /// Poisson arrivals between uniformly random hosts, at `load` of all host links (or `rate` flows per second).
    Poisson {
        /// Size of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// Number of flows.
        intensity: Intensity,
        /// Receiving hosts.
        destination: Destination,
    },
    /// `count` sources that start flows one after another.
    Background {
        /// Number of sources, each at a random host.
        count: u32,
        /// Size of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// Time between the starts of a source's flows.
        every: SourceGap,
        /// Index of an earlier workload of trees: source i sends to the root of tree i, repeating the trees. `None`:
        /// each flow goes to a random host.
        to_roots_of: Option<usize>,
    },
    /// Every host sends exactly one flow and receives exactly one.
    Permutation {
        /// Size of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// Start of all flows.
        at: Span,
    },
    /// Flows without an end, between given hosts.
    Long {
        /// (from, to) hosts.
        pairs: Vec<(u32, u32)>,
        /// Start of all flows.
        at: Span,
        /// Additional delay of each flow's start, U[0, jitter].
        jitter: Span,
    },
    /// Flows from a trace.
    Trace {
        /// Flows, sorted by start.
        flows: Vec<TraceFlow>,
    },
    /// Queries from recorded spans.
    Spans(Spans),
}

/// Partition-aggregate trees ("online data-intensive": D2TCP §2, D3 §2.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Oldi {
    /// Number of applications. Application i uses entry i (modulo the length) of every list by application.
    pub applications: u32,
    /// Trees per application.
    pub trees: u32,
    /// Children per node, one entry per layer, the root's first.
    pub fan_in: Vec<u32>,
    /// Size of a query.
    pub query: Bytes,
    /// Size of each answer, one entry per application; empty if `layer_response` has the sizes.
    pub response: Vec<Size>,
    /// Size of each layer's answers, those of the root's children first; empty if `response` has the sizes.
    pub layer_response: Vec<Size>,
    /// Deadline of each answer, one entry per application. Deeper layers have `layer_share` of it.
    pub deadline: Vec<Deadline>,
    /// Deadline of layer i's answers as a share of `deadline`; 1 for the first layer.
    pub layer_share: Vec<f64>,
    /// Start of the deadline.
    pub deadline_from: DeadlineFrom,
    /// Deadline of the query messages.
    pub query_deadline: Deadline,
    /// Arrivals of queries at each tree.
    pub arrival: QueryArrival,
    /// Computation time of a leaf before it answers.
    pub compute: Gap,
    /// Computation time of an aggregator, after it has the answers that it needs or times out.
    pub aggregate_compute: Gap,
    /// Additional delay of a leaf's answer.
    pub jitter: Gap,
    /// Share of the children whose answers complete a parent's answer, in (0, 1].
    pub complete_at: f64,
    /// Objective of queries.
    pub objective: Objective,
    /// Timeout of aggregators.
    pub give_up: GiveUp,
    /// Hedging of queries to leaves, if enabled.
    pub hedge: Option<Hedge>,
    /// Retries of queries to leaves, if enabled.
    pub retry: Option<Retry>,
    /// True if a parent with enough answers of its leaves cancels the others.
    pub cancel_spares: bool,
    /// True if a host may have several roles at the same time.
    pub share_hosts: bool,
}

impl Oldi {
    /// Returns the size of an application's answers to nodes at this depth; the root's depth is 0.
    ///
    /// # Panics
    /// If neither `response` nor `layer_response` has an entry.
    pub fn answer(&self, application: usize, depth: usize) -> &Size {
        match &self.layer_response[..] {
            [] => &self.response[application % self.response.len()],
            layers => &layers[depth],
        }
    }

    /// Returns true if the trees have hedges or retries.
    pub fn has_hedges_or_retries(&self) -> bool {
        self.hedge.is_some() || self.retry.is_some()
    }

    /// Returns true if parents track each leaf's answer, because they may hedge, retry or cancel it.
    pub fn tracks_leaves(&self) -> bool {
        self.has_hedges_or_retries() || self.cancel_spares
    }

    /// Returns the budget of an application's queries, from their arrival at the root, or `None` if each leaf's answer
    /// has its own deadline.
    pub fn budget(&self, application: usize) -> Option<Span> {
        let within = &self.objective.within;
        within.get(application % within.len().max(1)).copied()
    }

    /// Returns true if an application's queries can be late.
    pub fn can_be_late(&self, application: usize) -> bool {
        let deadline = self.deadline.get(application % self.deadline.len().max(1));
        self.budget(application).is_some()
            || deadline.is_some_and(|deadline| *deadline != Deadline::None)
    }
}

/// Recorded queries, each with its own tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Spans {
    /// Queries, sorted by start.
    pub queries: Vec<RecordedQuery>,
    /// Deadline of each answer. In a tree of n layers, answers of layer i have (n − i + 1) / n of it.
    pub deadline: Deadline,
    /// Start of the deadline.
    pub deadline_from: DeadlineFrom,
    /// Share of the children whose answers complete a parent's answer, in (0, 1].
    pub complete_at: f64,
    /// Objective of queries, with at most one budget.
    pub objective: Objective,
    /// Timeout of aggregators.
    pub give_up: GiveUp,
    /// Number of requests with spans that start before their parent's or end after it. Only their durations count.
    pub outside: u64,
}

impl Spans {
    /// Returns true if queries can be late.
    pub fn can_be_late(&self) -> bool {
        !self.objective.within.is_empty() || self.deadline != Deadline::None
    }

    /// Returns true if a query has aggregators.
    pub fn has_aggregators(&self) -> bool {
        let below = self.queries.iter().flat_map(|query| &query.nodes[1..]);
        below.into_iter().any(|node| node.children > 0)
    }
}

/// Recorded query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedQuery {
    /// Arrival at the root.
    pub start: Span,
    /// Recorded time from `start` to the end of the root's span. A replay ignores it.
    pub took: Span,
    /// Nodes of the tree, breadth first: the root, its children, their children, … At least two nodes.
    pub nodes: Vec<RecordedNode>,
}

/// Node of a recorded tree, with the request to it and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedNode {
    /// Index of the parent, smaller than the node's own; 0 for the root.
    pub parent: u32,
    /// Number of children.
    pub children: u32,
    /// Host, different from the parent's; `None` in all nodes if hosts are drawn.
    pub host: Option<u32>,
    /// Size of the request to the node; unused at the root.
    pub request: Bytes,
    /// Size of the node's answer; unused at the root.
    pub response: Bytes,
    /// Computation of the node: of a leaf, between request and answer; of an aggregator, between the last answer that
    /// it waits for and its own answer. Unused at the root.
    pub compute: Span,
    /// Recorded duration of the span. A replay ignores it.
    pub took: Span,
    /// Recorded time from the start of the span to the end of its last request; longer than `took` if the node answered
    /// before. A replay ignores it.
    pub waited: Span,
    /// Recorded difference between the durations of the client's span and this span, which is the time in the network;
    /// `None` without a client's span. A replay ignores it.
    pub network: Option<Span>,
}

/// Objective of queries: enough answers within a budget, for a share of the queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Budget of a query, from its arrival at the root, one entry per application. Empty: no budget; each leaf's answer
    /// has its own deadline, if any.
    pub within: Vec<Span>,
    /// Share of the leaves whose answers must reach the root, in (0, 1]. Aggregators forward the answers that they
    /// have.
    pub answers: f64,
    /// Required share of queries in time, in (0, 1]; `None`: no target.
    pub share: Option<f64>,
}

/// Timeout after which an aggregator answers with the answers that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// At the last of its children's deadlines, from the arrival of its query.
    Children,
    /// At its own answer's deadline, from the arrival of the query at its parent.
    Own,
    /// Never.
    Never,
    /// This time after the arrival of its query.
    After(Span),
}

/// Second query to another host, sent while the first is unanswered. The first answer counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hedge {
    /// Time after the first query.
    pub after: HedgeAfter,
    /// True if the slower host is sent a cancel message.
    pub cancel: bool,
    /// Minimum number of answer times for a percentile. Missing ones are drawn from the declared distributions.
    pub samples: u32,
    /// Number of latest answer times of a parent for the percentile.
    pub window: u32,
}

/// Time at which a hedge is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HedgeAfter {
    /// After a fixed time.
    Time(Span),
    /// After this percentile, in (0, 1), of the parent's observed answer times.
    Percentile(f64),
    /// Never.
    Never,
}

/// Further queries after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Timeout of each query.
    pub timeout: Span,
    /// Maximum number of retries, at least 1.
    pub times: u32,
    /// Host of a retry.
    pub at: RetryAt,
    /// True if the host that did not answer is sent a cancel message and its answer is ignored.
    pub cancel: bool,
}

/// Host of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAt {
    /// Another host.
    Other,
    /// Same host.
    Same,
}

/// Start of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineFrom {
    /// Arrival of the query: the deadline includes computation.
    Query,
    /// Submission of the answer.
    Response,
}

/// Arrivals of queries at a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryArrival {
    /// Rate at which the answers offer this share of the parent's access link, in bytes on the wire.
    Load {
        /// Mean share, in (0, 1).
        load: f64,
        /// True for Poisson arrivals, false for periodic ones.
        poisson: bool,
        /// True if every tree offers `load`; false if all trees send queries at the same rate and offer `load` on
        /// average.
        each_tree: bool,
    },
    /// Fixed or random gap.
    Every(Gap),
    /// When the previous answer is complete.
    BackToBack,
}

/// Random or fixed time. Draws are at most 24 h.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// Fixed.
    Fixed(Span),
    /// Uniform between two bounds.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Lognormal.
    LogNormal {
        /// Median.
        median: Span,
        /// Standard deviation of the natural logarithm, above 0.
        sigma: f64,
    },
    /// Pareto: longer than t with probability (least / t)^shape.
    Pareto {
        /// Minimum, above zero.
        least: Span,
        /// Tail exponent, above 0. At 1 or below, the mean is finite only with `most`.
        shape: f64,
        /// Maximum; longer draws are reduced to it.
        most: Option<Span>,
    },
    /// Piecewise-linear CDF, as in [`Size::Cdf`].
    Cdf {
        /// Name of the file or the measured distribution, or `points`.
        name: String,
        /// Points: (picoseconds, probability).
        points: Vec<(f64, f64)>,
    },
}

impl Gap {
    /// Zero.
    pub const ZERO: Self = Self::Fixed(Span::ZERO);
}

/// Number of flows that a Poisson workload offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Mean share of each sender's access link, in bytes on the wire.
    Load(f64),
    /// Flows per second of all hosts together.
    FlowsPerSecond(f64),
}

/// Time between the starts of a source's flows.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceGap {
    /// Given gap.
    Given(Gap),
    /// Exponential gap at which the source offers this mean share of its host's access link, in bytes on the wire.
    AtLoad(f64),
}

/// Receiving hosts of a Poisson workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Any other host.
    Uniform,
    /// This host, from all others.
    Host(u32),
}

/// Flow sizes, in bytes of application data.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Fixed.
    Fixed(Bytes),
    /// Uniform between two bounds, inclusive.
    Uniform(Bytes, Bytes),
    /// Piecewise-linear CDF from probability 0 to 1, in which both columns never fall. Two points of equal size are a
    /// jump.
    Cdf {
        /// Name of the published distribution or the file, or `points`.
        name: String,
        /// Points: (bytes, probability).
        points: Vec<(f64, f64)>,
    },
}

impl Size {
    /// Returns the largest size that can be drawn, in bytes.
    pub fn largest(&self) -> u64 {
        match self {
            Self::Fixed(bytes) | Self::Uniform(_, bytes) => bytes.0,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "sizes of a CDF are at most a terabyte"
            )]
            Self::Cdf { points, .. } => points.last().map_or(0, |point| (point.0 + 0.5) as u64),
        }
    }
}

/// Deadlines, relative to their start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deadline {
    /// No deadline.
    None,
    /// `base + U[0, added × base]`; fixed when `added` is 0.
    Added {
        /// Minimum.
        base: Span,
        /// Maximum added share of `base`.
        added: f64,
    },
    /// `base × (1 + U[-v, v])`.
    Around {
        /// Mean.
        base: Span,
        /// v, below 1.
        variation: f64,
    },
    /// `max(floor, Exp(mean))`.
    Exponential {
        /// Mean before the floor.
        mean: Span,
        /// Minimum.
        floor: Span,
    },
    /// `base + Exp(mean)`.
    AddedExponential {
        /// Minimum.
        base: Span,
        /// Mean of the added time.
        mean: Span,
    },
}

impl Deadline {
    /// Returns the time if it is fixed, or else `None`.
    pub fn fixed(&self) -> Option<Span> {
        match *self {
            Self::Added { base, added: 0.0 } => Some(base),
            _ => None,
        }
    }

    /// Returns the times that define the deadline. Variations that are shares of a time scale with it.
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

/// Flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFlow {
    /// Submission by the application.
    pub start: Span,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes.
    pub size: Bytes,
    /// Deadline, from `start`.
    pub deadline: Option<Span>,
}
