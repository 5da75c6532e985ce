//! One D3 flow. The receiving host allocates its downlink, because the path has no router.

use super::super::network::Side;
use super::super::process::Meter;
use super::{CAPACITY, address, receive_all, send_for};
use duetime_d3::{Endpoint, Flow, Options};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

pub(super) fn send(duration: Duration, meter: &mut Meter) -> io::Result<(u64, f64)> {
    let endpoint = Endpoint::bind(address(Side::Sender), Options::new(CAPACITY))?;
    let mut stream = endpoint.connect(address(Side::Receiver), Flow::unknown())?;
    meter.start().map_err(io::Error::other)?;
    let start = Instant::now();
    let bytes = send_for(duration, |chunk| stream.write(chunk))?;
    stream.close()?;
    Ok((bytes, start.elapsed().as_secs_f64()))
}

pub(super) fn receive(meter: &mut Meter) -> io::Result<(u64, f64)> {
    let endpoint = Endpoint::bind(address(Side::Receiver), Options::new(CAPACITY))?;
    let listener = endpoint.listen(1);
    meter.ready("").map_err(io::Error::other)?;
    let (mut stream, _) = listener.accept()?;
    let received = receive_all(|chunk| stream.read(chunk))?;
    // Otherwise the sender would wait for an answer.
    stream.finish()?;
    Ok(received)
}
