//! One flow from and to each host.

use super::common::COMMON;
use crate::keys::{INSTANT, Kind, declare};
use crate::model::WorkloadKind;

declare! {
    /// Every host sends exactly one flow and receives exactly one.
    pub(super) static PERMUTATION: "workload of kind \"permutation\"" after COMMON {
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Start of all flows.
        at: INSTANT, default "0 us";
    } for WorkloadKind::Permutation { size, deadline, at }
}
