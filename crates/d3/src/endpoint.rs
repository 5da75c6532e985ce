//! Endpoints and listeners.

use crate::driver::Driver;
use crate::shared::Shared;
use crate::{Flow, Options, Policy, Stream, StreamError, Totals, io_error};
use duetime_proto::d3::endpoint;
use duetime_proto::d3::wire::{UDP_IPV4_BYTES, UDP_IPV6_BYTES};
use quinn_udp::{UdpSockRef, UdpSocketState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Requested size of the kernel's socket buffers in each direction; the kernel may limit it.
const SOCKET_BUFFER: usize = 4 << 20;

/// UDP socket that carries many streams. Clones refer to the same endpoint, which ends when all clones, listeners and
/// streams are dropped and all written data is sent.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) handle: Arc<Handle>,
}

/// Ends the endpoint's thread when dropped.
#[derive(Debug)]
pub(crate) struct Handle {
    pub shared: Arc<Shared>,
    address: SocketAddr,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Accepts the streams of an [`Endpoint`].
#[derive(Debug)]
pub struct Listener {
    endpoint: Endpoint,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.endpoint
            .handle
            .shared
            .call(|endpoint, _| endpoint.listen(0));
    }
}

impl Endpoint {
    /// Creates an endpoint on a UDP address, with any free port if the port is 0. `options` contain the rate of the
    /// interface. Returns an error if the address is not available, or [`io::ErrorKind::InvalidInput`] with an
    /// [`OptionsError`](crate::OptionsError) for invalid options.
    pub fn bind(address: impl ToSocketAddrs, mut options: Options) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let address = socket.local_addr()?;
        if options.config.wire.header_bytes == UDP_IPV4_BYTES && address.is_ipv6() {
            options.config.wire.header_bytes = UDP_IPV6_BYTES;
        }
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        let [first, second] = [&secret[..8], &secret[8..]]
            .map(|half| half.iter().fold(0, |key, byte| key << 8 | u64::from(*byte)));
        let endpoint = endpoint::Endpoint::new(options, [first, second])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Smaller buffers work too.
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
        #[cfg(target_os = "linux")]
        crate::reports::enable(&socket)?;
        let (wakeup, woken) = UnixStream::pair()?;
        wakeup.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let shared = Arc::new(Shared::new(endpoint, wakeup));
        let driver = Driver {
            shared: Arc::clone(&shared),
            socket,
            state,
            wakeup: woken,
        };
        std::thread::Builder::new()
            .name("d3".to_owned())
            .spawn(move || driver.run())?;
        Ok(Self {
            handle: Arc::new(Handle { shared, address }),
        })
    }

    /// Returns the local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.handle.address)
    }

    /// Opens a stream and waits for the peer's reply.
    pub fn connect(&self, address: impl ToSocketAddrs, flow: Flow) -> io::Result<Stream> {
        let policy = self
            .handle
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
        self.handle
            .shared
            .wait(Some(id), None, |endpoint, _| endpoint.connection(id))?;
        Ok(stream)
    }

    /// Returns the first address of the endpoint's family.
    fn peer_address(&self, address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
        let local = self.handle.address;
        let mut addresses = address.to_socket_addrs()?;
        let family = |ipv4| if ipv4 { "IPv4" } else { "IPv6" };
        addresses
            .find(|peer| peer.is_ipv4() == local.is_ipv4())
            .ok_or_else(|| {
                let text = format!(
                    "the peer has no {} address, but the endpoint is bound to {local}",
                    family(local.is_ipv4())
                );
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })
    }

    /// Opens a stream without waiting for a reply.
    pub(crate) fn start(
        &self,
        address: impl ToSocketAddrs,
        flow: Flow,
        policy: &Policy,
    ) -> io::Result<Stream> {
        let peer = self.peer_address(address)?;
        let id = self
            .handle
            .shared
            .call(|endpoint, now| endpoint.connect(now, peer, Shared::message(now, flow), policy));
        Ok(Stream::new(self.clone(), id.map_err(io_error)?, peer))
    }

    /// Starts accepting streams. At most `backlog` streams wait for [`Listener::accept`]; further SYNs must be
    /// repeated. An endpoint has one listener: later calls change the backlog.
    pub fn listen(&self, backlog: usize) -> Listener {
        self.handle
            .shared
            .call(|endpoint, _| endpoint.listen(backlog.max(1)));
        Listener {
            endpoint: self.clone(),
        }
    }

    /// Returns the number of open streams, including half-open and lingering ones.
    pub fn streams(&self) -> usize {
        self.handle.shared.call(|endpoint, _| endpoint.streams())
    }

    /// Returns datagram counters.
    pub fn totals(&self) -> Totals {
        self.handle.shared.call(|endpoint, _| endpoint.totals())
    }
}

impl Listener {
    /// Waits for the next stream.
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.accept_within(None)
    }

    /// Waits for the next stream, and fails with [`io::ErrorKind::WouldBlock`] after `timeout`.
    pub fn accept_within(&self, timeout: Option<Duration>) -> io::Result<(Stream, SocketAddr)> {
        let accepted = self.endpoint.handle.shared.wait(None, timeout, accept)?;
        Ok(self.stream(accepted))
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
