//! Recorded traffic: flows or queries, by the content of the file.

use super::common::COMMON;
use super::give_up::GIVE_UPS;
use super::objective::{self, OBJECTIVE};
use crate::codec::{Codec, Fields};
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Any, Choice, Share, Text, Time};
use crate::keys::{SOME_TIME, declare};
use crate::model::{DeadlineFrom, GiveUp, Spans, TraceFlow, WorkloadKind};
use crate::spans::{self, Wanted, Wrong};
use crate::table::Reader;
use crate::trace::{self, Trace};
use crate::values::{Resolved, word};
use duetime_core::Span;
use duetime_core::random::mix;

declare! {
    /// Recorded traffic from a file. Flows, in CSV or Parquet, with the columns `start_ns`, `source`, `destination`,
    /// `size_bytes` and optionally `deadline_ns` (from the start; empty for none), sorted by `start_ns`. Or queries, as
    /// spans in JSON lines ([spans.md](spans.md)). The format is detected. All keys except `file` and `flows` apply to
    /// spans.
    static TABLE: "workload of kind \"trace\"" after COMMON {
        /// Path of the file, relative to the scenario.
        file: Text, otherwise "one of `file` and `flows`";
        /// Inline content instead of a file: CSV or JSON lines.
        flows: Text, otherwise "see `file`";
        /// Placement of spans: on the hosts that they name, or on random hosts, drawn for each query.
        hosts: Choice(HOSTS), otherwise "\"named\" if spans name their hosts, else \"random\"";
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
        give_up: Any(&[Choice(GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children";
    }
}

pub(super) static TRACE: Codec<WorkloadKind> = Codec {
    table: &TABLE,
    read,
    write,
};

const HOSTS: &[&str] = &["named", "random"];

/// Keys that apply only to spans.
const OF_SPANS: &[&str] = &[
    "hosts",
    "query",
    "deadline",
    "deadline_from",
    "complete_at",
    "objective",
    "give_up",
];

fn read(reader: &Reader<'_>) -> Result<WorkloadKind> {
    let scope = reader.place.scope;
    let trace = match reader.get("flows") {
        Some(flows) if reader.get("file").is_some() => {
            return flows.refuse("set together with `file`", "one of `file` and `flows`");
        }
        Some(flows) => trace::inline(
            flows.str("a text", "rows in CSV or JSON lines, as in a file")?,
            &flows.path,
            scope.hosts,
        )?,
        None => {
            let place = reader.need("file")?;
            let path = place.str(
                "the name of a file",
                "a file in CSV, Parquet or JSON lines, relative to the scenario",
            )?;
            trace::read(&place, path, scope.hosts, scope.sources)?
        }
    };
    match trace {
        Trace::Flows(flows) => {
            if let Some(key) = OF_SPANS.iter().find_map(|key| reader.get(key)) {
                return key.refuse(
                    "for spans, but the file holds flows",
                    "no such key for a file of flows",
                );
            }
            Ok(WorkloadKind::Trace { flows })
        }
        Trace::Spans(text, file) => queries(reader, &text, &file).map(WorkloadKind::Spans),
    }
}

fn queries(reader: &Reader<'_>, text: &str, file: &str) -> Result<Spans> {
    let deadline = reader.value("deadline")?;
    let complete_at = reader.value("complete_at")?;
    let objective = objective::read(reader, &[deadline], None)?;
    if objective.within.len() > 1 {
        let place = reader.need("objective")?.at("within");
        return place.refuse("several budgets for one application", "one time");
    }
    let wanted = Wanted {
        request: reader.value("query")?,
        named: reader.choice("hosts")?.map(|hosts| hosts == HOSTS[0]),
        hosts: reader.place.scope.hosts,
    };
    let read = spans::read(text, file, &wanted).map_err(|wrong| match wrong {
        Wrong::File(error) => error,
        Wrong::Hosts(message, allowed) => {
            let place = reader.get("hosts").or_else(|| reader.get("flows"));
            let place = place.map_or_else(|| reader.need("file"), Ok);
            match place {
                Ok(place) => place.wrong(message).allowed(allowed),
                Err(error) => error,
            }
        }
    })?;
    Ok(Spans {
        queries: read.queries,
        deadline,
        deadline_from: reader.value("deadline_from")?,
        complete_at,
        objective,
        give_up: reader.value::<GiveUp>("give_up")?,
        outside: read.outside,
    })
}

fn write(kind: &WorkloadKind) -> Option<Fields> {
    let digest_of = |digest: u64| format!("{digest:016x}").into();
    match kind {
        WorkloadKind::Trace { flows } => Some(vec![
            ("flows", flows.len().resolved()),
            ("digest", digest_of(digest(flows))),
        ]),
        WorkloadKind::Spans(spans) => Some(vec![
            ("queries", spans.queries.len().resolved()),
            ("digest", digest_of(spans.digest())),
            ("deadline", spans.deadline.resolved()),
            ("deadline_from", spans.deadline_from.resolved()),
            ("complete_at", spans.complete_at.resolved()),
            ("objective", spans.objective.resolved()),
            ("give_up", spans.give_up.resolved()),
        ]),
        _ => None,
    }
}

fn digest(flows: &[TraceFlow]) -> u64 {
    flows.iter().fold(flows.len() as u64, |digest, flow| {
        let ends = u64::from(flow.source) << 32 | u64::from(flow.destination);
        let deadline = flow.deadline.map_or(u64::MAX, Span::as_ps);
        [flow.start.as_ps(), ends, flow.size.0, deadline]
            .into_iter()
            .fold(digest, mix)
    })
}
