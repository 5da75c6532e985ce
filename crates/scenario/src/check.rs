//! Checks that involve several values of a scenario.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::model::{
    Edge, GiveUp, Hedge, HedgeAfter, Node, Oldi, RetryAt, Scenario, Topology, Transport, Workload,
    WorkloadKind,
};
use crate::place::Place;
use crate::table::{Reader, tables};
use duetime_core::Span;

type Result<T> = std::result::Result<T, Diagnostic>;

const MAX_HOSTS: u32 = 1_000_000;

/// Checks the scenario. Errors point at the wrong value in `document`.
pub(crate) fn check(scenario: &Scenario, document: &Document) -> Result<()> {
    let root = Place::root(document);
    if scenario.warm_up >= scenario.duration {
        let message = format!("no flow is measured: the duration is {}", scenario.duration);
        return root.at("warm_up").refuse(message, "less than `duration`");
    }
    topology(scenario, &root.at("topology"))?;
    crate::port_space::check(scenario, &root)?;
    start_jitter(scenario, &root)?;
    let reader = Reader::open(root, &crate::all_keys::SCENARIO)?;
    let places = tables(&reader, "workload")?;
    for (workload, place) in scenario.workloads.iter().zip(&places) {
        if let Some(oldi) = workload.oldi() {
            trees(oldi, scenario.topology.hosts(), place)?;
            hedges_and_retries(oldi, scenario.topology.hosts(), place)?;
        }
        objective(workload, place)?;
        if first_start(&workload.kind).is_some_and(|at| at >= scenario.duration) {
            let message = format!("never starts: the duration is {}", scenario.duration);
            return place.at("at").refuse(message, "less than `duration`");
        }
    }
    transports(scenario, &places)
}

/// Refuses an explicit start jitter that applies to no flow.
fn start_jitter(scenario: &Scenario, root: &Place<'_>) -> Result<()> {
    let has_jitter = |kind: &WorkloadKind| match kind {
        WorkloadKind::Oldi(_)
        | WorkloadKind::Spans(_)
        | WorkloadKind::Burst { .. }
        | WorkloadKind::Permutation { .. }
        | WorkloadKind::Long { .. } => true,
        WorkloadKind::Poisson { .. }
        | WorkloadKind::Background { .. }
        | WorkloadKind::Trace { .. } => false,
    };
    let host = root.at("host");
    let is_explicit = scenario.host.start_jitter && host.node.get("start_jitter").is_some();
    if !is_explicit
        || scenario
            .workloads
            .iter()
            .any(|workload| has_jitter(&workload.kind))
    {
        return Ok(());
    }
    let error = host.at("start_jitter").wrong("no flow has a start jitter");
    Err(error.allowed("true with a workload of kind \"oldi\", \"burst\", \"permutation\" or \"long\", or a trace of spans; or false").help(
        "flows of the other kinds start at their drawn or given times",
    ))
}

/// Maximum number of transports set by workloads: the simulator stores their index, after the compared one, in a byte.
const MAX_OWN_TRANSPORTS: usize = 255;

/// Checks that the workloads' own transports can run together, and with each of the compared ones.
fn transports(scenario: &Scenario, places: &[Place<'_>]) -> Result<()> {
    let mut own: Vec<&str> = Vec::new();
    let mut in_use: Vec<&Transport> = scenario.transports.iter().collect();
    for (workload, place) in scenario.workloads.iter().zip(places) {
        let Some(transport) = &workload.transport else {
            continue;
        };
        let name = transport.name.as_str();
        if own.contains(&name) {
            continue;
        }
        let place = place.at("transport");
        if own.len() == MAX_OWN_TRANSPORTS {
            let message = "too many transports for the workloads of a scenario";
            return place.refuse(message, format!("{MAX_OWN_TRANSPORTS} different ones"));
        }
        let program = transport.protocol.router_program();
        let conflicts = |other: &&&Transport| {
            let pair = program.zip(other.protocol.router_program());
            pair.is_some_and(|(own, other)| own.conflicts_with(&other))
        };
        if let Some(other) = in_use.iter().find(conflicts) {
            let message = format!("requires other router options than `{}`", other.name);
            return Err(place
                .wrong(message)
                .allowed("a transport with equal router options, or with none")
                .help("routers have one set of options: compare the two in `transport` instead"));
        }
        own.push(name);
        in_use.push(transport);
    }
    Ok(())
}

/// Returns the number of hosts of a topology, checked before anything is sized by it.
pub(crate) fn hosts(topology: &Topology, place: &Place<'_>) -> Result<u32> {
    let hosts: u64 = match topology {
        Topology::LeafSpine {
            racks,
            hosts_per_rack,
            ..
        } => u64::from(*racks) * u64::from(*hosts_per_rack),
        _ => u64::from(topology.hosts()),
    };
    match u32::try_from(hosts) {
        Ok(count) if (2..=MAX_HOSTS).contains(&count) => return Ok(count),
        _ => {}
    }
    let key = match topology {
        Topology::LeafSpine { .. } => "hosts_per_rack",
        _ => "hosts",
    };
    let message = format!("{hosts} hosts in all");
    place
        .at(key)
        .refuse(message, format!("2 to {MAX_HOSTS} hosts"))
}

fn topology(scenario: &Scenario, place: &Place<'_>) -> Result<()> {
    let longest = match &scenario.topology {
        Topology::Graph { nodes, edges } => graph(nodes, edges, place)?,
        // The longest path of all other topologies is at most the fat-tree's: three links up and three down.
        _ => return Ok(()),
    };
    let compared = scenario.transports.iter();
    let fixed = scenario
        .workloads
        .iter()
        .filter_map(|w| w.transport.as_ref());
    let limited = compared.chain(fixed).find_map(|transport| {
        let program = transport.protocol.router_program()?;
        Some((transport, program.max_links()))
    });
    match limited {
        Some((transport, max_links)) if longest.links > max_links => {
            let (a, b) = (&longest.from, &longest.to);
            let message = format!(
                "the path from {a} to {b} has {} links, but a request of {} has {max_links} slots",
                longest.links, transport.name
            );
            let error = place.at("links").wrong(message);
            Err(error
                .allowed(format!(
                    "paths of at most {max_links} links, including the hosts' own"
                ))
                .help("use a transport without routers, or a flatter graph"))
        }
        _ => Ok(()),
    }
}

struct Longest {
    from: String,
    to: String,
    links: u32,
}

/// Checks that every host has one link, to a switch, and that all hosts are connected. Returns the longest of the
/// shortest paths between hosts.
fn graph(nodes: &[Node], edges: &[Edge], place: &Place<'_>) -> Result<Longest> {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges {
        neighbours[edge.a].push(edge.b);
        neighbours[edge.b].push(edge.a);
    }
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.host) {
        let links = neighbours[index].len();
        let name = &node.name;
        let message = match links {
            0 => format!("disconnected: host {name} has no link"),
            1 if !nodes[neighbours[index][0]].host => continue,
            1 => format!("host {name} is linked to a host"),
            _ => format!("host {name} has {links} links"),
        };
        let links = place.at("links");
        return links.refuse(message, "one link for each host, to a switch");
    }
    let hosts: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].host).collect();
    let mut longest = Longest {
        from: String::new(),
        to: String::new(),
        links: 0,
    };
    // Hosts on one switch share their distances, so one search per switch with hosts is enough.
    let mut searched = vec![false; nodes.len()];
    for &from in &hosts {
        let attachment = neighbours[from][0];
        if std::mem::replace(&mut searched[attachment], true) {
            continue;
        }
        let distance = distances(&neighbours, from);
        for &to in &hosts {
            match distance[to] {
                None => {
                    let (a, b) = (&nodes[from].name, &nodes[to].name);
                    let message = format!("disconnected: no path from {a} to {b}");
                    return place
                        .at("links")
                        .refuse(message, "a path between any two hosts");
                }
                Some(links) if links > longest.links => {
                    longest = Longest {
                        from: nodes[from].name.clone(),
                        to: nodes[to].name.clone(),
                        links,
                    };
                }
                Some(_) => {}
            }
        }
    }
    Ok(longest)
}

fn distances(neighbours: &[Vec<usize>], from: usize) -> Vec<Option<u32>> {
    let mut distance = vec![None; neighbours.len()];
    distance[from] = Some(0);
    let mut queue = std::collections::VecDeque::from([(from, 0)]);
    while let Some((node, links)) = queue.pop_front() {
        for &next in &neighbours[node] {
            if distance[next].is_none() {
                distance[next] = Some(links + 1);
                queue.push_back((next, links + 1));
            }
        }
    }
    distance
}

/// Checks that the trees can be placed, and that every entry of a list belongs to an application.
fn trees(oldi: &Oldi, hosts: u32, place: &Place<'_>) -> Result<()> {
    for (key, entries) in [
        (&["response"][..], oldi.response.len()),
        (&["deadline"], oldi.deadline.len()),
        (&["objective", "within"], oldi.objective.within.len()),
    ] {
        let is_given = !key.contains(&"within") || has_explicit_budget(place);
        if is_given && entries > oldi.applications as usize {
            let message = format!("{entries} entries for {} applications", oldi.applications);
            let place = key.iter().fold(place.clone(), |place, key| place.at(key));
            return place.refuse(message, "at most one entry per application");
        }
    }
    let layer = |total: u64, fan_in: &u32| total.saturating_mul(u64::from(*fan_in));
    let mut nodes: u64 = 1;
    let mut width: u64 = 1;
    for fan_in in &oldi.fan_in {
        width = layer(width, fan_in);
        nodes = nodes.saturating_add(width);
    }
    let trees = u64::from(oldi.applications) * u64::from(oldi.trees);
    let max_nodes = 100_000_000;
    if trees.saturating_mul(nodes) > max_nodes {
        let message = format!("{trees} trees of {nodes} nodes");
        return place
            .at("fan_in")
            .refuse(message, format!("at most {max_nodes} nodes in all trees"));
    }
    if oldi.share_hosts {
        return Ok(());
    }
    let sharing = "`share_hosts = true` lets a host have several roles";
    if let Some(fan_in) = oldi.fan_in.iter().find(|fan_in| **fan_in >= hosts) {
        let most = hosts - 1;
        let message = format!("larger than the {most} hosts other than the parent");
        let message = match oldi.fan_in[..] {
            [_] => message,
            _ => format!("{fan_in} is {message}"),
        };
        let error = place.at("fan_in").wrong(message);
        return Err(error.allowed(format!("1..={most}")).help(sharing));
    }
    if trees * nodes > u64::from(hosts) {
        let message = format!(
            "{trees} trees of {nodes} hosts need {}, the topology has {hosts}",
            trees * nodes
        );
        let error = place.at("fan_in").wrong(message);
        return Err(match oldi.fan_in[..] {
            [_] if u64::from(hosts) / trees >= 2 => {
                error.allowed(format!("1..={}", u64::from(hosts) / trees - 1))
            }
            _ => error.allowed("fewer trees, or a smaller fan-in"),
        }
        .help(sharing));
    }
    Ok(())
}

/// Returns true if the file sets the budget of queries explicitly.
fn has_explicit_budget(place: &Place<'_>) -> bool {
    let objective = place.node.get("objective");
    objective.is_some_and(|objective| objective.get("within").is_some())
}

/// Checks that hedges and retries have a host to go to and are sent early enough to matter.
fn hedges_and_retries(oldi: &Oldi, hosts: u32, place: &Place<'_>) -> Result<()> {
    let elsewhere = oldi.retry.is_some_and(|retry| retry.at == RetryAt::Other);
    let key = if oldi.hedge.is_some() {
        "hedge"
    } else {
        "retry"
    };
    if (oldi.hedge.is_some() || elsewhere) && hosts < 3 {
        let message = format!("no spare host: the topology has {hosts}");
        let error = place.at(key).wrong(message);
        let error = error.allowed("a topology of at least 3 hosts: parent, leaf and another");
        return Err(match key {
            "retry" => error.help("`at = \"same\"` retries at the same host"),
            _ => error,
        });
    }
    let after = match oldi.hedge {
        Some(Hedge {
            after: HedgeAfter::Time(after),
            ..
        }) => Some(after),
        _ => None,
    };
    let timeout = oldi.retry.map(|retry| retry.timeout);
    // Answers to queries sent this late are never in time.
    let budget = oldi.objective.within.iter().max().copied();
    let aggregator_timeout = match oldi.give_up {
        GiveUp::After(span) if oldi.fan_in.len() > 1 => Some(span),
        _ => None,
    };
    let ends = [
        (budget, "the budget of a query"),
        (aggregator_timeout, "the aggregators' `give_up`"),
    ];
    for (table, key, time) in [("hedge", "after", after), ("retry", "timeout", timeout)] {
        for (end, what) in ends {
            if let (Some(time), Some(end)) = (time, end)
                && time >= end
            {
                let message = format!("{what} is {end}: the second query would be too late");
                let place = place.at(table).at(key);
                return place.refuse(message, format!("below {end}"));
            }
        }
    }
    if let (Some(after), Some(timeout)) = (after, timeout)
        && after >= timeout
    {
        let message = format!("`retry.timeout` is {timeout}: the retry would come first");
        let place = place.at("hedge").at("after");
        return place.refuse(message, format!("below {timeout}"));
    }
    Ok(())
}

/// Checks that the parts of an objective do not contradict each other or `complete_at`.
fn objective(workload: &Workload, place: &Place<'_>) -> Result<()> {
    let (complete_at, objective) = match &workload.kind {
        WorkloadKind::Oldi(oldi) => (oldi.complete_at, &oldi.objective),
        WorkloadKind::Spans(spans) => (spans.complete_at, &spans.objective),
        _ => return Ok(()),
    };
    if place.node.get("objective").is_none() {
        return Ok(());
    }
    let at = |key: &str| place.at("objective").at(key);
    if objective.answers > complete_at {
        let message = format!(
            "a query is complete with {complete_at} of its answers (`complete_at`), but the objective requires more"
        );
        let allowed = format!("at most `complete_at`: {complete_at}");
        return at("answers").refuse(message, allowed);
    }
    if objective.share.is_some() && !workload.can_be_late() {
        let message = "queries have neither a budget nor deadlines";
        return at("share").refuse(
            message,
            "together with `within`, or a `deadline` of the answers",
        );
    }
    Ok(())
}

fn first_start(kind: &WorkloadKind) -> Option<Span> {
    match kind {
        WorkloadKind::Burst { at, .. }
        | WorkloadKind::Permutation { at, .. }
        | WorkloadKind::Long { at, .. } => Some(*at),
        _ => None,
    }
}
