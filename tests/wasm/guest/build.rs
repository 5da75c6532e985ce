//! Generates the list of the ready-made scenarios and the files that they name.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(&folder).expect("the folder of scenarios");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    // The testbed's scenarios are in a separate folder.
    paths.retain(|path| path.is_file());
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        let path = path.canonicalize().expect("a file that exists");
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("a name in UTF-8");
        let path = path.to_str().expect("a path in UTF-8");
        writeln!(list, "({name:?}, include_str!({path:?})),").expect("memory");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("scenarios.rs"), list + "]").expect("a file is written");
}
