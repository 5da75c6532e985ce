//! Names of links and of the hosts of a query's tree.

use duetime_results::{Class, QueryRecord};
use duetime_sim::RunOutput;
use duetime_sim::topology::Network;
use std::collections::BTreeMap;

/// Names for the link and node indices of an explanation.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of the directed links, by index.
    pub links: Vec<String>,
    /// Hosts of the traced nodes of the query's tree, by node; 0 is the root. For a leaf that received several queries,
    /// the host of the answer that counted.
    pub nodes: BTreeMap<u32, String>,
    /// Hosts that received the first query to each node.
    pub first: BTreeMap<u32, String>,
    /// Parents of the nodes, by node.
    pub parents: BTreeMap<u32, u32>,
}

impl Names {
    /// Collects the names for a run of `network` with traced flows. `query` is the query of the flows, if any.
    pub fn new(network: &Network, query: Option<&QueryRecord>, output: &RunOutput) -> Self {
        let host = |host| network.host_name(host).to_owned();
        let mut first: BTreeMap<u32, String> = query
            .map(|query| (0, host(query.root)))
            .into_iter()
            .collect();
        let mut answered = BTreeMap::new();
        let mut parents = BTreeMap::new();
        for trace in &output.traces {
            let flows = &output.records.flows;
            let Ok(index) = flows.binary_search_by_key(&trace.flow, |flow| flow.flow) else {
                continue;
            };
            if let Some(node) = trace.node {
                let flow = &flows[index];
                let owner = match flow.class {
                    Class::Query | Class::Cancel => flow.destination,
                    _ => flow.source,
                };
                if flow.attempt.0 == 0 {
                    first.insert(node.node, host(owner));
                }
                if flow.class == Class::Response && flow.finish.is_some() && !flow.spare.0 {
                    answered.insert(node.node, host(owner));
                }
                parents.insert(node.node, node.parent);
            }
        }
        let mut nodes = first.clone();
        nodes.extend(answered);
        Self {
            links: (0..)
                .take(network.links.len())
                .map(|link| network.link_name(link))
                .collect(),
            nodes,
            first,
            parents,
        }
    }

    /// Returns the name of a link, or `?` if it is unknown.
    pub fn link(&self, link: u32) -> &str {
        self.links.get(link as usize).map_or("?", String::as_str)
    }

    /// Returns the host of a node of the tree, or `?` if it is unknown.
    pub fn node(&self, node: u32) -> &str {
        self.nodes.get(&node).map_or("?", String::as_str)
    }

    /// Returns the host that received the first query to a node, or `?` if it is unknown.
    pub fn first(&self, node: u32) -> &str {
        self.first.get(&node).map_or("?", String::as_str)
    }

    /// Returns the host of a node's parent, or `?` if it is unknown.
    pub fn parent(&self, node: u32) -> &str {
        self.parents
            .get(&node)
            .map_or("?", |&parent| self.node(parent))
    }
}
