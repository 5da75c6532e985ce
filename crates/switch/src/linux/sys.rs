//! System calls of packet sockets without a safe wrapper.
#![expect(unsafe_code, reason = "packet sockets have no safe wrapper")]

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Opens a non-blocking raw packet socket, which receives nothing until it is bound.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Type that consists of plain integers, such as the kernel's option structures.
///
/// # Safety
/// All byte patterns must be valid values, and padding must not matter to the kernel.
pub(crate) unsafe trait Plain {}
// SAFETY: integers.
unsafe impl Plain for c_int {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers.
unsafe impl Plain for libc::packet_mreq {}

/// Calls `setsockopt`.
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

/// Returns the packets and drops since the last call (`PACKET_STATISTICS`).
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

/// Attaches a classic BPF filter to the socket.
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

/// Returns the address of an interface, or of all interfaces (0), with a protocol in host byte order.
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

/// Sends frames, each to the interface in its address. Returns the number of frames sent, or the error of the first.
pub(crate) fn send_frames(
    socket: BorrowedFd<'_>,
    frames: &[(&[u8], libc::sockaddr_ll)],
) -> io::Result<usize> {
    const MAX: usize = super::send::BATCH;
    let count = frames.len().min(MAX);
    // SAFETY: null pointers and zero lengths are valid values of both structures.
    let (mut vectors, mut messages): ([libc::iovec; MAX], [libc::mmsghdr; MAX]) =
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

/// Property of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    Flags,
    Mtu,
    HardwareType,
}

/// Reads a property of the device `name` (`netdevice(7)`).
pub(crate) fn query_device(
    socket: BorrowedFd<'_>,
    name: &str,
    property: Property,
) -> io::Result<u32> {
    let mut request = request(name);
    let number = match property {
        Property::Flags => libc::SIOCGIFFLAGS,
        Property::Mtu => libc::SIOCGIFMTU,
        Property::HardwareType => libc::SIOCGIFHWADDR,
    };
    // SAFETY: the kernel reads and writes one `ifreq`, which is valid for both.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), number, &raw mut request) })?;
    let answer = request.ifr_ifru;
    // SAFETY: the request filled this member; every member is plain integers and the union was zeroed whole.
    Ok(unsafe {
        match property {
            Property::Flags => u32::from(answer.ifru_flags.cast_unsigned()),
            Property::Mtu => answer.ifru_mtu.cast_unsigned(),
            Property::HardwareType => u32::from(answer.ifru_hwaddr.sa_family),
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
    // SAFETY: all members of the union accept zeroes.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let longest = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(longest)) {
        *to = from.cast_signed();
    }
    request
}

/// Moves this thread to `SCHED_FIFO` with this priority, or back to the default scheduler with 0.
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
