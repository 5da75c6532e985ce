//! Journal that stores each result when it is complete, so that an interruption loses none. A journal is a folder of
//! small files, one per run or batch of runs, each checksummed and replaced atomically.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::folder::lock;
use crate::{StoreError, file};

/// Identifies the file type, so that a foreign file is not reported as a damaged journal file.
const MAGIC: &str = "duetime-point";

/// Folder of a journal. Processes exclude each other; threads may write different names concurrently.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Lock held while this process may write.
    _lock: Option<File>,
}

/// First line of a file; the content follows.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    kind: String,
    format: u32,
    bytes: usize,
    checksum: String,
}

impl Journal {
    /// Opens the folder, creating it if it is missing.
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

    /// Returns the path of a file, which need not exist. Names may contain `/`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `value` under `name` atomically.
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

    /// Reads the value written under `name`, or returns `None` if there is none. Any deviation from the written
    /// contents is [`StoreError::Damaged`].
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
            .ok_or_else(|| damaged("its first line is not a journal header".to_owned()))?;
        file::check_format(&path, head.format)?;
        if head.bytes != body.len() {
            let (found, expected) = (body.len(), head.bytes);
            return Err(damaged(format!("it has {found} bytes of {expected}")));
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

    /// A journal whose folder is removed at the end of the test.
    struct Scratch(Journal);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.path);
        }
    }

    fn scratch(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("duetime-{name}-{}", std::process::id()));
        Scratch(Journal::open(&path).expect("a folder"))
    }

    #[test]
    fn values_read_back() {
        let scratch = scratch("point-read");
        let folder = &scratch.0;
        assert_eq!(folder.read::<Vec<u32>>("a/0-2").unwrap(), None);
        folder.write("a/0-2", &vec![1, 2]).unwrap();
        assert_eq!(folder.read::<Vec<u32>>("a/0-2").unwrap(), Some(vec![1, 2]));
    }

    #[test]
    fn truncation_and_changed_bytes_are_detected() {
        let scratch = scratch("point-damage");
        let folder = &scratch.0;
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
    fn write_failure_is_not_a_wrong_path() {
        let scratch = scratch("point-blocked");
        let folder = &scratch.0;
        fs::write(folder.file("a"), "not a folder").unwrap();
        let refused = folder.write("a/0-2", &1).unwrap_err();
        assert!(matches!(refused, StoreError::Unwritten { .. }), "{refused}");
        let place = Journal::open(&folder.file("a/b")).unwrap_err();
        assert!(matches!(place, StoreError::Io { .. }), "{place}");
        let late = place.after_results();
        assert!(matches!(late, StoreError::Unwritten { .. }), "{late}");
    }

    #[test]
    fn two_processes_exclude_each_other() {
        let first = scratch("point-lock");
        let second = Journal::open(&first.0.path);
        assert!(matches!(second, Err(StoreError::Busy(_))));
    }
}
