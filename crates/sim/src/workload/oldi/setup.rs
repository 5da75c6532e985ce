//! Validation of tree workloads, and placement of their roles on hosts.

use super::super::place::Place;
use super::super::token::MAX_RETRIES;
use super::forest::Forest;
use super::shape::Shape;
use crate::SetupError;
use duetime_core::random::Stream;
use duetime_scenario::model::{self, Deadline, QueryArrival};

pub(super) fn check(config: &model::Oldi, place: &Place<'_>) -> Result<(), SetupError> {
    if config.applications == 0 || config.trees == 0 {
        let found = format!(
            "{} applications of {} trees",
            config.applications, config.trees
        );
        return Err(place.invalid(format!("{found}; at least one of each is needed")));
    }
    if config.fan_in.is_empty() || config.fan_in.contains(&0) {
        return Err(place.invalid(format!(
            "`fan_in` is {:?}; every layer needs at least 1",
            config.fan_in
        )));
    }
    if config.response.is_empty() && config.layer_response.is_empty() || config.deadline.is_empty()
    {
        return Err(place.invalid("`response` and `deadline` need at least one entry each"));
    }
    if !config.layer_response.is_empty() && config.layer_response.len() != config.fan_in.len() {
        return Err(place.invalid("`layer_response` needs one entry per entry of `fan_in`"));
    }
    let times = config.retry.map_or(0, |retry| retry.times);
    if times > MAX_RETRIES {
        return Err(place.invalid(format!(
            "`retry.times` is {times}; allowed: 0 to {MAX_RETRIES}"
        )));
    }
    if !(config.complete_at > 0.0 && config.complete_at <= 1.0) {
        return Err(place.invalid(format!(
            "`complete_at` is {}; allowed: above 0, at most 1",
            config.complete_at
        )));
    }
    if let QueryArrival::Load { load, .. } = config.arrival
        && !(load > 0.0 && load.is_finite())
    {
        return Err(place.invalid(format!("`load` is {load}; it must be above 0")));
    }
    if config.query_deadline != Deadline::None && config.query.0 == 0 {
        return Err(
            place.invalid("`query` is 0 B, but queries have a deadline; at least 1 B is needed")
        );
    }
    Ok(())
}

/// Places every role on a host. Without sharing, all roles get different random hosts. With sharing, each tree uses the
/// hosts in its own random order, and reuses them from the start if there are too few; a child is never placed on its
/// parent's host.
pub(super) fn place_roles(
    config: &model::Oldi,
    shape: &Shape,
    trees: u32,
    place: &Place<'_>,
    stream: &mut Stream,
) -> Result<Vec<u32>, SetupError> {
    let hosts = place.network.hosts();
    let nodes = shape.nodes();
    let roles = u64::from(trees) * u64::from(nodes);
    if !config.share_hosts {
        if roles > u64::from(hosts) {
            return Err(SetupError::TooFewHosts {
                workload: place.name.to_owned(),
                what: format!("{trees} trees of {nodes} nodes"),
                needed: roles,
                hosts,
                hint: "; use fewer trees, a smaller fan-in, or `share_hosts = true`",
            });
        }
        let mut order = stream.permutation(hosts as usize);
        order.truncate(roles as usize);
        return Ok(order);
    }
    let mut placed: Vec<u32> = Vec::with_capacity(roles as usize);
    for _ in 0..trees {
        place_tree(hosts, nodes, |node| shape.parent(node), stream, &mut placed);
    }
    Ok(placed)
}

/// Places the nodes of a tree on the hosts in a random order, and reuses the hosts from the start if there are too few.
/// A child is never placed on its parent's host.
fn place_tree(
    hosts: u32,
    nodes: u32,
    parent: impl Fn(u32) -> u32,
    stream: &mut Stream,
    placed: &mut Vec<u32>,
) {
    let order = stream.permutation(hosts as usize);
    let root = placed.len();
    placed.push(order[0]);
    let mut others = order[1..].iter().copied().cycle();
    for node in 1..nodes {
        let parent = placed[root + parent(node) as usize];
        // Consecutive hosts differ if there are three or more hosts; with two, the layers alternate.
        let mut host = others.next().unwrap_or(order[0]);
        if host == parent {
            host = others.next().unwrap_or(order[0]);
        }
        placed.push(if host == parent { order[0] } else { host });
    }
}

/// Places the roles of recorded queries on the hosts that they name, or on random hosts, drawn per query, if they name
/// none.
pub(super) fn place_recorded(
    spans: &model::Spans,
    forest: &Forest,
    place: &Place<'_>,
    stream: &mut Stream,
) -> Result<Vec<u32>, SetupError> {
    let mut placed = Vec::new();
    for (tree, query) in (0u32..).zip(&spans.queries) {
        let root = forest.root(tree);
        if query.nodes[0].host.is_none() {
            let nodes = forest.nodes(tree);
            let parent = |node| forest.parent(root + node) - root;
            place_tree(place.network.hosts(), nodes, parent, stream, &mut placed);
            continue;
        }
        for (role, node) in (root..).zip(&query.nodes) {
            let label = || format!("a node of recorded query {}", tree + 1);
            let host = node
                .host
                .ok_or_else(|| place.invalid(format!("{} has no host", label())))?;
            placed.push(host);
            if role == root {
                place.host(host, label)?;
            } else {
                place.ends(host, placed[forest.parent(role) as usize], label)?;
            }
        }
    }
    Ok(placed)
}
