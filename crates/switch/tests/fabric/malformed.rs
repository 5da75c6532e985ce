//! Arbitrary bytes never cause a panic, and every frame is delivered unchanged, dropped or refused.

use crate::frames::{MIN_BYTES, Packet, mac};
use crate::networks::{leaf_spine, star};
use duetime_core::{Span, Time};
use duetime_link::Limit;
use duetime_switch::{Classifier, Config, Fabric, PortChoice, Refused};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const LONGEST: usize = 1_600;

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

/// Generates valid frames with some bytes changed, removed or appended.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let packet = (
        any::<(bool, bool, u8, u8)>(),
        0..=10_u8,
        any::<Option<u16>>(),
        MIN_BYTES..1_500,
    );
    let damage = (
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        any::<prop::sample::Index>(),
        0..4_u8,
    );
    (packet, damage).prop_map(|(packet, (changes, place, how))| {
        let ((v6, tcp, dscp, ecn), options, vlan, bytes) = packet;
        let mut frame = Packet {
            dscp: dscp & 63,
            ecn: ecn & 3,
            v6,
            tcp,
            vlan,
            options: if v6 { 0 } else { options },
            ..Packet::new(0, 1, bytes, 7)
        }
        .frame();
        // Change the headers, where it matters most.
        let headers = frame.len().min(90);
        for (at, value) in changes {
            let at = at.index(headers);
            frame[at] = value;
        }
        match how {
            0 => frame.truncate(place.index(frame.len())),
            1 => frame.resize(frame.len() + place.index(300), 0),
            _ => {}
        }
        frame
    })
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => damaged(),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => proptest::collection::vec(any::<u8>(), 1_590..1_700),
    ]
}

/// Configures every port to mark from the first packet on.
fn marking(mut config: Config, classifier: Classifier) -> Config {
    for port in config.nodes.iter_mut().flat_map(|node| &mut node.ports) {
        port.mark_at = Some(Limit::Bytes(1));
        port.limit = Limit::Packets(4);
        port.classes = 3;
    }
    config.options.classifier = classifier;
    config.options.buffers = 24;
    config
}

fn pass(config: &Config, frames: &[(u8, u64, Vec<u8>)]) -> Result<(), TestCaseError> {
    let mut fabric = Fabric::new(config, LONGEST).expect("a valid network");
    let hosts = config.interfaces.len();
    let (mut now, mut offered) = (Time::ZERO, 0);
    for (from, gap, frame) in frames {
        now += Span::from_ns(*gap);
        let from = usize::from(*from) % hosts;
        offered += 1;
        match fabric.offer(now, from, frame) {
            Err(Refused::Runt) => prop_assert!(frame.len() < 14),
            Err(Refused::TooLong) => prop_assert!(frame.len() > LONGEST),
            _ => prop_assert!((14..=LONGEST).contains(&frame.len())),
        }
    }
    while fabric.next_timeout() < Time::MAX {
        let timeout = fabric.next_timeout();
        while let Some(outgoing) = fabric.poll_transmit(timeout) {
            let bytes = fabric.bytes(&outgoing);
            let original = frames.iter().find(|(_, _, frame)| same(frame, bytes));
            prop_assert!(original.is_some(), "unknown frame {bytes:x?}");
            fabric.release(outgoing);
        }
    }
    prop_assert_eq!(fabric.buffers_in_use(), 0);
    let taken: u64 = fabric
        .interfaces()
        .iter()
        .map(|interface| interface.received_packets)
        .sum();
    prop_assert_eq!(taken, offered);
    Ok(())
}

/// Returns true if at most the link-layer destination, CE and a header checksum differ.
fn same(before: &[u8], after: &[u8]) -> bool {
    let changes = (6..before.len().min(after.len())).filter(|&at| before[at] != after[at]);
    before.len() == after.len() && changes.count() <= 3
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn arbitrary_frames_cause_no_panic(
        frames in proptest::collection::vec((any::<u8>(), 0..200_000_u64, any_frame()), 1..12),
        classifier in prop_oneof![
            Just(Classifier::Precedence),
            Just(Classifier::Vlan),
            Just(Classifier::Dscp([255; 64])),
        ],
    ) {
        pass(&marking(star(3), classifier), &frames)?;
        let network = leaf_spine(2, |_| PortChoice::Hashed(vec![0, 1]));
        pass(&marking(network, classifier), &frames)?;
    }
}

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
