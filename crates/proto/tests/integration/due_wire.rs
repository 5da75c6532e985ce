//! Datagrams of `due`: the bytes of docs/due-wire.md, and refusal of all others.

use duetime_core::Span;
use duetime_proto::due::wire::{
    ANNOUNCEMENT_BYTES, Announced, Body, Datagram, DatagramError, Layout, MAX_TIME_LEFT, MIN_AREA,
    Reason, decode, encode, encode_padded,
};
use std::net::SocketAddr;

const IDENTITY: u64 = 0x0102_0304_0506_0708;
const NUMBER: u32 = 0x1122_3344;
const TOKEN: u64 = 0xa1a2_a3a4_a5a6_a7a8;

fn datagram(body: Body<'_>) -> Datagram<'_> {
    let has_token = !matches!(body, Body::Resend { .. } | Body::Reset(_));
    Datagram {
        identity: IDENTITY,
        number: NUMBER,
        token: if has_token { TOKEN } else { 0 },
        body,
    }
}

fn encoded(body: Body<'_>) -> Vec<u8> {
    let mut bytes = vec![0xff];
    let length = encode(&datagram(body), &mut bytes);
    assert_eq!(length, bytes.len() - 1, "appended");
    bytes.split_off(1)
}

/// Returns the bytes of hexadecimal digits, without spaces.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| *digit != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

const ANNOUNCED: Announced = Announced {
    bytes: 0x2_0000,
    left: Some(Span::from_us(1_000)),
    query: Some(0x5eed),
    is_request: false,
};
const PLAIN: Announced = Announced {
    bytes: 3,
    left: None,
    query: None,
    is_request: true,
};

/// Datagrams with their first four bytes and the bytes from offset 20 on.
fn table() -> Vec<(Body<'static>, &'static str, &'static str)> {
    const WITH_TOKEN: &str = "00000000 a1a2a3a4a5a6a7a8";
    vec![
        (
            Body::First {
                announcement: ANNOUNCED,
                payload: &[7, 8],
            },
            "de010003",
            "00000000 a1a2a3a4a5a6a7a8 0000000000020000 00000000000f4240 0000000000005eed 0708",
        ),
        (
            Body::First {
                announcement: PLAIN,
                payload: &[7, 8, 9],
            },
            "de010004",
            "00000000 a1a2a3a4a5a6a7a8 0000000000000003 0000000000000000 0000000000000000 070809",
        ),
        (
            Body::Data {
                packet: 258,
                payload: &[7],
            },
            "de010000",
            "00000102 a1a2a3a4a5a6a7a8 07",
        ),
        (Body::Abort, "de010100", WITH_TOKEN),
        (
            Body::Grant {
                up_to: 258,
                is_background: false,
            },
            "de010200",
            "00000102 a1a2a3a4a5a6a7a8",
        ),
        (
            Body::Grant {
                up_to: 258,
                is_background: true,
            },
            "de010201",
            "00000102 a1a2a3a4a5a6a7a8",
        ),
        (
            Body::Resend { from: 3, to: 258 },
            "de010300",
            "00000003 00000102 00000000",
        ),
        (Body::Done, "de010400", WITH_TOKEN),
        (Body::Challenge, "de010500", WITH_TOKEN),
        (
            Body::Reset(Reason::Unknown),
            "de010600",
            "00000000 0000000000000000",
        ),
        (
            Body::Reset(Reason::Refused),
            "de010600",
            "00000001 0000000000000000",
        ),
        (
            Body::Reset(Reason::TooLong),
            "de010600",
            "00000002 0000000000000000",
        ),
        (
            Body::Reset(Reason::NoMemory),
            "de010600",
            "00000003 0000000000000000",
        ),
    ]
}

#[test]
fn datagrams_match_the_table() {
    for (body, start, end) in table() {
        let bytes = encoded(body);
        assert_eq!(bytes[..4], hex(start), "{body:?}");
        assert_eq!(bytes[8..20], hex("0102030405060708 11223344"), "{body:?}");
        assert_eq!(bytes[20..], hex(end), "{body:?}");
        let crc = crc32c::crc32c(&[&bytes[..4], &bytes[8..]].concat());
        assert_eq!(bytes[4..8], crc.to_be_bytes(), "{body:?}");
        assert_eq!(decode(&bytes), Ok(datagram(body)));
    }
}

#[test]
fn truncated_and_damaged_datagrams_are_refused() {
    for (body, _, _) in table() {
        let bytes = encoded(body);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode(&longer).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = decode(&damaged).unwrap_err();
            let expected = match bit / 8 {
                0 => DatagramError::NotDue,
                1 => DatagramError::Version(damaged[1]),
                _ => DatagramError::Checksum,
            };
            assert_eq!(error, expected, "{body:?}, bit {bit}");
        }
    }
}

/// Sets bytes of a datagram and corrects its checksum.
fn with(body: Body<'_>, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = encoded(body);
    datagram[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = crc32c::crc32c(&[&datagram[..4], &datagram[8..]].concat());
    datagram[4..8].copy_from_slice(&crc.to_be_bytes());
    datagram
}

#[test]
fn fields_out_of_range_are_refused() {
    let data = Body::Data {
        packet: 1,
        payload: &[],
    };
    let resend = Body::Resend { from: 3, to: 4 };
    let grant = Body::Grant {
        up_to: 1,
        is_background: false,
    };
    let first = |announcement| Body::First {
        announcement,
        payload: &[1, 2, 3],
    };
    let too_late = (MAX_TIME_LEFT.as_ns() + 1).to_be_bytes();
    let invalid = [
        with(data, 2, &[7]),
        with(data, 3, &[1]),
        with(data, 8, &[0; 8]),
        with(data, 20, &[0; 4]),
        with(grant, 3, &[2]),
        with(Body::Done, 20, &[0, 0, 0, 1]),
        with(Body::Challenge, 24, &[0; 8]),
        with(Body::Abort, 3, &[1]),
        with(resend, 24, &[0, 0, 0, 3]),
        with(resend, 28, &[0, 0, 0, 1]),
        with(Body::Reset(Reason::Unknown), 20, &[0, 0, 0, 4]),
        with(Body::Reset(Reason::Unknown), 31, &[1]),
        with(first(PLAIN), 3, &[8]),
        with(first(PLAIN), 47, &[1]),
        with(first(PLAIN), 55, &[1]),
        with(first(ANNOUNCED), 40, &too_late),
    ];
    for bytes in invalid {
        assert_eq!(decode(&bytes), Err(DatagramError::BadField), "{bytes:?}");
    }
    for error in [
        DatagramError::BadField,
        DatagramError::NotDue,
        DatagramError::Version(2),
        DatagramError::Checksum,
    ] {
        assert!(!error.to_string().is_empty());
    }
}

fn addresses() -> [SocketAddr; 2] {
    [
        "10.0.0.1:7".parse().unwrap(),
        "[fd00::1]:7".parse().unwrap(),
    ]
}

#[test]
fn packets_cover_each_byte_once() {
    for (peer, area) in addresses().into_iter().zip([1_440, 1_420]) {
        let first = area - ANNOUNCEMENT_BYTES as u64;
        let sizes = [0, 1, first - 1, first, first + 1, first + area, 1_000_000];
        for bytes in sizes {
            let layout = Layout::new(bytes, 1_500, peer).unwrap();
            let packets = u32::try_from(layout.packets()).unwrap();
            assert_eq!(u64::from(layout.area()), area);
            let mut position = 0;
            for packet in 0..packets {
                let (start, length) = layout.range(packet).unwrap();
                assert_eq!(start, position);
                assert!(length > 0 || bytes == 0);
                position += length as u64;
            }
            assert_eq!(position, bytes);
            assert_eq!(layout.range(packets), None);
            // The receiver derives the same division from packet 0.
            let received = Layout::received(bytes, layout.range(0).unwrap().1).unwrap();
            assert_eq!(received.packets(), layout.packets());
            for packet in 0..packets {
                assert_eq!(received.range(packet), layout.range(packet));
            }
            let longest = layout.longest() + if peer.is_ipv4() { 28 } else { 48 };
            assert!(longest <= 1_500);
        }
    }
}

#[test]
fn last_packet_of_a_long_message_is_padded() {
    let [peer, _] = addresses();
    // Packet 0 has 1,416 bytes, the others 1,440, and the last has 1.
    let layout =
        |packets: u64| Layout::new(1_416 + (packets - 2) * 1_440 + 1, 1_500, peer).unwrap();
    let padding = |layout: Layout, packet| layout.padding(packet);
    assert_eq!(
        [0, 61, 62, 63].map(|packet| padding(layout(63), packet)),
        [0; 4]
    );
    assert_eq!(
        [0, 62, 63, 64].map(|packet| padding(layout(64), packet)),
        [0, 0, 1_439, 0]
    );
    let body = Body::Data {
        packet: 63,
        payload: &[7],
    };
    let mut bytes = Vec::new();
    assert_eq!(encode_padded(&datagram(body), 1_439, &mut bytes), 1_472);
    let Ok(Datagram {
        body: Body::Data { packet, payload },
        ..
    }) = decode(&bytes)
    else {
        panic!("{bytes:?}");
    };
    for layout in [
        layout(64),
        Layout::received(1_416 + 62 * 1_440 + 1, 1_416).unwrap(),
    ] {
        assert_eq!(
            layout.contents(packet, payload),
            Some((1_416 + 62 * 1_440, &[7][..]))
        );
        assert_eq!(
            layout.contents(packet, &payload[..1]),
            layout.contents(packet, payload)
        );
        assert_eq!(layout.contents(packet, &payload[..2]), None);
        assert_eq!(layout.contents(packet, &[]), None);
        assert_eq!(
            layout.contents(packet - 1, payload),
            Some((1_416 + 61 * 1_440, payload))
        );
        assert_eq!(layout.contents(packet - 1, &payload[..1_439]), None);
        assert_eq!(layout.contents(packet + 1, payload), None);
        assert_eq!(layout.contents(0, payload), None);
    }
    // A single packet has no padding.
    let single = Layout::new(1, 1_500, peer).unwrap();
    assert_eq!(single.contents(0, &[7]), Some((0, &[7][..])));
    assert_eq!(single.contents(0, &[7, 0]), None);
}

#[test]
fn contradictory_lengths_are_refused() {
    let least = MIN_AREA as usize - ANNOUNCEMENT_BYTES;
    assert!(Layout::received(100_000, least).is_some());
    assert_eq!(Layout::received(100_000, least - 1), None);
    assert_eq!(Layout::received(10, 11), None);
    assert_eq!(Layout::received(10, 9), None);
    assert_eq!(Layout::received(u64::MAX, 1_416), None);
    assert!(Layout::received(0, 0).is_some());
    let [peer, _] = addresses();
    assert_eq!(Layout::new(u64::MAX, 1_500, peer), None);
}
