//! Workloads: which hosts send how much to which hosts, when, and with which deadlines.
//!
//! A call reads and writes only state of its host, and every draw comes from a stream keyed by (workload, sender or
//! role, number of the flow or query). The hosts can therefore be split over threads in any way, each thread with its
//! own copy of [`Workloads`], without changing the messages.

mod actions;
mod arrivals;
mod context;
mod deadlines;
pub mod draw;
mod fixed;
mod message;
mod offered;
mod oldi;
mod place;
mod priority;
mod servers;
mod token;
mod trace;

use crate::SetupError;
use crate::topology::Network;
pub use actions::{Abort, Actions, Wake};
pub use arrivals::Background;
use context::{Call, Context};
pub use deadlines::{Mixture, mixture, quantile, recorded_share};
use duetime_core::Time;
use duetime_core::random::Streams;
use duetime_results::record::{Class, QueryRecord};
use duetime_results::{ServerRecord, TreeNode};
use duetime_scenario::model::{Scenario, WorkloadKind};
pub use message::Message;
pub use offered::{Mean, Offer, Pace};
pub use oldi::{Note, Trees, add_notes, mark_unneeded, needed};
use place::Place;
use priority::Priorities;

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
        let mut sources: Vec<Source> = Vec::with_capacity(scenario.workloads.len());
        let mut trees_before = 0;
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let roots_of = |workload: usize| match &sources[workload] {
                Source::Oldi(oldi) => oldi.roots(),
                _ => Vec::new(),
            };
            let place = Place {
                workload: index as u16,
                name: &workload.name,
                scenario,
                network,
                context: &context,
                trees_before,
                roots_of: &roots_of,
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
