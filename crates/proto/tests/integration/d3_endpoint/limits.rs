//! Invalid datagrams, and peers that exceed limits.

use super::exchange::{Exchange, run, run_to_outcomes};
use super::world::{SECOND, World, address, after, options};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Options, OptionsError, StreamError, StreamId};
use duetime_proto::d3::wire::{self, DatagramError, Header, Kind, Reason};
use duetime_proto::d3::{Flags, Packet, Request, Rounding};

pub fn encoded(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(header, (payload, &[]), &mut bytes).unwrap();
    bytes
}

fn packet(destination: u64, source: u64, packet: Packet) -> Header {
    Header {
        kind: Kind::Packet,
        destination,
        source,
        window: 0,
        packet,
    }
}

pub fn syn(source: u64) -> Header {
    let request = Request {
        scale: options().config.exponent(),
        ..Request::default()
    };
    packet(
        0,
        source,
        Packet {
            flags: Flags::SYN,
            request: Some(request),
            ..Packet::default()
        },
    )
}

/// Returns all headers that the endpoint can send from now on.
fn answers(endpoint: &mut Endpoint, now: Time) -> Vec<Header> {
    let mut headers = Vec::new();
    let (mut now, mut bytes) = (now, Vec::new());
    loop {
        while endpoint.poll_transmit(now, &mut bytes).is_some() {
            headers.push(wire::decode(&bytes).unwrap().0);
            bytes.clear();
        }
        if !endpoint.has_datagrams() {
            return headers;
        }
        now += Span::from_us(10);
    }
}

fn open_pair() -> (World, StreamId, StreamId) {
    let mut world = World::new(3, options(), 8);
    world.endpoints[0].listen(4);
    let message = Message::new(1_000_000, None);
    let policy = options().config.host.policy;
    let client = world.endpoints[1]
        .connect(world.now, address(0), message, &policy)
        .unwrap();
    loop {
        world.step();
        if let Some((server, _)) = world.endpoints[0].accept(world.now) {
            return (world, client, server);
        }
    }
}

#[test]
fn repeated_syn_opens_one_stream() {
    let mut endpoint = World::new(1, options(), 1).endpoints.remove(0);
    endpoint.listen(4);
    let now = after(SECOND);
    for _ in 0..3 {
        endpoint.input(now, address(1), &encoded(&syn(77), &[]));
        let sent = answers(&mut endpoint, now);
        assert_eq!(sent.len(), 1, "one reply per SYN");
        assert!(sent[0].packet.flags.contains(Flags::SYN | Flags::ACK));
        assert_eq!(sent[0].destination, 77);
    }
    assert_eq!(
        (endpoint.streams(), endpoint.accept(now)),
        (1, None),
        "half open"
    );
    // The same identifier from another address is another stream.
    endpoint.input(now, address(2), &encoded(&syn(77), &[]));
    assert_eq!(endpoint.streams(), 2);
    // No peer proves its address.
    endpoint.timeout(now + SECOND * 4);
    assert_eq!(endpoint.streams(), 0);
}

#[test]
fn syn_reply_is_no_longer_than_the_syn() {
    let mut endpoint = World::new(1, options(), 1).endpoints.remove(0);
    endpoint.listen(4);
    let now = after(SECOND);
    let question = encoded(&syn(5), &[]);
    endpoint.input(now, address(1), &question);
    let mut answer = Vec::new();
    while endpoint.poll_transmit(now + SECOND, &mut answer).is_some() {}
    assert!(!answer.is_empty() && answer.len() <= question.len());
    // Nothing more is sent until a datagram arrives or the stream is removed.
    endpoint.timeout(now + SECOND * 2);
    assert_eq!(endpoint.poll_transmit(now + SECOND * 2, &mut answer), None);
}

#[test]
fn challenges_are_stateless() {
    let limited = Options {
        max_half_open: 2,
        ..options()
    };
    let mut world = World::new(2, limited, 4);
    world.endpoints[0].listen(16);
    let now = world.now;
    for forged in 1..1_000 {
        world.endpoints[0].input(now, address(200), &encoded(&syn(forged), &[]));
    }
    assert_eq!(world.endpoints[0].streams(), 2);
    let totals = world.endpoints[0].totals();
    assert_eq!(totals.challenges, 997);
    // A peer with a real address is accepted with one more round trip.
    let measure = |world: &mut World| {
        let started = world.now;
        let mut exchange = [Exchange::new(1, 100, 100)];
        exchange[0].deadline = Some(SECOND);
        run(world, &mut exchange, started + SECOND);
        assert_eq!(exchange[0].outcome, Some(Ok(())));
        exchange[0].ended_at.since(started)
    };
    // Replies to the forged SYNs are sent first.
    let until = world.now + Span::from_ms(2);
    world.run_until(until);
    let challenged = measure(&mut world);
    assert_eq!(world.endpoints[0].totals().challenges, 998);
    world.run_until(now + SECOND * 8);
    let plain = measure(&mut world);
    assert_eq!(world.endpoints[0].totals().challenges, 998);
    let extra = challenged.saturating_sub(plain);
    let round_trip = Span::from_us(40);
    assert!(
        (round_trip..round_trip + Span::from_us(10)).contains(&extra),
        "{extra}"
    );
}

#[test]
fn cookie_is_bound_and_expires() {
    let limited = Options {
        max_half_open: 0,
        ..options()
    };
    let mut endpoint = Endpoint::new(limited, [1, 2]).unwrap();
    endpoint.listen(4);
    let now = after(SECOND);
    endpoint.input(now, address(1), &encoded(&syn(9), &[]));
    let challenge = answers(&mut endpoint, now)[0];
    assert_eq!((challenge.kind, endpoint.streams()), (Kind::Challenge, 0));
    let answer = Header {
        destination: challenge.source,
        ..syn(9)
    };
    let other = Header {
        source: 10,
        ..answer
    };
    endpoint.input(now, address(2), &encoded(&answer, &[]));
    endpoint.input(now, address(1), &encoded(&other, &[]));
    endpoint.input(now + SECOND * 9, address(1), &encoded(&answer, &[]));
    assert_eq!((endpoint.streams(), endpoint.totals().strays), (0, 3));
    endpoint.input(now + SECOND, address(1), &encoded(&answer, &[]));
    assert_eq!(endpoint.streams(), 1);
    assert!(endpoint.accept(now + SECOND).is_some(), "address is proven");
}

#[test]
fn backlog_and_peer_streams_are_bounded() {
    let limited = Options {
        max_streams_per_peer: 3,
        max_streams: 5,
        ..options()
    };
    let mut endpoint = Endpoint::new(limited, [1, 2]).unwrap();
    let now = after(SECOND);
    endpoint.input(now, address(1), &encoded(&syn(1), &[]));
    let refusal = answers(&mut endpoint, now)[0];
    assert_eq!(
        (refusal.kind, refusal.packet.seq),
        (Kind::Reset, Reason::Refused.code())
    );
    endpoint.listen(100);
    for peer in 1..10 {
        for source in 1..10 {
            endpoint.input(now, address(peer), &encoded(&syn(source), &[]));
        }
    }
    assert_eq!(endpoint.streams(), 5, "3 of one peer, 2 of the next");
    assert_eq!(endpoint.totals().over_limit, 76);
    let message = Message::new(1, None);
    let policy = options().config.host.policy;
    let extra = endpoint.connect(now, address(1), message, &policy);
    assert_eq!(extra, Err(StreamError::TooMany));

    let mut endpoint = Endpoint::new(options(), [1, 2]).unwrap();
    endpoint.listen(4);
    for source in 1..100 {
        endpoint.input(now, address(1), &encoded(&syn(source), &[]));
    }
    assert_eq!(
        endpoint.streams(),
        2,
        "up to half of the backlog may be half open"
    );
}

#[test]
fn lingering_streams_make_room_for_new_ones() {
    let few = Options {
        max_streams: 4,
        ..options()
    };
    let mut world = World::new(2, few, 1);
    for number in 0..12 {
        let mut exchange = [Exchange::new(number, 100, 100)];
        run_to_outcomes(&mut world, &mut exchange, after(SECOND), |_| {});
        assert_eq!(exchange[0].outcome, Some(Ok(())), "{number}");
        assert!(world.endpoints[0].streams() <= 4);
    }
    assert!(
        world.now < after(Span::from_ms(100)),
        "no stream waited for the removal of another"
    );
}

#[test]
fn forged_and_damaged_datagrams_are_counted() {
    let (mut world, client, server) = open_pair();
    let now = world.now;
    let (to_server, to_client) = (server.as_u64(), client.as_u64());
    let data = Packet {
        len: 4,
        ..Packet::default()
    };
    let before = world.endpoints[0].statistics(server).unwrap();
    let valid = encoded(&packet(to_server, to_client, data), b"good");
    let mut damaged = valid.clone();
    damaged[46] ^= 1;
    let far = Packet {
        seq: 1 << 21,
        ..data
    };
    let reset = Header {
        kind: Kind::Reset,
        ..packet(to_server, 5, Packet::default())
    };
    let forged: [(usize, Vec<u8>); 7] = [
        (1, damaged),
        (2, valid.clone()),
        (1, encoded(&packet(to_server, to_client ^ 1, data), b"evil")),
        (1, encoded(&packet(to_server, to_client, far), b"evil")),
        (1, encoded(&reset, &[])),
        (1, valid[..30].to_vec()),
        (1, encoded(&packet(to_server ^ 1, to_client, data), b"evil")),
    ];
    let endpoint = &mut world.endpoints[0];
    let totals = endpoint.totals();
    for (from, bytes) in &forged {
        endpoint.input(now, address(*from), bytes);
    }
    assert_eq!(endpoint.statistics(server).unwrap(), before);
    assert_eq!(
        endpoint.read(now, server, &mut [0; 9]),
        Err(StreamError::Blocked)
    );
    let after = endpoint.totals();
    let counted = [
        after.damaged - totals.damaged,
        after.other_addresses - totals.other_addresses,
        after.stale - totals.stale,
        after.out_of_window - totals.out_of_window,
        after.malformed - totals.malformed,
        after.strays - totals.strays,
    ];
    assert_eq!(counted, [1, 1, 2, 1, 1, 1]);
    endpoint.input(now, address(1), &valid);
    assert_eq!(
        endpoint.read(now, server, &mut [0; 9]),
        Ok(4),
        "the genuine datagram is accepted"
    );
}

#[test]
fn strays_are_reset_and_resets_ignored() {
    let mut endpoint = World::new(1, options(), 1).endpoints.remove(0);
    let now = after(SECOND);
    let stray = packet(
        3,
        4,
        Packet {
            flags: Flags::ACK,
            ..Packet::default()
        },
    );
    endpoint.input(now, address(1), &encoded(&stray, &[]));
    let sent = answers(&mut endpoint, now);
    let reset = Header {
        kind: Kind::Reset,
        ..packet(
            4,
            3,
            Packet {
                seq: Reason::Unknown.code(),
                ..Packet::default()
            },
        )
    };
    assert_eq!(sent, [reset]);
    endpoint.input(now, address(1), &encoded(&reset, &[]));
    assert_eq!(answers(&mut endpoint, now), []);
}

#[test]
fn duplicates_after_the_end_cause_no_reset() {
    let (mut world, client, server) = open_pair();
    let now = world.now;
    let from_client = |packet| self::packet(server.as_u64(), client.as_u64(), packet);
    let data = Packet {
        len: 4,
        ..Packet::default()
    };
    let data = encoded(&from_client(data), b"last");
    let fin = Packet {
        seq: 4,
        flags: Flags::FIN,
        request: syn(1).packet.request,
        ..Packet::default()
    };
    let endpoint = &mut world.endpoints[0];
    endpoint.input(now, address(1), &data);
    endpoint.input(now, address(1), &encoded(&from_client(fin), &[]));
    endpoint.release(now, server);
    // The FIN has not been answered yet.
    endpoint.input(now, address(1), &data);
    assert_eq!(endpoint.totals().resets, 0);
    // Data beyond the peer's flow is reset if the application reads no more.
    let (mut world, client, server) = open_pair();
    let endpoint = &mut world.endpoints[0];
    endpoint.release(now, server);
    let data = packet(
        server.as_u64(),
        client.as_u64(),
        Packet {
            len: 4,
            ..Packet::default()
        },
    );
    endpoint.input(world.now, address(1), &encoded(&data, b"more"));
    assert_eq!(endpoint.totals().resets, 1);
}

#[test]
fn queued_resets_are_bounded() {
    let mut endpoint = World::new(1, options(), 1).endpoints.remove(0);
    for number in 1..10_000 {
        endpoint.input(
            after(SECOND),
            address(1),
            &encoded(&packet(number, 4, Packet::default()), &[]),
        );
    }
    assert!(endpoint.totals().unanswered > 9_000);
    assert!(answers(&mut endpoint, after(SECOND)).len() <= 1_000);
}

#[test]
fn other_version_is_reported() {
    let mut world = World::new(2, options(), 1);
    let policy = options().config.host.policy;
    let message = Message::new(10, None);
    let now = world.now;
    let id = world.endpoints[1]
        .connect(now, address(0), message, &policy)
        .unwrap();
    let mut bytes = Vec::new();
    world.endpoints[1].poll_transmit(now, &mut bytes).unwrap();
    // Reply of a peer of version 7 to our SYN, and our reply to its SYN.
    let mut theirs = encoded(
        &Header {
            kind: Kind::Reset,
            ..packet(id.as_u64(), 0, Packet::default())
        },
        &[],
    );
    theirs[18] = 7;
    world.endpoints[1].input(now, address(2), &theirs);
    assert_eq!(
        world.endpoints[1].connection(id),
        Err(StreamError::Blocked),
        "not its peer"
    );
    world.endpoints[1].input(now, address(0), &theirs);
    assert_eq!(
        world.endpoints[1].connection(id),
        Err(StreamError::Version(7))
    );
    bytes[18] = 7;
    world.endpoints[0].input(now, address(1), &bytes);
    let sent = answers(&mut world.endpoints[0], now);
    let expected = (Kind::Reset, id.as_u64(), 0, Reason::Version.code());
    assert_eq!(
        (
            sent[0].kind,
            sent[0].destination,
            sent[0].source,
            sent[0].packet.seq
        ),
        expected
    );
    assert!(matches!(
        wire::decode(&bytes),
        Err(DatagramError::Version { theirs: 7, .. })
    ));
}

#[test]
fn invalid_options_are_rejected() {
    let wrong = |change: fn(&mut Options)| {
        let mut options = options();
        change(&mut options);
        Endpoint::new(options, [0, 0]).unwrap_err()
    };
    let mtu = wrong(|options| options.config.wire.mtu = 150);
    assert_eq!(mtu, OptionsError::Mtu);
    let receive_buffer = wrong(|options| options.receive_buffer = 1 << 31);
    assert_eq!(receive_buffer, OptionsError::ReceiveBuffer);
    let header_bytes = wrong(|options| options.config.wire.header_bytes = 40);
    assert_eq!(header_bytes, OptionsError::HeaderBytes);
    let rounding = wrong(|options| options.config.wire.rounding = Rounding::Exact);
    assert_eq!(rounding, OptionsError::Rounding);
}
