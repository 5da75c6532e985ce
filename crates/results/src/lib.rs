//! What a run leaves behind, as types: records, series, and the statistics drawn from them.

pub mod record;

pub use record::{Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals};
