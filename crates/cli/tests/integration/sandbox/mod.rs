//! Empty folder for a test, in which it runs the binary.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Empty folder.
pub struct Sandbox(pub PathBuf);

impl Sandbox {
    /// Creates an empty folder, whose name must be unique among all tests.
    pub fn new(name: &str) -> Sandbox {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).expect("an old folder can be removed");
        }
        fs::create_dir_all(&path).expect("a folder can be created");
        Sandbox(path)
    }

    /// Writes a file in the folder.
    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file can be written");
    }

    /// Reads a file in the folder.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the text of every file below a folder, by its path in the sandbox.
    pub fn files(&self, name: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(self.0.join(name)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                found.extend(self.files(&name));
            } else {
                found.insert(name.clone(), self.read(&name));
            }
        }
        found
    }

    /// Returns the names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder can be read");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Runs `duetime` with arguments split at spaces.
    pub fn duetime(&self, arguments: &str) -> CommandOutput {
        self.duetime_args(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `duetime` with arguments split at spaces and `input` on standard input.
    pub fn duetime_reading(&self, arguments: &str, input: &str) -> CommandOutput {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duetime"))
            .env_remove("COLUMNS")
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut to = child.stdin.take().expect("a pipe");
        to.write_all(input.as_bytes())
            .expect("the binary reads its input");
        drop(to);
        CommandOutput::new(child.wait_with_output().expect("an end"))
    }

    /// Runs `duetime`.
    pub fn duetime_args(&self, arguments: &[&str]) -> CommandOutput {
        let output = Command::new(env!("CARGO_BIN_EXE_duetime"))
            .env_remove("COLUMNS")
            .args(arguments)
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .output()
            .expect("the binary starts");
        CommandOutput::new(output)
    }
}

/// Exit code and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl CommandOutput {
    fn new(output: Output) -> CommandOutput {
        CommandOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Checks that the command succeeded and returns its standard output.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self.out
    }

    /// Checks that the command refused its input with a message that contains all `parts`.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) {
        assert_eq!(self.code, 2, "{}\n{}", self.out, self.err);
        assert_eq!(self.out, "", "nothing on standard output");
        for part in parts {
            assert!(
                self.err.contains(part),
                "`{part}` is missing in:\n{}",
                self.err
            );
        }
    }
}

/// Quick scenario: two transports, two runs, a burst with deadlines and a background flow.
pub const TINY: &str = r#"name = "tiny"
transport = ["dctcp", "d2tcp"]
seeds = 2
duration = "20 ms"

[topology]
kind = "star"
hosts = 8
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "100 KB"
ecn_threshold = "20 packets"

[[workload]]
kind = "burst"
senders = 5
size = "20 KB"
deadline = { base = "2 ms" }
at = "1 ms"
repeat = 4
every = "4 ms"

[[workload]]
kind = "background"
count = 1
size = "50 KB"
every = "5 ms"

[tcp]
profile = "paper"
"#;
