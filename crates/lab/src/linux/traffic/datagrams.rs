//! D3 on UDP: a socket and an endpoint per host, served by the applications' thread.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};

use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::Config;
use duetime_proto::d3::endpoint::{Endpoint, Event, Options, Statistics, StreamError, StreamId};
use duetime_sim::topology::Network;
use duetime_switch::D3Report;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{setsockopt, sockopt};

use super::connection::Waiting;
use super::{BLOCK, Inputs};
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::socket;
use crate::linux::transport::{self, D3, Stack};

/// Port of every host's endpoint.
const PORT: u16 = 5000;
/// Bit that marks the tokens of these sockets.
const DATAGRAMS: u64 = 1 << 62;
/// Size of the kernel's socket buffers in each direction, large enough that hosts lose nothing.
const SOCKET_BUFFER: usize = 16 << 20;
/// Bytes of a stream that may be in flight.
const STREAM_BUFFER: usize = 1 << 20;
/// Maximum number of unaccepted streams. The same thread accepts them, so they never wait long.
const BACKLOG: usize = 1 << 16;
/// Batch size and maximum catch-up of a host, in full packets on its link.
const BATCH_PACKETS: u64 = 1;
const CATCH_UP_PACKETS: u64 = 4;
/// Longer than any run.
const FOREVER: Span = Span::from_secs(86_400);
/// Maximum datagram length.
const MAX_DATAGRAM: usize = 65_535;

/// Endpoints of all hosts.
pub struct Datagrams {
    hosts: Vec<Host>,
    config: Config,
    /// Unfinished flows, by source and stream.
    flows: BTreeMap<(u32, StreamId), Flow>,
    /// Hosts with work to do immediately.
    ready: BTreeSet<u32>,
    events: Vec<FlowEvent>,
    /// Buffer for datagrams.
    buffer: Vec<u8>,
    /// Buffer for stream data.
    block: Vec<u8>,
}

struct Host {
    socket: UdpSocket,
    endpoint: Endpoint,
    /// Incoming flows by local stream, with their source and the source's stream.
    incoming: BTreeMap<StreamId, (u32, StreamId)>,
    /// Time of the next timer.
    due: Time,
}

struct Flow {
    waiting: Waiting,
    written: u64,
    /// Bytes read at the destination.
    read: u64,
}

/// Event of a flow.
pub enum FlowEvent {
    /// The last byte was read at the destination.
    Delivered(Waiting, Time),
    /// The sender quenched the flow.
    Quenched(Waiting),
    /// The sender is done, or the run is over.
    Counted {
        /// Position of the flow's record.
        record: usize,
        /// Statistics of the sender.
        statistics: Statistics,
        /// Bytes read at the destination.
        read: u64,
    },
    /// The flow failed.
    Failed(String),
}

impl Datagrams {
    /// Opens the sockets in the hosts' namespaces, watched by `epoll`. Returns `None` if no transport is D3.
    pub fn open(inputs: &Inputs<'_>, epoll: &Epoll) -> Result<Option<Self>, LabError> {
        let Some(D3 { config, .. }) = inputs.stacks.iter().find_map(Stack::d3) else {
            return Ok(None);
        };
        // D3's packets have no separate classes. With concurrent TCP classes, they use the first.
        let class = (transport::classes(inputs.scenario, inputs.stacks) > 1).then_some(0);
        let mut hosts = Vec::new();
        for (host, namespace) in (0..).zip(inputs.hosts) {
            let socket = namespace.within(|| {
                open(host, class).map_err(LabError::system(format!("open {}", address(host))))
            })?;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, DATAGRAMS | u64::from(host));
            epoll
                .add(&socket, event)
                .map_err(LabError::system("watch a UDP socket"))?;
            let options = options(config, inputs.network, host);
            // Only hosts of this run can send to it, so its identifiers need no secret.
            let mut endpoint = Endpoint::new(options, [u64::from(host), 0])
                .map_err(|error| LabError::Unsupported(error.to_string()))?;
            endpoint.listen(BACKLOG);
            hosts.push(Host {
                socket,
                endpoint,
                incoming: BTreeMap::new(),
                due: Time::MAX,
            });
        }
        Ok(Some(Self {
            hosts,
            config: *config,
            flows: BTreeMap::new(),
            ready: BTreeSet::new(),
            events: Vec::new(),
            buffer: vec![0; MAX_DATAGRAM],
            block: vec![0; BLOCK],
        }))
    }

    /// Returns the host of a token, or `None` for other tokens.
    pub fn from_token(token: u64) -> Option<u32> {
        let host = u32::try_from(token & !DATAGRAMS);
        host.ok().filter(|_| token & DATAGRAMS != 0)
    }

    /// Marks the socket of a host as readable.
    pub fn mark_ready(&mut self, host: u32) {
        self.ready.insert(host);
    }

    /// Submits a message of the application.
    pub fn submit(&mut self, now: Time, stack: &D3, waiting: Waiting) {
        let Waiting { message, .. } = &waiting;
        let (source, destination) = (message.source, message.destination);
        let deadline = message.deadline.filter(|_| !stack.ignores_deadlines);
        let announced = Message::new(message.length(), deadline);
        let endpoint = &mut self.hosts[source as usize].endpoint;
        let peer = SocketAddr::V4(address(destination));
        match endpoint.connect(now, peer, announced, &stack.policy) {
            Ok(stream) => {
                let flow = Flow {
                    waiting,
                    written: 0,
                    read: 0,
                };
                self.flows.insert((source, stream), flow);
                self.write(now, source, stream);
                self.mark_ready(source);
            }
            Err(StreamError::Quenched) => self.events.push(FlowEvent::Quenched(waiting)),
            Err(error) => self.fail(format!("open a stream to {peer}: {error}")),
        }
    }

    /// Returns the latest time of the next call to [`drive`](Self::drive).
    pub fn next_timeout(&self) -> Time {
        if self.ready.is_empty() {
            let due = self.hosts.iter().map(|host| host.due).min();
            due.unwrap_or(Time::MAX)
        } else {
            Time::ZERO
        }
    }

    /// Serves all hosts with work to do and returns the events. Adds the lateness of the timers to `lateness`.
    pub fn drive(
        &mut self,
        clock: Clock,
        lateness: &mut Lateness,
    ) -> Result<Vec<FlowEvent>, LabError> {
        let now = clock.now();
        for (number, host) in (0..).zip(&self.hosts) {
            if host.due <= now {
                lateness.add(now.since(host.due));
                self.ready.insert(number);
            }
        }
        while let Some(host) = self.ready.pop_first() {
            self.serve(clock, host)?;
        }
        Ok(std::mem::take(&mut self.events))
    }

    fn serve(&mut self, clock: Clock, number: u32) -> Result<(), LabError> {
        self.receive(clock, number)?;
        let host = &mut self.hosts[number as usize];
        let now = clock.now();
        if host.endpoint.next_timeout() <= now {
            host.endpoint.timeout(now);
        }
        loop {
            while let Some(event) = self.hosts[number as usize].endpoint.poll_event() {
                match event {
                    Event::Incoming => self.accept(clock, number),
                    Event::Changed(stream) => self.stream_changed(clock, number, stream),
                }
            }
            if !self.transmit(clock, number) {
                break;
            }
        }
        let host = &mut self.hosts[number as usize];
        host.due = host.endpoint.next_timeout();
        Ok(())
    }

    fn receive(&mut self, clock: Clock, host: u32) -> Result<(), LabError> {
        let Host {
            socket, endpoint, ..
        } = &mut self.hosts[host as usize];
        loop {
            match socket.recv_from(&mut self.buffer) {
                Ok((bytes, peer)) => endpoint.input(clock.now(), peer, &self.buffer[..bytes]),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(LabError::system("receive a datagram")(error)),
                },
            }
        }
    }

    /// Sends available datagrams. Returns false if there are none.
    fn transmit(&mut self, clock: Clock, number: u32) -> bool {
        let mut sent = false;
        loop {
            let host = &mut self.hosts[number as usize];
            self.buffer.clear();
            let next = host.endpoint.poll_transmit(clock.now(), &mut self.buffer);
            let Some(transmit) = next else {
                self.buffer.resize(MAX_DATAGRAM, 0);
                return sent;
            };
            sent = true;
            if let Err(error) = host.socket.send_to(&self.buffer, transmit.peer) {
                self.fail(format!("send to {}: {error}", transmit.peer));
            }
        }
    }

    fn accept(&mut self, clock: Clock, number: u32) {
        loop {
            let host = &mut self.hosts[number as usize];
            let Some((stream, peer)) = host.endpoint.accept(clock.now()) else {
                return;
            };
            let source = match peer {
                SocketAddr::V4(peer) => socket::host(*peer.ip()),
                SocketAddr::V6(_) => None,
            };
            let peer_stream = host.endpoint.peer_stream(stream);
            let Some(flow) = source.zip(peer_stream) else {
                self.fail(format!("unexpected stream from {peer}"));
                continue;
            };
            host.incoming.insert(stream, flow);
            self.read(clock, number, stream);
        }
    }

    /// Handles a change of a stream's state.
    fn stream_changed(&mut self, clock: Clock, host: u32, stream: StreamId) {
        if self.flows.contains_key(&(host, stream)) {
            let now = clock.now();
            self.write(now, host, stream);
            self.check_end(now, host, stream);
        } else {
            self.read(clock, host, stream);
        }
    }

    /// Writes as much as the stream's send buffer accepts, and ends the flow after its last byte.
    fn write(&mut self, now: Time, host: u32, stream: StreamId) {
        let Some(flow) = self.flows.get_mut(&(host, stream)) else {
            return;
        };
        let endpoint = &mut self.hosts[host as usize].endpoint;
        let size = flow.waiting.message.bytes;
        if flow.written == size {
            return; // finished already
        }
        while flow.written < size {
            let left = usize::try_from(size - flow.written).unwrap_or(usize::MAX);
            let count = left.min(self.block.len());
            match endpoint.write(now, stream, &self.block[..count]) {
                Ok(count) => flow.written += count as u64,
                // The buffer is full or the flow has ended; an event follows.
                Err(_) => return,
            }
        }
        // Fails if the flow has ended, which an event reports.
        let _ = endpoint.finish(now, stream);
    }

    /// Checks whether the sender is done.
    fn check_end(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = &self.hosts[host as usize].endpoint;
        match endpoint.delivery(stream) {
            Err(StreamError::Blocked) => {}
            Ok(()) => self.end(now, host, stream),
            Err(StreamError::Quenched) => {
                // The FIN returns its allocation to the routers in the background.
                if let Some(flow) = self.flows.get(&(host, stream)) {
                    let waiting = flow.waiting.clone();
                    self.events.push(FlowEvent::Quenched(waiting));
                }
                self.end(now, host, stream);
            }
            Err(error) => {
                self.fail(format!("stream of {}: {error}", address(host)));
                self.end(now, host, stream);
            }
        }
    }

    fn end(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = &mut self.hosts[host as usize].endpoint;
        if let Some(flow) = self.flows.remove(&(host, stream)) {
            self.events.push(flow.count(endpoint, stream));
        }
        endpoint.release(now, stream);
    }

    /// Reads available data.
    fn read(&mut self, clock: Clock, number: u32, stream: StreamId) {
        let host = &mut self.hosts[number as usize];
        // The stream is not accepted yet.
        let Some(key) = host.incoming.get(&stream) else {
            return;
        };
        loop {
            let now = clock.now();
            let count = match host.endpoint.read(now, stream, &mut self.block) {
                Err(StreamError::Blocked) => return,
                // The sender has ended the flow, perhaps early.
                Ok(0) | Err(StreamError::PeerAborted) => break,
                Ok(count) => count as u64,
                Err(error) => {
                    let failure = format!("stream to {}: {error}", address(number));
                    self.events.push(FlowEvent::Failed(failure));
                    break;
                }
            };
            if let Some(flow) = self.flows.get_mut(key) {
                flow.read += count;
                if flow.read == flow.waiting.message.bytes {
                    let delivered = FlowEvent::Delivered(flow.waiting.clone(), now);
                    self.events.push(delivered);
                }
            }
        }
        host.incoming.remove(&stream);
        host.endpoint.release_one_way(clock.now(), stream);
    }

    fn fail(&mut self, failure: String) {
        self.events.push(FlowEvent::Failed(failure));
    }

    /// Abandons unfinished flows at the end of the run and notifies the routers.
    pub fn abandon(&mut self, now: Time) -> Vec<FlowEvent> {
        for ((source, stream), flow) in std::mem::take(&mut self.flows) {
            let endpoint = &mut self.hosts[source as usize].endpoint;
            self.events.push(flow.count(endpoint, stream));
            let _ = endpoint.abort(now, stream);
            endpoint.release(now, stream);
            self.ready.insert(source);
        }
        std::mem::take(&mut self.events)
    }

    /// Returns true while the ends of some flows are unacknowledged, or the counters of a host's uplink are nonzero,
    /// until the allocators' repair clears them.
    pub fn is_ending(&self) -> bool {
        self.hosts.iter().any(|Host { endpoint, .. }| {
            let uplink = endpoint.uplink().allocator();
            endpoint.is_sending() || uplink.flows() + uplink.demand() + uplink.allocated() > 0
        })
    }

    /// Returns the reports of the allocators of the hosts' uplinks, by host.
    pub fn uplinks(&self) -> Vec<D3Report> {
        let scale = self.config.exponent();
        let report = |host: &Host| D3Report::of(host.endpoint.uplink().allocator(), scale);
        self.hosts.iter().map(report).collect()
    }

    /// Returns the time without packets after which a port is idle (D3 §4.4).
    pub fn idle_time(&self) -> Span {
        self.config.interval() * u64::from(self.config.router.reset_intervals + 2)
    }
}

impl Flow {
    fn count(&self, endpoint: &Endpoint, stream: StreamId) -> FlowEvent {
        FlowEvent::Counted {
            record: self.waiting.record,
            statistics: endpoint.statistics(stream).unwrap_or_default(),
            read: self.read,
        }
    }
}

/// Returns the address of a host's endpoint.
fn address(host: u32) -> SocketAddrV4 {
    SocketAddrV4::new(socket::address(host), PORT)
}

/// Opens the socket of a host in the calling thread's namespace.
fn open(host: u32, class: Option<u8>) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address(host))?;
    socket.set_nonblocking(true)?;
    socket::set_class(&socket, class)?;
    setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER)?;
    setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER)?;
    Ok(socket)
}

/// Returns the options of a host's endpoint, with limits and timeouts that no run reaches: only the scenario ends a
/// run.
fn options(config: &Config, network: &Network, host: u32) -> Options {
    let [uplink, downlink] = [&network.uplink, &network.downlink]
        .map(|links| network.links[links[host as usize] as usize].rate);
    let packet = uplink.transmit(u64::from(config.wire.mtu));
    Options {
        config: *config,
        downlink,
        batch: packet * BATCH_PACKETS,
        catch_up: packet * CATCH_UP_PACKETS,
        send_buffer: STREAM_BUFFER,
        receive_buffer: STREAM_BUFFER,
        unaccepted_buffer: STREAM_BUFFER,
        max_streams: usize::MAX,
        max_streams_per_peer: usize::MAX,
        max_half_open: BACKLOG,
        half_open_timeout: FOREVER,
        connect_timeout: FOREVER,
        idle_timeout: FOREVER,
        linger: config.host.rto_min * 16,
        ..Options::new(uplink)
    }
}
