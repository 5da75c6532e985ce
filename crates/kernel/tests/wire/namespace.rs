//! Network namespaces without a name: they are gone with the last descriptor on them, however the process ends.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;

/// A network namespace.
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A fresh one, with nothing but a loopback interface that is down.
    pub fn new() -> Self {
        // The thread that leaves its namespace ends with it; the caller stays where it is.
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
            File::open("/proc/thread-self/ns/net").expect("a file")
        });
        Self(made.join().expect("created").into())
    }

    /// Does `work` inside, on a thread of its own. Sockets that it makes belong to the namespace.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("the namespace is ours");
                work()
            });
            inside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a command inside; it must succeed.
    pub fn run(&self, command: &str) {
        let mut words = command.split_whitespace();
        let program = words.next().expect("a program");
        let output = self.within(|| Command::new(program).args(words).output());
        let output = output.expect("script/bootstrap --lab installs it");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
    }

    /// Sets a parameter of the namespace, such as `net/ipv4/tcp_ecn`.
    pub fn set(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/{name}");
        self.within(|| std::fs::write(&path, value))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// The inode number, which names it.
    pub fn number(&self) -> u32 {
        let status = rustix::fs::fstat(&self.0).expect("an inode");
        u32::try_from(status.st_ino).expect("the kernel's are short")
    }

    /// A path to it that `ip` can open as long as this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}
