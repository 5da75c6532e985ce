//! Topology, switches, hosts, and what is recorded.

use super::{DELAY, H, Key, Kind, MS, POOL, REQUIRED, TB, Table, US, key, kind};

pub(crate) static LINK: Table = Table {
    name: "link",
    doc: "A full-duplex link, the same in both directions.",
    keys: &[LINK_KEYS],
};
const LINK_KEYS: &[Key] = &[
    key(
        "rate",
        Kind::Rate(1_000_000, 10 * TB),
        REQUIRED,
        "Capacity, each way.",
    ),
    key("latency", DELAY, REQUIRED, "One-way propagation delay."),
    key(
        "loss",
        Kind::Share(0.0, 0.99),
        "0",
        "Probability that a packet is lost on it, each way.",
    ),
];
const fn link(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Table(&LINK), default, doc)
}

/// The kinds of topology.
pub static TOPOLOGIES: &[(&str, &Table)] = &[
    ("star", &STAR),
    ("dumbbell", &DUMBBELL),
    ("d3-testbed", &D3_TESTBED),
    ("leaf-spine", &LEAF_SPINE),
    ("fat-tree", &FAT_TREE),
    ("graph", &GRAPH),
];
static STAR: Table = Table {
    name: "topology of kind \"star\"",
    doc: "All hosts on one switch.",
    keys: &[&[
        kind(&["star"], "`\"star\"`."),
        key(
            "hosts",
            Kind::Integer(2, 100_000),
            REQUIRED,
            "Number of hosts.",
        ),
        link("link", REQUIRED, "Each host's link."),
    ]],
};
static DUMBBELL: Table = Table {
    name: "topology of kind \"dumbbell\"",
    doc: "Two switches joined by one link. Hosts on the left come first.",
    keys: &[&[
        kind(&["dumbbell"], "`\"dumbbell\"`."),
        key(
            "left",
            Kind::Integer(1, 100_000),
            REQUIRED,
            "Hosts on the left.",
        ),
        key(
            "right",
            Kind::Integer(1, 100_000),
            REQUIRED,
            "Hosts on the right.",
        ),
        link("link", REQUIRED, "Each host's link."),
        link("bottleneck", REQUIRED, "The link between the switches."),
    ]],
};
static D3_TESTBED: Table = Table {
    name: "topology of kind \"d3-testbed\"",
    doc: "The testbed of D3 §6: four racks of three hosts under one root, hosts 0 to 11, and two traffic generators on the root, hosts 12 and 13.",
    keys: &[&[
        kind(&["d3-testbed"], "`\"d3-testbed\"`."),
        link(
            "link",
            "1 Gbps, 125 us: a round trip of 500 us within a rack",
            "Every link.",
        ),
    ]],
};
static LEAF_SPINE: Table = Table {
    name: "topology of kind \"leaf-spine\"",
    doc: "Racks of hosts; each rack's switch is joined to every spine.",
    keys: &[&[
        kind(&["leaf-spine"], "`\"leaf-spine\"`."),
        key(
            "racks",
            Kind::Integer(1, 10_000),
            REQUIRED,
            "Number of racks.",
        ),
        key(
            "hosts_per_rack",
            Kind::Integer(1, 10_000),
            REQUIRED,
            "Hosts in each rack.",
        ),
        key(
            "spines",
            Kind::Integer(1, 1_000),
            "1",
            "Number of spine switches.",
        ),
        link("host_link", REQUIRED, "From a host to its rack's switch."),
        link("uplink", REQUIRED, "From a rack's switch to each spine."),
    ]],
};
static FAT_TREE: Table = Table {
    name: "topology of kind \"fat-tree\"",
    doc: "A k-ary fat-tree of k³/4 hosts.",
    keys: &[&[
        kind(&["fat-tree"], "`\"fat-tree\"`."),
        key(
            "k",
            Kind::Integer(2, 128),
            REQUIRED,
            "Ports per switch, even: 40 gives 16,000 hosts.",
        ),
        link("link", REQUIRED, "Every link."),
    ]],
};
static GRAPH: Table = Table {
    name: "topology of kind \"graph\"",
    doc: "Any graph. Hosts are numbered in the order of `hosts`.",
    keys: &[&[
        kind(&["graph"], "`\"graph\"`."),
        key(
            "hosts",
            Kind::List(&Kind::Text),
            REQUIRED,
            "Names of the hosts; each has one link.",
        ),
        key(
            "switches",
            Kind::List(&Kind::Text),
            REQUIRED,
            "Names of the switches.",
        ),
        key(
            "links",
            Kind::List(&Kind::Table(&EDGE)),
            REQUIRED,
            "The links.",
        ),
    ]],
};
pub(crate) static EDGE: Table = Table {
    name: "link of a graph",
    doc: "A link between two named nodes.",
    keys: &[
        &[key(
            "between",
            Kind::List(&Kind::Text),
            REQUIRED,
            "The two ends' names.",
        )],
        LINK_KEYS,
    ],
};

/// `[switch]`.
pub static SWITCH: Table = Table {
    name: "switch",
    doc: "The ports of all switches. Hosts' own ports have no limit and do not mark.",
    keys: &[&[
        key(
            "buffer",
            Kind::Any(&[Kind::Text, Kind::Tagged("kind", BUFFERS)]),
            "\"4 MB\"",
            "`\"4 MB\"`: one pool per switch with dynamic thresholds, alpha 1. `\"100 packets\"`: each port its own. `\"unlimited\"`. Or a table, below.",
        ),
        key(
            "ecn_threshold",
            Kind::Any(&[Kind::Amount, Kind::List(&Kind::Table(&ECN))]),
            "20 packets; at 10 Gbps and above 65 packets",
            "Ports mark a packet that finds at least this much queued, the packet in service included. A list gives it by link rate. `packets` counts packets of any size, a bare acknowledgement like a full segment: where segments are small, state a paper's 20 packets of 1500 B as \"30 KB\".",
        ),
    ]],
};
/// The kinds of switch buffer.
pub static BUFFERS: &[(&str, &Table)] = &[
    ("unlimited", &BUFFER_UNLIMITED),
    ("static", &BUFFER_STATIC),
    ("dynamic", &BUFFER_DYNAMIC),
];
static BUFFER_UNLIMITED: Table = Table {
    name: "buffer of kind \"unlimited\"",
    doc: "No limit.",
    keys: &[&[kind(&["unlimited"], "`\"unlimited\"`.")]],
};
static BUFFER_STATIC: Table = Table {
    name: "buffer of kind \"static\"",
    doc: "Each port has its own memory.",
    keys: &[&[
        kind(&["static"], "`\"static\"`."),
        key(
            "size",
            Kind::Amount,
            REQUIRED,
            "Memory of each port: `\"100 packets\"` or `\"128 KB\"`.",
        ),
    ]],
};
static BUFFER_DYNAMIC: Table = Table {
    name: "buffer of kind \"dynamic\"",
    doc: "One pool per switch; a port may hold `alpha` times what is free (Choudhury and Hahne, 1998).",
    keys: &[&[
        kind(&["dynamic"], "`\"dynamic\"`."),
        key(
            "pool",
            Kind::Size(POOL.0, POOL.1),
            REQUIRED,
            "Memory of the switch.",
        ),
        key(
            "alpha",
            Kind::Number(0.001, 1000.0),
            "1",
            "Share of the free memory that one port may hold.",
        ),
    ]],
};
pub(crate) static ECN: Table = Table {
    name: "entry of switch.ecn_threshold",
    doc: "A threshold from a link rate upwards; links slower than the first entry take the first.",
    keys: &[&[
        key(
            "rate",
            Kind::Rate(1_000_000, 10 * TB),
            REQUIRED,
            "Links of this rate and faster.",
        ),
        key("threshold", Kind::Amount, REQUIRED, "Their threshold."),
    ]],
};

/// `[host]`.
pub static HOSTS: Table = Table {
    name: "host",
    doc: "All hosts.",
    keys: &[&[
        key(
            "nic",
            Kind::Choice(&["pull", "fifo"]),
            "\"pull\"",
            "`pull`: the card takes acknowledgements first, then ready flows in turn. `fifo`: a plain queue without limit.",
        ),
        key(
            "frame_overhead",
            Kind::Size(0, 1_000),
            "\"0 B\"",
            "Added to each packet on the wire; 38 B for Ethernet with preamble and gap.",
        ),
        key(
            "start_jitter",
            Kind::Boolean,
            "true",
            "Senders start with a random delay of up to one packet time.",
        ),
        key(
            "send_jitter",
            Kind::Time(0, MS),
            "\"1 ns\"",
            "Each packet leaves its host later by a random time below this, out of the gap behind it: packets keep their order and a busy link loses nothing. Without it equal hosts send in step for ever and can share a link unequally (traffic phase effects; Floyd and Jacobson, 1992; `docs/validation.md`). `\"0 ps\"`: exact times.",
        ),
    ]],
};

/// `[record]`.
pub static RECORD: Table = Table {
    name: "record",
    doc: "What is recorded beside flows and queries.",
    keys: &[&[
        key(
            "every",
            Kind::Time(US, H),
            "no series",
            "Sampling period of queue lengths and throughput.",
        ),
        key(
            "links",
            Kind::List(&Kind::Text),
            "the links into the first 32 hosts that end a tree or a burst",
            "The directed links sampled, as `from->to`.",
        ),
        key(
            "pcap",
            Kind::List(&Kind::Text),
            "none",
            "The directed links captured to pcapng, as `from->to`, where they begin: a packet is there once its last bit has left the port, even if the link then loses it; a packet that the port drops is not.",
        ),
        key(
            "snap_length",
            Kind::Size(40, 64_000),
            "\"128 B\"",
            "Bytes kept of each captured packet.",
        ),
    ]],
};
