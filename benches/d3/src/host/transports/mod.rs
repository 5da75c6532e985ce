//! The transports that are compared: each sends bytes of one flow for a while, and counts what arrives.

mod d3;
mod quic;
mod tcp;
mod udp;

pub(super) use d3::CAPACITY;

use super::network::Side;
use super::process::Meter;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Where receivers listen.
const PORT: u16 = 7_000;
/// Bytes that the application writes or reads in one call.
const CHUNK: usize = 1 << 16;

/// Sends for `duration`, waits until all has arrived, and returns the bytes sent and the seconds that it took.
/// `introduction` is what the receiver said of itself.
pub(super) fn send(
    kind: &str,
    introduction: &str,
    duration: Duration,
    meter: &mut Meter,
) -> Result<(u64, f64), String> {
    match kind {
        "d3" => d3::send(duration, meter).map_err(|error| error.to_string()),
        "udp" => udp::send(duration, meter).map_err(|error| error.to_string()),
        "tcp" => tcp::send(duration, meter).map_err(|error| error.to_string()),
        "quic" => quic::send(introduction, duration, meter).map_err(|error| error.to_string()),
        _ => Err(format!("no such transport: {kind}")),
    }
}

/// Receives to the end of the flow, and returns the bytes that arrived and the seconds from the first to the last.
pub(super) fn receive(kind: &str, meter: &mut Meter) -> Result<(u64, f64), String> {
    match kind {
        "d3" => d3::receive(meter).map_err(|error| error.to_string()),
        "udp" => udp::receive(meter).map_err(|error| error.to_string()),
        "tcp" => tcp::receive(meter).map_err(|error| error.to_string()),
        "quic" => quic::receive(meter).map_err(|error| error.to_string()),
        _ => Err(format!("no such transport: {kind}")),
    }
}

/// The address of a side; the receiver's port is known, the sender's is any.
fn address(side: Side) -> SocketAddr {
    let port = match side {
        Side::Sender => 0,
        Side::Receiver => PORT,
    };
    SocketAddr::from((side.address(), port))
}

/// Calls `write` with bytes until the time is over; it returns how many were taken.
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

/// Calls `read` with a buffer until it returns none. The time begins with the first.
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
