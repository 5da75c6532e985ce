use super::error::Error;
use super::ring::LARGEST_MTU;
use super::sys::{self, Property};
use rustix::net::netdevice::name_to_index;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Network device.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub name: String,
    /// Kernel's index of the device.
    pub number: u32,
    mtu: usize,
}

/// Bytes of an Ethernet header with two VLAN tags.
const HEADER: usize = 22;

impl Device {
    /// Finds the device and checks that the switch can use it.
    pub fn find(socket: BorrowedFd<'_>, name: &str) -> Result<Self, Error> {
        let name = name.to_owned();
        let Ok(number) = name_to_index(socket, &name) else {
            return Err(Error::NoInterface { name });
        };
        let query = |property| {
            sys::query_device(socket, &name, property)
                .map_err(|why| Error::of(format!("reading {property:?} of `{name}`"), why))
        };
        if query(Property::HardwareType)? != u32::from(libc::ARPHRD_ETHER) {
            return Err(Error::NotEthernet { name });
        }
        if query(Property::Flags)? & libc::IFF_UP.cast_unsigned() == 0 {
            return Err(Error::Down { name });
        }
        let mtu = query(Property::Mtu)? as usize;
        if mtu > LARGEST_MTU {
            return Err(Error::Mtu {
                name,
                mtu,
                allowed: LARGEST_MTU,
            });
        }
        Ok(Self { name, number, mtu })
    }

    /// Returns the longest frame that the device may carry, without FCS.
    pub fn longest_frame(&self) -> usize {
        self.mtu + HEADER
    }
}

// Values of `linux/ethtool.h`.
const SET_TX_CHECKSUM: u32 = 0x17;
const SET_SCATTER_GATHER: u32 = 0x19;
const SET_TSO: u32 = 0x1f;
const SET_GSO: u32 = 0x24;
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;

/// Disables offloads that pass packets with several segments or without checksums to a device
/// (`ethtool -K DEVICE tx off sg off tso off gso off gro off`), because a switch needs each packet as on a wire.
/// `device` is a host's device in the calling thread's network namespace. The settings are not restored.
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
            // The device does not support the offload.
            Err(why) if why.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            result => {
                let action = || format!("turning off the offloads of `{device}`");
                result.map_err(|why| Error::of(action(), why))?;
            }
        }
    }
    Ok(())
}

/// Disables GRO on the devices until dropped.
#[derive(Debug)]
pub(super) struct GroDisabled {
    socket: OwnedFd,
    /// Devices that had GRO enabled.
    names: Vec<String>,
}

impl GroDisabled {
    /// Disables GRO where it is enabled and supported.
    pub fn new(socket: OwnedFd, devices: &[Device]) -> Self {
        let is_enabled =
            |name: &str| sys::ethtool(socket.as_fd(), name, GET_GRO, 0).is_ok_and(|on| on != 0);
        let names = devices
            .iter()
            .map(|device| device.name.clone())
            .filter(|name| {
                is_enabled(name) && sys::ethtool(socket.as_fd(), name, SET_GRO, 0).is_ok()
            });
        let names = names.collect();
        Self { socket, names }
    }
}

impl Drop for GroDisabled {
    fn drop(&mut self) {
        for name in &self.names {
            // The device may have been removed.
            let _ = sys::ethtool(self.socket.as_fd(), name, SET_GRO, 1);
        }
    }
}
