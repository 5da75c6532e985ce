//! The transports with their options.

use super::{H, Key, Kind, MS, REQUIRED, S, TB, Table, US, key};

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
        "Floor of the window after a reduction by marks, in segments (RFC 8257 §3.3).",
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
        "ack_coalescing",
        Kind::Table(&ACK_COALESCING),
        "none",
        "Hold acknowledgements that are due back, as receive offload in network cards does: `{ segments = 10, within = \"50 us\" }`. The end of a message, data out of order, a FIN and a change of the mark end the wait.",
    ),
    key(
        "slow_start_limit",
        Kind::Integer(1, 1_000),
        "1",
        "Segments by which one acknowledgement opens the window at most in slow start (RFC 5681 §3.1: 1; RFC 3465: 2).",
    ),
    key(
        "growth",
        Kind::Choice(&["bytes", "acknowledgements"]),
        "\"bytes\"",
        "What congestion avoidance counts up to a window before it adds a segment: acknowledged bytes, or acknowledgements as one segment each (RFC 5681 §3.1, equation 3).",
    ),
    key(
        "limited_transmit",
        Kind::Boolean,
        "true",
        "A new segment for each of the first two duplicate acknowledgements (RFC 3042).",
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
pub(crate) static ACK_COALESCING: Table = Table {
    name: "ack_coalescing",
    doc: "Receive offload, as far as the sender can see it.",
    keys: &[&[
        key(
            "segments",
            Kind::Integer(1, 1_000),
            REQUIRED,
            "Segments that one acknowledgement answers at most.",
        ),
        key(
            "within",
            Kind::Time(0, S),
            REQUIRED,
            "Longest time that an acknowledgement which is due is held back.",
        ),
    ]],
};
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
        "speculative",
        Kind::Boolean,
        "false",
        "End flows early whose desired rate keeps rising, whatever `quench` says (D3 §7, speculative flow quenching).",
    ),
    key(
        "speculative_rises",
        Kind::Integer(1, 100),
        "4",
        "Increases of the desired rate running, one per round trip, that end a flow with `speculative`.",
    ),
    key(
        "speculative_growth",
        Kind::Share(0.0, 10.0),
        "\"10%\"",
        "Smallest growth of the desired rate that counts as an increase (rounded to 1/1000).",
    ),
    key(
        "late",
        Kind::Choice(&["fair-share", "extend", "max"]),
        "\"fair-share\"",
        "What a flow asks for after its deadline: nothing, a longer deadline, its uplink's rate. Ways to live with soft deadlines (D3 §7); with `quench` there is no after.",
    ),
    key(
        "late_extension",
        Kind::Share(0.001, 100.0),
        "\"100%\"",
        "By how much `late = \"extend\"` moves a deadline each time it is missed, as a share of the flow's original allowance (rounded to 1/1000).",
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
        "target",
        Kind::Share(0.1, 1.0),
        "\"100%\"",
        "Share of the link's rate that capacity adaptation steers to, with `alpha_reference = \"physical\"` (rounded to 1/256): a few per cent below the whole keep queues as short as published (D3 §6.2).",
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
        "queue_sample",
        Kind::Choice(&["smallest", "instant"]),
        "\"smallest\"",
        "Which queue capacity adaptation sees: the smallest since its last update, or the one at that instant (D3 §4.4).",
    ),
    key(
        "cap_to_left",
        Kind::Boolean,
        "false",
        "Never grant more than what is left.",
    ),
    key(
        "request_bytes",
        Kind::Choice(&["payload", "wire"]),
        "\"payload\"",
        "Which bytes a flow asks for: its data, or its data with headers, which is what allocations are charged with.",
    ),
    key(
        "request_lag",
        Kind::Boolean,
        "true",
        "Ask for what will be left after this round trip, over the time to the deadline less two round trips (D3 §5); `false`: for what is left over the time to the deadline.",
    ),
    key(
        "cap_to_remaining",
        Kind::Boolean,
        "false",
        "Never ask for more than what is left to send can use in one round trip, which is as long as a grant holds (D3 §4.1).",
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
        "reset_intervals",
        Kind::Integer(2, 1_000),
        "4",
        "Update intervals without any request after which an idle port resets (D3 §4.4); half as many are an epoch of `repair`.",
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
