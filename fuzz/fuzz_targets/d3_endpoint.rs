//! Datagrams and calls for a D3 endpoint. None breaks it, it respects its limits, and all streams end. Most datagrams
//! get a valid checksum and identifiers that the endpoint has sent, so that they pass the first checks.
#![no_main]
#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/integration/d3_endpoint/hostile.rs"]
mod hostile;

fuzz_target!(|bytes: &[u8]| {
    hostile::play(bytes);
});
