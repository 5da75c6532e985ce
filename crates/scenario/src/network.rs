//! `[topology]`: nodes and links of the network.

use crate::codec::{Codec, open_kind, resolved_kind, tables_of};
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Choice, Integer, List, Rate as Rates, Share, Text, Time};
use crate::keys::{S, TB, Table, declare};
use crate::model::{Edge, Link, Node, Topology};
use crate::place::Place;
use crate::table::Reader;
use crate::values::{Readable, Resolved};
use duetime_core::{Rate, Span};
use serde_json::{Value, json};

declare! {
    /// Full-duplex link, equal in both directions.
    pub(crate) static LINK: "link" {
        /// Rate in each direction.
        rate: Rates(1_000_000, 10 * TB);
        /// One-way propagation delay.
        latency: Time(0, 10 * S);
        /// Probability of losing a packet, in each direction.
        loss: Share(0.0, 0.99), default 0;
    } for Link { rate, latency, loss }
}

const HOSTS: Kind = Integer(1, 100_000);
const EVERY_LINK: Kind = Kind::Table(LINK.table);

/// Kinds of topology.
pub(crate) static TOPOLOGIES: &[(&str, &Table)] = &tables_of(&CODECS);

const CODECS: [(&str, &Codec<Topology>); 6] = [
    ("star", &STAR),
    ("dumbbell", &DUMBBELL),
    ("d3-testbed", &D3_TESTBED),
    ("leaf-spine", &LEAF_SPINE),
    ("fat-tree", &FAT_TREE),
    ("graph", &GRAPH),
];

impl Readable for Topology {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        open_kind(place, TOPOLOGIES, &CODECS)
    }
}

impl Resolved for Topology {
    fn resolved(&self) -> Value {
        resolved_kind(self, &CODECS)
    }
}

declare! {
    /// All hosts on one switch.
    static STAR: "topology of kind \"star\"" {
        /// `"star"`.
        kind: Choice(&["star"]);
        /// Number of hosts.
        hosts: Integer(2, 100_000);
        /// Link of each host.
        link: EVERY_LINK;
    } for Topology::Star { hosts, link }
    /// Two switches connected by one link. Hosts on the left have the lower indices.
    static DUMBBELL: "topology of kind \"dumbbell\"" {
        /// `"dumbbell"`.
        kind: Choice(&["dumbbell"]);
        /// Hosts on the left.
        left: HOSTS;
        /// Hosts on the right.
        right: HOSTS;
        /// Link of each host.
        link: EVERY_LINK;
        /// Link between the switches.
        bottleneck: EVERY_LINK;
    } for Topology::Dumbbell { left, right, link, bottleneck }
    /// Testbed of D3 §6: four racks of three hosts (0 to 11) under one root switch, and two traffic generators (12, 13)
    /// at the root.
    static D3_TESTBED: "topology of kind \"d3-testbed\"" {
        /// `"d3-testbed"`.
        kind: Choice(&["d3-testbed"]);
        /// Every link.
        link: EVERY_LINK, otherwise "1 Gbps, 125 us: a round trip of 500 us within a rack";
    } for Topology::D3Testbed { link: |reader, key| reader.read(key, Some(TESTBED), Readable::read) }
    /// Racks of hosts. The switch of each rack is connected to every spine.
    static LEAF_SPINE: "topology of kind \"leaf-spine\"" {
        /// `"leaf-spine"`.
        kind: Choice(&["leaf-spine"]);
        /// Number of racks.
        racks: Integer(1, 10_000);
        /// Hosts in each rack.
        hosts_per_rack: Integer(1, 10_000);
        /// Number of spine switches.
        spines: Integer(1, 1_000), default 1;
        /// Link of each host to its rack's switch.
        host_link: EVERY_LINK;
        /// Link of each rack's switch to each spine.
        uplink: EVERY_LINK;
    } for Topology::LeafSpine { racks, hosts_per_rack, spines, host_link, uplink }
    /// k-ary fat-tree of k³/4 hosts.
    static FAT_TREE: "topology of kind \"fat-tree\"" {
        /// `"fat-tree"`.
        kind: Choice(&["fat-tree"]);
        /// Ports per switch, an even number: 40 gives 16,000 hosts.
        k: Integer(2, 128);
        /// Every link.
        link: EVERY_LINK;
    } for Topology::FatTree { k: |reader, key| reader.read(key, None, even), link }
    /// Any graph. Hosts have the indices of their names in `hosts`.
    static GRAPH_TABLE: "topology of kind \"graph\"" {
        /// `"graph"`.
        kind: Choice(&["graph"]);
        /// Names of the hosts. Each has one link.
        hosts: List(&Text);
        /// Names of the switches.
        switches: List(&Text);
        /// Links.
        links: List(&Kind::Table(&EDGE));
    }
}

static GRAPH: Codec<Topology> = Codec {
    table: &GRAPH_TABLE,
    read: graph,
    write: |topology| match topology {
        Topology::Graph { nodes, edges } => Some(vec![
            ("nodes", nodes.resolved()),
            ("links", edges.resolved()),
        ]),
        _ => None,
    },
};

const TESTBED: Link = Link {
    rate: Rate::from_gbps(1),
    latency: Span::from_us(125),
    loss: 0.0,
};

/// Entry of a graph's `links`.
pub(crate) static EDGE: Table = Table {
    name: "link of a graph",
    doc: "Link between two named nodes.",
    keys: &[
        declare! {
            /// Names of the two ends.
            between: List(&Text);
        },
        LINK.table.keys[0],
    ],
};

impl Resolved for Node {
    fn resolved(&self) -> Value {
        json!({ "name": self.name, "host": self.host })
    }
}

impl Resolved for Edge {
    fn resolved(&self) -> Value {
        json!({ "between": [self.a, self.b], "link": self.link.resolved() })
    }
}

fn even(place: &Place<'_>, kind: &'static Kind) -> Result<u32> {
    let allowed = "an even number, 2..=128";
    let k = u32::read(place, kind).map_err(|error| error.allowed(allowed))?;
    if k % 2 == 1 {
        return place.refuse("odd", allowed);
    }
    Ok(k)
}

fn graph(reader: &Reader<'_>) -> Result<Topology> {
    let mut nodes: Vec<Node> = Vec::new();
    for (key, host) in [("hosts", true), ("switches", false)] {
        for (name, place) in reader.needed(key, Reader::texts)? {
            if name.is_empty() || name.contains("->") {
                return place.refuse("not a name", "a text without `->`");
            }
            if nodes.iter().any(|node| node.name == name) {
                return place.refuse("duplicate node name", "a unique name for each node");
            }
            nodes.push(Node {
                name: name.to_owned(),
                host,
            });
        }
    }
    let mut edges = Vec::new();
    for place in reader.need("links")?.array()? {
        let reader = Reader::open(place, &EDGE)?;
        let between = reader.need("between")?;
        let ends = between.array()?;
        let [a, b] = &ends[..] else {
            return between.refuse("a link has two ends", "[\"a\", \"b\"]");
        };
        let (a, b) = (end(&nodes, a)?, end(&nodes, b)?);
        if a == b {
            return between.refuse("a link from a node to itself", "two different nodes");
        }
        let link = (LINK.read)(&reader)?;
        edges.push(Edge { a, b, link });
    }
    Ok(Topology::Graph { nodes, edges })
}

/// Returns the index of the node at an end of a link.
fn end(nodes: &[Node], place: &Place<'_>) -> Result<usize> {
    let allowed = "a name of `hosts` or `switches`";
    let name = place.str("the name of a node", allowed)?;
    let found = nodes.iter().position(|node| node.name == name);
    found.ok_or_else(|| {
        let error = place.wrong("no such node").allowed(allowed);
        error.suggest(name, nodes.iter().map(|node| node.name.as_str()), '"')
    })
}
