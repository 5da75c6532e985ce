//! Datagrams and calls for a D3 endpoint: none upsets it, it keeps its limits, and all ends. Most datagrams are given a
//! right checksum and identifiers that the endpoint has sent, so that they get past the first checks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/d3_endpoint/hostile.rs"]
mod hostile;

fuzz_target!(|bytes: &[u8]| {
    hostile::play(bytes);
});
