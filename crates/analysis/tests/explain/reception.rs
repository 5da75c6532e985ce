//! Receive delays of hosts in explanations, demand and description.

use crate::common::*;
use duetime_analysis::demand::Demand;
use duetime_analysis::describe;
use duetime_analysis::explain::{Cause, explain_flow};
use duetime_core::{Span, Time};
use duetime_results::FlowEventKind;
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::{Options, Watch};

const DELAY: Span = Span::from_us(7);

/// Creates one flow over a switch from one host to the other.
fn ping(protocol: Protocol, bytes: u64, deadline: Option<Span>) -> Scenario {
    let flow = flows(&[(Span::ZERO, 0, 1, bytes, deadline)]);
    scenario(chain(&[gigabit(); 2]), protocol, vec![flow])
}

fn receiving(mut scenario: Scenario, jitter: Gap) -> Scenario {
    scenario.host.receive_delay = DELAY;
    scenario.host.receive_jitter = jitter;
    scenario
}

#[test]
fn explanation_separates_reception_and_propagation() {
    for jitter in [Gap::ZERO, Gap::Exponential(Span::from_us(3))] {
        // Packets in sequence, the last of them the data: D3 requests a rate first.
        for (protocol, trips) in [(newreno(), 3), (d3(), 5)] {
            let slow = receiving(ping(protocol, 1_000, None), jitter.clone());
            let options = Options {
                watch: Watch::flow(run(&slow).records.flows[0].flow),
                ..Options::default()
            };
            let output = duetime_sim::run(&slow, 0, 0, &options).expect("the scenario runs");
            let held = output.traces[0].events.iter().filter_map(|event| {
                let FlowEventKind::Received { held, .. } = event.what else {
                    return None;
                };
                assert!(held >= DELAY);
                Some(held)
            });
            let held = held.take(trips).fold(Span::ZERO, |sum, held| sum + held);
            let explanation = explain_flow(&output.records.flows[0], &output.traces[0].events);
            let causes = explanation.by_cause();
            assert_eq!(causes[&Cause::Reception], held, "{causes:?}");
            assert_eq!(
                causes[&Cause::Propagation],
                Span::from_us(40) * trips as u64
            );
            assert!(!causes.contains_key(&Cause::Untraced));
            if jitter == Gap::ZERO {
                assert_eq!(held, DELAY * trips as u64);
            }
        }
    }
}

#[test]
fn demand_includes_receive_delays() {
    let jitter = Gap::Uniform(Span::from_us(2), Span::from_us(30));
    let minimum = DELAY + Span::from_us(2);
    let plain = ping(newreno(), 10_000, None);
    let earliest = |scenario: &Scenario| {
        let network = Network::build(&scenario.topology).expect("a network");
        let demand = Demand::new(scenario, 0, &network).expect("workloads");
        demand.flows[0].earliest
    };
    let described = |scenario: &Scenario| describe(scenario).expect("a scenario");
    let before = (earliest(&plain), described(&plain).topology.base_rtt_ns);
    // The flow alone takes less than this deadline, but not with its host's minimum delay.
    let deadline = before.0.since(Time::ZERO) + Span::from_us(5);
    let plain = ping(newreno(), 10_000, Some(deadline));
    assert!(described(&plain).hopeless.is_empty());
    let slow = receiving(plain, jitter);
    // A lower bound cannot count on the jitter.
    assert_eq!(earliest(&slow).since(before.0), DELAY);
    let after = described(&slow);
    assert_eq!(after.topology.base_rtt_ns - before.1, (minimum * 2).as_ns());
    assert_eq!(after.hopeless.len(), 1);
    assert!(finish(&run(&slow).records, 0) > earliest(&slow));
}
