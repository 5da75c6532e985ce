//! C libraries of the protocols, for the tests of their crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the C library of a package as documented and returns its path.
pub fn build(package: &str) -> PathBuf {
    let cargo = Command::new(env!("CARGO"))
        .args(["rustc", "--locked", "--quiet", "-p", package])
        .args(["--features", "c", "--crate-type", "cdylib"])
        .args(["--message-format", "json-render-diagnostics"])
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&cargo.stderr);
    assert!(cargo.status.success(), "{error}");
    let name = format!("lib{}.so", package.replace('-', "_"));
    let messages = String::from_utf8_lossy(&cargo.stdout);
    let mut named = messages.split('"').filter(|word| word.ends_with(&name));
    PathBuf::from(named.next_back().expect("cargo names what it built"))
}

/// Compiles a C program of a package's tests with the package's library, runs it, and returns its output. Returns
/// `None` without a C compiler.
pub fn run(package: &str, folder: &Path, program: &str, scratch: &Path) -> Option<String> {
    Command::new("cc").arg("--version").output().ok()?;
    let library = build(package);
    let binary = scratch.join("exchange");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(folder.join("include"))
        .arg("-o")
        .arg(&binary)
        .arg(folder.join(program))
        .arg(&library)
        .output()
        .expect("cc runs");
    let error = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{error}");
    let run = Command::new(&binary)
        .env("LD_LIBRARY_PATH", library.parent().expect("a folder"))
        .output()
        .expect("the program runs");
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{error}");
    Some(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// Returns a command that runs a Python program with the modules of `python/duetime` that do not need the native
/// module, which is not built here. Returns `None` without Python.
pub fn python(program: &Path, scratch: &Path) -> Option<Command> {
    Command::new("python3").arg("--version").output().ok()?;
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/duetime");
    let folder = scratch.join("python");
    fs::create_dir_all(folder.join("duetime")).expect("a folder");
    let text = format!("__path__ = ['{}']\n", modules.display());
    fs::write(folder.join("duetime/__init__.py"), text).expect("a file");
    let mut python = Command::new("python3");
    // Leave no compiled files in the repository.
    python.arg("-B").arg(program).env("PYTHONPATH", folder);
    Some(python)
}
