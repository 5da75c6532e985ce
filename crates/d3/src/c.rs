//! The C interface: `include/duetime_d3.h` declares it, `man/duetime_d3.3` documents it.
//!
//! Every function returns NULL or -1 when it fails, and leaves why for [`d3_error`] and [`d3_message`], per thread. A
//! pointer that a function gives out is valid until the call that closes it; NULL is an error everywhere.

#![expect(unsafe_code, reason = "pointers from C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the module says what holds for all"
)]

use crate::{Endpoint, Flow, Listener, Options, Rate, Stream, StreamError, stream_error};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{self, Read, Write};
use std::ptr;
use std::time::Duration;

/// An endpoint, and its listener if it accepts.
#[derive(Debug)]
pub struct Socket {
    endpoint: Endpoint,
    listener: Option<Listener>,
}

/// What has happened to a stream, as C has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct D3Statistics {
    /// The rate granted for the present round trip, in bits per second.
    pub granted_bps: u64,
    /// Requests sent.
    pub requests: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Bytes that the peer has acknowledged.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// 1 if more was sent than announced: the flow has no deadline any more.
    pub exceeded: c_int,
}

/// No error has happened in this thread.
const NONE: c_int = 0;
/// An error of the system, or an argument that makes no sense: the message says which.
const SYSTEM: c_int = 1;

thread_local! {
    static ERROR: Cell<c_int> = const { Cell::new(NONE) };
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// An endpoint on `address`, such as `"0.0.0.0:7000"`, on an interface of `bits_per_second`. With a backlog above zero it
/// accepts streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket(
    address: *const c_char,
    bits_per_second: u64,
    backlog: c_int,
) -> *mut Socket {
    // SAFETY: the caller gives a string of C.
    unsafe { d3_socket_slowest(address, bits_per_second, bits_per_second, backlog) }
}

/// The same in a network whose slowest link has another rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket_slowest(
    address: *const c_char,
    bits_per_second: u64,
    slowest_bits_per_second: u64,
    backlog: c_int,
) -> *mut Socket {
    pointer(|| {
        // SAFETY: the caller gives a string of C.
        let address = unsafe { text(address) }?;
        let [uplink, slowest] = [bits_per_second, slowest_bits_per_second].map(Rate::from_bps);
        let endpoint = Endpoint::bind(address, Options::new(uplink).slowest_link(slowest))?;
        let listener = usize::try_from(backlog).ok().filter(|backlog| *backlog > 0);
        Ok(Socket {
            listener: listener.map(|backlog| endpoint.listen(backlog)),
            endpoint,
        })
    })
}

/// The port of the endpoint, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_port(socket: *const Socket) -> c_int {
    number(|| {
        // SAFETY: the caller's pointer is one of `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        Ok(c_int::from(socket.endpoint.local_addr()?.port()))
    })
}

/// Opens a stream for a flow of `bytes` that should be delivered within `deadline_us` microseconds; 0: no deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_connect(
    socket: *const Socket,
    address: *const c_char,
    bytes: u64,
    deadline_us: u64,
) -> *mut Stream {
    pointer(|| {
        // SAFETY: the caller's pointer is one of `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        // SAFETY: the caller gives a string of C.
        let address = unsafe { text(address) }?;
        socket.endpoint.connect(address, flow(bytes, deadline_us))
    })
}

/// Waits for the next stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_accept(socket: *const Socket) -> *mut Stream {
    pointer(|| {
        // SAFETY: the caller's pointer is one of `d3_socket`.
        let socket = unsafe { socket.as_ref() }.ok_or_else(null)?;
        let deaf = || io::Error::new(io::ErrorKind::InvalidInput, "the socket has no backlog");
        Ok(socket.listener.as_ref().ok_or_else(deaf)?.accept()?.0)
    })
}

/// Announces the flow out of an accepted stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_open(stream: *const Stream, bytes: u64, deadline_us: u64) -> c_int {
    number(|| {
        // SAFETY: the caller's pointer is one of `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.open(flow(bytes, deadline_us)).map(|()| 0)
    })
}

/// Submits all of `length` bytes, and returns `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_send(
    stream: *const Stream,
    data: *const c_void,
    length: usize,
) -> isize {
    size(|| {
        // SAFETY: the caller's pointer is one of `d3_connect` or `d3_accept`.
        let mut stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        if length == 0 {
            return Ok(0);
        }
        if data.is_null() || isize::try_from(length).is_err() {
            return Err(null());
        }
        // SAFETY: the caller has so many bytes there, and changes none during the call.
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        stream.write_all(data)?;
        Ok(length)
    })
}

/// Waits for bytes, and returns how many came, up to `length`; 0 at the end of the peer's flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_recv(stream: *const Stream, data: *mut c_void, length: usize) -> isize {
    size(|| {
        // SAFETY: the caller's pointer is one of `d3_connect` or `d3_accept`.
        let mut stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        if data.is_null() || isize::try_from(length).is_err() {
            return Err(null());
        }
        // SAFETY: the caller's memory there is of `length` bytes, and nobody else uses it during the call. It may hold
        // anything; every value is a byte.
        let data = unsafe {
            ptr::write_bytes(data.cast::<u8>(), 0, length);
            std::slice::from_raw_parts_mut(data.cast::<u8>(), length)
        };
        stream.read(data)
    })
}

/// Ends the flow out after what has been sent; the stream can still be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_finish(stream: *const Stream) -> c_int {
    number(|| {
        // SAFETY: the caller's pointer is one of `d3_connect` or `d3_accept`.
        let stream = unsafe { stream.as_ref() }.ok_or_else(null)?;
        stream.finish().map(|()| 0)
    })
}

/// Ends the flow out, waits until the peer has all of it, and frees the stream, whatever it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_close(stream: *mut Stream) -> c_int {
    number(|| {
        if stream.is_null() {
            return Err(null());
        }
        // SAFETY: the pointer is one of `d3_connect` or `d3_accept`, and is not used again.
        let stream = unsafe { Box::from_raw(stream) };
        stream.close().map(|()| 0)
    })
}

/// Fills in what has happened to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_statistics(stream: *const Stream, out: *mut D3Statistics) -> c_int {
    number(|| {
        // SAFETY: the caller's pointer is one of `d3_connect` or `d3_accept`.
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
        // SAFETY: the caller's memory there is of one.
        unsafe { out.write(filled) };
        Ok(0)
    })
}

/// Frees an endpoint. Its streams live on; it ends when they are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn d3_socket_close(socket: *mut Socket) {
    if !socket.is_null() {
        // SAFETY: the pointer is one of `d3_socket`, and is not used again.
        drop(unsafe { Box::from_raw(socket) });
    }
}

/// Why the last call of this thread that failed did: one of the codes of the header.
#[unsafe(no_mangle)]
pub extern "C" fn d3_error() -> c_int {
    ERROR.get()
}

/// The same in words, until the next call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn d3_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

fn flow(bytes: u64, deadline_us: u64) -> Flow {
    Flow {
        bytes,
        deadline: (deadline_us > 0).then(|| Duration::from_micros(deadline_us)),
    }
}

fn null() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a pointer is NULL")
}

unsafe fn text<'a>(pointer: *const c_char) -> io::Result<&'a str> {
    if pointer.is_null() {
        return Err(null());
    }
    // SAFETY: the caller gives a string of C, which lives as long as the call.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the address is not UTF-8"))
}

fn pointer<T>(call: impl FnOnce() -> io::Result<T>) -> *mut T {
    call().map_or_else(
        |error| {
            keep(&error);
            ptr::null_mut()
        },
        |made| Box::into_raw(Box::new(made)),
    )
}

fn number(call: impl FnOnce() -> io::Result<c_int>) -> c_int {
    call().unwrap_or_else(|error| {
        keep(&error);
        -1
    })
}

fn size(call: impl FnOnce() -> io::Result<usize>) -> isize {
    let answer = call().and_then(|size| isize::try_from(size).map_err(io::Error::other));
    answer.unwrap_or_else(|error| {
        keep(&error);
        -1
    })
}

fn keep(error: &io::Error) {
    ERROR.set(match stream_error(error) {
        None | Some(StreamError::Blocked | StreamError::NoStream) => SYSTEM,
        Some(StreamError::Quenched) => 2,
        Some(StreamError::GivenUp) => 3,
        Some(StreamError::Refused) => 4,
        Some(StreamError::Reset) => 5,
        Some(StreamError::TimedOut) => 6,
        Some(StreamError::Version(_)) => 7,
        Some(StreamError::TooMany) => 8,
        Some(StreamError::Finished) => 9,
        Some(StreamError::AlreadyOpen) => 10,
        Some(StreamError::Aborted) => 11,
        Some(StreamError::TooLong) => 12,
    });
    let message = CString::new(error.to_string()).unwrap_or_default();
    MESSAGE.set(message);
}
