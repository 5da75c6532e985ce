//! Allocation of rates by hosts and routers, and its return by idle flows.

use super::exchange::{Exchange, run, run_with};
use super::world::{SECOND, World, address, after, options};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::Endpoint;
use duetime_proto::d3::{Allocation, Grants};

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
