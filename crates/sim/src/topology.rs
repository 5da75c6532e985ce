//! Network of the engine: nodes, directed links and the attachment of hosts.
//!
//! Nodes are numbered hosts first (node i is host i), then switches, both in the order of the shape.

mod regular;
mod shapes;

use crate::SetupError;
use crate::routing::SwitchGraph;
use duetime_core::{Rate, Span};
use duetime_scenario::model::{Link, Topology};
pub use regular::Regular;

/// Nodes and directed links of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Nodes: hosts first, then switches.
    pub nodes: Vec<Node>,
    /// Directed links; 2i and 2i+1 are the two directions of one full-duplex link.
    pub links: Vec<DirectedLink>,
    /// Node of each host. Always the identity; kept so that callers need not rely on it.
    pub hosts: Vec<u32>,
    /// Link from each host to its switch.
    pub uplink: Vec<u32>,
    /// Link to each host from its switch.
    pub downlink: Vec<u32>,
    /// Regular shape of the network, or `None`.
    pub regular: Option<Regular>,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the node: `host0`, `rack3`, `spine0`, …, or as in the file.
    pub name: String,
    /// Index of the host, or `None` for a switch.
    pub host: Option<u32>,
    /// Hint for splitting the network: a switch and its hosts share one number, and each switch has a different one.
    pub rack: u32,
}

/// One direction of a full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectedLink {
    /// Sending node.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay.
    pub latency: Span,
    /// Probability that a packet is lost, in [0, 1).
    pub loss: f64,
}

impl Network {
    /// Builds the nodes and links of `topology`, and checks that every host has exactly one link, to a switch.
    pub fn build(topology: &Topology) -> Result<Self, SetupError> {
        shapes::plan(topology)?.finish()
    }

    /// Returns the number of hosts.
    #[inline]
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// Returns the number of switches.
    pub fn switches(&self) -> u32 {
        (self.nodes.len() - self.hosts.len()) as u32
    }

    /// Returns the node of a host's switch.
    #[inline]
    pub fn switch_of(&self, host: u32) -> u32 {
        self.links[self.uplink[host as usize] as usize].to
    }

    /// Returns the name of a link: `from->to`, by node names.
    pub fn link_name(&self, link: u32) -> String {
        let link = &self.links[link as usize];
        format!(
            "{}->{}",
            self.nodes[link.from as usize].name, self.nodes[link.to as usize].name
        )
    }

    /// Returns the name of a host.
    pub fn host_name(&self, host: u32) -> &str {
        &self.nodes[self.hosts[host as usize] as usize].name
    }

    /// Returns the first link with this name, in the format of [`Network::link_name`], or `None` if there is none.
    pub fn find_link(&self, name: &str) -> Option<u32> {
        // A node's name may contain an arrow, so names are compared whole rather than split.
        let has_name = |link: &DirectedLink| {
            name.strip_prefix(self.nodes[link.from as usize].name.as_str())
                .and_then(|rest| rest.strip_prefix("->"))
                .is_some_and(|to| to == self.nodes[link.to as usize].name)
        };
        self.links.iter().position(has_name).map(|link| link as u32)
    }

    /// Returns the maximum length of a shortest path between two hosts, in links; 0 with a single host.
    pub fn longest_path(&self) -> u32 {
        if self.hosts() < 2 {
            return 0;
        }
        if let Some(regular) = self.regular {
            return regular.longest_path();
        }
        let graph = SwitchGraph::new(self);
        let mut reached = Vec::new();
        let attachments = graph.attachments(self);
        let far = attachments.iter().map(|&from| {
            graph.distances(from, &mut reached);
            attachments
                .iter()
                .map(|&to| reached[to as usize])
                .filter(|&d| d != u32::MAX)
                .max()
                .unwrap_or(0)
        });
        far.max().unwrap_or(0) + 2
    }
}

/// A network under construction: names and full-duplex links, with hosts and switches in any order.
#[derive(Default)]
struct Plan {
    /// Name of each node, and true for a host.
    nodes: Vec<(String, bool)>,
    hosts: usize,
    edges: Vec<(usize, usize, Link)>,
    regular: Option<Regular>,
}

impl Plan {
    fn host(&mut self) -> usize {
        let name = format!("host{}", self.hosts);
        self.node(name, true)
    }

    fn switch(&mut self, name: impl Into<String>) -> usize {
        self.node(name.into(), false)
    }

    fn node(&mut self, name: String, host: bool) -> usize {
        self.nodes.push((name, host));
        self.hosts += usize::from(host);
        self.nodes.len() - 1
    }

    fn join(&mut self, a: usize, b: usize, link: Link) {
        self.edges.push((a, b, link));
    }

    fn finish(self) -> Result<Network, SetupError> {
        let hosts = self.hosts;
        if hosts < 2 {
            return Err(SetupError::Shape(format!(
                "{hosts} host(s); at least 2 are needed"
            )));
        }
        let (mut next_host, mut next_switch) = (0, hosts);
        let mut number = Vec::with_capacity(self.nodes.len());
        for &(_, host) in &self.nodes {
            let next = if host {
                &mut next_host
            } else {
                &mut next_switch
            };
            number.push(*next as u32);
            *next += 1;
        }
        let mut nodes = vec![
            Node {
                name: String::new(),
                host: None,
                rack: 0
            };
            self.nodes.len()
        ];
        for (&at, (name, host)) in number.iter().zip(self.nodes) {
            let rack = at.saturating_sub(hosts as u32);
            nodes[at as usize] = Node {
                name,
                host: host.then_some(at),
                rack,
            };
        }
        let mut links = Vec::with_capacity(2 * self.edges.len());
        for (
            a,
            b,
            Link {
                rate,
                latency,
                loss,
            },
        ) in self.edges
        {
            let (a, b) = (number[a], number[b]);
            if a == b {
                return Err(SetupError::Shape(format!(
                    "`{}` is joined to itself",
                    nodes[a as usize].name
                )));
            }
            if rate.as_bps() == 0 {
                let (a, b) = (&nodes[a as usize].name, &nodes[b as usize].name);
                return Err(SetupError::Shape(format!(
                    "the link between `{a}` and `{b}` has no rate"
                )));
            }
            links.push(DirectedLink {
                from: a,
                to: b,
                rate,
                latency,
                loss,
            });
            links.push(DirectedLink {
                from: b,
                to: a,
                rate,
                latency,
                loss,
            });
        }
        let mut network = Network {
            nodes,
            links,
            hosts: (0..hosts as u32).collect(),
            uplink: Vec::new(),
            downlink: Vec::new(),
            regular: self.regular,
        };
        network.attach()?;
        Ok(network)
    }
}

impl Network {
    /// Finds each host's link, and assigns each host the rack of its switch.
    fn attach(&mut self) -> Result<(), SetupError> {
        let hosts = self.hosts.len();
        let mut count = vec![0; hosts];
        self.uplink = vec![0; hosts];
        self.downlink = vec![0; hosts];
        for (index, link) in self.links.iter().enumerate() {
            let host = link.from as usize;
            if host >= hosts {
                continue;
            }
            if (link.to as usize) < hosts {
                let name = |node: u32| self.nodes[node as usize].name.clone();
                return Err(SetupError::HostToHost {
                    host: name(link.from),
                    other: name(link.to),
                });
            }
            count[host] += 1;
            self.uplink[host] = index as u32;
            self.downlink[host] = index as u32 ^ 1;
        }
        if let Some(host) = count.iter().position(|&links| links != 1) {
            return Err(SetupError::HostLinks {
                host: self.nodes[host].name.clone(),
                links: count[host],
            });
        }
        for host in 0..hosts {
            self.nodes[host].rack = self.nodes[self.switch_of(host as u32) as usize].rack;
        }
        Ok(())
    }
}
