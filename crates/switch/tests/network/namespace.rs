//! Anonymous network namespaces, which end with the last thread or descriptor that refers to them.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::process::Command;
use std::thread;

/// Network namespace with an open descriptor.
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace with its loopback device up. Returns `None` without the privilege.
    pub fn new() -> Option<Self> {
        let file = in_new_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            Some(File::open("/proc/thread-self/ns/net").expect("this thread's namespace"))
        })?;
        let namespace = Self { file };
        namespace.ip("link set lo up");
        Some(namespace)
    }

    /// Runs `action` in the namespace.
    pub fn enter<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        in_new_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).expect("the namespace");
            action()
        })
    }

    /// Returns a path to the namespace for other programs, valid until it is dropped.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs `ip` with these arguments in the namespace and returns its output.
    pub fn ip_output(&self, arguments: &str) -> String {
        let output = self.enter(|| {
            Command::new("ip")
                .args(arguments.split_whitespace())
                .output()
                .expect("iproute2")
        });
        assert!(output.status.success(), "ip {arguments}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs `ip` with these arguments in the namespace.
    pub fn ip(&self, arguments: &str) {
        let status = self.enter(|| {
            Command::new("ip")
                .args(arguments.split_whitespace())
                .status()
                .expect("iproute2")
        });
        assert!(status.success(), "ip {arguments}");
    }
}

/// Runs `action` in a new thread, because a namespace belongs to a thread.
fn in_new_thread<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(action).join().expect("no panic"))
}
