//! Converts a scenario to the testbed's network and to the configuration of the software switch.

use duetime_core::random::Streams;
use duetime_link::Limit;
use duetime_proto::d3::Allocation;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Buffer, Oldi, Servers};
use duetime_sim::topology::Network;
use duetime_sim::{limit_of, mark_at};
use duetime_switch::{
    Config, End, InterfaceConfig, LinkConfig, NodeConfig, Options, PortChoice, PortConfig,
    Sampling, SharedBufferConfig,
};

use crate::LabError;
use crate::linux::socket;
use crate::linux::transport::{self, Stack};

/// Maximum number of hosts. Each is a namespace with an interface, and one thread serves all of them.
pub const MAX_HOSTS: u32 = 32;

/// Maximum number of frames in the switch, where the windows of all flows queue.
const BUFFERS: usize = 1 << 16;
/// Maximum number of samples per port.
const SAMPLES: usize = 1 << 20;

/// Builds the network, or returns an error if the testbed does not support the scenario.
pub fn network(scenario: &Scenario) -> Result<Network, LabError> {
    let hosts = scenario.topology.hosts();
    if hosts > MAX_HOSTS {
        return unsupported(format!(
            "it has {hosts} hosts; at most {MAX_HOSTS} are supported"
        ));
    }
    let network = Network::build(&scenario.topology)?;
    // Check that the simulator's routes exist.
    duetime_sim::routing::Routing::build(&network)?;
    if let Some(name) = scenario.record.pcap.first() {
        return unsupported(format!(
            "`record.pcap` names {name}; use `duetime lab shell HOST -- tcpdump`"
        ));
    }
    if scenario.host.servers != Servers::Unlimited {
        return unsupported(
            "`host.servers` has slots, which the testbed does not support; remove it".to_owned(),
        );
    }
    let cancels = |oldi: &Oldi| {
        oldi.hedge.is_some_and(|hedge| hedge.cancel)
            || oldi.retry.is_some_and(|retry| retry.cancel)
            || oldi.cancel_spares
    };
    let mut workloads = scenario.workloads.iter();
    if let Some(workload) = workloads.find(|workload| workload.oldi().is_some_and(cancels)) {
        return unsupported(format!(
            "workload `{}` cancels answers, which the testbed does not support; `cancel` must be false",
            workload.name
        ));
    }
    Ok(network)
}

fn unsupported<T>(reason: String) -> Result<T, LabError> {
    Err(LabError::Unsupported(reason))
}

/// Returns the name of a host's interface in the switch's namespace.
pub fn interface(host: u32) -> String {
    format!("to{host}")
}

/// Returns the link-layer address of a host.
pub fn mac(host: u32) -> [u8; 6] {
    let [_, _, high, low] = socket::address(host).octets();
    [0x02, 0, 0, 0, high, low]
}

/// Returns the switch configuration for the stacks of a run, with random losses from `streams`. The switch reads a
/// packet's class from its IP precedence.
pub fn switch(
    scenario: &Scenario,
    network: &Network,
    stacks: &[Stack],
    streams: Streams,
    real_time: bool,
) -> Config {
    let hosts = network.hosts();
    let classes = usize::from(transport::classes(scenario, stacks));
    let d3 = stacks.iter().find_map(Stack::d3).map(|stack| stack.config);
    let has_routers = d3.is_some_and(|d3| d3.router.allocation == Allocation::Routers);
    let limit = match scenario.switch.buffer {
        Buffer::Static(amount) => limit_of(amount),
        Buffer::Unlimited | Buffer::Dynamic { .. } => Limit::Unlimited,
    };
    let shared_buffer = match scenario.switch.buffer {
        Buffer::Dynamic { pool, alpha } => Some(SharedBufferConfig {
            bytes: pool.0,
            alpha,
        }),
        Buffer::Static(_) | Buffer::Unlimited => None,
    };
    let distances: Vec<Vec<u32>> = (0..hosts)
        .map(|host| distances(network, network.switch_of(host)))
        .collect();
    let node = |node: u32| {
        // Outgoing links of the node, in the order of the network.
        let links: Vec<u32> = (0..network.links.len() as u32)
            .filter(|&link| network.links[link as usize].from == node)
            .collect();
        let port = |&link: &u32| {
            let link = &network.links[link as usize];
            let mark_at = mark_at(&scenario.switch.ecn_threshold, link.rate);
            PortConfig {
                rate: link.rate,
                latency: link.latency,
                loss: link.loss,
                limit,
                mark_at: (mark_at != Limit::Unlimited).then_some(mark_at),
                classes,
                d3: has_routers,
                to: match link.to.checked_sub(hosts) {
                    None => End::Interface(link.to as usize),
                    Some(switch) => End::Node(switch as usize),
                },
            }
        };
        let next_ports = |host: u32| {
            let distances = &distances[host as usize];
            let is_next = |to: u32| {
                if network.switch_of(host) == node {
                    to == host
                } else {
                    to >= hosts && distances[to as usize] + 1 == distances[node as usize]
                }
            };
            let ports = links.iter().enumerate();
            let ports: Vec<usize> = ports
                .filter(|(_, link)| is_next(network.links[**link as usize].to))
                .map(|(port, _)| port)
                .collect();
            match ports[..] {
                [port] => PortChoice::One(port),
                _ => PortChoice::Hashed(ports),
            }
        };
        NodeConfig {
            name: network.nodes[node as usize].name.clone(),
            ports: links.iter().map(port).collect(),
            next_port: (0..hosts).map(next_ports).collect(),
            shared_buffer,
        }
    };
    let interface = |host: u32| {
        let uplink = &network.links[network.uplink[host as usize] as usize];
        InterfaceConfig {
            name: interface(host),
            host: network.nodes[host as usize].name.clone(),
            address: Some(socket::address(host)),
            mac: Some(mac(host)),
            node: (uplink.to - hosts) as usize,
            uplink: LinkConfig {
                rate: uplink.rate,
                latency: uplink.latency,
                loss: uplink.loss,
                limit: Limit::Unlimited,
                classes,
            },
        }
    };
    Config {
        nodes: (hosts..network.nodes.len() as u32).map(node).collect(),
        interfaces: (0..hosts).map(interface).collect(),
        options: Options {
            overhead_bytes: scenario.host.frame_overhead,
            d3: d3.unwrap_or_default(),
            sampling: scenario.record.every.map(|every| Sampling {
                every,
                keep: SAMPLES,
            }),
            streams,
            buffers: BUFFERS,
            real_time,
            ..Options::default()
        },
    }
}

/// Returns the number of links from each node to `to`, through switches only, or `u32::MAX` without a path.
fn distances(network: &Network, to: u32) -> Vec<u32> {
    let hosts = network.hosts();
    let mut distances = vec![u32::MAX; network.nodes.len()];
    distances[to as usize] = 0;
    let mut reached = std::collections::VecDeque::from([to]);
    while let Some(node) = reached.pop_front() {
        // Links come in pairs, so the outgoing links of a node lead to the nodes with a link to it.
        for link in network.links.iter().filter(|link| link.from == node) {
            if link.to >= hosts && distances[link.to as usize] == u32::MAX {
                distances[link.to as usize] = distances[node as usize] + 1;
                reached.push_back(link.to);
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::{Rate, Span};
    use duetime_scenario::{NoFiles, load};

    fn scenario(topology: &str) -> Scenario {
        let text = format!(
            "name = \"plan\"\ntransport = \"dctcp\"\n{topology}\n[[workload]]\nkind = \"permutation\"\nsize = \"10 KB\"\n"
        );
        load(&text, "plan.toml", &[], &NoFiles).expect("a scenario")
    }

    const LEAF_SPINE: &str = r#"
        [topology]
        kind = "leaf-spine"
        racks = 2
        hosts_per_rack = 3
        spines = 2
        host_link = { rate = "100 Mbps", latency = "20 us" }
        uplink = { rate = "400 Mbps", latency = "10 us" }
        [switch]
        buffer = "4 MB"
        ecn_threshold = "30 KB"
    "#;

    #[test]
    fn racks_spread_flows_over_spines() {
        let scenario = scenario(LEAF_SPINE);
        let network = network(&scenario).expect("the testbed can");
        let config = switch(&scenario, &network, &[], Streams::new(1, 0), false);
        config.check().expect("accepted");
        assert_eq!(config.interfaces.len(), 6);
        assert_eq!(config.nodes.len(), 4);
        let rack = &config.nodes[0];
        assert_eq!(rack.name, "rack0");
        assert!(
            matches!(&rack.next_port[0], PortChoice::One(port) if rack.ports[*port].to == End::Interface(0))
        );
        assert!(matches!(&rack.next_port[5], PortChoice::Hashed(ports) if ports.len() == 2));
        let spine = &config.nodes[2];
        assert!(
            matches!(&spine.next_port[5], PortChoice::One(port) if spine.ports[*port].to == End::Node(1))
        );
        for port in &rack.ports {
            assert_eq!(port.mark_at, Some(Limit::Bytes(30_000)));
            assert_eq!(port.limit, Limit::Unlimited);
        }
        assert_eq!(
            rack.shared_buffer.map(|buffer| buffer.bytes),
            Some(4_000_000)
        );
        let uplink = config.interfaces[4].uplink;
        assert_eq!(uplink.rate, Rate::from_mbps(100));
        assert_eq!(uplink.latency, Span::from_us(20));
        assert_eq!(config.interfaces[4].node, 1);
    }

    #[test]
    fn loss_applies_in_both_directions() {
        let scenario = scenario(
            "[topology]\nkind = \"star\"\nhosts = 3\nlink = { rate = \"1 Gbps\", latency = \"20 us\", loss = \"1%\" }",
        );
        let network = network(&scenario).expect("the testbed can");
        let config = switch(&scenario, &network, &[], Streams::new(1, 0), false);
        let ports = config.nodes[0].ports.iter().map(|port| port.loss);
        let uplinks = config
            .interfaces
            .iter()
            .map(|interface| interface.uplink.loss);
        let losses: Vec<f64> = ports.chain(uplinks).collect();
        assert_eq!(losses, [0.01; 6]);
    }

    #[test]
    fn supported_topologies_are_valid() {
        for topology in [
            "[topology]\nkind = \"star\"\nhosts = 32\nlink = { rate = \"1 Gbps\", latency = \"20 us\" }",
            "[topology]\nkind = \"d3-testbed\"\nlink = { rate = \"1 Gbps\", latency = \"20 us\" }",
            "[topology]\nkind = \"fat-tree\"\nk = 4\nlink = { rate = \"1 Gbps\", latency = \"20 us\" }",
            "[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 4\nlink = { rate = \"1 Gbps\", latency = \"20 us\" }\n\
             bottleneck = { rate = \"1 Gbps\", latency = \"20 us\" }",
        ] {
            let scenario = scenario(topology);
            let network = network(&scenario).expect("the testbed can");
            let config = switch(&scenario, &network, &[], Streams::new(1, 0), false);
            if let Err(error) = config.check() {
                panic!("{topology}: {error}");
            }
        }
    }

    #[test]
    fn unsupported_networks_are_errors() {
        let message = |topology: &str| network(&scenario(topology)).unwrap_err().to_string();
        let many = message(
            "[topology]\nkind = \"star\"\nhosts = 33\nlink = { rate = \"1 Gbps\", latency = \"20 us\" }",
        );
        assert!(many.contains("33 hosts; at most 32"), "{many}");
    }
}
