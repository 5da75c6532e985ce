//! Parquet without Arrow: tables defined by `duetime_results::schema`, and flat files of other writers.

mod read;
mod write;

pub use read::{StoredColumn, StoredTable};
pub use write::to_parquet;
