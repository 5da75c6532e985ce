//! The workspace's own source, without comments and unit tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A line of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its file.
    pub file: PathBuf,
    /// Counted from 1.
    pub number: usize,
    /// Its text, without the comment at its end.
    pub text: String,
}

/// Every line of code in the Rust files under `folder`, `tests.rs` and `tests/` left out; a file is read up to its unit
/// tests.
pub fn code_lines(folder: &Path) -> Vec<Line> {
    files(folder)
        .iter()
        .flat_map(|file| lines_of(file))
        .collect()
}

fn lines_of(file: &Path) -> Vec<Line> {
    let text = fs::read_to_string(file).expect("a source file can be read");
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .map(|(index, line)| {
            let text = line.split("//").next().unwrap_or_default().to_owned();
            Line {
                file: file.to_owned(),
                number: index + 1,
                text,
            }
        })
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}
