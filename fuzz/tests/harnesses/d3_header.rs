//! D3's congestion header. An accepted header encodes to the same bytes.

use duetime_proto::d3::Request;

pub fn check(bytes: &[u8]) {
    let Ok(request) = Request::decode(bytes) else {
        return;
    };
    let mut written = [0; Request::WIRE_BYTES];
    request
        .encode(&mut written)
        .expect("a decoded request can be encoded");
    assert_eq!(written, bytes[..Request::WIRE_BYTES]);
}
