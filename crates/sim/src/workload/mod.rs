//! What the hosts' applications do: who sends how much to whom, when, and by when it must be there.
//!
//! Whatever a call reads or writes belongs to the host of the call, and every draw comes from a stream named by
//! (workload, sender or role, number of the flow or query). So any split of the hosts over threads, each with its
//! own copy of [`Workloads`], gives the same messages.

mod arrivals;
mod context;
pub(crate) mod draw;
mod fixed;
mod offered;
pub(crate) mod oldi;
pub(crate) mod priority;
mod servers;
mod trace;

use crate::SetupError;
use crate::topology::Network;
pub(crate) use arrivals::Background;
use context::Context;
pub use draw::mean_gap;
use duetime_core::random::Streams;
use duetime_core::{Span, Time};
use duetime_results::record::{Class, FlowRecord, QueryRecord};
use duetime_results::{ServerRecord, TreeNode};
use duetime_scenario::model::{Connection, Scenario, WorkloadKind};
pub(crate) use offered::{Mean, Offer, Pace};
use oldi::Call;
pub use oldi::{Note, add_notes, mark_spare, needed};
use priority::Priorities;

/// One message from an application to another: a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source host × 2³² + the number of the message at that host.
    pub flow: u64,
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// What it is for.
    pub class: Class,
    /// The query that it belongs to, as in [`QueryRecord::query`].
    pub query: Option<u64>,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes, at least 1; `u64::MAX` for a flow without an end.
    pub bytes: u64,
    /// When the application submitted it.
    pub submitted: Time,
    /// Absolute deadline.
    pub deadline: Option<Time>,
    /// Private to the workload.
    pub tag: u32,
    /// Leaves whose answers it holds; 0 but for answers.
    pub leaves: u32,
    /// Of them, those whose answers came by their own deadlines, or have none.
    pub leaves_in_time: u32,
    /// Of a query on its way down: when its parent got it; zero for others.
    pub asked: Time,
    /// Time that the computation of an answer waited for a server; zero for other messages.
    pub waited: Span,
    /// In the measurement window: submitted, or, for queries and answers, asked for at the root, within [warm-up, duration).
    pub measured: bool,
}

impl Message {
    /// Its record, as long as nothing has happened to it.
    pub fn record(&self) -> FlowRecord {
        FlowRecord {
            flow: self.flow,
            workload: self.workload,
            class: self.class,
            query: self.query,
            source: self.source,
            destination: self.destination,
            size_bytes: self.bytes,
            start: self.submitted,
            deadline: self.deadline,
            measured: self.measured,
            leaves: self.leaves,
            attempt: self.attempt().into(),
            ..FlowRecord::default()
        }
    }

    /// Of a question to a leaf, its cancellation or its answer: the number of the question, 0 the first.
    fn attempt(&self) -> u32 {
        match self.class {
            Class::Query | Class::Response | Class::Cancel => oldi::attempt(self.tag),
            Class::Flow | Class::Long => 0,
        }
    }
}

/// A call that a workload asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The host at which it happens.
    pub host: u32,
    /// When; never before the call that asks.
    pub at: Time,
    /// Index of the workload.
    pub workload: u16,
    /// Private to the workload.
    pub token: u64,
}

/// What a call asks the engine to do, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Messages to send now, each from the host of the call.
    pub sends: Vec<Message>,
    /// First messages that persistent connections from the host of the call could have: open these connections.
    pub connects: Vec<Message>,
    /// Calls to make later, each at the host of the call.
    pub wakes: Vec<Wake>,
    /// Answers to abort, each of the host of the call.
    pub aborts: Vec<Abort>,
    /// Answers that came to the host of the call for nothing, by [`Message::flow`].
    pub spare: Vec<u64>,
    /// Change in how many of these calls a measured query still waits for: the run is not over before them.
    pub awaited: i64,
}

/// An answer that is no longer wanted. If it has not all been sent, its sender drops the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// The host that sends it.
    pub host: u32,
    /// Its [`Message::workload`].
    pub workload: u16,
    /// Its [`Message::query`].
    pub query: Option<u64>,
    /// Its [`Message::tag`].
    pub tag: u32,
}

impl Abort {
    /// Whether this is the answer.
    pub fn is_of(&self, message: &Message) -> bool {
        let named = (message.source, message.workload, message.query, message.tag);
        message.class == Class::Response
            && named == (self.host, self.workload, self.query, self.tag)
    }
}

/// All workloads of a scenario.
#[derive(Clone, Debug)]
pub struct Workloads {
    context: Context,
    sources: Vec<Source>,
    priorities: Vec<Priorities>,
}

#[derive(Clone, Debug)]
enum Source {
    Oldi(oldi::Oldi),
    Burst(fixed::Burst),
    Permutation(fixed::Permutation),
    Long(fixed::Long),
    Poisson(arrivals::Poisson),
    Background(arrivals::Background),
    Trace(trace::Trace),
}

impl Workloads {
    /// Places every workload on the hosts of `network`.
    pub fn new(
        scenario: &Scenario,
        network: &Network,
        streams: &Streams,
    ) -> Result<Self, SetupError> {
        if scenario.workloads.len() > usize::from(u16::MAX) {
            let value = scenario.workloads.len() as u64;
            return Err(SetupError::TooLarge {
                what: "number of workloads",
                value,
                allowed: u64::from(u16::MAX),
            });
        }
        let context = Context::new(scenario, network, *streams);
        let mut sources = Vec::with_capacity(scenario.workloads.len());
        let mut trees_before = 0;
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let place = Place {
                workload: index as u16,
                name: &workload.name,
                scenario,
                network,
                context: &context,
                trees_before,
                before: &sources,
            };
            let source = Source::new(&workload.kind, &place)?;
            if let Source::Oldi(oldi) = &source {
                trees_before += oldi.trees();
            }
            sources.push(source);
        }
        let priorities = scenario
            .workloads
            .iter()
            .map(|workload| Priorities::new(&workload.kind))
            .collect();
        Ok(Self {
            context,
            sources,
            priorities,
        })
    }

    /// The first wakes of the hosts for which `owned` is true. Called once, at time zero.
    pub fn start(&mut self, owned: &dyn Fn(u32) -> bool, actions: &mut Actions) {
        let context = &self.context;
        for source in &self.sources {
            match source {
                Source::Oldi(it) => it.start(context, owned, actions),
                Source::Burst(it) => it.start(context, owned, actions),
                Source::Permutation(it) => it.start(context, owned, actions),
                Source::Long(it) => it.start(context, owned, actions),
                Source::Poisson(it) => it.start(context, owned, actions),
                Source::Background(it) => it.start(context, owned, actions),
                Source::Trace(it) => it.start(context, owned, actions),
            }
        }
    }

    /// A wake that was asked for is due.
    pub fn wake(&mut self, now: Time, host: u32, workload: u16, token: u64, actions: &mut Actions) {
        let context = &mut self.context;
        match &mut self.sources[usize::from(workload)] {
            Source::Oldi(it) => it.wake(
                &mut Call {
                    context,
                    now,
                    actions,
                },
                token,
            ),
            Source::Burst(it) => it.wake(context, now, token, actions),
            Source::Permutation(it) => it.wake(context, now, host, actions),
            Source::Long(it) => it.wake(context, now, token, actions),
            Source::Poisson(it) => it.wake(context, now, host, token, actions),
            Source::Background(it) => it.wake(context, now, token, actions),
            Source::Trace(it) => it.wake(context, now, host, token, actions),
        }
    }

    /// The last byte of a message has been delivered in order at its destination.
    pub fn delivered(&mut self, now: Time, message: &Message, actions: &mut Actions) {
        if let Source::Oldi(it) = &mut self.sources[usize::from(message.workload)] {
            it.delivered(
                &mut Call {
                    context: &mut self.context,
                    now,
                    actions,
                },
                message,
            );
        }
    }

    /// The strict-priority class of a message by its deadline, 0 the highest, of `classes` (1 to 4); for workloads that
    /// have no class of their own.
    pub fn priority(&self, message: &Message, classes: u8) -> u8 {
        let workload = usize::from(message.workload);
        // The draw itself, where the message tells it only together with when its query came.
        let relative = match &self.sources[workload] {
            Source::Oldi(it) if message.class == Class::Response => {
                it.drawn_deadline(&self.context, message)
            }
            _ => message
                .deadline
                .map(|deadline| deadline.since(message.submitted)),
        };
        self.priorities[workload].class(message.class, relative, classes)
    }

    /// Of a query or an answer: the node below the root whose it is.
    pub fn tree_node(&self, message: &Message) -> Option<TreeNode> {
        match &self.sources[usize::from(message.workload)] {
            Source::Oldi(it) => Some(it.tree_node(&self.context, message)),
            _ => None,
        }
    }

    /// Takes what happened to queries at the hosts that were started here, away from their roots. Called once, after the
    /// last other call.
    pub fn take_notes(&mut self) -> Vec<(u64, Note)> {
        let mut notes = Vec::new();
        for source in &mut self.sources {
            if let Source::Oldi(oldi) = source {
                notes.append(&mut oldi.notes);
            }
        }
        notes
    }

    /// Returns the use of the servers of the hosts that were started here, with the indices of the hosts, at the end of the
    /// run. Called once, after the last other call.
    pub fn take_servers(&mut self, end: Time, network: &Network) -> Vec<(u32, ServerRecord)> {
        let name = |host| network.host_name(host).to_owned();
        let servers = self.context.servers.as_mut();
        servers.map_or_else(Vec::new, |servers| servers.records(end, name))
    }

    /// Takes the records of all queries rooted at the hosts that were started here, by query. Called once, after the
    /// last other call.
    pub fn take_queries(&mut self) -> Vec<QueryRecord> {
        let mut records = Vec::new();
        for source in &mut self.sources {
            if let Source::Oldi(oldi) = source {
                oldi.take_queries(&mut records);
            }
        }
        records
    }
}

impl Workloads {
    /// The trees of a workload, if it has any.
    pub(crate) fn oldi(&self, workload: usize) -> Option<&oldi::Oldi> {
        match &self.sources[workload] {
            Source::Oldi(oldi) => Some(oldi),
            _ => None,
        }
    }

    /// The sources of a workload of background flows.
    pub(crate) fn background(&self, workload: usize) -> Option<&Background> {
        match &self.sources[workload] {
            Source::Background(it) => Some(it),
            _ => None,
        }
    }

    /// The hosts where many flows meet, each once, in the order of the scenario: those that end a tree or a burst.
    pub(crate) fn sinks(&self) -> Vec<u32> {
        let mut sinks = Vec::new();
        for source in &self.sources {
            let more = match source {
                Source::Oldi(oldi) => oldi.roots(),
                Source::Burst(burst) => vec![burst.receiver()],
                _ => continue,
            };
            for host in more {
                if !sinks.contains(&host) {
                    sinks.push(host);
                }
            }
        }
        sinks
    }

    /// Bytes of headers, and framing where it counts, on every segment.
    pub(crate) fn header(&self) -> u32 {
        self.context.header
    }
}

/// What a source needs to know to settle in.
struct Place<'a> {
    workload: u16,
    name: &'a str,
    scenario: &'a Scenario,
    network: &'a Network,
    context: &'a Context,
    /// OLDI trees of the workloads before this one: trees are numbered through.
    trees_before: u32,
    /// The workloads before this one.
    before: &'a [Source],
}

impl Place<'_> {
    fn invalid(&self, what: impl Into<String>) -> SetupError {
        SetupError::Workload {
            workload: self.name.to_owned(),
            what: what.into(),
        }
    }

    /// Returns true if flows between the same two hosts share a connection.
    fn keeps_connections(&self) -> bool {
        let workload = &self.scenario.workloads[usize::from(self.workload)];
        workload.connection == Connection::Persistent
    }

    /// Checks that `host`, named by `what`, exists.
    fn host(&self, host: u32, what: impl FnOnce() -> String) -> Result<u32, SetupError> {
        if host < self.network.hosts() {
            return Ok(host);
        }
        let last = self.network.hosts() - 1;
        Err(SetupError::NoSuchHost {
            workload: self.name.to_owned(),
            what: what(),
            host,
            last,
        })
    }

    /// Checks the two ends of a flow, named by `what`.
    fn ends(
        &self,
        source: u32,
        destination: u32,
        what: impl Fn() -> String,
    ) -> Result<(), SetupError> {
        self.host(source, || format!("the source of {}", what()))?;
        self.host(destination, || format!("the destination of {}", what()))?;
        if source == destination {
            return Err(SetupError::ToItself {
                workload: self.name.to_owned(),
                what: what(),
                host: source,
            });
        }
        Ok(())
    }
}

impl Source {
    fn new(kind: &WorkloadKind, place: &Place<'_>) -> Result<Self, SetupError> {
        Ok(match kind {
            WorkloadKind::Oldi(oldi) => Self::Oldi(oldi::Oldi::new(oldi, place)?),
            WorkloadKind::Burst { .. } => Self::Burst(fixed::Burst::new(kind, place)?),
            WorkloadKind::Permutation { .. } => {
                Self::Permutation(fixed::Permutation::new(kind, place))
            }
            WorkloadKind::Long { pairs, at, jitter } => {
                Self::Long(fixed::Long::new(pairs, *at, *jitter, place)?)
            }
            WorkloadKind::Poisson { .. } => Self::Poisson(arrivals::Poisson::new(kind, place)?),
            WorkloadKind::Background { .. } => {
                Self::Background(arrivals::Background::new(kind, place)?)
            }
            WorkloadKind::Spans(spans) => Self::Oldi(oldi::Oldi::recorded(spans, place)?),
            WorkloadKind::Trace { flows } => Self::Trace(trace::Trace::new(flows, place)?),
        })
    }
}
