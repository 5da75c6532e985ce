//! The listening sockets: one for each host and stack on the kernel's TCP, because the listener's congestion controller decides whether ECN
//! is agreed on.

use std::io::ErrorKind;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::Given;
use crate::LabError;
use crate::linux::socket;

/// The port of the first stack.
const FIRST_PORT: u16 = 5000;
/// The bit that marks the tokens of listeners.
const LISTENER: u64 = 1 << 63;

/// Where a host listens for connections of a stack.
pub fn address(host: u32, stack: usize) -> SocketAddrV4 {
    let port = FIRST_PORT + u16::try_from(stack).expect("a scenario has few transports");
    SocketAddrV4::new(socket::address(host), port)
}

/// The listener behind a token.
pub fn of_token(token: u64) -> Option<usize> {
    (token & LISTENER != 0).then_some((token & !LISTENER) as usize)
}

/// All listening sockets.
pub struct Listeners {
    /// By host, then stack; each with the number of its stack.
    all: Vec<(usize, TcpListener)>,
}

impl Listeners {
    /// Opens them in the hosts' namespaces, watched by `epoll`.
    pub fn open(given: &Given<'_>, epoll: &Epoll) -> Result<Self, LabError> {
        let mut all = Vec::new();
        for (host, namespace) in given.hosts.iter().enumerate() {
            let open = || {
                let stacks = given.stacks.iter().enumerate();
                stacks
                    .filter_map(|(number, stack)| Some((number, stack.kernel()?)))
                    .map(|(number, stack)| {
                        let address = address(host as u32, number);
                        let made = socket::listener(address, &stack.congestion_control);
                        let made = made.map_err(LabError::system(format!(
                            "listen on {address} with `{}`",
                            stack.congestion_control
                        )));
                        Ok((number, made?))
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

    /// The stack of a listener.
    pub fn stack(&self, listener: usize) -> usize {
        self.all[listener].0
    }

    /// The next connection that has been opened to it, if there is one.
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
                // The peer has gone before it was accepted.
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
