//! A message that arrives: its packets and grants.

use super::order::Key;
use crate::homa::{Config, Control, MessageId};
use duetime_core::Time;
use std::collections::BTreeSet;

/// Maximum distance between the first missing and the last granted packet, so that a loss that is not repaired bounds
/// the memory for packets behind it.
const MAX_SPREAD: u64 = 4_096;

/// State of an incomplete message.
#[derive(Debug)]
pub(super) struct Incoming<T> {
    pub tag: T,
    pub id: MessageId,
    /// Number of the message at this receiver, in the order of their first packets.
    serial: u64,
    bytes: u64,
    payload: u64,
    packets: u64,
    /// Packets below have arrived.
    contiguous: u64,
    /// Packets that arrived behind a missing one.
    beyond: BTreeSet<u64>,
    /// Number of packets that have arrived.
    received: u64,
    /// Packets below may be sent, unscheduled ones included.
    granted: u64,
    /// Time of the last packet, request or first grant. Silence counts from here.
    pub silent_since: Time,
    /// Number of requests since the last packet.
    pub unanswered: u32,
    /// Time from which the packets in flight may increase by one.
    pub grow_at: Time,
}

impl<T> Incoming<T> {
    /// Creates the state of a message without packets, of which `unscheduled` packets need no grant.
    pub fn new(
        config: &Config,
        (tag, id, bytes): (T, MessageId, u64),
        unscheduled: u64,
        serial: u64,
        now: Time,
    ) -> Self {
        let packets = config.packets(bytes);
        Self {
            tag,
            id,
            serial,
            bytes,
            payload: config.payload(),
            packets,
            contiguous: 0,
            beyond: BTreeSet::new(),
            received: 0,
            granted: packets.min(unscheduled),
            silent_since: now,
            unanswered: 0,
            grow_at: now,
        }
    }

    /// Returns the number of permitted packets that have not arrived.
    pub const fn in_flight(&self) -> u64 {
        self.granted - self.received
    }

    /// Returns the number of packets that need a grant.
    pub const fn ungranted(&self) -> u64 {
        self.packets - self.granted
    }

    /// Returns the number of packets that may be granted now.
    pub fn grantable(&self) -> u64 {
        let limit = self.packets.min(self.contiguous.saturating_add(MAX_SPREAD));
        limit.saturating_sub(self.granted)
    }

    pub const fn is_complete(&self) -> bool {
        self.contiguous == self.packets
    }

    /// Returns the position among the messages that wait for grants, or `None` if all packets are granted.
    pub const fn key(&self) -> Option<Key> {
        if self.granted == self.packets {
            return None;
        }
        let granted = self.granted.saturating_mul(self.payload);
        Some(Key {
            bytes: self.bytes.saturating_sub(granted),
            serial: self.serial,
        })
    }

    /// Notes that the sender is alive. Returns true if requests were unanswered.
    pub const fn note_alive(&mut self, now: Time) -> bool {
        let was_silent = self.unanswered > 0;
        self.silent_since = now;
        self.unanswered = 0;
        was_silent
    }

    /// Records a packet. Returns false if it is a duplicate or was not granted.
    pub fn receive(&mut self, number: u64) -> bool {
        if number < self.contiguous || number >= self.granted {
            return false;
        }
        if number > self.contiguous {
            let is_new = self.beyond.insert(number);
            self.received += u64::from(is_new);
            return is_new;
        }
        self.received += 1;
        self.contiguous += 1;
        while self.beyond.first() == Some(&self.contiguous) {
            self.beyond.pop_first();
            self.contiguous += 1;
        }
        true
    }

    /// Grants `packets` more, to be sent in a class. Returns the packet that informs the sender.
    pub const fn grant(&mut self, now: Time, packets: u64, class: u8) -> Control {
        if self.in_flight() == 0 {
            self.silent_since = now;
        }
        self.granted += packets;
        Control::Grant {
            up_to: self.granted,
            arrived: self.contiguous,
            class,
        }
    }

    /// Returns a grant of the packets that are already granted, in the lowest class `class`.
    pub const fn current_grant(&self, class: u8) -> Control {
        Control::Grant {
            up_to: self.granted,
            arrived: self.contiguous,
            class,
        }
    }

    /// Returns the ranges of granted packets that are missing.
    pub fn missing(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.beyond.iter().copied().chain([self.granted]);
        let mut from = self.contiguous;
        ends.filter_map(move |to| {
            let range = (to > from).then_some((from, to));
            from = to + 1;
            range
        })
    }
}
