//! C interface, used from C and Python.

#![expect(clippy::print_stderr, reason = "tests print why they are skipped")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the C library as documented and returns its path.
fn library() -> PathBuf {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "rustc",
            "--locked",
            "--quiet",
            "-p",
            "duetime-d3",
            "--features",
            "c",
        ])
        .args([
            "--crate-type",
            "cdylib",
            "--message-format",
            "json-render-diagnostics",
        ])
        .output()
        .expect("cargo runs");
    assert!(
        cargo.status.success(),
        "{}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    let messages = String::from_utf8_lossy(&cargo.stdout);
    let mut named = messages
        .split('"')
        .filter(|word| word.ends_with("libduetime_d3.so"));
    PathBuf::from(named.next_back().expect("cargo names what it built"))
}

/// Creates a package `duetime` with the modules of `python/duetime` that do not need the native module, which is not
/// built here. Returns the folder to import it from.
fn package_without_native_module() -> PathBuf {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/duetime");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(folder.join("duetime")).expect("a folder");
    let text = format!("__path__ = ['{}']\n", modules.display());
    fs::write(folder.join("duetime/__init__.py"), text).expect("a file");
    folder
}

#[test]
fn c_programs_exchange_data() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler");
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(here.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(here.join("tests/exchange.c"))
        .arg(&library)
        .output()
        .expect("cc runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = Command::new(&program)
        .env("LD_LIBRARY_PATH", library.parent().expect("a folder"))
        .output()
        .expect("the program runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        "300000 bytes, in order\n"
    );
}

#[test]
fn python_programs_exchange_data() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: Python is not installed");
        return;
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/python");
    let library = library();
    let package = package_without_native_module();
    let python = |program: &str| {
        let mut python = Command::new("python3");
        python
            .arg("-B") // leaves no compiled files in the repository
            .arg(examples.join(program))
            .env("PYTHONPATH", &package)
            .env("DUETIME_D3", &library);
        python
    };
    let mut server = python("server.py")
        .args(["127.0.0.1:0", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut port = String::new();
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    output.read_line(&mut port).expect("the server's port");
    let address = format!("127.0.0.1:{}", port.trim());
    for _ in 0..2 {
        let client = python("client.py")
            .args([&address, "better never than late"])
            .output()
            .expect("python3 runs");
        assert!(
            client.status.success(),
            "{}",
            String::from_utf8_lossy(&client.stderr)
        );
        let output = String::from_utf8_lossy(&client.stdout);
        assert!(
            output.starts_with("88000 bytes: BETTER NEVER THAN LATE…; "),
            "{output}"
        );
    }
    assert!(server.wait().expect("ended").success());

    // Waits have a limit, and end at an interrupt.
    let program = examples.join("../../tests/waits.py");
    let waits = python(program.to_str().expect("text")).output();
    let waits = waits.expect("python3 runs");
    assert!(
        waits.status.success(),
        "{}",
        String::from_utf8_lossy(&waits.stderr)
    );

    // Failures raise an exception with the library's message.
    let refused = python("client.py")
        .args(["nonsense", "query"])
        .output()
        .expect("python3 runs");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && error.contains("D3Error: (1, 'invalid socket address"),
        "{error}"
    );
}
