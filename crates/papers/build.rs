//! Embeds the papers' experiments: generates a list with path and text of each file that a campaign reads. Also hashes
//! the sources of the simulator, which the points of a campaign depend on.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Crates that decide the results of a run.
const SIMULATOR: [&str; 6] = ["analysis", "core", "link", "proto", "scenario", "sim"];

fn main() {
    println!(
        "cargo::rustc-env=DUETIME_SOURCES={:016x}",
        hash_of_sources()
    );
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut files = Vec::new();
    collect(&papers, &is_read, &mut files);
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

/// Returns a hash of the simulator's sources.
fn hash_of_sources() -> u64 {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in SIMULATOR {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &|_| true, &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let name = file.strip_prefix(&crates).expect("below the folder");
        name.hash(&mut hasher);
        std::fs::read(&file)
            .expect("a file that can be read")
            .hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns true for a file that campaigns read. Testbed comparisons are only data for the documents.
fn is_read(path: &Path) -> bool {
    let is = |ending: &str| {
        path.extension()
            .is_some_and(|extension| extension == ending)
    };
    is("toml") || is("csv") || path.file_name().is_some_and(|name| name == "reading.md")
}

/// Collects the files below a folder for which `is_wanted` is true.
fn collect(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, is_wanted, files);
        } else if is_wanted(&path) {
            files.push(path);
        }
    }
}
