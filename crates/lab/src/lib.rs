//! Testbed on one machine: scenarios on kernel TCP and on D3 and `due` over UDP, between network namespaces
//! connected by the software switch.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "the testbed has at most a few dozen hosts and links"
)]

mod compare;
#[cfg(target_os = "linux")]
mod linux;
mod scale;

pub use compare::{Gain, Line, Run, compare};
#[cfg(target_os = "linux")]
pub use duetime_kernel::Policy;
#[cfg(target_os = "linux")]
pub use linux::{
    Choices, D3Port, Fidelity, Finding, LabError, LatenessSummary, Recovery, Refused, Running,
    RunningHost, Shares, Testbed, clean, doctor, over_udp, running, shell,
};
pub use scale::{ScaleError, scaled};
