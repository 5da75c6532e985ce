//! Results of functions for C: a failed call returns NULL or -1 and leaves a code and a message for its thread.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{self, ErrorKind};
use std::ptr;
use std::time::Duration;

thread_local! {
    static CODE: Cell<c_int> = const { Cell::new(0) };
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Function that returns a protocol's code of an error.
pub type CodeOf = fn(&io::Error) -> c_int;

/// Runs a call and returns its value on the heap, or NULL.
pub fn pointer<T>(code_of: CodeOf, call: impl FnOnce() -> io::Result<T>) -> *mut T {
    call().map_or_else(
        |error| {
            record(code_of, &error);
            ptr::null_mut()
        },
        |value| Box::into_raw(Box::new(value)),
    )
}

/// Runs a call and returns its value, or -1.
pub fn number(code_of: CodeOf, call: impl FnOnce() -> io::Result<c_int>) -> c_int {
    call().unwrap_or_else(|error| {
        record(code_of, &error);
        -1
    })
}

/// Runs a call and returns its value, or -1.
pub fn size(code_of: CodeOf, call: impl FnOnce() -> io::Result<usize>) -> isize {
    let result = call().and_then(|size| isize::try_from(size).map_err(io::Error::other));
    result.unwrap_or_else(|error| {
        record(code_of, &error);
        -1
    })
}

/// Returns the code of the calling thread's last failure, or 0.
pub fn code() -> c_int {
    CODE.get()
}

/// Returns a description of the calling thread's last failure, valid until the next failure in the thread.
pub fn message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Returns the error for an argument that is NULL.
pub fn null() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "a pointer is NULL")
}

/// Returns an address that the caller passed, or an error if it passed NULL.
pub fn address(text: Option<&CStr>) -> io::Result<&str> {
    let text = text.ok_or_else(null)?.to_str();
    text.map_err(|_| io::Error::new(ErrorKind::InvalidInput, "the address is not UTF-8"))
}

/// Returns a timeout in milliseconds; 0 means none.
pub fn milliseconds(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
}

fn record(code_of: CodeOf, error: &io::Error) {
    CODE.set(code_of(error));
    MESSAGE.set(CString::new(error.to_string()).unwrap_or_default());
}
