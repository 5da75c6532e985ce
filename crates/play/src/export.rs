//! The page as files: all of them, or none.

use crate::{File, PlayError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the files, and next to each the form with gzip that it has (`.gz`), into the folder `to`, which is made if it is not there and must be empty if it is.
///
/// # Errors
/// If it is not empty or cannot be written; then it is as it was before.
pub fn export(files: &[File], to: &Path) -> Result<(), PlayError> {
    let cannot = |source: io::Error| PlayError::Write {
        path: to.to_path_buf(),
        source,
    };
    match fs::read_dir(to) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(PlayError::NotEmpty(to.to_path_buf()));
            }
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => {
            return Err(PlayError::NotFolder(to.to_path_buf()));
        }
        Err(why) => return Err(cannot(why)),
    }
    let partial = beside(to).map_err(cannot)?;
    let written = write(files, &partial).and_then(|()| {
        // Windows does not put a folder in the place of an empty one.
        let _ = fs::remove_dir(to);
        fs::rename(&partial, to)
    });
    written.map_err(|why| {
        let _ = fs::remove_dir_all(&partial);
        cannot(why)
    })
}

/// A name beside the folder that nothing has; its parent is made.
fn beside(to: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(to)?;
    let parent = whole.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    Ok(parent.join(format!(".{name}.partial-{}", std::process::id())))
}

fn write(files: &[File], to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for file in files {
        fs::write(to.join(file.name), file.content)?;
        if let Some(packed) = file.gzip {
            fs::write(to.join(format!("{}.gz", file.name)), packed)?;
        }
    }
    Ok(())
}
