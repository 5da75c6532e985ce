//! Endpoints and listeners.

use crate::shared::Shared;
use crate::{Flow, Options, Policy, Stream, StreamError, Totals, io_error};
use duetime_proto::d3::endpoint;
use duetime_udp::Descriptor;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// UDP socket that carries many streams. Clones refer to the same endpoint, which ends when all clones, listeners and
/// streams are dropped and all written data is sent.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) shared: Arc<Shared>,
}

/// Accepts the streams of an [`Endpoint`].
#[derive(Debug)]
pub struct Listener {
    endpoint: Endpoint,
    incoming: Descriptor,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.endpoint.shared.call(|endpoint, _| endpoint.listen(0));
    }
}

impl Endpoint {
    /// Creates an endpoint on a UDP address, with any free port if the port is 0. `options` contain the rate of the
    /// interface. Returns an error if the address is not available, or [`io::ErrorKind::InvalidInput`] with an
    /// [`OptionsError`](crate::OptionsError) for invalid options.
    pub fn bind(address: impl ToSocketAddrs, options: Options) -> io::Result<Self> {
        let shared = Arc::new(Shared::bind(address, options)?);
        Ok(Self { shared })
    }

    /// Returns the local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.shared.local_addr())
    }

    /// Opens a stream and waits for the peer's reply.
    pub fn connect(&self, address: impl ToSocketAddrs, flow: Flow) -> io::Result<Stream> {
        let policy = self
            .shared
            .call(|endpoint, _| endpoint.options().config.host.policy);
        self.connect_with(address, flow, &policy)
    }

    /// Opens a stream with flow options and waits for the peer's reply.
    pub fn connect_with(
        &self,
        address: impl ToSocketAddrs,
        flow: Flow,
        policy: &Policy,
    ) -> io::Result<Stream> {
        let stream = self.start(address, flow, policy)?;
        let id = stream.id();
        self.shared
            .wait(Some(id), None, |endpoint, _| endpoint.connection(id))?;
        Ok(stream)
    }

    /// Opens a stream without waiting for a reply.
    pub(crate) fn start(
        &self,
        address: impl ToSocketAddrs,
        flow: Flow,
        policy: &Policy,
    ) -> io::Result<Stream> {
        let peer = self.shared.peer_address(address)?;
        let id = self
            .shared
            .call(|endpoint, now| endpoint.connect(now, peer, Shared::message(now, flow), policy));
        Ok(Stream::new(self.clone(), id.map_err(io_error)?, peer))
    }

    /// Starts accepting streams. At most `backlog` streams wait for [`Listener::accept`]; further SYNs must be
    /// repeated. An endpoint has one listener: later calls change the backlog.
    pub fn listen(&self, backlog: usize) -> Listener {
        self.shared
            .call(|endpoint, _| endpoint.listen(backlog.max(1)));
        Listener {
            endpoint: self.clone(),
            incoming: Descriptor::default(),
        }
    }

    /// Returns the number of open streams, including half-open and lingering ones.
    pub fn streams(&self) -> usize {
        self.shared.call(|endpoint, _| endpoint.streams())
    }

    /// Returns datagram counters.
    pub fn totals(&self) -> Totals {
        self.shared.call(|endpoint, _| endpoint.totals())
    }
}

impl Listener {
    /// Waits for the next stream.
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.accept_within(None)
    }

    /// Waits for the next stream, and fails with [`io::ErrorKind::WouldBlock`] after `timeout`.
    pub fn accept_within(&self, timeout: Option<Duration>) -> io::Result<(Stream, SocketAddr)> {
        let accepted = self.endpoint.shared.wait(None, timeout, accept)?;
        Ok(self.stream(accepted))
    }

    /// Returns the next stream, or `None` if none waits.
    pub fn try_accept(&self) -> io::Result<Option<(Stream, SocketAddr)>> {
        let shared = &self.endpoint.shared;
        let accepted = shared.attempt(None, &self.incoming, accept)?;
        Ok(accepted.map(|accepted| self.stream(accepted)))
    }

    /// Returns a descriptor for `poll(2)` and event loops, which report it readable when
    /// [`try_accept`](Self::try_accept) may return a stream. Do not read from it. Fails if too many files are open.
    pub fn incoming_fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.incoming.readable()
    }

    /// Returns the listener's endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn stream(
        &self,
        (id, peer): (endpoint::StreamId, SocketAddr),
    ) -> (Stream, SocketAddr) {
        (Stream::new(self.endpoint.clone(), id, peer), peer)
    }
}

pub(crate) fn accept(
    endpoint: &mut endpoint::Endpoint,
    now: duetime_core::Time,
) -> Result<(endpoint::StreamId, SocketAddr), StreamError> {
    endpoint.accept(now).ok_or(StreamError::Blocked)
}

pub(crate) fn one_address(address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let no_address = || io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    address.to_socket_addrs()?.next().ok_or_else(no_address)
}
