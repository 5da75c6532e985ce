//! Delivery on a network without faults.

use super::exchange::{Exchange, run};
use super::world::{SECOND, World, after, options};
use duetime_core::Span;

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
