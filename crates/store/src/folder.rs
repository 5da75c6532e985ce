//! Run folder: locking, contents and missing runs.

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
/// Everything that Duetime creates at the top of a run folder, and may therefore replace.
const OWNED: [&str; 7] = [
    MANIFEST,
    SUMMARY,
    "report.html",
    "events.jsonl",
    "runs",
    "points",
    "figures",
];

/// Action if the folder already holds results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Keep the results and return an error.
    Refuse,
    /// Keep the results and add missing runs, if the scenario is the same.
    Resume,
    /// Remove the results. Files that Duetime did not create are kept.
    Replace,
}

/// Run folder. Several threads may write runs; processes exclude each other.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Lock held while this process may write.
    _lock: Option<File>,
}

/// State of the requested runs in a folder, each list in the order of the request.
#[derive(Debug, Default)]
pub struct Scan {
    /// Finished and undamaged runs.
    pub done: Vec<(RunKey, RunInfo)>,
    /// Runs that do not exist.
    pub missing: Vec<RunKey>,
    /// Runs that differ from what was written; the error names the file.
    pub damaged: Vec<(RunKey, StoreError)>,
    /// Runs that could not be completed, with the recorded reason.
    pub failed: Vec<(RunKey, String)>,
}

impl RunFolder {
    /// Prepares the folder for writing and writes its manifest. On failure, nothing is changed.
    pub fn create(
        path: &Path,
        if_exists: IfExists,
        manifest: &Manifest,
    ) -> Result<Self, StoreError> {
        let (holds_results, created) = if is_directory(path)? {
            (holds_results(path)?, None)
        } else {
            (false, Some(CreatedDirectories::create(path)?))
        };
        let folder = Self {
            path: path.to_path_buf(),
            _lock: lock(path)?,
        };
        if holds_results {
            folder.resolve_existing(if_exists, manifest)?;
        }
        folder.write_manifest(manifest)?;
        if let Some(created) = created {
            created.keep();
        }
        Ok(folder)
    }

    fn resolve_existing(&self, if_exists: IfExists, manifest: &Manifest) -> Result<(), StoreError> {
        match if_exists {
            IfExists::Replace => OWNED
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

    /// Opens a folder for reading. Runs that another process writes meanwhile become visible one by one.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !is_directory(path)? || !path.join(MANIFEST).exists() {
            return Err(StoreError::NotFound(path.to_path_buf()));
        }
        let folder = Self {
            path: path.to_path_buf(),
            _lock: None,
        };
        folder.manifest()?;
        Ok(folder)
    }

    /// Opens a folder to find the missing runs of the study that `manifest` describes, or returns `None` if there is no
    /// folder.
    ///
    /// # Errors
    /// Returns an error if the folder holds another study or cannot be read.
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

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of one run, which need not exist.
    pub fn run_path(&self, key: &RunKey) -> PathBuf {
        self.path.join(key.path())
    }

    /// Reads the current manifest.
    pub fn manifest(&self) -> Result<Manifest, StoreError> {
        let path = self.path.join(MANIFEST);
        Manifest::from_json(&file::read(&path)?, &path)
    }

    /// Replaces the manifest atomically.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        self.write_json(MANIFEST, manifest)
    }

    /// Replaces `summary.json` atomically.
    pub fn write_summary(&self, summary: &impl Serialize) -> Result<(), StoreError> {
        self.write_json(SUMMARY, summary)
    }

    /// Replaces a JSON file at the top of the folder atomically.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let path = self.path.join(name);
        file::replace(&path, &file::json(&path, value)?)
    }

    /// Reads a JSON file at the top of the folder, or returns `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not hold a `T`.
    pub fn read_optional_json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        let path = self.path.join(name);
        path.exists().then(|| file::read_json(&path)).transpose()
    }

    /// Replaces a file at the top of the folder atomically, such as `report.html`, and returns its path.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path.join(name);
        file::replace(&path, bytes)?;
        Ok(path)
    }

    /// Writes one run atomically. Replaces a damaged or failed run with the same key.
    pub fn write_run(
        &self,
        key: &RunKey,
        records: &RunRecords,
        notes: &RunNotes,
        captures: Option<Captures<'_>>,
    ) -> Result<RunInfo, StoreError> {
        let info = run::write(&self.run_place(key), key, records, notes, captures)?;
        remove(&self.failure_path(key))?;
        Ok(info)
    }

    /// Moves a run that [`crate::write_run`] left at `staged`, on the same file system, into the folder. Replaces a
    /// damaged or failed run with the same key.
    ///
    /// # Errors
    /// Returns an error if the run has another key or version or is damaged; it then stays at `staged`.
    pub fn adopt_run(&self, key: &RunKey, staged: &Path) -> Result<RunInfo, StoreError> {
        let info = run::adopt(staged, &self.run_place(key), key)?;
        remove(&self.failure_path(key))?;
        Ok(info)
    }

    /// Returns the folder of one run after creating its parent folders.
    fn run_place(&self, key: &RunKey) -> PathBuf {
        let run_place = self.run_path(key);
        if let Some(parent) = run_place.parent() {
            // If this fails, the next step fails too and reports the path in question.
            let _ = fs::create_dir_all(parent);
        }
        run_place
    }

    /// Records why a run could not be completed, next to the place of its results.
    pub fn write_failure(&self, key: &RunKey, reason: &str) -> Result<(), StoreError> {
        file::replace_file(&self.failure_path(key), reason.as_bytes())
    }

    fn failure_path(&self, key: &RunKey) -> PathBuf {
        self.run_path(key)
            .with_file_name(format!("{}.failed.txt", key.run))
    }

    /// Reads one run exactly as written. Damage is an error that names the file.
    pub fn read_run(&self, key: &RunKey) -> Result<StoredRun, StoreError> {
        run::read(&self.run_path(key))
    }

    /// Returns the Parquet file of one table of one run, as written. Damage is an error that names the file.
    pub fn table(&self, key: &RunKey, table: &str) -> Result<Vec<u8>, StoreError> {
        run::table(&self.run_path(key), table)
    }

    /// Returns true if the run exists. Does not check for damage.
    pub fn has_run(&self, key: &RunKey) -> bool {
        run::exists(&self.run_path(key))
    }

    /// Classifies the requested runs as done, missing, damaged or failed, checking every file's checksum.
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

    /// Returns the runs that are not finished and undamaged, in the order of `keys`.
    pub fn missing(&self, keys: &[RunKey]) -> Vec<RunKey> {
        let done = |key: &RunKey| self.has_run(key) && run::check(&self.run_path(key)).is_ok();
        keys.iter().filter(|key| !done(key)).cloned().collect()
    }
}

/// Returns true if the path is a directory, and an error if it is anything else.
fn is_directory(path: &Path) -> Result<bool, StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(StoreError::NotADirectory(path.to_path_buf())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("open", path)(error)),
    }
}

/// Returns true if the folder holds results, and an error if it holds something else.
fn holds_results(path: &Path) -> Result<bool, StoreError> {
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

/// Locks the folder against other processes. The system releases the lock when this process ends.
pub(crate) fn lock(path: &Path) -> Result<Option<File>, StoreError> {
    // Some network file systems do not support locks on directories; they get no protection.
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

/// Newly created directories, removed on drop unless kept.
struct CreatedDirectories {
    /// Innermost directory first.
    directories: Vec<PathBuf>,
}

impl CreatedDirectories {
    fn create(path: &Path) -> Result<Self, StoreError> {
        let missing = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let created = Self {
            directories: missing.map(Path::to_path_buf).collect(),
        };
        fs::create_dir_all(path).map_err(StoreError::io("create", path))?;
        Ok(created)
    }

    fn keep(mut self) {
        self.directories.clear();
    }
}

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        for directory in &self.directories {
            let _ = fs::remove_dir(directory);
        }
    }
}
