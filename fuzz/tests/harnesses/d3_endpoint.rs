//! Datagrams and calls for a D3 endpoint. None breaks it, it respects its limits, and all streams end. Most datagrams
//! get a valid checksum and identifiers that the endpoint has sent, so that they pass the first checks.

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Options, StreamId};
use duetime_proto::d3::wire::HEADER_BYTES;
use duetime_proto::d3::{Late, Policy};
use std::net::{Ipv4Addr, SocketAddr};

const MAX_STREAMS: usize = 12;

/// Identifiers from a sent datagram, which the peer knows.
#[derive(Clone, Copy)]
struct Identifiers {
    local: u64,
    remote: u64,
    peer: SocketAddr,
}

pub fn check(bytes: &[u8]) {
    play(bytes);
}

/// Plays a string of operations. Returns the number of datagrams that passed the first checks, and the number of
/// accepted streams.
fn play(bytes: &[u8]) -> (u64, usize) {
    let options = Options {
        max_streams: MAX_STREAMS,
        max_streams_per_peer: 5,
        max_half_open: 2,
        receive_buffer: 9_000,
        unaccepted_buffer: 3_000,
        send_buffer: 5_000,
        ..Options::new(Rate::from_gbps(1))
    };
    let mut endpoint = Endpoint::new(options, [1, 2]).expect("valid options");
    endpoint.listen(6);
    let (mut now, mut accepted) = (Time::ZERO, 0);
    let mut streams: Vec<StreamId> = Vec::new();
    let mut known = vec![Identifiers {
        local: 0,
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
                let choice = usize::from(operation >> 4) % known.len();
                let (sealed, from) = match operation % 12 {
                    0 => (datagram.to_vec(), peer(argument)),
                    // A datagram for a stream, as from its peer.
                    1 | 2 => (seal(datagram, known[choice]), known[choice].peer),
                    // A SYN.
                    3 => {
                        let mut syn = vec![0; HEADER_BYTES + 22];
                        syn[1] = 0x81;
                        let source = u64::from(operation);
                        (
                            seal(
                                &syn,
                                Identifiers {
                                    local: 0,
                                    remote: source,
                                    peer: peer(argument),
                                },
                            ),
                            peer(argument),
                        )
                    }
                    // A datagram with identifiers of two streams.
                    _ => {
                        let other = known[usize::from(argument) % known.len()];
                        (
                            seal(
                                datagram,
                                Identifiers {
                                    local: other.local,
                                    ..known[choice]
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
                let message = Message::new(
                    u64::from(argument) << (operation >> 4),
                    (argument > 99).then_some(now + Span::from_us(u64::from(operation))),
                );
                let policy = Policy {
                    quench: operation & 16 != 0,
                    late: if argument % 2 == 0 {
                        Late::Extend
                    } else {
                        Late::Max
                    },
                    ..options.config.host.policy
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
                0 => endpoint.finish(now, id).expect("not released"),
                1 => endpoint.abort(now, id).expect("not released"),
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
            known.push(Identifiers {
                local: long(28),
                remote: long(20),
                peer: transmit.peer,
            });
            sent.clear();
        }
        let keep = known.len().saturating_sub(15);
        known.drain(..keep);
        assert!(endpoint.streams() <= MAX_STREAMS);
        while endpoint.poll_event().is_some() {}
        for &id in &streams {
            let statistics = endpoint.statistics(id).expect("not released");
            assert!(
                statistics.written - statistics.acked <= 5_000 || endpoint.delivery(id).is_err()
            );
        }
    }
    for id in streams {
        endpoint.release(now, id);
    }
    // The peers are silent from here on: accept and release the remaining streams, after which everything must end.
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

/// Turns the bytes into a datagram for a stream, with the first byte, version, identifiers and checksum of the
/// protocol.
fn seal(bytes: &[u8], known: Identifiers) -> Vec<u8> {
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
        datagram[45] &= !1; // an index of at most six
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
    // Positions near the start, where the streams are.
    datagram[4..9].fill(0);
    datagram[18] = 1;
    datagram[20..28].copy_from_slice(&known.local.to_be_bytes());
    // A peer that is opening a stream does not know its own identifier; any value works.
    datagram[28..36].copy_from_slice(&known.remote.max(1).to_be_bytes());
    let crc = crc32c::crc32c(&datagram[..40]);
    let crc = crc32c::crc32c_append(crc, &datagram[headers..]);
    let crc = crc32c::crc32c_append(crc, &datagram[HEADER_BYTES..headers]);
    datagram[40..44].copy_from_slice(&crc.to_be_bytes());
    datagram
}

#[test]
fn random_inputs_reach_the_streams() {
    let played = crate::seeded::long_inputs().map(|bytes| play(&bytes));
    let (passed, accepted) = played.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(
        passed > 1_000 && accepted > 10,
        "{passed} datagrams, {accepted} streams"
    );
}
