//! Small network for the tests of D3: pull-driven hosts, FIFO ports with an allocator each, a virtual clock, and a
//! ledger of the expected counters of every router.

use duetime_core::random::{Purpose, Stream, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{
    Allocator, Config, EncodedRate, Flags, Packet, QueueSample, Receiver, Sender,
};
use duetime_proto::{Length, Message};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

pub struct World {
    pub config: Config,
    pub now: Time,
    pub ports: Vec<Port>,
    pub flows: Vec<Flow>,
    pub hosts: Vec<Host>,
    /// Loss per packet and port.
    pub loss: f64,
    /// True to lose only packets with a request.
    pub only_requests: bool,
    /// True to compare every port with the ledger after every request.
    pub audit: bool,
    pub ledger: Ledger,
    pub dropped: u64,
    /// Number of requests and data packets counted as lost that were only late.
    pub false_losses: u32,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    stream: Stream,
}

pub struct Port {
    pub rate: Rate,
    pub latency: Span,
    pub limit: u64,
    pub allocator: Allocator,
    pub sent: u64,
    pub sent_total: u64,
    pub worst_queue: u64,
    /// Host with this port as its NIC, if any.
    nic: Option<usize>,
    free: Time,
    waiting: VecDeque<(Time, u64)>,
    waiting_bytes: u64,
    /// Minimum queue since the last tick.
    min_queue: u64,
}

#[derive(Default)]
pub struct Host {
    pub nic: usize,
    /// Flows with packets to send; acknowledgements take precedence.
    acknowledging: VecDeque<usize>,
    sending: VecDeque<usize>,
    senders: Vec<usize>,
    busy: bool,
}

/// Bytes of an endless flow.
pub const ENDLESS: u64 = u64::MAX;

pub struct Flow {
    pub source: usize,
    pub destination: usize,
    pub forward: Vec<usize>,
    pub backward: Vec<usize>,
    pub sender: Option<Sender>,
    pub receiver: Receiver,
    pub bytes: u64,
    pub deadline: Option<Time>,
    pub finished: Option<Time>,
    /// True if the flow's host has failed: it neither sends nor receives.
    pub dead: bool,
    timer: Time,
    queued: [bool; 2],
}

/// Expected state of every router: (port, flow, direction) → (desired, granted).
#[derive(Default)]
pub struct Ledger {
    entries: BTreeMap<(usize, usize, bool), (u64, u64)>,
    sums: BTreeMap<usize, (u64, u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    NicFree(usize),
    Arrive(usize),
    Start(usize),
    Timer(usize),
}

#[derive(Clone, Copy)]
struct Flight {
    flow: usize,
    forward: bool,
    hop: usize,
    packet: Packet,
}

/// Packets in flight, by index.
#[derive(Default)]
struct Slab(Vec<Flight>, Vec<usize>);

thread_local! {
    static SLAB: std::cell::RefCell<Slab> = std::cell::RefCell::default();
}

impl World {
    pub fn new(config: Config, seed: u64) -> Self {
        SLAB.with_borrow_mut(|slab| *slab = Slab::default());
        let mut world = Self {
            config,
            now: Time::ZERO,
            ports: Vec::new(),
            flows: Vec::new(),
            hosts: Vec::new(),
            loss: 0.0,
            only_requests: false,
            audit: false,
            ledger: Ledger::default(),
            dropped: 0,
            false_losses: 0,
            events: BinaryHeap::new(),
            order: 0,
            stream: Streams::new(seed, 0).stream(0, Purpose::Fault),
        };
        world.at(Time::ZERO + config.interval(), Event::Tick);
        world
    }

    pub fn port(&mut self, rate: Rate, latency: Span) -> usize {
        self.ports.push(Port {
            rate,
            latency,
            limit: u64::MAX,
            allocator: Allocator::new(&self.config, rate),
            sent: 0,
            sent_total: 0,
            worst_queue: 0,
            nic: None,
            free: Time::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            min_queue: 0,
        });
        self.ports.len() - 1
    }

    pub fn host(&mut self, rate: Rate, latency: Span) -> usize {
        let nic = self.port(rate, latency);
        self.ports[nic].nic = Some(self.hosts.len());
        self.hosts.push(Host {
            nic,
            ..Host::default()
        });
        self.hosts.len() - 1
    }

    /// Adds a flow over `forward` ports behind the source's NIC, acknowledged over `backward` behind the destination's.
    pub fn flow(
        &mut self,
        (source, destination): (usize, usize),
        forward: &[usize],
        backward: &[usize],
        bytes: u64,
        start: Time,
        deadline: Option<Time>,
    ) -> usize {
        let path =
            |nic: usize, rest: &[usize]| std::iter::once(nic).chain(rest.iter().copied()).collect();
        let id = self.flows.len();
        self.flows.push(Flow {
            source,
            destination,
            forward: path(self.hosts[source].nic, forward),
            backward: path(self.hosts[destination].nic, backward),
            sender: None,
            receiver: Receiver::new(),
            bytes,
            deadline,
            finished: None,
            dead: false,
            timer: Time::MAX,
            queued: [false; 2],
        });
        self.hosts[source].senders.push(id);
        self.at(start, Event::Start(id));
        id
    }

    pub fn run(&mut self, until: Time) {
        while let Some(Reverse((time, _, event))) = self.events.peek().copied() {
            if time > until {
                break;
            }
            self.events.pop();
            self.now = time;
            match event {
                Event::Start(flow) => self.start(flow),
                Event::Timer(flow) => self.timer(flow),
                Event::NicFree(host) => {
                    self.hosts[host].busy = false;
                    self.pull(host);
                }
                Event::Arrive(index) => {
                    let flight = SLAB.with_borrow_mut(|slab| {
                        slab.1.push(index);
                        slab.0[index]
                    });
                    self.arrive(flight);
                }
                Event::Tick => self.tick(),
            }
        }
        self.now = until;
    }

    /// Stops both ends silently and for ever, at any point.
    pub fn kill(&mut self, flow: usize) {
        self.flows[flow].dead = true;
        self.ledger.remove_flow(flow);
    }

    pub fn utilisation(&self, port: usize, sent_before: u64, span: Span) -> f64 {
        (self.ports[port].sent_total - sent_before) as f64
            / self.ports[port].rate.bytes_in(span) as f64
    }

    fn at(&mut self, time: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    fn start(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let uplink = self.ports[flow.forward[0]].rate;
        let length = match flow.bytes {
            ENDLESS => Length::Endless,
            bytes => Length::Bytes(bytes),
        };
        flow.sender = Some(Sender::new(
            &self.config,
            self.now,
            uplink,
            Message::new(length, flow.deadline),
        ));
        self.update(id, true);
    }

    fn timer(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        if flow.timer != self.now {
            return; // replaced by an earlier timer
        }
        flow.timer = Time::MAX;
        if flow.dead {
            return;
        }
        if let Some(sender) = &mut flow.sender {
            let before = sender.counters();
            sender.timeout(&self.config, self.now);
            let after = sender.counters();
            self.false_losses +=
                after.timeouts - before.timeouts + after.lost_requests - before.lost_requests;
        }
        self.update(id, true);
    }

    /// Updates the timer and the host's queue after a change of an endpoint.
    fn update(&mut self, id: usize, sending: bool) {
        let flow = &mut self.flows[id];
        let Some(sender) = &flow.sender else { return };
        let ready = if sending {
            sender.can_transmit(&self.config)
        } else {
            flow.receiver.can_transmit()
        };
        let timeout = sender.next_timeout();
        if timeout < flow.timer {
            let due = timeout.max(self.now);
            flow.timer = due;
            self.at(due, Event::Timer(id));
        }
        let flow = &mut self.flows[id];
        let host = if sending {
            flow.source
        } else {
            flow.destination
        };
        if ready && !flow.dead && !flow.queued[usize::from(sending)] {
            flow.queued[usize::from(sending)] = true;
            let host = &mut self.hosts[host];
            if sending {
                host.sending.push_back(id);
            } else {
                host.acknowledging.push_back(id);
            }
        }
        self.pull(host);
    }

    fn pull(&mut self, host: usize) {
        while !self.hosts[host].busy {
            let (id, sending) = if let Some(id) = self.hosts[host].acknowledging.pop_front() {
                (id, false)
            } else if let Some(id) = self.hosts[host].sending.pop_front() {
                (id, true)
            } else {
                return;
            };
            let flow = &mut self.flows[id];
            flow.queued[usize::from(sending)] = false;
            if flow.dead {
                continue;
            }
            let packet = if sending {
                flow.sender
                    .as_mut()
                    .and_then(|sender| sender.poll_transmit(&self.config, self.now))
            } else {
                flow.receiver.poll_transmit(&self.config)
            };
            if let Some(packet) = packet {
                self.hosts[host].busy = true;
                self.transmit(Flight {
                    flow: id,
                    forward: sending,
                    hop: 0,
                    packet,
                });
                let nic = self.hosts[host].nic;
                self.at(self.ports[nic].free, Event::NicFree(host));
            }
            self.update(id, sending);
        }
    }

    /// Sends a packet through the port of its hop.
    fn transmit(&mut self, mut flight: Flight) {
        let flow = &self.flows[flight.flow];
        if flow.dead {
            return;
        }
        let id = if flight.forward {
            &flow.forward
        } else {
            &flow.backward
        }[flight.hop];
        let bytes = u64::from(flight.packet.wire_bytes(&self.config));
        if let Some(request) = &mut flight.packet.request {
            let before = *request;
            let outcome =
                self.ports[id]
                    .allocator
                    .process(&self.config, flight.packet.flags, request);
            if usize::from(before.index) < 6 {
                let slot = usize::from(before.index);
                assert!(slot == 0 || request.allocations[slot] <= request.allocations[slot - 1]);
                let key = (id, flight.flow, flight.forward);
                self.ledger
                    .record(key, flight.packet.flags, outcome.desired, outcome.granted);
                if self.audit && self.false_losses == 0 {
                    self.audit(id);
                }
            }
        }
        let port = &mut self.ports[id];
        port.drain(self.now);
        port.min_queue = port.min_queue.min(port.waiting_bytes);
        if port.waiting_bytes + bytes > port.limit
            || self.loss > 0.0 && self.stream.chance(self.loss)
        {
            self.dropped += 1;
            return;
        }
        let start = port.free.max(self.now);
        port.free = start + port.rate.transmit(bytes);
        port.waiting.push_back((start, bytes));
        port.waiting_bytes += bytes;
        port.drain(self.now);
        port.worst_queue = port.worst_queue.max(port.waiting_bytes);
        let arrival = port.free + port.latency;
        flight.hop += 1;
        let index = SLAB.with_borrow_mut(|slab| {
            if let Some(index) = slab.1.pop() {
                slab.0[index] = flight;
                index
            } else {
                slab.0.push(flight);
                slab.0.len() - 1
            }
        });
        self.at(arrival, Event::Arrive(index));
    }

    fn arrive(&mut self, flight: Flight) {
        let flow = &mut self.flows[flight.flow];
        let path = if flight.forward {
            &flow.forward
        } else {
            &flow.backward
        };
        if flight.hop < path.len() {
            self.transmit(flight);
            return;
        }
        if flow.dead {
            return;
        }
        if flight.forward {
            let delivery = flow.receiver.input(&flight.packet);
            if delivery.finished {
                assert_eq!(
                    flow.receiver.delivered(),
                    flow.bytes,
                    "a flow ends with its last byte"
                );
                flow.finished = Some(self.now);
            }
        } else if let Some(sender) = &mut flow.sender {
            sender.input(&self.config, self.now, &flight.packet);
        }
        self.update(flight.flow, !flight.forward);
    }

    fn tick(&mut self) {
        for host in &mut self.hosts {
            host.senders.retain(|&flow| {
                let flow = &self.flows[flow];
                !flow.dead
                    && flow
                        .sender
                        .as_ref()
                        .is_none_or(|sender| !sender.is_closed())
            });
        }
        for id in 0..self.ports.len() {
            let port = &mut self.ports[id];
            port.drain(self.now);
            let queue = match port.nic {
                None if self.config.router.variant.queue_sample == QueueSample::Instant => {
                    port.waiting_bytes
                }
                None => port.min_queue.min(port.waiting_bytes),
                Some(host) => self.hosts[host]
                    .senders
                    .iter()
                    .filter_map(|&flow| self.flows[flow].sender.as_ref())
                    .map(Sender::overdue)
                    .sum(),
            };
            let port = &mut self.ports[id];
            let sent = std::mem::take(&mut port.sent);
            port.min_queue = port.waiting_bytes;
            port.allocator.tick(&self.config, sent, queue);
            if self.audit && self.false_losses == 0 {
                self.audit(id);
            }
        }
        self.at(self.now + self.config.interval(), Event::Tick);
    }

    /// Compares a port's counters with the ledger.
    pub fn audit(&self, id: usize) {
        let allocator = &self.ports[id].allocator;
        let actual = (allocator.flows(), allocator.demand(), allocator.allocated());
        assert_eq!(
            actual,
            self.ledger.sum(id),
            "(N, D, A) of port {id} at {}",
            self.now
        );
    }
}

impl Port {
    /// Resets the allocator, like a router restart.
    pub fn restart(&mut self, config: &Config) {
        self.allocator = Allocator::new(config, self.rate);
    }

    fn drain(&mut self, now: Time) {
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
            self.sent += bytes;
            self.sent_total += bytes;
        }
    }
}

impl Ledger {
    fn record(
        &mut self,
        key: (usize, usize, bool),
        flags: Flags,
        desired: EncodedRate,
        granted: EncodedRate,
    ) {
        let now =
            (!flags.contains(Flags::FIN)).then_some((u64::from(desired.0), u64::from(granted.0)));
        let before = match now {
            Some(entries) => self.entries.insert(key, entries),
            None => self.entries.remove(&key),
        };
        let sum = self.sums.entry(key.0).or_default();
        if let Some((desired, granted)) = before {
            *sum = (sum.0 - 1, sum.1 - desired, sum.2 - granted);
        }
        if let Some((desired, granted)) = now {
            *sum = (sum.0 + 1, sum.1 + desired, sum.2 + granted);
        }
    }

    /// Removes the rates of a flow after its host has failed.
    pub fn remove_flow(&mut self, flow: usize) {
        let keys: Vec<_> = self
            .entries
            .keys()
            .filter(|key| key.1 == flow)
            .copied()
            .collect();
        for key in keys {
            self.record(key, Flags::FIN, EncodedRate::ZERO, EncodedRate::ZERO);
        }
    }

    pub fn sum(&self, port: usize) -> (u64, u64, u64) {
        self.sums.get(&port).copied().unwrap_or_default()
    }
}

/// Creates `n` hosts on one switch, with the same rate and latency. Returns the world and each host's port at the
/// switch.
pub fn star(config: Config, seed: u64, n: usize, rate: Rate, latency: Span) -> (World, Vec<usize>) {
    let mut world = World::new(config, seed);
    for _ in 0..n {
        world.host(rate, latency);
    }
    let down = (0..n).map(|_| world.port(rate, latency)).collect();
    (world, down)
}
