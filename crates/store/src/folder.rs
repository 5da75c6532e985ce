//! The run folder as a whole: who may write to it, what it holds and what is missing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use duetime_results::RunRecords;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::{self, Captures, RunInfo, RunKey, RunNotes, StoredRun};
use crate::{Manifest, StoreError, file};

const MANIFEST: &str = "manifest.json";
const SUMMARY: &str = "summary.json";
/// Everything that Duetime puts at the top of a run folder, and so may replace.
const OURS: [&str; 7] = [
    MANIFEST,
    SUMMARY,
    "report.html",
    "events.jsonl",
    "runs",
    "points",
    "figures",
];

/// What to do where the folder already holds results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Leave them alone and say so.
    Refuse,
    /// Keep them and add what is missing, if they are of the same scenario.
    Resume,
    /// Remove them. Files that are not of Duetime stay.
    Replace,
}

/// A run folder. Runs may be written from several threads; processes exclude each other.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Held while this process may write.
    _lock: Option<File>,
}

/// What a folder holds of the runs asked for, each in the order asked.
#[derive(Debug, Default)]
pub struct Scan {
    /// Finished and undamaged.
    pub done: Vec<(RunKey, RunInfo)>,
    /// Not there.
    pub missing: Vec<RunKey>,
    /// There, but not as written: the error names the file.
    pub damaged: Vec<(RunKey, StoreError)>,
    /// Could not be run, with the reason that was given.
    pub failed: Vec<(RunKey, String)>,
}

impl RunFolder {
    /// Makes the folder ready to be written, and writes its manifest. Where that fails, nothing has changed.
    pub fn create(
        path: &Path,
        if_exists: IfExists,
        manifest: &Manifest,
    ) -> Result<Self, StoreError> {
        let (holds, made) = if is_there(path)? {
            (holds(path)?, None)
        } else {
            (false, Some(Made::create(path)?))
        };
        let folder = Self {
            path: path.to_path_buf(),
            _lock: lock(path)?,
        };
        if holds {
            folder.resolve_existing(if_exists, manifest)?;
        }
        folder.write_manifest(manifest)?;
        if let Some(made) = made {
            made.keep();
        }
        Ok(folder)
    }

    fn resolve_existing(&self, if_exists: IfExists, manifest: &Manifest) -> Result<(), StoreError> {
        match if_exists {
            IfExists::Replace => OURS
                .iter()
                .try_for_each(|name| remove(&self.path.join(name))),
            IfExists::Refuse => {
                let (name, started) = self.manifest().map_or_else(
                    |_| ("?".to_owned(), "?".to_owned()),
                    |old| (old.name, old.started),
                );
                Err(StoreError::Exists {
                    path: self.path.clone(),
                    name,
                    started,
                })
            }
            IfExists::Resume => match self.manifest()?.difference(manifest) {
                Some(reason) => Err(StoreError::NotResumable {
                    path: self.path.clone(),
                    reason,
                }),
                None => Ok(()),
            },
        }
    }

    /// Opens a folder to read it. What another process writes meanwhile appears run by run.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !is_there(path)? || !path.join(MANIFEST).exists() {
            return Err(StoreError::NotFound(path.to_path_buf()));
        }
        let folder = Self {
            path: path.to_path_buf(),
            _lock: None,
        };
        folder.manifest()?;
        Ok(folder)
    }

    /// Opens a folder to see what it lacks of the study that `manifest` describes; `None` if there is none.
    ///
    /// # Errors
    /// If it holds another study, or cannot be read.
    pub fn open_to_resume(path: &Path, manifest: &Manifest) -> Result<Option<Self>, StoreError> {
        let folder = match Self::open(path) {
            Err(StoreError::NotFound(_)) => return Ok(None),
            opened => opened?,
        };
        match folder.manifest()?.difference(manifest) {
            None => Ok(Some(folder)),
            Some(reason) => Err(StoreError::NotResumable {
                path: path.to_path_buf(),
                reason,
            }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of one run, whether it exists or not.
    pub fn run_path(&self, key: &RunKey) -> PathBuf {
        self.path.join(key.path())
    }

    /// The manifest as it stands.
    pub fn manifest(&self) -> Result<Manifest, StoreError> {
        let path = self.path.join(MANIFEST);
        Manifest::from_json(&file::read(&path)?, &path)
    }

    /// Replaces the manifest in one step.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write_json(MANIFEST, manifest)
    }

    /// Replaces `summary.json` in one step.
    pub fn write_summary(&self, summary: &impl Serialize) -> Result<(), StoreError> {
        self.write_json(SUMMARY, summary)
    }

    /// Replaces a JSON file at the top of the folder in one step.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let path = self.path.join(name);
        file::replace(&path, &file::json(&path, value)?)
    }

    /// Reads a JSON file at the top of the folder; `None` if it is not there.
    ///
    /// # Errors
    /// If it cannot be read, or does not hold a `T`.
    pub fn read_json_if_there<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        let path = self.path.join(name);
        path.exists().then(|| file::read_json(&path)).transpose()
    }

    /// Replaces a file at the top of the folder in one step, as `report.html`; gives its path.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path.join(name);
        file::replace(&path, bytes)?;
        Ok(path)
    }

    /// Writes one run: it appears whole or not at all. A damaged or failed one of the same key gives way.
    pub fn write_run(
        &self,
        key: &RunKey,
        records: &RunRecords,
        notes: &RunNotes,
        captures: Option<Captures<'_>>,
    ) -> Result<RunInfo, StoreError> {
        let info = run::write(&self.place(key), key, records, notes, captures)?;
        remove(&self.failure_path(key))?;
        Ok(info)
    }

    /// Takes over one run that [`crate::write_run`] left at `staged`, on this file system: it is moved to its place. A
    /// damaged or failed one of the same key gives way.
    ///
    /// # Errors
    /// If it is another run, of another version, or not as it was written; it is left where it is then.
    pub fn adopt_run(&self, key: &RunKey, staged: &Path) -> Result<RunInfo, StoreError> {
        let info = run::adopt(staged, &self.place(key), key)?;
        remove(&self.failure_path(key))?;
        Ok(info)
    }

    /// The folder of one run, with the folders that it is in.
    fn place(&self, key: &RunKey) -> PathBuf {
        let place = self.run_path(key);
        if let Some(parent) = place.parent() {
            // Where that fails, so does what follows, and says what is in the way.
            let _ = fs::create_dir_all(parent);
        }
        place
    }

    /// Notes why a run could not be finished, where its results would be.
    pub fn write_failure(&self, key: &RunKey, reason: &str) -> Result<(), StoreError> {
        file::replace_file(&self.failure_path(key), reason.as_bytes())
    }

    fn failure_path(&self, key: &RunKey) -> PathBuf {
        self.run_path(key)
            .with_file_name(format!("{}.failed.txt", key.run))
    }

    /// Reads one run back, exactly as written; damage is an error that names the file.
    pub fn read_run(&self, key: &RunKey) -> Result<StoredRun, StoreError> {
        run::read(&self.run_path(key))
    }

    /// The Parquet file of one table of one run, by the table's name, as it was written; damage is an error that names
    /// the file.
    pub fn table(&self, key: &RunKey, table: &str) -> Result<Vec<u8>, StoreError> {
        run::table(&self.run_path(key), table)
    }

    /// Whether the run is there, without looking for damage.
    pub fn has_run(&self, key: &RunKey) -> bool {
        run::exists(&self.run_path(key))
    }

    /// Sorts the runs asked for into done, missing, damaged and failed, by the checksum of every file.
    pub fn scan(&self, keys: &[RunKey]) -> Scan {
        let mut scan = Scan::default();
        for key in keys {
            let key = key.clone();
            if self.has_run(&key) {
                match run::check(&self.run_path(&key)) {
                    Ok(info) => scan.done.push((key, info)),
                    Err(error) => scan.damaged.push((key, error)),
                }
            } else if self.run_path(&key).exists() {
                let error = StoreError::damaged(&self.run_path(&key), "it has no run.json");
                scan.damaged.push((key, error));
            } else if let Ok(reason) = fs::read_to_string(self.failure_path(&key)) {
                scan.failed.push((key, reason));
            } else {
                scan.missing.push(key);
            }
        }
        scan
    }

    /// The runs that still have to be made: all that are not finished and undamaged, in the order asked.
    pub fn missing(&self, keys: &[RunKey]) -> Vec<RunKey> {
        let done = |key: &RunKey| self.has_run(key) && run::check(&self.run_path(key)).is_ok();
        keys.iter().filter(|key| !done(key)).cloned().collect()
    }
}

/// Whether there is a directory; anything else there is refused.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(StoreError::NotADirectory(path.to_path_buf())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("open", path)(error)),
    }
}

/// Whether results are there; an error where something else is, whatever its name.
fn holds(path: &Path) -> Result<bool, StoreError> {
    let manifest = path.join(MANIFEST);
    if manifest.exists() {
        let value: Option<Value> = serde_json::from_slice(&file::read(&manifest)?).ok();
        let ours = value.is_some_and(|value| value.get("duetime").is_some());
        return if ours {
            Ok(true)
        } else {
            Err(StoreError::damaged(
                &manifest,
                "it was not written by duetime",
            ))
        };
    }
    let mut entries = fs::read_dir(path).map_err(StoreError::io("read", path))?;
    if entries.next().is_some() {
        Err(StoreError::Foreign(path.to_path_buf()))
    } else {
        Ok(false)
    }
}

/// Excludes other processes; the system releases the lock when this one ends in any way.
pub(crate) fn lock(path: &Path) -> Result<Option<File>, StoreError> {
    // Where directories cannot be locked (some network file systems), there is no protection.
    let Ok(directory) = File::open(path) else {
        return Ok(None);
    };
    match directory.try_lock() {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(path.to_path_buf())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(StoreError::unwritten("remove", path)),
    }
}

/// Directories just made, which go again unless kept.
struct Made {
    /// Innermost first.
    directories: Vec<PathBuf>,
}

impl Made {
    fn create(path: &Path) -> Result<Self, StoreError> {
        let missing = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let made = Self {
            directories: missing.map(Path::to_path_buf).collect(),
        };
        fs::create_dir_all(path).map_err(StoreError::io("create", path))?;
        Ok(made)
    }

    fn keep(mut self) {
        self.directories.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for directory in &self.directories {
            let _ = fs::remove_dir(directory);
        }
    }
}
