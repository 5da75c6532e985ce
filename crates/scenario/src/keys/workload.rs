//! What the hosts do, and the distributions of sizes and deadlines.

use super::{
    ANY_TIME, FLOW_SIZE, H, HOST, INSTANT, Key, Kind, REQUIRED, SOME_TIME, Table, key, kind,
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
const JITTER_KEY: Key = key(
    "jitter",
    Kind::Time(ANY_TIME.0, ANY_TIME.1),
    "\"0 us\"",
    "Further delay of each flow's start: random, its own for each flow, up to this.",
);
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
                "deadline_scale",
                Kind::Number(0.01, 100.0),
                "1",
                "Factor on all deadlines of the answers, variation included: below 1 they are tighter.",
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
                "load_over",
                Kind::Choice(&["tree", "workload"]),
                "\"tree\"",
                "`tree`: every tree offers `load`, so that those with small answers ask more often. `workload`: all trees ask equally often, and offer `load` in the mean.",
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
                "objective",
                Kind::Table(&OBJECTIVE),
                "the defaults below",
                "What is wanted of a query: `{ within = \"5 ms\", answers = \"99 %\", share = \"99.9 %\" }`.",
            ),
            key(
                "give_up",
                Kind::Any(&[Kind::Choice(GIVE_UPS), Kind::Time(SOME_TIME.0, SOME_TIME.1)]),
                "\"children\"",
                "When an aggregator that still lacks answers stops waiting and answers with what it has: at the last of its `children`'s deadlines, at its `own` (reckoned from when its parent got the query), `never`, or this long after it got the query. The root of a back-to-back tree always goes on at its children's deadlines.",
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
            key(
                "from",
                Kind::List(&HOST),
                "drawn at random",
                "The hosts that send, without the receiver; flow i starts at entry i, in turn with `share_hosts`. Needs `receiver`.",
            ),
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
            JITTER_KEY,
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
                "Number of sources, each at a random host.",
            ),
            key(
                "to_roots_of",
                Kind::Text,
                "each flow goes to a random host",
                "Name of an earlier `oldi` workload: source i sends to the root of its tree i, in turn.",
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
            JITTER_KEY,
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

pub(crate) const GIVE_UPS: &[&str] = &["children", "own", "never"];

/// What is wanted of a query.
pub static OBJECTIVE: Table = Table {
    name: "objective",
    doc: "What the owner of trees wants of a query. It is in time when enough of the leaves' answers are at the root, directly or through aggregators, soon enough after it arrived there.",
    keys: &[&[
        key(
            "within",
            Kind::OneOrMore(&Kind::Time(SOME_TIME.0, SOME_TIME.1)),
            "the answers' `deadline` where that is one fixed time; otherwise each leaf's answer has its own",
            "Budget of a query, from its arrival at the root; a list has one entry per application.",
        ),
        key(
            "answers",
            Kind::Share(0.001, 1.0),
            "`complete_at`",
            "Share of the leaves' answers that is enough.",
        ),
        key(
            "share",
            Kind::Share(0.001, 1.0),
            "no target",
            "Share of the queries that shall be in time.",
        ),
    ]],
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
