//! Load that the workloads offer to every directed link, computed without a run.
//!
//! The load of a link is the mean rate of the bytes on the wire that flows offer to it, headers and framing included,
//! divided by the link's rate. If several paths are equally short, each next hop takes an equal share, which is the
//! mean of the per-flow choice. Acknowledgements, handshakes, D3's requests and retransmissions are left out; the
//! acknowledgements of a flow add about 3 % of its bytes in the reverse direction.

pub(crate) mod servers;
mod spread;

use crate::traffic::WorkloadDescription;
use duetime_scenario::model::{Scenario, Size, Transport, Workload};
use duetime_sim::routing::SwitchGraph;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Mean, Pace, Workloads, draw};
use serde::Serialize;
use spread::Traffic;
use std::cmp::Reverse;

/// Load above which a link deserves a warning; queues grow without bound towards a load of 1.
pub const HEAVY: f64 = 0.9;
/// Approximate number of acknowledgements per data packet.
const ACKNOWLEDGEMENTS: f64 = 0.6;
/// Number of packets that open and close a connection.
const CONTROL: f64 = 4.0;
/// Number of links and hosts that are listed.
const LISTED: usize = 10;

/// Load that the workloads offer to the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadDescription {
    /// Busiest links, busiest first; at most ten.
    pub links: Vec<LinkLoad>,
    /// Number of directed links.
    pub of_links: u32,
    /// Number of links with a sustained load above 90 %.
    pub heavy_links: u32,
    /// Number of links with a sustained load above 100 %, which cannot carry what is offered.
    pub overloaded_links: u32,
    /// Switches with hosts, by the ratio of the hosts' rates to the rates of the links to other switches; highest
    /// first.
    pub oversubscription: Vec<Oversubscription>,
    /// Workloads without a sustained load: they send all at once, once, or as fast as the network permits.
    pub not_sustained: Vec<NotSustained>,
    /// Estimated number of packet-hops within the duration, acknowledgements included. Losses are ignored, and flows
    /// that send as fast as they can are not counted.
    pub packet_hops: f64,
}

/// Load of one directed link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// Name of the link: `from->to`, by node names.
    pub link: String,
    /// Rate of the link, in bits per second.
    pub rate_bps: u64,
    /// Mean rate offered by workloads with a sustained load, in bits per second.
    pub offered_bps: f64,
    /// `offered_bps` as a share of the link's rate.
    pub load: f64,
    /// Loads by workload, largest first; only workloads that offer load to the link.
    pub by_workload: Vec<WorkloadLoad>,
}

/// A workload's share of a link's load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadLoad {
    /// Name of the workload.
    pub workload: String,
    /// Load as a share of the link's rate.
    pub load: f64,
}

/// Oversubscription of a group of equal switches: their hosts can send more, or less, than the links to other switches
/// carry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscription {
    /// Name of the first switch of the group.
    pub switch: String,
    /// Number of switches in the group.
    pub switches: u32,
    /// Sum of the rates of the links from the hosts of a switch, in bits per second.
    pub from_hosts_bps: u64,
    /// Sum of the rates of the links of a switch to other switches, in bits per second.
    pub to_switches_bps: u64,
    /// Ratio of `from_hosts_bps` to `to_switches_bps`.
    pub ratio: f64,
}

/// A workload that is not part of the links' load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotSustained {
    /// Name of the workload.
    pub workload: String,
    /// Reason.
    pub why: &'static str,
}

/// Computes the load, and adds each workload's busiest link to its description.
pub(super) fn describe(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    described: &mut [WorkloadDescription],
) -> LoadDescription {
    let seconds = scenario.duration.as_secs_f64();
    let graph = SwitchGraph::new(network);
    let mut not_sustained = Vec::new();
    let mut packet_hops = 0.0;
    // Workloads with a sustained load, each with its bytes per second by link.
    let mut sustained: Vec<(usize, Vec<f64>)> = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let sizes = Packets::new(scenario, workload, workloads.header());
        let mut traffic = Traffic::new(network, &graph);
        let (mut bytes, mut packets, mut flows) = (0.0, 0.0, 0.0);
        let pace = workloads.offers(
            index,
            &workload.kind,
            scenario.duration,
            &|size| sizes.mean(size),
            &mut |offer| {
                bytes += offer.bytes_per_s;
                packets += offer.packets_per_s;
                flows += offer.flows_per_s;
                traffic.add(offer);
            },
        );
        let links = traffic.over_links(network, &graph);
        if bytes > 0.0 {
            let per_byte = (packets * (1.0 + ACKNOWLEDGEMENTS) + flows * CONTROL) / bytes;
            packet_hops += links.iter().sum::<f64>() * seconds * per_byte;
        }
        let name = || workload.name.clone();
        let mut leave_out = |why| {
            not_sustained.push(NotSustained {
                workload: name(),
                why,
            });
        };
        match pace {
            Pace::Sustained => {
                described[index].busiest_link = busiest(network, &links);
                sustained.push((index, links));
            }
            Pace::Once => leave_out("sends its flows once"),
            Pace::Backlogged => leave_out("sends as fast as the network lets it"),
        }
    }
    let mut total = vec![0.0; network.links.len()];
    for (_, links) in &sustained {
        for (sum, bytes) in total.iter_mut().zip(links) {
            *sum += bytes;
        }
    }
    let loads: Vec<f64> = (0..network.links.len())
        .map(|link| load(network, link, total[link]))
        .collect();
    let listed = highest(&loads).into_iter().map(|link| {
        let loads = sustained.iter().map(|(index, links)| {
            let name = &scenario.workloads[*index].name;
            (name, load(network, link, links[link]))
        });
        LinkLoad {
            by_workload: by_workload(loads),
            ..LinkLoad::new(network, link, total[link])
        }
    });
    let above = |limit: f64| loads.iter().filter(|load| **load > limit).count() as u32;
    LoadDescription {
        links: listed.collect(),
        of_links: network.links.len() as u32,
        heavy_links: above(HEAVY),
        overloaded_links: above(1.0),
        oversubscription: oversubscription(network),
        not_sustained,
        packet_hops,
    }
}

/// Returns the indices of the highest loads above zero, highest first.
fn highest(loads: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..loads.len()).filter(|&at| loads[at] > 0.0).collect();
    // Sums of many shares differ in their last bits; rounding keeps equal loads in the order of the network.
    let rounded = |at: usize| libm::round(loads[at] * 1e9) as u64;
    order.sort_by_key(|&at| (Reverse(rounded(at)), at));
    order.truncate(LISTED);
    order
}

/// Returns the loads above zero of named workloads, largest first.
fn by_workload<'a>(loads: impl Iterator<Item = (&'a String, f64)>) -> Vec<WorkloadLoad> {
    let loads = loads.filter(|&(_, load)| load > 0.0);
    let loads = loads.map(|(workload, load)| WorkloadLoad {
        workload: workload.clone(),
        load,
    });
    let mut loads: Vec<WorkloadLoad> = loads.collect();
    loads.sort_by(|a, b| b.load.total_cmp(&a.load));
    loads
}

impl LinkLoad {
    fn new(network: &Network, link: usize, bytes_per_s: f64) -> Self {
        Self {
            link: network.link_name(link as u32),
            rate_bps: network.links[link].rate.as_bps(),
            offered_bps: 8.0 * bytes_per_s,
            load: load(network, link, bytes_per_s),
            by_workload: Vec::new(),
        }
    }
}

fn load(network: &Network, link: usize, bytes_per_s: f64) -> f64 {
    8.0 * bytes_per_s / network.links[link].rate.as_bps() as f64
}

fn busiest(network: &Network, links: &[f64]) -> Option<LinkLoad> {
    let at = |link: usize| load(network, link, links[link]);
    let highest = (0..links.len()).reduce(|best, link| {
        // Among links that are equal up to rounding, keep the first.
        if at(link) > at(best) * (1.0 + 1e-9) {
            link
        } else {
            best
        }
    })?;
    (links[highest] > 0.0).then(|| LinkLoad::new(network, highest, links[highest]))
}

/// Segmentation of a workload's bytes into packets, by the transport with the smallest packets.
struct Packets {
    segment: u64,
    header: u32,
}

impl Packets {
    fn new(scenario: &Scenario, workload: &Workload, header: u32) -> Self {
        let payload = |transport: &Transport| u64::from(transport.protocol.max_payload());
        let smallest = if let Some(transport) = &workload.transport {
            Some(payload(transport))
        } else {
            scenario.transports.iter().map(payload).min()
        };
        Self {
            segment: smallest.unwrap_or(draw::SEGMENT).max(1),
            header,
        }
    }

    fn mean(&self, size: &Size) -> Mean {
        let packets = draw::mean_segments(size, self.segment);
        Mean {
            packets,
            bytes: draw::mean_size(size) + f64::from(self.header) * packets,
        }
    }
}

fn oversubscription(network: &Network) -> Vec<Oversubscription> {
    let hosts = network.hosts();
    let switches = network.switches() as usize;
    let (mut below, mut above) = (vec![0u64; switches], vec![0u64; switches]);
    for link in &network.links {
        let rate = link.rate.as_bps();
        if link.from < hosts {
            below[(link.to - hosts) as usize] += rate;
        } else if link.to >= hosts {
            above[(link.from - hosts) as usize] += rate;
        }
    }
    let mut kinds: Vec<Oversubscription> = Vec::new();
    for switch in (0..switches).filter(|&switch| below[switch] > 0 && above[switch] > 0) {
        let same = kinds.iter_mut().find(|kind| {
            (kind.from_hosts_bps, kind.to_switches_bps) == (below[switch], above[switch])
        });
        if let Some(same) = same {
            same.switches += 1;
            continue;
        }
        kinds.push(Oversubscription {
            switch: network.nodes[hosts as usize + switch].name.clone(),
            switches: 1,
            from_hosts_bps: below[switch],
            to_switches_bps: above[switch],
            ratio: below[switch] as f64 / above[switch] as f64,
        });
    }
    kinds.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    kinds
}
