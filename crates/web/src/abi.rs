//! What the module exports. A caller asks for a place of so many bytes by [`request`], writes a request there as UTF-8,
//! [`call`]s, and reads as many bytes as that returns from where [`response`] says, before the next call.
//!
//! The module imports nothing. A panic traps; its message is then where `response` and [`fault`] say.

#![expect(
    unsafe_code,
    reason = "`no_mangle` alone: each name is one that no other crate of the module exports. There is no unsafe block: \
              the caller writes to memory that no reference is held to between two calls"
)]

use crate::Page;
use std::cell::RefCell;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RESPONSE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes a place for a request of `bytes` bytes, and says where it is.
#[unsafe(no_mangle)]
pub extern "C" fn request(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes.min(crate::limits::MOST_REQUEST), 0);
        request.as_mut_ptr()
    })
}

/// Answers the request; returns the bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        RESPONSE.with(|response| {
            if let Ok(mut response) = response.try_borrow_mut() {
                *response = panic.to_string();
            }
        });
    }));
    // So that what is left after a trap without a message is none of before.
    RESPONSE.with_borrow_mut(String::clear);
    let request = REQUEST.with_borrow_mut(std::mem::take);
    let answer = PAGE.with_borrow_mut(|page| page.call(&String::from_utf8_lossy(&request)));
    RESPONSE.with_borrow_mut(|response| {
        *response = answer;
        response.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn response() -> *const u8 {
    RESPONSE.with_borrow(|response| response.as_ptr())
}

/// After a trap: bytes of the panic's message; 0 where there is none, as when memory ran out.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> usize {
    RESPONSE.with_borrow(String::len)
}
