//! Folder of one run: written under a temporary name, renamed when complete, checked when read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use duetime_results::record::Record;
use duetime_results::schema::{Context, FLOWS, PORTS, QUERIES, QUEUES, SERVERS, THROUGHPUT, Table};
use duetime_results::{RunRecords, Totals};
use serde::{Deserialize, Serialize};

use crate::name::folder_name;
use crate::table::{StoredTable, to_parquet};
use crate::{StoreError, file, pcapng, records};

const INFO: &str = "run.json";
const CAPTURE: &str = "capture.pcapng";

/// Identifies a run by sweep point, transport and index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    /// ID of the sweep point ([`crate::point_id`]); `None` if the study is not a sweep.
    pub point: Option<String>,
    /// Name of the transport.
    pub transport: String,
    /// Index of the run, from 0. Together with the root seed it determines all random draws.
    pub run: u64,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(point) = &self.point {
            write!(f, "{point}, ")?;
        }
        write!(f, "{}, run {}", self.transport, self.run)
    }
}

impl RunKey {
    /// Creates the key of run `run` of `transport`, outside a sweep.
    pub fn new(transport: &str, run: u64) -> Self {
        Self {
            point: None,
            transport: transport.to_owned(),
            run,
        }
    }

    /// Returns the path of the run relative to the run folder.
    pub(crate) fn path(&self) -> PathBuf {
        let base = self
            .point
            .as_ref()
            .map_or_else(PathBuf::new, |point| Path::new("points").join(point));
        base.join("runs")
            .join(folder_name(&self.transport))
            .join(self.run.to_string())
    }
}

/// Metadata of a run in addition to its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunNotes {
    /// Digest of the records: equal for equal runs on any machine.
    pub digest: String,
    /// True if every measured flow ended before the run was stopped.
    pub complete: bool,
    /// Wall-clock duration of the run in seconds.
    pub wall_seconds: f64,
    /// Number of threads used.
    pub threads: usize,
}

/// Captured packets of a run.
#[derive(Clone, Copy, Debug)]
pub struct Captures<'a> {
    /// Names of the captured links, including links without packets.
    pub links: &'a [String],
    /// Packets sorted by time; `link` is an index into `links`.
    pub packets: &'a [pcapng::Packet<'a>],
}

/// Contents of `run.json`, which is written last and lists all other files of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Layout of the folder: [`crate::FORMAT`].
    pub format: u32,
    /// Version of Duetime that wrote the run.
    pub duetime: String,
    /// Point of the sweep, if any.
    pub point: Option<String>,
    /// Name of the transport.
    pub transport: String,
    /// Index of the run.
    pub run: u64,
    /// Digest of the records: equal for equal runs on any machine.
    pub digest: String,
    /// True if every measured flow ended before the run was stopped.
    pub complete: bool,
    /// Wall-clock duration of the run in seconds.
    pub wall_seconds: f64,
    /// Number of threads used.
    pub threads: usize,
    /// Names of the sampled links, in the order of their samples.
    pub sampled_links: Vec<String>,
    /// Totals of the run.
    pub totals: Totals,
    /// Other files of the run, by name.
    pub files: BTreeMap<String, FileInfo>,
}

/// Expected properties of an undamaged file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Number of rows, for tables.
    pub rows: Option<u64>,
    /// Length in bytes.
    pub bytes: u64,
    /// 64-bit FNV-1a hash in hexadecimal.
    pub fnv1a: String,
}

/// Run read from disk.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Contents of `run.json`.
    pub info: RunInfo,
    /// Records, exactly as written.
    pub records: RunRecords,
}

/// Temporary folder, removed on drop unless it was renamed.
struct Partial {
    path: PathBuf,
    files: BTreeMap<String, FileInfo>,
}

impl Partial {
    fn new(place: &Path) -> Result<Self, StoreError> {
        let path = hidden(place, "partial");
        // A killed process may have left these.
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_dir_all(hidden(place, "old"));
        fs::create_dir(&path).map_err(StoreError::unwritten("write", &path))?;
        Ok(Self {
            path,
            files: BTreeMap::new(),
        })
    }

    fn add(&mut self, name: &str, rows: Option<u64>, bytes: &[u8]) -> Result<(), StoreError> {
        file::write(&self.path.join(name), bytes)?;
        let info = FileInfo {
            rows,
            bytes: bytes.len() as u64,
            fnv1a: file::checksum(bytes),
        };
        self.files.insert(name.to_owned(), info);
        Ok(())
    }

    fn add_table<R>(
        &mut self,
        table: &Table<R>,
        context: &Context<'_>,
        rows: &[R],
    ) -> Result<(), StoreError> {
        let name = file_name(table);
        let bytes = to_parquet(table, context, rows).map_err(|error| {
            StoreError::unwritten("write", &self.path.join(&name))(std::io::Error::other(error))
        })?;
        self.add(&name, Some(rows.len() as u64), &bytes)
    }
}

/// Moves a complete folder to its place atomically, replacing an earlier (damaged) one.
fn move_into_place(whole: &Path, place: &Path) -> Result<(), StoreError> {
    if place.exists() {
        let old = hidden(place, "old");
        fs::rename(place, &old).map_err(StoreError::unwritten("replace", place))?;
        fs::rename(whole, place).map_err(StoreError::unwritten("write", place))?;
        let _ = fs::remove_dir_all(&old);
    } else {
        fs::rename(whole, place).map_err(StoreError::unwritten("write", place))?;
    }
    Ok(())
}

impl Drop for Partial {
    /// Has no effect after the folder has been renamed.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn hidden(place: &Path, suffix: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{suffix}"))
}

fn file_name<R>(table: &Table<R>) -> String {
    format!("{}.parquet", table.name)
}

/// Writes a run to `place` atomically. The parent folder must exist. [`crate::RunFolder::adopt_run`] moves the run into
/// a run folder.
///
/// # Errors
/// Returns an error if the run cannot be written.
///
/// # Panics
/// Panics if the records have a sample of a link that is not sampled.
pub fn write(
    place: &Path,
    key: &RunKey,
    records: &RunRecords,
    notes: &RunNotes,
    captures: Option<Captures<'_>>,
) -> Result<RunInfo, StoreError> {
    let mut partial = Partial::new(place)?;
    let context = Context {
        transport: &key.transport,
        run: key.run,
        sampled_links: &records.sampled_links,
    };
    partial.add_table(&FLOWS, &context, &records.flows)?;
    partial.add_table(&QUERIES, &context, &records.queries)?;
    partial.add_table(&PORTS, &context, &records.ports)?;
    if !records.servers.is_empty() {
        partial.add_table(&SERVERS, &context, &records.servers)?;
    }
    let sampled = |link: u32| (link as usize) < records.sampled_links.len();
    assert!(
        records.series.iter().all(|sample| sampled(sample.link)),
        "a sample of a link that is not sampled"
    );
    partial.add_table(&QUEUES, &context, &records.series)?;
    partial.add_table(&THROUGHPUT, &context, &records.series)?;
    if let Some(captures) = captures {
        partial.add(
            CAPTURE,
            None,
            &pcapng::to_pcapng(captures.links, captures.packets.iter().copied()),
        )?;
    }
    let info = RunInfo {
        format: crate::FORMAT,
        duetime: crate::VERSION.to_owned(),
        point: key.point.clone(),
        transport: key.transport.clone(),
        run: key.run,
        digest: notes.digest.clone(),
        complete: notes.complete,
        wall_seconds: notes.wall_seconds,
        threads: notes.threads,
        sampled_links: records.sampled_links.clone(),
        totals: records.totals,
        files: partial.files.clone(),
    };
    let path = partial.path.join(INFO);
    file::write(&path, &file::json(&path, &info)?)?;
    move_into_place(&partial.path, place)?;
    Ok(info)
}

/// Moves the run that [`write()`] left at `staged` to `place`, on the same file system. Returns an error if its key or
/// version differs or a file is damaged.
pub fn adopt(staged: &Path, place: &Path, key: &RunKey) -> Result<RunInfo, StoreError> {
    let info = check(staged)?;
    let found = (&info.point, &info.transport, info.run);
    if found != (&key.point, &key.transport, key.run) {
        let reason = format!("it is not the requested run, {key}");
        return Err(StoreError::damaged(&staged.join(INFO), reason));
    }
    if info.duetime != crate::VERSION {
        let reason = format!(
            "it was written by duetime {}, this is {}",
            info.duetime,
            crate::VERSION
        );
        return Err(StoreError::damaged(&staged.join(INFO), reason));
    }
    move_into_place(staged, place)?;
    Ok(info)
}

/// Returns true if `place` has a `run.json`. Does not check the other files.
pub fn exists(place: &Path) -> bool {
    place.join(INFO).is_file()
}

/// Reads `run.json`.
pub fn info(place: &Path) -> Result<RunInfo, StoreError> {
    let path = place.join(INFO);
    let info: RunInfo = file::read_json(&path)?;
    file::check_format(&path, info.format)?;
    Ok(info)
}

/// Checks every file of the run for damage and returns `run.json`.
pub fn check(place: &Path) -> Result<RunInfo, StoreError> {
    let info = info(place)?;
    for name in info.files.keys() {
        checked(place, &info, name)?;
    }
    Ok(info)
}

/// Reads a run.
pub fn read(place: &Path) -> Result<StoredRun, StoreError> {
    let info = info(place)?;
    let throughput = open(place, &info, &THROUGHPUT)?;
    let records = RunRecords {
        flows: rows(place, &info, &FLOWS, &[])?,
        queries: rows(place, &info, &QUERIES, &[])?,
        ports: rows(place, &info, &PORTS, &[])?,
        // Runs with unlimited servers have no such table.
        servers: if info.files.contains_key(&file_name(&SERVERS)) {
            rows(place, &info, &SERVERS, &[])?
        } else {
            Vec::new()
        },
        sampled_links: info.sampled_links.clone(),
        series: rows(place, &info, &QUEUES, &[&throughput])?,
        totals: info.totals,
    };
    Ok(StoredRun { info, records })
}

/// Returns the Parquet file of a table, by its name. Runs with unlimited servers have no file of servers; an empty
/// table is returned.
pub fn table(place: &Path, name: &str) -> Result<Vec<u8>, StoreError> {
    let info = info(place)?;
    let file = file_name(&SERVERS);
    if name == SERVERS.name && !info.files.contains_key(&file) {
        let empty = to_parquet(&SERVERS, &context(&info), &[]);
        return empty.map_err(|error| StoreError::damaged(&place.join(file), error.to_string()));
    }
    checked(place, &info, &format!("{name}.parquet"))
}

fn context(info: &RunInfo) -> Context<'_> {
    Context {
        transport: &info.transport,
        run: info.run,
        sampled_links: &info.sampled_links,
    }
}

/// Reads the records of a table; `others` are tables with the remaining columns.
fn rows<R: Record>(
    place: &Path,
    info: &RunInfo,
    table: &Table<R>,
    others: &[&StoredTable],
) -> Result<Vec<R>, StoreError> {
    let context = context(info);
    let stored = open(place, info, table)?;
    let mut tables = vec![&stored];
    tables.extend(others);
    records::read(&context, &tables)
        .map_err(|reason| StoreError::damaged(&place.join(file_name(table)), reason))
}

fn open<R>(place: &Path, info: &RunInfo, table: &Table<R>) -> Result<StoredTable, StoreError> {
    let name = file_name(table);
    let bytes = checked(place, info, &name)?;
    let damaged = |reason: String| StoreError::damaged(&place.join(&name), reason);
    let stored = StoredTable::open(bytes.into()).map_err(damaged)?;
    match info.files[&name].rows {
        Some(rows) if rows == stored.rows() as u64 => Ok(stored),
        rows => Err(damaged(format!(
            "it has {} rows, run.json says {rows:?}",
            stored.rows()
        ))),
    }
}

/// Reads a file listed in `run.json` and checks its length and checksum.
fn checked(place: &Path, info: &RunInfo, name: &str) -> Result<Vec<u8>, StoreError> {
    let path = place.join(name);
    let Some(expected) = info.files.get(name) else {
        let reason = format!("it does not list {name}");
        return Err(StoreError::damaged(&place.join(INFO), reason));
    };
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::damaged(&path, "the file is missing"));
        }
        read => read.map_err(StoreError::io("read", &path))?,
    };
    if bytes.len() as u64 != expected.bytes {
        let (found, written) = (bytes.len(), expected.bytes);
        let reason = format!("it has {found} bytes, {written} were written");
        return Err(StoreError::damaged(&path, reason));
    }
    if file::checksum(&bytes) != expected.fnv1a {
        let reason = "its checksum differs";
        return Err(StoreError::damaged(&path, reason));
    }
    Ok(bytes)
}
