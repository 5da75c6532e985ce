//! The switch without I/O or clock.

use crate::buffers::Buffers;
use crate::config::{Classifier, Config, ConfigError, End, PortChoice};
use crate::d3::{Router, UDP};
use crate::forwarding::{Decision, Forwarding};
use crate::frame::{ALL, Frame};
use crate::headers::{Headers, Mac, set_ce};
use crate::loss::Loss;
use crate::report::{InterfaceReport, PortReport};
use crate::series::{Sampler, Series};
use duetime_core::Time;
use duetime_link::{Frame as _, Offer, Port, Sent, SharedBuffer};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Emulated network in virtual time.
///
/// The driver calls [`offer`](Self::offer) for each frame that a host sent, if possible in order of time, then
/// [`poll_transmit`](Self::poll_transmit) until nothing is due, and continues at [`next_timeout`](Self::next_timeout).
/// Each frame from `poll_transmit` must be returned with [`release`](Self::release).
#[derive(Debug)]
pub struct Fabric {
    /// Uplinks by interface, then the ports of all nodes.
    ports: Vec<Port<Frame>>,
    places: Vec<Place>,
    nodes: Vec<Node>,
    pools: Vec<SharedBuffer>,
    /// Next arrival of each link with packets in flight.
    arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    /// Frames that have reached their interface.
    ready: VecDeque<Outgoing>,
    buffers: Buffers,
    forwarding: Forwarding,
    classifier: Classifier,
    overhead_bytes: u32,
    sampler: Option<Sampler>,
    /// Time of the next update of a D3 router, or earlier.
    next_update: Time,
    counts: Vec<InterfaceReport>,
    /// Time up to which all events have been processed.
    clock: Time,
}

/// Additional state of a port.
#[derive(Debug)]
struct Place {
    name: String,
    to: End,
    pool: Option<u32>,
    /// Marks applied to ECN-capable packets; the port counts all requested marks.
    marks_made: u64,
    /// Loss of the link behind the port.
    loss: Option<Box<Loss>>,
    d3: Option<Box<Router>>,
}

#[derive(Debug)]
struct Node {
    first_port: u32,
    next: Vec<PortChoice>,
}

/// Frame that has arrived at an interface, for the host behind it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its buffer must be released"]
pub struct Outgoing {
    /// Index of the interface.
    pub interface: usize,
    /// Arrival time of its last bit.
    pub due: Time,
    buffer: u32,
}

/// Reason for which a frame was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Shorter than an Ethernet header.
    Runt,
    /// Longer than [`Fabric::longest_frame`].
    TooLong,
    /// Addressed to the host that sent it.
    Returning,
    /// All buffers are in use.
    NoBuffer,
    /// Dropped at the uplink.
    Dropped,
}

impl Fabric {
    /// Creates the network at time zero, without packets. `longest_frame` is the maximum frame length, at most 65,535
    /// bytes.
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

    /// Returns the maximum frame length, in bytes.
    pub fn longest_frame(&self) -> usize {
        self.buffers.size()
    }

    /// Returns the time up to which all events have been processed. Frames offered with an earlier time arrive at this
    /// time.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// Accepts a frame, without its FCS, that the host at `interface` sent at `now`.
    pub fn offer(&mut self, now: Time, interface: usize, frame: &[u8]) -> Result<(), Refused> {
        self.advance(now.max(self.clock));
        let result = self.accept(interface, frame);
        let counts = &mut self.counts[interface];
        counts.received_packets += 1;
        counts.received_bytes += frame.len() as u64;
        match result {
            Err(Refused::Runt) => counts.runts += 1,
            Err(Refused::TooLong) => counts.too_long += 1,
            Err(Refused::Returning) => counts.returning += 1,
            Err(Refused::NoBuffer) => counts.no_buffer += 1,
            // The port counts dropped packets.
            Err(Refused::Dropped) | Ok(()) => {}
        }
        result
    }

    fn accept(&mut self, interface: usize, bytes: &[u8]) -> Result<(), Refused> {
        let headers = Headers::read(bytes).ok_or(Refused::Runt)?;
        if bytes.len() > self.buffers.size() {
            return Err(Refused::TooLong);
        }
        let from = interface as u16;
        self.forwarding.learn(from, &headers);
        let Decision {
            interface: destination,
            mac,
        } = self.forwarding.decide(&headers);
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

    /// Returns the time of the next event in the network, at the latest when the next frame for a host is due, or
    /// [`Time::MAX`] if no packet is in flight.
    pub fn next_timeout(&self) -> Time {
        if let Some(ready) = self.ready.front() {
            return ready.due;
        }
        self.arrivals
            .peek()
            .map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// Returns the next frame that has reached a host by `now`, in order of arrival.
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

    /// Returns the bytes of a frame from [`Self::poll_transmit`].
    pub fn bytes(&self, outgoing: &Outgoing) -> &[u8] {
        self.buffers.bytes(outgoing.buffer)
    }

    /// Releases the buffer of a frame from [`Self::poll_transmit`].
    #[expect(clippy::needless_pass_by_value, reason = "the frame is consumed")]
    pub fn release(&mut self, outgoing: Outgoing) {
        self.buffers.release(outgoing.buffer);
    }

    /// Returns the number of buffers in use.
    pub fn buffers_in_use(&self) -> usize {
        self.buffers.in_use()
    }

    /// Processes all events due by `now`.
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

    /// Performs the updates of the D3 routers due by `now`, each at its own time. No packet reaches a port before
    /// `now`.
    fn update(&mut self, now: Time) {
        self.next_update = Time::MAX;
        for (place, port) in self.places.iter_mut().zip(&mut self.ports) {
            if let Some(router) = &mut place.d3 {
                router.update(now, port);
                self.next_update = self.next_update.min(router.next_update());
            }
        }
    }

    /// Handles the arrival of a packet at the far end of the link behind `port`.
    fn arrive(&mut self, port: u32) {
        let link = &mut self.ports[port as usize];
        let frame = link.arriving();
        if let Some(next) = link.arrived_classed(self.clock, frame) {
            self.arrivals.push(Reverse((next, port)));
        }
        let place = &mut self.places[port as usize];
        if let Some(loss) = &mut place.loss
            && loss.drops(frame.wire_bytes())
        {
            self.buffers.release(frame.buffer);
            return;
        }
        match place.to {
            End::Node(node) if frame.destination == ALL => self.flood(node, frame),
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

    /// Sends a copy to every host but the sender. The copies are independent packets, so loops in the network cause no
    /// storms.
    fn flood(&mut self, node: usize, frame: Frame) {
        let from = self.buffers.source(frame.buffer);
        for destination in 0..self.counts.len() as u16 {
            if destination == from {
                continue;
            }
            match self.buffers.copy(frame.buffer) {
                Some(buffer) => self.forward(node, frame.copy_to(buffer, destination)),
                None => self.counts[usize::from(from)].no_buffer += 1,
            }
        }
        self.buffers.release(frame.buffer);
    }

    /// Offers a packet to a port and returns false if it is dropped. All packets to all ports, uplinks included, pass
    /// here, so D3's router sees each packet before it is queued or dropped, as in the simulator.
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
        let marks_before = port.counters().marks;
        let offer = match place.pool {
            None => port.offer(self.clock, frame),
            Some(pool) => self.pools[pool as usize].offer(&mut self.ports, to, self.clock, frame),
        };
        if frame.can_be_marked() {
            place.marks_made += self.ports[to as usize].counters().marks - marks_before;
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

    /// Returns the counters of the uplinks by interface, then of the ports of all nodes, up to the clock.
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

    /// Returns the counters by interface.
    pub fn interfaces(&self) -> &[InterfaceReport] {
        &self.counts
    }

    /// Counts a frame to the host at `interface` that could not be sent.
    pub(crate) fn count_unsent(&mut self, interface: usize) {
        self.counts[interface].unsent += 1;
    }

    /// Counts a frame from the host at `interface` whose checksum was completed.
    pub(crate) fn count_completed(&mut self, interface: usize) {
        self.counts[interface].checksums_completed += 1;
    }

    /// Returns the sampled queues by port, as in [`Self::ports`]; empty without [`crate::Sampling`].
    pub fn series(&self) -> Vec<Series> {
        let names = self.places.iter().map(|place| place.name.clone());
        self.sampler
            .as_ref()
            .map(|sampler| sampler.series(names))
            .unwrap_or_default()
    }
}

/// Creates all ports with their additional state, and the shared buffers.
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
                    let uplinks = config
                        .interfaces
                        .iter()
                        .map(|interface| interface.uplink.rate);
                    Box::new(Router::new(&d3, port.rate, ports.len(), uplinks))
                }),
            });
            let new = Port::new(port.rate, port.latency)
                .with_limit(port.limit)
                .with_classes(port.classes);
            ports.push(match port.mark_at {
                Some(threshold) => new.with_mark_at(threshold),
                None => new,
            });
        }
    }
    (ports, places, pools)
}

/// Picks one of `count` by flow and node, so that the choices along a path are independent.
fn pick(flow: u32, node: usize, count: usize) -> usize {
    let mut x = (u64::from(flow) << 32 | node as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    (((x & u64::from(u32::MAX)) * count as u64) >> 32) as usize
}
