//! Analysis of scenarios and finished runs. It runs no simulation; topology and minimum times are from `sim`.
//!
//! [`describe`] computes what a scenario offers to its network and which of its deadlines no transport can meet.
//! [`bound`] computes the best possible result of a run, from its [`demand`] and the ideal schedulers in [`fluid`]. Of
//! finished runs, [`explain`] breaks the time of a flow or query down by cause, and [`stationary`] tests whether the
//! results depend on the duration.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices, counts and times are bounded where they are made; positions on the wire wrap"
)]

pub mod bound;
pub mod demand;
mod description;
pub mod explain;
mod feasibility;
pub mod fluid;
mod offered_load;
mod settings;
pub mod stationary;
mod topology;
mod traffic;

pub use description::{Description, describe};
pub use feasibility::{DeadlineKind, InfeasibleDeadlines};
pub use offered_load::servers::{HostLoad, ServersDescription};
pub use offered_load::{
    HEAVY, LinkLoad, LoadDescription, NotSustained, Oversubscription, WorkloadLoad,
};
pub use settings::QuestionableSetting;
pub use topology::{RateCount, TopologyDescription};
pub use traffic::{DeadlineQuantiles, WorkloadDescription};

#[cfg(test)]
#[path = "../../sim/tests/integration/regular_shapes/mod.rs"]
mod regular_shapes;
#[cfg(test)]
#[path = "../../results/src/record/sample.rs"]
mod sample;
