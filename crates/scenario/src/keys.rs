//! Every key of a scenario, once: its kind, range, default and meaning. The reader takes its ranges from here, and
//! the JSON Schema and the reference page are generated from it.

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// What it is called in messages and in the reference: `switch`, `workload of kind "oldi"`.
    pub name: &'static str,
    /// What it describes.
    pub doc: &'static str,
    /// Its keys, in groups that tables share.
    pub keys: &'static [&'static [Key]],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What holds when it is absent; empty: it must be there.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// What a value may be. Bounds are inclusive.
#[derive(Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer(i64, i64),
    /// A number.
    Number(f64, f64),
    /// A number or a percentage.
    Share(f64, f64),
    /// A time in picoseconds, written with its unit.
    Time(u64, u64),
    /// A rate in bits per second, written with its unit.
    Rate(u64, u64),
    /// A size in bytes, written with its unit.
    Size(u64, u64),
    /// An amount of queue: packets or bytes, written with its unit.
    Amount,
    /// Flows per second.
    Frequency,
    /// A random or fixed time.
    Gap,
    /// A distribution of flow sizes.
    Sizes,
    /// A distribution of deadlines.
    Deadline,
    /// A fraction 1/2^n.
    Gain,
    /// A list.
    List(&'static Kind),
    /// One value, or a list.
    OneOrMore(&'static Kind),
    /// A table of its own.
    Table(&'static Table),
    /// A table whose keys depend on this one of its keys: `kind`, or a variant's `base`.
    Tagged(&'static str, &'static [(&'static str, &'static Table)]),
    /// Any of these.
    Any(&'static [Kind]),
    /// A table with any keys.
    Open,
}

impl Table {
    /// All keys.
    pub fn all(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.all().find(|key| key.name == name)
    }
}

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

const US: u64 = 1_000_000;
const MS: u64 = 1_000 * US;
const S: u64 = 1_000 * MS;
const H: u64 = 3_600 * S;
const TB: u64 = 1_000_000_000_000;
const REQUIRED: &str = "";

/// Kinds of time that several keys share.
const DELAY: Kind = Kind::Time(0, 10 * S);
const INSTANT: Kind = Kind::Time(0, 24 * H);
/// Times that a deadline, a gap or an interval may have.
pub(crate) const SOME_TIME: (u64, u64) = (1_000, H);
/// Times that a computation or a jitter may have.
pub(crate) const ANY_TIME: (u64, u64) = (0, H);
/// Sizes that a flow may have.
pub(crate) const FLOW_SIZE: (u64, u64) = (1, TB);
/// Memory that a switch may have.
pub(crate) const POOL: (u64, u64) = (1_500, 100_000_000_000);
/// Packets that a port may hold, or at which it marks.
pub(crate) const PACKETS_RANGE: (u64, u64) = (1, 10_000_000);
/// Flows per second, in thousandths.
pub(crate) const FREQUENCY_RANGE: (u64, u64) = (1, 1_000_000_000_000);
const HOST: Kind = Kind::Integer(0, 999_999);

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "scenario",
    doc: "The file's own keys, before any table.",
    keys: &[&[
        key(
            "name",
            Kind::Text,
            "the file's name",
            "Names the run folder: letters, digits, `-` and `_`.",
        ),
        key(
            "transport",
            Kind::OneOrMore(&Kind::Text),
            REQUIRED,
            "The transports to compare: `tcp`, `dctcp`, `d2tcp`, `d3`, `rcpdc`, `tcp-prio`, `rcpdc-prio`, or the name of a `[[variant]]`.",
        ),
        key(
            "seeds",
            Kind::Integer(1, 1_000_000),
            "1",
            "Runs per transport; the same seeds for each.",
        ),
        key(
            "seed",
            Kind::Integer(0, i64::MAX),
            "1",
            "Root of all random streams.",
        ),
        key(
            "warm_up",
            INSTANT,
            "\"0 us\"",
            "Flows that start earlier do not count.",
        ),
        key(
            "duration",
            Kind::Time(1_000, 24 * H),
            "for bursts, permutations and traces: 1 ms after the last start",
            "Sources stop here; flows that start later do not count. Must be given where a source never stops by itself.",
        ),
        key(
            "drain",
            INSTANT,
            "\"10 s\"; \"100 s\" where `duration` is not given",
            "The run is cut this long after `duration`, should counted flows still be unfinished.",
        ),
        key(
            "topology",
            Kind::Tagged("kind", TOPOLOGIES),
            REQUIRED,
            "The network.",
        ),
        key(
            "switch",
            Kind::Table(&SWITCH),
            "the defaults below",
            "The ports of all switches.",
        ),
        key(
            "host",
            Kind::Table(&HOSTS),
            "the defaults below",
            "The hosts.",
        ),
        key(
            "workload",
            Kind::List(&Kind::Tagged("kind", WORKLOADS)),
            REQUIRED,
            "What the hosts do: one `[[workload]]` or more.",
        ),
        key(
            "record",
            Kind::Table(&RECORD),
            "the defaults below",
            "What is recorded beside flows and queries.",
        ),
        key(
            "tcp",
            Kind::Table(&TCP),
            "the defaults below",
            "TCP, and whatever DCTCP and D2TCP share with it.",
        ),
        key(
            "dctcp",
            Kind::Table(&DCTCP),
            "the defaults below",
            "DCTCP, and whatever D2TCP shares with it.",
        ),
        key("d2tcp", Kind::Table(&D2TCP), "the defaults below", "D2TCP."),
        key(
            "d3",
            Kind::Table(&D3),
            "the defaults below",
            "D3, and whatever RCPdc shares with it.",
        ),
        key(
            "rcpdc",
            Kind::Table(&D3_ONLY),
            "the defaults below",
            "RCPdc, over `[d3]`.",
        ),
        key(
            "priority",
            Kind::Table(&PRIORITY),
            "the defaults below",
            "`tcp-prio` and `rcpdc-prio`.",
        ),
        key(
            "variant",
            Kind::List(&Kind::Tagged("base", VARIANTS)),
            "none",
            "Further transports: a `base` with some keys changed.",
        ),
        key(
            "sweep",
            Kind::Open,
            "none",
            "Axes of `duetime sweep`: `workload.fan_in = [10, 20, 40]`.",
        ),
    ]],
};

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
const fn kind(kinds: &'static [&'static str], doc: &'static str) -> Key {
    key("kind", Kind::Choice(kinds), REQUIRED, doc)
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
            "Ports mark a packet that finds at least this much queued, the packet in service included. A list gives it by link rate.",
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
            "the links into hosts that end a tree or a burst",
            "The directed links sampled, as `from->to`.",
        ),
        key(
            "pcap",
            Kind::List(&Kind::Text),
            "none",
            "The directed links captured to pcapng, as `from->to`.",
        ),
        key(
            "snap_length",
            Kind::Size(40, 64_000),
            "\"128 B\"",
            "Bytes kept of each captured packet.",
        ),
    ]],
};

const TCP_KEYS: &[Key] = &[
    key(
        "mss",
        Kind::Size(100, 9_000),
        "\"1460 B\"",
        "Largest payload of a segment.",
    ),
    key(
        "initial_window",
        Kind::Integer(1, 10_000),
        "2",
        "Initial window, in segments.",
    ),
    key(
        "min_window",
        Kind::Integer(1, 100),
        "2",
        "Floor of the window after a cut by marks, in segments (RFC 8257 §3.3).",
    ),
    key(
        "initial_ssthresh",
        Kind::Any(&[Kind::Integer(1, 1_000_000), Kind::Choice(&["infinite"])]),
        "\"infinite\"",
        "Initial slow-start threshold, in segments.",
    ),
    key(
        "rto_min",
        Kind::Time(10 * US, 10 * S),
        "\"10 ms\"",
        "Smallest retransmission timeout.",
    ),
    key(
        "rto_initial",
        Kind::Time(10 * US, 10 * S),
        "that of `rto_min`",
        "Timeout before the first round-trip sample; at least `rto_min`.",
    ),
    key(
        "rto_max",
        Kind::Time(MS, H),
        "\"1 min\"",
        "Largest timeout after backoff; at least `rto_initial`.",
    ),
    key(
        "delayed_ack",
        Kind::Integer(1, 100),
        "2",
        "Segments acknowledged together; 1 acknowledges each.",
    ),
    key(
        "delayed_ack_timeout",
        Kind::Time(0, S),
        "\"1 ms\"",
        "Longest delay of an acknowledgement.",
    ),
    key(
        "slow_start_restart",
        Kind::Boolean,
        "true",
        "After an idle time above the RTO the window falls back to the initial one (RFC 5681 §4.1).",
    ),
    key(
        "receive_window",
        Kind::Size(1_500, TB),
        "\"1 GiB\"",
        "The receiver's window.",
    ),
];
const DCTCP_KEYS: &[Key] = &[
    key(
        "gain",
        Kind::Gain,
        "\"1/16\"",
        "Gain g of the marked-fraction estimate, 1/2^n.",
    ),
    key(
        "initial_alpha",
        Kind::Number(0.0, 1.0),
        "0",
        "Marked fraction that a fresh connection assumes; Linux has 1.",
    ),
];
const D2TCP_KEYS: &[Key] = &[
    key(
        "imminence",
        Kind::List(&Kind::Number(0.0625, 16.0)),
        "[0.5, 2.0]",
        "Bounds of the deadline imminence d; [1, 1] is DCTCP.",
    ),
    key(
        "expired",
        Kind::Number(0.0625, 16.0),
        "the lower bound of `imminence`",
        "d of a flow whose deadline has passed.",
    ),
    key(
        "completion",
        Kind::Choice(&["approximate", "precise"]),
        "\"approximate\"",
        "Form of Tc: B / (3W/4), or the summed sawtooth (D2TCP §3.2).",
    ),
];
static D3_KEYS: &[Key] = &[
    key(
        "profile",
        Kind::Choice(&["paper", "d2tcp-authors"]),
        "\"paper\"",
        "`d2tcp-authors`: paused flows may send a full segment per 200 us, accounted, as in the D2TCP experiments.",
    ),
    key(
        "base_rate",
        Kind::Any(&[Kind::Choice(&["header-only"]), Kind::Table(&BASE_RATE)]),
        "by `profile`",
        "What a paused flow may send: `\"header-only\"`, or `{ segment_every = \"200 us\" }`.",
    ),
    key(
        "scale",
        Kind::Any(&[Kind::Integer(-10, 10), Kind::Choice(&["auto"])]),
        "\"auto\"",
        "Rates are encoded as byte × 2^scale B/us; `auto` lets the slowest link encode to 64..127.",
    ),
    key(
        "rounding",
        Kind::Choice(&["carry", "ceil-floor", "floor-floor", "exact"]),
        "\"carry\"",
        "How rates become bytes; `exact` exists only in simulation.",
    ),
    key(
        "quench",
        Kind::Boolean,
        "false",
        "End hopeless flows early (D3 §6.1.3).",
    ),
    key(
        "quench_strict",
        Kind::Boolean,
        "false",
        "Quench by the printed formula, lag terms included.",
    ),
    key(
        "late",
        Kind::Choice(&["fair-share", "extend", "max"]),
        "\"fair-share\"",
        "What a flow asks for after its deadline: nothing, a longer deadline, its uplink's rate.",
    ),
    key(
        "update_interval",
        Kind::Time(10 * US, S),
        "\"800 us\"",
        "Period T of capacity adaptation; longer than the round trip.",
    ),
    key(
        "alpha",
        Kind::Number(0.0, 16.0),
        "0.1",
        "Gain of spare capacity (rounded to 1/256).",
    ),
    key(
        "beta",
        Kind::Number(0.0, 16.0),
        "1",
        "Gain of the queue (rounded to 1/256).",
    ),
    key(
        "alpha_reference",
        Kind::Choice(&["physical", "literal"]),
        "\"physical\"",
        "Spare capacity against the link's rate, or against C(t) as printed.",
    ),
    key(
        "queue_in_service",
        Kind::Boolean,
        "false",
        "Whether q counts the packet in service.",
    ),
    key(
        "cap_to_left",
        Kind::Boolean,
        "false",
        "Never grant more than what is left.",
    ),
    key(
        "pause_new",
        Kind::Boolean,
        "true",
        "New flows get only the base rate as fair share (D3 §4.5).",
    ),
    key(
        "reverse_request",
        Kind::Boolean,
        "true",
        "Acknowledgements register as a flow of their own.",
    ),
    key(
        "repair",
        Kind::Boolean,
        "true",
        "Heal the routers' counters under load.",
    ),
    key(
        "mtu",
        Kind::Size(200, 9_000),
        "\"1500 B\"",
        "Largest packet, all headers included.",
    ),
    key(
        "rto_min",
        Kind::Time(10 * US, 10 * S),
        "\"10 ms\"",
        "Smallest retransmission timeout.",
    ),
];
pub(crate) static BASE_RATE: Table = Table {
    name: "base_rate",
    doc: "A base rate that is accounted.",
    keys: &[&[key(
        "segment_every",
        Kind::Time(US, S),
        REQUIRED,
        "A paused flow may send one full segment in this time.",
    )]],
};
/// `[tcp]`.
pub static TCP: Table = Table {
    name: "tcp",
    doc: "TCP NewReno, and what DCTCP and D2TCP share with it.",
    keys: &[TCP_KEYS],
};
/// `[dctcp]`.
pub static DCTCP: Table = Table {
    name: "dctcp",
    doc: "DCTCP, over `[tcp]`: its own keys, and those of `[tcp]` where they shall differ.",
    keys: &[DCTCP_KEYS, TCP_KEYS],
};
/// `[d2tcp]`.
pub static D2TCP: Table = Table {
    name: "d2tcp",
    doc: "D2TCP, over `[tcp]` and `[dctcp]`: its own keys, and theirs where they shall differ.",
    keys: &[D2TCP_KEYS, DCTCP_KEYS, TCP_KEYS],
};
/// `[d3]`.
pub static D3: Table = Table {
    name: "d3",
    doc: "D3, and what RCPdc shares with it.",
    keys: &[D3_KEYS],
};
pub(crate) static D3_ONLY: Table = Table {
    name: "rcpdc",
    doc: "RCPdc, over `[d3]`.",
    keys: &[D3_KEYS],
};
/// `[priority]`.
pub static PRIORITY: Table = Table {
    name: "priority",
    doc: "Strict priority by deadline for `tcp-prio` and `rcpdc-prio`.",
    keys: &[&[key(
        "classes",
        Kind::Integer(1, 4),
        "2",
        "Strict-priority classes at every port.",
    )]],
};

const VARIANT_KEYS: &[Key] = &[
    key(
        "name",
        Kind::Text,
        REQUIRED,
        "Its name in `transport`, tables and folders.",
    ),
    key(
        "base",
        Kind::Choice(TRANSPORTS),
        REQUIRED,
        "The transport that it changes.",
    ),
    key(
        "classes",
        Kind::Integer(1, 4),
        "that of its base",
        "Strict-priority classes at every port.",
    ),
];
/// The transports that every scenario has.
pub const TRANSPORTS: &[&str] = &[
    "tcp",
    "dctcp",
    "d2tcp",
    "rcpdc",
    "d3",
    "tcp-prio",
    "rcpdc-prio",
];
/// The keys of a `[[variant]]`, by its base.
pub static VARIANTS: &[(&str, &Table)] = &[
    ("tcp", &VARIANT_TCP),
    ("tcp-prio", &VARIANT_TCP),
    ("dctcp", &VARIANT_DCTCP),
    ("d2tcp", &VARIANT_D2TCP),
    ("d3", &VARIANT_D3),
    ("rcpdc", &VARIANT_D3),
    ("rcpdc-prio", &VARIANT_D3),
];
static VARIANT_TCP: Table = Table {
    name: "variant of tcp",
    doc: "Keys of `[tcp]`.",
    keys: &[VARIANT_KEYS, TCP_KEYS],
};
static VARIANT_DCTCP: Table = Table {
    name: "variant of dctcp",
    doc: "Keys of `[dctcp]`.",
    keys: &[VARIANT_KEYS, DCTCP_KEYS, TCP_KEYS],
};
static VARIANT_D2TCP: Table = Table {
    name: "variant of d2tcp",
    doc: "Keys of `[d2tcp]`.",
    keys: &[VARIANT_KEYS, D2TCP_KEYS, DCTCP_KEYS, TCP_KEYS],
};
static VARIANT_D3: Table = Table {
    name: "variant of d3",
    doc: "Keys of `[d3]`.",
    keys: &[VARIANT_KEYS, D3_KEYS],
};

/// The kinds of workload.
pub static WORKLOADS: &[(&str, &Table)] = &[
    ("oldi", &OLDI),
    ("burst", &BURST),
    ("poisson", &POISSON),
    ("background", &BACKGROUND),
    ("permutation", &PERMUTATION),
    ("long", &LONG),
    ("trace", &TRACE),
];
const KINDS: &[&str] = &[
    "oldi",
    "burst",
    "poisson",
    "background",
    "permutation",
    "long",
    "trace",
];
const COMMON: &[Key] = &[
    kind(KINDS, "What it does."),
    key(
        "name",
        Kind::Text,
        "its `kind`, numbered from the second of that kind",
        "Its name in tables.",
    ),
    key(
        "transport",
        Kind::Text,
        "the compared one",
        "The transport that these flows use, whatever the compared one is.",
    ),
    key(
        "connection",
        Kind::Choice(&["per-flow", "persistent"]),
        "\"per-flow\"",
        "`persistent`: flows between the same two hosts share one long-lived connection.",
    ),
];
const SIZE_KEY: Key = key("size", Kind::Sizes, REQUIRED, "Bytes of each flow.");
const DEADLINE_KEY: Key = key(
    "deadline",
    Kind::Deadline,
    "\"none\"",
    "Deadline of each flow, after its start.",
);
const AT_KEY: Key = key("at", INSTANT, "\"0 us\"", "When they start.");
static OLDI: Table = Table {
    name: "workload of kind \"oldi\"",
    doc: "Partition-aggregate trees: a parent queries its children, all answer at once (D2TCP §2, D3 §2.1).",
    keys: &[
        COMMON,
        &[
            key(
                "applications",
                Kind::Integer(1, 1_000),
                "1",
                "Number of applications; application i takes entry i, in turn, of `response` and `deadline`.",
            ),
            key(
                "trees",
                Kind::Integer(1, 100_000),
                "1",
                "Trees per application.",
            ),
            key(
                "fan_in",
                Kind::OneOrMore(&Kind::Integer(1, 100_000)),
                REQUIRED,
                "Children per node; a list has one entry per layer, the root's first.",
            ),
            key(
                "query",
                Kind::Size(1, 1_000_000_000),
                "\"1 KB\"",
                "Size of a query.",
            ),
            key(
                "response",
                Kind::OneOrMore(&Kind::Sizes),
                REQUIRED,
                "Size of each answer; a list has one entry per application.",
            ),
            key(
                "deadline",
                Kind::OneOrMore(&Kind::Deadline),
                "\"none\"",
                "Deadline of each answer; a list, or a list in `base`, has one entry per application.",
            ),
            key(
                "layer_share",
                Kind::List(&Kind::Share(0.001, 1.0)),
                "equal steps: 1, 1/2 for two layers",
                "Deadline of layer i's answers as a share of the whole; the first is 1.",
            ),
            key(
                "deadline_from",
                Kind::Choice(&["query", "response"]),
                "\"response\"",
                "Whether the deadline's clock starts when the leaf gets the query, so that computing eats into it, or when it hands over its answer.",
            ),
            key(
                "query_deadline",
                Kind::Deadline,
                "\"none\"",
                "Deadline of the queries themselves.",
            ),
            key(
                "load",
                Kind::Share(0.0001, 0.99),
                "one of `load`, `every` and `arrival = \"back-to-back\"`",
                "Mean wire bytes of answers per second, as a share of the parent's access link.",
            ),
            key(
                "every",
                Kind::Gap,
                "see `load`",
                "Gap between queries of one tree.",
            ),
            key(
                "arrival",
                Kind::Choice(&["poisson", "periodic", "back-to-back"]),
                "\"poisson\"",
                "How queries arrive at `load`; or each as soon as the answer before is complete.",
            ),
            key(
                "compute",
                Kind::Gap,
                "\"0 us\"",
                "Computation time of a leaf.",
            ),
            key(
                "jitter",
                Kind::Gap,
                "\"0 us\"",
                "Further delay of a leaf's answer.",
            ),
            key(
                "complete_at",
                Kind::Share(0.001, 1.0),
                "1",
                "An answer is complete when this share of the children has answered.",
            ),
            key(
                "share_hosts",
                Kind::Boolean,
                "false",
                "Whether a host may play several roles at once. Each tree takes hosts in an order of its own, from the start again when they are used up.",
            ),
        ],
    ],
};
static BURST: Table = Table {
    name: "workload of kind \"burst\"",
    doc: "Synchronised flows to one receiver.",
    keys: &[
        COMMON,
        &[
            key(
                "senders",
                Kind::Integer(1, 999_999),
                REQUIRED,
                "Flows at once, each from a host of its own.",
            ),
            key(
                "share_hosts",
                Kind::Boolean,
                "false",
                "Whether several of them may start at one host, where there are more senders than hosts.",
            ),
            key("receiver", HOST, "drawn at random", "The receiving host."),
            SIZE_KEY,
            DEADLINE_KEY,
            AT_KEY,
            key("repeat", Kind::Integer(1, 10_000_000), "1", "How often."),
            key(
                "every",
                Kind::Time(SOME_TIME.0, SOME_TIME.1),
                "required with `repeat`",
                "From burst to burst.",
            ),
        ],
    ],
};
static POISSON: Table = Table {
    name: "workload of kind \"poisson\"",
    doc: "Poisson arrivals between random hosts.",
    keys: &[
        COMMON,
        &[
            SIZE_KEY,
            DEADLINE_KEY,
            key(
                "load",
                Kind::Share(0.0001, 0.99),
                "one of `load` and `rate`",
                "Mean wire bytes per second, as a share of each sender's access link.",
            ),
            key(
                "rate",
                Kind::Frequency,
                "see `load`",
                "Flows per second in total.",
            ),
            key(
                "destination",
                Kind::Any(&[Kind::Choice(&["uniform"]), HOST]),
                "\"uniform\"",
                "Any other host, or always this one, from all others.",
            ),
        ],
    ],
};
static BACKGROUND: Table = Table {
    name: "workload of kind \"background\"",
    doc: "Sources that start one flow after another.",
    keys: &[
        COMMON,
        &[
            key(
                "count",
                Kind::Integer(1, 1_000_000),
                "1",
                "Number of sources, each between two random hosts.",
            ),
            SIZE_KEY,
            DEADLINE_KEY,
            key(
                "every",
                Kind::Gap,
                REQUIRED,
                "From start to start at one source.",
            ),
        ],
    ],
};
static PERMUTATION: Table = Table {
    name: "workload of kind \"permutation\"",
    doc: "Every host sends one flow to another, so that each sends and receives exactly one.",
    keys: &[COMMON, &[SIZE_KEY, DEADLINE_KEY, AT_KEY]],
};
static LONG: Table = Table {
    name: "workload of kind \"long\"",
    doc: "Flows that never end.",
    keys: &[
        COMMON,
        &[
            key(
                "pairs",
                Kind::List(&Kind::List(&HOST)),
                REQUIRED,
                "The flows, as [from, to].",
            ),
            AT_KEY,
        ],
    ],
};
static TRACE: Table = Table {
    name: "workload of kind \"trace\"",
    doc: "Given flows, from CSV or Parquet, with the columns `start_ns`, `source`, `destination`, `size_bytes` and, on request, `deadline_ns` (after the start; empty: none), sorted by `start_ns`.",
    keys: &[
        COMMON,
        &[key(
            "file",
            Kind::Text,
            REQUIRED,
            "The file, seen from the scenario.",
        )],
    ],
};

/// A table of [`Kind::Sizes`].
pub static SIZES: Table = Table {
    name: "size",
    doc: "A piecewise-linear CDF of sizes. Give `cdf` or `points`.",
    keys: &[&[
        key(
            "cdf",
            Kind::Text,
            "none",
            "A CSV file of `size,probability` with a line `# unit: bytes` (or `packets of 1460 bytes`, `KB`), or the name of a published distribution.",
        ),
        key(
            "points",
            Kind::List(&Kind::List(&Kind::Any(&[
                Kind::Size(0, FLOW_SIZE.1),
                Kind::Number(0.0, 1.0),
            ]))),
            "none",
            "Pairs [\"10 KB\", 0.15] that rise to 1.",
        ),
    ]],
};
/// A table of [`Kind::Deadline`].
pub static DEADLINES: Table = Table {
    name: "deadline",
    doc: "A distribution of deadlines: `base` with or without `variation`, or `mean` with or without `floor`.",
    keys: &[&[
        key(
            "base",
            Kind::OneOrMore(&Kind::Time(SOME_TIME.0, SOME_TIME.1)),
            "none",
            "The shortest deadline; in `oldi` a list has one entry per application.",
        ),
        key(
            "variation",
            Kind::Text,
            "\"none\"",
            "`uniform 50%`: adds U[0, 50 %] of the base. `around 10%`: U[-10 %, 10 %]. `exponential`: adds an exponential with the base as its mean; `exponential 5 ms`: with that mean.",
        ),
        key(
            "mean",
            Kind::Time(SOME_TIME.0, SOME_TIME.1),
            "none",
            "Mean of an exponential deadline.",
        ),
        key(
            "floor",
            Kind::Time(0, H),
            "\"0 us\"",
            "Exponential deadlines below this are raised to it.",
        ),
    ]],
};
