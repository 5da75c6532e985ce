//! Partition-aggregate load between real hosts: a root asks many leaves at once, and each answer has a deadline. Over the
//! kernel's TCP with any congestion control, the deadline option of `duetime_d2tcp` included, and over D3.
//!
//! A [`Server`] answers as leaf. An [`Asker`] is the root; as an [`Engine`](duetime_study::Engine) it leaves the run
//! folder that every other run leaves. Every answer has a connection of its own, opened when its query is submitted.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod ask;
mod carrier;
mod query;
mod scenario;
mod serve;

pub use ask::{Asker, Live};
pub use carrier::{Carrier, Interface};
pub use query::Query;
pub use scenario::{Load, scenario};
pub use serve::Server;
