//! The tables of a run: what each row and column says, and the way back to records.

mod flows;
mod ports;
mod queries;
mod series;

pub use flows::read_flows;
pub use ports::read_ports;
pub use queries::read_queries;
pub use series::{QueueRow, ThroughputRow, queue_rows, read_series, throughput_rows};

use duetime_core::Time;

/// Nanoseconds, rounded down, of an instant.
fn ns(time: Time) -> i64 {
    time.as_ns() as i64
}

/// Exact picoseconds of an instant.
fn ps(time: Time) -> i64 {
    time.as_ps() as i64
}

/// The way back from [`ps`].
fn time(ps: i64) -> Time {
    Time::from_ps(ps as u64)
}
