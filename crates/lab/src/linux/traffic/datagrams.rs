//! D3 on UDP: a socket and an endpoint for each host, all of them served by the applications' thread.

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
use super::{BLOCK, Given};
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::socket;
use crate::linux::transport::{self, D3, Stack};

/// The port of every host's endpoint.
const PORT: u16 = 5000;
/// The bit that marks the tokens of these sockets.
const DATAGRAMS: u64 = 1 << 62;
/// What the kernel keeps for a socket in each direction: a run loses nothing in the hosts.
const SOCKET_BUFFER: usize = 16 << 20;
/// Bytes that a stream may have on its way.
const STREAM_BUFFER: usize = 1 << 20;
/// Streams that may wait to be accepted. They never wait long: the same thread accepts them.
const BACKLOG: usize = 1 << 16;
/// Packets at full length whose time on its link a host sends ahead, and makes up for when it was late.
const BATCH_PACKETS: u64 = 1;
const CATCH_UP_PACKETS: u64 = 4;
/// Longer than any run.
const FOREVER: Span = Span::from_secs(86_400);
/// The longest datagram.
const LONGEST: usize = 65_535;

/// The endpoints of all hosts.
pub struct Datagrams {
    /// By host.
    hosts: Vec<Host>,
    config: Config,
    /// The flows that have not ended, by source and stream.
    flows: BTreeMap<(u32, StreamId), Flow>,
    /// Hosts with something to do at once.
    ready: BTreeSet<u32>,
    happened: Vec<Happened>,
    /// For datagrams.
    buffer: Vec<u8>,
    /// For the bytes of streams.
    block: Vec<u8>,
}

struct Host {
    socket: UdpSocket,
    endpoint: Endpoint,
    /// The flows that come in, by stream: source, and the stream there.
    incoming: BTreeMap<StreamId, (u32, StreamId)>,
    /// Nothing wakes it before.
    due: Time,
}

struct Flow {
    waiting: Waiting,
    written: u64,
    /// Bytes read at the destination.
    read: u64,
}

/// What has happened to a flow.
pub enum Happened {
    /// Its last byte was read at its destination.
    Delivered(Waiting, Time),
    /// Its sender has given it up.
    Quenched(Waiting),
    /// Its sender has nothing more to do, or the run is over.
    Counted {
        /// Position of its record.
        record: usize,
        /// What the sender says of it.
        statistics: Statistics,
        /// Bytes read at the destination.
        read: u64,
    },
    /// It cannot go on.
    Failed(String),
}

impl Datagrams {
    /// Opens the sockets in the hosts' namespaces, watched by `epoll`; `None` where no transport is D3.
    pub fn open(given: &Given<'_>, epoll: &Epoll) -> Result<Option<Self>, LabError> {
        let Some(D3 { config, .. }) = given.stacks.iter().find_map(Stack::d3) else {
            return Ok(None);
        };
        // D3's packets have no classes of their own: they are of the first, where TCP beside them has some.
        let class = (transport::classes(given.scenario, given.stacks) > 1).then_some(0);
        let mut hosts = Vec::new();
        for (host, namespace) in (0..).zip(given.hosts) {
            let made = namespace.within(|| {
                open(host, class).map_err(LabError::system(format!("open {}", address(host))))
            })?;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, DATAGRAMS | u64::from(host));
            epoll
                .add(&made, event)
                .map_err(LabError::system("watch a UDP socket"))?;
            let options = options(config, given.network, host);
            // Nobody but the hosts of this run can send to it: its identifiers need no secret.
            let mut endpoint = Endpoint::new(options, [u64::from(host), 0])
                .map_err(|problem| LabError::Unsupported(problem.to_owned()))?;
            endpoint.listen(BACKLOG);
            hosts.push(Host {
                socket: made,
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
            happened: Vec::new(),
            buffer: vec![0; LONGEST],
            block: vec![0; BLOCK],
        }))
    }

    /// The host behind a token.
    pub fn of_token(token: u64) -> Option<u32> {
        let host = u32::try_from(token & !DATAGRAMS);
        host.ok().filter(|_| token & DATAGRAMS != 0)
    }

    /// Something has come to the socket of a host.
    pub fn mark_ready(&mut self, host: u32) {
        self.ready.insert(host);
    }

    /// The application submits a message.
    pub fn submit(&mut self, now: Time, stack: &D3, waiting: Waiting) {
        let Waiting { message, .. } = &waiting;
        let (source, destination) = (message.source, message.destination);
        let announced = Message {
            bytes: message.bytes,
            deadline: message.deadline.filter(|_| !stack.ignores_deadlines),
        };
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
            Err(StreamError::Quenched) => self.happened.push(Happened::Quenched(waiting)),
            Err(error) => self.fail(format!("open a stream to {peer}: {error}")),
        }
    }

    /// When [`drive`](Self::drive) must be called at the latest.
    pub fn next_timeout(&self) -> Time {
        if self.ready.is_empty() {
            let due = self.hosts.iter().map(|host| host.due).min();
            due.unwrap_or(Time::MAX)
        } else {
            Time::ZERO
        }
    }

    /// Serves every host that has something to do; gives what has happened. How late it was called is added to
    /// `lateness`.
    pub fn drive(
        &mut self,
        clock: Clock,
        lateness: &mut Lateness,
    ) -> Result<Vec<Happened>, LabError> {
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
        Ok(std::mem::take(&mut self.happened))
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
                    Event::Changed(stream) => self.changed(clock, number, stream),
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

    /// Sends what may leave; false if that is nothing.
    fn transmit(&mut self, clock: Clock, number: u32) -> bool {
        let mut sent = false;
        loop {
            let host = &mut self.hosts[number as usize];
            self.buffer.clear();
            let next = host.endpoint.poll_transmit(clock.now(), &mut self.buffer);
            let Some(transmit) = next else {
                self.buffer.resize(LONGEST, 0);
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
            let theirs = host.endpoint.peer_stream(stream);
            let Some(flow) = source.zip(theirs) else {
                self.fail(format!("a stream from {peer}, which nobody opened"));
                continue;
            };
            host.incoming.insert(stream, flow);
            self.read(clock, number, stream);
        }
    }

    /// Something about a stream is other than it was.
    fn changed(&mut self, clock: Clock, host: u32, stream: StreamId) {
        if self.flows.contains_key(&(host, stream)) {
            let now = clock.now();
            self.write(now, host, stream);
            self.look(now, host, stream);
        } else {
            self.read(clock, host, stream);
        }
    }

    /// Writes as much as the stream's send buffer takes, and ends the flow after its last byte.
    fn write(&mut self, now: Time, host: u32, stream: StreamId) {
        let Some(flow) = self.flows.get_mut(&(host, stream)) else {
            return;
        };
        let endpoint = &mut self.hosts[host as usize].endpoint;
        let size = flow.waiting.message.bytes;
        if flow.written == size {
            return; // and finished
        }
        while flow.written < size {
            let left = usize::try_from(size - flow.written).unwrap_or(usize::MAX);
            let count = left.min(self.block.len());
            match endpoint.write(now, stream, &self.block[..count]) {
                Ok(count) => flow.written += count as u64,
                // It is full, or has ended: an event follows.
                Err(_) => return,
            }
        }
        // It fails if the flow has ended, which an event tells.
        let _ = endpoint.finish(now, stream);
    }

    /// Whether the sender has come to its end.
    fn look(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = &self.hosts[host as usize].endpoint;
        match endpoint.delivery(stream) {
            Err(StreamError::Blocked) => {}
            Ok(()) => self.end(now, host, stream),
            Err(StreamError::Quenched) => {
                // Its FIN returns what it holds of the routers, in the background.
                if let Some(flow) = self.flows.get(&(host, stream)) {
                    let waiting = flow.waiting.clone();
                    self.happened.push(Happened::Quenched(waiting));
                }
                self.end(now, host, stream);
            }
            Err(error) => {
                self.fail(format!("a stream of {}: {error}", address(host)));
                self.end(now, host, stream);
            }
        }
    }

    fn end(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = &mut self.hosts[host as usize].endpoint;
        if let Some(flow) = self.flows.remove(&(host, stream)) {
            self.happened.push(flow.counted(endpoint, stream));
        }
        endpoint.release(now, stream);
    }

    /// Reads what there is.
    fn read(&mut self, clock: Clock, number: u32, stream: StreamId) {
        let host = &mut self.hosts[number as usize];
        // Before it is accepted there is none.
        let Some(of) = host.incoming.get(&stream) else {
            return;
        };
        loop {
            let now = clock.now();
            let count = match host.endpoint.read(now, stream, &mut self.block) {
                Err(StreamError::Blocked) => return,
                // The sender has ended it, perhaps too early.
                Ok(0) | Err(StreamError::GivenUp) => break,
                Ok(count) => count as u64,
                Err(error) => {
                    let what = format!("a stream to {}: {error}", address(number));
                    self.happened.push(Happened::Failed(what));
                    break;
                }
            };
            if let Some(flow) = self.flows.get_mut(of) {
                flow.read += count;
                if flow.read == flow.waiting.message.bytes {
                    let delivered = Happened::Delivered(flow.waiting.clone(), now);
                    self.happened.push(delivered);
                }
            }
        }
        host.incoming.remove(&stream);
        host.endpoint.dismiss(clock.now(), stream);
    }

    fn fail(&mut self, what: String) {
        self.happened.push(Happened::Failed(what));
    }

    /// The run is over: what has not ended is given up, so that the routers are told.
    pub fn abandon(&mut self, now: Time) -> Vec<Happened> {
        for ((source, stream), flow) in std::mem::take(&mut self.flows) {
            let endpoint = &mut self.hosts[source as usize].endpoint;
            self.happened.push(flow.counted(endpoint, stream));
            let _ = endpoint.abort(now, stream);
            endpoint.release(now, stream);
            self.ready.insert(source);
        }
        std::mem::take(&mut self.happened)
    }

    /// Some flows' ends have not been acknowledged, or have left something in the counters of a host's uplink, which the
    /// allocators' repair clears.
    pub fn is_ending(&self) -> bool {
        self.hosts.iter().any(|Host { endpoint, .. }| {
            let uplink = endpoint.uplink().allocator();
            endpoint.is_sending() || uplink.flows() + uplink.demand() + uplink.allocated() > 0
        })
    }

    /// What the allocators of the hosts' uplinks hold, by host.
    pub fn uplinks(&self) -> Vec<D3Report> {
        let scale = self.config.exponent();
        let of = |host: &Host| D3Report::of(host.endpoint.uplink().allocator(), scale);
        self.hosts.iter().map(of).collect()
    }

    /// After so long without a packet a port counts as idle (D3 §4.4).
    pub fn patience(&self) -> Span {
        self.config.interval() * u64::from(self.config.reset_intervals + 2)
    }
}

impl Flow {
    fn counted(&self, endpoint: &Endpoint, stream: StreamId) -> Happened {
        Happened::Counted {
            record: self.waiting.record,
            statistics: endpoint.statistics(stream).unwrap_or_default(),
            read: self.read,
        }
    }
}

/// Where the endpoint of a host is.
fn address(host: u32) -> SocketAddrV4 {
    SocketAddrV4::new(socket::address(host), PORT)
}

/// The socket of a host, in the calling thread's namespace.
fn open(host: u32, class: Option<u8>) -> io::Result<UdpSocket> {
    let made = UdpSocket::bind(address(host))?;
    made.set_nonblocking(true)?;
    socket::set_class(&made, class)?;
    setsockopt(&made, sockopt::RcvBufForce, &SOCKET_BUFFER)?;
    setsockopt(&made, sockopt::SndBufForce, &SOCKET_BUFFER)?;
    Ok(made)
}

/// The options of a host's endpoint. No limit is reached and no timeout ends a stream: what ends a run is its scenario.
fn options(config: &Config, network: &Network, host: u32) -> Options {
    let [uplink, downlink] = [&network.uplink, &network.downlink]
        .map(|links| network.links[links[host as usize] as usize].rate);
    let packet = uplink.transmit(u64::from(config.mtu));
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
        linger: config.rto_min * 16,
        ..Options::new(uplink)
    }
}
