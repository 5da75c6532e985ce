//! A connection over the wire, and traffic on it.

use super::Wire;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest that a read or a write may stand still.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, with the sender's end and the receiver's.
pub struct Connection {
    /// Where data is written.
    pub near: TcpStream,
    /// Where it arrives.
    pub far: TcpStream,
}

impl Connection {
    /// Both ends under this congestion control.
    pub fn new(wire: &Wire, control: &str, port: u16) -> Self {
        let listener = wire.listen(control, port);
        let near = wire.connect(control, port);
        let (far, _) = listener.accept().expect("the connection");
        Self::of(near, far)
    }

    /// Of its two ends. A read or a write that stands still for long fails.
    pub fn of(near: TcpStream, far: TcpStream) -> Self {
        for end in [&near, &far] {
            end.set_nodelay(true).expect("TCP_NODELAY");
            end.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            end.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        }
        Self { near, far }
    }

    /// The sender's port.
    pub fn port(&self) -> u16 {
        self.near.local_addr().expect("bound").port()
    }

    /// Writes at one end and reads at the other until the traffic is dropped.
    pub fn flood(self) -> Flood {
        let (mut near, mut far) = (
            self.near.try_clone().expect("a descriptor"),
            self.far.try_clone().expect("a descriptor"),
        );
        let sender = thread::spawn(move || {
            let buffer = vec![0; 1 << 16];
            while near.write_all(&buffer).is_ok() {}
        });
        let receiver = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while far.read(&mut buffer).is_ok_and(|count| count > 0) {}
        });
        Flood {
            connection: self,
            threads: vec![sender, receiver],
        }
    }
}

/// Ends at once: one that waited for the other end's last packets would outlive the wire, and keep the controller.
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

/// A connection that sends without end.
pub struct Flood {
    /// The connection.
    pub connection: Connection,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Flood {
    fn drop(&mut self) {
        // One that is closed already has nothing to shut down.
        let _ = self.connection.near.shutdown(Shutdown::Both);
        let _ = self.connection.far.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
