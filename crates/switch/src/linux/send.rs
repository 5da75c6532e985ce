//! Frames to the kernel.

use super::device::Device;
use super::error::Error;
use super::sys;
use crate::fabric::{Fabric, Outgoing};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// How many frames one system call sends at most.
pub(super) const BATCH: usize = 32;
/// Bytes that the kernel may hold for the socket.
const BUFFER: c_int = 1 << 26;

/// The sending socket.
#[derive(Debug)]
pub(super) struct Sender {
    socket: OwnedFd,
    /// By interface.
    addresses: Vec<libc::sockaddr_ll>,
}

impl Sender {
    /// Frames go past the devices' queueing disciplines.
    pub fn open(devices: &[Device]) -> Result<Self, Error> {
        let socket =
            sys::packet_socket().map_err(|why| Error::of("opening a packet socket", why))?;
        let set = |level, name, value: c_int, what: &str| {
            sys::set_option(socket.as_fd(), level, name, &value).map_err(|why| Error::of(what, why))
        };
        set(
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            1,
            "sending past queueing disciplines",
        )?;
        set(
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            BUFFER,
            "enlarging the send buffer",
        )?;
        let addresses = devices
            .iter()
            .map(|device| sys::packet_address(device.number, 0))
            .collect();
        Ok(Self { socket, addresses })
    }

    /// Sends the frames, at most [`BATCH`], and counts those that the kernel does not take. The error is for interface
    /// that is no more, by its index.
    pub fn send(&self, fabric: &mut Fabric, frames: &[Outgoing]) -> Result<(), usize> {
        let mut done = 0;
        while done < frames.len() {
            let mut batch = [(&[][..], self.addresses[0]); BATCH];
            let rest = &frames[done..];
            for (place, outgoing) in batch.iter_mut().zip(rest) {
                *place = (fabric.bytes(outgoing), self.addresses[outgoing.interface]);
            }
            match sys::send_frames(self.socket.as_fd(), &batch[..rest.len().min(BATCH)]) {
                Ok(sent) => done += sent.max(1),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => {
                    let interface = frames[done].interface;
                    if matches!(why.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) {
                        return Err(interface);
                    }
                    fabric.count_unsent(interface);
                    done += 1;
                }
            }
        }
        Ok(())
    }
}
