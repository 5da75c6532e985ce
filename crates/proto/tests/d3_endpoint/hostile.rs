//! An endpoint among peers that send whatever they like, and an application that calls whatever it likes. The fuzz
//! target `d3_endpoint` plays the bytes that it draws, the test here random ones.

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::Late;
use duetime_proto::d3::datagram::HEADER_BYTES;
use duetime_proto::d3::endpoint::{Endpoint, Options, Policy, StreamId};
use std::net::{Ipv4Addr, SocketAddr};

const MAX_STREAMS: usize = 12;

/// Of a datagram that the endpoint has sent: what its peer knows.
#[derive(Clone, Copy)]
struct Seen {
    own: u64,
    remote: u64,
    peer: SocketAddr,
}

/// Plays a string of operations. The endpoint survives, keeps its limits, and has nothing left in the end. The answer is
/// how many datagrams passed the first checks, and how many streams were accepted.
pub fn play(bytes: &[u8]) -> (u64, usize) {
    let options = Options {
        max_streams: MAX_STREAMS,
        max_streams_per_peer: 5,
        max_half_open: 2,
        receive_buffer: 9_000,
        unaccepted_buffer: 3_000,
        send_buffer: 5_000,
        ..Options::new(Rate::from_gbps(1))
    };
    let mut endpoint = Endpoint::new(options, [1, 2]).expect("the options make sense");
    endpoint.listen(6);
    let (mut now, mut accepted) = (Time::ZERO, 0);
    let mut streams: Vec<StreamId> = Vec::new();
    let mut seen = vec![Seen {
        own: 0,
        remote: 1,
        peer: peer(1),
    }];
    let mut rest = bytes;
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        let stream = streams
            .get(usize::from(argument) % streams.len().max(1))
            .copied();
        match (operation % 12, stream) {
            (0..=4, _) => {
                let (datagram, after) = rest.split_at(usize::from(argument).min(rest.len()));
                rest = after;
                let choice = usize::from(operation >> 4) % seen.len();
                let (sealed, from) = match operation % 12 {
                    0 => (datagram.to_vec(), peer(argument)),
                    // For a stream, as its peer would send it.
                    1 | 2 => (seal(datagram, seen[choice]), seen[choice].peer),
                    // A SYN.
                    3 => {
                        let mut syn = vec![0; HEADER_BYTES + 22];
                        syn[1] = 0x81;
                        let source = u64::from(operation);
                        (
                            seal(
                                &syn,
                                Seen {
                                    own: 0,
                                    remote: source,
                                    peer: peer(argument),
                                },
                            ),
                            peer(argument),
                        )
                    }
                    // With something of one stream and something of another.
                    _ => {
                        let other = seen[usize::from(argument) % seen.len()];
                        (
                            seal(
                                datagram,
                                Seen {
                                    own: other.own,
                                    ..seen[choice]
                                },
                            ),
                            other.peer,
                        )
                    }
                };
                endpoint.input(now, from, &sealed);
            }
            (5, _) => now += Span::from_us(u64::from(argument) * u64::from(argument)),
            (6, None) | (7, _) => {
                let message = Message {
                    bytes: u64::from(argument) << (operation >> 4),
                    deadline: (argument > 99).then_some(now + Span::from_us(u64::from(operation))),
                };
                let policy = Policy {
                    quench: operation & 16 != 0,
                    late: if argument % 2 == 0 {
                        Late::Extend
                    } else {
                        Late::Max
                    },
                    ..Policy::of(&options.config)
                };
                match stream {
                    Some(id) if operation & 32 != 0 => {
                        let _ = endpoint.open(now, id, message, &policy);
                    }
                    _ => streams.extend(endpoint.connect(now, peer(argument), message, &policy)),
                }
            }
            (8, _) => {
                let before = streams.len();
                streams.extend(endpoint.accept(now).map(|accepted| accepted.0));
                accepted += streams.len() - before;
            }
            (9, Some(id)) => {
                let _ = endpoint.write(now, id, &vec![operation; 1 + usize::from(argument) * 20]);
            }
            (10, Some(id)) => {
                let _ = endpoint.read(now, id, &mut vec![0; usize::from(argument) * 20]);
            }
            (_, Some(id)) => match operation >> 6 {
                0 => endpoint.finish(now, id).expect("it is not released"),
                1 => endpoint.abort(now, id).expect("it is not released"),
                _ => {
                    endpoint.release(now, id);
                    streams.retain(|kept| *kept != id);
                }
            },
            (_, None) => {}
        }
        if endpoint.next_timeout() <= now {
            endpoint.timeout(now);
        }
        let mut sent = Vec::new();
        while let Some(transmit) = endpoint.poll_transmit(now, &mut sent) {
            let long = |i: usize| u64::from_be_bytes(std::array::from_fn(|byte| sent[i + byte]));
            seen.push(Seen {
                own: long(28),
                remote: long(20),
                peer: transmit.peer,
            });
            sent.clear();
        }
        let keep = seen.len().saturating_sub(15);
        seen.drain(..keep);
        assert!(endpoint.streams() <= MAX_STREAMS);
        while endpoint.poll_event().is_some() {}
        for &id in &streams {
            let statistics = endpoint.statistics(id).expect("it is not released");
            assert!(
                statistics.written - statistics.acked <= 5_000 || endpoint.delivery(id).is_err()
            );
        }
    }
    for id in streams {
        endpoint.release(now, id);
    }
    // Nobody answers any more: what was not accepted is, and everything ends.
    for _ in 0..1_000_000 {
        while let Some((id, _)) = endpoint.accept(now) {
            endpoint.release(now, id);
        }
        let mut sent = Vec::new();
        while endpoint.poll_transmit(now, &mut sent).is_some() {}
        if endpoint.next_timeout() == Time::MAX {
            break;
        }
        now = now.max(endpoint.next_timeout());
        endpoint.timeout(now);
    }
    assert_eq!(endpoint.streams(), 0);
    assert!(!endpoint.has_datagrams() && endpoint.uplink().allocator().is_idle());
    let totals = endpoint.totals();
    (
        totals.received - totals.malformed - totals.damaged,
        accepted,
    )
}

fn peer(number: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, number & 3), 9))
}

/// The bytes as a datagram of the protocol for a stream: with its first byte and version, identifiers and a checksum.
fn seal(bytes: &[u8], seen: Seen) -> Vec<u8> {
    let mut datagram = bytes.to_vec();
    datagram.resize(datagram.len().max(HEADER_BYTES), 0);
    datagram[19] = datagram[19].saturating_sub(200) % 6;
    if datagram[19] != 0 {
        datagram.truncate(HEADER_BYTES);
        datagram[1..18].fill(0);
    }
    if datagram[1] & 4 == 0 {
        datagram[36..40].fill(0); // only acknowledgements have a window
    }
    let has_request = datagram[1] & 0x80 != 0;
    if has_request {
        datagram.resize(datagram.len().max(HEADER_BYTES + 22), 0);
        datagram[16] %= 7;
        datagram[17] %= 64;
        datagram[45] &= !1; // an index of six at most
    } else {
        datagram[12..18].fill(0);
    }
    let headers = if has_request {
        HEADER_BYTES + 22
    } else {
        HEADER_BYTES
    };
    datagram[0] = 0xd3;
    let payload = (datagram.len() - headers) as u16;
    datagram[2..4].copy_from_slice(&payload.to_be_bytes());
    // Positions near the beginning, where streams are.
    datagram[4..9].fill(0);
    datagram[18] = 1;
    datagram[20..28].copy_from_slice(&seen.own.to_be_bytes());
    // A peer in its opening does not know its own part: any will do.
    datagram[28..36].copy_from_slice(&seen.remote.max(1).to_be_bytes());
    let crc = crc32c::crc32c(&datagram[..40]);
    let crc = crc32c::crc32c_append(crc, &datagram[headers..]);
    let crc = crc32c::crc32c_append(crc, &datagram[HEADER_BYTES..headers]);
    datagram[40..44].copy_from_slice(&crc.to_be_bytes());
    datagram
}

#[test]
fn nothing_upsets_an_endpoint() {
    let (mut passed, mut accepted) = (0, 0);
    for seed in 1..200_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut bytes = Vec::new();
        for _ in 0..1_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes.extend_from_slice(&random.to_le_bytes());
        }
        let (more_passed, more_accepted) = play(&bytes);
        passed += more_passed;
        accepted += more_accepted;
    }
    assert!(
        passed > 1_000 && accepted > 10,
        "{passed} datagrams, {accepted} streams"
    );
}
