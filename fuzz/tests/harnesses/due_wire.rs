//! Datagrams of `due`. An accepted datagram encodes to the same bytes, also after its checksum was corrected.

use duetime_proto::due::wire::{decode, encode};

pub fn check(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    if sealed.len() >= 8 {
        sealed[..2].copy_from_slice(&[0xde, 1]);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&sealed[..4]), &sealed[8..]);
        sealed[4..8].copy_from_slice(&crc.to_be_bytes());
    }
    for datagram in [bytes, &sealed] {
        if let Ok(decoded) = decode(datagram) {
            let mut written = Vec::new();
            let length = encode(&decoded, &mut written);
            assert_eq!((&written[..], length), (datagram, datagram.len()));
        }
    }
}
