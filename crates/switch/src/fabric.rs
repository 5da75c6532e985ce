//! The switch without I/O or clock.

use crate::buffers::Buffers;
use crate::config::{Classifier, Config, ConfigError, End, PortChoice};
use crate::d3::{Router, UDP};
use crate::forwarding::{Forwarding, Towards};
use crate::frame::{ALL, Frame};
use crate::headers::{Headers, Mac, set_ce};
use crate::loss::Loss;
use crate::report::{InterfaceReport, PortReport};
use crate::series::{Sampler, Series};
use duetime_core::Time;
use duetime_link::{Frame as _, Offer, Port, Sent, SharedBuffer};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The emulated network in virtual time.
///
/// Whoever has the interfaces calls [`offer`](Self::offer) for each frame that a host sent, in order of time as well as
/// they can, then [`poll_transmit`](Self::poll_transmit) until nothing is due, and comes again at
/// [`next_timeout`](Self::next_timeout). Each frame taken must be given back by [`release`](Self::release).
#[derive(Debug)]
pub struct Fabric {
    /// The uplinks, by interface, then the ports of all nodes.
    ports: Vec<Port<Frame>>,
    /// By port.
    places: Vec<Place>,
    nodes: Vec<Node>,
    pools: Vec<SharedBuffer>,
    /// The next arrival of each link that carries something.
    arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    /// What has reached its interface and was not taken.
    ready: VecDeque<Outgoing>,
    buffers: Buffers,
    forwarding: Forwarding,
    classifier: Classifier,
    overhead_bytes: u32,
    sampler: Option<Sampler>,
    /// The next update of a D3 router, or earlier.
    next_update: Time,
    /// By interface.
    counts: Vec<InterfaceReport>,
    /// Everything before this has happened.
    clock: Time,
}

/// What the fabric knows of a port beside what the port itself does.
#[derive(Debug)]
struct Place {
    name: String,
    to: End,
    pool: Option<u32>,
    /// Marks that an ECN-capable packet took; the port counts those asked for.
    marks_made: u64,
    /// Of the link behind it.
    loss: Option<Box<Loss>>,
    d3: Option<Box<Router>>,
}

#[derive(Debug)]
struct Node {
    first_port: u32,
    /// By interface.
    next: Vec<PortChoice>,
}

/// A frame that has arrived at an interface, for the host behind it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its buffer is to be given back"]
pub struct Outgoing {
    /// The interface, by its index.
    pub interface: usize,
    /// When its last bit has arrived there.
    pub due: Time,
    buffer: u32,
}

/// Why a frame was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is shorter than an Ethernet header.
    Runt,
    /// It is longer than [`Fabric::longest_frame`].
    TooLong,
    /// It is for the host that sent it.
    Returning,
    /// All buffers are in use.
    NoBuffer,
    /// The uplink's queue is full.
    Dropped,
}

impl Fabric {
    /// The network at time zero, without packets; a frame has at most `longest_frame` bytes, and at most 65,535.
    pub fn new(config: &Config, longest_frame: usize) -> Result<Self, ConfigError> {
        config.check()?;
        let (ports, places, pools) = ports(config);
        let mut first_port = config.interfaces.len() as u32;
        let mut nodes = Vec::with_capacity(config.nodes.len());
        for node in &config.nodes {
            nodes.push(Node {
                first_port,
                next: node.next_port.clone(),
            });
            first_port += node.ports.len() as u32;
        }
        let options = &config.options;
        let counts = config.interfaces.iter().map(|interface| InterfaceReport {
            name: interface.name.clone(),
            host: interface.host.clone(),
            ..InterfaceReport::default()
        });
        Ok(Self {
            sampler: options
                .sampling
                .map(|sampling| Sampler::new(sampling, ports.len())),
            arrivals: BinaryHeap::with_capacity(ports.len()),
            ports,
            places,
            nodes,
            pools,
            ready: VecDeque::new(),
            buffers: Buffers::new(options.buffers, longest_frame),
            forwarding: Forwarding::new(config),
            classifier: options.classifier,
            overhead_bytes: options.overhead_bytes,
            next_update: Time::MAX,
            counts: counts.collect(),
            clock: Time::ZERO,
        })
    }

    /// The longest frame that can be taken in, in bytes.
    pub fn longest_frame(&self) -> usize {
        self.buffers.size()
    }

    /// Everything before this has happened; what is offered with an earlier time counts as of now.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// The host at `interface` sent a frame, without its checksum (FCS), at `now`.
    pub fn offer(&mut self, now: Time, interface: usize, frame: &[u8]) -> Result<(), Refused> {
        self.advance(now.max(self.clock));
        let result = self.take_in(interface, frame);
        let counts = &mut self.counts[interface];
        counts.received_packets += 1;
        counts.received_bytes += frame.len() as u64;
        match result {
            Err(Refused::Runt) => counts.runts += 1,
            Err(Refused::TooLong) => counts.too_long += 1,
            Err(Refused::Returning) => counts.returning += 1,
            Err(Refused::NoBuffer) => counts.no_buffer += 1,
            // The port counts these.
            Err(Refused::Dropped) | Ok(()) => {}
        }
        result
    }

    fn take_in(&mut self, interface: usize, bytes: &[u8]) -> Result<(), Refused> {
        let headers = Headers::read(bytes).ok_or(Refused::Runt)?;
        if bytes.len() > self.buffers.size() {
            return Err(Refused::TooLong);
        }
        let from = interface as u16;
        self.forwarding.learn(from, &headers);
        let Towards {
            interface: destination,
            mac,
        } = self.forwarding.towards(&headers);
        if destination == from {
            return Err(Refused::Returning);
        }
        let buffer = self.buffers.keep(bytes, from).ok_or(Refused::NoBuffer)?;
        if let Some(mac) = mac {
            self.buffers.bytes_mut(buffer)[..size_of::<Mac>()].copy_from_slice(&mac);
        }
        let class = self.class(&headers);
        let frame = Frame::new(&headers, buffer, destination, class, self.overhead_bytes);
        if self.send(u32::from(from), frame) {
            Ok(())
        } else {
            Err(Refused::Dropped)
        }
    }

    fn class(&self, headers: &Headers) -> u8 {
        match &self.classifier {
            Classifier::Precedence => 7 - (headers.dscp() >> 3),
            Classifier::Dscp(classes) => classes[usize::from(headers.dscp())],
            Classifier::Vlan => 7 - headers.vlan_priority.unwrap_or(0),
        }
    }

    /// When something next happens in the network, [`Time::MAX`] if nothing is on its way: not later than the next
    /// frame for a host is due.
    pub fn next_timeout(&self) -> Time {
        if let Some(ready) = self.ready.front() {
            return ready.due;
        }
        self.arrivals
            .peek()
            .map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// A frame that has reached a host by `now`, first those that came first.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        if self.ready.is_empty() {
            self.advance(now);
        }
        if self.ready.front()?.due > now {
            return None;
        }
        let outgoing = self.ready.pop_front()?;
        let counts = &mut self.counts[outgoing.interface];
        counts.sent_packets += 1;
        counts.sent_bytes += self.buffers.bytes(outgoing.buffer).len() as u64;
        Some(outgoing)
    }

    /// The bytes of a frame that was taken.
    pub fn bytes(&self, outgoing: &Outgoing) -> &[u8] {
        self.buffers.bytes(outgoing.buffer)
    }

    /// Gives back a frame that was sent.
    #[expect(clippy::needless_pass_by_value, reason = "it cannot be used any more")]
    pub fn release(&mut self, outgoing: Outgoing) {
        self.buffers.release(outgoing.buffer);
    }

    /// Buffers that hold a frame.
    pub fn buffers_in_use(&self) -> usize {
        self.buffers.in_use()
    }

    /// Lets happen what is due by `now`.
    fn advance(&mut self, now: Time) {
        while let Some(&Reverse((at, port))) = self.arrivals.peek()
            && at <= now
        {
            self.arrivals.pop();
            self.reach(at);
            self.arrive(port);
        }
        if now > self.clock {
            self.reach(now);
        }
    }

    fn reach(&mut self, now: Time) {
        if self.next_update <= now {
            self.update(now);
        }
        self.clock = now;
        if let Some(sampler) = &mut self.sampler {
            sampler.sample(now, &mut self.ports);
        }
    }

    /// The updates of the D3 routers that are due by `now`, each at its time: nothing comes to a port before `now`.
    fn update(&mut self, now: Time) {
        self.next_update = Time::MAX;
        for (place, port) in self.places.iter_mut().zip(&mut self.ports) {
            if let Some(router) = &mut place.d3 {
                router.update(now, port);
                self.next_update = self.next_update.min(router.next_update());
            }
        }
    }

    /// A packet arrives at the far end of the link behind `port`.
    fn arrive(&mut self, port: u32) {
        let link = &mut self.ports[port as usize];
        let frame = link.arriving();
        if let Some(next) = link.arrived_classed(self.clock, frame) {
            self.arrivals.push(Reverse((next, port)));
        }
        let place = &mut self.places[port as usize];
        if let Some(loss) = &mut place.loss
            && loss.takes(frame.wire_bytes())
        {
            self.buffers.release(frame.buffer);
            return;
        }
        match place.to {
            End::Node(node) if frame.destination == ALL => self.spread(node, frame),
            End::Node(node) => self.forward(node, frame),
            End::Interface(interface) => {
                if frame.is_marked() {
                    set_ce(self.buffers.bytes_mut(frame.buffer));
                }
                self.ready.push_back(Outgoing {
                    interface,
                    due: self.clock,
                    buffer: frame.buffer,
                });
            }
        }
    }

    fn forward(&mut self, node: usize, frame: Frame) {
        let Node { first_port, next } = &self.nodes[node];
        let port = match &next[usize::from(frame.destination)] {
            PortChoice::One(port) => *port,
            PortChoice::Hashed(ports) => ports[pick(frame.flow, node, ports.len())],
        };
        let port = first_port + port as u32;
        self.send(port, frame);
    }

    /// Sends a copy to every host but the sender. From here on each is a packet of its own, so that loops in the network
    /// do no harm.
    fn spread(&mut self, node: usize, frame: Frame) {
        let from = self.buffers.source(frame.buffer);
        for destination in 0..self.counts.len() as u16 {
            if destination == from {
                continue;
            }
            match self.buffers.copy(frame.buffer) {
                Some(buffer) => self.forward(node, frame.copied(buffer, destination)),
                None => self.counts[usize::from(from)].no_buffer += 1,
            }
        }
        self.buffers.release(frame.buffer);
    }

    /// Offers a packet to a port now; false: dropped. Every packet comes to every port by this way, uplinks included,
    /// so this is where D3's router sees it first, dropped or not, as in the simulator.
    fn send(&mut self, to: u32, frame: Frame) -> bool {
        let place = &mut self.places[to as usize];
        let port = &mut self.ports[to as usize];
        if let Some(router) = &mut place.d3 {
            let policed = router.polices().then(|| self.buffers.source(frame.buffer));
            if let Some(from) = policed
                && !router.admits(self.clock, from, frame, self.buffers.bytes(frame.buffer))
            {
                self.buffers.release(frame.buffer);
                return false;
            }
            router.sample(self.clock, port);
            if let Some(at) = frame.request_at()
                && let Some(headers) = self.buffers.array_mut(frame.buffer, at - UDP)
            {
                let was_idle = match policed {
                    None => router.answer(self.clock, headers),
                    Some(from) => router.answer_policed(self.clock, from, headers),
                };
                if was_idle {
                    self.next_update = self.next_update.min(router.next_update());
                }
            }
        }
        let asked = port.counters().marks;
        let offer = match place.pool {
            None => port.offer(self.clock, frame),
            Some(pool) => self.pools[pool as usize].offer(&mut self.ports, to, self.clock, frame),
        };
        if frame.can_be_marked() {
            place.marks_made += self.ports[to as usize].counters().marks - asked;
        }
        match offer {
            Offer::Sent(Sent { arrival, first }) => {
                if first {
                    self.arrivals.push(Reverse((arrival, to)));
                }
            }
            Offer::Queued { .. } => {}
            Offer::Dropped => self.buffers.release(frame.buffer),
        }
        offer != Offer::Dropped
    }

    /// What the ports have done by the clock: the uplinks by interface, then the ports of all nodes.
    pub fn ports(&mut self) -> Vec<PortReport> {
        let clock = self.clock;
        let ports = self.ports.iter_mut().zip(&self.places);
        let report = |(port, place): (&mut Port<Frame>, &Place)| {
            port.drain(clock);
            PortReport {
                losses: place.loss.as_ref().map_or(0, |loss| loss.packets),
                loss_bytes: place.loss.as_ref().map_or(0, |loss| loss.bytes),
                d3: place.d3.as_ref().map(|router| router.report()),
                ..PortReport::of(port, clock, &place.name, place.marks_made)
            }
        };
        ports.map(report).collect()
    }

    /// What came from and went to the hosts, by interface.
    pub fn interfaces(&self) -> &[InterfaceReport] {
        &self.counts
    }

    /// A frame to the host at `interface` could not be sent.
    pub(crate) fn count_unsent(&mut self, interface: usize) {
        self.counts[interface].unsent += 1;
    }

    /// A frame from the host at `interface` came without a finished checksum, which was completed.
    pub(crate) fn count_completed(&mut self, interface: usize) {
        self.counts[interface].checksums_completed += 1;
    }

    /// The sampled queues, by port as in [`Self::ports`]; empty without [`crate::Sampling`].
    pub fn series(&self) -> Vec<Series> {
        let names = self.places.iter().map(|place| place.name.clone());
        self.sampler
            .as_ref()
            .map(|sampler| sampler.series(names))
            .unwrap_or_default()
    }
}

/// All ports with their places, and the shared memories.
fn ports(config: &Config) -> (Vec<Port<Frame>>, Vec<Place>, Vec<SharedBuffer>) {
    let (mut ports, mut places, mut pools) = (Vec::new(), Vec::new(), Vec::new());
    let d3 = config.d3();
    let streams = config.options.streams;
    for interface in &config.interfaces {
        let link = interface.uplink;
        let port = Port::new(link.rate, link.latency).with_limit(link.limit);
        ports.push(port.with_classes(link.classes));
        places.push(Place {
            name: format!("{}->{}", interface.host, config.nodes[interface.node].name),
            to: End::Node(interface.node),
            pool: None,
            marks_made: 0,
            loss: Loss::new(link.loss, streams, places.len()),
            d3: None,
        });
    }
    for node in &config.nodes {
        let first = ports.len() as u32;
        let pool = node.shared_buffer.map(|shared| {
            let members = (first..).take(node.ports.len()).collect();
            pools.push(SharedBuffer::new(shared.bytes, shared.alpha, members));
            pools.len() as u32 - 1
        });
        for port in &node.ports {
            let to = match port.to {
                End::Node(index) => &config.nodes[index].name,
                End::Interface(index) => &config.interfaces[index].host,
            };
            places.push(Place {
                name: format!("{}->{to}", node.name),
                to: port.to,
                pool,
                marks_made: 0,
                loss: Loss::new(port.loss, streams, places.len()),
                d3: port.d3.then(|| {
                    let uplinks = config.interfaces.iter().map(|one| one.uplink.rate);
                    Box::new(Router::new(&d3, port.rate, ports.len(), uplinks))
                }),
            });
            let made = Port::new(port.rate, port.latency)
                .with_limit(port.limit)
                .with_classes(port.classes);
            ports.push(match port.mark_at {
                Some(threshold) => made.with_mark_at(threshold),
                None => made,
            });
        }
    }
    (ports, places, pools)
}

/// One of `count`, by the flow and the node, so that the choices along a way do not go together.
fn pick(flow: u32, node: usize, count: usize) -> usize {
    let mut x = (u64::from(flow) << 32 | node as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    (((x & u64::from(u32::MAX)) * count as u64) >> 32) as usize
}
