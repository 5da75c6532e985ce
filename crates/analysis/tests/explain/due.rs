//! Explanations under `due` name the decisions of the receiver.

use crate::causes::{expired, explained, lossy_flow, time};
use crate::common::*;
use duetime_analysis::explain::{Cause, Stage};
use duetime_core::{Span, Time};
use duetime_proto::due::Config;
use duetime_results::{FlowEvent, FlowEventKind, Timer};
use duetime_scenario::model::{Protocol, Scenario, Topology};

/// Message of a test: source, destination, bytes, and deadline in milliseconds.
type Sent = (u32, u32, u64, Option<u64>);

fn due() -> Protocol {
    Protocol::Due(Config::default())
}

/// Creates a scenario with messages that start together at a star of links of 1 Gbps.
fn together(messages: &[Sent]) -> Scenario {
    let flow = |&(from, to, bytes, deadline): &Sent| {
        (Span::ZERO, from, to, bytes, deadline.map(Span::from_ms))
    };
    let list: Vec<_> = messages.iter().map(flow).collect();
    let topology = Topology::Star {
        hosts: 4,
        link: gigabit(),
    };
    scenario(topology, due(), vec![flows(&list)])
}

#[test]
fn message_with_the_latest_deadline_waits_for_grants() {
    // The first two messages take 4.9 ms on the receiver's link and fill the limit of packets in flight.
    let scenario = together(&[
        (1, 0, 300_000, Some(10)),
        (2, 0, 300_000, Some(20)),
        (3, 0, 60_000, Some(30)),
    ]);
    let (_, _, first) = explained(&scenario, 0);
    assert_eq!(
        time(&first, Cause::Grant),
        Span::ZERO,
        "{:?}",
        first.parts()
    );
    let (flow, _, last) = explained(&scenario, 2);
    assert_eq!(flow.met(), Some(true));
    let waited = time(&last, Cause::Grant);
    assert!(waited > Span::from_ms(2), "{:?}", last.parts());
    let stages = last.by_stage();
    assert!(stages[&Stage::Grant] > waited && !stages.contains_key(&Stage::Postponed));
}

#[test]
fn postponed_message_is_named() {
    // Only one of the messages can be in time; the longer one is postponed.
    let scenario = together(&[(1, 0, 300_000, Some(3)), (2, 0, 370_000, Some(4))]);
    let (flow, _, postponed) = explained(&scenario, 1);
    assert_eq!(flow.met(), Some(false));
    let stages = postponed.by_stage();
    assert!(stages[&Stage::Postponed] > Span::from_ms(2), "{stages:?}");
    // A message without a deadline cannot be postponed.
    let scenario = together(&[(1, 0, 300_000, Some(3)), (2, 0, 370_000, None)]);
    let (_, _, background) = explained(&scenario, 1);
    let stages = background.by_stage();
    assert!(stages[&Stage::Grant] > Span::from_ms(2), "{stages:?}");
    assert!(!stages.contains_key(&Stage::Postponed));
}

#[test]
fn source_that_sends_more_urgent_messages_is_its_nic() {
    let scenario = together(&[(1, 0, 300_000, Some(10)), (1, 2, 60_000, Some(20))]);
    let (_, _, second) = explained(&scenario, 1);
    assert!(
        time(&second, Cause::Nic) > Span::from_ms(2),
        "{:?}",
        second.parts()
    );
    assert_eq!(time(&second, Cause::Grant), Span::ZERO);
}

#[test]
fn lost_packets_wait_for_the_receivers_request() {
    let requested = |events: &[FlowEvent]| {
        let requests = events.iter().filter_map(|event| match event.what {
            FlowEventKind::ResendRequested { from, .. } => Some((event.at, from)),
            _ => None,
        });
        requests.collect::<Vec<(Time, u64)>>()
    };
    // The last of three packets is lost, so the receiver requests it after four round trips of silence.
    let payload = Config::default().payload();
    let (_, explanation) = lossy_flow(due(), 3 * payload, 0.1, |events| {
        let requests = requested(events);
        expired(events, Timer::Announcement) == 0
            && requests.len() == 1
            && requests[0].1 == 2 * payload
    });
    let waited = time(&explanation, Cause::Resend);
    assert!(waited > Span::from_us(4 * 80), "{:?}", explanation.parts());
    assert!(explanation.by_stage()[&Stage::Loss] > waited);
    // The first packet is lost, so the source repeats the announcement.
    let (events, explanation) = lossy_flow(due(), payload, 0.1, |events| {
        expired(events, Timer::Announcement) == 1
    });
    let repeated = FlowEventKind::Timer(Timer::Announcement);
    let repeated = events.iter().find(|event| event.what == repeated);
    let waited = time(&explanation, Cause::Timer(Timer::Announcement));
    assert_eq!(Some(Time::ZERO + waited), repeated.map(|event| event.at));
}
