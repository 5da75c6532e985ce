//! Connections with both ends, and their messages.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;

use duetime_core::Time;
use duetime_sim::workload::Message;

use crate::linux::controllers;
use crate::linux::socket::Counted;

/// Workload, source and destination of a persistent connection.
pub type Key = (u16, u32, u32);
/// Sender's address and stack index, by which a receiver identifies its sender.
pub type Address = (SocketAddr, usize);

/// Submitted message.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Position of its flow record.
    pub record: usize,
    /// Message of the workload.
    pub message: Message,
}

/// Both ends of a connection.
#[derive(Debug)]
pub struct Connection {
    /// Sending socket.
    pub sender: TcpStream,
    /// Receiving socket, from its acceptance to its end.
    pub receiver: Option<TcpStream>,
    /// Stack index.
    pub stack: usize,
    /// Key of a persistent connection.
    pub key: Option<Key>,
    /// Record of the last flow that opened or used the connection.
    pub record: usize,
    /// Bytes read.
    pub received: u64,
    /// Last counters of the kernel.
    pub counted: Counted,
    /// True if its ECN has been counted.
    pub ecn_counted: bool,
    /// Undelivered messages, each with the position after its last byte.
    messages: VecDeque<(u64, Waiting)>,
    /// Bytes submitted.
    submitted: u64,
    /// Bytes written.
    written: u64,
    /// Position up to which messages have been announced to the kernel.
    announced: u64,
    /// True after the handshake.
    connected: bool,
}

impl Connection {
    /// Creates a connection whose sender has started to connect.
    pub fn new(sender: TcpStream, stack: usize, key: Option<Key>) -> Self {
        Self {
            sender,
            receiver: None,
            stack,
            key,
            record: 0,
            received: 0,
            counted: Counted::default(),
            ecn_counted: false,
            messages: VecDeque::new(),
            submitted: 0,
            written: 0,
            announced: 0,
            connected: false,
        }
    }

    /// Appends a message.
    pub fn add(&mut self, waiting: Waiting) {
        self.submitted = self.submitted.saturating_add(waiting.message.bytes);
        self.record = waiting.record;
        self.messages.push_back((self.submitted, waiting));
    }

    /// Returns true if the connection has had a message.
    pub fn has_carried(&self) -> bool {
        self.submitted > 0
    }

    /// Returns true if all messages are delivered.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Writes as much as the socket accepts, from `block`. Ends the connection after the last byte of its only message.
    /// With the current time in `announce_at`, announces the deadline of each message before its first byte. Returns
    /// the number of announced deadlines.
    pub fn write(&mut self, block: &[u8], announce_at: Option<Time>) -> io::Result<u64> {
        let mut announced = 0;
        if self.submitted == self.written {
            return Ok(announced);
        }
        while self.written < self.submitted {
            if !self.connected {
                match self.sender.peer_addr() {
                    Ok(_) => self.connected = true,
                    // An event follows.
                    Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(announced),
                    Err(error) => return Err(error),
                }
            }
            let (start, end) = self.current_message();
            if let Some(now) = announce_at
                && self.announced <= start
            {
                self.announced = end;
                announced += u64::from(self.announce(now, end)?);
            }
            // Write one message at a time, so that the next is announced before its first byte.
            let left = end - self.written;
            let count = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.sender.write(&block[..count]) {
                Ok(count) => self.written += count as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The buffer is full: an event follows.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(announced),
                Err(error) => return Err(error),
            }
        }
        if self.key.is_none() {
            self.sender.shutdown(Shutdown::Write)?;
        }
        Ok(announced)
    }

    /// Returns the start and end of the message that is being written.
    fn current_message(&self) -> (u64, u64) {
        let mut start = self.written;
        for &(end, ref waiting) in &self.messages {
            if end > self.written {
                start = end.saturating_sub(waiting.message.bytes);
                return (start, end);
            }
        }
        (start, self.submitted)
    }

    /// Announces the deadline of the message that ends at `end`. Returns false if it has none.
    fn announce(&self, now: Time, end: u64) -> io::Result<bool> {
        let mut messages = self.messages.iter();
        let found = messages.find(|(position, _)| *position == end);
        let Some((_, Waiting { message, .. })) = found else {
            return Ok(false);
        };
        let Some(deadline) = message.deadline else {
            return Ok(false);
        };
        controllers::announce(self.sender.as_fd(), message.bytes, deadline.since(now))
    }

    /// Removes and returns the next message that is complete at the receiver.
    pub fn take_delivered(&mut self) -> Option<Waiting> {
        let &(end, _) = self.messages.front()?;
        if self.received < end {
            return None;
        }
        self.messages.pop_front().map(|(_, waiting)| waiting)
    }

    /// Returns the records of incomplete messages, with the number of bytes read.
    pub fn unfinished(&self) -> Vec<(usize, u64)> {
        let progress = |(end, waiting): &(u64, Waiting)| {
            let start = end.saturating_sub(waiting.message.bytes);
            let bytes = self.received.saturating_sub(start);
            (waiting.record, bytes.min(waiting.message.bytes))
        };
        self.messages.iter().map(progress).collect()
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// End that writes messages.
    Sender,
    /// End that reads messages.
    Receiver,
}

impl Part {
    /// Returns the epoll token of this end.
    pub fn token(self, id: u64) -> u64 {
        id << 1 | u64::from(self == Self::Receiver)
    }

    /// Returns the end and the connection of a token.
    pub fn from_token(token: u64) -> (Self, u64) {
        let part = if token & 1 == 1 {
            Self::Receiver
        } else {
            Self::Sender
        };
        (part, token >> 1)
    }
}

/// All connections. IDs are never reused, so a late event cannot reach another connection.
#[derive(Debug, Default)]
pub struct Connections {
    next: u64,
    all: BTreeMap<u64, (Connection, Address)>,
    by_sender: HashMap<Address, u64>,
    long_lived: HashMap<Key, u64>,
}

impl Connections {
    /// Adds a connection and returns its ID.
    pub fn insert(&mut self, connection: Connection, address: Address) -> u64 {
        let id = self.next;
        self.next += 1;
        if let Some(key) = connection.key {
            self.long_lived.insert(key, id);
        }
        self.by_sender.insert(address, id);
        self.all.insert(id, (connection, address));
        id
    }

    /// Returns a connection.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Connection> {
        self.all.get_mut(&id).map(|(connection, _)| connection)
    }

    /// Returns the connection that its sender opened from this address.
    pub fn by_sender(&self, address: Address) -> Option<u64> {
        self.by_sender.get(&address).copied()
    }

    /// Returns a persistent connection.
    pub fn long_lived(&self, key: Key) -> Option<u64> {
        self.long_lived.get(&key).copied()
    }

    /// Removes a connection.
    pub fn remove(&mut self, id: u64) -> Option<Connection> {
        let (connection, address) = self.all.remove(&id)?;
        if let Some(key) = connection.key {
            self.long_lived.remove(&key);
        }
        if self.by_sender.get(&address) == Some(&id) {
            self.by_sender.remove(&address);
        }
        Some(connection)
    }

    /// Returns the IDs of all connections.
    pub fn ids(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    /// Returns true if some connections have delivered their messages and have not closed yet.
    pub fn any_ending(&self) -> bool {
        let mut all = self.all.values();
        all.any(|(connection, _)| connection.key.is_none() && connection.is_empty())
    }
}
