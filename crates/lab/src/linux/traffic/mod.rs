//! The workloads of a scenario on real sockets, in real time.
//!
//! One thread serves the applications of all hosts. It enters a host's namespace to create sockets and waits for all
//! sockets at once. The workloads are the simulator's ([`Workloads`]); only the transport of messages differs. Both
//! ends of a connection are in this process, so the bytes on the wire are only the scenario's: the purpose of a message
//! is not sent.

mod connection;

mod datagrams;
mod flows;
mod listening;
mod messages;
mod tcp;
mod udp;
mod wakes;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duetime_core::Time;
use duetime_core::random::Streams;
use duetime_results::record::Class;
use duetime_results::{FlowRecord, QueryRecord};
use duetime_scenario::Scenario;
use duetime_scenario::model::WorkloadKind;
use duetime_sim::Progress;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Actions, Message, Workloads, add_notes, mark_unneeded};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::namespace::Namespace;
use crate::linux::transport::Stack;
use connection::{Connections, Waiting};
use datagrams::Carrier;
use duetime_switch::D3Report;
use flows::Flows;
use listening::Listeners;
use messages::Messages;
use wakes::Wakes;

/// Token of the timer.
const TIMER: u64 = u64::MAX;
/// Maximum number of bytes per read or write.
const BLOCK: usize = 256 * 1024;
/// Maximum number of events per `epoll_wait`.
const EVENTS: usize = 256;

/// Inputs of [`Traffic`].
pub struct Inputs<'a> {
    /// Scaled scenario.
    pub scenario: &'a Scenario,
    /// Network of the scenario.
    pub network: &'a Network,
    /// Random streams of the run.
    pub streams: Streams,
    /// Stacks in use; entry 0 belongs to the compared transport.
    pub stacks: &'a [Stack],
    /// Stack index by workload.
    pub workload_stack: &'a [usize],
    /// Namespaces of the hosts.
    pub hosts: &'a [Namespace],
    /// True if the kernel counts timeouts.
    pub long_info: bool,
    /// Progress of the run, and its cancellation.
    pub progress: Option<Arc<Progress>>,
}

/// Results of the applications.
#[derive(Debug, Default)]
pub struct Results {
    /// Flow records, by flow ID.
    pub flows: Vec<FlowRecord>,
    /// Query records, by query ID.
    pub queries: Vec<QueryRecord>,
    /// End of the run.
    pub end: Time,
    /// Lateness of the workloads' wake-ups.
    pub lateness: Lateness,
    /// Number of opened connections.
    pub connections: u64,
    /// Number of connections with ECN, among those whose controller reacts to marks.
    pub with_ecn: u64,
    /// Number of connections whose controller reacts to marks.
    pub asked_for_ecn: u64,
    /// Deadlines passed to the kernel.
    pub deadlines_set: u64,
    /// First connection failures.
    pub failures: Vec<String>,
    /// State of the D3 allocators of the hosts' uplinks at the end of the run, and after its flows have ended; by host.
    pub uplinks: Option<[Vec<D3Report>; 2]>,
}

/// The applications of all hosts.
pub struct Traffic<'a> {
    inputs: Inputs<'a>,
    workloads: Workloads,
    actions: Actions,
    epoll: Epoll,
    wakes: Wakes,
    listeners: Listeners,
    connections: Connections,
    flows: Option<Flows>,
    messages: Option<Messages>,
    /// Host whose namespace this thread is in.
    inside: Option<u32>,
    /// Number of measured flows and queries that the run waits for.
    open: i64,
    /// IDs of flows with answers that were not needed.
    spare: Vec<u64>,
    results: Results,
    block: Vec<u8>,
}

impl<'a> Traffic<'a> {
    /// Opens all listening sockets. The calling thread moves between the hosts' namespaces afterwards.
    pub fn new(inputs: Inputs<'a>) -> Result<Self, LabError> {
        let workloads = Workloads::new(inputs.scenario, inputs.network, &inputs.streams)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(LabError::system("create an epoll instance"))?;
        let wakes = Wakes::new(&epoll)?;
        let listeners = Listeners::open(&inputs, &epoll)?;
        let flows = Flows::open(&inputs, &epoll)?;
        let messages = Messages::open(&inputs, &epoll)?;
        Ok(Self {
            inputs,
            workloads,
            actions: Actions::default(),
            epoll,
            wakes,
            listeners,
            connections: Connections::default(),
            flows,
            messages,
            inside: None,
            open: 0,
            spare: Vec::new(),
            results: Results::default(),
            block: vec![0; BLOCK],
        })
    }

    /// Runs the workloads from the start of `clock` to the end of the run. Calls `tick` at each time that it requests,
    /// and at the end.
    pub fn run(
        mut self,
        clock: Clock,
        tick: &mut dyn FnMut(Time) -> Option<Time>,
    ) -> Result<Results, LabError> {
        let scenario = self.inputs.scenario;
        let stop = Time::ZERO + scenario.duration;
        let cut = stop + scenario.drain;
        let has_long_flows = scenario
            .workloads
            .iter()
            .any(|workload| matches!(workload.kind, WorkloadKind::Long { .. }));
        let mut next_tick = tick(Time::ZERO);
        self.call(Time::ZERO, |workloads, actions| {
            workloads.start(&|_| true, actions);
        })?;
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let end = loop {
            let now = clock.now();
            if next_tick.is_some_and(|at| at <= now) {
                next_tick = tick(now);
            }
            while let Some(wake) = self.wakes.due(now) {
                self.results.lateness.add(now.since(wake.at));
                // The time advances during the calls.
                let now = clock.now();
                self.call(now, |workloads, actions| {
                    workloads.wake(now, wake.host, wake.workload, wake.token, actions);
                })?;
            }
            self.drive_datagrams(clock)?;
            let sources_stopped = now >= stop || self.wakes.is_empty();
            let done = self.open == 0 && sources_stopped && (!has_long_flows || now >= stop);
            if now >= cut || done {
                break now;
            }
            if !self.report(now) {
                return Err(LabError::Stopped);
            }
            let next = [
                self.wakes.next(),
                self.flows.as_mut().map(next_timeout),
                self.messages.as_mut().map(next_timeout),
                next_tick,
                Some(cut),
                (now < stop).then_some(stop),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(cut);
            self.wakes.arm(clock, next)?;
            let count = match self.epoll.wait(&mut events, EpollTimeout::from(100_u8)) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => return Err(LabError::system("wait for sockets")(error)),
            };
            for event in &events[..count] {
                self.event(clock, event)?;
            }
        };
        tick(end);
        self.results.end = end;
        self.linger(clock, &mut events)?;
        self.end_flows(clock, &mut events)?;
        Ok(self.finish())
    }

    fn report(&self, now: Time) -> bool {
        let Some(progress) = &self.inputs.progress else {
            return true;
        };
        progress.simulated_ps.store(now.as_ps(), Ordering::Relaxed);
        let open = u64::try_from(self.open).unwrap_or(0);
        progress.open_flows.store(open, Ordering::Relaxed);
        !progress.cancel.load(Ordering::Relaxed)
    }

    /// Calls the workloads and performs their actions.
    fn call(
        &mut self,
        now: Time,
        call: impl FnOnce(&mut Workloads, &mut Actions),
    ) -> Result<(), LabError> {
        let mut actions = std::mem::take(&mut self.actions);
        call(&mut self.workloads, &mut actions);
        self.open += std::mem::take(&mut actions.awaited);
        for wake in actions.wakes.drain(..) {
            self.wakes.add(wake);
        }
        for message in actions.connects.drain(..) {
            self.open_connection(&message)?;
        }
        for message in actions.sends.drain(..) {
            self.submit(now, message)?;
        }
        self.spare.append(&mut actions.spare);
        self.actions = actions;
        Ok(())
    }

    /// Submits a message to its connection.
    fn submit(&mut self, now: Time, message: Message) -> Result<(), LabError> {
        let record = self.results.flows.len();
        self.results.flows.push(message.record());
        self.open += i64::from(is_awaited(&message));
        let workload = usize::from(message.workload);
        let stack = &self.inputs.stacks[self.inputs.workload_stack[workload]];
        let waiting = Waiting { record, message };
        match (stack, &mut self.flows, &mut self.messages) {
            (Stack::D3(stack), Some(flows), _) => {
                self.results.connections += 1;
                flows.submit(now, stack, waiting);
                Ok(())
            }
            (Stack::Due(_), _, Some(messages)) => {
                messages.submit(now, waiting);
                Ok(())
            }
            _ => self.submit_to_connection(now, waiting),
        }
    }

    fn event(&mut self, clock: Clock, event: &EpollEvent) -> Result<(), LabError> {
        let token = event.data();
        if token == TIMER {
            self.wakes.acknowledge();
            return Ok(());
        }
        if let Some(listener) = listening::from_token(token) {
            return self.accept(listener);
        }
        if self.mark_ready(token) {
            return Ok(());
        }
        self.connection_event(clock, event)
    }

    /// Marks the UDP socket of a token as readable. Returns false for other tokens.
    fn mark_ready(&mut self, token: u64) -> bool {
        let of_flows = |flows: &mut Flows| flows.mark_ready(token);
        let of_messages = |messages: &mut Messages| messages.mark_ready(token);
        self.flows.as_mut().is_some_and(of_flows) || self.messages.as_mut().is_some_and(of_messages)
    }

    /// Completes the record of a message and notifies its workload.
    fn complete(&mut self, now: Time, waiting: &Waiting) -> Result<(), LabError> {
        let Waiting { record, message } = waiting;
        let flow = &mut self.results.flows[*record];
        flow.finish = Some(now);
        flow.delivered_bytes = flow.size_bytes;
        self.open -= i64::from(is_awaited(message));
        let message = message.clone();
        self.call(now, |workloads, actions| {
            workloads.delivered(now, &message, actions);
        })
    }

    /// Completes the records.
    fn finish(mut self) -> Results {
        self.count_connections();
        self.results.queries = self.workloads.take_queries();
        self.results
            .queries
            .sort_unstable_by_key(|query| query.query);
        add_notes(&mut self.results.queries, self.workloads.take_notes());
        self.results.flows.sort_unstable_by_key(|flow| flow.flow);
        mark_unneeded(&mut self.results.flows, self.spare);
        self.results
    }
}

impl Results {
    fn fail(&mut self, failure: String) {
        const MAX: usize = 16;
        if self.failures.len() < MAX {
            self.failures.push(failure);
        }
    }
}

fn next_timeout(carrier: &mut impl Carrier) -> Time {
    carrier.datagrams().next_timeout()
}

/// Returns true if the run waits for the end of a message.
fn is_awaited(message: &Message) -> bool {
    message.measured && message.class != Class::Long
}
