//! Transports over UDP: a socket and an endpoint per host, served by the applications' thread.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};

use duetime_core::{Span, Time};
use duetime_proto::d3::endpoint::Statistics;
use duetime_proto::{Transmit, d3, due};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{setsockopt, sockopt};

use super::Inputs;
use super::connection::Waiting;
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::socket;
use crate::linux::transport;

/// Size of the kernel's socket buffers in each direction, large enough that hosts lose nothing.
const SOCKET_BUFFER: usize = 16 << 20;
/// Maximum datagram length.
const MAX_DATAGRAM: usize = 65_535;
/// Batch size and maximum catch-up of a host, in full packets on its link.
pub const BATCH_PACKETS: u64 = 1;
pub const CATCH_UP_PACKETS: u64 = 4;
/// Longer than any run.
pub const FOREVER: Span = Span::from_secs(86_400);

/// Endpoint without I/O or clock.
pub trait Endpoint {
    /// UDP port of every host.
    const PORT: u16;
    /// Bit that marks the tokens of the sockets.
    const TOKEN: u64;

    /// Returns true if the protocol reads the marks of datagrams.
    fn reads_marks(&self) -> bool;
    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool);
    fn timeout(&mut self, now: Time);
    fn next_timeout(&self) -> Time;
    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit>;
}

/// Methods that both protocols' endpoints have.
macro_rules! forward {
    () => {
        fn timeout(&mut self, now: Time) {
            self.timeout(now);
        }
        fn next_timeout(&self) -> Time {
            self.next_timeout()
        }
        fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
            self.poll_transmit(now, out)
        }
    };
}

impl Endpoint for d3::endpoint::Endpoint {
    const PORT: u16 = 5000;
    const TOKEN: u64 = 1 << 62;

    fn reads_marks(&self) -> bool {
        false
    }
    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], _: bool) {
        self.input(now, peer, datagram);
    }
    forward!();
}

impl Endpoint for due::endpoint::Endpoint {
    const PORT: u16 = 5001;
    const TOKEN: u64 = 1 << 61;

    fn reads_marks(&self) -> bool {
        self.options().config.core_window
    }
    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool) {
        self.input(now, peer, datagram, is_marked);
    }
    forward!();
}

/// Event of a message, which D3 sends as a flow.
pub enum FlowEvent {
    /// The destination's application has the last byte.
    Delivered(Waiting, Time),
    /// The sender quenched the flow.
    Quenched(Waiting),
    /// D3's sender is done, or the run is over.
    Counted {
        /// Position of the flow's record.
        record: usize,
        /// Statistics of the sender.
        statistics: Statistics,
        /// Bytes read at the destination.
        read: u64,
    },
    /// A message failed.
    Failed(String),
}

/// Messages of the workloads over the endpoints of all hosts.
pub trait Carrier {
    type Endpoint: Endpoint;

    fn datagrams(&mut self) -> &mut Datagrams<Self::Endpoint>;
    /// Handles the events of a host's endpoint.
    fn poll(&mut self, clock: Clock, host: u32);

    /// Marks the socket of a token as readable. Returns false for other tokens.
    fn mark_ready(&mut self, token: u64) -> bool {
        let host = Datagrams::<Self::Endpoint>::from_token(token);
        if let Some(host) = host {
            self.datagrams().mark_ready(host);
        }
        host.is_some()
    }

    /// Serves all hosts with work to do and returns the events. Adds the lateness of the timers to `lateness`.
    fn drive(&mut self, clock: Clock, lateness: &mut Lateness) -> Result<Vec<FlowEvent>, LabError> {
        self.datagrams().expire(clock.now(), lateness);
        while let Some(host) = self.datagrams().next_ready() {
            self.datagrams().receive(clock, host)?;
            loop {
                self.poll(clock, host);
                if !self.datagrams().transmit(clock, host) {
                    break;
                }
            }
        }
        Ok(std::mem::take(&mut self.datagrams().events))
    }

    fn fail(&mut self, failure: String) {
        self.datagrams().events.push(FlowEvent::Failed(failure));
    }
}

/// Endpoints of all hosts.
pub struct Datagrams<E> {
    hosts: Vec<Host<E>>,
    /// Hosts with work to do immediately.
    ready: BTreeSet<u32>,
    /// Events that the workloads have not handled.
    pub events: Vec<FlowEvent>,
    /// Buffers for received and sent datagrams.
    received: Vec<u8>,
    sent: Vec<u8>,
}

struct Host<E> {
    socket: UdpSocket,
    endpoint: E,
    /// Time of the next timer.
    due: Time,
}

impl<E: Endpoint> Datagrams<E> {
    /// Opens the sockets in the hosts' namespaces, watched by `epoll`. `create` returns the endpoint of a host.
    pub fn open(
        inputs: &Inputs<'_>,
        epoll: &Epoll,
        mut create: impl FnMut(u32) -> Result<E, LabError>,
    ) -> Result<Self, LabError> {
        // The packets have no separate classes. With concurrent TCP classes, they use the first.
        let class = (transport::classes(inputs.scenario, inputs.stacks) > 1).then_some(0);
        let mut hosts = Vec::new();
        for (host, namespace) in (0..).zip(inputs.hosts) {
            let endpoint = create(host)?;
            let reads_marks = endpoint.reads_marks();
            let socket = namespace.within(|| {
                let address = Self::address(host);
                open(address, class, reads_marks)
                    .map_err(LabError::system(format!("open {address}")))
            })?;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, E::TOKEN | u64::from(host));
            epoll
                .add(&socket, event)
                .map_err(LabError::system("watch a UDP socket"))?;
            hosts.push(Host {
                socket,
                endpoint,
                due: Time::MAX,
            });
        }
        Ok(Self {
            hosts,
            ready: BTreeSet::new(),
            events: Vec::new(),
            received: vec![0; MAX_DATAGRAM],
            sent: Vec::new(),
        })
    }

    /// Returns the address of a host's endpoint.
    pub fn address(host: u32) -> SocketAddrV4 {
        SocketAddrV4::new(socket::address(host), E::PORT)
    }

    /// Returns the host of an address, or `None` for other addresses.
    pub fn host(peer: SocketAddr) -> Option<u32> {
        match peer {
            SocketAddr::V4(peer) => socket::host(*peer.ip()),
            SocketAddr::V6(_) => None,
        }
    }

    /// Returns the host of a token, or `None` for other tokens.
    pub fn from_token(token: u64) -> Option<u32> {
        let host = u32::try_from(token & !E::TOKEN);
        host.ok().filter(|_| token & E::TOKEN != 0)
    }

    pub fn endpoint(&mut self, host: u32) -> &mut E {
        &mut self.hosts[host as usize].endpoint
    }

    pub fn endpoints(&self) -> impl Iterator<Item = &E> {
        self.hosts.iter().map(|host| &host.endpoint)
    }

    /// Notes that a host has work to do.
    pub fn mark_ready(&mut self, host: u32) {
        self.ready.insert(host);
    }

    /// Notes the hosts whose timers have expired. Adds the lateness of the timers to `lateness`.
    pub fn expire(&mut self, now: Time, lateness: &mut Lateness) {
        for (number, host) in (0..).zip(&self.hosts) {
            if host.due <= now {
                lateness.add(now.since(host.due));
                self.ready.insert(number);
            }
        }
    }

    /// Removes and returns a host with work to do.
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_first()
    }

    /// Returns the time at which a host has work to do.
    pub fn next_timeout(&self) -> Time {
        if self.ready.is_empty() {
            let due = self.hosts.iter().map(|host| host.due).min();
            due.unwrap_or(Time::MAX)
        } else {
            Time::ZERO
        }
    }

    /// Passes the datagrams that arrived to a host's endpoint, and runs its timers.
    pub fn receive(&mut self, clock: Clock, host: u32) -> Result<(), LabError> {
        let Host {
            socket, endpoint, ..
        } = &mut self.hosts[host as usize];
        loop {
            match socket::receive(socket, &mut self.received) {
                Ok((bytes, peer, is_marked)) => {
                    endpoint.input(clock.now(), peer, &self.received[..bytes], is_marked);
                }
                Err(Errno::EWOULDBLOCK) => break,
                Err(Errno::EINTR | Errno::ECONNREFUSED) => {}
                Err(error) => return Err(LabError::system("receive a datagram")(error)),
            }
        }
        let now = clock.now();
        if endpoint.next_timeout() <= now {
            endpoint.timeout(now);
        }
        Ok(())
    }

    /// Sends a host's available datagrams. Returns false if there were none.
    pub fn transmit(&mut self, clock: Clock, host: u32) -> bool {
        let Host {
            socket,
            endpoint,
            due,
        } = &mut self.hosts[host as usize];
        let mut has_sent = false;
        loop {
            self.sent.clear();
            let Some(transmit) = endpoint.poll_transmit(clock.now(), &mut self.sent) else {
                *due = endpoint.next_timeout();
                return has_sent;
            };
            has_sent = true;
            if let Err(error) = socket.send_to(&self.sent, transmit.peer) {
                let failure = format!("send to {}: {error}", transmit.peer);
                self.events.push(FlowEvent::Failed(failure));
            }
        }
    }
}

/// Opens the socket of a host in the calling thread's namespace.
fn open(address: SocketAddrV4, class: Option<u8>, reads_marks: bool) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    socket::set_class(&socket, class)?;
    if reads_marks {
        socket::use_marks(&socket)?;
    }
    setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER)?;
    setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER)?;
    Ok(socket)
}
