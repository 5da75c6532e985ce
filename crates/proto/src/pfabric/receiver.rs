//! Receiver of all messages into a host. It acknowledges each packet.

use super::{Ack, Body, Config, Link, MAX_SPAN, MessageId};
use crate::recent::Recent;
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of incomplete messages. The first packets of further ones are not acknowledged.
const MAX_MESSAGES: usize = 1 << 16;
/// Maximum number of finished messages that are remembered to acknowledge their late packets.
const MAX_FINISHED: usize = 1 << 18;
/// Time for which silent messages are remembered: this many timeouts of the sender and [`MIN_LIFETIME`].
const LIFETIME_TIMEOUTS: u64 = 4 * super::flow::RESTART_TIMEOUTS;
const MIN_LIFETIME: Span = Span::from_secs(5);

/// Receiver of all messages into a host.
#[derive(Debug)]
pub struct Receiver<T> {
    open: BTreeMap<MessageId, Incoming>,
    finished: Recent<MessageId>,
    acks: VecDeque<(T, Ack)>,
    delivered: VecDeque<T>,
    lifetime: Span,
    /// Time at which silent messages are next removed.
    sweep_at: Time,
}

/// Incomplete message.
#[derive(Debug)]
struct Incoming {
    /// All packets below have arrived.
    up_to: u64,
    /// Packets from `up_to` on: true if the packet has arrived. Ends with the last that has.
    ahead: VecDeque<bool>,
    /// Number of packets, once the last has arrived.
    packets: Option<u64>,
    /// Arrival of the last packet.
    touched: Time,
}

impl Incoming {
    /// Notes the arrival of packet `number`. Returns false if it is too far ahead.
    fn receive(&mut self, number: u64) -> bool {
        let Some(ahead) = number.checked_sub(self.up_to) else {
            return true;
        };
        if ahead >= MAX_SPAN {
            return false;
        }
        if ahead == 0 && self.ahead.is_empty() {
            self.up_to += 1;
            return true;
        }
        let position = ahead as usize;
        if position >= self.ahead.len() {
            self.ahead.resize(position + 1, false);
        }
        self.ahead[position] = true;
        while self.ahead.front() == Some(&true) {
            self.ahead.pop_front();
            self.up_to += 1;
        }
        true
    }
}

impl<T: Clone> Receiver<T> {
    /// Creates a receiver without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        let lifetime = MIN_LIFETIME + link.timeout(config) * LIFETIME_TIMEOUTS;
        Self {
            open: BTreeMap::new(),
            finished: Recent::new(lifetime, MAX_FINISHED),
            acks: VecDeque::new(),
            delivered: VecDeque::new(),
            lifetime,
            sweep_at: Time::ZERO + lifetime,
        }
    }

    /// Processes a packet from the sender that `tag` names. Returns true if it completed the message.
    pub fn input(&mut self, now: Time, id: MessageId, body: Body, tag: T) -> bool {
        if self.finished.contains(&id) {
            if body != Body::Abort {
                self.acks.push_back((tag, Ack::complete(body)));
            }
            return false;
        }
        match body {
            Body::Payload {
                number, is_last, ..
            } => self.payload(now, id, (number, is_last), tag),
            Body::Probe => {
                let message = self.open.get_mut(&id);
                let up_to = message.map_or(0, |message| {
                    message.touched = now;
                    message.up_to
                });
                let ack = Ack {
                    number: None,
                    up_to,
                    is_complete: false,
                };
                self.acks.push_back((tag, ack));
                false
            }
            Body::Abort => {
                self.open.remove(&id);
                self.finished.insert(now, id);
                false
            }
        }
    }

    fn payload(
        &mut self,
        now: Time,
        id: MessageId,
        (number, is_last): (u64, bool),
        tag: T,
    ) -> bool {
        if !self.open.contains_key(&id) && !self.create(now, id) {
            return false;
        }
        let Some(message) = self.open.get_mut(&id) else {
            return false;
        };
        message.touched = now;
        if !message.receive(number) {
            return false;
        }
        if is_last {
            message.packets = Some(number.saturating_add(1));
        }
        let is_complete = message
            .packets
            .is_some_and(|packets| message.up_to >= packets);
        let ack = Ack {
            number: Some(number),
            up_to: message.up_to,
            is_complete,
        };
        if is_complete {
            self.open.remove(&id);
            self.finished.insert(now, id);
            self.delivered.push_back(tag.clone());
        }
        self.acks.push_back((tag, ack));
        is_complete
    }

    /// Creates a message. Returns false if there are too many.
    fn create(&mut self, now: Time, id: MessageId) -> bool {
        if now >= self.sweep_at {
            self.sweep_at = now + self.lifetime / 2;
            let lifetime = self.lifetime;
            self.open
                .retain(|_, message| now.since(message.touched) < lifetime);
        }
        if self.open.len() >= MAX_MESSAGES {
            return false;
        }
        let message = Incoming {
            up_to: 0,
            ahead: VecDeque::new(),
            packets: None,
            touched: now,
        };
        self.open.insert(id, message);
        true
    }

    /// Removes and returns the driver's data of a complete message.
    pub fn take_delivered(&mut self) -> Option<T> {
        self.delivered.pop_front()
    }

    /// Returns the next acknowledgement, with the driver's data of its packet.
    pub fn poll_transmit(&mut self) -> Option<(T, Ack)> {
        self.acks.pop_front()
    }

    /// Returns true if `poll_transmit` would return an acknowledgement.
    pub fn can_transmit(&self) -> bool {
        !self.acks.is_empty()
    }
}

impl Ack {
    /// Acknowledges a packet of a finished message.
    const fn complete(body: Body) -> Self {
        let number = match body {
            Body::Payload { number, .. } => Some(number),
            Body::Probe | Body::Abort => None,
        };
        Self {
            number,
            up_to: 0,
            is_complete: true,
        }
    }
}
