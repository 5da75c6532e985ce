//! Workloads send what they should, when they should, for any split of the hosts.

mod fake;
mod objective;
mod oldi;
mod plain;
mod priorities;
mod setup;
