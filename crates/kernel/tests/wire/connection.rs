//! Connection over the link, and traffic on it.

use super::Wire;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum duration of a read or write.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Connection with the sender's and the receiver's end.
pub struct Connection {
    /// Sending end.
    pub near: TcpStream,
    /// Receiving end.
    pub far: TcpStream,
}

impl Connection {
    /// Opens a connection with this congestion control at both ends.
    pub fn new(wire: &Wire, control: &str, port: u16) -> Self {
        let listener = wire.listen(control, port);
        let near = wire.connect(control, port);
        let (far, _) = listener.accept().expect("the connection");
        Self::from_ends(near, far)
    }

    /// Creates a connection from its ends, with timeouts for reads and writes.
    pub fn from_ends(near: TcpStream, far: TcpStream) -> Self {
        for end in [&near, &far] {
            end.set_nodelay(true).expect("TCP_NODELAY");
            end.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
            end.set_write_timeout(Some(TIMEOUT)).expect("a timeout");
        }
        Self { near, far }
    }

    /// Sends continuously until the returned value is dropped.
    pub fn flood(self) -> Flood {
        let (mut near, mut far) = (
            self.near.try_clone().expect("a descriptor"),
            self.far.try_clone().expect("a descriptor"),
        );
        let sender = thread::spawn(move || {
            let buffer = vec![0; 1 << 16];
            while near.write_all(&buffer).is_ok() {}
        });
        let delivered = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&delivered);
        let receiver = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = far.read(&mut buffer) {
                counter.fetch_add(count as u64, Ordering::Relaxed);
            }
        });
        Flood {
            connection: self,
            delivered,
            threads: vec![sender, receiver],
        }
    }
}

/// Resets the connection on drop. A connection that waits for the other end's last packets would outlive the link and
/// keep the controller in use.
impl Drop for Connection {
    fn drop(&mut self) {
        let at_once = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        for end in [&self.near, &self.far] {
            let _ = setsockopt(end, sockopt::Linger, &at_once);
        }
    }
}

/// Connection that sends continuously.
pub struct Flood {
    /// The connection.
    pub connection: Connection,
    delivered: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    /// Returns the bytes that the receiver has read.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        // Fails if the connection is already closed.
        let _ = self.connection.near.shutdown(Shutdown::Both);
        let _ = self.connection.far.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
