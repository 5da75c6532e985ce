//! Sources of incoming messages, and the messages of sources that have not proven their addresses.

use super::super::MessageId;
use core::net::{IpAddr, SocketAddr};
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Part of the sources that one address may have.
const ADDRESS_SHARE: usize = 16;

/// Address and identity of a process.
pub(super) type Process = (SocketAddr, u64);

/// Numbers of sources for the receiver, which knows a source by 32 bits.
#[derive(Debug)]
pub(super) struct Sources {
    numbers: BTreeMap<Process, u32>,
    /// Process that was found last, since consecutive datagrams often have the same source.
    last: Option<(Process, u32)>,
    by_number: BTreeMap<u32, Source>,
    /// Sources that had no messages when they were added, once each, with the time of the next check.
    idle: VecDeque<(Time, u32)>,
    /// Number of sources per address.
    addresses: BTreeMap<IpAddr, usize>,
    next: u32,
    max: usize,
    /// Time for which the receiver remembers finished messages. A source is known for longer.
    memory: Span,
}

#[derive(Debug)]
struct Source {
    process: Process,
    is_proven: bool,
    /// Number of incomplete messages.
    messages: usize,
    idle_since: Time,
    is_queued: bool,
}

impl Sources {
    pub const fn new(max: usize, memory: Span) -> Self {
        Self {
            numbers: BTreeMap::new(),
            last: None,
            by_number: BTreeMap::new(),
            idle: VecDeque::new(),
            addresses: BTreeMap::new(),
            next: 0,
            max,
            memory,
        }
    }

    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    pub fn find(&mut self, process: &Process) -> Option<u32> {
        if let Some((last, number)) = &self.last
            && last == process
        {
            return Some(*number);
        }
        let number = self.numbers.get(process).copied()?;
        self.last = Some((*process, number));
        Some(number)
    }

    /// Adds a process. Returns `None` if there are too many, in total or at its address.
    pub fn add(&mut self, process: Process) -> Option<u32> {
        let max_per_address = (self.max / ADDRESS_SHARE).max(1);
        let count = self.addresses.entry(process.0.ip()).or_default();
        if *count >= max_per_address || self.by_number.len() >= self.max {
            if *count == 0 {
                self.addresses.remove(&process.0.ip());
            }
            return None;
        }
        *count += 1;
        while self.by_number.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        let source = Source {
            process,
            is_proven: false,
            messages: 0,
            idle_since: Time::ZERO,
            is_queued: false,
        };
        self.by_number.insert(number, source);
        self.numbers.insert(process, number);
        Some(number)
    }

    /// Removes a source that has been idle for long enough, and returns its number.
    pub fn expire(&mut self, now: Time) -> Option<u32> {
        while let Some(&(at, number)) = self.idle.front()
            && at <= now
        {
            self.idle.pop_front();
            let Some(source) = self.by_number.get_mut(&number) else {
                continue;
            };
            source.is_queued = source.messages == 0;
            if !source.is_queued {
                continue;
            }
            let until = source.idle_since + self.memory;
            if until > now {
                self.idle.push_back((until, number));
                continue;
            }
            let process = source.process;
            self.by_number.remove(&number);
            self.numbers.remove(&process);
            self.last = None;
            let address = process.0.ip();
            if let Some(count) = self.addresses.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    self.addresses.remove(&address);
                }
            }
            return Some(number);
        }
        None
    }

    pub fn is_proven(&self, number: u32) -> bool {
        self.by_number
            .get(&number)
            .is_some_and(|source| source.is_proven)
    }

    pub fn prove(&mut self, number: u32) {
        if let Some(source) = self.by_number.get_mut(&number) {
            source.is_proven = true;
        }
    }

    /// Counts a new message.
    pub fn start(&mut self, number: u32) {
        if let Some(source) = self.by_number.get_mut(&number) {
            source.messages += 1;
        }
    }

    /// Counts the end of a message.
    pub fn end(&mut self, now: Time, number: u32) {
        let Some(source) = self.by_number.get_mut(&number) else {
            return;
        };
        source.messages = source.messages.saturating_sub(1);
        source.idle_since = now;
        if source.messages == 0 && !source.is_queued {
            source.is_queued = true;
            self.idle.push_back((now + self.memory, number));
        }
    }
}

/// Messages that were accepted from sources without a proven address. A message counts until its source proves its
/// address or the time is over, even if it is complete, so that forged messages come at a limited rate.
#[derive(Debug)]
pub(super) struct Unproven {
    max: usize,
    timeout: Span,
    messages: BTreeSet<MessageId>,
    /// Messages by the end of their time; some may be proven.
    ends: VecDeque<(Time, MessageId)>,
}

impl Unproven {
    pub const fn new(max: usize, timeout: Span) -> Self {
        Self {
            max,
            timeout,
            messages: BTreeSet::new(),
            ends: VecDeque::new(),
        }
    }

    /// Returns true if no further message is accepted.
    pub fn is_full(&self) -> bool {
        // Proven messages remain in `ends`.
        self.messages.len() >= self.max || self.ends.len() >= self.max.saturating_mul(4)
    }

    pub fn contains(&self, id: MessageId) -> bool {
        self.messages.contains(&id)
    }

    pub fn insert(&mut self, now: Time, id: MessageId) {
        if self.messages.insert(id) {
            self.ends.push_back((now + self.timeout, id));
        }
    }

    /// Removes and returns the messages of a source that has proven its address.
    pub fn remove_source(&mut self, source: u32) -> Vec<MessageId> {
        let first = MessageId { source, number: 0 };
        let last = MessageId {
            source,
            number: u64::MAX,
        };
        let proven: Vec<_> = self.messages.range(first..=last).copied().collect();
        for id in &proven {
            self.messages.remove(id);
        }
        proven
    }

    /// Removes and returns a message whose time is over.
    pub fn expire(&mut self, now: Time) -> Option<MessageId> {
        while let Some(&(at, id)) = self.ends.front()
            && at <= now
        {
            self.ends.pop_front();
            if self.messages.remove(&id) {
                return Some(id);
            }
        }
        None
    }

    pub fn next_timeout(&self) -> Time {
        self.ends.front().map_or(Time::MAX, |&(at, _)| at)
    }
}
