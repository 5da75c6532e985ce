//! Anonymous network namespaces: they vanish with the last thread or descriptor that holds them.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::process::Command;
use std::thread;

/// A network namespace, kept by a descriptor.
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one with its loopback device up; `None` without the privilege.
    pub fn new() -> Option<Self> {
        let file = in_new_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            Some(File::open("/proc/thread-self/ns/net").expect("this thread's namespace"))
        })?;
        let namespace = Self { file };
        namespace.ip("link set lo up");
        Some(namespace)
    }

    /// Runs `what` in it.
    pub fn enter<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        in_new_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).expect("it was made for this");
            what()
        })
    }

    /// Where other programs find it as long as it is here.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// What `ip` with these arguments says in it.
    pub fn ask_ip(&self, arguments: &str) -> String {
        let output = self.enter(|| {
            Command::new("ip")
                .args(arguments.split_whitespace())
                .output()
                .expect("iproute2 is here")
        });
        assert!(output.status.success(), "ip {arguments}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs `ip` with these arguments in it.
    pub fn ip(&self, arguments: &str) {
        let status = self.enter(|| {
            Command::new("ip")
                .args(arguments.split_whitespace())
                .status()
                .expect("iproute2 is here")
        });
        assert!(status.success(), "ip {arguments}");
    }
}

/// The namespace of a thread is its own.
fn in_new_thread<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(what).join().expect("no panic"))
}
