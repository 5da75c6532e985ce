//! The testbed in a box: a scenario on kernel TCP and on D3 over UDP, between network namespaces joined by the software switch.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of hosts and links are small: the testbed has at most a few dozen"
)]

mod scale;

pub use compare::{Gain, Line, Run, compare};
pub use scale::{ScaleError, scaled};

#[cfg(target_os = "linux")]
mod attachment;
#[cfg(target_os = "linux")]
mod clock;
mod compare;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod fidelity;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod thread;
#[cfg(target_os = "linux")]
mod traffic;
#[cfg(target_os = "linux")]
mod transport;
#[cfg(target_os = "linux")]
mod tuning;

#[cfg(target_os = "linux")]
pub use doctor::{Finding, doctor};
#[cfg(target_os = "linux")]
pub use duetime_kernel::Policy;
#[cfg(target_os = "linux")]
pub use error::LabError;
#[cfg(target_os = "linux")]
pub use fidelity::{D3Port, Fidelity};
#[cfg(target_os = "linux")]
pub use lateness::LatenessSummary;
#[cfg(target_os = "linux")]
pub use shell::shell;
#[cfg(target_os = "linux")]
pub use state::{Running, RunningHost, clean, running};
#[cfg(target_os = "linux")]
pub use testbed::{Choices, Testbed};
#[cfg(target_os = "linux")]
pub use thread::Shares;
#[cfg(target_os = "linux")]
pub use transport::over_udp;
#[cfg(target_os = "linux")]
pub use tuning::{Recovery, Refused};
