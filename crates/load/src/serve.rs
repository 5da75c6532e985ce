//! Leaves: servers that answer queries.

use crate::carrier::{Connection, Interface, choose};
use crate::messages::{self, message_address};
use crate::query::Query;
use duetime_d3::Listener;
use duetime_due::Socket;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: usize = 1_024;
/// Maximum number of bytes per write.
const BLOCK: usize = 64 * 1024;
/// Maximum silence of a root.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Congestion controls that make a listening socket accept ECN, also for connections of other controllers.
const WITH_ECN: [&str; 3] = ["duetime_d2tcp", "duetime_dctcp", "dctcp"];

/// Number of attempts to find a free port for all carriers.
const PORT_ATTEMPTS: u32 = 16;

/// Answers queries over TCP and D3, on the same port number, and over `due`, on the next one.
#[derive(Debug)]
pub struct Server {
    tcp: TcpListener,
    d3: Listener,
    due: Socket,
}

impl Server {
    /// Opens a server at an address. Port 0 selects a free port that a free one follows.
    pub fn bind(address: SocketAddr, interface: Interface) -> io::Result<Self> {
        let attempts = if address.port() == 0 {
            PORT_ATTEMPTS
        } else {
            1
        };
        let mut bound = Self::bind_once(address, interface);
        for _ in 1..attempts {
            if bound.is_ok() {
                break;
            }
            bound = Self::bind_once(address, interface);
        }
        bound
    }

    fn bind_once(address: SocketAddr, interface: Interface) -> io::Result<Self> {
        let tcp = TcpListener::bind(address)?;
        let _any = WITH_ECN
            .iter()
            .any(|name| choose(tcp.as_fd(), name).is_ok());
        let address = tcp.local_addr()?;
        Ok(Self {
            d3: interface.endpoint(address)?.listen(BACKLOG),
            due: messages::bind(message_address(address)?, interface)?,
            tcp,
        })
    }

    /// Returns the server's address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Answers on separate threads until the process ends. Passes errors to `report`, which must not block.
    pub fn start(self, report: impl Fn(&io::Error) + Clone + Send + 'static) -> io::Result<()> {
        let Self { tcp, d3, due } = self;
        let (report_tcp, report_due) = (report.clone(), report.clone());
        thread::Builder::new()
            .name("load-tcp".to_owned())
            .spawn(move || {
                loop {
                    let accepted = tcp.accept().and_then(|(stream, _)| {
                        stream.set_nodelay(true)?;
                        stream.set_read_timeout(Some(TIMEOUT))?;
                        stream.set_write_timeout(Some(TIMEOUT))?;
                        Ok(Connection::Tcp(stream))
                    });
                    answer_in_thread(accepted, report_tcp.clone());
                }
            })?;
        thread::Builder::new()
            .name("load-d3".to_owned())
            .spawn(move || {
                loop {
                    let accepted = d3.accept().map(|(stream, _)| {
                        stream.set_read_timeout(Some(TIMEOUT));
                        stream.set_write_timeout(Some(TIMEOUT));
                        Connection::D3(stream)
                    });
                    answer_in_thread(accepted, report.clone());
                }
            })?;
        thread::Builder::new()
            .name("load-due".to_owned())
            .spawn(move || {
                while let Ok(query) = due.receive() {
                    if let Err(error) = messages::answer(&due, &query) {
                        report_due(&error);
                    }
                }
            })?;
        Ok(())
    }
}

fn answer_in_thread(
    accepted: io::Result<Connection>,
    report: impl Fn(&io::Error) + Send + 'static,
) {
    let started = accepted.and_then(|connection| {
        thread::Builder::new()
            .name("load-answer".to_owned())
            .spawn(move || {
                if let Err(error) = answer(connection) {
                    report(&error);
                }
            })
    });
    if started.is_err() {
        // Out of descriptors or threads: wait for others to end.
        thread::sleep(Duration::from_millis(10));
    }
}

/// Answers one query, or sends the error in its place.
fn answer(mut connection: Connection) -> io::Result<()> {
    let mut head = [0; Query::BYTES];
    connection.read_exact(&mut head)?;
    let query = Query::decode(&head)?;
    io::copy(&mut connection, &mut io::sink())?;
    let announced =
        connection.announce(query.answer_bytes, query.within, &query.congestion_control);
    if let Err(error) = announced {
        connection.write_all(format!("\u{1}{error}").as_bytes())?;
        connection.finish()?;
        return Err(error);
    }
    let (block, mut left) = (vec![0; BLOCK], query.answer_bytes);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        connection.write_all(&block[..length])?;
        left -= length as u64;
    }
    match connection {
        // Waits for the root to receive everything, so that dropping the stream does not reset it.
        Connection::D3(stream) => stream.close(),
        Connection::Tcp(_) => connection.finish(),
    }
}
