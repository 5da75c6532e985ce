//! The workloads of a scenario on real sockets, in real time.
//!
//! One thread serves the applications of all hosts: it enters a host's namespace to make a socket there, and waits for
//! all sockets at once. The workloads' sources are the simulator's ([`Workloads`]); only what carries a message differs.
//! Both ends of a connection are in this process, so what a message is for need not travel with its bytes: the bytes on
//! the wire are the scenario's.

mod connection;
mod datagrams;
mod listening;
mod wakes;

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duetime_core::random::Streams;
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_results::{FlowRecord, QueryRecord};
use duetime_scenario::Scenario;
use duetime_scenario::model::{self, WorkloadKind};
use duetime_sim::Progress;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Actions, Message, Workloads};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::LabError;
use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::namespace::Namespace;
use crate::socket;
use crate::transport::{self, Kernel, Stack};
use connection::{Connection, Connections, Key, Part, Waiting};
use datagrams::{Datagrams, Happened};
use duetime_switch::D3Report;
use listening::Listeners;
use wakes::Wakes;

/// The token of the timer.
const TIMER: u64 = u64::MAX;
/// Bytes that are written or read at once.
const BLOCK: usize = 256 * 1024;
/// Reads of one socket before the others have their turn.
const READS: usize = 8;
/// How long the ends of connections are waited for after a run.
const LINGER: Span = Span::from_ms(200);
/// How long D3's flows may take to end after a run.
const LONGEST_END: Span = Span::from_secs(5);
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

    /// Lets D3's endpoints do what is due, and the workloads hear of it.
    fn drive_datagrams(&mut self, clock: Clock) -> Result<(), LabError> {
        loop {
            let Some(datagrams) = &mut self.datagrams else {
                return Ok(());
            };
            let happened = datagrams.drive(clock, &mut self.left.lateness)?;
            if happened.is_empty() {
                return Ok(());
            }
            for happened in happened {
                self.happened(happened)?;
            }
        }
    }

    /// Something has happened to a flow of D3's.
    fn happened(&mut self, happened: Happened) -> Result<(), LabError> {
        match happened {
            Happened::Delivered(waiting, at) => self.complete(at, &waiting)?,
            Happened::Quenched(Waiting { record, message }) => {
                self.left.flows[record].quenched = true;
                self.open -= i64::from(is_waited_for(&message));
            }
            Happened::Counted {
                record,
                statistics,
                read,
            } => {
                let flow = &mut self.left.flows[record];
                let counters = statistics.counters;
                flow.retransmits = counters.retransmits;
                flow.timeouts = counters.timeouts;
                flow.requests = counters.requests;
                flow.denials = counters.denials;
                flow.delivered_bytes = read;
            }
            Happened::Failed(failure) => self.left.fail(failure),
        }
        Ok(())
    }

    /// Gives up the flows that have not ended, and waits until D3's routers know, or have forgotten them.
    fn end_datagrams(&mut self, clock: Clock, events: &mut [EpollEvent]) -> Result<(), LabError> {
        let Some(datagrams) = &mut self.datagrams else {
            return Ok(());
        };
        let (at_end, patience) = (datagrams.uplinks(), datagrams.patience());
        for happened in datagrams.abandon(clock.now()) {
            self.happened(happened)?;
        }
        let last = clock.now() + LONGEST_END;
        let mut until = clock.now() + patience;
        while clock.now() < until.min(last) {
            self.drive_datagrams(clock)?;
            let Some(datagrams) = &self.datagrams else {
                break;
            };
            if datagrams.is_ending() {
                until = clock.now() + patience;
            }
            self.wakes
                .arm(clock, datagrams.next_timeout().min(until).min(last))?;
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(100_u8)) else {
                continue;
            };
            for event in &events[..count] {
                match Datagrams::of_token(event.data()) {
                    Some(host) => self.touch(host),
                    None if event.data() == TIMER => self.wakes.acknowledge(),
                    None => {}
                }
            }
        }
        let after = self.datagrams.as_ref().map(Datagrams::uplinks);
        self.left.uplinks = after.map(|after| [at_end, after]);
        Ok(())
    }

    fn touch(&mut self, host: u32) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.touch(host);
        }
    }

    /// Lets connections whose messages are delivered come to their end, so that the kernel's counts are complete.
    fn linger(&mut self, clock: Clock, events: &mut [EpollEvent]) -> Result<(), LabError> {
        let until = clock.now() + LINGER;
        while clock.now() < until && self.connections.some_are_ending() {
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(10_u8)) else {
                continue;
            };
            for event in &events[..count] {
                if let Some(host) = Datagrams::of_token(event.data()) {
                    self.touch(host);
                    continue;
                }
                let (part, id) = Part::of_token(event.data());
                let ending = self
                    .connections
                    .get_mut(id)
                    .is_some_and(|of| of.key.is_none() && of.is_empty());
                match part {
                    _ if !ending => {}
                    Part::Sender => self.sender_over(id),
                    Part::Receiver => self.read(clock, id)?,
                }
            }
            self.drive_datagrams(clock)?;
        }
        Ok(())
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
        for message in actions.sends.drain(..) {
            self.submit(now, message)?;
        }
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
        let persistent =
            self.given.scenario.workloads[workload].connection == model::Connection::Persistent;
        let key: Option<Key> =
            persistent.then_some((message.workload, message.source, message.destination));
        let known = key.and_then(|key| self.connections.long_lived(key));
        let id = match known {
            Some(id) => id,
            None => match self.connect(&message, key)? {
                Some(id) => id,
                None => return Ok(()),
            },
        };
        let connection = self.connections.get_mut(id).expect("it was found or made");
        connection.add(Waiting { record, message });
        // A new one tells when it is connected.
        if known.is_some() {
            self.write(now, id);
        }
        Ok(())
    }

    /// Opens a connection for a message; `None` if the kernel refuses.
    fn connect(&mut self, message: &Message, key: Option<Key>) -> Result<Option<u64>, LabError> {
        let number = self.given.workload_stack[usize::from(message.workload)];
        let Some(stack) = self.given.stacks[number].kernel() else {
            return Ok(None);
        };
        self.enter(message.source)?;
        let to = listening::address(message.destination, number);
        let class = self.class(stack, message);
        let made = socket::connecting(to, &stack.congestion_control, class);
        let sender = match made {
            Ok(sender) => sender,
            Err(error) => {
                self.left.fail(format!("connect to {to}: {error}"));
                return Ok(None);
            }
        };
        self.left.connections += 1;
        let local = sender
            .local_addr()
            .map_err(LabError::system("read a socket's address"))?;
        let id = self
            .connections
            .insert(Connection::new(sender, number, key), (local, number));
        let connection = self.connections.get_mut(id).expect("it was just made");
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let event = EpollEvent::new(flags, Part::Sender.token(id));
        self.epoll
            .add(&connection.sender, event)
            .map_err(LabError::system("watch a socket"))?;
        Ok(Some(id))
    }

    /// The strict-priority class of a message, if ports have any.
    fn class(&self, stack: &Kernel, message: &Message) -> Option<u8> {
        (transport::classes(self.given.stacks) > 1).then(|| {
            if stack.priorities > 1 {
                self.workloads.priority(message, stack.priorities)
            } else {
                0
            }
        })
    }

    fn enter(&mut self, host: u32) -> Result<(), LabError> {
        if self.inside != Some(host) {
            self.given.hosts[host as usize].enter()?;
            self.inside = Some(host);
        }
        Ok(())
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
            self.touch(host);
            return Ok(());
        }
        let (part, id) = Part::of_token(token);
        match part {
            Part::Sender => {
                let over = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
                if event.events().intersects(over) {
                    self.sender_over(id);
                } else {
                    self.write(clock.now(), id);
                }
                Ok(())
            }
            Part::Receiver => self.read(clock, id),
        }
    }

    fn accept(&mut self, listener: usize) -> Result<(), LabError> {
        while let Some((stream, peer)) = self.listeners.accept(listener)? {
            let stack = self.listeners.stack(listener);
            let Some(id) = self.connections.by_sender((peer, stack)) else {
                self.left
                    .fail(format!("a connection from {peer}, which nobody opened"));
                continue;
            };
            // The connection may be long gone again; then nobody misses it.
            let Some(connection) = self.connections.get_mut(id) else {
                continue;
            };
            if let Some(kernel) = self.given.stacks[stack].kernel()
                && let Err(error) = kernel.prepare_receiver(&stream)
            {
                self.left.fail(format!("prepare a receiver: {error}"));
            }
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP;
            let event = EpollEvent::new(flags, Part::Receiver.token(id));
            self.epoll
                .add(&stream, event)
                .map_err(LabError::system("watch a socket"))?;
            connection.receiver = Some(stream);
        }
        Ok(())
    }

    /// Writes as much as the socket takes; after the last byte of a connection's only message, ends it.
    fn write(&mut self, now: Time, id: u64) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let stack = self.given.stacks[connection.stack].kernel();
        let heeds_deadlines = stack.is_some_and(|kernel| kernel.uses_deadlines);
        match connection.write(&self.block, heeds_deadlines.then_some(now)) {
            Ok(announced) => self.left.deadlines_set += announced,
            Err(error) => {
                let failure = format!("write: {error}");
                self.left.fail(failure);
                self.drop_connection(id);
            }
        }
    }

    /// Reads what there is, and delivers the messages that are complete.
    fn read(&mut self, clock: Clock, id: u64) -> Result<(), LabError> {
        for _ in 0..READS {
            let Some(connection) = self.connections.get_mut(id) else {
                return Ok(());
            };
            let Some(receiver) = &mut connection.receiver else {
                return Ok(());
            };
            match receiver.read(&mut self.block) {
                Ok(0) => {
                    // Closing sends the other FIN, which tells the sender that all has come.
                    connection.receiver = None;
                    return Ok(());
                }
                Ok(count) => connection.received += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let failure = format!("read: {error}");
                    self.left.fail(failure);
                    self.drop_connection(id);
                    return Ok(());
                }
            }
            let now = clock.now();
            while let Some(waiting) = self
                .connections
                .get_mut(id)
                .and_then(Connection::take_delivered)
            {
                self.delivered(now, id, &waiting)?;
            }
        }
        Ok(())
    }

    /// The last byte of a message has been read at its destination.
    fn delivered(&mut self, now: Time, id: u64, waiting: &Waiting) -> Result<(), LabError> {
        let persistent = self
            .connections
            .get_mut(id)
            .is_some_and(|of| of.key.is_some());
        if persistent {
            self.count(id, waiting.record);
        }
        self.complete(now, waiting)
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

    /// Adds what the kernel counted for the connection since the last time to a flow's record.
    fn count(&mut self, id: u64, record: usize) {
        let long = self.given.long_info;
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let Ok(now) = socket::counted(&connection.sender, long) else {
            return;
        };
        let before = std::mem::replace(&mut connection.counted, now);
        let flow = &mut self.left.flows[record];
        flow.retransmits += now.retransmits.wrapping_sub(before.retransmits);
        flow.timeouts += now.timeouts.wrapping_sub(before.timeouts);
        flow.marks += now.marks.wrapping_sub(before.marks);
        let stack = self.given.stacks[connection.stack].kernel();
        if stack.is_some_and(|kernel| kernel.uses_marks) && !connection.told_ecn {
            connection.told_ecn = true;
            self.left.asked_for_ecn += 1;
            self.left.with_ecn += u64::from(now.ecn);
        }
    }

    /// The receiver has closed, or the connection failed.
    fn sender_over(&mut self, id: u64) {
        if let Some(record) = self.connections.get_mut(id).map(|of| of.record) {
            if let Some(connection) = self.connections.get_mut(id)
                && let Ok(Some(error)) = connection.sender.take_error()
            {
                self.left.fail(format!("a connection failed: {error}"));
            }
            self.count(id, record);
        }
        self.drop_connection(id);
    }

    fn drop_connection(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(id) else {
            return;
        };
        for (record, bytes) in connection.unfinished() {
            self.left.flows[record].delivered_bytes = bytes;
        }
    }

    /// Completes the records.
    fn finish(mut self) -> Left {
        for id in self.connections.ids() {
            let Some(connection) = self.connections.get_mut(id) else {
                continue;
            };
            let record = connection.record;
            for (record, bytes) in connection.unfinished() {
                self.left.flows[record].delivered_bytes = bytes;
            }
            self.count(id, record);
        }
        self.left.queries = self.workloads.take_queries();
        self.left.queries.sort_unstable_by_key(|query| query.query);
        for query in self.workloads.take_gave_up() {
            let queries = &mut self.left.queries;
            if let Ok(at) = queries.binary_search_by_key(&query, |of| of.query) {
                queries[at].gave_up += 1;
            }
        }
        self.left.flows.sort_unstable_by_key(|flow| flow.flow);
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
