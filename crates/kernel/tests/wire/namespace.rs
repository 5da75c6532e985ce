//! Anonymous network namespaces, which end with their last descriptor, and thus with the process.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;

/// Network namespace.
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates a namespace that contains only a loopback interface, which is down.
    pub fn new() -> Self {
        // A new thread leaves its namespace, so that the caller remains in its own.
        let created = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
            File::open("/proc/thread-self/ns/net").expect("a file")
        });
        Self(created.join().expect("created").into())
    }

    /// Runs `work` inside the namespace, on a separate thread. Sockets that it creates belong to the namespace.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("the namespace");
                work()
            });
            inside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a command inside, which must succeed.
    pub fn run(&self, command: &str) {
        let mut words = command.split_whitespace();
        let program = words.next().expect("a program");
        let output = self.within(|| Command::new(program).args(words).output());
        let output = output.expect("a program of script/bootstrap --lab");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
    }

    /// Sets a kernel parameter of the namespace, such as `net/ipv4/tcp_ecn`.
    pub fn set(&self, name: &str, value: &str) {
        self.try_set(name, value)
            .unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
    }

    /// Sets a kernel parameter like [`set`](Self::set), or returns the error.
    pub fn try_set(&self, name: &str, value: &str) -> io::Result<()> {
        self.within(|| std::fs::write(format!("/proc/sys/{name}"), value))
    }

    /// Returns the inode number, which identifies the namespace.
    pub fn number(&self) -> u32 {
        let status = rustix::fs::fstat(&self.0).expect("an inode");
        u32::try_from(status.st_ino).expect("a short inode number")
    }

    /// Returns a path to the namespace that `ip` can open while this process runs.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}
