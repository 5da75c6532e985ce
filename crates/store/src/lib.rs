//! Run folder on disk, written so that each run is either complete or absent.
//!
//! ```text
//! OUT/manifest.json                      the request, the version, the machine, and the state of each run
//! OUT/summary.json                       the results of the study
//! OUT/runs/TRANSPORT/RUN/                one finished run
//!     run.json                           its totals, its digest, and rows and checksum of every other file
//!     flows.parquet queries.parquet ports.parquet queues.parquet throughput.parquet
//!     capture.pcapng                     on request
//! OUT/points/POINT/runs/TRANSPORT/RUN/   a finished run of a sweep, one folder per point
//! ```
//!
//! A run is written to a hidden sibling folder and renamed when complete, so a killed process leaves no run that looks
//! finished. The columns are defined by [`duetime_results::schema`].

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

/// Version of the folder's layout and columns. Folders of other versions are rejected.
pub const FORMAT: u32 = 1;

/// Version of Duetime that writes; a resumed folder must have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
