//! Senders, and a receiver behind a link of 1 Gbps that serves strict-priority classes without a limit.

use super::{PACKET_TIME, RATE};
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::homa::{Body, Config, Control, Data, MessageId, Plan, Receiver, Sender};
use std::collections::BTreeMap;

/// Impairments of the path to the receiver and back, in 1/1000 of the packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub duplicated: u64,
    pub late: u64,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    /// Packet of a source that reaches the queue of the receiver's link.
    Queue(u32, Data),
    /// Packet that reaches the receiver.
    Data(u32, Data),
    /// Packet that reaches a source.
    Control(u32, u64, Control),
}

/// Sources with their messages, and the receiver.
pub struct Network {
    pub now: Time,
    pub senders: Vec<Sender<u64>>,
    pub receiver: Receiver<(u32, u64)>,
    /// Latency of each of the two links of a path.
    pub latency: Span,
    /// Arrival of each delivered message, by its number.
    pub delivered: BTreeMap<u64, Time>,
    /// Maximum of the granted packets of a message that had not arrived, by its number.
    pub max_in_flight: BTreeMap<u64, u64>,
    /// Packets that reached the receiver.
    pub arrived: u64,
    /// Sources that send and receive nothing.
    pub dead: Vec<u32>,
    pub faults: Faults,
    config: Config,
    granted: BTreeMap<u64, u64>,
    received: BTreeMap<u64, u64>,
    events: BTreeMap<(Time, u64), Packet>,
    submissions: BTreeMap<(Time, u64), (u32, u64)>,
    /// Queue of the receiver's link, by class and arrival.
    queue: BTreeMap<(u8, u64), (u32, Data)>,
    link_free: Time,
    uplink_free: Vec<Time>,
    unscheduled: u64,
    draws: u64,
    serial: u64,
}

impl Network {
    pub fn new(config: &Config, plan: Plan, sources: usize) -> Self {
        Self {
            now: Time::ZERO,
            senders: (0..sources).map(|_| Sender::new(config, plan)).collect(),
            receiver: Receiver::new(config, plan),
            latency: Span::from_us(20),
            delivered: BTreeMap::new(),
            max_in_flight: BTreeMap::new(),
            arrived: 0,
            dead: Vec::new(),
            faults: Faults::default(),
            config: *config,
            granted: BTreeMap::new(),
            received: BTreeMap::new(),
            events: BTreeMap::new(),
            submissions: BTreeMap::new(),
            queue: BTreeMap::new(),
            link_free: Time::ZERO,
            uplink_free: vec![Time::ZERO; sources],
            unscheduled: plan.unscheduled,
            draws: 0,
            serial: 0,
        }
    }

    /// Submits a message of `bytes` from a source at a time.
    pub fn submit(&mut self, at: Time, source: u32, message: u64, bytes: u64) {
        self.submissions.insert((at, message), (source, bytes));
    }

    /// Runs until nothing happens or `end` is reached.
    pub fn run(&mut self, end: Time) {
        loop {
            self.transmit();
            let Some(next) = self.next_event().filter(|&next| next <= end) else {
                self.now = end;
                return;
            };
            self.now = next;
            self.advance();
        }
    }

    fn next_event(&self) -> Option<Time> {
        let timers = self.senders.iter().map(Sender::next_timeout);
        let packets = self.events.keys().next().map(|&(at, _)| at);
        let busy = self.senders.iter().zip(&self.uplink_free);
        let polls = busy.filter(|(sender, _)| sender.can_transmit());
        let submission = self.submissions.keys().next().map(|&(at, _)| at);
        let link = (!self.queue.is_empty()).then_some(self.link_free);
        timers
            .chain([self.receiver.next_timeout()])
            .chain(polls.map(|(_, &free)| free))
            .chain(packets.into_iter().chain(submission).chain(link))
            .filter(|&at| at != Time::MAX)
            .min()
            .map(|at| at.max(self.now))
    }

    fn advance(&mut self) {
        while let Some(entry) = self.submissions.first_entry()
            && entry.key().0 <= self.now
        {
            let ((_, message), (source, bytes)) = entry.remove_entry();
            self.senders[source as usize].send(self.now, message, bytes, message);
        }
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= self.now
        {
            let packet = entry.remove();
            self.arrive(packet);
        }
        for sender in &mut self.senders {
            sender.timeout(self.now);
        }
        self.receiver.timeout(self.now);
    }

    fn arrive(&mut self, packet: Packet) {
        match packet {
            Packet::Queue(source, data) => {
                self.serial += 1;
                self.queue.insert((data.class, self.serial), (source, data));
            }
            Packet::Data(source, data) => {
                self.arrived += 1;
                let message = data.message;
                *self.received.entry(message).or_default() += 1;
                let id = MessageId {
                    source,
                    number: message,
                };
                let tag = (source, message);
                self.receiver
                    .input(self.now, id, data.outline, data.body, || tag);
                while let Some((_, message)) = self.receiver.take_delivered() {
                    let before = self.delivered.insert(message, self.now);
                    assert_eq!(before, None, "message {message} was delivered twice");
                }
            }
            Packet::Control(source, message, control) => {
                if !self.dead.contains(&source) {
                    self.senders[source as usize].input(self.now, message, control, || message);
                }
            }
        }
    }

    /// Moves packets from the state machines to the network.
    fn transmit(&mut self) {
        for source in 0..self.senders.len() {
            let is_dead = self.dead.contains(&(source as u32));
            while self.uplink_free[source] <= self.now || is_dead {
                let Some((data, _)) = self.senders[source].poll_transmit(self.now) else {
                    break;
                };
                if is_dead {
                    continue;
                }
                let free = self.now + self.time_of(&data);
                self.uplink_free[source] = free;
                self.send(free + self.latency, Packet::Queue(source as u32, data));
            }
        }
        if self.link_free <= self.now
            && let Some((_, (source, data))) = self.queue.pop_first()
        {
            self.link_free = self.now + self.time_of(&data);
            self.push(self.link_free + self.latency, Packet::Data(source, data));
        }
        while let Some(((source, message), control)) = self.receiver.poll_transmit() {
            if let Control::Grant { up_to, .. } = control {
                let granted = self.granted.entry(message).or_insert(self.unscheduled);
                *granted = up_to.max(*granted);
                let received = self.received.get(&message).copied().unwrap_or_default();
                let most = self.max_in_flight.entry(message).or_default();
                *most = (*most).max(granted.saturating_sub(received));
            }
            let arrival = self.now + PACKET_TIME / 12 + self.latency * 2;
            self.send(arrival, Packet::Control(source, message, control));
        }
    }

    fn time_of(&self, data: &Data) -> Span {
        let payload = match data.body {
            Body::Payload { number, .. } => self.config.payload_of(data.outline.bytes, number),
            Body::Busy | Body::Unknown => 0,
        };
        RATE.transmit(u64::from(payload) + 60)
    }

    fn send(&mut self, arrival: Time, packet: Packet) {
        if self.chance(self.faults.lost) {
            return;
        }
        let late = if self.chance(self.faults.late) {
            self.latency * 10
        } else {
            Span::ZERO
        };
        self.push(arrival + late, packet);
        if self.chance(self.faults.duplicated) {
            self.push(arrival + self.latency, packet);
        }
    }

    fn push(&mut self, arrival: Time, packet: Packet) {
        self.serial += 1;
        self.events.insert((arrival, self.serial), packet);
    }

    fn chance(&mut self, permille: u64) -> bool {
        self.draws += 1;
        mix(self.faults.seed, self.draws) % 1_000 < permille
    }
}
