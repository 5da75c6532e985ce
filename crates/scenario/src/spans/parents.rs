//! Trees of spans: finds the parent of each span and checks that each trace is a tree.

use super::File;
use super::line::PARENT;
use crate::diagnostic::Result;
use std::collections::BTreeMap;

/// Returns the index of each span's parent, or `None` for the root of a trace.
pub(super) fn of(file: &File<'_>) -> Result<Vec<Option<u32>>> {
    let spans = 0..u32::try_from(file.lines.len()).expect("the spans of a file are bounded");
    let key = |&index: &u32| {
        let line = file.line(index);
        (line.trace.as_str(), line.id.as_str())
    };
    let mut by_id: Vec<u32> = spans.clone().collect();
    by_id.sort_unstable_by_key(|index| (key(index), *index));
    let twice = by_id
        .windows(2)
        .filter(|pair| key(&pair[0]) == key(&pair[1]));
    if let Some(pair) = twice.min_by_key(|pair| pair[1]) {
        let message = format!("twice in its trace, first in line {}", file.number(pair[0]));
        let error = file.wrong_span(pair[1], message);
        return Err(error.allowed("each span of a trace once"));
    }
    let parent = |index: u32| {
        let line = file.line(index);
        let Some(parent) = line.parent.as_deref() else {
            return Ok(None);
        };
        let wanted = (line.trace.as_str(), parent);
        let found = by_id.binary_search_by(|index| key(index).cmp(&wanted));
        found.map(|at| Some(by_id[at])).map_err(|_| {
            let message = format!("no span of trace {:?} has this identifier", line.trace);
            let error = file.wrong_field(index, PARENT, format!("{parent:?}"), message);
            error
                .allowed("the identifier of another span of the trace; for its root, none")
                .help("remove traces that were not recorded completely")
        })
    };
    let parents = spans.map(parent).collect::<Result<Vec<_>>>()?;
    one_root(file, &parents)?;
    no_cycle(file, &parents)?;
    Ok(parents)
}

fn one_root(file: &File<'_>, parents: &[Option<u32>]) -> Result<()> {
    let mut roots: BTreeMap<&str, u32> = BTreeMap::new();
    for (index, _) in (0u32..).zip(parents).filter(|(_, parent)| parent.is_none()) {
        let trace = file.line(index).trace.as_str();
        if let Some(first) = roots.insert(trace, index) {
            let message = format!(
                "a second root of trace {trace:?}: line {} has no parent either",
                file.number(first)
            );
            let error = file.wrong_span(index, message);
            return Err(error.allowed("one span without a parent in each trace"));
        }
    }
    Ok(())
}

/// Checks that the ancestors of every span end at a root.
fn no_cycle(file: &File<'_>, parents: &[Option<u32>]) -> Result<()> {
    // Number, from 1, of the walk that reached a span first.
    let mut walks = vec![0u32; parents.len()];
    for (walk, start) in (1u32..).zip(0..parents.len()) {
        let mut at = start;
        while walks[at] == 0 {
            walks[at] = walk;
            let Some(parent) = parents[at] else { break };
            at = parent as usize;
            if walks[at] == walk {
                let index = u32::try_from(at).expect("the spans of a file are bounded");
                let message = "the span is among its own ancestors: a cycle";
                let parent = file.line(index).parent.clone().unwrap_or_default();
                let error = file.wrong_field(index, PARENT, format!("{parent:?}"), message);
                return Err(error.allowed("parents that lead up to the root of the trace"));
            }
        }
    }
    Ok(())
}
