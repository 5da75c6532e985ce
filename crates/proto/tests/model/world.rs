//! Senders, receivers and ports of the crate, with the packets in flight between them.

use crate::case::Case;
use crate::ledger::Ledger;
use crate::rules::{Rule, admission, limits};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{Flags, Packet, PortDriver, Reading, Receiver, Sender};
use duetime_proto::{Length, Message};

/// Rate of every link: 125 encoded units.
pub const RATE: Rate = Rate::from_gbps(1);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Time of all parts in a timed model.
    pub now: Time,
    pub flows: Vec<Flow>,
    pub ports: Vec<Port>,
    /// In canonical order.
    pub packets: Vec<Flight>,
    /// Number of faults that may still happen.
    pub faults: u8,
    /// Rule that the last step broke.
    pub broken: Option<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Time of the sender.
    pub clock: Time,
    /// True if both hosts have failed.
    pub is_dead: bool,
    /// True if the sender has sent a FIN that ends the flow.
    has_ended: bool,
    /// True if the receiver has answered it, which ends the flow of the acknowledgements.
    has_answered_end: bool,
    pub was_abandoned: bool,
    /// True if the application has not written the data yet.
    pub is_unwritten: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    pub driver: PortDriver,
    pub ledger: Ledger,
    /// Time of the port.
    pub clock: Time,
    pub departed_bytes: u64,
    pub updates: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flight {
    /// Time of arrival at the next hop in a timed model.
    pub at: Time,
    pub flow: usize,
    pub forward: bool,
    /// Index of the next hop on its path.
    pub hop: usize,
    /// Number of updates of ports since it was sent.
    pub age: u8,
    pub packet: Packet,
}

/// Traffic at a port between two updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// Nothing was sent: C increases.
    None,
    /// The link was used completely and the queue was empty: C stays.
    Full,
    /// There was a standing queue as well: C decreases.
    Queue,
}

impl World {
    pub fn new(case: &Case) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            flows: Vec::new(),
            ports: Vec::new(),
            packets: Vec::new(),
            faults: case.faults.number,
            broken: None,
        };
        for _ in 0..case.ports {
            world.ports.push(Port {
                driver: PortDriver::new(&case.config, RATE, Span::ZERO),
                ledger: Ledger::new(case.config.router.repair),
                clock: Time::ZERO,
                departed_bytes: 0,
                updates: 0,
            });
        }
        for (id, flow) in case.flows.iter().enumerate() {
            let start = Time::ZERO + flow.start;
            let length = flow.bytes.map_or(Length::Endless, Length::Bytes);
            let message = Message::new(length, flow.deadline.map(|after| start + after));
            let mut sender = Sender::new(&case.config, start, RATE, message);
            if flow.written.is_some() {
                sender.set_limit(&case.config, 0);
            }
            world.flows.push(Flow {
                sender,
                receiver: Receiver::new(),
                clock: start,
                is_dead: false,
                has_ended: false,
                has_answered_end: false,
                was_abandoned: false,
                is_unwritten: flow.written.is_some(),
            });
            world.poll_sender(case, id);
        }
        world
    }

    /// Records the first rule that is broken.
    pub fn check(&mut self, result: Result<(), Rule>) {
        self.broken = self.broken.or(result.err());
    }

    fn put(&mut self, case: &Case, mut flight: Flight) {
        let path = case.path(flight.flow, flight.forward);
        if flight.packet.request.is_none() {
            flight.hop = path.len(); // ports do not read it
        }
        let key = |flight: &Flight| {
            let packet = &flight.packet;
            let order = (flight.at, flight.flow, flight.forward, flight.hop);
            (order, packet.seq, packet.tag.number, packet.flags.0)
        };
        let index = self
            .packets
            .partition_point(|other| key(other) <= key(&flight));
        self.packets.insert(index, flight);
    }

    fn poll_sender(&mut self, case: &Case, id: usize) {
        loop {
            let flow = &mut self.flows[id];
            if flow.is_dead {
                return;
            }
            let clock = flow.clock;
            let Some(packet) = flow.sender.poll_transmit(&case.config, clock) else {
                break;
            };
            flow.has_ended |= is_end(&packet);
            self.send(case, clock, id, true, packet);
        }
        if self.flows[id].sender.is_closed() {
            for port in &mut self.ports {
                port.ledger.remove(id);
            }
        }
    }

    fn poll_receiver(&mut self, case: &Case, id: usize) {
        let now = self.now;
        while let Some(packet) = self.flows[id].receiver.poll_transmit(&case.config) {
            self.flows[id].has_answered_end |= is_end(&packet);
            self.send(case, now, id, false, packet);
        }
    }

    fn send(&mut self, case: &Case, now: Time, flow: usize, forward: bool, packet: Packet) {
        let path = case.path(flow, forward).len() as u64;
        let hops = if packet.request.is_some() {
            1
        } else {
            path + 1
        };
        let flight = Flight {
            at: now + case.hop_latency * hops,
            flow,
            forward,
            hop: 0,
            age: 0,
            packet,
        };
        self.put(case, flight);
    }

    /// Moves a packet to its next hop.
    pub fn arrive(&mut self, case: &Case, index: usize) {
        let mut flight = self.packets.remove(index);
        let id = flight.flow;
        let path = case.path(id, flight.forward);
        if let Some(&port) = path.get(flight.hop) {
            self.process(case, port, &mut flight);
            flight.hop += 1;
            flight.at += case.hop_latency;
            self.put(case, flight);
            return;
        }
        let flow = &mut self.flows[id];
        if flow.is_dead {
            return;
        }
        if flight.forward {
            flow.receiver.input(&flight.packet);
            self.poll_receiver(case, id);
        } else {
            flow.clock = if case.is_timed() {
                self.now
            } else if flight.packet.request.is_some() {
                flow.clock + case.round_trip
            } else {
                flow.clock
            };
            flow.sender.input(&case.config, flow.clock, &flight.packet);
            self.poll_sender(case, id);
        }
        let delivery = self.delivery(case, id);
        self.check(delivery);
    }

    fn process(&mut self, case: &Case, id: usize, flight: &mut Flight) {
        let flow = &self.flows[flight.flow];
        let has_ended = if flight.forward {
            flow.has_ended || flow.sender.is_closed()
        } else {
            flow.has_answered_end
        };
        let is_live = !flow.is_dead && !has_ended;
        let port = &mut self.ports[id];
        let clock = if case.is_timed() {
            self.now
        } else {
            port.clock
        };
        let flags = flight.packet.flags;
        let request = flight
            .packet
            .request
            .as_mut()
            .expect("only requests are processed");
        let (before, allocated) = (*request, port.driver.allocator().allocated());
        port.driver.sample(0);
        let outcome = port.driver.process(&case.config, clock, flags, request);
        port.ledger.record(
            flight.flow,
            flight.forward,
            is_live,
            flags,
            (&before, request),
        );
        let grant = |granted: u64| {
            let slot = usize::from(before.index);
            let limit = if flags.contains(Flags::FIN) {
                0
            } else if slot > 0 {
                before.allocations[slot - 1].0
            } else {
                u16::MAX
            };
            if granted <= u64::from(limit) {
                Ok(())
            } else {
                Err(Rule::Grant)
            }
        };
        let results = [
            limits(&port.driver),
            admission(case, &port.driver, allocated),
            grant(u64::from(outcome.granted.0)),
            port.ledger.compare(&port.driver),
        ];
        for result in results {
            self.check(result);
        }
    }

    /// Loses a packet. The ledger forgets a flow that is not open yet, because it may be silent for a retransmission
    /// timeout, and one that has ended or paused.
    pub fn lose(&mut self, index: usize) {
        let flight = self.packets.remove(index);
        let flow = &self.flows[flight.flow];
        let flags = flight.packet.flags;
        let opens = flags.contains(Flags::SYN) && !flow.sender.is_established();
        let ends = flags.contains(Flags::FIN) && (flow.has_ended || flags.contains(Flags::SYN));
        if opens || ends {
            for port in &mut self.ports {
                port.ledger.remove(flight.flow);
            }
        }
    }

    pub fn duplicate(&mut self, index: usize) {
        let copy = self.packets[index].clone();
        self.packets.insert(index, copy);
    }

    /// Delays the arrival of a packet.
    pub fn delay(&mut self, case: &Case, index: usize, delay: Span) {
        let mut flight = self.packets.remove(index);
        flight.at += delay;
        self.put(case, flight);
    }

    /// Calls the timers of a flow. Returns true if it counted packets as lost.
    pub fn expire(&mut self, case: &Case, id: usize) -> bool {
        let flow = &mut self.flows[id];
        flow.clock = flow.clock.max(flow.sender.next_timeout());
        let losses = |sender: &Sender| {
            let counters = sender.counters();
            counters.timeouts + counters.lost_requests
        };
        let before = losses(&flow.sender);
        flow.sender.timeout(&case.config, flow.clock);
        let has_lost = losses(&flow.sender) > before;
        self.poll_sender(case, id);
        has_lost
    }

    /// Writes the data of a flow.
    pub fn write(&mut self, case: &Case, id: usize) {
        self.flows[id].is_unwritten = false;
        self.flows[id].sender.set_limit(&case.config, u64::MAX);
        self.poll_sender(case, id);
    }

    pub fn abandon(&mut self, case: &Case, id: usize) {
        self.flows[id].was_abandoned = true;
        self.flows[id].sender.close();
        self.poll_sender(case, id);
    }

    pub fn kill(&mut self, id: usize) {
        self.flows[id].is_dead = true;
        for port in &mut self.ports {
            port.ledger.remove(id);
        }
    }

    pub fn restart(&mut self, case: &Case, id: usize) {
        let port = &mut self.ports[id];
        port.driver = PortDriver::new(&case.config, RATE, Span::ZERO);
        port.ledger.restart();
    }

    /// Updates a port after one interval of the given load.
    pub fn update(&mut self, case: &Case, id: usize, load: Load) {
        let epoch = case.epoch();
        let port = &mut self.ports[id];
        port.clock = port.driver.next_timeout();
        let interval = RATE.bytes_in(case.config.interval());
        let (sent, queue_bytes) = match load {
            Load::None => (0, 0),
            Load::Full => (interval, 0),
            Load::Queue => (interval, interval / 4),
        };
        port.departed_bytes += sent;
        let reading = Reading {
            departed_bytes: port.departed_bytes,
            queue_bytes,
        };
        port.driver.timeout(&case.config, port.clock, reading);
        port.updates += 1;
        for flight in &mut self.packets {
            flight.age = (flight.age + 1).min(2);
        }
        port.ledger
            .update(epoch, port.driver.next_timeout() == Time::MAX);
        let results = [limits(&port.driver), port.ledger.compare(&port.driver)];
        for result in results {
            self.check(result);
        }
    }

    /// Returns true if a packet of the flow is in flight.
    pub fn has_packets(&self, id: usize) -> bool {
        self.packets.iter().any(|flight| flight.flow == id)
    }

    /// Returns true if a request would arrive at a port before an earlier one of its flow that takes the same path. Only
    /// a flow that pauses and resumes sends one before the other is answered.
    pub fn overtakes(&self, case: &Case, index: usize) -> bool {
        let late = &self.packets[index];
        late.hop < case.path(late.flow, late.forward).len()
            && self.packets.iter().any(|other| {
                (other.flow, other.forward) == (late.flow, late.forward)
                    && other.hop <= late.hop
                    && other.packet.request.is_some()
                    && other.packet.tag.number < late.packet.tag.number
            })
    }
}

/// Returns true if the packet ends its flow. With the flag SYN, the flow pauses.
fn is_end(packet: &Packet) -> bool {
    packet.flags.contains(Flags::FIN) && !packet.flags.contains(Flags::SYN)
}
