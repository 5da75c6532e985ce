//! Datagrams of version 1: what is accepted is written back byte by byte, and a router that changes a request keeps an
//! intact datagram intact and a damaged one damaged, and knows how UDP's checksum must follow.
#![no_main]

use duetime_proto::d3::datagram::{Routed, decode, encode, route};
use duetime_proto::d3::{EncodedRate, HopAnswer};
use libfuzzer_sys::fuzz_target;

/// The sum of the 16-bit words in little-endian order, as checksums of the Internet have it (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    let word = |pair: &[u8]| u64::from(pair.get(1).copied().unwrap_or(0)) << 8 | u64::from(pair[0]);
    words.map(word).sum::<u64>() % 0xffff
}

fuzz_target!(|bytes: &[u8]| {
    let mut routed = bytes.to_vec();
    let intact = decode(bytes).is_ok();
    if let Ok((header, payload)) = decode(bytes) {
        let mut written = Vec::new();
        encode(&header, (payload, &[]), &mut written).expect("what was read can be written");
        assert_eq!(bytes, written);
    }
    // The answer is drawn from the payload's end.
    let drawn = bytes.last().copied().unwrap_or_default();
    let answered = route(&mut routed, |_| {
        let mut answer = HopAnswer {
            stamp: drawn & 1 != 0,
            ..HopAnswer::default()
        };
        answer.outcome.granted = EncodedRate::from_byte(drawn);
        answer
    });
    match answered {
        Routed::Answered { words } => assert_eq!(sum(&routed), (sum(bytes) + words) % 0xffff),
        Routed::Nothing | Routed::Full => assert_eq!(routed, bytes),
    }
    assert_eq!(decode(&routed).is_ok(), intact);
});
