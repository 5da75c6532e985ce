//! Messages of `due` to one receiver, several at a time.

use super::super::network::Side;
use super::super::process::Meter;
use super::{CAPACITY, address};
use duetime_due::{Message, Options, Socket};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// Size of a message in bytes.
const SIZE: usize = 1 << 18;
/// Messages under way.
const UNDER_WAY: usize = 4;

pub(super) fn send(duration: Duration, meter: &mut Meter) -> io::Result<(u64, f64)> {
    let socket = Socket::bind(address(Side::Sender), Options::new(CAPACITY))?;
    meter.start().map_err(io::Error::other)?;
    let (start, mut bytes) = (Instant::now(), 0);
    let mut under_way = VecDeque::new();
    // The same bytes each time, as with the other transports.
    let message = Message::new(vec![7; SIZE]);
    while start.elapsed() < duration {
        under_way.push_back(socket.send(address(Side::Receiver), message.clone())?);
        bytes += SIZE as u64;
        if under_way.len() == UNDER_WAY
            && let Some(first) = under_way.pop_front()
        {
            first.wait()?;
        }
    }
    for sending in under_way {
        sending.wait()?;
    }
    // The end.
    socket
        .send(address(Side::Receiver), Message::new([7]))?
        .wait()?;
    Ok((bytes, start.elapsed().as_secs_f64()))
}

pub(super) fn receive(meter: &mut Meter) -> io::Result<(u64, f64)> {
    let socket = Socket::bind(address(Side::Receiver), Options::new(CAPACITY))?;
    meter.ready("").map_err(io::Error::other)?;
    let mut bytes = socket.receive()?.bytes.len() as u64;
    let start = Instant::now();
    loop {
        let message = socket.receive()?.bytes;
        if message.len() == 1 {
            return Ok((bytes, start.elapsed().as_secs_f64()));
        }
        bytes += message.len() as u64;
        socket.reuse(message);
    }
}
