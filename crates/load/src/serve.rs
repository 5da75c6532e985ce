//! Leaves: answer whatever is asked.

use crate::carrier::{Connection, Interface, choose};
use crate::query::Query;
use duetime_d3::Listener;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// Streams that may wait to be accepted.
const BACKLOG: usize = 1_024;
/// Bytes written at once.
const BLOCK: usize = 64 * 1024;
/// How long a root may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// A listening socket with one of these accepts connections whose ECN it needs, and those of any other controller.
const WITH_ECN: [&str; 3] = ["duetime_d2tcp", "duetime_dctcp", "dctcp"];

/// Answers queries over TCP and over D3, at one port of both.
#[derive(Debug)]
pub struct Server {
    tcp: TcpListener,
    d3: Listener,
}

impl Server {
    /// A server at an address; port 0: any that both have free.
    pub fn bind(address: SocketAddr, interface: Interface) -> io::Result<Self> {
        let tcp = TcpListener::bind(address)?;
        let _any = WITH_ECN
            .iter()
            .any(|name| choose(tcp.as_fd(), name).is_ok());
        let d3 = interface.endpoint(tcp.local_addr()?)?.listen(BACKLOG);
        Ok(Self { tcp, d3 })
    }

    /// Where it is.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Answers until the process ends, in threads of its own; failures are told to `tell`, which must not block.
    pub fn start(self, tell: impl Fn(&io::Error) + Clone + Send + 'static) -> io::Result<()> {
        let (tcp, d3) = (self.tcp, self.d3);
        let say = tell.clone();
        thread::Builder::new()
            .name("load-tcp".to_owned())
            .spawn(move || {
                loop {
                    let accepted = tcp.accept().and_then(|(stream, _)| {
                        stream.set_nodelay(true)?;
                        stream.set_read_timeout(Some(PATIENCE))?;
                        stream.set_write_timeout(Some(PATIENCE))?;
                        Ok(Connection::Tcp(stream))
                    });
                    answer_in_thread(accepted, say.clone());
                }
            })?;
        thread::Builder::new()
            .name("load-d3".to_owned())
            .spawn(move || {
                loop {
                    let accepted = d3.accept().map(|(mut stream, _)| {
                        stream.set_read_timeout(Some(PATIENCE));
                        stream.set_write_timeout(Some(PATIENCE));
                        Connection::D3(stream)
                    });
                    answer_in_thread(accepted, tell.clone());
                }
            })?;
        Ok(())
    }
}

fn answer_in_thread(accepted: io::Result<Connection>, tell: impl Fn(&io::Error) + Send + 'static) {
    let started = accepted.and_then(|connection| {
        thread::Builder::new()
            .name("load-answer".to_owned())
            .spawn(move || {
                if let Err(error) = answer(connection) {
                    tell(&error);
                }
            })
    });
    if started.is_err() {
        // No more descriptors or threads: it goes on when some have ended.
        thread::sleep(Duration::from_millis(10));
    }
}

/// Answers one query. What keeps a leaf from answering is said in its place.
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
    connection.finish()?;
    // The end of the root's side, so that nothing is reset while it is on its way.
    match connection {
        Connection::D3(stream) => stream.delivered(),
        Connection::Tcp(_) => Ok(()),
    }
}
