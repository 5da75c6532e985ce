//! Flows without an end.

use super::common::COMMON;
use super::hosts::{HOST, host};
use crate::diagnostic::Result;
use crate::keys::Kind::{self, List, Time};
use crate::keys::{ANY_TIME, INSTANT, declare};
use crate::model::WorkloadKind;
use crate::place::Place;

declare! {
    /// Flows without an end.
    pub(super) static LONG: "workload of kind \"long\"" after COMMON {
        /// Flows, as [from, to].
        pairs: List(&List(&HOST));
        /// Start of all flows.
        at: INSTANT, default "0 us";
        /// Maximum additional random delay of each flow's start.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    } for WorkloadKind::Long { pairs: |reader, key| reader.read(key, None, pairs), at, jitter }
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
