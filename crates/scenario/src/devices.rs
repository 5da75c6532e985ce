//! `[switch]`, `[host]`, `[record]` and `[lab]`: switch ports, hosts, records and the testbed.

use crate::diagnostic::{Diagnostic, Result};
use crate::distribution::delay;
use crate::document::Value as Written;
use crate::expected::{Expected, Form};
use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, List, Number, Size, Text, Time};
use crate::keys::{H, MS, POOL, S, TB, Table, US, declare};
use crate::model::{
    Amount, Buffer, Host, Lab, LoadBalancing, Nic, Record, ServerQueue, Servers, Slots, Switch,
};
use crate::place::Place;
use crate::quantity::SIZE;
use crate::table::Reader;
use crate::values::{Readable, Resolved, word};
use duetime_core::{Bytes, Rate};
use serde_json::{Value, json};

declare! {
    /// Ports of all switches. Hosts' ports have no limit and do not mark.
    pub(crate) static SWITCH: "switch" {
        /// `"4 MB"`: one pool per switch with dynamic thresholds, alpha 1. `"100 packets"`: separate memory per port.
        /// `"unlimited"`. Or a table, see below.
        buffer: Any(&[Text, Kind::Tagged("kind", BUFFERS)]), default "4 MB";
        /// Ports mark packets that find at least this much queued, including the packet in service. A list sets it by
        /// link rate. `packets` counts packets of any size; for small segments write 20 full packets as `"30 KB"`.
        /// `"off"`: no marks, so DCTCP and D2TCP react only to losses.
        ecn_threshold: Any(&[Kind::Amount, Choice(&[NO_MARKS]), List(&Kind::Table(&ECN))]),
            otherwise "20 packets; at 10 Gbps and above 65 packets";
        /// Choice among equally short paths: by a hash of the flow (`flows`), or at random for each packet
        /// (`packets`), which reorders. D3's packets always keep one path, since its routers count flows.
        load_balancing: word::<LoadBalancing>(), default "flows";
    } for Switch { buffer, ecn_threshold: thresholds, load_balancing }
}

declare!(words of LoadBalancing: "flows" = Flows, "packets" = Packets);

/// Value of `ecn_threshold` without marks.
const NO_MARKS: &str = "off";

/// Kinds of switch buffer.
pub(crate) static BUFFERS: &[(&str, &Table)] = &[
    ("unlimited", &UNLIMITED_BUFFER),
    ("static", &STATIC_BUFFER),
    ("dynamic", &DYNAMIC_BUFFER),
];

declare! {
    /// No limit.
    static UNLIMITED_BUFFER: "buffer of kind \"unlimited\"" {
        /// `"unlimited"`.
        kind: Choice(&["unlimited"]);
    }
    /// Separate memory per port.
    static STATIC_BUFFER: "buffer of kind \"static\"" {
        /// `"static"`.
        kind: Choice(&["static"]);
        /// Memory of each port: `"100 packets"` or `"128 KB"`.
        size: Kind::Amount;
    }
    /// One pool per switch. A port may use up to `alpha` times the free memory (Choudhury and Hahne, 1998).
    static DYNAMIC_BUFFER: "buffer of kind \"dynamic\"" {
        /// `"dynamic"`.
        kind: Choice(&["dynamic"]);
        /// Memory of the switch.
        pool: Size(POOL.0, POOL.1);
        /// Limit of a port as a multiple of the free memory.
        alpha: Number(0.001, 1000.0), default 1;
    }

    /// Threshold from a link rate upwards. Links slower than the first entry use the first.
    pub(crate) static ECN: "entry of switch.ecn_threshold" {
        /// Minimum link rate.
        rate: Kind::Rate(1_000_000, 10 * TB);
        /// Threshold of these links.
        threshold: Kind::Amount;
    }

    /// All hosts.
    pub(crate) static HOSTS: "host" {
        /// `pull`: the NIC sends acknowledgements first, then packets of ready flows in turn. `fifo`: an unlimited
        /// queue.
        nic: word::<Nic>(), default "pull";
        /// Bytes added to each packet on the wire; 38 B for Ethernet.
        frame_overhead: Size(0, 1_000), default "0 B";
        /// Adds a random delay of up to one packet time to the start of `burst`, `permutation` and `long` flows and
        /// of messages of queries. An explicit `true` without such flows is an error.
        start_jitter: Boolean, default true;
        /// Maximum random delay of each packet at its host, taken from the gap behind it, so that order and
        /// throughput do not change. Without it (`"0 ps"`), equal hosts send in lockstep and can share a link
        /// unfairly (traffic phase effects; Floyd and Jacobson, 1992; `docs/validation.md`).
        send_jitter: Time(0, MS), default "1 ns";
        /// Delay of every packet between the NIC and the transport of the receiving host; not a rate limit. The
        /// testbed ignores it; the simulator in `lab compare` applies it unscaled.
        receive_delay: Time(0, S), default "0 ps";
        /// Added to `receive_delay`: the wait for a processor, drawn when a packet arrives and no other is waiting.
        /// Packets that arrive meanwhile are received with it, in order. The default was measured on kernel TCP
        /// (`docs/validation.md`). Without it (`"0 ps"`), hosts reply in lockstep, and flows with different round
        /// trips can share a link unfairly.
        receive_jitter: Kind::Gap, default "kernel-tcp";
        /// Servers for the computations of queries (`compute`, `aggregate_compute`, recorded spans): `"unlimited"`,
        /// or `{ slots = 8, queue = "fifo" }`, shared by all workloads at a host. A cancelled computation leaves the
        /// queue or its slot when the cancel message arrives.
        servers: Any(&[Choice(&[UNLIMITED]), Kind::Table(SLOTS.table)]), default "unlimited";
    } for Host {
        nic, frame_overhead, start_jitter, send_jitter, receive_delay, receive_jitter: delay, servers
    }
}

declare!(words of Nic: "pull" = Pull, "fifo" = Fifo);

declare! {
    /// Limited servers of each host. A computation occupies a slot for its whole time; `jitter` occupies none.
    pub(crate) static SLOTS: "host.servers" {
        /// Computations that can run at the same time.
        slots: Integer(1, 100_000);
        /// Order of waiting computations: by arrival, or by the deadline of their answers (none last). Running
        /// computations are never interrupted.
        queue: word::<ServerQueue>(), default "fifo";
    } for Slots { slots, queue }
}

declare!(words of ServerQueue: "fifo" = Fifo, "earliest-deadline" = EarliestDeadline);

/// Value of `servers` without a limit.
const UNLIMITED: &str = "unlimited";

impl Readable for Servers {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        if place.node.table().is_some() {
            return Slots::read(place, kind).map(Self::Slots);
        }
        let allowed = Expected::new(
            "\"unlimited\", or a table such as { slots = 8, queue = \"fifo\" }",
            &[Form::Word, Form::Table],
        );
        match place.str("servers", allowed.clone())? {
            UNLIMITED => Ok(Self::Unlimited),
            _ => place.refuse("not a kind of servers", allowed),
        }
    }
}

impl Resolved for Servers {
    fn resolved(&self) -> Value {
        match self {
            Self::Unlimited => json!(UNLIMITED),
            Self::Slots(slots) => slots.resolved(),
        }
    }
}

declare! {
    /// Records in addition to flows and queries.
    pub(crate) static RECORD: "record" {
        /// Sampling period of queue lengths and throughput.
        every: Time(US, H), otherwise "no series";
        /// Sampled directed links, as `from->to`.
        links: List(&Text), otherwise "the links into the first 32 roots of trees and receivers of bursts";
        /// Directed links captured to pcapng, as `from->to`, at their sending port. A packet is captured when its last
        /// bit leaves the port, even if the link then loses it. Packets dropped by the port are not captured.
        pcap: List(&Text), otherwise "none";
        /// Captured bytes of each packet.
        snap_length: Size(40, 64_000), default "128 B";
    } for Record { every, links: directed, pcap: directed, snap_length }

    /// Options of `duetime lab`; `duetime run` ignores them.
    pub(crate) static LAB: "lab" {
        /// Divides all rates and multiplies all times, including deadlines, delays and timers. `--scale` overrides it.
        scale: Integer(1, 1_000_000), default 1;
    } for Lab { scale }
}

const BUFFER_FORMS: Expected = Expected::new(
    "\"4 MB\" (one pool), \"100 packets\" (each port), \"unlimited\", or a table with `kind`",
    &[Form::Table],
);

/// Adds the forms of a buffer to the allowed values of an error.
fn or_buffer(error: Diagnostic) -> Diagnostic {
    let allowed = error.expectation().into_iter().chain([BUFFER_FORMS]);
    let allowed = Expected::join(&allowed.collect::<Vec<_>>(), "; or ");
    error.expected(allowed)
}

impl Readable for Buffer {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        if place.node.table().is_some() {
            let (kind, reader) = Reader::open_tagged(place.clone(), "kind", BUFFERS)?;
            return Ok(match kind {
                "unlimited" => Self::Unlimited,
                "static" => Self::Static(reader.value("size")?),
                _ => Self::Dynamic {
                    pool: reader.value("pool")?,
                    alpha: reader.value("alpha")?,
                },
            });
        }
        let no_unit = || place.refuse("the unit of this buffer is missing", BUFFER_FORMS);
        if matches!(place.node.value, Written::Integer(_) | Written::Float(_)) {
            return no_unit();
        }
        let text = place.str("a buffer", BUFFER_FORMS)?;
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if text.contains("packet") {
            let packets = place.packets(text).map(Self::Static);
            return packets.map_err(or_buffer);
        }
        if SIZE.parse(text).is_err() && text.trim().parse::<f64>().is_ok() {
            return no_unit();
        }
        let pool = place.part(text, &SIZE, POOL);
        Ok(Self::Dynamic {
            pool: Bytes(pool.map_err(or_buffer)?),
            alpha: 1.0,
        })
    }
}

impl Resolved for Buffer {
    fn resolved(&self) -> Value {
        match self {
            Self::Unlimited => json!({ "kind": "unlimited" }),
            Self::Static(size) => json!({ "kind": "static", "size": size.resolved() }),
            Self::Dynamic { pool, alpha } => {
                json!({ "kind": "dynamic", "pool_bytes": pool.0, "alpha": alpha })
            }
        }
    }
}

impl Readable for Amount {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        place.amount()
    }
}

impl Resolved for Amount {
    fn resolved(&self) -> Value {
        match self {
            Self::Packets(packets) => json!({ "packets": packets }),
            Self::Bytes(bytes) => json!({ "bytes": bytes }),
        }
    }
}

impl Resolved for (Rate, Amount) {
    fn resolved(&self) -> Value {
        json!({ "from_rate_bps": self.0.as_bps(), "threshold": self.1.resolved() })
    }
}

fn thresholds(reader: &Reader<'_>, key: &'static str) -> Result<Vec<(Rate, Amount)>> {
    let usual = vec![
        (Rate::default(), Amount::Packets(20)),
        (Rate::from_gbps(10), Amount::Packets(65)),
    ];
    reader.read(key, Some(usual), threshold)
}

fn threshold(place: &Place<'_>, _: &'static Kind) -> Result<Vec<(Rate, Amount)>> {
    if place.node.str() == Some(NO_MARKS) {
        return Ok(Vec::new());
    }
    if !matches!(place.node.value, Written::Array(_)) {
        return Ok(vec![(Rate::default(), place.amount()?)]);
    }
    let mut list: Vec<(Rate, Amount)> = Vec::new();
    for entry in place.array()? {
        let reader = Reader::open(entry, &ECN)?;
        let rate = reader.value("rate")?;
        if list.last().is_some_and(|(before, _)| *before >= rate) {
            return reader
                .need("rate")?
                .refuse("not above the entry before", "entries sorted by rate");
        }
        list.push((rate, reader.value("threshold")?));
    }
    match list.first_mut() {
        // Links slower than the first entry use it as well.
        Some(first) => first.0 = Rate::default(),
        None => return place.refuse("an empty list", "at least one entry"),
    }
    Ok(list)
}

fn directed(reader: &Reader<'_>, key: &'static str) -> Result<Vec<String>> {
    let link = |place: Place<'_>| {
        let name = place.str("a text", "a text in quotes")?;
        match name
            .split_once("->")
            .map(|(from, to)| (from.trim(), to.trim()))
        {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(format!("{from}->{to}")),
            _ => place.refuse("not a directed link", "\"from->to\", by the names of nodes"),
        }
    };
    let links = |place: &Place<'_>, _| place.items().into_iter().map(link).collect();
    reader.read(key, Some(Vec::new()), links)
}
