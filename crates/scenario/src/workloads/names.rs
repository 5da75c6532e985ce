//! Names of workloads.

use crate::diagnostic::Result;
use crate::names::{NAMES, is_name};
use crate::table::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// Reads the name of a workload; by default, the first free name of its kind.
pub(super) fn read(reader: &Reader<'_>, kind: &str, names: &mut Names) -> Result<String> {
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
