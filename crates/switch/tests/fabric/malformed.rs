//! Frames of invalid lengths are counted, or forwarded with a valid length. The harness `switch_frames` in `fuzz/`
//! checks arbitrary bytes.

use crate::frames::{Packet, mac};
use crate::networks::star;
use duetime_core::{Span, Time};
use duetime_switch::{Fabric, Refused};

const LONGEST: usize = 1_600;

#[test]
fn runts_and_giants_are_counted() {
    let mut fabric = Fabric::new(&star(2), LONGEST).expect("a valid network");
    let frame = Packet::new(0, 1, 1_500, 0).frame();
    assert_eq!(
        fabric.offer(Time::ZERO, 0, &frame[..13]),
        Err(Refused::Runt)
    );
    assert_eq!(fabric.offer(Time::ZERO, 0, &[]), Err(Refused::Runt));
    assert_eq!(
        fabric.offer(Time::ZERO, 0, &vec![2; LONGEST + 1]),
        Err(Refused::TooLong)
    );
    let counts = &fabric.interfaces()[0];
    assert_eq!(
        (counts.runts, counts.too_long, counts.received_packets),
        (2, 1, 3)
    );
}

#[test]
fn bare_headers_are_forwarded_with_size_zero() {
    let mut fabric = Fabric::new(&star(2), LONGEST).expect("a valid network");
    let frame = [mac(1).as_slice(), &mac(0), &[0x88, 0xb5]].concat();
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Ok(()));
    let outgoing = fabric
        .poll_transmit(Time::ZERO + Span::from_us(1))
        .expect("a due frame");
    assert_eq!(
        (fabric.bytes(&outgoing), outgoing.due),
        (&frame[..], Time::ZERO)
    );
    fabric.release(outgoing);
}

#[test]
fn wrong_ip_lengths_are_ignored() {
    for (claimed, counted) in [
        (19_u16, 300_u64),
        (u16::MAX, 300),
        (301, 300),
        (300, 300),
        (120, 120),
    ] {
        let mut fabric = Fabric::new(&star(2), LONGEST).expect("a valid network");
        let mut frame = Packet::new(0, 1, 300, 0).frame();
        frame[16..18].copy_from_slice(&claimed.to_be_bytes());
        assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Ok(()));
        assert_eq!(
            fabric.ports()[0].bytes,
            counted,
            "an IP packet that claims {claimed} bytes"
        );
    }
}
