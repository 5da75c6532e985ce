//! Datagrams and calls for an endpoint of `due`. None breaks it, it respects its limits, and all messages end. Most
//! datagrams get a valid checksum and an identity that the endpoint has sent, so that they pass the first checks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/integration/due_endpoint/hostile.rs"]
mod hostile;

fuzz_target!(|bytes: &[u8]| {
    hostile::play(bytes);
});
