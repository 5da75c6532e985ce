//! With the feature `page`: builds `duetime-web` for wasm32 in a target directory of its own, so that it waits for no lock
//! that the outer cargo holds, and leaves the module where the crate includes it, plain and with gzip.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
/// What the module is made of.
const CRATES: [&str; 9] = [
    "core", "figures", "fluid", "link", "proto", "results", "scenario", "sim", "web",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_PAGE").is_none() {
        return;
    }
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.join("../..");
    for name in CRATES {
        for part in ["src", "Cargo.toml"] {
            println!(
                "cargo::rerun-if-changed={}",
                root.join("crates").join(name).join(part).display()
            );
        }
    }
    for part in [
        "Cargo.lock",
        "Cargo.toml",
        "papers/d3/fig01",
        "papers/d3/fig02",
        "papers/d2tcp/fig06",
        "scenarios",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let module = build(&root, &out.join("wasm"));
    fs::copy(&module, out.join("duetime.wasm"))
        .unwrap_or_else(|why| stop(&format!("{} cannot be copied: {why}", module.display())));
    #[cfg(feature = "page")]
    compress(&module, &out.join("duetime.wasm.gz"))
        .unwrap_or_else(|why| stop(&format!("{} cannot be compressed: {why}", module.display())));
}

/// Writes `from` with gzip, as small as it gets, to `to`.
#[cfg(feature = "page")]
fn compress(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::io::Write;

    let file = fs::File::create(to)?;
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    encoder.write_all(&fs::read(from)?)?;
    encoder.finish()?.sync_all()
}

/// Builds the module and says where it is.
fn build(root: &Path, target_dir: &Path) -> PathBuf {
    check_target();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            "duetime-web",
            "--target",
            TARGET,
        ])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir)
        // Debug information is most of a module's bytes.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    // What is meant for the outer build alone: flags for another target, Clippy in the compiler's place.
    for name in [
        "CARGO_BUILD_TARGET",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
    ] {
        command.env_remove(name);
    }
    let status = command.status();
    let status = status.unwrap_or_else(|why| {
        stop(&format!(
            "cargo cannot be started for the playground: {why}"
        ))
    });
    if !status.success() {
        stop("the playground's module does not build; the messages above say why");
    }
    target_dir.join(TARGET).join("release/duetime_web.wasm")
}

/// Stops with what to do where the target's standard library is not there.
fn check_target() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    let library = output.ok().filter(|output| output.status.success());
    let library =
        library.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let has_it = library.is_some_and(|folder| {
        fs::read_dir(folder).is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libcore"))
            })
        })
    });
    if !has_it {
        stop(&format!(
            "the feature `play` needs the target {TARGET}, which is not installed: rustup target add {TARGET}"
        ));
    }
}

/// Ends the build with a message.
fn stop(message: &str) -> ! {
    println!("cargo::error={}", message.replace('\n', " "));
    std::process::exit(1)
}
