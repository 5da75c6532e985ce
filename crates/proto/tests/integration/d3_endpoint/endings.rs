//! Aborted flows, and streams without a flow in return.

use super::world::{SECOND, World, address, after, options};
use duetime_core::Span;
use duetime_proto::Message;
use duetime_proto::d3::endpoint::StreamError;

#[test]
fn one_way_stream_answers_repeated_fins() {
    for seed in 0..20 {
        let mut world = World::new(2, options(), seed);
        world.faults.lost = if seed == 0 { 0 } else { 200 };
        let message = Message::new(5_000, None);
        let policy = options().config.host.policy;
        world.endpoints[0].listen(4);
        let outgoing = world.endpoints[1]
            .connect(world.now, address(0), message, &policy)
            .unwrap();
        world.endpoints[1]
            .write(world.now, outgoing, &[7; 5_000])
            .unwrap();
        world.endpoints[1].finish(world.now, outgoing).unwrap();
        let (mut incoming, mut read) = (None, 0);
        while world.endpoints[1].delivery(outgoing) == Err(StreamError::Blocked) {
            assert!(world.now < after(SECOND * 5), "seed {seed}");
            world.step();
            let (now, endpoint) = (world.now, &mut world.endpoints[0]);
            if let Some((stream, _)) = endpoint.accept(now) {
                assert_eq!(endpoint.peer_stream(stream), Some(outgoing));
                incoming = Some(stream);
            }
            let mut buffer = [0; 1_000];
            while let Some(stream) = incoming {
                match endpoint.read(now, stream, &mut buffer) {
                    Ok(0) => {
                        endpoint.release_one_way(now, stream);
                        incoming = None;
                    }
                    Ok(length) => read += length,
                    Err(error) => {
                        assert_eq!(error, StreamError::Blocked);
                        break;
                    }
                }
            }
        }
        assert_eq!(world.endpoints[1].delivery(outgoing), Ok(()), "seed {seed}");
        assert_eq!(read, 5_000);
        let end = world.now + options().linger + SECOND;
        let before_pings = world.now + SECOND;
        world.run_until(before_pings);
        // Neither bytes nor an end were received.
        let answer = world.endpoints[1].read(world.now, outgoing, &mut [0]);
        assert_eq!(answer, Err(StreamError::Blocked));
        world.run_until(end);
        assert_eq!(world.endpoints[0].streams(), 0);
    }
}

#[test]
fn idle_flow_can_be_aborted() {
    let mut world = World::new(2, options(), 1);
    let policy = options().config.host.policy;
    let message = Message::new(1_000_000, None);
    world.endpoints[0].listen(1);
    let now = world.now;
    let id = world.endpoints[1].connect(now, address(0), message, &policy);
    let id = id.unwrap();
    world.run_until(after(SECOND));
    let now = world.now;
    let (server, _) = world.endpoints[0].accept(now).unwrap();
    world.endpoints[1].abort(now, id).unwrap();
    world.run_until(now + Span::from_ms(1));
    let read = world.endpoints[0].read(world.now, server, &mut [0; 9]);
    assert_eq!(read, Err(StreamError::PeerAborted));
    let timeouts = world.endpoints[1].statistics(id).unwrap().counters.timeouts;
    assert_eq!(timeouts, 0, "the FIN is answered");
}

#[test]
fn aborted_flow_can_still_read() {
    let mut world = World::new(2, options(), 1);
    let policy = options().config.host.policy;
    let message = Message::new(1_000, None);
    world.endpoints[0].listen(1);
    let now = world.now;
    let id = world.endpoints[1]
        .connect(now, address(0), message, &policy)
        .unwrap();
    // All announced data is sent before the abort.
    world.endpoints[1].write(now, id, &[1; 1_000]).unwrap();
    world.run_until(after(Span::from_ms(20)));
    world.endpoints[1].abort(world.now, id).unwrap();
    let (server, _) = world.endpoints[0].accept(world.now).unwrap();
    let mut buffer = [0; 2_000];
    assert_eq!(
        world.endpoints[0].read(world.now, server, &mut buffer),
        Ok(1_000)
    );
    world.endpoints[0]
        .write(world.now, server, b"answer")
        .unwrap();
    world.run_until(after(Span::from_ms(40)));
    assert_eq!(
        world.endpoints[0].read(world.now, server, &mut buffer),
        Err(StreamError::PeerAborted)
    );
    assert_eq!(
        world.endpoints[1].write(world.now, id, b"x"),
        Err(StreamError::Aborted)
    );
    assert_eq!(world.endpoints[1].read(world.now, id, &mut buffer), Ok(6));
}
