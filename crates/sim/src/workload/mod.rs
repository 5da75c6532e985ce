//! Workloads: which hosts send how much to which hosts, when, and with which deadlines.
//!
//! A call reads and writes only state of its host, and every draw comes from a stream keyed by (workload, sender or
//! role, number of the flow or query). The hosts can therefore be split over threads in any way, each thread with its
//! own copy of [`Workloads`], without changing the messages.

mod arrivals;
mod context;
mod deadlines;
pub mod draw;
mod fixed;
mod offered;
mod oldi;
mod priority;
mod servers;
mod trace;

use crate::SetupError;
use crate::topology::Network;
pub use arrivals::Background;
use context::Context;
pub use deadlines::{Mixture, mixture, quantile};
use duetime_core::random::Streams;
use duetime_core::{Span, Time};
use duetime_proto::Length;
use duetime_results::record::{Class, FlowRecord, QueryRecord};
use duetime_results::{ServerRecord, TreeNode};
use duetime_scenario::model::{Connection, Scenario, WorkloadKind};
pub use offered::{Mean, Offer, Pace};
use oldi::Call;
pub use oldi::{Note, Trees, add_notes, mark_unneeded, needed, recorded_share};
use priority::Priorities;

/// A message from one application to another: a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source host × 2³² + the index of the message at that host.
    pub flow: u64,
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Purpose of the message.
    pub class: Class,
    /// Query that the message belongs to, as in [`QueryRecord::query`].
    pub query: Option<u64>,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes, at least 1; `u64::MAX` for an endless flow.
    pub bytes: u64,
    /// Time at which the application submitted the message.
    pub submitted: Time,
    /// Absolute deadline.
    pub deadline: Option<Time>,
    /// Tag for the workload's own use.
    pub tag: u32,
    /// Number of leaves whose answers the message contains; 0 unless it is an answer.
    pub leaves: u32,
    /// Number of these leaves whose answers met their own deadlines or have none.
    pub leaves_in_time: u32,
    /// Number of answers that the receiver requested in the same query, this one included; 0 unless the message is an
    /// answer.
    pub siblings: u32,
    /// Time at which the parent received the query, if the message is a query; zero otherwise.
    pub asked: Time,
    /// Time that the computation of an answer waited for a server; zero for other messages.
    pub waited: Span,
    /// True if the message is in the measurement window [warm-up, duration): a flow by its submission, a query or an
    /// answer by the arrival of its query at the root.
    pub measured: bool,
}

impl Message {
    /// Returns the length for a sender.
    pub const fn length(&self) -> Length {
        match self.bytes {
            u64::MAX => Length::Endless,
            bytes => Length::Bytes(bytes),
        }
    }

    /// Returns the record of a message that was just submitted.
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

    /// Returns the attempt that a request to a leaf, its cancellation or its answer belongs to; 0 is the first.
    fn attempt(&self) -> u32 {
        match self.class {
            Class::Query | Class::Response | Class::Cancel => oldi::attempt(self.tag),
            Class::Flow | Class::Long => 0,
        }
    }
}

/// A call that a workload requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Host at which the call is made.
    pub host: u32,
    /// Time of the call, not before the call that requested it.
    pub at: Time,
    /// Index of the workload.
    pub workload: u16,
    /// Token for the workload's own use.
    pub token: u64,
}

/// Actions that a call requests from the engine, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Messages to send now, each from the host of the call.
    pub sends: Vec<Message>,
    /// Persistent connections to open, each from the host of the call. Each is given by a message that could be its
    /// first.
    pub connects: Vec<Message>,
    /// Calls to make later, each at the host of the call.
    pub wakes: Vec<Wake>,
    /// Answers of the host of the call to abort.
    pub aborts: Vec<Abort>,
    /// Answers that arrived at the host of the call but were not needed, by [`Message::flow`].
    pub spare: Vec<u64>,
    /// Change in the number of calls that measured queries wait for. The run does not end before these calls.
    pub awaited: i64,
}

/// An answer that is no longer wanted. Its sender drops whatever is unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Host that sends the answer.
    pub host: u32,
    /// [`Message::workload`] of the answer.
    pub workload: u16,
    /// [`Message::query`] of the answer.
    pub query: Option<u64>,
    /// [`Message::tag`] of the answer.
    pub tag: u32,
}

impl Abort {
    /// Returns true if `message` is this answer.
    pub fn is_of(&self, message: &Message) -> bool {
        let key = (message.source, message.workload, message.query, message.tag);
        message.class == Class::Response && key == (self.host, self.workload, self.query, self.tag)
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
    Oldi(Trees),
    Burst(fixed::Burst),
    Permutation(fixed::Permutation),
    Long(fixed::Long),
    Poisson(arrivals::Poisson),
    Background(arrivals::Background),
    Trace(trace::Trace),
}

impl Workloads {
    /// Places every workload of the scenario on the hosts of `network`.
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
                trees_before += oldi.count();
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

    /// Requests the first wake-ups of the hosts for which `owned` returns true. Call once, at time zero.
    pub fn start(&mut self, owned: &dyn Fn(u32) -> bool, actions: &mut Actions) {
        let context = &self.context;
        for source in &self.sources {
            match source {
                Source::Oldi(source) => source.start(context, owned, actions),
                Source::Burst(source) => source.start(context, owned, actions),
                Source::Permutation(source) => source.start(context, owned, actions),
                Source::Long(source) => source.start(context, owned, actions),
                Source::Poisson(source) => source.start(context, owned, actions),
                Source::Background(source) => source.start(context, owned, actions),
                Source::Trace(source) => source.start(context, owned, actions),
            }
        }
    }

    /// Handles a requested wake-up that is due.
    pub fn wake(&mut self, now: Time, host: u32, workload: u16, token: u64, actions: &mut Actions) {
        let context = &mut self.context;
        match &mut self.sources[usize::from(workload)] {
            Source::Oldi(source) => source.wake(
                &mut Call {
                    context,
                    now,
                    actions,
                },
                token,
            ),
            Source::Burst(source) => source.wake(context, now, token, actions),
            Source::Permutation(source) => source.wake(context, now, host, actions),
            Source::Long(source) => source.wake(context, now, token, actions),
            Source::Poisson(source) => source.wake(context, now, host, token, actions),
            Source::Background(source) => source.wake(context, now, token, actions),
            Source::Trace(source) => source.wake(context, now, host, token, actions),
        }
    }

    /// Handles the delivery of a message's last byte, in order, at its destination.
    pub fn delivered(&mut self, now: Time, message: &Message, actions: &mut Actions) {
        if let Source::Oldi(source) = &mut self.sources[usize::from(message.workload)] {
            source.delivered(
                &mut Call {
                    context: &mut self.context,
                    now,
                    actions,
                },
                message,
            );
        }
    }

    /// Returns the strict-priority class of a message by its deadline, of `classes` (1 to 4); 0 is the highest. For
    /// workloads without a configured class.
    pub fn priority(&self, message: &Message, classes: u8) -> u8 {
        let workload = usize::from(message.workload);
        // An answer's deadline may count from its query's arrival, so use the drawn deadline itself.
        let relative = match &self.sources[workload] {
            Source::Oldi(source) if message.class == Class::Response => {
                source.drawn_deadline(&self.context, message)
            }
            _ => message
                .deadline
                .map(|deadline| deadline.since(message.submitted)),
        };
        self.priorities[workload].class(message.class, relative, classes)
    }

    /// Returns the tree node of a query or an answer, or `None` for other messages.
    pub fn tree_node(&self, message: &Message) -> Option<TreeNode> {
        match &self.sources[usize::from(message.workload)] {
            Source::Oldi(source) => Some(source.tree_node(&self.context, message)),
            _ => None,
        }
    }

    /// Takes the notes about queries at the hosts started in this copy. Call once, after all other calls.
    pub fn take_notes(&mut self) -> Vec<(u64, Note)> {
        let mut notes = Vec::new();
        for source in &mut self.sources {
            if let Source::Oldi(oldi) = source {
                notes.append(&mut oldi.notes);
            }
        }
        notes
    }

    /// Returns the server use of the hosts started in this copy, by host, at the end of the run. Call once, after all
    /// other calls.
    pub fn take_servers(&mut self, end: Time, network: &Network) -> Vec<(u32, ServerRecord)> {
        let name = |host| network.host_name(host).to_owned();
        let servers = self.context.servers.as_mut();
        servers.map_or_else(Vec::new, |servers| servers.records(end, name))
    }

    /// Takes the records of the queries rooted at the hosts started in this copy, by query. Call once, after all other
    /// calls.
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
    /// Returns the trees of a workload, or `None` if it has none.
    pub fn trees(&self, workload: usize) -> Option<&Trees> {
        match &self.sources[workload] {
            Source::Oldi(oldi) => Some(oldi),
            _ => None,
        }
    }

    /// Returns the sources of a workload of background flows, or `None` for other workloads.
    pub fn background(&self, workload: usize) -> Option<&Background> {
        match &self.sources[workload] {
            Source::Background(source) => Some(source),
            _ => None,
        }
    }

    /// Returns the hosts where many flows meet, each once and in the order of the scenario: roots of trees and
    /// receivers of bursts.
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

    /// Returns the bytes of headers, and of framing if it counts, of every segment.
    pub fn header(&self) -> u32 {
        self.context.header
    }
}

/// Inputs for placing a workload on the network.
struct Place<'a> {
    workload: u16,
    name: &'a str,
    scenario: &'a Scenario,
    network: &'a Network,
    context: &'a Context,
    /// Number of OLDI trees of the preceding workloads; trees are numbered across workloads.
    trees_before: u32,
    /// Sources of the preceding workloads.
    before: &'a [Source],
}

impl Place<'_> {
    fn invalid(&self, message: impl Into<String>) -> SetupError {
        SetupError::Workload {
            workload: self.name.to_owned(),
            what: message.into(),
        }
    }

    /// Returns true if flows between the same two hosts share a connection.
    fn keeps_connections(&self) -> bool {
        let workload = &self.scenario.workloads[usize::from(self.workload)];
        workload.connection == Connection::Persistent
    }

    /// Returns `host`, or an error if it does not exist. `label` names the setting.
    fn host(&self, host: u32, label: impl FnOnce() -> String) -> Result<u32, SetupError> {
        if host < self.network.hosts() {
            return Ok(host);
        }
        let last = self.network.hosts() - 1;
        Err(SetupError::NoSuchHost {
            workload: self.name.to_owned(),
            what: label(),
            host,
            last,
        })
    }

    /// Checks the two ends of a flow. `label` names the setting.
    fn ends(
        &self,
        source: u32,
        destination: u32,
        label: impl Fn() -> String,
    ) -> Result<(), SetupError> {
        self.host(source, || format!("the source of {}", label()))?;
        self.host(destination, || format!("the destination of {}", label()))?;
        if source == destination {
            return Err(SetupError::ToItself {
                workload: self.name.to_owned(),
                what: label(),
                host: source,
            });
        }
        Ok(())
    }
}

impl Source {
    fn new(kind: &WorkloadKind, place: &Place<'_>) -> Result<Self, SetupError> {
        Ok(match kind {
            WorkloadKind::Oldi(oldi) => Self::Oldi(Trees::new(oldi, place)?),
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
            WorkloadKind::Spans(spans) => Self::Oldi(Trees::recorded(spans, place)?),
            WorkloadKind::Trace { flows } => Self::Trace(trace::Trace::new(flows, place)?),
        })
    }
}
