//! `[[workload]]`: what the hosts do.

mod oldi;
mod trace;

pub(crate) use oldi::{HEDGE, OBJECTIVE, RETRY};

use crate::keys::Kind::{self, Any, Choice, Integer, List, Share, Text, Time};
use crate::keys::{ANY_TIME, INSTANT, Key, SOME_TIME};
use crate::model::{
    Connection, DeadlineFrom, Destination, Gap, Intensity, SourceGap, Transport, Workload,
    WorkloadKind,
};
use crate::options::{Readable, Resolved, Result, keys, tagged, word, words};
use crate::place::{Place, Scope};
use crate::resolve::{NAMES, is_name, tables};
use crate::sources::Sources;
use crate::table::Reader;
use crate::transports::{self, find};
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
const COMMON: &[Key] = keys! {
    /// What it does.
    kind: Choice(KINDS);
    /// Its name in tables.
    name: Text, otherwise "its `kind`, numbered from the second of that kind";
    /// The transport that these flows use, whatever the compared one is.
    transport: Text, otherwise "the compared one";
    /// `persistent`: flows between the same two hosts share one long-lived connection. Those between the nodes of trees open
    /// in the first millisecond of a run, before the first queries, as in a service that has been running. `per-flow`: each
    /// flow opens a connection. D3 and RCPdc need no handshake and have one flow for each message.
    connection: word::<Connection>(), otherwise "\"persistent\" for queries and their answers, else \"per-flow\"";
    /// The strict-priority class of its packets at every port, under any transport; 0 is the highest. It holds for data
    /// and acknowledgements, queries and answers. Ports have as many classes as the workloads and the transports of a run
    /// use. D3's routers grant rates without regard to classes.
    priority: Integer(0, 3), otherwise "by deadline where its transport has classes, else 0";
};
const HOST: Kind = Integer(0, 999_999);

words!(Connection: PerFlow = "per-flow", Persistent = "persistent");

tagged! {
    /// The kinds of workload.
    pub(crate) static WORKLOADS: "workload" under COMMON for WorkloadKind;
    also "trace" => Spans;
    "oldi" => Oldi(OLDI);
    /// Synchronised flows to one receiver.
    "burst" => Burst { senders, receiver, from, size, deadline, at, repeat, every, jitter } {
        /// Flows at once, each from a host of its own.
        senders: Integer(1, 999_999);
        /// Whether several of them may start at one host, where there are more senders than hosts.
        share_hosts: Kind::Boolean, default false, left to then;
        /// The receiving host.
        receiver: HOST, otherwise "drawn at random" is None, read host;
        /// The hosts that send, without the receiver; flow i starts at entry i, in turn with `share_hosts`. Needs
        /// `receiver`.
        from: List(&HOST), otherwise "drawn at random", left to then;
        /// Bytes of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, after its start.
        deadline: Kind::Deadline, default "none";
        /// When they start.
        at: INSTANT, default "0 us";
        /// How often.
        repeat: Integer(1, 10_000_000), default 1;
        /// From burst to burst.
        every: Time(SOME_TIME.0, SOME_TIME.1), otherwise "required with `repeat`" is Span::ZERO;
        /// Further delay of each flow's start: random, its own for each flow, up to this.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    } then |reader| {
        let from = from(reader, receiver)?;
        enough_hosts(reader, senders, from.as_deref())?;
        in_turn(reader, repeat, every, jitter)?;
    }
    /// Poisson arrivals between random hosts.
    "poisson" => Poisson { size, deadline, intensity, destination } {
        /// Bytes of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, after its start.
        deadline: Kind::Deadline, default "none";
        /// Mean wire bytes per second, as a share of each sender's access link.
        load: Share(0.0001, 0.99), otherwise "one of `load` and `rate`", left to then;
        /// Flows per second in total.
        rate: Kind::Frequency, otherwise "see `load`", left to then;
        /// Any other host, or always this one, from all others.
        destination: Any(&[Choice(&["uniform"]), HOST]), default "uniform";
    } then |reader| {
        let intensity = load_or(reader, "rate", "\"2000 /s\"", Intensity::Load, Intensity::FlowsPerSecond)?;
    }
    /// Sources that start one flow after another.
    "background" => Background { count, size, deadline, every, to_roots_of } {
        /// Number of sources, each at a random host.
        count: Integer(1, 1_000_000), default 1;
        /// Name of an earlier `oldi` workload: source i sends to the root of its tree i, in turn.
        to_roots_of: Text, otherwise "each flow goes to a random host" is None, read roots_of;
        /// Bytes of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, after its start.
        deadline: Kind::Deadline, default "none";
        /// Mean wire bytes per second of each source, as a share of its host's access link; flows then start at random, with
        /// exponential gaps.
        load: Share(0.0001, 0.99), otherwise "one of `load` and `every`", left to then;
        /// From start to start at one source.
        every: Kind::Gap, otherwise "see `load`", left to then;
    } then |reader| {
        let every = load_or(reader, "every", "\"5 ms\"", SourceGap::AtLoad, SourceGap::Given)?;
    }
    /// Every host sends one flow to another, so that each sends and receives exactly one.
    "permutation" => Permutation { size, deadline, at } {
        /// Bytes of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, after its start.
        deadline: Kind::Deadline, default "none";
        /// When they start.
        at: INSTANT, default "0 us";
    }
    /// Flows that never end.
    "long" => Long { pairs, at, jitter } {
        /// The flows, as [from, to].
        pairs: List(&List(&HOST)), read pairs;
        /// When they start.
        at: INSTANT, default "0 us";
        /// Further delay of each flow's start: random, its own for each flow, up to this.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    }
    /// What was recorded, from a file. Flows, in CSV or Parquet, with the columns `start_ns`, `source`, `destination`,
    /// `size_bytes` and, on request, `deadline_ns` (after the start; empty: none), sorted by `start_ns`. Or queries, as
    /// spans in JSON lines ([spans.md](spans.md)). What the file holds tells them apart. All keys but `file` and
    /// `flows` are for spans.
    "trace" => Trace { flows } {
        /// The file, seen from the scenario.
        file: Text, otherwise "one of `file` and `flows`", left to then;
        /// What the file would hold, in the scenario itself: CSV or JSON lines.
        flows: Text, otherwise "see `file`", left to then;
        /// Where the spans are: on the hosts that they name, or on random ones, drawn for each query.
        hosts: Choice(trace::HOSTS), otherwise "\"named\" where spans name their hosts, else \"random\"", left to then;
        /// Size of a request whose span does not say it.
        query: Kind::Size(1, 1_000_000_000), default "1 KB", left to then;
        /// Deadline of each answer; in a tree of n layers, answers of layer i take (n - i + 1) / n of it.
        deadline: Kind::Deadline, default "none", left to then;
        /// Whether the deadline's clock starts when the parent gets the query, so that computing eats into it, or when
        /// the answer is submitted.
        deadline_from: word::<DeadlineFrom>(), default "response", left to then;
        /// An answer is complete when this share of the children has answered.
        complete_at: Share(0.001, 1.0), default 1, left to then;
        /// What is wanted of a query: `{ within = "5 ms", answers = "99 %", share = "99.9 %" }`.
        objective: Kind::Table(&OBJECTIVE), otherwise "the defaults below", left to then;
        /// When an aggregator that still lacks answers stops waiting, as in `oldi`.
        give_up: Any(&[Choice(oldi::GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children", left to then;
    } then |reader| {
        let flows = match trace::read(reader)? {
            trace::Recorded::Flows(flows) => flows,
            trace::Recorded::Queries(spans) => return Ok(Self::Spans(spans)),
        };
    } write {
        json!({ "flows": flows.len(), "digest": format!("{:016x}", trace::digest(flows)) })
    }
}

/// The longest run.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// All workloads.
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
        return place.refuse("there is a workload of that name", "another name");
    }
    Ok(name.to_owned())
}

/// The names of workloads so far.
#[derive(Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// By kind: its names with numbers below this are taken.
    free_from: BTreeMap<String, u64>,
}

impl Names {
    /// Takes a name that is given; `false`: it is taken already.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes the first free one of `KIND`, `KIND-2`, `KIND-3`, …
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

/// What a run's manifest keeps.
pub(crate) fn resolved(workload: &Workload) -> Value {
    let mut does = workload.kind.resolved();
    // A later key at its default is left out: runs of such scenarios keep the names that they had before there was the key.
    let defaults = [
        ("jitter_ps", json!(0)),
        ("aggregate_compute", Gap::ZERO.resolved()),
        ("layer_response", json!([])),
        ("hedge", Value::Null),
        ("retry", Value::Null),
    ];
    if let Some(keys) = does.as_object_mut() {
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
        "does": does,
    });
    if let Some(priority) = workload.priority {
        resolved["priority"] = priority.into();
    }
    resolved
}

/// A host of the topology.
fn host<T: From<u32>>(place: &Place<'_>, _: &'static Kind) -> Result<T> {
    let hosts = place.scope.hosts;
    let allowed = format!("0..={}", hosts - 1);
    let host: u64 = place
        .integer(0, i64::MAX)
        .map_err(|error| error.allowed(&allowed))?;
    match u32::try_from(host) {
        Ok(host) if host < hosts => Ok(T::from(host)),
        _ => place.refuse(format!("the topology has {hosts} hosts"), allowed),
    }
}

/// The sending hosts of a burst: each once, none the receiver.
fn from(reader: &Reader<'_>, receiver: Option<u32>) -> Result<Option<Vec<u32>>> {
    let Some(place) = reader.get("from") else {
        return Ok(None);
    };
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

/// Whether each flow of a burst finds a host.
fn enough_hosts(reader: &Reader<'_>, senders: u32, from: Option<&[u32]>) -> Result<()> {
    let hosts = reader.place.scope.hosts;
    let (most, which) = match from {
        Some(from) => (u32::try_from(from.len()).unwrap_or(hosts), "of `from`"),
        None => (hosts - 1, "beside the receiver"),
    };
    if senders > most && !reader.value::<bool>("share_hosts")? {
        let message = format!("larger than the {most} hosts {which}");
        let place = reader.need("senders")?;
        let error = place.wrong(message).allowed(format!("1..={most}"));
        return Err(error.help("`share_hosts = true` lets several start at one host"));
    }
    Ok(())
}

/// Whether bursts come one after another, within what a run can last.
fn in_turn(reader: &Reader<'_>, repeat: u32, every: Span, jitter: Span) -> Result<()> {
    if repeat > 1 {
        reader.need("every")?;
    }
    // A start is computed as `at + every × round`, which must not overflow.
    if u128::from(every.as_ps()) * u128::from(repeat) > u128::from(LONGEST.as_ps()) {
        let place = reader.need("repeat")?;
        let message = format!("with {every} from burst to burst the last is too late");
        return place.refuse(message, "bursts within 24 hours");
    }
    // A sender's start asks for its next one, which must not be due before.
    if repeat > 1 && jitter > every {
        let place = reader.need("jitter")?;
        let message = format!("longer than the {every} from burst to burst");
        return place.refuse(message, "at most `every`");
    }
    Ok(())
}

/// How often flows start: at a `load`, or as another key says, such as `example`.
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
            return choice
                .map_err(|error| error.allowed(format!("\"uniform\", or a host: 0..={last}")));
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

/// The trees to whose roots background flows go, by position.
fn roots_of(place: &Place<'_>, _: &'static Kind) -> Result<Option<usize>> {
    let name = place.str("a text", "a text in quotes")?;
    let before = place.scope.before;
    let trees = |it: &&Workload| it.oldi().is_some();
    let found = before.iter().position(|it| it.name == name && trees(&it));
    if found.is_none() {
        let names: Vec<&str> = (before.iter().filter(|it| trees(it)))
            .map(|it| it.name.as_str())
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
