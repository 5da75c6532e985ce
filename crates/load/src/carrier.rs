//! Carriers of queries and answers: kernel TCP, D3 or `due`.

use duetime_d3::{Endpoint, Flow, Options, Rate, Stream};
use duetime_kernel::deadline::{self, Deadline};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Congestion control that uses the deadline of a socket.
const DEADLINE_AWARE: &str = "duetime_d2tcp";

/// Carrier of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Kernel TCP with the congestion control of this name.
    Tcp(String),
    /// D3 over UDP.
    D3,
    /// `due` over UDP.
    Due,
}

impl Carrier {
    /// Returns the carrier with this name: `d3`, `due`, or the kernel's name of a congestion control.
    pub fn from_name(name: &str) -> Self {
        match name {
            "d3" => Self::D3,
            "due" => Self::Due,
            _ => Self::Tcp(name.to_owned()),
        }
    }
}

/// Interface of D3 and `due`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Rate of the interface.
    pub rate: Rate,
    /// Rate of the network's slowest link, for D3.
    pub slowest: Rate,
}

impl Interface {
    /// Opens a D3 endpoint on the interface.
    pub fn endpoint(&self, address: SocketAddr) -> io::Result<Endpoint> {
        Endpoint::bind(address, Options::new(self.rate).slowest_link(self.slowest))
    }
}

/// Open connection over TCP or D3.
#[derive(Debug)]
pub enum Connection {
    Tcp(TcpStream),
    D3(Stream),
}

impl Connection {
    /// Opens a TCP connection whose operations fail after `timeout`.
    pub fn tcp(to: SocketAddr, congestion_control: &str, timeout: Duration) -> io::Result<Self> {
        let family = if to.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = socket(family, SocketType::STREAM, None)?;
        choose(socket.as_fd(), congestion_control)?;
        for direction in [Timeout::Send, Timeout::Recv] {
            set_socket_timeout(&socket, direction, Some(timeout))?;
        }
        rustix::net::connect(&socket, &to)?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Opens a D3 stream with this query flow.
    pub fn d3(
        endpoint: &Endpoint,
        to: SocketAddr,
        flow: Flow,
        timeout: Duration,
    ) -> io::Result<Self> {
        let stream = endpoint.connect(to, flow)?;
        stream.set_read_timeout(Some(timeout));
        stream.set_write_timeout(Some(timeout));
        Ok(Self::D3(stream))
    }

    /// Announces an answer, with its deadline if the carrier supports one. `with` is the congestion control to use.
    pub fn announce(&self, bytes: u64, within: Option<Duration>, with: &str) -> io::Result<()> {
        match self {
            Self::D3(stream) => stream.open(Flow::new(bytes, within)),
            Self::Tcp(stream) => {
                choose(stream.as_fd(), with)?;
                match within {
                    Some(within) if with == DEADLINE_AWARE => {
                        deadline::set(stream.as_fd(), &Deadline { bytes, within })
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Ends the outgoing direction.
    pub fn finish(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::D3(stream) => stream.finish(),
        }
    }
}

/// Selects a congestion control. Errors contain its name.
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
