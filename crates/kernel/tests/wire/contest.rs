//! Two flows that compete for the link.

use super::{Connection, Wire};
use duetime_kernel::{Attachment, SocketState};
use std::thread;
use std::time::Duration;

/// Runs two flows that send continuously. Returns the bytes that each had acknowledged between the first `from` bytes
/// of both together and the first `until` bytes. Calls `prepare` before they send.
pub fn bytes_of_two(
    wire: &Wire,
    attachment: &Attachment,
    controls: [&str; 2],
    [from, until]: [u64; 2],
    prepare: impl FnOnce(&[Connection; 2]),
) -> [u64; 2] {
    let connections = [9001, 9002].map(|port| {
        let control = controls[usize::from(port - 9001)];
        Connection::new(wire, control, port)
    });
    prepare(&connections);
    let ports = [connections[0].port(), connections[1].port()];
    let floods = connections.map(Connection::flood);
    let begin = acknowledged(attachment, ports, from);
    let end = acknowledged(attachment, ports, until);
    drop(floods);
    [end[0] - begin[0], end[1] - begin[1]]
}

/// Waits until both together have `sum` bytes acknowledged.
fn acknowledged(attachment: &Attachment, ports: [u16; 2], sum: u64) -> [u64; 2] {
    loop {
        let sockets = attachment.sockets().expect("a list of sockets");
        let bytes = ports.map(|port| {
            let matches =
                |socket: &&SocketState| socket.local.port() == port && socket.remote.port() > 9000;
            sockets
                .iter()
                .find(matches)
                .map_or(0, |socket| socket.bytes_acked)
        });
        if bytes[0] + bytes[1] >= sum {
            return bytes;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
