//! Socket of a protocol's endpoint.

use crate::Protocol;
use crate::driver::Driver;
use crate::shared::Shared;
use duetime_core::Time;
use quinn_udp::{EcnCodepoint, UdpSockRef, UdpSocketState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

/// Requested size of the kernel's socket buffers in each direction; the kernel may limit it.
const SOCKET_BUFFER: usize = 4 << 20;

/// UDP socket whose thread runs an endpoint of protocol `P`. When the socket is dropped, the thread sends the remaining
/// data for up to 10 s and ends.
#[derive(Debug)]
pub struct Socket<P: Protocol> {
    shared: Arc<Shared<P>>,
    address: SocketAddr,
}

impl<P: Protocol> Drop for Socket<P> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<P: Protocol> Socket<P> {
    /// Binds a UDP socket to `address`, with any free port if the port is 0, and starts a thread called `name`.
    /// `protocol` creates the endpoint from the local address and 128 random bits. Returns an error if the address is
    /// not available, or the error of `protocol`.
    pub fn bind(
        address: impl ToSocketAddrs,
        name: &str,
        protocol: impl FnOnce(SocketAddr, [u64; 2]) -> io::Result<P>,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let address = socket.local_addr()?;
        let protocol = protocol(address, random()?)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Smaller buffers work too.
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
        #[cfg(target_os = "linux")]
        crate::reports::enable(&socket)?;
        let ecn = protocol.reads_marks().then_some(EcnCodepoint::Ect0);
        let (wakeup, woken) = UnixStream::pair()?;
        wakeup.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let shared = Arc::new(Shared::new(protocol, wakeup));
        let driver = Driver {
            shared: Arc::clone(&shared),
            socket,
            state,
            ecn,
            wakeup: woken,
            is_busy: false,
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || driver.run())?;
        Ok(Self { shared, address })
    }

    /// Returns the local address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the first address of the socket's family, or [`io::ErrorKind::InvalidInput`] if the peer has none.
    pub fn peer_address(&self, address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
        let local = self.address;
        let mut addresses = address.to_socket_addrs()?;
        let family = if local.is_ipv4() { "IPv4" } else { "IPv6" };
        addresses
            .find(|peer| peer.is_ipv4() == local.is_ipv4())
            .ok_or_else(|| {
                let text = format!(
                    "the peer has no {family} address, but the endpoint is bound to {local}"
                );
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })
    }

    /// Calls the protocol and wakes the waiters of its events.
    pub fn call<T>(&self, call: impl FnOnce(&mut P, Time) -> T) -> T {
        self.shared.call(call)
    }

    /// Repeats a call at each event of `key` until it is ready. Returns an error if the socket's thread has ended.
    pub fn wait<T>(
        &self,
        key: &P::Key,
        mut call: impl FnMut(&mut P, Time) -> Poll<T>,
    ) -> io::Result<T> {
        loop {
            if let Some(result) = self.shared.wait_until(None, key, &mut call)? {
                return Ok(result);
            }
        }
    }

    /// Repeats a call like [`wait`](Self::wait), and returns `None` after `timeout`.
    pub fn wait_timeout<T>(
        &self,
        key: &P::Key,
        timeout: Duration,
        call: impl FnMut(&mut P, Time) -> Poll<T>,
    ) -> io::Result<Option<T>> {
        // A timeout beyond the range of the clock is no limit.
        let end = Instant::now().checked_add(timeout);
        self.shared.wait_until(end, key, call)
    }

    /// Calls the protocol for a task. If the call is not ready, the task is woken at the next event of `key`. Returns
    /// an error if the socket's thread has ended.
    pub fn poll<T>(
        &self,
        key: &P::Key,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut P, Time) -> Poll<T>,
    ) -> Poll<io::Result<T>> {
        self.shared.poll(key, context, call)
    }

    /// Frees the memory of a key that has no more waiters.
    pub fn forget(&self, key: &P::Key) {
        self.shared.lock().forget(key);
    }
}

/// Returns random bits from the operating system.
pub fn random() -> io::Result<[u64; 2]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok([&bytes[..8], &bytes[8..]].map(|half| {
        half.iter()
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }))
}
