//! The testbed: namespaces, the switch between them, and traffic over kernel TCP, D3 and `due`.

mod clock;
mod controllers;
mod doctor;
mod error;
mod fidelity;
mod lateness;
mod namespace;
mod network;
mod plan;
mod records;
mod shell;
mod socket;
mod state;
mod testbed;
mod thread;
mod traffic;
mod transport;
mod tuning;

pub use doctor::{Finding, doctor};
pub use error::LabError;
pub use fidelity::{D3Port, Fidelity};
pub use lateness::LatenessSummary;
pub use shell::shell;
pub use state::{Running, RunningHost, clean, running};
pub use testbed::{Choices, Testbed};
pub use thread::Shares;
pub use transport::over_udp;
pub use tuning::{Recovery, Refused};
