//! Named shapes: their numbering of hosts and naming of switches.

use super::{Plan, Regular};
use crate::SetupError;
use duetime_scenario::model::{Edge, Link, Node, Topology};

/// Returns the nodes and links of a topology.
pub(super) fn plan(topology: &Topology) -> Result<Plan, SetupError> {
    match topology {
        Topology::Star { hosts, link } => Ok(star(*hosts, *link)),
        Topology::Dumbbell {
            left,
            right,
            link,
            bottleneck,
        } => Ok(dumbbell([*left, *right], *link, *bottleneck)),
        Topology::D3Testbed { link } => Ok(d3_testbed(*link)),
        Topology::LeafSpine {
            racks,
            hosts_per_rack,
            spines,
            host_link,
            uplink,
        } => leaf_spine(*racks, *hosts_per_rack, *spines, *host_link, *uplink),
        Topology::FatTree { k, link } => fat_tree(*k, *link),
        Topology::Graph { nodes, edges } => graph(nodes, edges),
    }
}

/// Returns a star: hosts `host0`… on `switch`.
fn star(hosts: u32, link: Link) -> Plan {
    let mut plan = Plan::default();
    let switch = plan.switch("switch");
    add_hosts(&mut plan, hosts, switch, link);
    plan
}

/// Returns a dumbbell. The hosts of `left` come first, then those of `right`.
fn dumbbell([left, right]: [u32; 2], link: Link, bottleneck: Link) -> Plan {
    let mut plan = Plan::default();
    let sides = [plan.switch("left"), plan.switch("right")];
    add_hosts(&mut plan, left, sides[0], link);
    add_hosts(&mut plan, right, sides[1], link);
    plan.join(sides[0], sides[1], bottleneck);
    plan
}

/// Returns the testbed of D3 §6: hosts 3r to 3r+2 on `rack`r for r = 0 to 3, and the racks on `root`. Hosts 12 and 13
/// are the two traffic generators, on `root` itself. The paper numbers its hosts from 1, so its host h is `host`(h−1).
fn d3_testbed(link: Link) -> Plan {
    let mut plan = Plan::default();
    let racks = [0, 1, 2, 3].map(|rack| plan.switch(format!("rack{rack}")));
    let root = plan.switch("root");
    for rack in racks {
        add_hosts(&mut plan, 3, rack, link);
        plan.join(rack, root, link);
    }
    add_hosts(&mut plan, 2, root, link);
    plan
}

/// Returns a leaf-spine network. Host h is on `rack`⌊h / hosts per rack⌋, and every rack has one link to each `spine`.
fn leaf_spine(
    racks: u32,
    hosts_per_rack: u32,
    spines: u32,
    host_link: Link,
    uplink: Link,
) -> Result<Plan, SetupError> {
    if racks == 0 || hosts_per_rack == 0 || spines == 0 {
        let found = format!("{racks} racks of {hosts_per_rack} hosts under {spines} spines");
        return Err(SetupError::Shape(format!(
            "{found}; at least one of each is needed"
        )));
    }
    let mut plan = Plan {
        regular: Some(Regular::LeafSpine { racks }),
        ..Plan::default()
    };
    let leaves: Vec<usize> = (0..racks)
        .map(|rack| plan.switch(format!("rack{rack}")))
        .collect();
    let spines: Vec<usize> = (0..spines)
        .map(|spine| plan.switch(format!("spine{spine}")))
        .collect();
    for leaf in leaves {
        add_hosts(&mut plan, hosts_per_rack, leaf, host_link);
        for &spine in &spines {
            plan.join(leaf, spine, uplink);
        }
    }
    Ok(plan)
}

/// Returns a fat-tree. Hosts are numbered by pod, then by edge switch: host h is on `edge`⌊2h/k⌋. Pod p has the edge
/// and aggregation switches pk/2 to (p+1)k/2−1. The j-th aggregation switch of each pod connects to `core`jk/2 to
/// (j+1)k/2−1.
fn fat_tree(k: u32, link: Link) -> Result<Plan, SetupError> {
    if k < 2 || !k.is_multiple_of(2) {
        return Err(SetupError::Shape(format!(
            "a fat-tree with k = {k}; k must be even and at least 2"
        )));
    }
    let half = k / 2;
    let mut plan = Plan {
        regular: Some(Regular::FatTree { half }),
        ..Plan::default()
    };
    let mut layer = |name: &str, count| {
        (0..count)
            .map(|i| plan.switch(format!("{name}{i}")))
            .collect::<Vec<usize>>()
    };
    let edges = layer("edge", k * half);
    let aggregations = layer("aggregation", k * half);
    let cores = layer("core", half * half);
    for (edge, pod_above) in edges
        .chunks(half as usize)
        .zip(aggregations.chunks(half as usize))
    {
        for &edge in edge {
            add_hosts(&mut plan, half, edge, link);
            for &aggregation in pod_above {
                plan.join(edge, aggregation, link);
            }
        }
        for (&aggregation, above) in pod_above.iter().zip(cores.chunks(half as usize)) {
            for &core in above {
                plan.join(aggregation, core, link);
            }
        }
    }
    Ok(plan)
}

/// Returns the network of a file. Hosts are numbered in the order of the file.
fn graph(nodes: &[Node], edges: &[Edge]) -> Result<Plan, SetupError> {
    let mut plan = Plan::default();
    for node in nodes {
        plan.node(node.name.clone(), node.host);
    }
    for edge in edges {
        if let Some(&end) = [edge.a, edge.b].iter().find(|&&end| end >= nodes.len()) {
            return Err(SetupError::Shape(format!(
                "an edge refers to node {end}, but there are {} nodes",
                nodes.len()
            )));
        }
        plan.join(edge.a, edge.b, edge.link);
    }
    Ok(plan)
}

fn add_hosts(plan: &mut Plan, count: u32, switch: usize, link: Link) {
    for _ in 0..count {
        let host = plan.host();
        plan.join(host, switch, link);
    }
}
