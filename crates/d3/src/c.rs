//! C interface, declared in `include/duetime_d3.h` and documented in `man/duetime_d3.3`.
//!
//! All functions return NULL or -1 on failure and record the reason for [`d3_error`] and [`d3_message`], per thread. A
//! returned pointer is valid until the call that closes it. NULL arguments are errors.

#![expect(unsafe_code, reason = "pointers from C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the module documentation covers all functions"
)]

use crate::{Endpoint, Flow, Listener, Options, Rate, Stream, StreamError, stream_error};
use duetime_udp::c::{self, milliseconds, null};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Duration;

/// Endpoint, and its listener if it accepts streams.
#[derive(Debug)]
pub struct Socket {
    endpoint: Endpoint,
    listener: Option<Listener>,
}

impl Socket {
    fn listener(&self) -> io::Result<&Listener> {
        let no_backlog =
            || io::Error::new(io::ErrorKind::InvalidInput, "the socket has no backlog");
        self.listener.as_ref().ok_or_else(no_backlog)
    }
}

/// Statistics of a stream in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct D3Statistics {
    /// Rate granted for the current round trip, in bits per second.
    pub granted_bps: u64,
    /// Requests sent.
    pub requests: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Bytes acknowledged by the peer.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// 1 if more bytes were sent than declared, so that the flow has no deadline.
    pub exceeded: c_int,
}

/// Code of system errors and invalid arguments, described in the message.
const SYSTEM: c_int = 1;

/// Options of an endpoint in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct D3Options {
    /// Rate of the interface.
    pub bits_per_second: u64,
    /// Rate of the network's slowest link; 0: the interface's.
    pub slowest_bits_per_second: u64,
    /// Largest IP packet in bytes; 0: 1,500.
    pub mtu: u32,
    /// Number of streams that wait for [`d3_accept`]; 0: the endpoint accepts no streams.
    pub backlog: c_int,
}

/// Creates an endpoint on `address`, such as `"0.0.0.0:7000"`, on an interface of `bits_per_second`. Accepts streams if
/// `backlog` is above zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket(
    address: *const c_char,
    bits_per_second: u64,
    backlog: c_int,
) -> *mut Socket {
    let options = D3Options {
        bits_per_second,
        slowest_bits_per_second: 0,
        mtu: 0,
        backlog,
    };
    // SAFETY: the caller passes a C string.
    unsafe { d3_socket_with(address, &raw const options) }
}

/// Creates an endpoint with options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket_with(
    address: *const c_char,
    options: *const D3Options,
) -> *mut Socket {
    pointer(|| {
        // SAFETY: the caller passes a C string.
        let address = unsafe { text(address) }?;
        // SAFETY: the caller passes a structure.
        let given = unsafe { options.as_ref() }.ok_or_else(null)?;
        let slowest = match given.slowest_bits_per_second {
            0 => given.bits_per_second,
            slowest => slowest,
        };
        let [uplink, slowest] = [given.bits_per_second, slowest].map(Rate::from_bps);
        let mut options = Options::new(uplink).slowest_link(slowest);
        if given.mtu > 0 {
            options.config.wire.mtu = given.mtu;
        }
        let endpoint = Endpoint::bind(address, options)?;
        let listener = usize::try_from(given.backlog).ok();
        let listener = listener.filter(|backlog| *backlog > 0);
        Ok(Socket {
            listener: listener.map(|backlog| endpoint.listen(backlog)),
            endpoint,
        })
    })
}

/// Returns the port of the endpoint, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_port(socket: *const Socket) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(c_int::from(socket.endpoint.local_addr()?.port()))
    })
}

/// Opens a stream for a flow of `bytes` to deliver within `deadline_us` microseconds; 0 means no deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_connect(
    socket: *const Socket,
    address: *const c_char,
    bytes: u64,
    deadline_us: u64,
) -> *mut Stream {
    pointer(|| {
        // SAFETY: the pointer comes from `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes a C string.
        let address = unsafe { text(address) }?;
        socket.endpoint.connect(address, flow(bytes, deadline_us))
    })
}

/// Waits for the next stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_accept(socket: *const Socket) -> *mut Stream {
    // SAFETY: the pointer comes from `d3_socket`.
    unsafe { d3_accept_within(socket, 0) }
}

/// Waits for the next stream, at most `timeout_ms` milliseconds; 0: without limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_accept_within(socket: *const Socket, timeout_ms: u64) -> *mut Stream {
    pointer(|| {
        // SAFETY: the pointer comes from `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        let listener = socket.listener()?;
        Ok(listener.accept_within(milliseconds(timeout_ms))?.0)
    })
}

/// Returns the next stream without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_try_accept(socket: *const Socket) -> *mut Stream {
    pointer(|| {
        // SAFETY: the pointer comes from `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(socket.listener()?.try_accept()?.ok_or_else(blocked)?.0)
    })
}

/// Returns the descriptor of arrivals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_incoming_fd(socket: *const Socket) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(socket.listener()?.incoming_fd()?.as_raw_fd())
    })
}

/// Declares the outgoing flow of an accepted stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_open(stream: *const Stream, bytes: u64, deadline_us: u64) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.open(flow(bytes, deadline_us)).map(|()| 0)
    })
}

/// Limits the waits of [`d3_recv`] and [`d3_send`] on a stream, in milliseconds; 0: without limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_set_timeouts(
    stream: *const Stream,
    receive_ms: u64,
    send_ms: u64,
) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.set_read_timeout(milliseconds(receive_ms));
        stream.set_write_timeout(milliseconds(send_ms));
        Ok(0)
    })
}

/// Writes the peer's address, such as `10.0.0.2:7000`, to `out` as a C string of at most `length` bytes. Returns its
/// length without the final zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_peer(stream: *const Stream, out: *mut c_char, length: usize) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        if out.is_null() {
            return Err(null());
        }
        let address = stream.peer_addr().to_string();
        if address.len() >= length {
            let text = format!("the address has {} characters and a zero", address.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // SAFETY: the caller passes `length` writable bytes, which the address and a zero fit.
        unsafe {
            ptr::copy_nonoverlapping(address.as_ptr().cast::<c_char>(), out, address.len());
            out.add(address.len()).write(0);
        }
        c_int::try_from(address.len()).map_err(io::Error::other)
    })
}

/// Submits all `length` bytes and returns `length`, or fewer if the timeout of [`d3_set_timeouts`] passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_send(
    stream: *const Stream,
    data: *const c_void,
    length: usize,
) -> isize {
    size(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let mut stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` readable bytes and does not modify them during the call.
        let data = unsafe { outgoing(data, length) }?;
        let mut sent = 0;
        while sent < length {
            match stream.write(&data[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    })
}

/// Waits for bytes and returns their number, at most `length`, or 0 at the end of the peer's flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_recv(stream: *const Stream, data: *mut c_void, length: usize) -> isize {
    size(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let mut stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` writable bytes and does not use them during the call.
        stream.read(unsafe { incoming(data, length) }?)
    })
}

/// Submits the bytes that the buffer has space for, without waiting, and returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_try_send(
    stream: *const Stream,
    data: *const c_void,
    length: usize,
) -> isize {
    size(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` readable bytes and does not modify them during the call.
        let data = unsafe { outgoing(data, length) }?;
        stream.try_write(data)?.ok_or_else(blocked)
    })
}

/// Returns the number of bytes that have arrived, at most `length`, without waiting, or 0 at the end of the peer's flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_try_recv(
    stream: *const Stream,
    data: *mut c_void,
    length: usize,
) -> isize {
    size(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller passes `length` writable bytes and does not use them during the call.
        let read = stream.try_read(unsafe { incoming(data, length) }?)?;
        read.ok_or_else(blocked)
    })
}

/// Returns the descriptor of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_changed_fd(stream: *const Stream) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        Ok(stream.changed_fd()?.as_raw_fd())
    })
}

/// Ends the outgoing flow after the sent data. The stream can still be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_finish(stream: *const Stream) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.finish().map(|()| 0)
    })
}

/// Aborts the outgoing flow: unsent bytes are dropped, and the peer gets an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_abort(stream: *const Stream) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.abort().map(|()| 0)
    })
}

/// Ends the outgoing flow, waits until the peer has received it, and always frees the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_close(stream: *mut Stream) -> c_int {
    number(|| {
        if stream.is_null() {
            return Err(null());
        }
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`, and is not used again.
        let stream = unsafe { Box::from_raw(stream) };
        stream.close().map(|()| 0)
    })
}

/// Writes the statistics of a stream to `out`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_statistics(stream: *const Stream, out: *mut D3Statistics) -> c_int {
    number(|| {
        // SAFETY: the pointer comes from `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        let statistics = stream.statistics();
        let filled = D3Statistics {
            granted_bps: statistics.granted.as_bps(),
            requests: u64::from(statistics.counters.requests),
            retransmissions: u64::from(statistics.counters.retransmits),
            acked: statistics.acked,
            received: statistics.received,
            exceeded: c_int::from(statistics.exceeded),
        };
        if out.is_null() {
            return Err(null());
        }
        // SAFETY: the caller passes writable memory for one structure.
        unsafe { out.write(filled) };
        Ok(0)
    })
}

/// Frees an endpoint. It ends when its streams are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket_close(socket: *mut Socket) {
    if !socket.is_null() {
        // SAFETY: the pointer comes from `d3_socket`, and is not used again.
        drop(unsafe { Box::from_raw(socket) });
    }
}

/// Returns the code of the calling thread's last failure, as in the header.
#[unsafe(no_mangle)]
pub extern "C" fn d3_error() -> c_int {
    c::code()
}

/// Returns a description of the calling thread's last failure, valid until the next failure in the thread.
#[unsafe(no_mangle)]
pub extern "C" fn d3_message() -> *const c_char {
    c::message()
}

fn flow(bytes: u64, deadline_us: u64) -> Flow {
    Flow::new(
        bytes,
        (deadline_us > 0).then(|| Duration::from_micros(deadline_us)),
    )
}

fn blocked() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "the call would wait")
}

/// Returns the bytes that the caller passes.
unsafe fn outgoing<'a>(data: *const c_void, length: usize) -> io::Result<&'a [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(null());
    }
    // SAFETY: the caller passes `length` readable bytes and does not modify them while the result is used.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) })
}

/// Returns the memory that the caller passes.
unsafe fn incoming<'a>(data: *mut c_void, length: usize) -> io::Result<&'a mut [u8]> {
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(null());
    }
    // SAFETY: the caller passes `length` writable bytes and does not use them while the result is used. They may be
    // uninitialised, so they are zeroed first.
    unsafe {
        ptr::write_bytes(data.cast::<u8>(), 0, length);
        Ok(std::slice::from_raw_parts_mut(data.cast::<u8>(), length))
    }
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

fn size(call: impl FnOnce() -> io::Result<usize>) -> isize {
    c::size(code_of, call)
}

/// Returns the header's code of an error.
fn code_of(error: &io::Error) -> c_int {
    match stream_error(error) {
        None if error.kind() == io::ErrorKind::WouldBlock => 13,
        Some(StreamError::Blocked) => 13,
        None | Some(StreamError::NoStream) => SYSTEM,
        Some(StreamError::Quenched) => 2,
        Some(StreamError::PeerAborted) => 3,
        Some(StreamError::Refused) => 4,
        Some(StreamError::Reset) => 5,
        Some(StreamError::TimedOut) => 6,
        Some(StreamError::Version(_)) => 7,
        Some(StreamError::TooMany) => 8,
        Some(StreamError::Finished) => 9,
        Some(StreamError::AlreadyOpen) => 10,
        Some(StreamError::Aborted) => 11,
        Some(StreamError::TooLong) => 12,
    }
}
