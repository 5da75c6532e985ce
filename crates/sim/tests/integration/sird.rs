//! SIRD in whole runs: loss, and the ports that mark.

use crate::common::{
    assert_conserved, assert_same_when_split, flows, leaf_spine, lossy, mixture, run, scenario,
    shallow, whole,
};
use duetime_core::Span;
use duetime_proto::sird::Config;
use duetime_scenario::model::*;

fn sird() -> Transport {
    Transport {
        name: "sird".into(),
        protocol: Protocol::Sird(Config::default()),
        priorities: 2,
    }
}

#[test]
fn every_message_ends_with_loss() {
    let mut scenario = mixture(sird());
    scenario.topology = lossy(scenario.topology, 0.01);
    let output = run(&scenario);
    assert_same_when_split(&scenario, &output.records, &[(2, 1)]);
    let records = whole(output);
    assert!(records.flows.len() > 50);
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(records.flows.iter().any(|flow| flow.retransmits > 0));
    assert_conserved(&records, "1 % loss");
}

/// Returns the links with marks in a run of four flows to host 0, which fill its link, and later three flows from rack 1
/// to as many hosts of rack 2, which fill the uplink. All links have 1 Gbps. `own` is the transport of more such flows.
fn marked_links(own: Option<Protocol>) -> Vec<String> {
    let to_host = [1, 2, 3, 4].map(|host| (Span::ZERO, host, 0, 20_000, None));
    let across = [(5, 10), (6, 11), (7, 12)]
        .map(|(from, to)| (Span::from_ms(10), from, to, 2_000_000, None));
    let all = [&to_host[..], &across].concat();
    let mut scenario = scenario(leaf_spine(3, 5, 1), sird().protocol, vec![flows(&all)]);
    if let Topology::LeafSpine {
        uplink, host_link, ..
    } = &mut scenario.topology
    {
        uplink.rate = host_link.rate;
    }
    scenario.transports = vec![sird()];
    scenario.switch = shallow();
    scenario.switch.ecn_threshold[0].1 = Amount::Packets(5);
    scenario.switch.buffer = Buffer::Unlimited;
    if let Some(protocol) = own {
        let mut other = scenario.workloads[0].clone();
        other.transport = Some(Transport {
            name: "own".into(),
            protocol,
            priorities: 1,
        });
        scenario.workloads.push(other);
    }
    let records = run(&scenario).records;
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    let marked = records.ports.iter().filter(|port| port.marks > 0);
    marked.map(|port| port.link.clone()).collect()
}

#[test]
fn ports_to_hosts_mark_only_for_other_transports() {
    let links = marked_links(None);
    assert!(
        links.iter().any(|link| link == "rack1->spine0"),
        "{links:?}"
    );
    assert!(links.iter().all(|link| !link.contains("host")), "{links:?}");
    let links = marked_links(Some(crate::common::dctcp()));
    assert!(links.iter().any(|link| link == "rack0->host0"), "{links:?}");
}
