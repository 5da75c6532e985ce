//! A journal: results that are kept as they come, so that a stop loses none. A folder of small files, one for each run or
//! batch of runs: each whole, checked and replaced in one step.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::folder::lock;
use crate::{StoreError, file};

/// Marks the file, so that one of another kind is not taken for a damaged one of ours.
const MAGIC: &str = "duetime-point";

/// The folder. Processes exclude each other; threads may write different names at once.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Held while this process may write.
    _lock: Option<File>,
}

/// The first line of a file; the rest is the content.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    kind: String,
    format: u32,
    bytes: usize,
    checksum: String,
}

impl Journal {
    /// Opens the folder, and makes it where it is missing.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path.is_file() {
            return Err(StoreError::NotADirectory(path.to_path_buf()));
        }
        fs::create_dir_all(path).map_err(StoreError::io("create", path))?;
        Ok(Self {
            path: path.to_path_buf(),
            _lock: lock(path)?,
        })
    }

    /// Where a file is, whether it exists or not. Names may hold `/`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `value` under `name`: it appears whole or not at all.
    pub fn write(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let path = self.file(name);
        let refused =
            |error: serde_json::Error| StoreError::unwritten("write", &path)(error.into());
        let body = serde_json::to_vec(value).map_err(refused)?;
        let head = Head {
            kind: MAGIC.to_owned(),
            format: crate::FORMAT,
            bytes: body.len(),
            checksum: file::checksum(&body),
        };
        let mut bytes = serde_json::to_vec(&head).map_err(refused)?;
        bytes.push(b'\n');
        bytes.extend(body);
        file::replace_file(&path, &bytes)
    }

    /// Reads what was written under `name`; `None` where there is nothing. Anything else than what was written is
    /// [`StoreError::Damaged`].
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let path = self.file(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("read", &path)(error)),
        };
        let damaged = |reason: String| StoreError::damaged(&path, reason);
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (head, body) = bytes.split_at(end.unwrap_or(bytes.len()));
        let body = body.get(1..).unwrap_or_default();
        let head: Head = serde_json::from_slice(head)
            .ok()
            .filter(|head: &Head| head.kind == MAGIC)
            .ok_or_else(|| damaged("its first line is not that of a point".to_owned()))?;
        file::check_format(&path, head.format)?;
        if head.bytes != body.len() {
            let (is, was) = (body.len(), head.bytes);
            return Err(damaged(format!("it has {is} bytes of {was}")));
        }
        if head.checksum != file::checksum(body) {
            return Err(damaged("its checksum differs".to_owned()));
        }
        serde_json::from_slice(body)
            .map(Some)
            .map_err(|error| damaged(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Journal {
        let path = std::env::temp_dir().join(format!("duetime-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Journal::open(&path).expect("a folder")
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = folder("point-read");
        assert_eq!(folder.read::<Vec<u32>>("a/0-2").unwrap(), None);
        folder.write("a/0-2", &vec![1, 2]).unwrap();
        assert_eq!(folder.read::<Vec<u32>>("a/0-2").unwrap(), Some(vec![1, 2]));
    }

    #[test]
    fn any_cut_and_any_changed_byte_is_found() {
        let folder = folder("point-damage");
        folder.write("p", &vec![10, 20, 30]).unwrap();
        let whole = fs::read(folder.file("p")).unwrap();
        for end in 0..whole.len() {
            fs::write(folder.file("p"), &whole[..end]).unwrap();
            let found = folder.read::<Vec<u32>>("p");
            assert!(matches!(found, Err(StoreError::Damaged { .. })), "{end}");
        }
        for at in 0..whole.len() {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 1;
            fs::write(folder.file("p"), &spoilt).unwrap();
            let found = folder.read::<Vec<u32>>("p");
            assert!(matches!(found, Err(StoreError::Damaged { .. })), "{at}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_not_a_wrong_place() {
        let folder = folder("point-blocked");
        fs::write(folder.file("a"), "no folder").unwrap();
        let refused = folder.write("a/0-2", &1).unwrap_err();
        assert!(matches!(refused, StoreError::Unwritten { .. }), "{refused}");
        let place = Journal::open(&folder.file("a/b")).unwrap_err();
        assert!(matches!(place, StoreError::Io { .. }), "{place}");
        let late = place.after_results();
        assert!(matches!(late, StoreError::Unwritten { .. }), "{late}");
    }

    #[test]
    fn two_processes_exclude_each_other() {
        let first = folder("point-lock");
        let second = Journal::open(&first.path);
        assert!(matches!(second, Err(StoreError::Busy(_))));
    }
}
