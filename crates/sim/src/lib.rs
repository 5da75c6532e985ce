//! Packet-level simulator: deterministic, one event per packet-hop, on one or more threads.
//!
//! [`run()`] simulates one transport of a scenario in one run and returns the records of the run. The records are
//! identical for any number of threads and on any machine.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded where they are made"
)]
#![expect(clippy::inline_always, reason = "the packet path: measured")]

mod capture;
mod clock;
mod engine;
mod error;
mod faults;
#[cfg(test)]
mod openness;
mod options;
mod output;
mod packet;
#[cfg(feature = "threads")]
mod parallel;
mod partition;
pub mod queue;
pub mod routing;
mod run;
mod setup;
mod sides;
pub mod topology;
pub mod unloaded;
pub mod workload;

pub use engine::due::announcement as due_announcement;
pub use error::SetupError;
pub use faults::{Death, Faults, MisbehavingHost, Misbehaviour};
pub use options::{Keep, Options, Progress, Watch};
pub use output::{AllocatorState, Rounds, RunOutput, WindowSample};
pub use packet::Packet;
pub use run::run;
pub use setup::{UnknownLink, limit_of, mark_at, sampled_links, unknown_link};
pub use unloaded::min_receive_delay;
