//! Many flows over ports with queues and loss.

use super::host::{GIGABIT, us};
use crate::d3_world::{World, star};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Span, Time};
use duetime_proto::d3::{Config, Late, QueueSample};

#[test]
fn d3_without_deadlines_is_rcpdc() {
    let d3 = Config::default().with(|c| {
        c.wire.scale = Some(0);
        c.host.policy.late = Late::Max;
        c.host.policy.quench = true;
    });
    let rcpdc = d3.with(|c| c.host.ignore_deadlines = true);
    assert_eq!(outcome(mixed(d3, false)), outcome(mixed(rcpdc, false)));
    assert_eq!(outcome(mixed(d3, false)), outcome(mixed(rcpdc, true)));
    assert_ne!(outcome(mixed(d3, true)), outcome(mixed(rcpdc, true)));
}

#[test]
fn every_flow_ends_under_loss() {
    for (seed, loss) in [(1, 0.0), (2, 0.01), (3, 0.05), (4, 0.2)] {
        for queue_sample in [QueueSample::Smallest, QueueSample::Instant] {
            let config = Config::default().with(|c| {
                c.wire.scale = Some(0);
                c.router.variant.queue_sample = queue_sample;
                c.host.policy.quench = seed % 2 == 0;
            });
            let (mut world, down) = star(config, seed, 9, GIGABIT, Span::from_us(40));
            world.loss = loss;
            for port in &mut world.ports {
                port.limit = 20_000;
            }
            let mut stream = Streams::new(seed, 0).stream(0, Purpose::Size);
            for _ in 0..100 {
                let (source, bytes) = (stream.between(1, 8) as usize, stream.between(0, 150_000));
                let start = us(stream.below(20_000));
                let deadline = stream
                    .chance(0.5)
                    .then_some(start + Span::from_ms(stream.between(1, 20)));
                world.flow(
                    (source, 0),
                    &[down[0]],
                    &[down[source]],
                    bytes,
                    start,
                    deadline,
                );
            }
            world.run(Time::ZERO + Span::from_secs(60));
            let mut unfinished = 0;
            for (id, flow) in world.flows.iter().enumerate() {
                let sender = flow.sender.as_ref().unwrap();
                assert!(sender.is_closed(), "flow {id} at loss {loss}");
                unfinished += u32::from(flow.finished.is_none() && !sender.is_quenched());
            }
            assert!(unfinished == 0, "{unfinished} at loss {loss}");
        }
    }
}

/// Returns the bytes sent by all ports and the end times of all flows.
fn outcome(mut world: World) -> (Vec<u64>, Vec<Option<Time>>) {
    world.run(Time::ZERO + Span::from_ms(300));
    let sent = world.ports.iter().map(|port| port.sent_total).collect();
    (sent, world.flows.iter().map(|flow| flow.finished).collect())
}

fn mixed(config: Config, deadlines: bool) -> World {
    let (mut world, down) = star(config, 4, 9, GIGABIT, Span::from_us(40));
    world.loss = 0.002;
    let mut stream = Streams::new(4, 0).stream(0, Purpose::Size);
    for _ in 0..200 {
        let (source, bytes) = (stream.between(1, 8) as usize, stream.between(0, 100_000));
        let start = us(stream.below(100_000));
        let deadline = start + Span::from_us(stream.between(300, 30_000));
        world.flow(
            (source, 0),
            &[down[0]],
            &[down[source]],
            bytes,
            start,
            deadlines.then_some(deadline),
        );
    }
    world
}
