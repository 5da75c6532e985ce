//! Partition-aggregate load between real hosts: a root queries many leaves at once, and each answer has a deadline.
//! Carriers are kernel TCP with any congestion control, including `duetime_d2tcp` with its deadline option, D3 and `due`.
//!
//! A [`Server`] answers as leaf. An [`Asker`] is the root; as an [`Engine`](duetime_study::Engine) it writes the usual
//! run folder. Over TCP and D3, every answer has its own connection, opened when its query is submitted.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod ask;
mod carrier;
mod messages;
mod query;
mod scenario;
mod serve;

pub use ask::{Asker, Live};
pub use carrier::{Carrier, Interface};
pub use query::Query;
pub use scenario::{Load, scenario};
pub use serve::Server;
