//! Conversion from the tables of a file to the resolved [`Scenario`].

use crate::all_keys::SCENARIO;
use crate::diagnostic::Result;
use crate::document::Document;
use crate::model::{Scenario, WorkloadKind};
use crate::names::{NAMES, is_name};
use crate::place::Place;
use crate::sources::Sources;
use crate::table::Reader;
use crate::transports::ProfileOverride;
use crate::values::Readable;
use crate::{transports, workloads};
use duetime_core::Span;

/// Resolves and checks the document.
pub(crate) fn scenario(document: &Document, sources: &dyn Sources) -> Result<Scenario> {
    let reader = Reader::open(Place::root(document), &SCENARIO)?;
    let name = name(document, &reader)?;
    let all = transports::all(&reader)?;
    let topology = reader.value("topology")?;
    let hosts = crate::check::hosts(&topology, &reader.need("topology")?)?;
    let workloads = workloads::all(&reader, hosts, &all, sources)?;
    let duration = reader.value("duration")?;
    let finite = || {
        workloads
            .iter()
            .map(|w| last_start(&w.kind))
            .collect::<Option<Vec<_>>>()
    };
    let (duration, drain) = match (duration, finite()) {
        (Some(duration), _) => (duration, Span::from_secs(10)),
        (None, Some(starts)) => {
            let last = starts.into_iter().max().unwrap_or(Span::ZERO);
            (last + Span::from_ms(1), Span::from_secs(100))
        }
        (None, None) => return Err(reader.missing("duration")),
    };
    let scenario = Scenario {
        name,
        transports: transports::compared(&reader, &all)?,
        seeds: reader.value("seeds")?,
        seed: reader.value("seed")?,
        warm_up: reader.value("warm_up")?,
        duration,
        drain: reader.read("drain", Some(drain), Readable::read)?,
        topology,
        switch: reader.value("switch")?,
        host: reader.value("host")?,
        workloads,
        record: reader.value("record")?,
        lab: reader.value("lab")?,
    };
    crate::sweep::axes(document)?;
    crate::check::check(&scenario, document)?;
    Ok(scenario)
}

/// Returns the keys that change what a profile sets.
pub(crate) fn profile_overrides(document: &Document) -> Result<Vec<ProfileOverride>> {
    transports::profile_overrides(&Reader::open(Place::root(document), &SCENARIO)?)
}

/// Returns the name of the scenario, or that of the file if it has none.
fn name(document: &Document, reader: &Reader<'_>) -> Result<String> {
    let Some(name) = reader.text("name")? else {
        let file = document.texts[0]
            .name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        let stem = file.strip_suffix(".toml").unwrap_or(file);
        return Ok(if is_name(stem) {
            stem.to_owned()
        } else {
            "scenario".to_owned()
        });
    };
    if is_name(name) {
        return Ok(name.to_owned());
    }
    let place = reader.need("name")?;
    place.refuse("not a name", NAMES)
}

/// Returns the start of a workload's last flow, or `None` if the workload does not end by itself.
fn last_start(kind: &WorkloadKind) -> Option<Span> {
    match kind {
        WorkloadKind::Burst {
            at,
            repeat,
            every,
            jitter,
            ..
        } => {
            let gaps = every.as_ps().saturating_mul(u64::from(repeat - 1));
            Some(*at + Span::from_ps(gaps) + *jitter)
        }
        WorkloadKind::Permutation { at, .. } => Some(*at),
        WorkloadKind::Trace { flows } => flows.last().map(|flow| flow.start),
        WorkloadKind::Spans(spans) => spans.queries.last().map(|query| query.start),
        WorkloadKind::Oldi(_)
        | WorkloadKind::Poisson { .. }
        | WorkloadKind::Background { .. }
        | WorkloadKind::Long { .. } => None,
    }
}
