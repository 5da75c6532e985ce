//! The system calls of packet sockets that have no safe wrapper.
#![expect(unsafe_code, reason = "packet sockets have no safe wrapper")]

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Opens a raw packet socket that receives nothing until it is bound; non-blocking.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A type that consists of plain integers, as the kernel's option structures do.
///
/// # Safety
/// Any bytes are a valid value, and the type has no padding that matters to the kernel.
pub(crate) unsafe trait Plain {}
// SAFETY: integers.
unsafe impl Plain for c_int {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers.
unsafe impl Plain for libc::packet_mreq {}

/// `setsockopt`.
pub(crate) fn set_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: `value` is valid for reads of its size, and the kernel copies it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    })
    .map(drop)
}

/// `PACKET_STATISTICS`: packets and drops since the last call.
pub(crate) fn packet_statistics(socket: BorrowedFd<'_>) -> io::Result<libc::tpacket_stats> {
    // SAFETY: `Plain`.
    let mut value: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as u32;
    // SAFETY: `value` is valid for writes of `length` bytes.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            std::ptr::from_mut(&mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}

/// Attaches a classic BPF filter: only packets that it accepts are received.
pub(crate) fn attach_filter(
    socket: BorrowedFd<'_>,
    program: &mut [libc::sock_filter],
) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies `len` instructions from `filter`, which is valid for them.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as u32,
        )
    })
    .map(drop)
}

/// An address of a packet socket: an interface, or all of them (0), and a protocol in host byte order.
pub(crate) fn packet_address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: integers and arrays of them.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface.cast_signed();
    address
}

/// Binds a packet socket.
pub(crate) fn bind(socket: BorrowedFd<'_>, address: &libc::sockaddr_ll) -> io::Result<()> {
    // SAFETY: `address` is valid for reads of its size.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            std::ptr::from_ref(address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        )
    })
    .map(drop)
}

/// Sends frames, each to the interface in its address; how many were sent. An error is that of the first frame.
pub(crate) fn send_frames(
    socket: BorrowedFd<'_>,
    frames: &[(&[u8], libc::sockaddr_ll)],
) -> io::Result<usize> {
    const MOST: usize = super::send::BATCH;
    let count = frames.len().min(MOST);
    // SAFETY: null pointers and zero lengths are valid values of both structures.
    let (mut vectors, mut messages): ([libc::iovec; MOST], [libc::mmsghdr; MOST]) =
        unsafe { (zeroed(), zeroed()) };
    for (index, (bytes, address)) in frames[..count].iter().enumerate() {
        vectors[index] = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let header = &mut messages[index].msg_hdr;
        header.msg_name = std::ptr::from_ref(address).cast_mut().cast();
        header.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
    }
    // SAFETY: the first `count` messages point to addresses and bytes that live until the end of this function, and the
    // kernel only reads them.
    let sent = check(unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count as u32,
            libc::MSG_DONTWAIT,
        )
    })?;
    Ok(sent.cast_unsigned() as usize)
}

/// What an interface request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Flags,
    Mtu,
    HardwareType,
}

/// Asks for a property of the device `name` (`netdevice(7)`).
pub(crate) fn ask_device(socket: BorrowedFd<'_>, name: &str, ask: Ask) -> io::Result<u32> {
    let mut request = request(name);
    let number = match ask {
        Ask::Flags => libc::SIOCGIFFLAGS,
        Ask::Mtu => libc::SIOCGIFMTU,
        Ask::HardwareType => libc::SIOCGIFHWADDR,
    };
    // SAFETY: the kernel reads and writes one `ifreq`, which is valid for both.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), number, &raw mut request) })?;
    let answer = request.ifr_ifru;
    // SAFETY: the request filled this member; every member is plain integers and the union was zeroed whole.
    Ok(unsafe {
        match ask {
            Ask::Flags => u32::from(answer.ifru_flags.cast_unsigned()),
            Ask::Mtu => answer.ifru_mtu.cast_unsigned(),
            Ask::HardwareType => u32::from(answer.ifru_hwaddr.sa_family),
        }
    })
}

/// Runs an ethtool command that reads or writes one number.
pub(crate) fn ethtool(
    socket: BorrowedFd<'_>,
    name: &str,
    command: u32,
    value: u32,
) -> io::Result<u32> {
    let mut value = [command, value];
    let mut request = request(name);
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: `request` is valid, and its data points to the two words of the kernel's `struct ethtool_value`.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(value[1])
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: every member of the union takes zeroes.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let longest = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(longest)) {
        *to = from.cast_signed();
    }
    request
}

/// Puts this thread under `SCHED_FIFO` with this priority, or back under the usual scheduler with 0.
pub(crate) fn real_time(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    let policy = if priority > 0 {
        libc::SCHED_FIFO
    } else {
        libc::SCHED_OTHER
    };
    // SAFETY: `parameters` is valid for reads; 0 is this thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).map(drop)
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
