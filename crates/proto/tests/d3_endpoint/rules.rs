//! Behaviour visible to applications on a network without faults.

use crate::exchange::{Exchange, run, run_with};
use crate::world::{World, address};
use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Event, Options, StreamError};
use duetime_proto::d3::{Allocation, Grants, Late, Policy, Speculation};

pub const SECOND: Span = Span::from_secs(1);

pub fn options() -> Options {
    Options::new(Rate::from_gbps(1))
}

pub fn after(span: Span) -> Time {
    Time::ZERO + span
}

#[test]
fn delivers_in_order_in_both_directions() {
    let mut world = World::new(2, options(), 1);
    let mut exchange = [Exchange::new(1, 100_000, 3_000_000)];
    let services = run(&mut world, &mut exchange, after(SECOND));
    assert_eq!(exchange[0].outcome, Some(Ok(())));
    assert_eq!((services.len(), &services[0].outcome), (1, &Some(Ok(()))));
    let statistics = exchange[0].statistics;
    assert_eq!(
        (
            statistics.acked,
            statistics.received,
            statistics.counters.retransmits
        ),
        (100_000, 3_000_000, 0)
    );
    // 3 MB take 24 ms at a gigabit, and 25 ms with headers.
    assert!(
        exchange[0].ended_at < after(Span::from_ms(40)),
        "{}",
        exchange[0].ended_at
    );
}

#[test]
fn lone_query_follows_figure_7() {
    let mut world = World::new(2, options(), 1);
    let mut exchange = [Exchange::new(1, 1_000, 0)];
    exchange[0].deadline = Some(Span::from_ms(10));
    run(&mut world, &mut exchange, after(SECOND));
    let counters = exchange[0].statistics.counters;
    // The SYN, which requests 0.1 B/us and is paused; a request that receives the fair share; and the FIN with all
    // data.
    assert_eq!((counters.requests, counters.timeouts), (3, 0));
    // Two and a half round trips until the FIN arrives, and one and a half for the acceptor's empty flow.
    let elapsed = exchange[0].ended_at.since(after(Span::from_ms(1)));
    assert!(
        (Span::from_us(160)..Span::from_us(190)).contains(&elapsed),
        "{elapsed}"
    );
}

#[test]
fn no_state_is_left_after_all_streams_end() {
    let mut world = World::new(3, options(), 1);
    let mut all: Vec<Exchange> = (0..40).map(|i| Exchange::new(i, 50_000, 10_000)).collect();
    for exchange in &mut all {
        exchange.host = 1 + exchange.number as usize % 2;
    }
    run(&mut world, &mut all, after(SECOND * 20));
    assert!(all.iter().all(|exchange| exchange.outcome == Some(Ok(()))));
    for endpoint in &world.endpoints {
        assert_eq!(endpoint.streams(), 0);
        assert!(!endpoint.is_sending());
        let allocator = endpoint.uplink().allocator();
        assert!(allocator.is_idle(), "{allocator:?}");
    }
}

#[test]
fn hosts_allocate_downlinks_without_routers() {
    for routers in [0, 1, 2] {
        let mut world = World::new(5, options(), 1);
        world.set_routers(routers);
        let mut all: Vec<Exchange> = (0..16).map(|i| Exchange::new(i, 400_000, 5_000)).collect();
        for exchange in &mut all {
            exchange.host = 1 + exchange.number as usize % 4;
        }
        // Flows of four uplinks meet at one downlink.
        let mut max_flows = 0;
        run_with(&mut world, &mut all, after(SECOND * 20), |world| {
            let allocator = world.endpoints[0].downlink().port().allocator();
            max_flows = max_flows.max(allocator.flows());
        });
        assert!(all.iter().all(|exchange| exchange.outcome == Some(Ok(()))));
        let grants = world.endpoints[0].downlink().grants();
        let answers = all.iter().map(|exchange| exchange.statistics.grants);
        let (edge, routed) = answers.fold((0, 0), |(edge, routed), grants| {
            (edge + grants.edge, routed + grants.routers)
        });
        if routers == 0 {
            assert!(
                max_flows >= 16 && grants.edge > 100,
                "{max_flows} flows, {grants:?}"
            );
            assert!(edge > 0, "the answers to the clients, too");
            assert_eq!((grants.routers, routed), (0, 0));
        } else {
            assert!(
                max_flows == 0 && grants.routers > 100,
                "{max_flows} flows, {grants:?}"
            );
            assert!(routed > 0);
            assert_eq!((grants.edge, edge), (0, 0));
        }
        world.run_until(world.now + Span::from_ms(50));
        for endpoint in &world.endpoints {
            let allocator = endpoint.downlink().port().allocator();
            let counters = (allocator.flows(), allocator.demand(), allocator.allocated());
            assert_eq!(counters, (0, 0, 0), "{allocator:?}");
            assert_eq!(endpoint.next_timeout(), Time::MAX);
        }
    }
}

#[test]
fn router_allocation_disables_the_downlink() {
    let mut options = options();
    options.config.router.allocation = Allocation::Routers;
    let mut world = World::new(2, options, 1);
    world.set_routers(0);
    let mut exchange = [Exchange::new(1, 100_000, 100_000)];
    run(&mut world, &mut exchange, after(SECOND));
    assert_eq!(exchange[0].outcome, Some(Ok(())));
    assert_eq!(exchange[0].statistics.grants, Grants::default());
}

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
fn empty_streams_complete() {
    let mut world = World::new(2, options(), 1);
    let mut exchange = [Exchange::new(1, 0, 0)];
    run(&mut world, &mut exchange, after(SECOND));
    assert_eq!(exchange[0].outcome, Some(Ok(())));
}

#[test]
fn exceeding_the_size_drops_the_deadline() {
    let mut world = World::new(2, options(), 1);
    let mut two = [Exchange::new(1, 500_000, 9), Exchange::new(2, 500_000, 9)];
    for exchange in &mut two {
        exchange.deadline = Some(Span::from_ms(400));
    }
    two[0].announced = 20_000;
    run(&mut world, &mut two, after(SECOND));
    let results = two.map(|exchange| {
        assert_eq!(exchange.outcome, Some(Ok(())));
        let deadline = exchange.statistics.deadline.is_some();
        (
            exchange.statistics.exceeded,
            deadline,
            exchange.statistics.acked,
        )
    });
    assert_eq!(results, [(true, false, 500_000), (false, true, 500_000)]);
}

#[test]
fn short_flows_end_when_finished() {
    let mut world = World::new(2, options(), 1);
    let mut exchange = [Exchange::new(1, 10_000, 2_000)];
    exchange[0].announced = 1_000_000;
    exchange[0].deadline = Some(Span::from_ms(100));
    run(&mut world, &mut exchange, after(SECOND));
    assert_eq!(exchange[0].outcome, Some(Ok(())));
    assert_eq!(
        (
            exchange[0].statistics.acked,
            exchange[0].statistics.exceeded
        ),
        (10_000, false)
    );
}

#[test]
fn idle_flow_returns_its_rates() {
    for routers in [0, 2] {
        let mut world = World::new(2, options(), 1);
        world.set_routers(routers);
        let policy = options().config.host.policy;
        let message = Message::new(1_000_000, None);
        // Only one half-open stream is allowed: no SYN is sent twice.
        world.endpoints[0].listen(2);
        let id = world.endpoints[1]
            .connect(world.now, address(0), message, &policy)
            .unwrap();
        let (mut written, mut reader) = (0, None);
        for round in 0..20 {
            // Long enough to announce idleness, but not for the repair to remove a silent flow.
            let until = world.now + Span::from_ms(2);
            world.run_until(until);
            let ports = |endpoint: &Endpoint| {
                let ports = [endpoint.uplink(), endpoint.downlink().port()];
                ports.map(|port| (port.allocator().flows(), port.allocator().allocated()))
            };
            for endpoint in &world.endpoints {
                assert_eq!(ports(endpoint), [(0, 0); 2], "round {round}");
            }
            for router in world.routers() {
                let (actual, expected) = router.counters();
                assert_eq!((actual, expected), ([0; 3], [0; 3]), "round {round}");
            }
            let delivered = world.delivered;
            let until = world.now + SECOND;
            world.run_until(until);
            // A ping and its reply every two and a half seconds.
            assert!(
                world.delivered - delivered <= 2,
                "{}",
                world.delivered - delivered
            );
            let start = world.now;
            world.endpoints[1].write(start, id, &[7; 10_000]).unwrap();
            written += 10_000;
            while world.endpoints[1].statistics(id).unwrap().acked < written {
                assert!(world.step());
            }
            let now = world.now;
            let server = &mut world.endpoints[0];
            reader = reader.or_else(|| server.accept(now));
            let (stream, _) = reader.expect("the stream is open");
            assert_eq!(server.read(now, stream, &mut vec![0; 20_000]), Ok(10_000));
            // A SYN, a request that receives the fair share, and the bytes.
            let elapsed = world.now.since(start);
            assert!(elapsed < Span::from_us(400), "{elapsed}");
        }
        let until = world.now + SECOND;
        world.run_until(until);
        let before = world.endpoints[1].statistics(id).unwrap().counters;
        // The flow ends without notifying the routers, which have nothing registered for it.
        let now = world.now;
        world.endpoints[1].finish(now, id).unwrap();
        while world.endpoints[1].delivery(id).is_err() {
            assert!(world.step());
        }
        let after = world.endpoints[1].statistics(id).unwrap().counters;
        assert_eq!(before, after);
        assert!(world.now.since(now) < Span::from_us(100));
        assert!(world.routers().all(|router| router.counters().0 == [0; 3]));
    }
}

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

#[test]
fn infeasible_flows_are_quenched() {
    let mut world = World::new(2, options(), 1);
    let quench = Policy {
        quench: true,
        ..options().config.host.policy
    };
    // The deadline has already passed: nothing is sent.
    let mut past = [Exchange::new(1, 1_000, 0)];
    past[0].deadline = Some(Span::ZERO);
    past[0].policy = quench;
    run(&mut world, &mut past, after(SECOND));
    assert_eq!(past[0].outcome, Some(Err(StreamError::Quenched)));
    assert_eq!(world.endpoints[1].totals().sent, 0);

    // Each flow needs two thirds of the link.
    let mut world = World::new(2, options(), 1);
    let mut all = [Exchange::new(1, 650_000, 0), Exchange::new(2, 650_000, 0)];
    for exchange in &mut all {
        exchange.deadline = Some(Span::from_ms(8));
        exchange.policy = quench;
    }
    let services = run(&mut world, &mut all, after(SECOND));
    let count = |wanted| {
        all.iter()
            .filter(|exchange| exchange.outcome == Some(wanted))
            .count()
    };
    let (met, quenched) = (count(Ok(())), count(Err(StreamError::Quenched)));
    assert_eq!((met, quenched), (1, 1));
    let abandoned = services
        .iter()
        .filter(|exchange| exchange.outcome == Some(Err(StreamError::PeerAborted)));
    assert_eq!(abandoned.count(), quenched, "each peer is notified");
}

#[test]
fn infeasible_answer_notifies_the_peer() {
    let mut world = World::new(2, options(), 1);
    let quench = Policy {
        quench: true,
        ..options().config.host.policy
    };
    let message = Message::new(10, None);
    world.endpoints[0].listen(1);
    let now = world.now;
    let id = world.endpoints[1]
        .connect(now, address(0), message, &quench)
        .unwrap();
    world.endpoints[1].write(now, id, b"0123456789").unwrap();
    world.endpoints[1].finish(now, id).unwrap();
    let server = loop {
        assert!(world.step());
        if let Some((server, _)) = world.endpoints[0].accept(world.now) {
            break server;
        }
    };
    let late = Message::new(100_000, Some(world.now));
    let now = world.now;
    assert_eq!(
        world.endpoints[0].open(now, server, late, &quench),
        Err(StreamError::Quenched)
    );
    assert_eq!(
        world.endpoints[0].write(now, server, b"x"),
        Err(StreamError::Quenched)
    );
    let answer = loop {
        assert!(world.step());
        match world.endpoints[1].read(world.now, id, &mut [0; 10]) {
            Err(StreamError::Blocked) => {}
            answer => break answer,
        }
    };
    assert_eq!(answer, Err(StreamError::PeerAborted));
    assert!(world.now < after(Span::from_ms(5)));
}

#[test]
fn deadline_policies_are_per_flow() {
    let mut world = World::new(2, options(), 1);
    let policy = options().config.host.policy;
    let mut all: Vec<Exchange> = (0..12).map(|i| Exchange::new(i, 250_000, 0)).collect();
    for exchange in &mut all {
        exchange.deadline = Some(Span::from_ms(15));
    }
    // This flow is late even with the whole link.
    all[0] = Exchange::new(0, 2_500_000, 0);
    all[0].deadline = Some(Span::from_ms(15));
    all[0].policy = Policy {
        late: Late::Extend,
        late_extension_permille: 2_000,
        ..policy
    };
    for exchange in &mut all[6..] {
        exchange.policy.speculative = true;
        exchange.policy.speculation = Speculation {
            rises: 3,
            growth_permille: 50,
        };
    }
    run(&mut world, &mut all, after(SECOND));
    assert!(
        all[..6]
            .iter()
            .all(|exchange| exchange.outcome == Some(Ok(())))
    );
    let ended = all[6..]
        .iter()
        .filter(|exchange| exchange.outcome == Some(Err(StreamError::Quenched)));
    assert!(ended.count() > 0, "24 ms of data in 15 ms");
    let allowed = |exchange: &Exchange| exchange.statistics.deadline.unwrap();
    assert_eq!(
        allowed(&all[0]).since(allowed(&all[1])),
        Span::from_ms(30),
        "extended once, by twice 15 ms"
    );
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

#[test]
fn paths_beyond_six_hops_deliver() {
    for (routers, hops) in [(1, 2), (5, 6), (8, 6)] {
        let mut world = World::new(2, options(), 1);
        world.set_routers(routers);
        let mut exchange = [Exchange::new(1, 100_000, 100_000)];
        exchange[0].deadline = Some(Span::from_ms(20));
        run(&mut world, &mut exchange, after(SECOND));
        assert_eq!(exchange[0].outcome, Some(Ok(())));
        assert_eq!(exchange[0].statistics.hops, hops, "{routers} routers");
        // Routers beyond the sixth hop receive no requests.
        let reached = world.routers().filter(|router| router.last > Time::ZERO);
        assert_eq!(reached.count(), 2 * routers.min(5));
    }
}
