//! Sockets.

use crate::error::options_error;
use crate::protocol::{Key, Messages, Submission};
use crate::shared_link::SharedLink;
use crate::{Message, Options, Received, Sending, Totals};
use duetime_proto::due::endpoint::Endpoint;
use duetime_udp::Descriptor;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// UDP socket that sends and receives messages. Clones are the same socket. It closes when all clones and all
/// [`Sending`]s are dropped; messages under way are then sent for up to 10 s, while the process runs.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(crate) shared: Arc<duetime_udp::Socket<Messages>>,
    incoming: Arc<Descriptor>,
}

impl Socket {
    /// Creates a socket on a UDP address, with any free port if the port is 0. `options` contain the rate of the
    /// interface. Returns an error if the address is not available, or [`io::ErrorKind::InvalidInput`] with an
    /// [`OptionsError`](crate::OptionsError) for invalid options.
    pub fn bind(address: impl ToSocketAddrs, options: Options) -> io::Result<Self> {
        Self::open(address, |secret| {
            let endpoint = Endpoint::new(options, secret).map_err(options_error)?;
            Ok(Messages {
                endpoint,
                shared_link: None,
            })
        })
    }

    /// Creates a socket that shares its link with the sockets of all processes that name the same file, up to 64. Each
    /// knows the messages to all, so that together they grant no more than the link carries, the most urgent first. The
    /// file is created with mode 0660 if it does not exist. Processes that can write to it can stop the others' messages,
    /// and end the others by shortening it.
    ///
    /// Fails like [`bind`](Self::bind); with the errors of opening the file; with [`io::ErrorKind::InvalidData`] if it is
    /// not such a file; with [`io::ErrorKind::InvalidInput`] if its sockets have another `link.rate`, or there are 64; and
    /// with [`io::ErrorKind::Unsupported`] on systems other than Linux.
    pub fn bind_shared(
        address: impl ToSocketAddrs,
        options: Options,
        link_file: impl AsRef<Path>,
    ) -> io::Result<Self> {
        let path = link_file.as_ref();
        Self::open(address, |secret| {
            let endpoint = Endpoint::new(options, secret).map_err(options_error)?;
            let link = SharedLink::join(path, options.link.rate.as_bps()).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            Ok(Messages {
                endpoint,
                shared_link: Some(link),
            })
        })
    }

    fn open(
        address: impl ToSocketAddrs,
        messages: impl FnOnce([u64; 2]) -> io::Result<Messages>,
    ) -> io::Result<Self> {
        let socket = duetime_udp::Socket::bind(address, "due", |_, secret| messages(secret))?;
        Ok(Self {
            shared: Arc::new(socket),
            incoming: Arc::default(),
        })
    }

    /// Returns the local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.shared.local_addr())
    }

    /// Submits a message to `peer`. Waits while `max_outgoing_bytes` or `max_outgoing` messages are under way; the
    /// deadline includes this wait. Fails with [`io::ErrorKind::InvalidInput`] if the message is longer than
    /// `max_message_bytes` or if `peer` has no address of the socket's family.
    pub fn send(&self, peer: impl ToSocketAddrs, message: Message) -> io::Result<Sending> {
        let mut submission = self.submission(peer, message)?;
        let number = self.shared.wait(&Key::Writable, |messages, now| {
            submission.attempt(messages, now)
        })??;
        Ok(Sending::new(self.clone(), number))
    }

    /// Waits for the next message.
    pub fn receive(&self) -> io::Result<Received> {
        self.shared.wait(&Key::Incoming, Messages::receive)
    }

    /// Waits for the next message for at most `timeout`, and returns `None` if none arrives.
    pub fn receive_timeout(&self, timeout: Duration) -> io::Result<Option<Received>> {
        self.shared
            .wait_timeout(&Key::Incoming, timeout, Messages::receive)
    }

    /// Returns the next message, or `None` if none has arrived.
    pub fn try_receive(&self) -> io::Result<Option<Received>> {
        let shared = &self.shared;
        self.incoming
            .attempt(shared, &Key::Incoming, Messages::receive)
    }

    /// Returns the memory of a received message, which later messages of a similar size then use: fresh memory costs the
    /// kernel about as much time as their packets. The socket keeps at most a quarter of `max_incoming_bytes`.
    pub fn reuse(&self, bytes: Vec<u8>) {
        self.shared
            .call(|messages, _| messages.endpoint.reuse(bytes));
    }

    /// Returns a descriptor for `poll(2)` and event loops, which report it readable when
    /// [`try_receive`](Self::try_receive) may return a message. Do not read from it. Fails if too many files are open.
    pub fn incoming_fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.incoming.readable()
    }

    /// Returns the counters of datagrams and messages.
    pub fn totals(&self) -> Totals {
        self.shared.call(|messages, _| messages.endpoint.totals())
    }

    pub(crate) fn submission(
        &self,
        peer: impl ToSocketAddrs,
        message: Message,
    ) -> io::Result<Submission> {
        let peer = self.shared.peer_address(peer)?;
        Ok(Submission::new(peer, message))
    }
}

/// Draws the number of a query at random, so that only its workers know it.
pub fn random_query() -> io::Result<u64> {
    let [query, _] = duetime_udp::random()?;
    Ok(query)
}
