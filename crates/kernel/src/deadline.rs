//! Deadlines of messages as a socket option, for any process. The constants equal those in `include/duetime.h`.
//!
//! ```no_run
//! use duetime_kernel::deadline::{self, Deadline};
//! use std::io::Write;
//! use std::net::TcpStream;
//! use std::os::fd::AsFd;
//! use std::time::Duration;
//!
//! let mut stream = TcpStream::connect("10.0.0.2:9000")?;
//! deadline::choose(stream.as_fd(), "duetime_d2tcp")?;
//! deadline::set(stream.as_fd(), &Deadline { bytes: 10_240, within: Duration::from_millis(35) })?;
//! stream.write_all(&[0; 10_240])?;
//! println!("{:?}", deadline::get(stream.as_fd())?);
//! # Ok::<(), std::io::Error>(())
//! ```

#![expect(unsafe_code, reason = "the option of a socket is a system call")]

use duetime_core::fixed::{Factor, Fraction};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Option level.
pub const SOL_DUETIME: i32 = 53_970;
/// Option name.
pub const DUETIME_DEADLINE: i32 = 1;
/// Maximum number of bytes of a message.
pub const MAX_BYTES: u64 = 1 << 37;
/// Maximum time until a deadline: one day.
pub const MAX_DEADLINE: Duration = Duration::from_hours(24);
/// Maximum number of announced and unacknowledged messages.
pub const MAX_MESSAGES: usize = 8;

/// Flag that forgets the announced messages.
const CLEAR: u32 = 1;

/// Next message of a socket, with its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Length of the message, from the next byte that the program writes.
    pub bytes: u64,
    /// Time from now until all of it must have arrived, in whole microseconds.
    pub within: Duration,
}

/// Kernel state of a socket's message and congestion controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Unacknowledged bytes of the first announced message; zero without a message.
    pub remaining_bytes: u64,
    /// Microseconds until its deadline; negative if it has passed, zero without a message.
    pub left_us: i64,
    /// α, the average marked fraction.
    pub alpha: Fraction,
    /// Imminence d that a mark would use now.
    pub imminence: Factor,
    /// Number of announced and unacknowledged messages.
    pub messages: u32,
    /// Packets acknowledged with a mark.
    pub marks: u32,
    /// Window reductions by marks.
    pub reductions: u32,
}

/// Announces the next message of a TCP socket.
///
/// # Errors
///
/// On error, nothing is stored. `EINVAL`: no bytes, or a listening socket. `ERANGE`: above [`MAX_BYTES`] or [`MAX_DEADLINE`].
/// `ETIME`: the deadline is now. `ENOBUFS`: [`MAX_MESSAGES`] are announced. `EOPNOTSUPP`: not a TCP socket.
/// `ENOPROTOOPT`: nothing is attached, or the socket was created outside the attached cgroup.
pub fn set(fd: BorrowedFd<'_>, deadline: &Deadline) -> io::Result<()> {
    let within = u64::try_from(deadline.within.as_micros()).unwrap_or(u64::MAX >> 1);
    option(fd, deadline.bytes, within, 0)
}

/// Forgets the announced messages of a TCP socket.
pub fn clear(fd: BorrowedFd<'_>) -> io::Result<()> {
    option(fd, 0, 0, CLEAR)
}

/// Reads the state of a TCP socket's message. Returns the same errors as [`set`]; `EOPNOTSUPP` or `ENOPROTOOPT` also if the
/// programs are attached [`write_only`](crate::Options::write_only).
pub fn get(fd: BorrowedFd<'_>) -> io::Result<Status> {
    const LENGTH: libc::socklen_t = 40;
    let mut bytes = [0_u8; LENGTH as usize];
    let mut length = LENGTH;
    // SAFETY: the kernel writes at most `length` bytes to `bytes`, which has that many, and the number to `length`.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            SOL_DUETIME,
            DUETIME_DEADLINE,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    checked(result)?;
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Ok(Status {
        remaining_bytes: long(0),
        left_us: long(8).cast_signed(),
        alpha: Fraction::from_bits(word(16)),
        messages: word(20),
        imminence: Factor::from_bits(long(24)),
        marks: word(32),
        reductions: word(36),
    })
}

/// Selects the congestion control of a TCP socket, such as `duetime_d2tcp`. Accepted sockets inherit it from their
/// listening socket. Both ends must select it before the connection is made, or ECN is not negotiated.
pub fn choose(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let length = libc::socklen_t::try_from(name.len())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel reads `length` bytes, the length of `name`.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            length,
        )
    };
    checked(result)
}

fn option(fd: BorrowedFd<'_>, length: u64, within_us: u64, flags: u32) -> io::Result<()> {
    const LENGTH: libc::socklen_t = 24;
    let mut bytes = [0_u8; LENGTH as usize];
    bytes[..8].copy_from_slice(&length.to_ne_bytes());
    bytes[8..16].copy_from_slice(&within_us.to_ne_bytes());
    bytes[16..20].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: the kernel reads the whole length of `bytes`.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            SOL_DUETIME,
            DUETIME_DEADLINE,
            bytes.as_ptr().cast(),
            LENGTH,
        )
    };
    checked(result)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
