//! Anonymous network namespaces, which end with their last descriptor, and thus with the process.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::LabError;

/// Network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Creates a namespace that contains only a loopback interface, which is down.
    pub fn new() -> Result<Self, LabError> {
        // A new thread leaves its namespace, so that the caller remains in its own.
        let created = thread::scope(|scope| {
            scope
                .spawn(|| {
                    unshare(CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from)?;
                    File::open("/proc/thread-self/ns/net")
                })
                .join()
        });
        let file = created
            .expect("no panic")
            .map_err(LabError::system("create a network namespace"))?;
        Ok(Self { fd: file.into() })
    }

    /// Moves the calling thread into the namespace. Sockets that the thread creates afterwards belong to it.
    pub fn enter(&self) -> Result<(), LabError> {
        setns(&self.fd, CloneFlags::CLONE_NEWNET)
            .map_err(LabError::system("enter a network namespace"))
    }

    /// Runs `work` inside the namespace, on a separate thread.
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

    /// Returns the number of the descriptor in this process, by which `/proc/PID/fd/NUMBER` refers to the namespace.
    pub fn descriptor(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Returns a path that other processes can open while this process runs.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor())
    }
}

/// Runs a program in the calling thread's namespace with `input` on its standard input. Returns its standard output.
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
    // A program that fails early does not read all of its input; its exit code reports the failure.
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
