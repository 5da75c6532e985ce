//! Topologies, switches and hosts.

use super::{Budget, Draw};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::model::{
    Amount, Buffer, Edge, Gap, Host, Link, LoadBalancing, Nic, Node, ServerQueue, Servers, Slots,
    Switch, Topology,
};
use duetime_sim::topology::Network;

/// Maximum number of links on a path: the slots of D3's allocation vector.
const MAX_LINKS: u32 = 6;

pub(super) fn topology(draw: &mut Draw, budget: &Budget, lenient: bool) -> (Topology, Network) {
    let loss = match draw.below(4) {
        0 | 1 => 0.0,
        2 => draw.real(0.0, 0.02),
        _ if lenient => 0.0,
        _ => draw.real(0.02, 0.2),
    };
    loop {
        let topology = any(draw, budget.rate, loss);
        let network = Network::build(&topology).expect("every generated topology is valid");
        if network.longest_path() <= MAX_LINKS && network.hosts() <= 64 {
            return (topology, network);
        }
    }
}

fn any(draw: &mut Draw, rate: Rate, loss: f64) -> Topology {
    let host_loss = if draw.flag(0.7) { loss } else { 0.0 };
    let link = draw.link(rate, host_loss);
    let faster = |factor: u64| Rate::from_bps(rate.as_bps() * factor);
    let other = draw.one_of(&[
        Rate::from_bps(rate.as_bps() / 10),
        rate,
        faster(4),
        faster(40),
    ]);
    let other = draw.link(other, loss);
    match draw.below(6) {
        0 => Topology::Star {
            hosts: draw.scale(2, 40) as u32,
            link,
        },
        1 => Topology::Dumbbell {
            left: draw.between(1, 12) as u32,
            right: draw.between(1, 12) as u32,
            link,
            bottleneck: other,
        },
        2 => Topology::D3Testbed { link },
        3 => Topology::LeafSpine {
            racks: draw.between(1, 6) as u32,
            hosts_per_rack: draw.between(2, 8) as u32,
            spines: draw.between(1, 4) as u32,
            host_link: link,
            uplink: other,
        },
        4 => Topology::FatTree { k: 4, link },
        _ => graph(draw, rate, loss),
    }
}

/// Creates a random tree of switches with additional and parallel links, and hosts at random switches. Every link is
/// different.
fn graph(draw: &mut Draw, rate: Rate, loss: f64) -> Topology {
    let switches = draw.between(1, 9) as usize;
    let hosts = draw.scale(2, 30) as usize;
    let mut nodes = Vec::new();
    nodes.extend((0..hosts).map(|i| Node {
        name: format!("h{i}"),
        host: true,
    }));
    nodes.extend((0..switches).map(|i| Node {
        name: format!("s{i}"),
        host: false,
    }));
    let any_link = |draw: &mut Draw| -> Link {
        let factor = draw.one_of(&[1, 1, 1, 2, 10]);
        let loss = if draw.flag(0.5) { loss } else { 0.0 };
        draw.link(Rate::from_bps(rate.as_bps() * factor), loss)
    };
    let mut edges = Vec::new();
    for switch in 1..switches {
        edges.push(Edge {
            a: hosts + switch,
            b: hosts + draw.below(switch),
            link: any_link(draw),
        });
    }
    if switches > 1 {
        for _ in 0..draw.below(switches + 1) {
            let a = draw.below(switches);
            let b = (a + 1 + draw.below(switches - 1)) % switches;
            edges.push(Edge {
                a: hosts + a,
                b: hosts + b,
                link: any_link(draw),
            });
        }
    }
    for host in 0..hosts {
        let switch = hosts + draw.below(switches);
        let (a, b) = if draw.flag(0.5) {
            (host, switch)
        } else {
            (switch, host)
        };
        edges.push(Edge {
            a,
            b,
            link: any_link(draw),
        });
    }
    Topology::Graph { nodes, edges }
}

pub(super) fn switch(draw: &mut Draw, lenient: bool) -> Switch {
    let min_packets = if lenient { 10 } else { 1 };
    let buffer = match draw.below(5) {
        0 | 1 => Buffer::Unlimited,
        2 => Buffer::Static(Amount::Packets(draw.scale(min_packets, 500) as u32)),
        // Sometimes too small for a full packet.
        3 => Buffer::Static(Amount::Bytes(
            draw.scale(if lenient { 100_000 } else { 100 }, 1_000_000),
        )),
        _ => Buffer::Dynamic {
            pool: Bytes(draw.scale(if lenient { 200_000 } else { 1_500 }, 4_000_000)),
            alpha: if lenient {
                1.0
            } else {
                draw.one_of(&[0.001, 0.25, 1.0, 8.0, 1000.0])
            },
        },
    };
    let threshold = |draw: &mut Draw| {
        if draw.flag(0.5) {
            Amount::Packets(draw.scale(1, 100) as u32 - u32::from(!lenient))
        } else {
            Amount::Bytes(draw.scale(if lenient { 15_000 } else { 1 }, 300_000))
        }
    };
    let mut ecn_threshold = vec![(Rate::from_bps(0), threshold(draw))];
    if draw.flag(0.5) {
        ecn_threshold.push((Rate::from_gbps(1), threshold(draw)));
        ecn_threshold.push((Rate::from_gbps(10), threshold(draw)));
    }
    Switch {
        buffer,
        ecn_threshold,
        load_balancing: LoadBalancing::Flows,
    }
}

pub(super) fn host(draw: &mut Draw) -> Host {
    Host {
        nic: draw.one_of(&[Nic::Pull, Nic::Pull, Nic::Fifo]),
        frame_overhead: draw.one_of(&[0, 0, 38, 1_000]),
        start_jitter: draw.flag(0.5),
        send_jitter: Span::from_ps(draw.one_of(&[0, 0, 200, 1_000, 50_000])),
        receive_delay: Span::ZERO,
        receive_jitter: Gap::ZERO,
        servers: Servers::Unlimited,
    }
}

/// Limits the servers of the hosts in some scenarios.
pub(super) fn servers(draw: &mut Draw, host: &mut Host) {
    if draw.flag(0.25) {
        host.servers = Servers::Slots(Slots {
            slots: draw.one_of(&[1, 1, 2, 3, 8, 64]),
            queue: draw.one_of(&[ServerQueue::Fifo, ServerQueue::EarliestDeadline]),
        });
    }
}

/// Sets receive delays of the hosts in some scenarios.
pub(super) fn reception(draw: &mut Draw, host: &mut Host) {
    if !draw.flag(0.25) {
        return;
    }
    let time = |draw: &mut Draw| draw.span(Span::from_ps(1), Span::from_us(20));
    if draw.flag(0.7) {
        host.receive_delay = time(draw);
    }
    let mean = time(draw);
    host.receive_jitter = match draw.below(5) {
        0 => Gap::ZERO,
        1 => Gap::Fixed(mean),
        2 => Gap::Uniform(Span::ZERO, mean * 2),
        3 => Gap::LogNormal {
            median: mean,
            sigma: 0.7,
        },
        _ => Gap::Exponential(mean),
    };
}
