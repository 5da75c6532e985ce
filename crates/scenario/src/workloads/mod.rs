//! `[[workload]]`: traffic of the hosts.
//!
//! A module for each kind:
//!
//! - [`oldi`]: partition-aggregate trees.
//! - [`burst`]: synchronised flows to one receiver.
//! - [`poisson`]: Poisson arrivals between random hosts.
//! - [`background`]: sources that start flows one after another.
//! - [`permutation`]: one flow from and to each host.
//! - [`long`]: flows without an end.
//! - [`trace`]: recorded flows or queries.
//!
//! Parts of several kinds:
//!
//! - [`common`]: keys of all kinds.
//! - [`names`]: names of workloads.
//! - [`hosts`]: hosts of the topology, as values of keys.
//! - [`load`]: intensity of flows.
//! - [`objective`]: objective of queries.
//! - [`give_up`]: timeout of aggregators.

mod background;
mod burst;
mod common;
mod give_up;
mod hosts;
mod load;
mod long;
mod names;
mod objective;
mod oldi;
mod permutation;
mod poisson;
mod trace;

pub(crate) use names::Names;
pub(crate) use objective::OBJECTIVE;
pub(crate) use oldi::{HEDGE, RETRY};

use crate::codec::{Codec, open_kind, resolved_kind, tables_of};
use crate::diagnostic::Result;
use crate::keys::{Kind, Table};
use crate::model::{Connection, Gap, Transport, Workload, WorkloadKind};
use crate::place::{Place, Scope};
use crate::sources::Sources;
use crate::table::{Reader, tables};
use crate::transports::{self, find};
use crate::values::{Readable, Resolved};
use common::KINDS;
use serde_json::{Value, json};

/// Kinds of workload.
pub(crate) static WORKLOADS: &[(&str, &Table)] = &tables_of(&CODECS);

const CODECS: [(&str, &Codec<WorkloadKind>); KINDS.len()] = [
    ("oldi", &oldi::OLDI),
    ("burst", &burst::BURST),
    ("poisson", &poisson::POISSON),
    ("background", &background::BACKGROUND),
    ("permutation", &permutation::PERMUTATION),
    ("long", &long::LONG),
    ("trace", &trace::TRACE),
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
        let name = names::read(&reader, kind, &mut names)?;
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
