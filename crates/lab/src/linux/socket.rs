//! TCP sockets with options that the standard library does not support.

use std::ffi::OsString;
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use duetime_core::Span;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrIn, bind, connect, getsockopt, listen, recvmsg, setsockopt, socket, sockopt,
};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

/// Codepoints of ECN in the type of service (RFC 3168, §5).
const ECN_BITS: u8 = 3;
const CE: u8 = 3;
const ECT_0: i32 = 2;
/// `TCP_DELACK_MAX_US`, since Linux 6.15.
const DELACK_MAX_US: libc::c_int = 46;

/// Beginning of the kernel's `struct tcp_info`, as of Linux 4.18.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Info {
    /// State, congestion state, pending retransmissions, probes, back-off, options, window scales, flags.
    bytes: [u8; 8],
    /// Fields `rto` to `fackets`.
    timers: [u32; 9],
    last: [u32; 4],
    /// Fields `pmtu` to `reordering`.
    path: [u32; 8],
    receive: [u32; 2],
    /// Retransmitted segments.
    pub total_retrans: u32,
    pacing: [u64; 2],
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    bytes_received: u64,
    segments: [u32; 6],
    delivery_rate: u64,
    busy: [u64; 3],
    /// Delivered segments.
    pub delivered: u32,
    /// Delivered segments reported as marked.
    pub delivered_ce: u32,
}

impl Info {
    /// Returns true if both ends negotiated ECN.
    pub fn has_ecn(&self) -> bool {
        const ECN: u8 = 8;
        self.bytes[5] & ECN != 0
    }
}

/// `struct tcp_info` as of Linux 6.7, with timeout counts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LongInfo {
    info: Info,
    sent: [u64; 2],
    received: [u32; 6],
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

sockopt_impl!(
    /// `TCP_INFO`.
    TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, Info);
sockopt_impl!(
    /// `TCP_INFO`.
    TcpLongInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, LongInfo);

sockopt_impl!(
    /// `TCP_DELACK_MAX_US`.
    TcpDelackMax, SetOnly, libc::IPPROTO_TCP, DELACK_MAX_US, u32);

/// Counters of a sending socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts; 0 if the kernel does not count them (before Linux 6.7).
    pub timeouts: u32,
    /// Segments reported as marked by acknowledgements.
    pub marks: u32,
    /// True if both ends negotiated ECN.
    pub ecn: bool,
}

/// Returns the counters of a sending socket. `long` is true for Linux 6.7 or newer.
pub fn counted(socket: &impl AsFd, long: bool) -> Result<Counted, Errno> {
    let (info, timeouts) = if long {
        let long = getsockopt(&socket.as_fd(), TcpLongInfo)?;
        (long.info, u32::from(long.total_rto))
    } else {
        (getsockopt(&socket.as_fd(), TcpInfo)?, 0)
    };
    Ok(Counted {
        retransmits: info.total_retrans,
        timeouts,
        marks: info.delivered_ce,
        ecn: info.has_ecn(),
    })
}

fn tcp_socket(congestion_control: &str) -> Result<OwnedFd, Errno> {
    let fd = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
        SockProtocol::Tcp,
    )?;
    setsockopt(
        &fd,
        sockopt::TcpCongestion,
        &OsString::from(congestion_control),
    )?;
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    Ok(fd)
}

/// Opens a listening socket with this congestion controller in the calling thread's namespace.
pub fn listener(address: SocketAddrV4, congestion_control: &str) -> Result<TcpListener, Errno> {
    let fd = tcp_socket(congestion_control)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    bind(
        std::os::fd::AsRawFd::as_raw_fd(&fd),
        &SockaddrIn::from(address),
    )?;
    listen(&fd, Backlog::new(4096)?)?;
    Ok(fd.into())
}

/// Starts to connect a socket with this congestion controller and strict-priority class in the calling thread's
/// namespace. The kernel's replies use the same class (`tcp_reflect_tos`).
pub fn start_connect(
    to: SocketAddrV4,
    congestion_control: &str,
    class: Option<u8>,
) -> Result<TcpStream, Errno> {
    let fd = tcp_socket(congestion_control)?;
    set_class(&fd, class)?;
    match connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrIn::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(fd.into()),
        Err(error) => Err(error),
    }
}

/// Sets the strict-priority class of a socket's packets, 0 being served first of 8; `None` leaves it unset.
pub fn set_class(socket: &impl AsFd, class: Option<u8>) -> Result<(), Errno> {
    // RFC 791: the precedence is in the upper three bits.
    class.map_or(Ok(()), |class| {
        let precedence = 7 - i32::from(class.min(7));
        setsockopt(&socket.as_fd(), sockopt::Ipv4Tos, &(precedence << 5))
    })
}

/// Makes a UDP socket send its packets ECN-capable, as ECT(0), and report the marks of received ones.
pub fn use_marks(socket: &impl AsFd) -> Result<(), Errno> {
    let tos = getsockopt(&socket.as_fd(), sockopt::Ipv4Tos)?;
    setsockopt(&socket.as_fd(), sockopt::Ipv4Tos, &(tos | ECT_0))?;
    setsockopt(&socket.as_fd(), sockopt::IpRecvTos, &true)
}

/// Receives a datagram, and returns its length, its source, and whether it is marked. Marks are reported after
/// [`use_marks`].
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<(usize, SocketAddr, bool), Errno> {
    let mut controls = nix::cmsg_space!(u8);
    let mut pieces = [IoSliceMut::new(buffer)];
    let (flags, fd) = (MsgFlags::empty(), socket.as_raw_fd());
    let message = recvmsg::<SockaddrIn>(fd, &mut pieces, Some(&mut controls), flags)?;
    let source = message.address.ok_or(Errno::EINVAL)?;
    let is_marked = message.cmsgs()?.any(
        |control| matches!(control, ControlMessageOwned::Ipv4Tos(tos) if tos & ECN_BITS == CE),
    );
    Ok((message.bytes, SocketAddrV4::from(source).into(), is_marked))
}

/// Limits the delay of acknowledgements.
pub fn limit_delayed_ack(socket: &impl AsFd, longest: Span) -> Result<(), Errno> {
    let us = u32::try_from(longest.as_ns() / 1_000).unwrap_or(u32::MAX);
    setsockopt(&socket.as_fd(), TcpDelackMax, &us)
}

/// Checks that a socket can limit the delay of its acknowledgements to `longest`.
pub fn can_limit_delayed_ack(longest: Span) -> Result<(), Errno> {
    limit_delayed_ack(&tcp_socket("reno")?, longest)
}

/// Checks that a socket can select this congestion controller.
pub fn has_congestion_control(name: &str) -> Result<(), Errno> {
    tcp_socket(name).map(drop)
}

/// Returns the address of a host.
pub fn address(host: u32) -> Ipv4Addr {
    let number = host + 1;
    Ipv4Addr::new(10, 0, (number >> 8) as u8, (number & 0xff) as u8)
}

/// Returns the host with this address, or `None`.
pub fn host(address: Ipv4Addr) -> Option<u32> {
    let [ten, _, high, low] = address.octets();
    let number = u32::from(high) << 8 | u32::from(low);
    number.checked_sub(1).filter(|_| ten == 10)
}

/// Returns true if this kernel counts retransmission timeouts (Linux 6.7 or newer).
pub fn kernel_counts_timeouts() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    version(&release) >= (6, 7)
}

/// Returns the first two numbers of a kernel release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map_while(|word| word.parse().ok());
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_map_to_hosts() {
        assert_eq!(address(0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(255), Ipv4Addr::new(10, 0, 1, 0));
        assert_eq!(host(address(255)), Some(255));
        assert_eq!(host(address(0)), Some(0));
        assert_eq!(host(Ipv4Addr::new(10, 0, 0, 0)), None);
    }

    #[test]
    fn versions_compare_numerically() {
        assert_eq!(version("6.1.0-13-amd64"), (6, 1));
        assert_eq!(version("6.18.44-fc"), (6, 18));
        assert!(version("6.18.0") >= (6, 7) && version("5.15.0") < (6, 7));
    }

    /// Offsets in the kernel's header (include/uapi/linux/tcp.h).
    #[test]
    fn tcp_info_matches_the_kernel_layout() {
        assert_eq!(std::mem::offset_of!(Info, total_retrans), 100);
        assert_eq!(std::mem::offset_of!(Info, bytes_acked), 120);
        assert_eq!(std::mem::offset_of!(Info, delivered), 192);
        assert_eq!(size_of::<Info>(), 200);
        assert_eq!(std::mem::offset_of!(LongInfo, total_rto), 240);
        assert_eq!(size_of::<LongInfo>(), 248);
    }
}
