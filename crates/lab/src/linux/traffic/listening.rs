//! Listening sockets, one per host and kernel TCP stack, because the listener's congestion controller determines
//! whether ECN is negotiated.

use std::io::ErrorKind;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::Inputs;
use crate::LabError;
use crate::linux::socket;

/// Port of the first stack.
const FIRST_PORT: u16 = 5000;
/// Bit that marks the tokens of listeners.
const LISTENER: u64 = 1 << 63;

/// Returns the address at which a host listens for connections of a stack.
pub fn address(host: u32, stack: usize) -> SocketAddrV4 {
    let port = FIRST_PORT + u16::try_from(stack).expect("a small number of transports");
    SocketAddrV4::new(socket::address(host), port)
}

/// Returns the listener of a token, or `None` for other tokens.
pub fn from_token(token: u64) -> Option<usize> {
    (token & LISTENER != 0).then_some((token & !LISTENER) as usize)
}

/// All listening sockets.
pub struct Listeners {
    /// Stack index and socket, by host, then stack.
    all: Vec<(usize, TcpListener)>,
}

impl Listeners {
    /// Opens the sockets in the hosts' namespaces. `epoll` watches them.
    pub fn open(inputs: &Inputs<'_>, epoll: &Epoll) -> Result<Self, LabError> {
        let mut all = Vec::new();
        for (host, namespace) in inputs.hosts.iter().enumerate() {
            let open = || {
                let stacks = inputs.stacks.iter().enumerate();
                stacks
                    .filter_map(|(number, stack)| Some((number, stack.kernel()?)))
                    .map(|(number, stack)| {
                        let address = address(host as u32, number);
                        let listener = socket::listener(address, &stack.congestion_control);
                        let listener = listener.map_err(LabError::system(format!(
                            "listen on {address} with `{}`",
                            stack.congestion_control
                        )));
                        Ok((number, listener?))
                    })
                    .collect::<Result<Vec<_>, _>>()
            };
            all.append(&mut namespace.within(open)?);
        }
        for (number, (_, listener)) in all.iter().enumerate() {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, LISTENER | number as u64);
            epoll
                .add(listener, event)
                .map_err(LabError::system("watch a listening socket"))?;
        }
        Ok(Self { all })
    }

    /// Returns the stack of a listener.
    pub fn stack(&self, listener: usize) -> usize {
        self.all[listener].0
    }

    /// Accepts the next connection, if any.
    pub fn accept(&self, listener: usize) -> Result<Option<(TcpStream, SocketAddr)>, LabError> {
        loop {
            return match self.all[listener].1.accept() {
                Ok((stream, peer)) => {
                    stream
                        .set_nonblocking(true)
                        .map_err(LabError::system("make a socket non-blocking"))?;
                    Ok(Some((stream, peer)))
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                // The peer closed the connection before it was accepted.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) =>
                {
                    continue;
                }
                Err(error) => Err(LabError::system("accept a connection")(error)),
            };
        }
    }
}
