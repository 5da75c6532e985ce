//! Datagrams of version 1: what is accepted is written back byte by byte, and a router that changes a request keeps an
//! intact datagram intact and a damaged one damaged.
#![no_main]

use duetime_proto::d3::EncodedRate;
use duetime_proto::d3::datagram::{decode, encode, route};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut routed = bytes.to_vec();
    let intact = decode(bytes).is_ok();
    if let Ok((header, payload)) = decode(bytes) {
        let mut written = Vec::new();
        encode(&header, (payload, &[]), &mut written).expect("what was read can be written");
        assert_eq!(bytes, written);
    }
    route(&mut routed, |_, request| {
        request.desired = EncodedRate::from_byte(3);
    });
    assert_eq!(decode(&routed).is_ok(), intact);
});
