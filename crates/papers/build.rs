//! Embeds the papers' experiments: generates a list with path and text of each file that a campaign reads.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut files = Vec::new();
    collect(&papers, &mut files);
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&papers).expect("below the folder");
        let parts: Vec<&str> = name
            .iter()
            .map(|part| part.to_str().expect("a name in UTF-8"))
            .collect();
        let path = file.canonicalize().expect("a file that exists");
        let path = path.to_str().expect("a path in UTF-8");
        writeln!(list, "({:?}, include_str!({path:?})),", parts.join("/")).expect("memory");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("papers.rs"), list + "]").expect("a file is written");
}

/// Collects the files that campaigns read. Testbed comparisons are only data for the documents.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
            continue;
        }
        let is = |ending: &str| {
            path.extension()
                .is_some_and(|extension| extension == ending)
        };
        if is("toml") || is("csv") || path.file_name().is_some_and(|name| name == "reading.md") {
            files.push(path);
        }
    }
}
