//! Export of the page as files.

use crate::{File, PlayError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the files, and their compressed forms with the suffix `.gz`, to the folder `to`, which must be empty or not
/// exist.
///
/// # Errors
/// If the folder is not empty or not writable. The folder is then unchanged.
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
    let partial = temporary_path(to).map_err(cannot)?;
    let written = write(files, &partial).and_then(|()| {
        // Windows cannot rename a folder to an existing empty one.
        let _ = fs::remove_dir(to);
        fs::rename(&partial, to)
    });
    written.map_err(|why| {
        let _ = fs::remove_dir_all(&partial);
        cannot(why)
    })
}

/// Returns an unused path in the folder's parent, which is created if necessary.
fn temporary_path(to: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(to)?;
    let parent = absolute.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let name = absolute.file_name().unwrap_or_default().to_string_lossy();
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
