//! With the feature `page`, builds `duetime-web` for wasm32 and stores the module, plain and compressed with gzip,
//! where the crate includes it. The build uses a separate target directory to avoid the lock of the outer cargo.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
/// Crates that the module depends on.
const CRATES: [&str; 9] = [
    "analysis", "core", "figures", "link", "proto", "results", "scenario", "sim", "web",
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
        .unwrap_or_else(|why| stop(&format!("cannot copy {}: {why}", module.display())));
    #[cfg(feature = "page")]
    compress(&module, &out.join("duetime.wasm.gz"))
        .unwrap_or_else(|why| stop(&format!("cannot compress {}: {why}", module.display())));
}

/// Compresses `from` to `to` with gzip at the best level.
#[cfg(feature = "page")]
fn compress(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::io::Write;

    let file = fs::File::create(to)?;
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    encoder.write_all(&fs::read(from)?)?;
    encoder.finish()?.sync_all()
}

/// Builds the module and returns its path.
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
        // Debug information makes up most of a module's size.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    // Settings of the outer build, such as flags for another target or Clippy instead of the compiler.
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
    let status =
        status.unwrap_or_else(|why| stop(&format!("cannot start cargo for the playground: {why}")));
    if !status.success() {
        stop("building the playground's module failed; see the messages above");
    }
    target_dir.join(TARGET).join("release/duetime_web.wasm")
}

/// Stops with instructions if the target's standard library is not installed.
fn check_target() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    let library = output.ok().filter(|output| output.status.success());
    let library =
        library.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let is_installed = library.is_some_and(|folder| {
        fs::read_dir(folder).is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libcore"))
            })
        })
    });
    if !is_installed {
        stop(&format!(
            "the feature `play` requires the target {TARGET}, which is not installed; run rustup target add {TARGET}"
        ));
    }
}

/// Ends the build with a message.
fn stop(message: &str) -> ! {
    println!("cargo::error={}", message.replace('\n', " "));
    std::process::exit(1)
}
