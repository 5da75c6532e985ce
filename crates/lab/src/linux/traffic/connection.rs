//! Connections: both ends of each, and the messages that they carry.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;

use duetime_core::Time;
use duetime_sim::workload::Message;

use crate::linux::controllers;
use crate::linux::socket::Counted;

/// A long-lived connection: workload, source and destination.
pub type Key = (u16, u32, u32);
/// How a receiver knows its sender: by the sender's address, and the number of the stack.
pub type Address = (SocketAddr, usize);

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Position of its record among the flows.
    pub record: usize,
    /// The message.
    pub message: Message,
}

/// Both ends of a connection.
#[derive(Debug)]
pub struct Connection {
    /// The sending socket.
    pub sender: TcpStream,
    /// The receiving socket, from its acceptance to its end.
    pub receiver: Option<TcpStream>,
    /// The number of its stack.
    pub stack: usize,
    /// What it is known by, if it is long-lived.
    pub key: Option<Key>,
    /// The last flow that it was opened for or carried.
    pub record: usize,
    /// Bytes read.
    pub received: u64,
    /// What the kernel had counted when it was last asked.
    pub counted: Counted,
    /// Whether its ECN has been told.
    pub told_ecn: bool,
    /// Messages that are not delivered, each with the position behind its last byte.
    messages: VecDeque<(u64, Waiting)>,
    /// Bytes submitted.
    submitted: u64,
    /// Bytes written.
    written: u64,
    /// Up to where messages have been announced to the kernel.
    announced: u64,
    /// The handshake is over.
    connected: bool,
}

impl Connection {
    /// One that has begun to connect.
    pub fn new(sender: TcpStream, stack: usize, key: Option<Key>) -> Self {
        Self {
            sender,
            receiver: None,
            stack,
            key,
            record: 0,
            received: 0,
            counted: Counted::default(),
            told_ecn: false,
            messages: VecDeque::new(),
            submitted: 0,
            written: 0,
            announced: 0,
            connected: false,
        }
    }

    /// It is to carry a message, behind those before.
    pub fn add(&mut self, waiting: Waiting) {
        self.submitted = self.submitted.saturating_add(waiting.message.bytes);
        self.record = waiting.record;
        self.messages.push_back((self.submitted, waiting));
    }

    /// Returns true if it has had a message.
    pub fn has_carried(&self) -> bool {
        self.submitted > 0
    }

    /// Nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Writes as much as the socket takes, from `block`; after the last byte of a connection's only message, ends it.
    /// With `announce_at`, the time now, the deadline of a message is announced before its first byte is written.
    /// Returns how many were announced.
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
            let (start, end) = self.being_written();
            if let Some(now) = announce_at
                && self.announced <= start
            {
                self.announced = end;
                announced += u64::from(self.announce(now, end)?);
            }
            // One message at a time, so that the next is announced before it begins.
            let left = end - self.written;
            let count = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.sender.write(&block[..count]) {
                Ok(count) => self.written += count as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It is full: an event follows.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(announced),
                Err(error) => return Err(error),
            }
        }
        if self.key.is_none() {
            self.sender.shutdown(Shutdown::Write)?;
        }
        Ok(announced)
    }

    /// Where the message that is being written starts and ends.
    fn being_written(&self) -> (u64, u64) {
        let mut start = self.written;
        for &(end, ref waiting) in &self.messages {
            if end > self.written {
                start = end.saturating_sub(waiting.message.bytes);
                return (start, end);
            }
        }
        (start, self.submitted)
    }

    /// Announces the deadline of the message that ends at `end`; false: it has none.
    fn announce(&self, now: Time, end: u64) -> io::Result<bool> {
        let mut messages = self.messages.iter();
        let found = messages.find(|(of, _)| *of == end);
        let Some((_, Waiting { message, .. })) = found else {
            return Ok(false);
        };
        let Some(deadline) = message.deadline else {
            return Ok(false);
        };
        controllers::announce(self.sender.as_fd(), message.bytes, deadline.since(now))
    }

    /// The next message that is complete at the receiver.
    pub fn take_delivered(&mut self) -> Option<Waiting> {
        let &(end, _) = self.messages.front()?;
        if self.received < end {
            return None;
        }
        self.messages.pop_front().map(|(_, waiting)| waiting)
    }

    /// The messages that are not complete: the positions of their records, and how many bytes of each were read.
    pub fn unfinished(&self) -> Vec<(usize, u64)> {
        let of = |(end, waiting): &(u64, Waiting)| {
            let start = end.saturating_sub(waiting.message.bytes);
            let bytes = self.received.saturating_sub(start);
            (waiting.record, bytes.min(waiting.message.bytes))
        };
        self.messages.iter().map(of).collect()
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where messages are written.
    Sender,
    /// Where they are read.
    Receiver,
}

impl Part {
    /// What epoll knows it by.
    pub fn token(self, id: u64) -> u64 {
        id << 1 | u64::from(self == Self::Receiver)
    }

    /// The part and its connection.
    pub fn of_token(token: u64) -> (Self, u64) {
        let part = if token & 1 == 1 {
            Self::Receiver
        } else {
            Self::Sender
        };
        (part, token >> 1)
    }
}

/// All connections. Their numbers are never used again, so a late event cannot reach another connection.
#[derive(Debug, Default)]
pub struct Connections {
    next: u64,
    all: BTreeMap<u64, (Connection, Address)>,
    by_sender: HashMap<Address, u64>,
    long_lived: HashMap<Key, u64>,
}

impl Connections {
    /// Adds one; returns its number.
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

    /// One of them.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Connection> {
        self.all.get_mut(&id).map(|(connection, _)| connection)
    }

    /// The one that its sender opened from this address.
    pub fn by_sender(&self, address: Address) -> Option<u64> {
        self.by_sender.get(&address).copied()
    }

    /// A long-lived one.
    pub fn long_lived(&self, key: Key) -> Option<u64> {
        self.long_lived.get(&key).copied()
    }

    /// Takes one out.
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

    /// The numbers of all.
    pub fn ids(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    /// Some have delivered all that they will, and are not gone yet.
    pub fn some_are_ending(&self) -> bool {
        let mut all = self.all.values();
        all.any(|(of, _)| of.key.is_none() && of.is_empty())
    }
}
