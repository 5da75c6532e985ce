//! Transports to compare. Each sends the bytes of one flow for a while and counts the received bytes.

mod d3;
mod due;
mod quic;
mod tcp;
mod udp;

use super::network::Side;
use super::process::Meter;
use duetime_core::Rate;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Rate of the interfaces that D3 and `due` are given: far above what the hosts can send, so that no grant limits them.
pub(super) const CAPACITY: Rate = Rate::from_gbps(400);
/// Port on which receivers listen.
const PORT: u16 = 7_000;
/// Bytes that the application writes or reads in one call.
const CHUNK: usize = 1 << 16;

/// Sends for `duration`, waits until all data has arrived, and returns the bytes sent and the elapsed seconds.
/// `introduction` is the line that the receiver announced.
pub(super) fn send(
    kind: &str,
    introduction: &str,
    duration: Duration,
    meter: &mut Meter,
) -> Result<(u64, f64), String> {
    match kind {
        "d3" => d3::send(duration, meter).map_err(|error| error.to_string()),
        "due" => due::send(duration, meter).map_err(|error| error.to_string()),
        "udp" => udp::send(duration, meter).map_err(|error| error.to_string()),
        "tcp" => tcp::send(duration, meter).map_err(|error| error.to_string()),
        "quic" => quic::send(introduction, duration, meter).map_err(|error| error.to_string()),
        _ => Err(format!("no such transport: {kind}")),
    }
}

/// Receives to the end of the flow. Returns the bytes received and the seconds from the first to the last.
pub(super) fn receive(kind: &str, meter: &mut Meter) -> Result<(u64, f64), String> {
    match kind {
        "d3" => d3::receive(meter).map_err(|error| error.to_string()),
        "due" => due::receive(meter).map_err(|error| error.to_string()),
        "udp" => udp::receive(meter).map_err(|error| error.to_string()),
        "tcp" => tcp::receive(meter).map_err(|error| error.to_string()),
        "quic" => quic::receive(meter).map_err(|error| error.to_string()),
        _ => Err(format!("no such transport: {kind}")),
    }
}

/// Returns the address of a side. The receiver's port is fixed; the sender's is ephemeral.
fn address(side: Side) -> SocketAddr {
    let port = match side {
        Side::Sender => 0,
        Side::Receiver => PORT,
    };
    SocketAddr::from((side.address(), port))
}

/// Calls `write`, which returns the number of bytes accepted, until the time is over. Returns the total.
fn send_for<E>(
    duration: Duration,
    mut write: impl FnMut(&[u8]) -> Result<usize, E>,
) -> Result<u64, E> {
    let (start, chunk) = (Instant::now(), vec![7; CHUNK]);
    let mut bytes = 0;
    while start.elapsed() < duration {
        bytes += write(&chunk)? as u64;
    }
    Ok(bytes)
}

/// Calls `read` until it returns 0. The time starts with the first data.
fn receive_all<E>(mut read: impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<(u64, f64), E> {
    let mut chunk = vec![0; CHUNK];
    let mut bytes = read(&mut chunk)? as u64;
    let start = Instant::now();
    loop {
        let more = read(&mut chunk)?;
        if more == 0 {
            return Ok((bytes, start.elapsed().as_secs_f64()));
        }
        bytes += more as u64;
    }
}
