//! What carries queries and answers: the kernel's TCP or D3.

use duetime_d3::{Endpoint, Flow, Options, Rate, Stream};
use duetime_kernel::deadline::{self, Deadline};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// The congestion control that heeds the deadline of a socket.
const HEEDS_DEADLINES: &str = "duetime_d2tcp";

/// What carries a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The kernel's TCP with the congestion control of this name.
    Tcp(String),
    /// D3 over UDP.
    D3,
}

impl Carrier {
    /// The one that a name stands for: `d3`, or what the kernel calls a congestion control.
    pub fn of(name: &str) -> Self {
        match name {
            "d3" => Self::D3,
            _ => Self::Tcp(name.to_owned()),
        }
    }

    /// The congestion control's name; empty for D3.
    pub fn congestion_control(&self) -> &str {
        match self {
            Self::Tcp(name) => name,
            Self::D3 => "",
        }
    }
}

/// The interface that D3 leaves through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its rate.
    pub rate: Rate,
    /// The rate of the network's slowest link.
    pub slowest: Rate,
}

impl Interface {
    /// A D3 endpoint on it.
    pub fn endpoint(&self, address: SocketAddr) -> io::Result<Endpoint> {
        Endpoint::bind(address, Options::new(self.rate).slowest_link(self.slowest))
    }
}

/// One connection.
#[derive(Debug)]
pub enum Connection {
    Tcp(TcpStream),
    D3(Stream),
}

impl Connection {
    /// Opens one over TCP. Nothing may take longer than `timeout`.
    pub fn tcp(to: SocketAddr, congestion_control: &str, timeout: Duration) -> io::Result<Self> {
        let family = if to.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = socket(family, SocketType::STREAM, None)?;
        choose(socket.as_fd(), congestion_control)?;
        for which in [Timeout::Send, Timeout::Recv] {
            set_socket_timeout(&socket, which, Some(timeout))?;
        }
        rustix::net::connect(&socket, &to)?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Opens one over D3, for a query of so many bytes.
    pub fn d3(
        endpoint: &Endpoint,
        to: SocketAddr,
        flow: Flow,
        timeout: Duration,
    ) -> io::Result<Self> {
        let mut stream = endpoint.connect(to, flow)?;
        stream.set_read_timeout(Some(timeout));
        stream.set_write_timeout(Some(timeout));
        Ok(Self::D3(stream))
    }

    /// Announces an answer, to whatever can heed its deadline.
    pub fn announce(&self, bytes: u64, within: Option<Duration>, with: &str) -> io::Result<()> {
        match self {
            Self::D3(stream) => stream.open(Flow {
                bytes,
                deadline: within,
            }),
            Self::Tcp(stream) => {
                choose(stream.as_fd(), with)?;
                match within {
                    Some(within) if with == HEEDS_DEADLINES => {
                        deadline::set(stream.as_fd(), &Deadline { bytes, within })
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Ends what this side sends.
    pub fn finish(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::D3(stream) => stream.finish(),
        }
    }
}

/// Chooses a congestion control, and names it if that fails.
pub fn choose(socket: std::os::fd::BorrowedFd<'_>, name: &str) -> io::Result<()> {
    deadline::choose(socket, name).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("congestion control `{name}`: {error}"),
        )
    })
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::D3(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(data),
            Self::D3(stream) => stream.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
