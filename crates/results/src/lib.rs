//! What a run leaves behind, as types: records, series, and the statistics drawn from them.

pub mod capture;
pub mod record;
pub mod trace;

pub use capture::CapturedPacket;
pub use record::{Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals};
pub use trace::{FlowEvent, FlowEventKind};
