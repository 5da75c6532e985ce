//! Datagrams of version 1. An accepted datagram encodes to the same bytes. A router that changes a request keeps an
//! intact datagram intact and a damaged one damaged, and reports the change for the UDP checksum.

use duetime_proto::d3::wire::{Routed, decode, encode, route};
use duetime_proto::d3::{EncodedRate, HopAnswer};

/// Returns the ones' complement sum of the 16-bit words in little-endian order, as in Internet checksums (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    let word = |pair: &[u8]| u64::from(pair.get(1).copied().unwrap_or(0)) << 8 | u64::from(pair[0]);
    words.map(word).sum::<u64>() % 0xffff
}

pub fn check(bytes: &[u8]) {
    let mut routed = bytes.to_vec();
    let intact = decode(bytes).is_ok();
    if let Ok((header, payload)) = decode(bytes) {
        let mut written = Vec::new();
        encode(&header, (payload, &[]), &mut written).expect("a decoded header can be encoded");
        assert_eq!(bytes, written);
    }
    // The answer is derived from the last byte of the payload.
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
}
