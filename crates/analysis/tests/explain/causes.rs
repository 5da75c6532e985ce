//! Explanations name the sender state that caused each wait.

use crate::common::*;
use duetime_analysis::explain::{Activity, Cause, Explanation, Stage, Tree, explain_flow};
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_proto::{d3, tcp};
use duetime_results::{FlowEvent, FlowEventKind, FlowRecord, QueryRecord, Timer};
use duetime_scenario::model::*;
use duetime_sim::{Options, Watch};
use std::collections::BTreeMap;

/// Returns the flow with this index, its events and its explanation.
pub fn explained(scenario: &Scenario, index: usize) -> (FlowRecord, Vec<FlowEvent>, Explanation) {
    let flow = run(scenario).records.flows[index].clone();
    let options = Options {
        watch: Watch::flow(flow.flow),
        ..Options::default()
    };
    let mut output = duetime_sim::run(scenario, 0, 0, &options).expect("the scenario runs");
    let events = output.traces.remove(0).events;
    let explanation = explain_flow(&flow, &events);
    let known = |cause: &Cause| !matches!(cause, Cause::Host | Cause::Untraced);
    let causes = explanation.by_cause();
    assert!(causes.keys().all(known), "{causes:?}");
    (flow, events, explanation)
}

pub fn time(explanation: &Explanation, cause: Cause) -> Span {
    let causes = explanation.by_cause();
    causes.get(&cause).copied().unwrap_or_default()
}

pub fn expired(events: &[FlowEvent], timer: Timer) -> u64 {
    let wanted = FlowEventKind::Timer(timer);
    events.iter().filter(|event| event.what == wanted).count() as u64
}

/// Returns the trace of a flow over two lossy links, with the first seed for which `wanted` accepts the events.
pub fn lossy_flow(
    protocol: Protocol,
    bytes: u64,
    loss: f64,
    wanted: impl Fn(&[FlowEvent]) -> bool,
) -> (Vec<FlowEvent>, Explanation) {
    let list = [(Span::ZERO, 0, 1, bytes, None)];
    let topology = lossy(chain(&[gigabit(); 2]), loss);
    let mut scenario = scenario(topology, protocol, vec![flows(&list)]);
    scenario.drain = Span::from_secs(100);
    let mut found = (1..2_000).filter_map(|seed| {
        scenario.seed = seed;
        let (flow, events, explanation) = explained(&scenario, 0);
        (flow.finish.is_some() && wanted(&events)).then_some((events, explanation))
    });
    found.next().expect("a seed with these timers")
}

#[test]
fn lost_syn_waits_for_the_handshake_timer() {
    for (protocol, wait) in [
        (newreno(), tcp::Config::default().rto_initial),
        (linux(), tcp::Config::default().rto_initial),
        (d3(), d3::Config::default().host.rto_min),
    ] {
        let trips = if protocol == d3() { 5 } else { 3 };
        let (_, explanation) = lossy_flow(protocol, 1_000, 0.1, |events| {
            expired(events, Timer::Handshake) == 1
                && expired(events, Timer::Retransmission) == 0
                && expired(events, Timer::Request) == 0
        });
        assert_eq!(time(&explanation, Cause::Timer(Timer::Handshake)), wait);
        let propagation = Span::from_us(40) * trips;
        assert_eq!(time(&explanation, Cause::Propagation), propagation);
        let handshake = explanation.by_stage()[&Stage::Handshake];
        assert!(handshake >= wait + Span::from_us(80));
    }
}

#[test]
fn lost_segments_wait_for_their_timers() {
    // The only segment is lost: modern TCP sends a probe, older TCP waits for its timeout.
    let (_, explanation) = lossy_flow(linux(), 1_000, 0.1, |events| {
        expired(events, Timer::TailLossProbe) == 1 && expired(events, Timer::Handshake) == 0
    });
    let probe = time(&explanation, Cause::Timer(Timer::TailLossProbe));
    assert!(probe > Span::from_us(100), "{explanation:#?}");
    assert!(explanation.by_stage()[&Stage::Loss] >= probe);
    let (events, explanation) = lossy_flow(newreno(), 1_000, 0.2, |events| {
        expired(events, Timer::Retransmission) == 2 && expired(events, Timer::Handshake) == 0
    });
    let sent = events.iter().filter_map(|event| match event.what {
        FlowEventKind::Sent { len: 1.., .. } => Some(event.at),
        _ => None,
    });
    let sent: Vec<Time> = sent.collect();
    assert_eq!(
        time(&explanation, Cause::Timer(Timer::Retransmission)),
        sent[2].since(sent[0])
    );
    let propagation = Span::from_us(40) * 3;
    assert_eq!(time(&explanation, Cause::Propagation), propagation);
    // RACK waits for reordering before it retransmits.
    let (_, explanation) = lossy_flow(linux(), 3 * 1_460, 0.1, |events| {
        expired(events, Timer::Reordering) == 1
            && expired(events, Timer::TailLossProbe) == 0
            && expired(events, Timer::Handshake) == 0
            && expired(events, Timer::Retransmission) == 0
    });
    let reordering = time(&explanation, Cause::Timer(Timer::Reordering));
    assert!(reordering > Span::ZERO, "{explanation:#?}");
}

#[test]
fn delayed_acknowledgement_is_a_receiver_timer() {
    let config = tcp::Config {
        initial_window: 1,
        delayed_ack: 2,
        delayed_ack_timeout: Span::from_ms(3),
        ..tcp::Config::default()
    };
    let list = [(Span::ZERO, 0, 1, 2 * 1_460, None)];
    let scenario = scenario(
        chain(&[gigabit(); 2]),
        Protocol::Tcp(config),
        vec![flows(&list)],
    );
    let (_, _, explanation) = explained(&scenario, 0);
    let parts = explanation.parts();
    let delayed = (Stage::Window, Cause::Timer(Timer::DelayedAck));
    assert_eq!(parts[&delayed], Span::from_ms(3));
    assert_eq!(time(&explanation, Cause::Receiver), Span::ZERO);
}

#[test]
fn send_jitter_is_distinguished_from_the_nic() {
    // Two flows of one host alternate at its NIC. The second starts while the first one's packet is in transmission.
    let list = [
        (Span::ZERO, 0, 1, 40_000, None),
        (Span::from_us(100), 0, 2, 20_000, None),
    ];
    let topology = Topology::Star {
        hosts: 3,
        link: gigabit(),
    };
    let mut scenario = scenario(topology, newreno(), vec![flows(&list)]);
    for jitter in [Span::ZERO, Span::from_ns(200)] {
        scenario.host.send_jitter = jitter;
        let (_, events, explanation) = explained(&scenario, 1);
        assert!(
            events
                .iter()
                .any(|event| event.what == FlowEventKind::Ready)
        );
        let nic = time(&explanation, Cause::Nic);
        assert!(nic > Span::from_us(10), "{explanation:#?}");
        let delayed = time(&explanation, Cause::SendJitter);
        assert_eq!(delayed == Span::ZERO, jitter == Span::ZERO, "{delayed}");
        // The flow's own packets count as transmission, also with jitter.
        let delivery = explanation.by_stage()[&Stage::Delivery];
        assert!(delivery < Span::from_us(400), "{explanation:#?}");
    }
}

#[test]
fn earlier_messages_of_a_connection_are_named() {
    // Two connections of a host alternate at its NIC.
    let config = tcp::Config {
        initial_window: 60,
        ..tcp::Config::default()
    };
    let kinds = [1, 2].map(|to| {
        let later = (Span::from_us(250), 0, 1, 1_000, None);
        let first = (Span::ZERO, 0, to, 80_000, None);
        flows(&[first, later][..if to == 1 { 2 } else { 1 }])
    });
    let topology = Topology::Star {
        hosts: 3,
        link: link(Rate::from_gbps(1), Span::from_ns(100)),
    };
    let mut scenario = scenario(topology, Protocol::Tcp(config), kinds.into());
    scenario.workloads[0].connection = Connection::Persistent;
    let flows = run(&scenario).records.flows;
    let flow = flows.iter().find(|flow| flow.size_bytes == 1_000).unwrap();
    let options = Options {
        watch: Watch::flow(flow.flow),
        ..Options::default()
    };
    let output = duetime_sim::run(&scenario, 0, 0, &options).expect("the scenario runs");
    let events = &output.traces[0].events;
    let behind = |event: &FlowEvent| event.what == FlowEventKind::Behind;
    assert!(events.iter().any(behind));
    let explanation = explain_flow(flow, events);
    assert_eq!(time(&explanation, Cause::Host), Span::ZERO);
    // The wait lasts until the turn of the flow's first own packet; later packets are followed.
    let earlier = time(&explanation, Cause::EarlierMessages);
    assert!(earlier > Span::ZERO, "{explanation:#?}");
    assert!(earlier <= Span::from_us(24), "{explanation:#?}");
}

#[test]
fn pauses_of_d3_are_named() {
    // Fifteen flows that each need the whole link: most are paused and back off.
    let config = d3::Config::default().with(|c| c.host.request_backoff = 4);
    let due = Some(Span::from_us(1_500));
    let list: Vec<_> = (1..16)
        .map(|host| (Span::from_us(u64::from(host)), host, 0, 60_000, due))
        .collect();
    let topology = Topology::Star {
        hosts: 16,
        link: gigabit(),
    };
    let scenario = scenario(topology, Protocol::D3(config), vec![flows(&list)]);
    let mut paused = Span::ZERO;
    for index in 0..list.len() {
        let (_, events, explanation) = explained(&scenario, index);
        let waited = time(&explanation, Cause::Timer(Timer::Pause));
        if expired(&events, Timer::Pause) > 0 {
            let parts = explanation.parts();
            let pause = (Stage::Pause, Cause::Timer(Timer::Pause));
            assert_eq!(parts.get(&pause).copied().unwrap_or_default(), waited);
        }
        paused += waited;
    }
    assert!(paused > Span::from_ms(1), "{paused}");
}

/// Creates trees of two layers whose leaves compute for up to several milliseconds, with hedges after 0.7 ms or retries
/// after 1.4 ms, and aggregators that compute for 300 us. Hosts take 5 us plus a random time to receive a packet.
fn service(transport: Transport, hedges: bool) -> Scenario {
    let mut scenario = mixture(transport);
    scenario.workloads.truncate(1);
    scenario.host.receive_delay = Span::from_us(5);
    scenario.host.receive_jitter = Gap::Exponential(Span::from_us(2));
    let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind else {
        unreachable!("the first workload is a tree");
    };
    oldi.applications = 1;
    oldi.fan_in = vec![2, 3];
    oldi.layer_share = vec![1.0, 0.5];
    oldi.response = vec![bytes(2_000)];
    oldi.deadline = vec![Deadline::None];
    oldi.query = Bytes(200);
    oldi.compute = Gap::LogNormal {
        median: Span::from_us(300),
        sigma: 1.5,
    };
    oldi.aggregate_compute = Gap::Fixed(Span::from_us(300));
    oldi.hedge = hedges.then_some(Hedge {
        after: HedgeAfter::Time(Span::from_us(700)),
        cancel: true,
        samples: 10,
        window: 50,
    });
    oldi.retry = (!hedges).then_some(Retry {
        timeout: Span::from_us(1_400),
        times: 3,
        at: RetryAt::Other,
        cancel: true,
    });
    scenario
}

/// Returns the time of all explained queries by activity. Hops and queues are combined.
fn activities(scenario: &Scenario, queries: &[QueryRecord]) -> BTreeMap<Activity, Span> {
    let mut sums = BTreeMap::new();
    for query in queries {
        let options = Options {
            watch: Watch::Query(query.query),
            ..Options::default()
        };
        let output = duetime_sim::run(scenario, 0, 0, &options).expect("the scenario runs");
        let tree = Tree::new(query, &output.records.flows, &output.traces);
        let explanation = tree.explain(query.enough);
        let sum = explanation.parts().into_values();
        let sum = sum.fold(Span::ZERO, |sum, part| sum + part);
        assert_eq!(Some(query.start + sum), query.enough);
        for ((_, activity), part) in explanation.parts() {
            let activity = match activity {
                Activity::Down(_, cause) => Activity::Down(Stage::Delivery, cause),
                Activity::Up(_, cause) => Activity::Up(Stage::Delivery, cause),
                other => other,
            };
            *sums.entry(activity).or_default() += part;
        }
        let unknown = [Activity::Parent, Activity::Untraced, Activity::Pending];
        assert!(unknown.iter().all(|activity| !sums.contains_key(activity)));
    }
    sums
}

#[test]
fn waits_of_a_service_are_named() {
    let selected =
        |transport: &Transport| ["tcp", "linux", "d3"].contains(&transport.name.as_str());
    for transport in transports().into_iter().filter(selected) {
        for hedges in [true, false] {
            let case = format!("{}, hedges: {hedges}", transport.name);
            let scenario = service(transport.clone(), hedges);
            let mut queries = run(&scenario).records.queries;
            queries.retain(|query| query.enough.is_some());
            queries.truncate(10);
            let sums = activities(&scenario, &queries);
            let spent = |activity| sums.get(&activity).copied().unwrap_or_default();
            assert_eq!(spent(Activity::Hedging) > Span::ZERO, hedges, "{case}");
            assert_eq!(spent(Activity::Retrying) > Span::ZERO, !hedges, "{case}");
            // One aggregator on each path computes; each jitter is below the time of one packet.
            let count = queries.len() as u64;
            assert_eq!(
                spent(Activity::Aggregating),
                Span::from_us(300) * count,
                "{case}"
            );
            assert!(spent(Activity::Computing) > Span::ZERO, "{case}");
            for jitter in [spent(Activity::QueryJitter), spent(Activity::AnswerJitter)] {
                assert!(jitter > Span::ZERO, "{case}");
                assert!(jitter < Span::from_us(2 * 12) * count, "{case}: {jitter}");
            }
            // SYN, SYN-ACK and data of both queries and both answers.
            let delay = Span::from_us(5) * (2 * 3 * count);
            for received in [
                spent(Activity::Down(Stage::Delivery, Cause::Reception)),
                spent(Activity::Up(Stage::Delivery, Cause::Reception)),
            ] {
                assert!(received > delay, "{case}: {received} of {delay}");
            }
            for unknown in [Cause::Host, Cause::Untraced, Cause::Receiver] {
                let unexplained = [
                    spent(Activity::Down(Stage::Delivery, unknown)),
                    spent(Activity::Up(Stage::Delivery, unknown)),
                ];
                assert_eq!(unexplained, [Span::ZERO; 2], "{case}: {unknown:?}");
            }
        }
    }
}
