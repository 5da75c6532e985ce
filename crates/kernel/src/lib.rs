//! DCTCP and D2TCP in the running Linux kernel, and the deadline of a socket.
//!
//! The congestion controls `duetime_dctcp` and `duetime_d2tcp` are programs that the kernel loads at run time (eBPF
//! `struct_ops`); `Attachment` loads them, with the feature `bpf`. [`deadline`] gives a socket its deadlines, and needs
//! nothing but the system call. [`Policy`] gives deadlines to programs that set none.
//!
//! Oldest kernel: Linux 6.1. A congestion control may have `cong_control` alone, and may set the pacing rate, since 6.0;
//! 6.1 is the first of long support after it, and what Debian 12 has. `script/stock-kernels` runs all of this on it.

#[cfg(all(feature = "bpf", target_os = "linux"))]
mod attachment;
#[cfg(target_os = "linux")]
pub mod deadline;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod doctor;
mod error;
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
pub use attachment::{Attachment, Options};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use doctor::{Finding, Standing, examine};
pub use error::Error;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use leftover::{in_kernel, left_registered, unregister_left};
pub use parameters::{Completion, Parameters};
pub use policy::{Policy, Rule};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use programs::{Verified, verify};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use sockets::{Algorithm, MessageState, SocketState};
