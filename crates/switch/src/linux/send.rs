//! Frames to the kernel.

use super::device::Device;
use super::error::Error;
use super::sys;
use crate::fabric::{Fabric, Outgoing};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Maximum number of frames per system call.
pub(super) const BATCH: usize = 32;
/// Size of the socket's send buffer, in bytes.
const BUFFER: c_int = 1 << 26;

#[derive(Debug)]
pub(super) struct Sender {
    socket: OwnedFd,
    addresses: Vec<libc::sockaddr_ll>,
}

impl Sender {
    /// Opens the socket, which bypasses the queueing disciplines of the devices.
    pub fn open(devices: &[Device]) -> Result<Self, Error> {
        let socket =
            sys::packet_socket().map_err(|why| Error::of("opening a packet socket", why))?;
        let set = |level, name, value: c_int, action: &str| {
            sys::set_option(socket.as_fd(), level, name, &value)
                .map_err(|why| Error::of(action, why))
        };
        set(
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            1,
            "bypassing queueing disciplines",
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

    /// Sends the frames and counts those that the kernel does not accept. Returns an error with the index of an
    /// interface that no longer exists.
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
