//! Setup shared by all partitions of a run: the network, the routes, the transports' options and the random streams.

use crate::routing::Routing;
use crate::topology::Network;
use crate::unloaded::min_receive_delay;
use crate::workload::Workloads;
use crate::workload::draw::gap_at;
use crate::{Packet, SetupError};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span};
use duetime_link::{Limit, Port, SharedBuffer};
use duetime_scenario::model::{
    Amount, Buffer, Connection, Gap, LoadBalancing, Nic, Protocol, RouterProgram, Scenario,
    Transport, Workload, WorkloadKind,
};

/// Number of links that are sampled if the scenario names none. Series of a thousand trees would be larger than the
/// flow records.
const SAMPLED_SINKS: usize = 32;

/// Maximum number of strict-priority classes.
const MAX_CLASSES: u8 = 4;

/// Size of the smallest packet of any transport, in bytes: an acknowledgement of TCP.
const SMALLEST_PACKET: u64 = 40;

/// Read-only setup of a run.
pub struct Setup {
    /// Nodes and links.
    pub network: Network,
    /// Routing table.
    pub routing: Routing,
    /// Options of the transports in use; entry 0 is the transport under comparison.
    pub transports: Vec<Transport>,
    /// Index into `transports`, by workload.
    pub workload_transport: Vec<u8>,
    /// Connection type, by workload.
    pub connections: Vec<Connection>,
    /// Configured strict-priority class of the messages, by workload, or `None`.
    pub priorities: Vec<Option<u8>>,
    /// Number of strict-priority classes at every port.
    pub classes: u8,
    /// Random streams of the run.
    pub streams: Streams,
    /// Bytes added to each packet on the wire.
    pub frame_overhead: u16,
    /// True if NICs pull from the flows.
    pub nic_pulls: bool,
    /// Upper bound of the random delay of packets at the sending host.
    pub send_jitter: Span,
    /// Fixed delay of each packet at the receiving host, and distribution of the random delay that is added.
    pub receive: (Span, Gap),
    /// End of the measurement window, at which sources stop.
    pub duration: Span,
    /// Time at which the run is cut off.
    pub cut: Span,
    /// Longest base round trip: propagation in both directions over the longest path, and the minimum receive delay of
    /// both hosts.
    pub base_round_trip: Span,
    /// Links whose queue and throughput are sampled.
    pub sampled_links: Vec<u32>,
    /// True if some flow is endless.
    pub has_long_flows: bool,
    /// Program of the routers, adapted to the network, if a transport needs one.
    pub router_program: Option<RouterProgram>,
    /// Links into each node whose packets its ports police.
    pub policed: Vec<Vec<u32>>,
    /// Sizes of all messages in bytes, rising, with their relative frequency; empty if no transport uses them.
    pub message_sizes: Vec<(u64, u64)>,
}

impl Setup {
    /// Creates the setup of run `run` of the scenario with the transport at index `transport`.
    pub fn new(scenario: &Scenario, transport: usize, run: u64) -> Result<Self, SetupError> {
        let mut network = Network::build(&scenario.topology)?;
        network
            .links
            .iter_mut()
            .for_each(|link| link.loss = link.loss.clamp(0.0, 1.0));
        let streams = Streams::new(scenario.seed, run);
        let mut transports = vec![scenario.transports[transport].clone()];
        let workload_transport = scenario
            .workloads
            .iter()
            .map(|workload| transport_index(workload, &mut transports))
            .collect::<Result<_, _>>()?;
        let slowest = network
            .links
            .iter()
            .map(|link| link.rate)
            .min()
            .unwrap_or(Rate::from_gbps(1));
        for transport in &mut transports {
            transport.protocol.adapt_to(slowest);
        }
        let mut protocols = transports.iter().map(|transport| &transport.protocol);
        let message_sizes = if protocols.clone().any(Protocol::uses_sizes) {
            Workloads::new(scenario, &network, &streams)?.sizes(scenario)
        } else {
            Vec::new()
        };
        let router_program = protocols.find_map(Protocol::router_program);
        // Programs count each flow at every port of its path, so its packets must keep the path.
        let is_sprayed =
            scenario.switch.load_balancing == LoadBalancing::Packets && router_program.is_none();
        let routing = Routing::build(&network)?
            .keyed(streams.key(0, Purpose::Path))
            .sprayed(is_sprayed);
        let mut policed = vec![Vec::new(); network.nodes.len()];
        if router_program.is_some_and(|program| program.polices()) {
            for (number, link) in (0..).zip(&network.links) {
                if network.nodes[link.to as usize].host.is_none() {
                    policed[link.to as usize].push(number);
                }
            }
        }
        let latency = network
            .links
            .iter()
            .map(|link| link.latency)
            .max()
            .unwrap_or(Span::ZERO);
        let base_round_trip =
            latency * u64::from(2 * network.longest_path()) + min_receive_delay(&scenario.host) * 2;
        let sampled_links = sampled_links(scenario, &network, streams)?;
        let has_long_flows = scenario
            .workloads
            .iter()
            .any(|workload| matches!(workload.kind, WorkloadKind::Long { .. }));
        let classes = transports.iter().map(|transport| transport.priorities);
        let classes = classes.max().unwrap_or(1).max(scenario.workload_classes());
        Ok(Self {
            sampled_links,
            has_long_flows,
            classes,
            priorities: priorities(scenario)?,
            network,
            routing,
            transports,
            workload_transport,
            connections: scenario
                .workloads
                .iter()
                .map(|workload| workload.connection)
                .collect(),
            streams,
            frame_overhead: scenario.host.frame_overhead as u16,
            nic_pulls: scenario.host.nic == Nic::Pull,
            send_jitter: scenario.host.send_jitter,
            receive: (
                scenario.host.receive_delay,
                scenario.host.receive_jitter.clone(),
            ),
            duration: scenario.duration,
            cut: scenario.duration + scenario.drain,
            base_round_trip,
            router_program,
            policed,
            message_sizes,
        })
    }

    /// Returns the 99th percentile of the time from a host's NIC to the transport.
    pub fn usual_reception(&self) -> Span {
        let (delay, jitter) = &self.receive;
        *delay + gap_at(jitter, 0.99)
    }

    /// Returns the links that are captured to pcapng.
    pub fn tapped_links(&self, scenario: &Scenario) -> Result<Vec<u32>, SetupError> {
        links_by_name(&self.network, &scenario.record.pcap, "record.pcap")
    }

    /// Returns the upper bound (exclusive) of the random delay of packets that a host sends on `uplink`, in
    /// picoseconds. It is at most the transmission time of the smallest packet, so that no packet overtakes another.
    pub fn send_jitter(&self, uplink: u32) -> u32 {
        let rate = self.network.links[uplink as usize].rate;
        let max = rate.transmit(SMALLEST_PACKET).min(self.send_jitter);
        u32::try_from(max.as_ps()).unwrap_or(u32::MAX)
    }

    /// Creates the ports of all links, by link.
    pub fn ports(&self, scenario: &Scenario) -> Vec<Port<Packet>> {
        let limit = match scenario.switch.buffer {
            Buffer::Static(amount) => limit_of(amount),
            Buffer::Unlimited | Buffer::Dynamic { .. } => Limit::Unlimited,
        };
        let mut protocols = self.transports.iter().map(|transport| &transport.protocol);
        let marks_at_hosts = protocols.any(Protocol::marks_at_hosts);
        self.network
            .links
            .iter()
            .map(|link| {
                let port = Port::new(link.rate, link.latency);
                let to_host = self.network.nodes[link.to as usize].host.is_some();
                let from_host = self.network.nodes[link.from as usize].host.is_some();
                if from_host && self.nic_pulls {
                    return port;
                }
                let port = port.with_classes(usize::from(self.classes));
                if from_host {
                    return port;
                }
                let port = port.with_limit(limit);
                if to_host && !marks_at_hosts {
                    return port;
                }
                port.with_mark_at(mark_at(&scenario.switch.ecn_threshold, link.rate))
            })
            .collect()
    }

    /// Creates the shared memories, one per switch. Also returns, by link, the index of its memory or `u32::MAX`.
    pub fn pools(&self, scenario: &Scenario) -> (Vec<SharedBuffer>, Vec<u32>) {
        let mut pool_of = vec![u32::MAX; self.network.links.len()];
        let mut pools = Vec::new();
        if let Buffer::Dynamic { pool, alpha } = scenario.switch.buffer {
            let mut members = vec![Vec::new(); self.network.nodes.len()];
            for (index, link) in self.network.links.iter().enumerate() {
                members[link.from as usize].push(index as u32);
            }
            for (node, members) in members.into_iter().enumerate() {
                if self.network.nodes[node].host.is_none() {
                    for &link in &members {
                        pool_of[link as usize] = pools.len() as u32;
                    }
                    pools.push(SharedBuffer::new(pool.0, alpha, members));
                }
            }
        }
        (pools, pool_of)
    }
}

/// Returns the configured strict-priority classes of the workloads.
fn priorities(scenario: &Scenario) -> Result<Vec<Option<u8>>, SetupError> {
    let workloads = scenario.workloads.iter();
    let classes = workloads.map(|workload| match workload.priority {
        Some(class) if class >= MAX_CLASSES => Err(SetupError::Workload {
            workload: workload.name.clone(),
            what: format!("`priority` is {class}; allowed: 0 to {}", MAX_CLASSES - 1),
        }),
        class => Ok(class),
    });
    classes.collect()
}

/// Returns the index in `transports` of the workload's transport, which is appended if it is new.
fn transport_index(workload: &Workload, transports: &mut Vec<Transport>) -> Result<u8, SetupError> {
    let Some(transport) = &workload.transport else {
        return Ok(0);
    };
    let known = transports.iter().position(|other| other == transport);
    let index = known.unwrap_or(transports.len());
    if known.is_none() {
        transports.push(transport.clone());
    }
    u8::try_from(index).map_err(|_| SetupError::Workload {
        workload: workload.name.clone(),
        what: format!(
            "transport `{}` exceeds the limit of {} different transports",
            transport.name,
            u8::MAX
        ),
    })
}

/// Returns the sampled links: those of the scenario, or else the links into the first hosts where many flows meet.
pub fn sampled_links(
    scenario: &Scenario,
    network: &Network,
    streams: Streams,
) -> Result<Vec<u32>, SetupError> {
    let named = &scenario.record.links;
    if !named.is_empty() || scenario.record.every.is_none() {
        return links_by_name(network, named, "record.links");
    }
    let sinks = Workloads::new(scenario, network, &streams)?.sinks();
    Ok(sinks
        .iter()
        .take(SAMPLED_SINKS)
        .map(|&host| network.downlink[host as usize])
        .collect())
}

fn links_by_name(
    network: &Network,
    names: &[String],
    key: &'static str,
) -> Result<Vec<u32>, SetupError> {
    let find = |name: &String| {
        network
            .find_link(name)
            .ok_or_else(|| SetupError::NoSuchLink {
                key,
                name: name.clone(),
                example: network.link_name(0),
            })
    };
    names.iter().map(find).collect()
}

/// A link that a scenario records but that its network does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLink {
    /// The key of `[record]`: `links` or `pcap`.
    pub key: &'static str,
    /// Index in the list.
    pub index: usize,
    /// Similar name of a link that exists, if any.
    pub near: Option<String>,
    /// Name of a link that exists.
    pub example: String,
}

/// Returns the first link of `[record]` that the network does not have. Also returns `None` if the network cannot be
/// built; building it reports that error.
pub fn unknown_link(scenario: &Scenario) -> Option<UnknownLink> {
    /// Number of links whose names are compared.
    const COMPARED: usize = 20_000;
    let record = &scenario.record;
    if record.links.is_empty() && record.pcap.is_empty() {
        return None;
    }
    let network = Network::build(&scenario.topology).ok()?;
    let lists = [("links", &record.links), ("pcap", &record.pcap)];
    let mut names = lists
        .into_iter()
        .flat_map(|(key, names)| names.iter().enumerate().map(move |entry| (key, entry)));
    let (key, (index, name)) = names.find(|(_, (_, name))| network.find_link(name).is_none())?;
    let links = (0..network.links.len().min(COMPARED) as u32).map(|link| network.link_name(link));
    let links: Vec<String> = links.collect();
    let near = duetime_scenario::nearest(name, links.iter().map(String::as_str));
    Some(UnknownLink {
        key,
        index,
        near: near.map(str::to_owned),
        example: network.link_name(0),
    })
}

/// Converts an amount of a scenario to a limit.
pub fn limit_of(amount: Amount) -> Limit {
    match amount {
        Amount::Packets(packets) => Limit::Packets(packets),
        Amount::Bytes(bytes) => Limit::Bytes(bytes),
    }
}

/// Returns the ECN threshold of the highest listed rate that is not above the link's rate, or else of the lowest listed
/// rate.
pub fn mark_at(thresholds: &[(Rate, Amount)], rate: Rate) -> Limit {
    let below = thresholds
        .iter()
        .filter(|(listed, _)| *listed <= rate)
        .max_by_key(|(listed, _)| *listed);
    let slowest = thresholds.iter().min_by_key(|(listed, _)| *listed);
    below
        .or(slowest)
        .map_or(Limit::Unlimited, |(_, amount)| limit_of(*amount))
}
