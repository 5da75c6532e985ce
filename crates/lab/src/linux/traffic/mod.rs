//! The workloads of a scenario on real sockets, in real time.
//!
//! One thread serves the applications of all hosts: it enters a host's namespace to make a socket there, and waits for
//! all sockets at once. The workloads' sources are the simulator's ([`Workloads`]); only what carries a message differs.
//! Both ends of a connection are in this process, so what a message is for need not travel with its bytes: the bytes on
//! the wire are the scenario's.

mod connection;
mod d3;
mod datagrams;
mod listening;
mod tcp;
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
use duetime_sim::workload::{Actions, Message, Workloads, add_notes, mark_spare};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::namespace::Namespace;
use crate::linux::transport::Stack;
use connection::{Connections, Waiting};
use datagrams::Datagrams;
use duetime_switch::D3Report;
use listening::Listeners;
use wakes::Wakes;

/// The token of the timer.
const TIMER: u64 = u64::MAX;
/// Bytes that are written or read at once.
const BLOCK: usize = 256 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// What traffic needs to know.
pub struct Given<'a> {
    /// The scenario, scaled.
    pub scenario: &'a Scenario,
    /// Its network.
    pub network: &'a Network,
    /// The random streams of the run.
    pub streams: Streams,
    /// Per transport in use: what it runs on; entry 0 is the one compared.
    pub stacks: &'a [Stack],
    /// Per workload: its transport.
    pub workload_stack: &'a [usize],
    /// The hosts' namespaces.
    pub hosts: &'a [Namespace],
    /// Whether the kernel counts timeouts.
    pub long_info: bool,
    /// Where to say how far the run is, and where to be told to stop.
    pub progress: Option<Arc<Progress>>,
}

/// What the applications leave behind.
#[derive(Debug, Default)]
pub struct Left {
    /// By `flow`.
    pub flows: Vec<FlowRecord>,
    /// By `query`.
    pub queries: Vec<QueryRecord>,
    /// When the run ended.
    pub end: Time,
    /// How late wake-ups of the workloads were.
    pub lateness: Lateness,
    /// Connections that were opened.
    pub connections: u64,
    /// Of those whose controller answers marks: how many had ECN negotiated.
    pub with_ecn: u64,
    /// Of those whose controller answers marks.
    pub asked_for_ecn: u64,
    /// Deadlines given to the kernel.
    pub deadlines_set: u64,
    /// What went wrong with connections; the first few.
    pub failures: Vec<String>,
    /// What D3's allocators of the hosts' uplinks held when the run ended, and after its flows had ended too; by host.
    pub uplinks: Option<[Vec<D3Report>; 2]>,
}

/// The applications of all hosts.
pub struct Traffic<'a> {
    given: Given<'a>,
    workloads: Workloads,
    actions: Actions,
    epoll: Epoll,
    wakes: Wakes,
    listeners: Listeners,
    connections: Connections,
    datagrams: Option<Datagrams>,
    /// The namespace that this thread is in.
    inside: Option<u32>,
    /// Measured flows and queries that the run still waits for.
    open: i64,
    /// Answers that came for nothing, by flow.
    spare: Vec<u64>,
    left: Left,
    block: Vec<u8>,
}

impl<'a> Traffic<'a> {
    /// Opens every host's listening sockets. The calling thread moves between the hosts' namespaces from here on.
    pub fn new(given: Given<'a>) -> Result<Self, LabError> {
        let workloads = Workloads::new(given.scenario, given.network, &given.streams)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(LabError::system("make an epoll instance"))?;
        let wakes = Wakes::new(&epoll)?;
        let listeners = Listeners::open(&given, &epoll)?;
        let datagrams = Datagrams::open(&given, &epoll)?;
        Ok(Self {
            given,
            workloads,
            actions: Actions::default(),
            epoll,
            wakes,
            listeners,
            connections: Connections::default(),
            datagrams,
            inside: None,
            open: 0,
            spare: Vec::new(),
            left: Left::default(),
            block: vec![0; BLOCK],
        })
    }

    /// Runs the workloads from the start of `clock` to the end of the run. `tick` is called at each time that it asked
    /// for, and at the end.
    pub fn run(
        mut self,
        clock: Clock,
        tick: &mut dyn FnMut(Time) -> Option<Time>,
    ) -> Result<Left, LabError> {
        let scenario = self.given.scenario;
        let stop = Time::ZERO + scenario.duration;
        let cut = stop + scenario.drain;
        let has_long_flows = scenario
            .workloads
            .iter()
            .any(|of| matches!(of.kind, WorkloadKind::Long { .. }));
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
                self.left.lateness.add(now.since(wake.at));
                // The clock moves on while calls are made.
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
                self.datagrams.as_ref().map(Datagrams::next_timeout),
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
        self.left.end = end;
        self.linger(clock, &mut events)?;
        self.end_datagrams(clock, &mut events)?;
        Ok(self.finish())
    }

    fn report(&self, now: Time) -> bool {
        let Some(progress) = &self.given.progress else {
            return true;
        };
        progress.simulated_ps.store(now.as_ps(), Ordering::Relaxed);
        let open = u64::try_from(self.open).unwrap_or(0);
        progress.open_flows.store(open, Ordering::Relaxed);
        !progress.cancel.load(Ordering::Relaxed)
    }

    /// Calls the workloads and does what they ask for.
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

    /// The application submits a message to its connection.
    fn submit(&mut self, now: Time, message: Message) -> Result<(), LabError> {
        let record = self.left.flows.len();
        self.left.flows.push(message.record());
        self.open += i64::from(is_waited_for(&message));
        let workload = usize::from(message.workload);
        let stack = &self.given.stacks[self.given.workload_stack[workload]];
        if let (Stack::D3(stack), Some(datagrams)) = (stack, &mut self.datagrams) {
            self.left.connections += 1;
            datagrams.submit(now, stack, Waiting { record, message });
            return Ok(());
        }
        self.submit_to_connection(now, Waiting { record, message })
    }

    fn event(&mut self, clock: Clock, event: &EpollEvent) -> Result<(), LabError> {
        let token = event.data();
        if token == TIMER {
            self.wakes.acknowledge();
            return Ok(());
        }
        if let Some(listener) = listening::of_token(token) {
            return self.accept(listener);
        }
        if let Some(host) = Datagrams::of_token(token) {
            self.mark_ready(host);
            return Ok(());
        }
        self.connection_event(clock, event)
    }

    /// A message is complete: its record is, and its workload hears of it.
    fn complete(&mut self, now: Time, waiting: &Waiting) -> Result<(), LabError> {
        let Waiting { record, message } = waiting;
        let flow = &mut self.left.flows[*record];
        flow.finish = Some(now);
        flow.delivered_bytes = flow.size_bytes;
        self.open -= i64::from(is_waited_for(message));
        let message = message.clone();
        self.call(now, |workloads, actions| {
            workloads.delivered(now, &message, actions);
        })
    }

    /// Completes the records.
    fn finish(mut self) -> Left {
        self.count_connections();
        self.left.queries = self.workloads.take_queries();
        self.left.queries.sort_unstable_by_key(|query| query.query);
        add_notes(&mut self.left.queries, self.workloads.take_notes());
        self.left.flows.sort_unstable_by_key(|flow| flow.flow);
        mark_spare(&mut self.left.flows, self.spare);
        self.left
    }
}

impl Left {
    fn fail(&mut self, what: String) {
        const KEPT: usize = 16;
        if self.failures.len() < KEPT {
            self.failures.push(what);
        }
    }
}

/// Whether the run waits for the end of a message.
fn is_waited_for(message: &Message) -> bool {
    message.measured && message.class != Class::Long
}
