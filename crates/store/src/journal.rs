//! A journal: results that are kept as they come, one JSON line each, so that a stop loses none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// A file of JSON lines that only grows.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// A line that is not what was written: the process was killed or the disk was full while it was. Its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage(pub usize);

impl Journal {
    /// Opens the journal at `path`, or begins it, and reads what it holds. Lines that are no `T` are told and passed
    /// over: what they said has to be found out again.
    pub fn open<T: DeserializeOwned>(
        path: &Path,
    ) -> Result<(Self, Vec<T>, Vec<Damage>), StoreError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::io("make", folder))?;
        }
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::io("read", path)(error)),
        };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(StoreError::io("write", path))?;
        let mut journal = Self {
            path: path.to_path_buf(),
            file,
        };
        if bytes.last().is_some_and(|&last| last != b'\n') {
            // What comes next must not be joined to a line that was cut short.
            journal.append(b"\n")?;
        }
        let (mut entries, mut damages) = (Vec::new(), Vec::new());
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(entry) => entries.push(entry),
                Err(_) => damages.push(Damage(index + 1)),
            }
        }
        Ok((journal, entries, damages))
    }

    /// Appends one entry; it is in the file when the call returns.
    pub fn keep(&mut self, entry: &impl Serialize) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(entry)
            .map_err(|error| StoreError::io("write", &self.path)(error.into()))?;
        line.push(b'\n');
        self.append(&line)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file
            .write_all(bytes)
            .map_err(StoreError::io("write", &self.path))
    }
}
