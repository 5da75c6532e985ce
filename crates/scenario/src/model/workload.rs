//! What the hosts do: workloads with their sizes, deadlines and gaps.

use super::Transport;
use duetime_core::{Bytes, Span};

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
    /// The strict-priority class of all its packets at every port, 0 (the highest) to 3; `None`: by deadline where its
    /// transport has classes, else 0.
    pub priority: Option<u8>,
}

impl Workload {
    /// The trees, if it has trees.
    pub fn oldi(&self) -> Option<&Oldi> {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => Some(oldi),
            _ => None,
        }
    }

    /// What its owner wants of its queries, if it has queries.
    pub fn objective(&self) -> Option<&Objective> {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => Some(&oldi.objective),
            WorkloadKind::Spans(spans) => Some(&spans.objective),
            _ => None,
        }
    }

    /// Whether anything says when one of its queries is late; `false` for workloads without queries.
    pub fn is_judged(&self) -> bool {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => {
                (0..oldi.applications as usize).any(|application| oldi.is_judged(application))
            }
            WorkloadKind::Spans(spans) => spans.is_judged(),
            _ => false,
        }
    }

    /// Whether the answers of its queries have deadlines; `false` for workloads without queries.
    pub fn answers_have_deadlines(&self) -> bool {
        match &self.kind {
            WorkloadKind::Oldi(oldi) => oldi.deadline.iter().any(|of| *of != Deadline::None),
            WorkloadKind::Spans(spans) => spans.deadline != Deadline::None,
            _ => false,
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
    /// `count` sources, each starting flows one after another.
    Background {
        /// Sources, each at a random host.
        count: u32,
        /// Bytes of each flow.
        size: Size,
        /// Deadline of each flow.
        deadline: Deadline,
        /// From start to start at one source.
        every: SourceGap,
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
    /// Given queries, from spans.
    Spans(Spans),
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
    /// Size of each answer, one entry per application; empty where `layer_response` has the sizes.
    pub response: Vec<Size>,
    /// Size of each layer's answers, those of the root's children first; empty where `response` has the sizes.
    pub layer_response: Vec<Size>,
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
    /// From the moment an aggregator holds what it waits for, or gives up, to the moment its answer leaves.
    pub aggregate_compute: Gap,
    /// Extra random delay of a leaf's answer (jitter).
    pub jitter: Gap,
    /// An answer is complete when this share of the children has answered, in (0, 1].
    pub complete_at: f64,
    /// What its owner wants of a query.
    pub objective: Objective,
    /// When an aggregator stops waiting for its children.
    pub give_up: GiveUp,
    /// Whether and when a leaf that is slow to answer is asked a second time, at another host.
    pub hedge: Option<Hedge>,
    /// Whether and when a leaf that has not answered is asked anew.
    pub retry: Option<Retry>,
    /// Whether a parent with enough answers of its leaves cancels the others.
    pub cancel_spares: bool,
    /// Hosts may play several roles at once; otherwise each host has at most one.
    pub share_hosts: bool,
}

impl Oldi {
    /// The size of an application's answers to nodes at this depth; the root's is 0.
    ///
    /// # Panics
    /// If neither `response` nor `layer_response` has an entry for it.
    pub fn answer(&self, application: usize, depth: usize) -> &Size {
        match &self.layer_response[..] {
            [] => &self.response[application % self.response.len()],
            layers => &layers[depth],
        }
    }

    /// Whether leaves may be asked more than once for a query.
    pub fn asks_again(&self) -> bool {
        self.hedge.is_some() || self.retry.is_some()
    }

    /// Whether parents keep account of each leaf's answer: they may ask it again, or cancel it.
    pub fn follows_leaves(&self) -> bool {
        self.asks_again() || self.cancel_spares
    }

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

/// Recorded queries, each with its own tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Spans {
    /// Sorted by start.
    pub queries: Vec<RecordedQuery>,
    /// Deadline of each answer; an answer d links below the root of a tree of n layers takes (n − d + 1) / n of it.
    pub deadline: Deadline,
    /// When the deadline's clock starts.
    pub deadline_from: DeadlineFrom,
    /// An answer is complete when this share of the children has answered, in (0, 1].
    pub complete_at: f64,
    /// What its owner wants of a query: at most one budget.
    pub objective: Objective,
    /// When an aggregator stops waiting for its children.
    pub give_up: GiveUp,
    /// Requests whose spans start before their parent's or end after it. Only their durations count.
    pub outside: u64,
}

impl Spans {
    /// Whether anything says when a query is late.
    pub fn is_judged(&self) -> bool {
        !self.objective.within.is_empty() || self.deadline != Deadline::None
    }

    /// Whether some answers reach their root through others.
    pub fn has_aggregators(&self) -> bool {
        let below = self.queries.iter().flat_map(|query| &query.nodes[1..]);
        below.into_iter().any(|node| node.children > 0)
    }
}

/// One query as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedQuery {
    /// When it arrives at its root.
    pub start: Span,
    /// From then until its root's span ended, as recorded. A replay does not read it.
    pub took: Span,
    /// Its tree, breadth first: the root, then its children, then theirs. At least two nodes.
    pub nodes: Vec<RecordedNode>,
}

/// One node of a recorded tree: the request to it, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedNode {
    /// Position of its parent among the nodes, before its own; the root has 0.
    pub parent: u32,
    /// Nodes that it asks.
    pub children: u32,
    /// Its host, never its parent's; `None` in all nodes: hosts are drawn.
    pub host: Option<u32>,
    /// Size of the request to it; of no meaning at the root.
    pub request: Bytes,
    /// Size of its answer; of no meaning at the root.
    pub response: Bytes,
    /// Its own computation: between the request and the answer of a leaf; of another node, between the last answer that
    /// it waits for and its own. At the root it delays nothing.
    pub compute: Span,
    /// Duration of its span, as recorded. A replay does not read it.
    pub took: Span,
    /// Time from the start of its span to the end of its last request, as recorded; longer than `took` if it answered before.
    /// A replay does not read it.
    pub waited: Span,
    /// Time by which its span is shorter than its client's, as recorded: the request and the answer were in the network. `None`
    /// without a span of its client. A replay does not read it.
    pub network: Option<Span>,
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

/// A second question to another host while the first is open; the first answer counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hedge {
    /// How long after the first question.
    pub after: HedgeAfter,
    /// Whether the host that lost is told to stop.
    pub cancel: bool,
    /// Answer times that a parent needs for a percentile; declared ones stand in for those that it has not seen yet.
    pub samples: u32,
    /// The latest answer times of a parent whose percentile it is.
    pub window: u32,
}

/// When a hedge is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HedgeAfter {
    /// After a fixed time.
    Time(Span),
    /// After this percentile, in (0, 1), of the answer times that the parent has seen.
    Percentile(f64),
    /// Never.
    Never,
}

/// Questions that are asked anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How long a parent waits for the answer to each question.
    pub timeout: Span,
    /// How often it asks anew, at least once.
    pub times: u32,
    /// Whom it asks.
    pub at: RetryAt,
    /// Whether the host that did not answer is told to stop, and its answer no longer taken.
    pub cancel: bool,
}

/// Whom a retry goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAt {
    /// Another host.
    Other,
    /// The same host.
    Same,
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
#[derive(Clone, Debug, PartialEq)]
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

/// A random or fixed span. Draws are at most 24 h.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// Always this.
    Fixed(Span),
    /// Uniform between the two.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Its logarithm is normal.
    LogNormal {
        /// Half of the draws are shorter.
        median: Span,
        /// Standard deviation of the logarithm (natural), above 0.
        sigma: f64,
    },
    /// Longer than t with probability (least / t)^shape.
    Pareto {
        /// The shortest, above zero.
        least: Span,
        /// How fast the tail falls, above 0; at 1 or below, only `most` gives it a mean.
        shape: f64,
        /// Longer draws take this long.
        most: Option<Span>,
    },
    /// A piecewise-linear CDF: (picoseconds, probability), as in [`Size::Cdf`].
    Cdf {
        /// The file, or `points`.
        name: String,
        /// (picoseconds, probability).
        points: Vec<(f64, f64)>,
    },
}

impl Gap {
    /// None at all.
    pub const ZERO: Self = Self::Fixed(Span::ZERO);
}

/// How many flows a Poisson workload offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Mean share of each sender's access link, in wire bytes.
    Load(f64),
    /// Flows per second in total.
    FlowsPerSecond(f64),
}

/// From the start of a source's flow to the start of its next.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceGap {
    /// This gap.
    Given(Gap),
    /// An exponential one, at which the source offers this mean share of its host's access link, in wire bytes.
    AtLoad(f64),
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

impl Size {
    /// The largest size that can be drawn, in bytes.
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
