//! Receiving host of a flow: returns scheduling headers and acknowledges data.

use super::{Kind, Packet};
use duetime_core::Rate;

/// Maximum distance of accepted data beyond the next byte. Bounds the memory that a misbehaving peer can make a driver
/// use.
const WINDOW: u64 = 1 << 30;
/// Maximum number of ranges stored beyond a gap; data that would need more is dropped and retransmitted.
const MAX_RANGES: usize = 1_024;

/// Receiver of one flow. It has no timers.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Rate that the receiver can process.
    max_rate: Rate,
    /// Next byte to deliver.
    next: u64,
    /// Received ranges beyond `next`, ascending, disjoint and non-adjacent.
    ahead: Vec<(u64, u64)>,
    /// Reply that is due.
    reply: Option<Packet>,
    is_abandoned: bool,
    is_closed: bool,
}

/// Data delivered by a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes that became readable, in order.
    pub bytes: u64,
}

impl Receiver {
    /// Creates the receiver of a flow that can process `max_rate`.
    pub const fn new(max_rate: Rate) -> Self {
        Self {
            max_rate,
            next: 0,
            ahead: Vec::new(),
            reply: None,
            is_abandoned: false,
            is_closed: false,
        }
    }

    /// Processes a packet from the sender. A reply is due afterwards; an earlier reply that was not polled is replaced.
    pub fn input(&mut self, packet: &Packet) -> Delivery {
        if packet.reply {
            return Delivery::default();
        }
        let before = self.next;
        if packet.kind == Kind::Data && !self.is_abandoned {
            self.accept(packet.seq, packet.len);
        }
        if packet.kind == Kind::Term {
            self.is_abandoned |= packet.abandoned;
            self.is_closed = true;
        }
        let mut header = packet.header;
        // PDQ §3.2: the receiver lowers the rate to what it can process.
        header.rate = header.rate.min(self.max_rate);
        self.reply = Some(Packet {
            reply: true,
            retransmit: false,
            seq: self.next,
            gap_end: self.ahead.first().map_or(self.next, |range| range.0),
            header,
            ..*packet
        });
        Delivery {
            bytes: self.next - before,
        }
    }

    fn accept(&mut self, seq: u64, len: u32) {
        let Some(end) = seq.checked_add(u64::from(len)) else {
            return;
        };
        if end > self.next.saturating_add(WINDOW) || end <= self.next {
            return;
        }
        if seq > self.next {
            self.store(seq, end);
            return;
        }
        self.next = end;
        let reached = self.ahead.iter().take_while(|range| range.0 <= end).count();
        if reached > 0 {
            self.next = end.max(self.ahead[reached - 1].1);
            self.ahead.drain(..reached);
        }
    }

    /// Merges a range beyond the gap into the stored ranges.
    fn store(&mut self, seq: u64, end: u64) {
        let first = self.ahead.partition_point(|range| range.1 < seq);
        let last = self.ahead.partition_point(|range| range.0 <= end);
        if first == last {
            if self.ahead.len() < MAX_RANGES {
                self.ahead.insert(first, (seq, end));
            }
            return;
        }
        self.ahead[first] = (
            seq.min(self.ahead[first].0),
            end.max(self.ahead[last - 1].1),
        );
        self.ahead.drain(first + 1..last);
    }

    /// Returns the reply that is due, or `None`.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.reply.take()
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return a packet.
    pub const fn can_transmit(&self) -> bool {
        self.reply.is_some()
    }

    /// Returns the number of bytes delivered in order.
    pub const fn delivered(&self) -> u64 {
        self.next
    }

    /// Returns true if the sender abandoned the flow.
    pub const fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// Returns true after the TERM. Keep the receiver for some timeouts to answer a repeated TERM.
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }
}
