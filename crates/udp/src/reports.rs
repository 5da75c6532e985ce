//! Reports of the network about sent datagrams (`IP_RECVERR`, ip(7)). Without them, a socket that is not connected does
//! not learn that a peer's port is closed.

use nix::libc::sock_extended_err;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Maximum number of reports to process at once.
const MAX_REPORTS: usize = 64;

/// Makes the socket queue reports.
pub fn enable(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        setsockopt(socket, sockopt::Ipv4RecvErr, &true)?;
    } else {
        setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
    }
    Ok(())
}

/// Removes reports from the socket's queue. Returns their number, and the peers whose port is closed.
pub fn take(socket: &UdpSocket) -> (usize, Vec<SocketAddr>) {
    let mut closed = Vec::new();
    for taken in 0..MAX_REPORTS {
        let mut control = nix::cmsg_space!(sock_extended_err, SockaddrStorage);
        let mut datagram = [0; 1];
        let mut pieces = [IoSliceMut::new(&mut datagram)];
        let flags = MsgFlags::MSG_ERRQUEUE;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut pieces, Some(&mut control), flags);
        let Ok(message) = message else {
            return (taken, closed);
        };
        let refused = message.cmsgs().is_ok_and(|mut parts| {
            parts.any(|part| match part {
                ControlMessageOwned::Ipv4RecvErr(error, _)
                | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                    error.ee_errno == nix::libc::ECONNREFUSED as u32
                }
                _ => false,
            })
        });
        if refused {
            closed.extend(message.address.as_ref().and_then(address));
        }
    }
    (MAX_REPORTS, closed)
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|&address| address.into());
    let v6 = || storage.as_sockaddr_in6().map(|&address| address.into());
    v4.map(SocketAddr::V4).or_else(|| v6().map(SocketAddr::V6))
}
