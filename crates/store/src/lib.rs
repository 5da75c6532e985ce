//! The run folder on disk: what a study leaves behind, written so that it is either whole or absent.
//!
//! ```text
//! OUT/manifest.json                      what was asked, by which version, on which machine, and how far it came
//! OUT/summary.json                       the answer
//! OUT/runs/TRANSPORT/RUN/                one finished run
//!     run.json                           its totals, its digest, and rows and checksum of every file beside it
//!     flows.parquet queries.parquet ports.parquet queues.parquet throughput.parquet
//!     capture.pcapng                     on request
//! OUT/points/POINT/runs/TRANSPORT/RUN/   the same for a sweep, one folder per point
//! ```
//!
//! A run is written to a hidden folder beside its place and renamed when complete: a killed process leaves no run
//! that looks finished. The columns are those of [`duetime_results::schema`].

#![forbid(unsafe_code)]

mod csv;
mod error;
mod file;
mod folder;
mod journal;
mod manifest;
mod name;
pub mod pcapng;
mod records;
mod run;
mod sources;
mod table;
mod trace;

pub use csv::export_csv;
pub use error::StoreError;
pub use file::{checksum, replace_file};
pub use folder::{IfExists, RunFolder, Scan};
pub use journal::Journal;
pub use manifest::{Machine, Manifest, Point, RunState, State};
pub use name::{folder_name, point_id};
pub use run::{Captures, FileInfo, RunInfo, RunKey, RunNotes, StoredRun, write as write_run};
pub use sources::{Copies, Recording};
pub use trace::{Files, read_trace_parquet};

/// Version of the folder's layout and columns; a folder of another version is not read.
pub const FORMAT: u32 = 1;

/// The version of Duetime that writes, and that a resumed folder must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
