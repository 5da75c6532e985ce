//! Credit: the global bucket, the buckets of the senders, and the order of the senders.

use super::message::Incoming;
use crate::sird::bucket::Buckets;
use crate::sird::{Config, Policy, Sizes, round};
use duetime_core::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Ratio of the time between two credits to the transmission time of the packet: credits are paced at 98 % of the link,
/// so that a queue drains.
const PACE: (u64, u64) = (50, 49);
/// Limit of the number of senders.
const MAX_SOURCES: usize = 1 << 16;

/// Outstanding credit of a receiver and its limits.
#[derive(Debug)]
pub(super) struct Credits {
    sizes: Sizes,
    policy: Policy,
    uses_marks: bool,
    rate: Rate,
    /// Global bucket B, in bytes.
    bucket: u64,
    /// Outstanding credit of all senders in bytes, unscheduled packets included.
    outstanding: u64,
    sources: Vec<Source>,
    index: BTreeMap<u32, u32>,
    /// Senders that may get credit: order, serial number of the message, index of the sender.
    eligible: BTreeSet<(u64, u64, u32)>,
    /// Number of credits so far.
    issued: u64,
    /// Time before which the pacer permits no credit.
    free: Time,
    /// True if a credit waits for the pacer.
    is_paced: bool,
}

/// Sender to this host.
#[derive(Debug)]
struct Source {
    /// Messages that are not complete.
    messages: u32,
    /// Outstanding credit in bytes, unscheduled packets included.
    outstanding: u64,
    buckets: Buckets,
    /// Messages that want credit: packets left, rounded; serial number; index.
    wanting: BTreeSet<(u64, u64, u32)>,
    position: Option<(u64, u64)>,
    /// Number of the last credit of this sender.
    last_issued: u64,
}

impl Credits {
    pub fn new(config: &Config, sizes: Sizes, rate: Rate) -> Self {
        Self {
            sizes,
            policy: config.policy,
            uses_marks: config.ecn,
            rate,
            bucket: sizes.of_bdp(config.bucket_permille).max(sizes.packet()),
            outstanding: 0,
            sources: Vec::new(),
            index: BTreeMap::new(),
            eligible: BTreeSet::new(),
            issued: 0,
            free: Time::ZERO,
            is_paced: false,
        }
    }

    /// Adds a message of a sender with its outstanding credit. Returns the index of the sender, or `None` if there are
    /// too many senders.
    pub fn open(&mut self, host: u32, outstanding: u64) -> Option<u32> {
        let index = self.source_of(host)?;
        let source = &mut self.sources[index as usize];
        source.messages += 1;
        source.outstanding = source.outstanding.saturating_add(outstanding);
        self.outstanding = self.outstanding.saturating_add(outstanding);
        Some(index)
    }

    fn source_of(&mut self, host: u32) -> Option<u32> {
        if let Some(&index) = self.index.get(&host) {
            return Some(index);
        }
        let fresh = Source {
            messages: 0,
            outstanding: 0,
            buckets: Buckets::new(self.sizes.bdp, self.sizes.packet()),
            wanting: BTreeSet::new(),
            position: None,
            last_issued: 0,
        };
        let index = if self.sources.len() < MAX_SOURCES {
            self.sources.push(fresh);
            self.sources.len() as u32 - 1
        } else {
            let idle = |source: &Source| source.messages == 0;
            let index = self.sources.iter().position(idle)? as u32;
            self.index.retain(|_, other| *other != index);
            self.sources[index as usize] = fresh;
            index
        };
        self.index.insert(host, index);
        Some(index)
    }

    /// Removes a message of a sender, with its outstanding credit and its position.
    pub fn close<T>(&mut self, index: u32, message: &Incoming<T>) {
        self.release(message.source, message.outstanding);
        let source = &mut self.sources[message.source as usize];
        source.messages -= 1;
        if let Some((left, serial)) = message.position {
            source.wanting.remove(&(left, serial, index));
        }
        self.refresh(message.source);
    }

    /// Records a data packet of a sender with its marks.
    pub fn record(&mut self, source: u32, is_congested: bool, is_marked: bool) {
        let buckets = &mut self.sources[source as usize].buckets;
        buckets.record(is_congested, is_marked && self.uses_marks);
    }

    /// Returns credit that was used or reclaimed. [`Self::place`] must follow.
    pub fn release(&mut self, source: u32, bytes: u64) {
        let source = &mut self.sources[source as usize];
        source.outstanding -= bytes;
        self.outstanding -= bytes;
    }

    /// Moves a message to its position, after any change of the message or its sender.
    pub fn place<T>(&mut self, index: u32, message: &mut Incoming<T>) {
        let wants = message.wants_credit();
        let position = wants.then(|| (round(message.left()), message.serial));
        if position != message.position {
            let wanting = &mut self.sources[message.source as usize].wanting;
            if let Some((left, serial)) = message.position {
                wanting.remove(&(left, serial, index));
            }
            if let Some((left, serial)) = position {
                wanting.insert((left, serial, index));
            }
            message.position = position;
        }
        self.refresh(message.source);
    }

    /// Moves a sender to its position among those that may get credit.
    fn refresh(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        // The bucket limits the outstanding credit before the next packet, so that a small bucket permits one packet.
        let with_packet = source.outstanding.saturating_add(self.sizes.packet());
        let has_room =
            source.outstanding <= source.buckets.limit() && with_packet <= self.sizes.bdp;
        let has_room = has_room || source.outstanding == 0;
        let first = source.wanting.first().filter(|_| has_room);
        let position = first.map(|&(left, serial, _)| match self.policy {
            Policy::ShortestRemaining => (left, serial),
            Policy::Fair => (source.last_issued, serial),
        });
        if position != source.position {
            if let Some((order, serial)) = source.position {
                self.eligible.remove(&(order, serial, index));
            }
            if let Some((order, serial)) = position {
                self.eligible.insert((order, serial, index));
            }
            source.position = position;
        }
    }

    /// Returns the message that gets the next credit.
    pub fn next(&self) -> Option<u32> {
        let &(_, _, source) = self.eligible.first()?;
        let &(_, _, message) = self.sources[source as usize].wanting.first()?;
        Some(message)
    }

    /// Returns true if the global bucket has room for a packet of `bytes`.
    pub const fn has_room(&self, bytes: u64) -> bool {
        self.outstanding.saturating_add(bytes) <= self.bucket
    }

    /// Returns the time for which the next credit must wait, or `None` if the pacer permits it. The time of a credit that
    /// waits counts from then on, so that a late timer of up to a packet loses no rate.
    pub fn wait(&mut self, now: Time) -> Option<Time> {
        self.is_paced |= self.free > now;
        (self.free > now).then_some(self.free)
    }

    /// Notes that no credit waits for the pacer.
    pub const fn rest(&mut self) {
        self.is_paced = false;
    }

    /// Takes the credit of a packet of `bytes` from the buckets. [`Self::place`] must follow.
    pub fn issue(&mut self, now: Time, source: u32, bytes: u64) {
        self.issued += 1;
        self.outstanding = self.outstanding.saturating_add(bytes);
        let source = &mut self.sources[source as usize];
        source.outstanding = source.outstanding.saturating_add(bytes);
        source.last_issued = self.issued;
        let gap = self.rate.transmit(bytes) * PACE.0 / PACE.1;
        let is_late = now.since(self.free) <= gap;
        let start = if self.is_paced && is_late {
            self.free
        } else {
            now
        };
        self.free = start + gap;
    }

    /// Returns the transmission time of `bytes` on the host's link.
    pub fn transit(&self, bytes: u64) -> Span {
        self.rate.transmit(bytes)
    }

    /// Returns the outstanding credit of all senders in bytes.
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Returns the outstanding credit of a sender and the limit of its buckets, in bytes.
    pub fn of_source(&self, host: u32) -> Option<(u64, u64)> {
        let source = &self.sources[*self.index.get(&host)? as usize];
        Some((source.outstanding, source.buckets.limit()))
    }
}
