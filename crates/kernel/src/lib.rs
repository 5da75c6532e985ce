//! DCTCP and D2TCP for the running Linux kernel, and deadlines of sockets.
//!
//! The congestion controls `duetime_dctcp` and `duetime_d2tcp` are eBPF programs (`struct_ops`), which `Attachment`
//! loads at run time (feature `bpf`). [`deadline`] sets a socket's deadlines with a plain system call. [`Policy`] sets
//! deadlines for programs that set none.
//!
//! The oldest supported kernel is Linux 6.1. Since 6.0, a congestion control may consist of only `cong_control` and set
//! the pacing rate; 6.1 is the first long-term kernel after it, and Debian 12's. `script/stock-kernels` tests all of
//! this on it.

#[cfg(all(feature = "bpf", target_os = "linux"))]
mod attachment;
#[cfg(target_os = "linux")]
pub mod deadline;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod doctor;
mod error;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod handover;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod host_default;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod leftover;
mod parameters;
mod policy;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod programs;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod release;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod sockets;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod totals;

#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use attachment::{Attachment, Options};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use doctor::{Finding, Status, examine};
pub use error::Error;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use host_default::HostDefault;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use leftover::{
    in_kernel, left_defaults, left_registered, restore_left_defaults, unregister_left,
};
pub use parameters::{Completion, Parameters};
pub use policy::{Policy, Rule, User};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use programs::{Verified, verify};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use sockets::{Algorithm, MessageState, SocketState};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use totals::Totals;
