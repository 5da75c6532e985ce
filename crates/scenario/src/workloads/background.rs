//! Sources that start flows one after another.

use super::common::COMMON;
use super::load::load_or;
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Integer, Share, Text};
use crate::keys::declare;
use crate::model::{SourceGap, Workload, WorkloadKind};
use crate::place::Place;
use crate::values::Resolved;
use serde_json::{Value, json};

declare! {
    /// Sources that start flows one after another.
    pub(super) static BACKGROUND: "workload of kind \"background\"" after COMMON {
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

impl Resolved for SourceGap {
    fn resolved(&self) -> Value {
        match self {
            Self::Given(gap) => gap.resolved(),
            Self::AtLoad(load) => json!({ "load": load }),
        }
    }
}
