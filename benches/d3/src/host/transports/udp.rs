//! Datagrams without a protocol, sent as fast as possible with segmentation offload on both sides. Datagrams that
//! overflow the receive buffer are lost and not counted.

use super::super::network::{MTU, Side};
use super::super::process::Meter;
use super::address;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Maximum payload of a datagram, without IP and UDP headers.
const PAYLOAD: usize = MTU as usize - 28;
/// Datagrams that one call can send.
const SEGMENTS: usize = u16::MAX as usize / PAYLOAD;
/// Size of the kernel's socket buffers, as for a D3 endpoint.
const SOCKET_BUFFER: usize = 4 << 20;
/// Number of short datagrams that signal the end, one per millisecond.
const ENDINGS: usize = 20;

pub(super) fn send(duration: Duration, meter: &mut Meter) -> io::Result<(u64, f64)> {
    let (socket, state) = socket(Side::Sender)?;
    let contents = vec![7; SEGMENTS.min(state.max_gso_segments()) * PAYLOAD];
    meter.start().map_err(io::Error::other)?;
    let (start, mut bytes) = (Instant::now(), 0);
    while start.elapsed() < duration {
        transmit(&socket, &state, &contents)?;
        bytes += contents.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    for _ in 0..ENDINGS {
        transmit(&socket, &state, &[0])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok((bytes, seconds))
}

fn transmit(socket: &UdpSocket, state: &UdpSocketState, contents: &[u8]) -> io::Result<()> {
    let transmit = Transmit {
        destination: address(Side::Receiver),
        ecn: None,
        contents,
        segment_size: Some(PAYLOAD),
        src_ip: None,
    };
    loop {
        match state.try_send(UdpSockRef::from(socket), &transmit) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(socket, PollFlags::OUT)], None)?;
            }
            // The receiver has already received an end datagram and closed its socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
            done => return done,
        }
    }
}

pub(super) fn receive(meter: &mut Meter) -> io::Result<(u64, f64)> {
    let (socket, state) = socket(Side::Receiver)?;
    let mut buffer = vec![0; BATCH_SIZE << 16];
    meter.ready("").map_err(io::Error::other)?;
    let (mut bytes, mut first, mut last) = (0, None, Instant::now());
    loop {
        let mut chunks = buffer.chunks_mut(1 << 16);
        let mut pieces: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let count = match state.recv(UdpSockRef::from(&socket), &mut pieces, &mut metas) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&socket, PollFlags::IN)], None)?;
                continue;
            }
            count => count?,
        };
        let now = Instant::now();
        for meta in &metas[..count] {
            if meta.len == 1 {
                let seconds = first.map_or(0.0, |first| last.duration_since(first).as_secs_f64());
                return Ok((bytes, seconds));
            }
            if first.is_some() {
                bytes += meta.len as u64;
            }
            last = now;
        }
        first.get_or_insert(now);
    }
}

fn socket(side: Side) -> io::Result<(UdpSocket, UdpSocketState)> {
    let socket = UdpSocket::bind(address(side))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER)?;
    state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER)?;
    Ok((socket, state))
}
