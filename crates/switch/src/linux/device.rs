//! The devices behind the interfaces.

use super::error::Error;
use super::ring::LARGEST_MTU;
use super::sys::{self, Ask};
use rustix::net::netdevice::name_to_index;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A network device.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub name: String,
    /// The kernel's number.
    pub number: u32,
    mtu: usize,
}

/// An Ethernet header with two VLAN tags.
const HEADER: usize = 22;

impl Device {
    /// Finds the device and checks that it can be used.
    pub fn find(socket: BorrowedFd<'_>, name: &str) -> Result<Self, Error> {
        let name = name.to_owned();
        let Ok(number) = name_to_index(socket, &name) else {
            return Err(Error::NoInterface { name });
        };
        let ask = |ask| {
            sys::ask_device(socket, &name, ask)
                .map_err(|why| Error::of(format!("asking for {ask:?} of `{name}`"), why))
        };
        if ask(Ask::HardwareType)? != u32::from(libc::ARPHRD_ETHER) {
            return Err(Error::NotEthernet { name });
        }
        if ask(Ask::Flags)? & libc::IFF_UP.cast_unsigned() == 0 {
            return Err(Error::Down { name });
        }
        let mtu = ask(Ask::Mtu)? as usize;
        if mtu > LARGEST_MTU {
            return Err(Error::Mtu {
                name,
                mtu,
                allowed: LARGEST_MTU,
            });
        }
        Ok(Self { name, number, mtu })
    }

    /// The longest frame that the device may carry, without its checksum.
    pub fn longest_frame(&self) -> usize {
        self.mtu + HEADER
    }
}

// The numbers of `linux/ethtool.h`.
const SET_TX_CHECKSUM: u32 = 0x17;
const SET_SCATTER_GATHER: u32 = 0x19;
const SET_TSO: u32 = 0x1f;
const SET_GSO: u32 = 0x24;
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;

/// Turns off what hands packets of several segments or without checksums to a device (`ethtool -K DEVICE tx off sg off
/// tso off gso off gro off`): a switch needs each packet as it is on a wire. For the device of a host, in the calling
/// thread's network namespace; nothing turns it on again.
pub fn disable_offloads(device: &str) -> Result<(), Error> {
    let socket = sys::packet_socket().map_err(|why| Error::of("opening a packet socket", why))?;
    for command in [
        SET_TX_CHECKSUM,
        SET_SCATTER_GATHER,
        SET_TSO,
        SET_GSO,
        SET_GRO,
    ] {
        match sys::ethtool(socket.as_fd(), device, command, 0) {
            // The device has no such setting, and so nothing to turn off.
            Err(why) if why.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            result => {
                let what = || format!("turning off the offloads of `{device}`");
                result.map_err(|why| Error::of(what(), why))?;
            }
        }
    }
    Ok(())
}

/// Keeps the devices from joining packets that they receive, as a switch needs it, until it is dropped.
#[derive(Debug)]
pub(super) struct Unjoined {
    socket: OwnedFd,
    /// Those that joined packets before.
    names: Vec<String>,
}

impl Unjoined {
    /// Turns GRO off where it is on. A device that has no such setting is left as it is.
    pub fn of(socket: OwnedFd, devices: &[Device]) -> Self {
        let joins =
            |name: &str| sys::ethtool(socket.as_fd(), name, GET_GRO, 0).is_ok_and(|on| on != 0);
        let names = devices
            .iter()
            .map(|device| device.name.clone())
            .filter(|name| joins(name) && sys::ethtool(socket.as_fd(), name, SET_GRO, 0).is_ok());
        let names = names.collect();
        Self { socket, names }
    }
}

impl Drop for Unjoined {
    fn drop(&mut self) {
        for name in &self.names {
            // The device may be gone.
            let _ = sys::ethtool(self.socket.as_fd(), name, SET_GRO, 1);
        }
    }
}
