//! Network namespaces without a name: they are gone with the last descriptor on them, however the process ends.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::LabError;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// A fresh one, with nothing but a loopback interface that is down.
    pub fn new() -> Result<Self, LabError> {
        // The thread that leaves its namespace ends with it; the caller stays where it is.
        let made = thread::scope(|scope| {
            scope
                .spawn(|| {
                    unshare(CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from)?;
                    File::open("/proc/thread-self/ns/net")
                })
                .join()
        });
        let file = made
            .expect("no panic")
            .map_err(LabError::system("make a network namespace"))?;
        Ok(Self { fd: file.into() })
    }

    /// Moves the calling thread into it. Sockets that the thread makes from here on belong to it.
    pub fn enter(&self) -> Result<(), LabError> {
        setns(&self.fd, CloneFlags::CLONE_NEWNET)
            .map_err(LabError::system("enter a network namespace"))
    }

    /// Does `work` inside, on a thread of its own.
    pub fn within<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                work()
            });
            inside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The descriptor's number in this process: `/proc/PID/fd/NUMBER` leads to the namespace.
    pub fn descriptor(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// A path to it that other processes can open as long as this one lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor())
    }
}

/// Runs a program in the calling thread's namespace; `input` goes to its standard input. Returns what it printed.
pub fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, LabError> {
    use std::io::Write;

    let name = || [&[program], arguments].concat().join(" ");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(LabError::system(format!(
            "run `{program}` (script/bootstrap --lab installs it)"
        )))?;
    let mut stdin = child.stdin.take().expect("piped");
    // A program that fails early does not read all of its input; its exit code tells.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child
        .wait_with_output()
        .map_err(LabError::system(format!("wait for `{}`", name())))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(LabError::Program {
        program: name(),
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
