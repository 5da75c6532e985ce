//! Send and receive buffers, and the receive window.

use super::world::{SECOND, World, address, after, options};
use duetime_core::Span;
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Event, Options, StreamError};

#[test]
fn blocked_flow_detects_free_space() {
    let mut world = World::new(2, options(), 1);
    let policy = options().config.host.policy;
    let message = Message::new(1_000_000, None);
    world.endpoints[0].listen(2);
    let now = world.now;
    let id = world.endpoints[1].connect(now, address(0), message, &policy);
    let id = id.unwrap();
    let until = world.now + Span::from_ms(5);
    world.run_until(until);
    // Idle, followed by more data than the receive buffer of an unaccepted stream holds.
    let now = world.now;
    world.endpoints[1]
        .write(now, id, &vec![7; 100_000])
        .unwrap();
    world.run_until(now + SECOND);
    let acked = world.endpoints[1].statistics(id).unwrap().acked;
    assert_eq!(acked, options().unaccepted_buffer as u64);
    // The packet that reports the free space is lost.
    world.faults.lost = 1_000;
    let now = world.now;
    world.endpoints[0].accept(now).expect("a stream is waiting");
    world.run_until(now + Span::from_us(300));
    world.faults.lost = 0;
    world.run_until(now + Span::from_ms(20));
    let acked = world.endpoints[1].statistics(id).unwrap().acked;
    assert_eq!(acked, 100_000);
}

#[test]
fn writers_wake_at_a_quarter_free() {
    let options = Options {
        send_buffer: 100_000,
        ..options()
    };
    let mut world = World::new(2, options, 1);
    world.endpoints[0].listen(1);
    let message = Message::new(1_000_000, None);
    let policy = options.config.host.policy;
    let now = world.now;
    let id = world.endpoints[1].connect(now, address(0), message, &policy);
    let (id, mut written, mut writes) = (id.unwrap(), 0, 0);
    let (mut buffer, mut server) = (vec![0; 1 << 16], None);
    let data = vec![7; 1_000_000];
    while written < data.len() {
        let now = world.now;
        server = server.or_else(|| world.endpoints[0].accept(now));
        if let Some((stream, _)) = server {
            let _ = world.endpoints[0].read(now, stream, &mut buffer);
        }
        let sender = &mut world.endpoints[1];
        let mut changed = written == 0;
        while let Some(event) = sender.poll_event() {
            changed |= event == Event::Changed(id);
        }
        if changed && let Ok(accepted) = sender.write(now, id, &data[written..]) {
            (written, writes) = (written + accepted, writes + 1);
        }
        world.step();
    }
    // The first write also causes an event, and further space may become free before the write.
    assert!(writes <= 100, "{writes} writes");
}

#[test]
fn slow_reader_limits_its_sender() {
    let options = Options {
        receive_buffer: 20_000,
        unaccepted_buffer: 5_000,
        ..options()
    };
    let mut world = World::new(2, options, 3);
    let policy = options.config.host.policy;
    let message = Message::new(200_000, None);
    world.endpoints[0].listen(1);
    let now = world.now;
    let writer = world.endpoints[1]
        .connect(now, address(0), message, &policy)
        .unwrap();
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i / 7) as u8).collect();
    assert_eq!(world.endpoints[1].write(now, writer, &data), Ok(200_000));
    world.endpoints[1].finish(now, writer).unwrap();
    let until = |world: &mut World, time: Span| world.run_until(after(time));
    until(&mut world, Span::from_ms(50));
    let acked = |world: &World| world.endpoints[1].statistics(writer).unwrap().acked;
    assert_eq!(acked(&world), 5_000, "not accepted");
    let (reader, _) = world.endpoints[0].accept(world.now).unwrap();
    until(&mut world, Span::from_ms(100));
    assert_eq!(acked(&world), 20_000, "not read");
    let mut read = Vec::new();
    let mut part = [0; 777];
    for tenth in 1_001_u64.. {
        let now = world.now;
        match world.endpoints[0].read(now, reader, &mut part) {
            Ok(0) => break,
            Ok(length) => read.extend_from_slice(&part[..length]),
            Err(error) => assert_eq!(error, StreamError::Blocked),
        }
        until(&mut world, Span::from_us(tenth * 100));
    }
    assert!(read == data);
    assert_eq!(world.endpoints[0].totals().out_of_window, 0);
}
