//! Messages over kernel TCP connections.

use std::io::{ErrorKind, Read};

use duetime_core::{Span, Time};
use duetime_scenario::model;
use duetime_sim::workload::Message;
use nix::sys::epoll::{EpollEvent, EpollFlags, EpollTimeout};

use super::connection::{Connection, Key, Part, Waiting};
use super::{Traffic, listening};
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::socket;
use crate::linux::transport::{self, Kernel};

/// Maximum number of reads of one socket before other sockets are served.
const READS: usize = 8;
/// Maximum time to wait for connections to end after a run.
const LINGER: Span = Span::from_ms(200);

impl Traffic<'_> {
    /// Submits a message to its connection: a new one, or the persistent one of its workload and hosts.
    pub(super) fn submit_to_connection(
        &mut self,
        now: Time,
        waiting: Waiting,
    ) -> Result<(), LabError> {
        let message = &waiting.message;
        let key = self.key(message);
        let known = key.and_then(|key| self.connections.long_lived(key));
        let id = match known {
            Some(id) => id,
            None => match self.connect(message, key)? {
                Some(id) => id,
                None => return Ok(()),
            },
        };
        let connection = self.connections.get_mut(id).expect("found or created");
        connection.add(waiting);
        // A new connection writes when it is connected.
        if known.is_some() {
            self.write(now, id);
        }
        Ok(())
    }

    /// Opens the persistent connection of `message` unless it exists.
    pub(super) fn open_connection(&mut self, message: &Message) -> Result<(), LabError> {
        let key = self.key(message);
        if key.is_some_and(|key| self.connections.long_lived(key).is_none()) {
            self.connect(message, key)?;
        }
        Ok(())
    }

    /// Returns the key of the persistent connection that carries the message, or `None` if the message gets a separate
    /// connection.
    fn key(&self, message: &Message) -> Option<Key> {
        let workload = &self.inputs.scenario.workloads[usize::from(message.workload)];
        let persistent = workload.connection == model::Connection::Persistent;
        persistent.then_some((message.workload, message.source, message.destination))
    }

    /// Opens a connection for a message. Returns `None` if the kernel refuses.
    fn connect(&mut self, message: &Message, key: Option<Key>) -> Result<Option<u64>, LabError> {
        let number = self.inputs.workload_stack[usize::from(message.workload)];
        let Some(stack) = self.inputs.stacks[number].kernel() else {
            return Ok(None);
        };
        self.enter(message.source)?;
        let to = listening::address(message.destination, number);
        let class = self.class(stack, message);
        let result = socket::start_connect(to, &stack.congestion_control, class);
        let sender = match result {
            Ok(sender) => sender,
            Err(error) => {
                self.results.fail(format!("connect to {to}: {error}"));
                return Ok(None);
            }
        };
        self.results.connections += 1;
        let local = sender
            .local_addr()
            .map_err(LabError::system("read a socket's address"))?;
        let id = self
            .connections
            .insert(Connection::new(sender, number, key), (local, number));
        let connection = self.connections.get_mut(id).expect("just created");
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let event = EpollEvent::new(flags, Part::Sender.token(id));
        self.epoll
            .add(&connection.sender, event)
            .map_err(LabError::system("watch a socket"))?;
        Ok(Some(id))
    }

    /// Returns the strict-priority class of a message, or `None` if ports have only one class.
    fn class(&self, stack: &Kernel, message: &Message) -> Option<u8> {
        let scenario = self.inputs.scenario;
        let configured = scenario.workloads[usize::from(message.workload)].priority;
        (transport::classes(scenario, self.inputs.stacks) > 1).then(|| match configured {
            Some(class) => class,
            None if stack.priorities > 1 => self.workloads.priority(message, stack.priorities),
            None => 0,
        })
    }

    fn enter(&mut self, host: u32) -> Result<(), LabError> {
        if self.inside != Some(host) {
            self.inputs.hosts[host as usize].enter()?;
            self.inside = Some(host);
        }
        Ok(())
    }

    /// Accepts the pending connections of a listening socket.
    pub(super) fn accept(&mut self, listener: usize) -> Result<(), LabError> {
        while let Some((stream, peer)) = self.listeners.accept(listener)? {
            let stack = self.listeners.stack(listener);
            let Some(id) = self.connections.by_sender((peer, stack)) else {
                self.results
                    .fail(format!("unexpected connection from {peer}"));
                continue;
            };
            // The connection may have ended already.
            let Some(connection) = self.connections.get_mut(id) else {
                continue;
            };
            if let Some(kernel) = self.inputs.stacks[stack].kernel()
                && let Err(error) = kernel.prepare_receiver(&stream)
            {
                self.results.fail(format!("prepare a receiver: {error}"));
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

    /// Handles an event of one end of a connection.
    pub(super) fn connection_event(
        &mut self,
        clock: Clock,
        event: &EpollEvent,
    ) -> Result<(), LabError> {
        let (part, id) = Part::from_token(event.data());
        match part {
            Part::Sender => {
                let closed = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
                if event.events().intersects(closed) {
                    self.sender_closed(id);
                } else {
                    self.write(clock.now(), id);
                }
                Ok(())
            }
            Part::Receiver => self.read(clock, id),
        }
    }

    /// Writes as much as the socket accepts. Ends the connection after the last byte of its only message.
    fn write(&mut self, now: Time, id: u64) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let stack = self.inputs.stacks[connection.stack].kernel();
        let uses_deadlines = stack.is_some_and(|kernel| kernel.uses_deadlines);
        match connection.write(&self.block, uses_deadlines.then_some(now)) {
            Ok(announced) => self.results.deadlines_set += announced,
            Err(error) => {
                let failure = format!("write: {error}");
                self.results.fail(failure);
                self.drop_connection(id);
            }
        }
    }

    /// Reads available data and delivers complete messages.
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
                    // Closing sends the other FIN, by which the sender learns that all data has arrived.
                    connection.receiver = None;
                    return Ok(());
                }
                Ok(count) => connection.received += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let failure = format!("read: {error}");
                    self.results.fail(failure);
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

    /// Handles a message whose last byte has been read at its destination.
    fn delivered(&mut self, now: Time, id: u64, waiting: &Waiting) -> Result<(), LabError> {
        let persistent = self
            .connections
            .get_mut(id)
            .is_some_and(|connection| connection.key.is_some());
        if persistent {
            self.count(id, waiting.record);
        }
        self.complete(now, waiting)
    }

    /// Handles the end of a connection, by the receiver's FIN or a failure.
    fn sender_closed(&mut self, id: u64) {
        if let Some(record) = self
            .connections
            .get_mut(id)
            .map(|connection| connection.record)
        {
            if let Some(connection) = self.connections.get_mut(id)
                && let Ok(Some(error)) = connection.sender.take_error()
            {
                self.results.fail(format!("connection failed: {error}"));
            }
            if self
                .connections
                .get_mut(id)
                .is_some_and(|connection| connection.has_carried())
            {
                self.count(id, record);
            }
        }
        self.drop_connection(id);
    }

    fn drop_connection(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(id) else {
            return;
        };
        for (record, bytes) in connection.unfinished() {
            self.results.flows[record].delivered_bytes = bytes;
        }
    }

    /// Waits for connections with delivered messages to end, so that the kernel's counters are complete.
    pub(super) fn linger(
        &mut self,
        clock: Clock,
        events: &mut [EpollEvent],
    ) -> Result<(), LabError> {
        let until = clock.now() + LINGER;
        while clock.now() < until && self.connections.any_ending() {
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(10_u8)) else {
                continue;
            };
            for event in &events[..count] {
                if self.mark_ready(event.data()) {
                    continue;
                }
                let (part, id) = Part::from_token(event.data());
                let ending = self
                    .connections
                    .get_mut(id)
                    .is_some_and(|connection| connection.key.is_none() && connection.is_empty());
                match part {
                    _ if !ending => {}
                    Part::Sender => self.sender_closed(id),
                    Part::Receiver => self.read(clock, id)?,
                }
            }
            self.drive_datagrams(clock)?;
        }
        Ok(())
    }

    /// Completes the records of the remaining connections.
    pub(super) fn count_connections(&mut self) {
        for id in self.connections.ids() {
            let Some(connection) = self.connections.get_mut(id) else {
                continue;
            };
            if !connection.has_carried() {
                continue;
            }
            let record = connection.record;
            for (record, bytes) in connection.unfinished() {
                self.results.flows[record].delivered_bytes = bytes;
            }
            self.count(id, record);
        }
    }

    /// Adds the kernel's counts since the last call to a flow's record.
    fn count(&mut self, id: u64, record: usize) {
        let long = self.inputs.long_info;
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let Ok(now) = socket::counted(&connection.sender, long) else {
            return;
        };
        let before = std::mem::replace(&mut connection.counted, now);
        let flow = &mut self.results.flows[record];
        flow.retransmits += now.retransmits.wrapping_sub(before.retransmits);
        flow.timeouts += now.timeouts.wrapping_sub(before.timeouts);
        flow.marks += now.marks.wrapping_sub(before.marks);
        let stack = self.inputs.stacks[connection.stack].kernel();
        if stack.is_some_and(|kernel| kernel.uses_marks) && !connection.ecn_counted {
            connection.ecn_counted = true;
            self.results.asked_for_ecn += 1;
            self.results.with_ecn += u64::from(now.ecn);
        }
    }
}
