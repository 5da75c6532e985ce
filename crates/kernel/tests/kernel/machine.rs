//! The machine that the tests run on: whether it can, and one test at a time.

use duetime_kernel::in_kernel;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The machine, for one test alone: a congestion control has its name once in a kernel.
pub struct Machine(#[expect(dead_code, reason = "held until the test ends")] File);

impl Machine {
    /// Waits for the machine; `None`, and a line that says why, where the test cannot run.
    pub fn take(test: &str) -> Option<Self> {
        let lacking = if !rustix::process::geteuid().is_root() {
            "not root"
        } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            "this kernel has no BTF"
        } else {
            let path = std::env::temp_dir().join("duetime-kernel.lock");
            let file = File::create(path).expect("a lock file");
            flock(&file, FlockOperation::LockExclusive).expect("the lock");
            wait_for_others();
            return Some(Self(file));
        };
        writeln!(std::io::stderr(), "skipped {test}: {lacking}").expect("a terminal or a file");
        None
    }
}

/// A testbed or a daemon that has the controllers attached may end soon; the test tells what it finds if not.
fn wait_for_others() {
    let began = Instant::now();
    while !in_kernel().is_empty() && began.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The congestion controls that the kernel offers.
pub fn controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .expect("the kernel has TCP")
}
