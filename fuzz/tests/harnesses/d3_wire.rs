//! D3 datagrams. An accepted datagram encodes to the same bytes, and no packet breaks a receiver. The input is several
//! datagrams, each preceded by its length in one byte.

use duetime_proto::d3::{Config, Receiver, wire::capture};

pub fn check(bytes: &[u8]) {
    let config = Config::default();
    let mut receiver = Receiver::new();
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first() {
        let (datagram, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let Ok((packet, payload)) = capture::decode(datagram) else {
            continue;
        };
        let mut header = [0; capture::MAX_HEADER_BYTES];
        let written =
            capture::encode(&packet, &mut header).expect("a decoded packet can be encoded");
        assert_eq!(datagram, [&header[..written], payload].concat());
        let before = receiver.delivered();
        let delivery = receiver.input(&packet);
        assert_eq!(receiver.delivered(), before + delivery.bytes);
        while receiver.poll_transmit(&config).is_some() {}
    }
}
