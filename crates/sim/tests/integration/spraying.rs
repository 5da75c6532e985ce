//! Packet spraying: switches choose among equally short paths for each packet.

use crate::common::*;
use duetime_core::Span;
use duetime_proto::due;
use duetime_results::RunRecords;
use duetime_scenario::model::*;

/// One message of 3 MB between racks that four spines connect.
fn one_message(protocol: Protocol, load_balancing: LoadBalancing) -> RunRecords {
    let list = [(Span::ZERO, 0, 3, 3_000_000, None)];
    let mut scenario = scenario(leaf_spine(2, 2, 4), protocol, vec![flows(&list)]);
    scenario.switch.load_balancing = load_balancing;
    run(&scenario).records
}

/// Returns the packets that each spine carried to the second rack.
fn packets_per_spine(records: &RunRecords) -> Vec<u64> {
    let ports = records.ports.iter();
    let ports = ports.filter(|port| port.link.starts_with("spine") && port.link.ends_with("rack1"));
    ports.map(|port| port.packets).collect()
}

#[test]
fn packets_of_a_flow_spread_evenly_over_equal_paths() {
    let of_flows = packets_per_spine(&one_message(dctcp(), LoadBalancing::Flows));
    assert_eq!(of_flows.len(), 1, "{of_flows:?}");

    let of_packets = packets_per_spine(&one_message(dctcp(), LoadBalancing::Packets));
    let total: u64 = of_packets.iter().sum();
    // 2,055 packets of 1,460 bytes. The standard deviation of a quarter of them is 20.
    assert!(total >= 2_055, "{of_packets:?}");
    let share = total / 4;
    assert_eq!(of_packets.len(), 4, "{of_packets:?}");
    assert!(
        of_packets
            .iter()
            .all(|&packets| packets.abs_diff(share) <= 80),
        "{of_packets:?}"
    );
}

/// Different paths have different queues, so packets overtake others. `due` must not repair what is not lost.
#[test]
fn due_does_not_mistake_reordering_for_loss() {
    let due = Protocol::Due(due::Config::default());
    let mut mixture = mixture(Transport {
        name: "due".into(),
        protocol: due,
        priorities: 1,
    });
    mixture.switch.load_balancing = LoadBalancing::Packets;
    mixture.switch.buffer = Buffer::Unlimited;
    let records = run(&mixture).records;
    let repeated: u32 = records.flows.iter().map(|flow| flow.retransmits).sum();
    assert!(!records.flows.is_empty());
    assert_eq!(repeated, 0);
}

/// D3's routers count a flow at every port of its path, so its packets keep the path.
#[test]
fn flows_of_d3_keep_their_paths() {
    let of_flows = one_message(d3(), LoadBalancing::Flows);
    let of_packets = one_message(d3(), LoadBalancing::Packets);
    assert_same(&of_packets, &of_flows, "d3");
}

#[test]
fn sprayed_runs_do_not_depend_on_threads() {
    for transport in transports() {
        let mut mixture = mixture(transport);
        mixture.switch.load_balancing = LoadBalancing::Packets;
        let alone = run(&mixture).records;
        assert_same_when_split(&mixture, &alone, &[(2, 1), (1, 3), (2, 3)]);
    }
}
