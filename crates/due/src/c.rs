//! C interface, declared in `include/duetime_due.h`, which documents it.
//!
//! A returned pointer is valid until the call that frees it. NULL arguments are errors, except for the functions that
//! free.

#![expect(unsafe_code, reason = "pointers from C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the module documentation covers all functions"
)]

use crate::{Failure, Message, Options, Rate, Received, Sending, Socket, failure, random_query};
use duetime_udp::c::{self, milliseconds, null};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Options of a socket in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DueOptions {
    /// Rate of the interface.
    pub bits_per_second: u64,
    /// Largest IP packet in bytes; 0: 1,500.
    pub mtu: u32,
    /// Path of the file of the sockets that share the link, as a C string; NULL: none. Only Linux has such files.
    pub link_file: *const c_char,
}

/// Message to send, in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DueOutgoing {
    /// Contents.
    pub data: *const c_void,
    /// Length in bytes.
    pub length: usize,
    /// Time until the deadline in microseconds; 0: none.
    pub deadline_us: u64,
    /// Query that the message belongs to; 0: none.
    pub query: u64,
    /// 1 for a request, otherwise 0.
    pub is_request: c_int,
}

/// Received message in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DueIncoming {
    /// Contents.
    pub data: *const c_void,
    /// Length in bytes.
    pub length: usize,
    /// Time until the deadline in microseconds, 0 if it has passed, -1 without a deadline.
    pub time_left_us: i64,
    /// Query that the message belongs to; 0: none.
    pub query: u64,
    /// Address of the sender, as a C string.
    pub from: [c_char; 64],
}

/// Target of the pointers that `due_receive` returns: C uses the first field, which refers to the second.
#[repr(C)]
#[derive(Debug)]
struct Kept {
    incoming: DueIncoming,
    received: Received,
}

/// Opens a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_socket(
    address: *const c_char,
    options: *const DueOptions,
) -> *mut Socket {
    pointer(|| {
        // SAFETY: the caller passes a C string.
        let address = unsafe { text(address) }?;
        // SAFETY: the caller passes a structure.
        let given = unsafe { options.as_ref() }.ok_or_else(null)?;
        let mut options = Options::new(Rate::from_bps(given.bits_per_second));
        if given.mtu > 0 {
            options.config.mtu = given.mtu;
        }
        if given.link_file.is_null() {
            return Socket::bind(address, options);
        }
        // SAFETY: the caller passes a C string.
        let link_file = unsafe { CStr::from_ptr(given.link_file) };
        let link_file = OsStr::from_bytes(link_file.to_bytes());
        Socket::bind_shared(address, options, link_file)
    })
}

/// Returns the socket's port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_port(socket: *const Socket) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(c_int::from(socket.local_addr()?.port()))
    })
}

/// Submits a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_send(
    socket: *const Socket,
    peer: *const c_char,
    message: *const DueOutgoing,
) -> *mut Sending {
    pointer(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes a C string.
        let peer = unsafe { text(peer) }?;
        // SAFETY: the caller passes a structure.
        let given = unsafe { message.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` readable bytes.
        let bytes = unsafe { bytes(given.data, given.length) }?;
        let mut message = if given.is_request != 0 {
            Message::request(bytes)
        } else {
            Message::new(bytes)
        };
        if given.deadline_us > 0 {
            message = message.within(Duration::from_micros(given.deadline_us));
        }
        if given.query > 0 {
            message = message.of_query(given.query);
        }
        socket.send(peer, message)
    })
}

/// Submits an answer to a received message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_answer(
    socket: *const Socket,
    message: *const DueIncoming,
    data: *const c_void,
    length: usize,
) -> *mut Sending {
    pointer(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        // SAFETY: the pointer comes from `due_receive`, which created a `Kept`.
        let kept = unsafe { message.cast::<Kept>().as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` readable bytes.
        let bytes = unsafe { bytes(data, length) }?;
        socket.send(kept.received.from, kept.received.answer(bytes))
    })
}

/// Waits until the peer's socket has received the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_wait(sending: *mut Sending, timeout_ms: u64) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `due_send` or `due_answer`, and no other thread uses it during the call.
        let sending = unsafe { sending.as_mut() }.ok_or_else(null)?;
        let timeout = milliseconds(timeout_ms).unwrap_or(Duration::MAX);
        if sending.wait_timeout(timeout)? {
            Ok(0)
        } else {
            Err(blocked())
        }
    })
}

/// Abandons a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_abort(sending: *mut Sending) {
    if !sending.is_null() {
        // SAFETY: the pointer comes from `due_send` or `due_answer`, and is not used again.
        unsafe { Box::from_raw(sending) }.abort();
    }
}

/// Frees a message under way, which continues.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_release(sending: *mut Sending) {
    if !sending.is_null() {
        // SAFETY: the pointer comes from `due_send` or `due_answer`, and is not used again.
        drop(unsafe { Box::from_raw(sending) });
    }
}

/// Waits for the next message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_receive(socket: *const Socket, timeout_ms: u64) -> *mut DueIncoming {
    received(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        match milliseconds(timeout_ms) {
            None => socket.receive(),
            Some(timeout) => socket.receive_timeout(timeout)?.ok_or_else(blocked),
        }
    })
}

/// Returns the next message without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_try_receive(socket: *const Socket) -> *mut DueIncoming {
    received(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        socket.try_receive()?.ok_or_else(blocked)
    })
}

/// Returns the descriptor of arrivals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_incoming_fd(socket: *const Socket) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `due_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(socket.incoming_fd()?.as_raw_fd())
    })
}

/// Frees a received message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_free(message: *mut DueIncoming) {
    if !message.is_null() {
        // SAFETY: the pointer comes from `due_receive`, which created a `Kept`, and is not used again.
        drop(unsafe { Box::from_raw(message.cast::<Kept>()) });
    }
}

/// Draws the number of a query, or returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn due_random_query() -> u64 {
    let mut query = 0;
    number(|| {
        query = random_query()?.max(1);
        Ok(0)
    });
    query
}

/// Frees a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn due_socket_close(socket: *mut Socket) {
    if !socket.is_null() {
        // SAFETY: the pointer comes from `due_socket`, and is not used again.
        drop(unsafe { Box::from_raw(socket) });
    }
}

/// Returns the code of the calling thread's last failure.
#[unsafe(no_mangle)]
pub extern "C" fn due_error() -> c_int {
    c::code()
}

/// Returns a description of the calling thread's last failure.
#[unsafe(no_mangle)]
pub extern "C" fn due_message() -> *const c_char {
    c::message()
}

/// Runs a call and returns its message on the heap, or NULL.
fn received(call: impl FnOnce() -> io::Result<Received>) -> *mut DueIncoming {
    let kept = pointer(|| {
        let received = call()?;
        Ok(Kept {
            incoming: incoming(&received),
            received,
        })
    });
    kept.cast()
}

fn blocked() -> io::Error {
    io::Error::new(ErrorKind::WouldBlock, "the time passed")
}

fn incoming(received: &Received) -> DueIncoming {
    let mut from = [0; 64];
    // A socket address has at most 58 characters.
    for (to, byte) in from
        .iter_mut()
        .zip(received.from.to_string().bytes().take(63))
    {
        *to = c_char::from_ne_bytes([byte]);
    }
    let micros = |left: Duration| i64::try_from(left.as_micros()).unwrap_or(i64::MAX);
    DueIncoming {
        data: received.bytes.as_ptr().cast(),
        length: received.bytes.len(),
        time_left_us: received.time_left.map_or(-1, micros),
        query: received.query.unwrap_or(0),
        from,
    }
}

/// Copies bytes that the caller passed.
unsafe fn bytes(data: *const c_void, length: usize) -> io::Result<Vec<u8>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(null());
    }
    // SAFETY: the caller passes `length` readable bytes and does not modify them during the call.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec())
}

/// Returns an address that the caller passed.
unsafe fn text<'a>(pointer: *const c_char) -> io::Result<&'a str> {
    // SAFETY: the caller passes NULL or a C string that outlives the call.
    c::address(unsafe { (!pointer.is_null()).then(|| CStr::from_ptr(pointer)) })
}

fn pointer<T>(call: impl FnOnce() -> io::Result<T>) -> *mut T {
    c::pointer(code_of, call)
}

fn number(call: impl FnOnce() -> io::Result<c_int>) -> c_int {
    c::number(code_of, call)
}

/// Returns the header's code of an error.
fn code_of(error: &io::Error) -> c_int {
    match failure(error) {
        None if error.kind() == ErrorKind::WouldBlock => 6,
        None => 1,
        Some(Failure::Unreachable) => 2,
        Some(Failure::Refused) => 3,
        Some(Failure::TimedOut) => 4,
        Some(Failure::TooLong) => 5,
    }
}
