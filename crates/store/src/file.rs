//! Whole files: atomic replacement, JSON, and checksums.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// Writes a new file. For folders that are themselves renamed when complete.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fs::write(path, bytes).map_err(StoreError::unwritten("write", path))
}

/// Replaces a file atomically: readers see the old or the new file, and a failure keeps the old one.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".partial");
    let partial = path.with_file_name(name);
    let written = write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path).map_err(StoreError::unwritten("write", path)));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Replaces a file atomically and creates its folder if it is missing.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(StoreError::unwritten("create", parent))?;
    }
    replace(path, bytes)
}

/// Returns the contents of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    fs::read(path).map_err(StoreError::io("read", path))
}

/// Returns `value` as indented JSON with a final newline. `path` is used in the error.
pub fn json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| StoreError::unwritten("write", path)(error.into()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads and parses a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    serde_json::from_slice(&read(path)?)
        .map_err(|error| StoreError::damaged(path, error.to_string()))
}

/// Returns an error unless `found` is the format that this version reads.
pub fn check_format(path: &Path, found: u32) -> Result<(), StoreError> {
    let ours = crate::FORMAT;
    if found == ours {
        return Ok(());
    }
    let reason = format!("it has format {found}, this version reads {ours}");
    Err(StoreError::damaged(path, reason))
}

/// Returns the 64-bit FNV-1a hash of the bytes. It detects damage, not tampering.
pub fn checksum(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_fnv_1a() {
        assert_eq!(checksum(b""), "cbf29ce484222325");
        assert_eq!(checksum(b"foobar"), "85944171f73967e8");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_names_path_and_reason() {
        let message = write(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert!(
            message.starts_with("cannot write `/dev/full`: No space left on device"),
            "{message}"
        );
    }
}
