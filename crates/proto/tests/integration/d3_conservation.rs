//! Conservation: without loss, every router's counters equal the sums over its live flows at all times, with every
//! option and over up to six hops, and are zero after all flows have ended. The repair has no effect.

use crate::d3_world::World;
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{BaseRate, Config, Late, Rounding};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Hosts along a line of switches, with paths of two to six ports.
#[derive(Clone, Debug)]
struct Case {
    config: Config,
    /// Latency of each link of the line in us, and its rate in tenths of a gigabit.
    links: Vec<(u64, u64)>,
    /// Switch of each host.
    hosts: Vec<usize>,
    /// (source, destination, bytes, start in us, deadline after start in us).
    flows: Vec<(usize, usize, u64, u64, Option<u64>)>,
}

fn config() -> impl Strategy<Value = Config> {
    let rounding = prop_oneof![
        Just(Rounding::Carry),
        Just(Rounding::CeilFloor),
        Just(Rounding::FloorFloor),
        Just(Rounding::Exact)
    ];
    let base = prop_oneof![
        Just(BaseRate::HeaderOnly),
        Just(BaseRate::Segment(Span::from_us(400)))
    ];
    let late = prop_oneof![Just(Late::FairShare), Just(Late::Extend), Just(Late::Max)];
    (rounding, base, late, any::<[bool; 7]>()).prop_map(|(rounding, base_rate, late, switch)| {
        Config::default().with(|c| {
            c.wire.scale = Some(0);
            c.wire.rounding = rounding;
            c.router.base_rate = base_rate;
            c.host.policy.late = late;
            c.host.policy.quench = switch[0];
            c.host.variant.quench_strict = switch[1];
            c.host.reverse_request = switch[2];
            c.router.repair = switch[3];
            c.router.variant.cap_to_left = switch[4];
            c.router.variant.pause_new = switch[5];
            c.host.policy.speculative = switch[6];
        })
    })
}

fn case() -> impl Strategy<Value = Case> {
    (config(), 1_usize..=5, 2_usize..=8).prop_flat_map(|(config, switches, hosts)| {
        let link = (5_u64..60, 5_u64..20);
        let flow = (
            0..hosts,
            1..hosts,
            prop_oneof![0_u64..3_000, 1_000_u64..200_000],
            0_u64..60_000,
            prop::option::of(200_u64..40_000),
        );
        (
            prop::collection::vec(link, switches - 1),
            prop::collection::vec(0..switches, hosts),
            prop::collection::vec(flow, 1..60),
        )
            .prop_map(move |(links, hosts, flows)| Case {
                config,
                links,
                hosts,
                flows,
            })
    })
}

fn run(case: &Case) -> Result<(), TestCaseError> {
    let mut world = World::new(case.config, 1);
    world.audit = true;
    let gigabit = Rate::from_gbps(1);
    let right: Vec<usize> = case
        .links
        .iter()
        .map(|&(us, rate)| world.port(Rate::from_mbps(100 * rate), Span::from_us(us)))
        .collect();
    let left: Vec<usize> = case
        .links
        .iter()
        .map(|&(us, rate)| world.port(Rate::from_mbps(100 * rate), Span::from_us(us)))
        .collect();
    let latency = Span::from_us(10);
    let hosts: Vec<(usize, usize, usize)> = case
        .hosts
        .iter()
        .map(|&switch| {
            (
                world.host(gigabit, latency),
                switch,
                world.port(gigabit, latency),
            )
        })
        .collect();
    for &(source, offset, bytes, start, deadline) in &case.flows {
        let (source, destination) = (hosts[source], hosts[(source + offset) % hosts.len()]);
        let path = |from: usize, to: usize, last: usize| -> Vec<usize> {
            let mut path: Vec<usize> = if from < to {
                right[from..to].to_vec()
            } else {
                left[to..from].iter().rev().copied().collect()
            };
            path.push(last);
            path
        };
        let start = Time::ZERO + Span::from_us(start);
        world.flow(
            (source.0, destination.0),
            &path(source.1, destination.1, destination.2),
            &path(destination.1, source.1, source.2),
            bytes,
            start,
            deadline.map(|after| start + Span::from_us(after)),
        );
    }
    for step in 1..200 {
        world.run(Time::ZERO + Span::from_ms(step));
        // A host with a late answer counts its request as lost, after which nothing is exact.
        prop_assume!(world.false_losses == 0);
    }
    world.run(Time::ZERO + Span::from_secs(2));
    for (id, flow) in world.flows.iter().enumerate() {
        let sender = flow.sender.as_ref().unwrap();
        prop_assert!(sender.is_closed(), "flow {id}");
        prop_assert!(sender.is_quenched() || flow.finished.is_some(), "flow {id}");
    }
    // The ledger has compared every counter after every request; now all must be zero.
    for (id, port) in world.ports.iter().enumerate() {
        prop_assert_eq!(world.ledger.sum(id), (0, 0, 0));
        let router = &port.allocator;
        prop_assert_eq!(
            (router.flows(), router.demand(), router.allocated()),
            (0, 0, 0)
        );
        prop_assert!(router.is_idle(), "port {} is not idle", id);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        max_shrink_iters: 300,
        max_global_rejects: 60,
        ..ProptestConfig::default()
    })]

    #[test]
    fn counters_equal_sums_over_live_flows(case in case()) {
        run(&case)?;
    }
}
