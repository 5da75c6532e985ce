//! Datagrams, calls and messages of other endpoints for an endpoint of `due`. None breaks it, it respects its limits, and all messages end. Most
//! datagrams get a valid checksum and an identity that the endpoint has sent, so that they pass the first checks.

use duetime_core::{Rate, Span, Time};
use duetime_proto::due::Demand;
use duetime_proto::due::endpoint::{Endpoint, Options, Outgoing};
use std::net::{Ipv4Addr, SocketAddr};

const HEADER: usize = 32;

/// Fields of a sent datagram, which the peer knows.
#[derive(Clone, Copy)]
struct Known {
    identity: [u8; 8],
    number: [u8; 4],
    token: [u8; 8],
    peer: SocketAddr,
}

pub fn check(bytes: &[u8]) {
    play(bytes);
}

/// Plays a string of operations. Returns the number of datagrams that passed the first checks, and the number of
/// messages that arrived.
fn play(bytes: &[u8]) -> (u64, u64) {
    let options = Options {
        max_message_bytes: 20_000,
        max_incoming_bytes: 25_000,
        max_outgoing_bytes: 30_000,
        max_outgoing: 6,
        max_unproven: 2,
        max_sources: 40,
        backlog: 5,
        ..Options::new(Rate::from_gbps(1))
    };
    let mut endpoint = Endpoint::new(options, [1, 2]).expect("valid options");
    let mut now = Time::ZERO;
    let mut numbers: Vec<u64> = Vec::new();
    let mut known = vec![Known {
        identity: 1_u64.to_be_bytes(),
        number: [0; 4],
        token: [0; 8],
        peer: peer(1),
    }];
    let mut rest = bytes;
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        let choice = known[usize::from(operation >> 4) % known.len()];
        match operation % 12 {
            0 => {
                let (datagram, after) = rest.split_at(usize::from(argument).min(rest.len()));
                rest = after;
                endpoint.input(now, peer(argument), datagram, argument % 2 == 1);
            }
            1..=5 => {
                let (datagram, after) = rest.split_at(usize::from(argument).min(rest.len()));
                rest = after;
                endpoint.input(now, choice.peer, &seal(datagram, choice), argument % 2 == 1);
            }
            6 => now += Span::from_us(u64::from(argument) * u64::from(argument)),
            7 | 8 => {
                let message = Outgoing {
                    peer: peer(argument),
                    bytes: vec![operation; usize::from(argument) << (operation >> 5)].into(),
                    deadline: (argument > 99).then(|| Span::from_us(u64::from(operation))),
                    query: (argument % 3 == 0).then_some(u64::from(argument)),
                    is_request: argument % 5 == 0,
                };
                numbers.extend(endpoint.send(now, message));
            }
            9 => {
                endpoint.receive();
                if argument > 200 {
                    endpoint.listen(usize::from(argument - 200) % 6);
                }
            }
            10 => {
                if let Some(&number) = numbers.get(usize::from(argument) % numbers.len().max(1)) {
                    endpoint.abort(number);
                }
            }
            _ => match operation >> 6 {
                0 => endpoint.too_long(peer(argument)),
                1 => endpoint.port_closed(peer(argument)),
                2 => {
                    let demands = std::iter::from_fn(|| demand(&mut rest)).take(argument.into());
                    let demands: Vec<Demand> = demands.collect();
                    endpoint.share_link(now, u16::from(argument & 1), &demands);
                }
                _ => numbers.retain(|&number| {
                    let has_ended = endpoint.outcome(number).is_some();
                    if number % 7 == 0 {
                        endpoint.forget(number);
                    }
                    !has_ended && number % 7 != 0
                }),
            },
        }
        if endpoint.next_timeout() <= now {
            endpoint.timeout(now);
        }
        let mut sent = Vec::new();
        while let Some(transmit) = endpoint.poll_transmit(now, &mut sent) {
            known.push(Known {
                identity: array(&sent, 8),
                number: array(&sent, 16),
                token: array(&sent, 24),
                peer: transmit.peer,
            });
            sent.clear();
        }
        let excess = known.len().saturating_sub(15);
        known.drain(..excess);
        while endpoint.poll_event().is_some() {}
        assert!(endpoint.incoming() <= 5);
        assert!(endpoint.incoming_bytes() <= options.max_incoming_bytes);
        assert!(endpoint.outgoing_bytes() <= options.max_outgoing_bytes);
        assert!(endpoint.sources() <= options.max_sources);
    }
    // The peers are silent from here on, no other endpoint shares the link, and everything must end.
    endpoint.share_link(now, 0, &[]);
    for _ in 0..1_000_000 {
        while endpoint.receive().is_some() {}
        let mut sent = Vec::new();
        while endpoint.poll_transmit(now, &mut sent).is_some() {}
        if endpoint.next_timeout() == Time::MAX {
            break;
        }
        now = now.max(endpoint.next_timeout());
        endpoint.timeout(now);
    }
    assert!(!endpoint.is_sending() && !endpoint.has_datagrams());
    let left = (endpoint.incoming(), endpoint.incoming_bytes());
    assert_eq!((left, endpoint.outgoing_bytes()), ((0, 0), 0));
    let totals = endpoint.totals();
    let refused = totals.malformed + totals.damaged + totals.other_versions;
    (totals.received - refused, totals.complete)
}

/// Takes the description of another endpoint's message from the bytes.
fn demand(rest: &mut &[u8]) -> Option<Demand> {
    let (words, after) = rest.split_first_chunk::<41>()?;
    *rest = after;
    let word = |at: usize| u64::from_le_bytes(array(words, 1 + at * 8));
    let has = |flag: u8| words[0] & flag != 0;
    Some(Demand {
        receiver: u16::from(words[0]) % 64,
        deadline: has(1).then(|| Time::ZERO + Span::from_ps(word(0))),
        query: has(2).then(|| word(1)),
        is_spoiled: has(4),
        is_request: has(8),
        is_open: has(16),
        left: Span::from_ps(word(2)),
        received: Span::from_ps(word(3)),
        window: Span::from_ps(word(4)),
    })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn peer(number: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, number & 3), 9))
}

/// Turns the bytes into a datagram of a known message, with the first byte, version, identity and checksum of the
/// protocol.
fn seal(bytes: &[u8], known: Known) -> Vec<u8> {
    let mut datagram = bytes.to_vec();
    datagram.resize(datagram.len().max(HEADER), 0);
    datagram[..2].copy_from_slice(&[0xde, 1]);
    datagram[2] = datagram[2].saturating_sub(128) / 16 % 7;
    datagram[8..16].copy_from_slice(&known.identity);
    datagram[16..20].copy_from_slice(&known.number);
    datagram[16] = 0;
    datagram[19] ^= datagram[3] >> 4;
    datagram[20..23].fill(0);
    datagram[23] %= 24;
    datagram[24..32].copy_from_slice(&known.token);
    match datagram[2] {
        0 if datagram[23] == 0 => {
            // Packet 0: a payload of at most 20 kB, which arrives at once or in packets of 900 bytes.
            datagram[3] &= 7;
            datagram.resize(datagram.len().max(HEADER + 24), 0);
            datagram[32..38].fill(0);
            let bytes = u16::from_be_bytes([datagram[38], datagram[39]]) % 20_001;
            let length = HEADER + 24 + usize::from(bytes).min(876);
            datagram.resize(length, 5);
            datagram[38..40].copy_from_slice(&bytes.to_be_bytes());
            datagram[40..45].fill(0);
            if datagram[3] & 1 == 0 {
                datagram[40..48].fill(0);
            }
            if datagram[3] & 2 == 0 {
                datagram[48..56].fill(0);
            }
        }
        0 => {
            datagram[3] = 0;
            let is_full = datagram[31] & 3 != 3;
            datagram.resize(HEADER + if is_full { 900 } else { 17 }, 6);
        }
        kind => {
            datagram.truncate(HEADER);
            datagram[3] &= u8::from(kind == 2);
            match kind {
                3 => {
                    datagram[24..32].fill(0);
                    datagram[27] = datagram[23] + 1;
                }
                6 => {
                    datagram[24..32].fill(0);
                    datagram[23] %= 4;
                }
                2 => {}
                _ => datagram[23] = 0,
            }
        }
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&datagram[..4]), &datagram[8..]);
    datagram[4..8].copy_from_slice(&crc.to_be_bytes());
    datagram
}

#[test]
fn random_inputs_reach_the_messages() {
    let played = crate::seeded::long_inputs().map(|bytes| play(&bytes));
    let (passed, complete) = played.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(
        passed > 1_000 && complete > 10,
        "{passed} datagrams, {complete} messages"
    );
}
