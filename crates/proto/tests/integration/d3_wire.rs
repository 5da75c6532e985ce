//! The codecs decode what they encode, and no packet makes a state machine panic. The harnesses in `fuzz/` decode
//! arbitrary bytes.

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::wire::{self, Header, Kind, Routed, capture};
use duetime_proto::d3::{
    Allocator, Config, EncodedRate, Flags, MAX_HOPS, Packet, Receiver, Request, Rounding, Sender,
    Tag,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

fn rates() -> impl Strategy<Value = [EncodedRate; MAX_HOPS]> {
    any::<[u8; MAX_HOPS]>().prop_map(|bytes| bytes.map(EncodedRate::from_byte))
}

prop_compose! {
    fn request()(
        desired in any::<u8>(),
        index in 0_u8..=6,
        scale in -16_i8..16,
        allocations in rates(),
        previous_desired in any::<u8>(),
        previous_allocations in rates(),
        feedback in rates(),
        stamps in 0_u8..64,
        pace in 0_u8..4,
    ) -> Request {
        Request {
            desired: EncodedRate::from_byte(desired),
            index,
            scale,
            allocations,
            previous_desired: EncodedRate::from_byte(previous_desired),
            previous_allocations,
            feedback,
            stamps,
            pace,
        }
    }
}

prop_compose! {
    fn packet()(
        seq in prop_oneof![any::<u64>(), 0_u64..10_000],
        len in 0_u32..2_000,
        flags in 0_u16..128,
        number in any::<u16>(),
        echo in prop_oneof![any::<u16>(), 0_u16..5],
        hops in 0_u8..=6,
        stamps in 0_u8..64,
        request in prop::option::of(request()),
    ) -> Packet {
        let tag = if request.is_some() { Tag { number, echo, hops, stamps } } else { Tag::default() };
        Packet { seq, len, flags: Flags(flags), tag, request }
    }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn datagrams_v1_round_trip(
        packet in packet(), identifiers in any::<[u64; 2]>(), window in any::<u32>(), cut in any::<usize>(),
    ) {
        let window = if packet.flags.contains(Flags::ACK) { window } else { 0 };
        let [destination, source] = identifiers;
        let header = Header { kind: Kind::Packet, destination, source, window, packet };
        let payload: Vec<u8> = (0..packet.len).map(|i| i as u8).collect();
        let (first, second) = payload.split_at(cut % (payload.len() + 1));
        let mut bytes = vec![1, 2, 3];
        let length = wire::encode(&header, (first, second), &mut bytes).unwrap();
        prop_assert_eq!(length, bytes.len() - 3);
        prop_assert_eq!(wire::decode(&bytes[3..]), Ok((header, &payload[..])));
        prop_assert!(wire::decode(&bytes[3..3 + cut % length]).is_err());
        let config = Config::default().with(|c| c.wire.header_bytes = wire::UDP_IPV4_BYTES);
        prop_assert_eq!(packet.wire_bytes(&config) as usize, length + 28);
    }

    /// Passes random requests through one port, in memory and in the bytes of their datagrams.
    #[test]
    fn routing_datagrams_matches_memory(
        packets in prop::collection::vec(packet(), 1..40), scale in -2_i8..3, repair in any::<bool>(),
    ) {
        let config = Config::default().with(|c| {
            c.wire.scale = Some(scale);
            c.router.repair = repair;
        });
        let mut memory = Allocator::new(&config, Rate::from_gbps(1));
        let mut in_bytes = memory.clone();
        for mut packet in packets {
            packet.len = 0;
            if let Some(request) = &mut packet.request {
                request.scale = request.scale.rem_euclid(3) - 1;
            }
            let mut header = Header { kind: Kind::Packet, destination: 1, source: 2, window: 0, packet };
            let mut bytes = Vec::new();
            wire::encode(&header, (&[], &[]), &mut bytes).unwrap();
            let words = |bytes: &[u8]| -> u64 {
                bytes.chunks(2).map(|pair| u64::from(pair[1]) << 8 | u64::from(pair[0])).sum()
            };
            let before = words(&bytes);
            let routed = wire::route(&mut bytes, |request| in_bytes.answer(&config, request));
            let expected = header.packet.request.as_mut().map(|request| {
                let full = usize::from(request.index) == MAX_HOPS;
                memory.process(&config, packet.flags, request);
                full
            });
            match routed {
                Routed::Nothing => prop_assert_eq!(expected, None),
                Routed::Full => prop_assert_eq!(expected, Some(true)),
                Routed::Answered { words: change } => {
                    prop_assert_eq!(expected, Some(false));
                    prop_assert!((1..1 << 36).contains(&change));
                    prop_assert_eq!((before + change) % 0xffff, words(&bytes) % 0xffff);
                }
            }
            prop_assert_eq!(wire::decode(&bytes), Ok((header, &[][..])));
            let counters = |port: &Allocator| (port.flows(), port.demand(), port.allocated(), port.epoch_parity());
            prop_assert_eq!(counters(&in_bytes), counters(&memory));
        }
    }

    #[test]
    fn requests_round_trip(request in request()) {
        let mut bytes = [0; Request::WIRE_BYTES];
        request.encode(&mut bytes).unwrap();
        prop_assert_eq!(Request::decode(&bytes), Ok(request));
    }

    #[test]
    fn datagrams_v0_round_trip(packet in packet()) {
        let mut header = [0; capture::MAX_HEADER_BYTES];
        let length = capture::encode(&packet, &mut header).unwrap();
        prop_assert_eq!(length as u32 + 20 + packet.len, packet.wire_bytes(&Config::default()));
        let mut datagram = header[..length].to_vec();
        datagram.extend((0..packet.len).map(|i| i as u8));
        let (decoded, payload) = capture::decode(&datagram).unwrap();
        prop_assert_eq!(decoded, packet);
        prop_assert_eq!(payload, &datagram[length..]);
        for cut in 0..datagram.len() {
            prop_assert!(capture::decode(&datagram[..cut]).is_err());
        }
    }

    /// A datagram with its 28 B of IP and UDP headers fits the MTU, and a full one fills it.
    #[test]
    fn udp_datagrams_fit_the_mtu(mtu in 200_u32..9_000, bytes in 1_u64..100_000) {
        let config = Config::default().with(|c| {
            c.wire.mtu = mtu;
            c.wire.header_bytes = wire::UDP_IPV4_BYTES;
        });
        let rate = Rate::from_gbps(1);
        let mut sender = Sender::new(&config, Time::ZERO, rate, Message::new(bytes, None));
        let mut receiver = Receiver::new();
        let mut port = Allocator::new(&config, rate);
        let (mut now, mut max_length) = (Time::ZERO, 0);
        while !sender.is_closed() && now < Time::ZERO + Span::from_secs(1) {
            now += Span::from_us(100);
            sender.timeout(&config, now);
            while let Some(mut packet) = sender.poll_transmit(&config, now) {
                if let Some(request) = &mut packet.request {
                    port.process(&config, packet.flags, request);
                }
                let header = Header { kind: Kind::Packet, destination: 1, source: 2, window: 0, packet };
                let payload = vec![0; packet.len as usize];
                let length = wire::encode(&header, (&payload, &[]), &mut Vec::new()).unwrap() as u32 + 28;
                prop_assert!(length <= mtu, "{} of {}", length, mtu);
                max_length = max_length.max(length);
                receiver.input(&packet);
            }
            now += Span::from_us(100);
            while let Some(answer) = receiver.poll_transmit(&config) {
                sender.input(&config, now, &answer);
            }
        }
        prop_assert_eq!(receiver.delivered(), bytes);
        prop_assert!(bytes < u64::from(mtu) || max_length == mtu, "{} of {}", max_length, mtu);
    }

    #[test]
    fn state_machines_survive_any_packet(
        packets in prop::collection::vec((packet(), 0_u64..5_000), 0..60),
        bytes in prop_oneof![Just(u64::MAX), 0_u64..20_000],
        deadline in prop::option::of(0_u64..20_000),
        rounding in prop_oneof![Just(Rounding::Carry), Just(Rounding::Exact)],
        quench in any::<bool>(),
    ) {
        let config = Config::default().with(|c| {
            c.wire.rounding = rounding;
            c.host.policy.quench = quench;
        });
        let rate = Rate::from_gbps(1);
        let mut now = Time::ZERO;
        let deadline = deadline.map(|us| now + Span::from_us(us));
        let mut sender = Sender::new(&config, now, rate, Message::new(bytes, deadline));
        let mut receiver = Receiver::new();
        let mut router = Allocator::new(&config, rate);
        let mut delivered = 0;
        for (mut packet, wait) in packets {
            now += Span::from_us(wait);
            if sender.next_timeout() <= now {
                sender.timeout(&config, now);
            }
            sender.input(&config, now, &packet);
            for _ in 0..20 {
                let ready = sender.can_transmit(&config);
                let sent = sender.poll_transmit(&config, now);
                prop_assert_eq!(ready, sent.is_some());
                let Some(sent) = sent else { break };
                prop_assert!(sent.wire_bytes(&config) <= config.wire.mtu);
                prop_assert!(sent.seq + u64::from(sent.len) <= bytes);
            }
            prop_assert!(sender.acked() <= bytes);
            let delivery = receiver.input(&packet);
            delivered += delivery.bytes;
            prop_assert_eq!(delivered, receiver.delivered());
            while receiver.poll_transmit(&config).is_some() {}
            if let Some(request) = &mut packet.request {
                request.scale %= 2;
                let index = request.index;
                let outcome = router.process(&config, packet.flags, request);
                prop_assert!(outcome.granted <= EncodedRate::from_byte(255));
                prop_assert_eq!(request.index, if index < 6 { index + 1 } else { index });
            }
            router.tick(&config, wait * 100, wait);
            prop_assert!(router.capacity() >= 12 * 256 && router.capacity() <= 250 * 256);
        }
    }
}
