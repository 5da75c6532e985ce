//! Blocking streams.

use crate::endpoint::one_address;
use crate::shared::Shared;
use crate::{Endpoint, Flow, Options, Policy, Rate, Statistics, io_error};
use duetime_proto::d3::endpoint::StreamId;
use duetime_udp::Descriptor;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bidirectional byte stream between two endpoints. References also implement `Read` and `Write`, so one thread can
/// read while another writes.
#[derive(Debug)]
pub struct Stream {
    endpoint: Endpoint,
    id: StreamId,
    peer: SocketAddr,
    read_timeout: Timeout,
    write_timeout: Timeout,
    changed: Descriptor,
}

/// Timeout in nanoseconds; 0: none.
#[derive(Debug, Default)]
struct Timeout(AtomicU64);

impl Timeout {
    fn set(&self, timeout: Option<Duration>) {
        let nanoseconds = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let nanoseconds = timeout.map_or(0, |timeout| nanoseconds(timeout).max(1));
        self.0.store(nanoseconds, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Duration> {
        let nanoseconds = self.0.load(Ordering::Relaxed);
        (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared().release(self.id);
    }
}

impl Stream {
    /// Opens a stream from a new endpoint on an interface of rate `interface`, and waits for the peer's reply. Use
    /// [`Endpoint::connect`] to set other options or to share an endpoint between streams.
    pub fn connect(address: impl ToSocketAddrs, interface: Rate, flow: Flow) -> io::Result<Self> {
        let peer = one_address(address)?;
        let any = if peer.is_ipv4() {
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
        } else {
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
        };
        Endpoint::bind(any, Options::new(interface))?.connect(peer, flow)
    }

    pub(crate) fn new(endpoint: Endpoint, id: StreamId, peer: SocketAddr) -> Self {
        Self {
            endpoint,
            id,
            peer,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
            changed: Descriptor::default(),
        }
    }

    /// Declares the outgoing flow of an accepted stream.
    pub fn open(&self, flow: Flow) -> io::Result<()> {
        let policy = self
            .shared()
            .call(|endpoint, _| endpoint.options().config.host.policy);
        self.open_with(flow, &policy)
    }

    /// Declares the outgoing flow of an accepted stream, with flow options.
    pub fn open_with(&self, flow: Flow, policy: &Policy) -> io::Result<()> {
        let opened = self
            .shared()
            .call(|endpoint, now| endpoint.open(now, self.id, Shared::message(now, flow), policy));
        opened.map_err(io_error)
    }

    /// Ends the outgoing flow after the written data, without waiting for its delivery. The peer reads to its end.
    pub fn finish(&self) -> io::Result<()> {
        let finished = self
            .shared()
            .call(|endpoint, now| endpoint.finish(now, self.id));
        finished.map_err(io_error)
    }

    /// Ends the outgoing flow and waits until the peer has received it. The peer's flow can still be read.
    pub fn close(&self) -> io::Result<()> {
        self.finish()?;
        let id = self.id;
        self.shared()
            .wait(Some(id), None, |endpoint, _| endpoint.delivery(id))
    }

    /// Aborts the outgoing flow: unsent data is dropped, and the peer is notified.
    pub fn abort(&self) -> io::Result<()> {
        let aborted = self
            .shared()
            .call(|endpoint, now| endpoint.abort(now, self.id));
        aborted.map_err(io_error)
    }

    /// Returns the stream's statistics: granted rate, requests, retransmissions and more.
    pub fn statistics(&self) -> Statistics {
        let id = self.id;
        let statistics = self.shared().call(|endpoint, _| endpoint.statistics(id));
        statistics.unwrap_or_default()
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the endpoint that carries the stream.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes reads fail with [`io::ErrorKind::WouldBlock`] after `timeout`; `None` waits without limit.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.read_timeout.set(timeout);
    }

    /// Makes writes fail with [`io::ErrorKind::WouldBlock`] after `timeout`; `None` waits without limit.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.write_timeout.set(timeout);
    }

    /// Reads bytes like `read`, or returns `None` if none have arrived.
    pub fn try_read(&self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let id = self.id;
        self.shared()
            .attempt(Some(id), &self.changed, |endpoint, now| {
                endpoint.read(now, id, out)
            })
    }

    /// Writes bytes like `write`, or returns `None` if the buffer has no space.
    pub fn try_write(&self, data: &[u8]) -> io::Result<Option<usize>> {
        let id = self.id;
        self.shared()
            .attempt(Some(id), &self.changed, |endpoint, now| {
                endpoint.write(now, id, data)
            })
    }

    /// Returns a descriptor for `poll(2)` and event loops, which report it readable when [`try_read`](Self::try_read)
    /// or [`try_write`](Self::try_write) may succeed. Do not read from it. Fails if too many files are open.
    pub fn changed_fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.changed.readable()
    }

    pub(crate) fn id(&self) -> StreamId {
        self.id
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.endpoint.shared
    }
}

impl Read for &Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let id = self.id;
        self.shared()
            .wait(Some(id), self.read_timeout.get(), |endpoint, now| {
                endpoint.read(now, id, out)
            })
    }
}

impl Write for &Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let id = self.id;
        self.shared()
            .wait(Some(id), self.write_timeout.get(), |endpoint, now| {
                endpoint.write(now, id, data)
            })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (&*self).read(out)
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        (&*self).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
