//! Test of the bound over several links against brute force.

use super::{scenario, seeds};
use duetime_analysis::bound::RunBound;
use duetime_analysis::demand::Demand;
use duetime_analysis::fluid::{Job, is_feasible};
use duetime_core::Time;
use duetime_core::random::{Purpose, Streams};
use duetime_sim::topology::Network;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Up to ten flows between four hosts. Brute force tries every set of flows, with each link separately.
#[test]
fn bound_does_not_exceed_brute_force() {
    let (mut equal, mut late) = (0, 0);
    for seed in seeds(400) {
        let mut draw = Streams::new(seed, 2).stream(0, Purpose::Fault);
        let mut text = String::from(
            r#"
            transport = ["tcp"]
            duration = "10 ms"
            [topology]
            kind = "leaf-spine"
            racks = 2
            hosts_per_rack = 2
            host_link = { rate = "1 Gbps", latency = "5 us" }
            uplink = { rate = "1 Gbps", latency = "5 us" }
            "#,
        );
        for _ in 0..draw.between(2, 10) {
            let ends = draw.permutation(4);
            let (size, at) = (draw.between(1, 40), draw.between(0, 200));
            write!(
                text,
                r#"
                [[workload]]
                kind = "burst"
                senders = 1
                from = [{}]
                receiver = {}
                size = "{size} KB"
                at = "{at} us"
                deadline = "{} us"
                "#,
                ends[0],
                ends[1],
                size * 8 + draw.between(0, 400),
            )
            .expect("a string takes all");
        }
        let scenario = scenario(&text);
        let network = Network::build(&scenario.topology).expect("a network");
        let best = RunBound::of(&scenario, 0, &network)
            .expect("it can be set up")
            .all
            .expect("has deadlines");
        let demand = Demand::new(&scenario, 0, &network).expect("it can be set up");
        let optimum = brute_force(&demand);
        assert!(
            best.late <= optimum,
            "DUETIME_SEEDS={seed}..{}: {} > {optimum}",
            seed + 1,
            best.late
        );
        equal += usize::from(best.late == optimum);
        late += usize::from(optimum > 0);
    }
    if std::env::var("DUETIME_SEEDS").is_err() {
        assert!(late > 100 && equal > 200, "{late} {equal}");
    }
}

/// Returns the minimum number of late flows for which the remaining flows fit on every link.
fn brute_force(demand: &Demand) -> u64 {
    let flows = demand.flows.len();
    let fits = |set: u32| {
        let mut links: BTreeMap<usize, Vec<Job>> = BTreeMap::new();
        for flow in (0..flows)
            .filter(|flow| set >> flow & 1 == 1)
            .map(|flow| &demand.flows[flow])
        {
            if flow.is_infeasible() {
                return false;
            }
            for crossing in demand.crossings(flow) {
                let job = Job {
                    arrival: flow.message.submitted + crossing.before,
                    bytes: flow.wire_bytes,
                    deadline: flow
                        .message
                        .deadline
                        .map(|due| Time::ZERO + due.since(Time::ZERO + crossing.after)),
                };
                links.entry(crossing.link).or_default().push(job);
            }
        }
        links
            .iter()
            .all(|(&link, jobs)| is_feasible(demand.links()[link].rate, jobs))
    };
    let most = (0u32..1 << flows)
        .filter(|&set| fits(set))
        .map(u32::count_ones)
        .max();
    flows as u64 - u64::from(most.unwrap_or(0))
}
