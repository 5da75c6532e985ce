//! Parquet without Arrow: tables as `duetime_results::schema` describes them, and flat files of any other writer.

mod read;
mod write;

pub use read::{StoredColumn, StoredTable};
pub use write::to_parquet;
