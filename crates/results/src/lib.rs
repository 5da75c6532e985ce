//! Results of a run: records, time series and statistics.

#![forbid(unsafe_code)]

// `record::sample` is shared with other crates' tests.
#[cfg(test)]
extern crate self as duetime_results;

pub mod capture;
pub mod digest;
pub mod pool;
pub mod record;
pub mod schema;
pub mod stats;
pub mod summary;
pub mod text;
pub mod trace;

pub use capture::CapturedPacket;
pub use digest::{Digest, digest};
pub use record::{
    Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, ServerRecord, Totals,
};
pub use stats::{Estimate, Interval};
pub use summary::{RunSummary, Summary};
pub use trace::{FlowEvent, FlowEventKind, FlowTrace, Question, Timer, TreeNode};
