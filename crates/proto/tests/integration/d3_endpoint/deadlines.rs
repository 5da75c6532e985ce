//! Deadline policies and quenching.

use super::exchange::{Exchange, run};
use super::world::{SECOND, World, address, after, options};
use duetime_core::Span;
use duetime_proto::Message;
use duetime_proto::d3::endpoint::StreamError;
use duetime_proto::d3::{Late, Policy, Speculation};

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
