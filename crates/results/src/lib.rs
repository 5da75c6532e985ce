//! What a run leaves behind, as types: records, series, and the statistics drawn from them.

pub mod capture;
pub mod explain;
pub mod record;
pub mod trace;

pub use capture::CapturedPacket;
pub use explain::{Explanation, explain};
pub use record::{Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals};
pub use trace::{FlowEvent, FlowEventKind};
