//! Exports of the wasm32 module. A caller allocates a buffer with [`request`], writes a request to it as UTF-8, invokes
//! [`call`], and reads the returned number of bytes at [`response`] before the next call.
//!
//! The module has no imports. A panic traps; its message is then at `response`, with the length [`fault`].

#![expect(
    unsafe_code,
    reason = "only `no_mangle`: no other crate of the module exports these names. There is no unsafe block: the caller \
              writes to memory without references between two calls"
)]

use crate::Page;
use std::cell::RefCell;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RESPONSE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Allocates a buffer for a request of `bytes` bytes and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn request(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes.min(crate::limits::MAX_REQUEST_BYTES), 0);
        request.as_mut_ptr()
    })
}

/// Handles the request and returns the length of the response in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        RESPONSE.with(|response| {
            if let Ok(mut response) = response.try_borrow_mut() {
                *response = panic.to_string();
            }
        });
    }));
    // A trap without a message must not leave an earlier response.
    RESPONSE.with_borrow_mut(String::clear);
    let request = REQUEST.with_borrow_mut(std::mem::take);
    let answer = PAGE.with_borrow_mut(|page| page.call(&String::from_utf8_lossy(&request)));
    RESPONSE.with_borrow_mut(|response| {
        *response = answer;
        response.len()
    })
}

/// Returns the address of the response.
#[unsafe(no_mangle)]
pub extern "C" fn response() -> *const u8 {
    RESPONSE.with_borrow(|response| response.as_ptr())
}

/// Returns the length of the panic's message after a trap, or 0 if there is none, for example after running out of
/// memory.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> usize {
    RESPONSE.with_borrow(String::len)
}
