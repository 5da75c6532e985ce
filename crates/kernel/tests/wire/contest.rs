//! Two flows that compete for the link.

use super::Wire;
use super::connection::{Connection, Flood};
use std::thread;
use std::time::Duration;

/// Runs two flows that send continuously. Returns the bytes that each delivered between the first `from` bytes of both
/// together and the first `until` bytes. Calls `prepare` before they send.
pub fn bytes_of_two(
    wire: &Wire,
    controls: [&str; 2],
    [from, until]: [u64; 2],
    prepare: impl FnOnce(&[Connection; 2]),
) -> [u64; 2] {
    let connections = [9001, 9002].map(|port| {
        let control = controls[usize::from(port - 9001)];
        Connection::new(wire, control, port)
    });
    prepare(&connections);
    let floods = connections.map(Connection::flood);
    let begin = delivered(&floods, from);
    let end = delivered(&floods, until);
    drop(floods);
    [end[0] - begin[0], end[1] - begin[1]]
}

/// Waits until both together have delivered `sum` bytes.
fn delivered(floods: &[Flood; 2], sum: u64) -> [u64; 2] {
    loop {
        let bytes = [floods[0].delivered(), floods[1].delivered()];
        if bytes[0] + bytes[1] >= sum {
            return bytes;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
