//! One connection of the kernel's TCP with the system's settings.

use super::super::network::Side;
use super::super::process::Meter;
use super::{address, receive_all, send_for};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

pub(super) fn send(duration: Duration, meter: &mut Meter) -> io::Result<(u64, f64)> {
    let mut stream = TcpStream::connect(address(Side::Receiver))?;
    meter.start().map_err(io::Error::other)?;
    let start = Instant::now();
    let bytes = send_for(duration, |chunk| stream.write(chunk))?;
    stream.shutdown(Shutdown::Write)?;
    // The receiver closes after it has read everything.
    stream.read_to_end(&mut Vec::new())?;
    Ok((bytes, start.elapsed().as_secs_f64()))
}

pub(super) fn receive(meter: &mut Meter) -> io::Result<(u64, f64)> {
    let listener = TcpListener::bind(address(Side::Receiver))?;
    meter.ready("").map_err(io::Error::other)?;
    let (mut stream, _) = listener.accept()?;
    receive_all(|chunk| stream.read(chunk))
}
