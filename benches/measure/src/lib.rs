//! Shared parts of the benchmarks: measured processes, instruction counts, medians, and tables.

#![forbid(unsafe_code)]

mod instructions;
mod process;
mod statistics;
mod table;

pub use instructions::Counter;
pub use process::Program;
pub use statistics::{median, spread};
pub use table::{grouped, lines};
