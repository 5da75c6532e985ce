//! C libraries of the protocols, for the tests of their crates.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Folder of the headers of C tests.
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../udp/tests/clibrary");

/// Libraries of a transport that `script/library` has installed in a folder.
pub struct Library {
    prefix: PathBuf,
    name: String,
}

/// Builds the C library of a transport, as users do, and installs it in a folder for tests, whose name must be unique.
pub fn build(transport: &str, folder: &str) -> Library {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../script/library");
    let built = Command::new(script)
        .args([transport, "--dev", "--prefix"])
        .arg(&prefix)
        .output()
        .expect("the script runs");
    assert!(built.status.success(), "{}", error(&built));
    Library {
        prefix,
        name: format!("duetime_{transport}"),
    }
}

impl Library {
    /// Returns the path of the library.
    pub fn path(&self) -> PathBuf {
        self.prefix.join(format!("lib/lib{}.so", self.name))
    }

    /// Compiles a C program with the installed header and library, runs it, and returns its output.
    pub fn run(&self, program: &Path) -> String {
        let (libraries, binary) = (self.prefix.join("lib"), self.prefix.join("program"));
        let compiled = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
            .arg(self.prefix.join("include"))
            .args(["-I", HEADERS])
            .arg("-o")
            .arg(&binary)
            .arg(program)
            .arg("-L")
            .arg(&libraries)
            .arg(format!("-l{}", self.name))
            .output()
            .expect("cc runs");
        assert!(compiled.status.success(), "{}", error(&compiled));
        let run = Command::new(&binary)
            .env("LD_LIBRARY_PATH", libraries)
            .output()
            .expect("the program runs");
        assert!(run.status.success(), "{}", error(&run));
        String::from_utf8_lossy(&run.stdout).into_owned()
    }

    /// Checks that the library names its interface, and that it exports functions of the transport with its version and
    /// nothing else.
    pub fn check_symbols(&self) {
        let interface = concat!(
            env!("CARGO_PKG_VERSION_MAJOR"),
            ".",
            env!("CARGO_PKG_VERSION_MINOR")
        );
        let headers = Command::new("objdump").arg("-p").arg(self.path()).output();
        let headers = headers.expect("objdump runs");
        let headers = String::from_utf8_lossy(&headers.stdout);
        let soname = format!("lib{}.so.{interface}", self.name);
        let named = headers
            .lines()
            .any(|line| line.split_whitespace().eq(["SONAME", &soname]));
        assert!(named, "no {soname}: {headers}");
        let symbols = Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(self.path())
            .output();
        let symbols = symbols.expect("nm runs");
        let symbols = String::from_utf8_lossy(&symbols.stdout);
        let prefix = self.name.replace("duetime_", "") + "_";
        let version = format!("@@{}_{interface}", self.name.to_uppercase());
        let mut functions = symbols
            .lines()
            .filter(|line| line.contains(" T "))
            .peekable();
        assert!(functions.peek().is_some(), "no functions: {symbols}");
        for function in functions {
            let symbol = function.split_whitespace().next_back().expect("a name");
            assert!(
                symbol.starts_with(&prefix) && symbol.ends_with(&version),
                "{function}"
            );
        }
    }
}

fn error(output: &Output) -> Cow<'_, str> {
    String::from_utf8_lossy(&output.stderr)
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
