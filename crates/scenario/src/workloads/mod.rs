//! `[[workload]]`: traffic of the hosts.

mod oldi;
mod trace;

pub(crate) use oldi::{HEDGE, OBJECTIVE, RETRY};

use crate::codec::{Codec, open_kind, resolved_kind, tables_of};
use crate::diagnostic::Result;
use crate::expected::{Expected, Form, Forms};
use crate::keys::Kind::{self, Any, Choice, Integer, List, Share, Text, Time};
use crate::keys::{ANY_TIME, INSTANT, Key, SOME_TIME, Table, declare};
use crate::model::{
    Connection, DeadlineFrom, Destination, Gap, Intensity, SourceGap, Transport, Workload,
    WorkloadKind,
};
use crate::names::{NAMES, is_name};
use crate::place::{Place, Scope};
use crate::sources::Sources;
use crate::table::{Reader, tables};
use crate::transports::{self, find};
use crate::values::{Readable, Resolved, word};
use duetime_core::Span;
use oldi::OLDI;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const KINDS: &[&str] = &[
    "oldi",
    "burst",
    "poisson",
    "background",
    "permutation",
    "long",
    "trace",
];
const COMMON: &[Key] = declare! {
    /// Kind of traffic.
    kind: Choice(KINDS);
    /// Name in tables.
    name: Text, otherwise "its `kind`, numbered from the second on";
    /// Transport of these flows, regardless of the compared one.
    transport: Text, otherwise "the compared transport";
    /// `persistent`: flows between two hosts share one connection; those of trees open in the first millisecond of a
    /// run, before the first queries. `per-flow`: each flow opens a connection. D3 and RCPdc have no handshake and
    /// use one flow per message.
    connection: word::<Connection>(), otherwise "\"persistent\" for queries and answers, else \"per-flow\"";
    /// Strict-priority class of all packets (data, acknowledgements, queries, answers) at every port, under any
    /// transport; 0 is the highest. Ports have as many classes as workloads and transports use. D3's grants ignore
    /// classes.
    priority: Integer(0, 3), otherwise "by deadline if its transport has classes, else 0";
};
const HOST: Kind = Integer(0, 999_999);

declare!(words of Connection: "per-flow" = PerFlow, "persistent" = Persistent);

/// Kinds of workload.
pub(crate) static WORKLOADS: &[(&str, &Table)] = &tables_of(&CODECS);

const CODECS: [(&str, &Codec<WorkloadKind>); KINDS.len()] = [
    ("oldi", &OLDI_KIND),
    ("burst", &BURST),
    ("poisson", &POISSON),
    ("background", &BACKGROUND),
    ("permutation", &PERMUTATION),
    ("long", &LONG),
    ("trace", &TRACE),
];

impl Readable for WorkloadKind {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        open_kind(place, WORKLOADS, &CODECS)
    }
}

impl Resolved for WorkloadKind {
    fn resolved(&self) -> Value {
        resolved_kind(self, &CODECS)
    }
}

static OLDI_KIND: Codec<WorkloadKind> = Codec {
    table: OLDI.table,
    read: |reader| (OLDI.read)(reader).map(WorkloadKind::Oldi),
    write: |kind| match kind {
        WorkloadKind::Oldi(oldi) => (OLDI.write)(oldi),
        _ => None,
    },
};

declare! {
    /// Synchronised flows to one receiver (incast).
    static BURST: "workload of kind \"burst\"" after COMMON {
        /// Flows per burst, each from a different host.
        senders: Integer(1, 999_999);
        /// Lets several flows start at one host, if there are more senders than hosts.
        share_hosts: Kind::Boolean, default false;
        /// Receiving host.
        receiver: HOST, otherwise "drawn at random";
        /// Sending hosts, without the receiver: flow i starts at entry i, repeating the list with `share_hosts`.
        /// Requires `receiver`.
        from: List(&HOST), otherwise "drawn at random";
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Start of the first burst.
        at: INSTANT, default "0 us";
        /// Number of bursts.
        repeat: Integer(1, 10_000_000), default 1;
        /// Time between the starts of bursts.
        every: Time(SOME_TIME.0, SOME_TIME.1), otherwise "required with `repeat`";
        /// Maximum additional random delay of each flow's start.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    } for WorkloadKind::Burst {
        senders, receiver: |reader, key| reader.read(key, Some(None), host), size, deadline, at, repeat, every: period,
        jitter, from: senders_of
    }
    /// Poisson arrivals between random hosts.
    static POISSON: "workload of kind \"poisson\"" after COMMON {
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Mean bytes on the wire per second, as a share of each sender's access link.
        load: Share(0.0001, 0.99), otherwise "one of `load` and `rate`";
        /// Flows per second of all hosts together.
        rate: Kind::Frequency, otherwise "see `load`";
        /// `"uniform"`: any other host. A host: all flows go from the others to this one.
        destination: Any(&[Choice(&["uniform"]), HOST]), default "uniform";
    } for WorkloadKind::Poisson {
        size, deadline, destination, intensity: |reader, _| {
            load_or(reader, "rate", "\"2000 /s\"", Intensity::Load, Intensity::FlowsPerSecond)
        }
    }
    /// Sources that start flows one after another.
    static BACKGROUND: "workload of kind \"background\"" after COMMON {
        /// Number of sources, each at a random host.
        count: Integer(1, 1_000_000), default 1;
        /// Name of an earlier `oldi` workload: source i sends to the root of tree i, repeating the trees.
        to_roots_of: Text, otherwise "each flow goes to a random host";
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Mean bytes on the wire per second of each source, as a share of its host's access link. Gaps are
        /// exponential.
        load: Share(0.0001, 0.99), otherwise "one of `load` and `every`";
        /// Time between the starts of a source's flows.
        every: Kind::Gap, otherwise "see `load`";
    } for WorkloadKind::Background {
        count, to_roots_of: |reader, key| reader.read(key, Some(None), roots_of), size, deadline,
        every: |reader, key| load_or(reader, key, "\"5 ms\"", SourceGap::AtLoad, SourceGap::Given)
    }
    /// Every host sends exactly one flow and receives exactly one.
    static PERMUTATION: "workload of kind \"permutation\"" after COMMON {
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Start of all flows.
        at: INSTANT, default "0 us";
    } for WorkloadKind::Permutation { size, deadline, at }
    /// Flows without an end.
    static LONG: "workload of kind \"long\"" after COMMON {
        /// Flows, as [from, to].
        pairs: List(&List(&HOST));
        /// Start of all flows.
        at: INSTANT, default "0 us";
        /// Maximum additional random delay of each flow's start.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    } for WorkloadKind::Long { pairs: |reader, key| reader.read(key, None, pairs), at, jitter }
    /// Recorded traffic from a file. Flows, in CSV or Parquet, with the columns `start_ns`, `source`, `destination`,
    /// `size_bytes` and optionally `deadline_ns` (from the start; empty for none), sorted by `start_ns`. Or queries, as
    /// spans in JSON lines ([spans.md](spans.md)). The format is detected. All keys except `file` and `flows` apply to
    /// spans.
    static TRACE_TABLE: "workload of kind \"trace\"" after COMMON {
        /// Path of the file, relative to the scenario.
        file: Text, otherwise "one of `file` and `flows`";
        /// Inline content instead of a file: CSV or JSON lines.
        flows: Text, otherwise "see `file`";
        /// Placement of spans: on the hosts that they name, or on random hosts, drawn for each query.
        hosts: Choice(trace::HOSTS), otherwise "\"named\" if spans name their hosts, else \"random\"";
        /// Size of requests without a recorded size.
        query: Kind::Size(1, 1_000_000_000), default "1 KB";
        /// Deadline of each answer. In a tree of n layers, answers of layer i have (n - i + 1) / n of it.
        deadline: Kind::Deadline, default "none";
        /// Start of the deadline: the arrival of the query, so that it includes computation, or the submission of the
        /// answer.
        deadline_from: word::<DeadlineFrom>(), default "response";
        /// Share of the children whose answers complete a parent's answer.
        complete_at: Share(0.001, 1.0), default 1;
        /// Objective of queries: `{ within = "5 ms", answers = "99 %", share = "99.9 %" }`.
        objective: Kind::Table(&OBJECTIVE), otherwise "defaults below";
        /// Timeout of aggregators, as in `oldi`.
        give_up: Any(&[Choice(oldi::GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children";
    }
}

static TRACE: Codec<WorkloadKind> = Codec {
    table: &TRACE_TABLE,
    read: trace::read,
    write: trace::write,
};

/// Maximum duration of a run.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// Reads all workloads.
pub(crate) fn all(
    reader: &Reader<'_>,
    hosts: u32,
    transports: &[Transport],
    sources: &dyn Sources,
) -> Result<Vec<Workload>> {
    let places = tables(reader, "workload")?;
    if places.is_empty() {
        return Err(reader.missing("workload"));
    }
    let mut workloads: Vec<Workload> = Vec::new();
    let mut names = Names::default();
    for place in places {
        let place = place.within(Scope {
            sources,
            hosts,
            before: &workloads,
        });
        let (kind, reader) = Reader::open_tagged(place.clone(), "kind", WORKLOADS)?;
        let name = name(&reader, kind, &mut names)?;
        let transport = match reader.text("transport")? {
            Some(name) => Some(find(name, &reader.need("transport")?, transports)?),
            None => None,
        };
        let kind: WorkloadKind = Readable::read(&place, &Kind::Open)?;
        let connection = match kind {
            _ if reader.get("connection").is_some() => reader.value("connection")?,
            WorkloadKind::Oldi(_) | WorkloadKind::Spans(_) => Connection::Persistent,
            _ => Connection::PerFlow,
        };
        let workload = Workload {
            name,
            kind,
            transport,
            connection,
            priority: reader.value("priority")?,
        };
        workloads.push(workload);
    }
    Ok(workloads)
}

fn name(reader: &Reader<'_>, kind: &str, names: &mut Names) -> Result<String> {
    let Some(name) = reader.text("name")? else {
        return Ok(names.numbered(kind));
    };
    let place = reader.need("name")?;
    if !is_name(name) {
        return place.refuse("not a name", NAMES);
    }
    if !names.take(name) {
        return place.refuse("duplicate name of a workload", "another name");
    }
    Ok(name.to_owned())
}

/// Names of the workloads so far.
#[derive(Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// By kind: the first number whose name may be free.
    free_from: BTreeMap<String, u64>,
}

impl Names {
    /// Takes an explicit name. Returns false if it is already taken.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes the first free name of `KIND`, `KIND-2`, `KIND-3`, …
    pub(crate) fn numbered(&mut self, kind: &str) -> String {
        let number = self.free_from.entry(kind.to_owned()).or_insert(1);
        loop {
            let name = match *number {
                1 => kind.to_owned(),
                number => format!("{kind}-{number}"),
            };
            *number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Returns the workload as stored in the manifest.
pub(crate) fn resolved(workload: &Workload) -> Value {
    let mut kind = workload.kind.resolved();
    // Keys added in later versions are omitted at their defaults, so that manifests of older scenarios do not change.
    let defaults = [
        ("jitter_ps", json!(0)),
        ("aggregate_compute", Gap::ZERO.resolved()),
        ("layer_response", json!([])),
        ("hedge", Value::Null),
        ("retry", Value::Null),
    ];
    if let Some(keys) = kind.as_object_mut() {
        let is_default = |key: &str, value: &Value| {
            let default = defaults.iter().find(|(name, _)| *name == key);
            default.is_some_and(|(_, default)| default == value)
        };
        keys.retain(|key, value| !is_default(key, value));
    }
    let mut resolved = json!({
        "name": workload.name,
        "transport": workload.transport.as_ref().map(transports::resolved),
        "connection": workload.connection.resolved(),
        "does": kind,
    });
    if let Some(priority) = workload.priority {
        resolved["priority"] = priority.into();
    }
    resolved
}

/// Reads a host of the topology.
fn host<T: From<u32>>(place: &Place<'_>, _: &'static Kind) -> Result<T> {
    let hosts = place.scope.hosts;
    let allowed = Expected::range(0, hosts - 1);
    let host: u64 = place
        .integer(0, i64::MAX)
        .map_err(|error| error.expected(allowed.clone()))?;
    match u32::try_from(host) {
        Ok(host) if host < hosts => Ok(T::from(host)),
        _ => place.refuse(format!("the topology has {hosts} hosts"), allowed),
    }
}

/// Reads the time between bursts; zero for a single burst.
fn period(reader: &Reader<'_>, key: &'static str) -> Result<Span> {
    reader.read(key, Some(Span::ZERO), Readable::read)
}

/// Reads the sending hosts of a burst: each once, without the receiver. Checks all keys of the burst.
fn senders_of(reader: &Reader<'_>, key: &'static str) -> Result<Option<Vec<u32>>> {
    let from = from(reader, key)?;
    enough_hosts(reader, from.as_deref())?;
    in_turn(reader)?;
    Ok(from)
}

fn from(reader: &Reader<'_>, key: &'static str) -> Result<Option<Vec<u32>>> {
    let Some(place) = reader.get(key) else {
        return Ok(None);
    };
    let receiver: Option<u32> = reader.read("receiver", Some(None), host)?;
    if receiver.is_none() {
        return place.refuse(
            "senders are named, the receiver is not",
            "with `receiver` only",
        );
    }
    let mut from = Vec::new();
    for entry in place.array()? {
        let sender = host(&entry, &HOST)?;
        if Some(sender) == receiver {
            return entry.refuse("the receiver", "other hosts");
        }
        if from.contains(&sender) {
            return entry.refuse("named twice", "each host once");
        }
        from.push(sender);
    }
    if from.is_empty() {
        return place.refuse("an empty list", "at least one host");
    }
    Ok(Some(from))
}

/// Checks that there is a host for each flow of a burst.
fn enough_hosts(reader: &Reader<'_>, from: Option<&[u32]>) -> Result<()> {
    let hosts = reader.place.scope.hosts;
    let (most, which) = match from {
        Some(from) => (u32::try_from(from.len()).unwrap_or(hosts), "of `from`"),
        None => (hosts - 1, "other than the receiver"),
    };
    let senders: u32 = reader.value("senders")?;
    if senders > most && !reader.value::<bool>("share_hosts")? {
        let message = format!("larger than the {most} hosts {which}");
        let place = reader.need("senders")?;
        let error = place.wrong(message).allowed(format!("1..={most}"));
        return Err(error.help("`share_hosts = true` lets several start at one host"));
    }
    Ok(())
}

/// Checks that bursts do not overlap and start within the maximum duration of a run.
fn in_turn(reader: &Reader<'_>) -> Result<()> {
    let (repeat, every): (u32, Span) = (reader.value("repeat")?, period(reader, "every")?);
    if repeat > 1 {
        reader.need("every")?;
    }
    // A start is computed as `at + every × round`, which must not overflow.
    if u128::from(every.as_ps()) * u128::from(repeat) > u128::from(LONGEST.as_ps()) {
        let place = reader.need("repeat")?;
        let message = format!("with {every} from burst to burst the last is too late");
        return place.refuse(message, "bursts within 24 hours");
    }
    // The start of a flow schedules the sender's next one, which must not be earlier.
    if repeat > 1 && reader.value::<Span>("jitter")? > every {
        let place = reader.need("jitter")?;
        let message = format!("longer than the {every} from burst to burst");
        return place.refuse(message, "at most `every`");
    }
    Ok(())
}

/// Reads the intensity of flows from `load` or from the key `other`, of which `example` is a value.
fn load_or<T, Other: Readable>(
    reader: &Reader<'_>,
    other: &'static str,
    example: &str,
    at_load: fn(f64) -> T,
    given: fn(Other) -> T,
) -> Result<T> {
    match (reader.value("load")?, reader.get(other)) {
        (Some(load), None) => Ok(at_load(load)),
        (None, Some(_)) => reader.read(other, None, Other::read).map(given),
        (None, None) => {
            let allowed = format!("one of `load`, such as 0.15, and `{other}`, such as {example}");
            Err(reader.missing("load").allowed(allowed))
        }
        (Some(_), Some(place)) => place.refuse(format!("both `load` and `{other}`"), "one of them"),
    }
}

impl Resolved for SourceGap {
    fn resolved(&self) -> Value {
        match self {
            Self::Given(gap) => gap.resolved(),
            Self::AtLoad(load) => json!({ "load": load }),
        }
    }
}

impl Resolved for Intensity {
    fn resolved(&self) -> Value {
        match self {
            Self::Load(load) => json!({ "load": load }),
            Self::FlowsPerSecond(rate) => json!({ "flows_per_second": rate }),
        }
    }
}

impl Readable for Destination {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        if place.node.str().is_some() {
            let choice = place.choice(&["uniform"]).map(|_| Self::Uniform);
            let last = place.scope.hosts.saturating_sub(1);
            let allowed = format!("\"uniform\", or a host: 0..={last}");
            let allowed = Expected::of(allowed, Forms::of(&[Form::Word, Form::Number]));
            return choice.map_err(|error| error.expected(allowed));
        }
        host(place, kind).map(Self::Host)
    }
}

impl Resolved for Destination {
    fn resolved(&self) -> Value {
        match self {
            Self::Uniform => json!("uniform"),
            Self::Host(host) => json!(host),
        }
    }
}

/// Reads the workload whose roots receive the background flows. Returns its index.
fn roots_of(place: &Place<'_>, _: &'static Kind) -> Result<Option<usize>> {
    let name = place.str("a text", "a text in quotes")?;
    let before = place.scope.before;
    let has_trees = |workload: &&Workload| workload.oldi().is_some();
    let found = (before.iter()).position(|workload| workload.name == name && has_trees(&workload));
    if found.is_none() {
        let names: Vec<&str> = (before.iter().filter(has_trees))
            .map(|workload| workload.name.as_str())
            .collect();
        let before = match names.join(", ") {
            none if none.is_empty() => "there is none".to_owned(),
            names => names,
        };
        let allowed = format!("an `oldi` workload before this one: {before}");
        return place.refuse("no such trees", allowed);
    }
    Ok(found)
}

fn pairs(place: &Place<'_>, kind: &'static Kind) -> Result<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    for pair in place.array()? {
        let ends = pair.array()?;
        let [from, to] = &ends[..] else {
            return pair.refuse("not a pair", "[from, to]");
        };
        let (from, to) = (host(from, kind)?, host(to, kind)?);
        if from == to {
            return pair.refuse("a flow from a host to itself", "two different hosts");
        }
        pairs.push((from, to));
    }
    if pairs.is_empty() {
        return place.refuse("an empty list", "at least one pair");
    }
    Ok(pairs)
}
