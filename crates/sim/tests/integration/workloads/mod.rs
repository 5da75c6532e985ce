//! Messages and timing of workloads, for any split of the hosts.

mod fake;
mod invalid;
mod loads;
mod objective;
mod oldi;
mod plain;
mod priorities;
mod retries;
mod setup;
mod trace;
