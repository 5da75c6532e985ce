//! Exclusive access to the machine, and its requirements.

use duetime_kernel::{Attachment, in_kernel};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Exclusive access for one test, because congestion control names are unique in a kernel.
pub struct Machine(#[expect(dead_code, reason = "held until the test ends")] File);

impl Machine {
    /// Waits for exclusive access. Where the test cannot run, prints the reason and returns `None`.
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
        say_skipped(test, lacking);
        None
    }
}

/// Reason to skip checks that list sockets or their storage.
pub const NO_TRACING: &str = "this kernel permits no tracing programs";

/// Prints what was skipped and why.
pub fn say_skipped(skipped: &str, reason: &str) {
    writeln!(std::io::stderr(), "skipped {skipped}: {reason}").expect("a terminal or a file");
}

/// Returns true if the sockets can be listed. Otherwise prints that the test is skipped.
pub fn lists_sockets(attachment: &Attachment, test: &str) -> bool {
    let lists = attachment.lists_sockets();
    if !lists {
        say_skipped(test, NO_TRACING);
    }
    lists
}

/// Waits for other users of the controllers, such as a testbed, for at most two minutes.
fn wait_for_others() {
    let began = Instant::now();
    while !in_kernel().is_empty() && began.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the registered congestion controls.
pub fn controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .expect("a list of congestion controls")
}
