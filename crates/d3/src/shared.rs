//! D3's endpoint on a UDP socket, shared by the streams.

use crate::{Flow, Options, StreamError, io_error};
use duetime_core::Time;
use duetime_proto::d3::endpoint::{Endpoint, Event, StreamId};
use duetime_proto::d3::wire::{UDP_IPV4_BYTES, UDP_IPV6_BYTES};
use duetime_proto::{Message, Transmit};
use duetime_udp::{Descriptor, Protocol, Socket, span};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::task::Poll;
#[cfg(feature = "tokio")]
use std::task::{Context, ready};
use std::time::Duration;

/// Socket of all streams of an endpoint. Its calls wait for a stream, or for an incoming one (`None`).
#[derive(Debug)]
pub struct Shared {
    socket: Socket<Streams>,
}

/// Implements the driver's trait for the protocol's endpoint.
#[derive(Debug)]
struct Streams(Endpoint);

impl Shared {
    pub fn bind(address: impl ToSocketAddrs, mut options: Options) -> io::Result<Self> {
        let socket = Socket::bind(address, "d3", |address, secret| {
            if options.config.wire.header_bytes == UDP_IPV4_BYTES && address.is_ipv6() {
                options.config.wire.header_bytes = UDP_IPV6_BYTES;
            }
            let endpoint = Endpoint::new(options, secret)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            Ok(Streams(endpoint))
        })?;
        Ok(Self { socket })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    pub fn peer_address(&self, address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
        self.socket.peer_address(address)
    }

    /// Calls the endpoint and wakes all affected threads.
    pub fn call<T>(&self, call: impl FnOnce(&mut Endpoint, Time) -> T) -> T {
        self.socket.call(|streams, now| call(&mut streams.0, now))
    }

    /// Repeats the call until it returns something other than [`StreamError::Blocked`]. Fails with
    /// [`io::ErrorKind::WouldBlock`] after `timeout`, and with another error if the endpoint's thread has ended.
    pub fn wait<T>(
        &self,
        stream: Option<StreamId>,
        timeout: Option<Duration>,
        mut call: impl FnMut(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> io::Result<T> {
        let call = |streams: &mut Streams, now| unless_blocked(call(&mut streams.0, now));
        let result = match timeout {
            None => self.socket.wait(&stream, call)?,
            Some(timeout) => {
                let result = self.socket.wait_timeout(&stream, timeout, call)?;
                result.ok_or(io::ErrorKind::WouldBlock)?
            }
        };
        result.map_err(io_error)
    }

    /// Calls the endpoint once, and returns `None` instead of [`StreamError::Blocked`]. The descriptor becomes readable
    /// when another call may succeed. Use one stream per descriptor.
    pub fn attempt<T>(
        &self,
        stream: Option<StreamId>,
        descriptor: &Descriptor,
        call: impl FnOnce(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> io::Result<Option<T>> {
        let result = descriptor.attempt(&self.socket, &stream, |streams, now| {
            unless_blocked(call(&mut streams.0, now))
        })?;
        result.transpose().map_err(io_error)
    }

    /// Calls the endpoint for a task, which is woken when another call may succeed.
    #[cfg(feature = "tokio")]
    pub fn poll<T>(
        &self,
        stream: Option<StreamId>,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> Poll<io::Result<T>> {
        let result = self.socket.poll(&stream, context, |streams, now| {
            unless_blocked(call(&mut streams.0, now))
        });
        Poll::Ready(ready!(result)?.map_err(io_error))
    }

    /// Releases a stream of the application.
    pub fn release(&self, id: StreamId) {
        self.socket.forget(&Some(id));
        self.call(|endpoint, now| endpoint.release(now, id));
    }

    /// Converts a flow to the protocol's message.
    pub fn message(now: Time, flow: Flow) -> Message {
        Message {
            length: flow.length,
            deadline: flow.deadline.map(|deadline| now + span(deadline)),
        }
    }
}

fn unless_blocked<T>(result: Result<T, StreamError>) -> Poll<Result<T, StreamError>> {
    match result {
        Err(StreamError::Blocked) => Poll::Pending,
        result => Poll::Ready(result),
    }
}

impl Protocol for Streams {
    type Key = Option<StreamId>;

    fn reads_marks(&self) -> bool {
        false
    }

    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], _: bool) {
        self.0.input(now, peer, datagram);
    }

    fn timeout(&mut self, now: Time) {
        self.0.timeout(now);
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        self.0.poll_transmit(now, out)
    }

    fn poll_event(&mut self) -> Option<Self::Key> {
        match self.0.poll_event()? {
            Event::Incoming => Some(None),
            Event::Changed(id) => Some(Some(id)),
        }
    }

    fn too_long(&mut self, now: Time, peer: SocketAddr) {
        self.0.too_long(now, peer);
    }

    fn port_closed(&mut self, now: Time, peer: SocketAddr) {
        self.0.port_closed(now, peer);
    }

    fn is_sending(&self) -> bool {
        self.0.is_sending()
    }

    fn stop(&mut self) {
        self.0.listen(0);
    }
}
