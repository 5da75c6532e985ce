//! Other receivers behind the same link. Each ranks the messages of all, and grants its own.

use super::Receiver;
use super::message::{Incoming, Standing};
use super::order::Entry;
use crate::due::Config;
use duetime_core::{Span, Time};

/// Limit of the messages that a receiver describes to the others: the first ones in its order.
pub const MAX_DEMANDS: usize = 64;

/// From this index on, entries of the order are messages of other receivers.
pub(super) const OTHERS: u32 = 1 << 31;

/// Bits of a serial number. The number of the receiver is in the bits above, so that all break ties equally.
const SERIAL_BITS: u32 = 48;

/// Message of another receiver behind the same link. Amounts are times on the link, because receivers may have packets
/// of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// Number of the receiver.
    pub receiver: u16,
    /// Deadline of the message.
    pub deadline: Option<Time>,
    /// Query that the message answers.
    pub query: Option<u64>,
    /// True if another answer of the query was late.
    pub is_spoiled: bool,
    /// True for a request, which comes before all deadlines.
    pub is_request: bool,
    /// True if packets remain to be granted.
    pub is_open: bool,
    /// Packets that have not arrived.
    pub left: Span,
    /// Packets that have arrived.
    pub received: Span,
    /// Packets that may be in flight at a time.
    pub window: Span,
}

/// Messages of the other receivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Others {
    /// Number of this receiver.
    receiver: u16,
    demands: Vec<Demand>,
    /// Time of the last credit for the background.
    credited_at: Time,
}

impl Others {
    pub const fn is_empty(&self) -> bool {
        self.demands.is_empty()
    }

    /// Returns a serial number that differs from those of other receivers.
    pub const fn serial(&self, serial: u64) -> u64 {
        (self.receiver as u64) << SERIAL_BITS | serial
    }

    /// Returns the packets of the link that the message with this index may use.
    pub fn window(&self, index: u32, packet_time: Span) -> u64 {
        let demand = self.demands.get((index - OTHERS) as usize);
        demand.map_or(0, |demand| packets(demand.window, packet_time))
    }

    pub fn entries(&self, packet_time: Span) -> impl Iterator<Item = Entry> + '_ {
        (OTHERS..)
            .zip(&self.demands)
            .map(move |(index, demand)| Entry {
                index,
                serial: u64::from(demand.receiver) << SERIAL_BITS,
                left: packets(demand.left, packet_time),
                received: packets(demand.received, packet_time),
                is_open: demand.is_open,
                deadline: demand.deadline,
                query: demand.query,
                is_spoiled: demand.is_spoiled,
                is_request: demand.is_request,
            })
    }

    /// Returns the time since the last call.
    fn elapsed(&mut self, now: Time) -> Span {
        let elapsed = now.since(self.credited_at);
        self.credited_at = now;
        elapsed
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns descriptions of the incomplete messages, for the other receivers behind the link: the first ones in the
    /// order, without those whose sources do not respond. `receiver` is the number of this receiver.
    pub fn demands(&self, receiver: u16) -> impl Iterator<Item = Demand> + '_ {
        let own = self.order.messages.iter().filter(|&&index| index < OTHERS);
        let messages = own.filter_map(|&index| self.get(index));
        let messages = messages.filter(|message| message.standing == Standing::Responding);
        messages
            .take(MAX_DEMANDS)
            .map(move |message| self.demand(receiver, message))
    }

    fn demand(&self, receiver: u16, message: &Incoming<T>) -> Demand {
        let announcement = &message.announcement;
        let spoiled = |query| self.spoiled.contains(&query);
        let window = message.window.min(message.core.packets());
        let window = window.min(message.in_flight() + message.grantable());
        let time =
            |packets: u64| self.packet_time * packets.min(u64::MAX / self.packet_time.as_ps());
        Demand {
            receiver,
            deadline: announcement.deadline,
            query: announcement.query,
            is_spoiled: announcement.query.is_some_and(spoiled),
            is_request: announcement.is_request,
            is_open: message.granted < message.packets,
            left: time(message.left()),
            received: time(message.received),
            window: time(window),
        }
    }

    /// Returns true if the messages were ranked since the last call, so that [`demands`](Self::demands) may have
    /// changed.
    pub const fn take_ranked(&mut self) -> bool {
        std::mem::replace(&mut self.is_ranked, false)
    }

    /// Replaces the messages of the other receivers behind the link, and grants what they leave. `receiver` is the
    /// number of this receiver, which differs from theirs.
    pub fn share_link(&mut self, config: &Config, now: Time, receiver: u16, demands: &[Demand]) {
        // Urgent messages of others may use the whole link, so the background's credit grows with time.
        let elapsed = self.others.elapsed(now);
        if self.order.urgent_messages().any(|index| index >= OTHERS) {
            let packets = elapsed.as_ps() / self.packet_time.as_ps();
            self.limits.add_credit(config, packets);
        }
        self.others.receiver = receiver;
        if self.others.demands != demands {
            self.others.demands.clear();
            self.others.demands.extend_from_slice(demands);
            self.is_stale = true;
        }
        self.schedule(config, now);
    }
}

/// Returns the number of packets that need this time on the link.
fn packets(time: Span, packet_time: Span) -> u64 {
    time.as_ps().div_ceil(packet_time.as_ps())
}
