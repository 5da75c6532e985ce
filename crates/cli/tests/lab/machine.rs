//! Exclusive access to the machine for tests of the testbed, and checks for leftovers.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Exclusive access to the machine, since a kernel can register a congestion controller only once.
pub struct Machine {
    _lock: fs::File,
    folder: PathBuf,
}

impl Machine {
    /// Waits for exclusive access, or prints the reason and returns `None` if the test cannot run.
    pub fn take(test: &str) -> Option<Self> {
        let user = Command::new("id").arg("-u").output().expect("id");
        let lacking = if user.stdout != b"0\n" {
            "not root"
        } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            "this kernel has no BTF"
        } else {
            // The tests of `kernel` use the same lock.
            let path = std::env::temp_dir().join("duetime-kernel.lock");
            let lock = fs::File::create(path).expect("a lock file");
            lock.lock().expect("the lock");
            // The next testbed removes files of a killed one, which would then be missing from its traces.
            let clean = super::output_of(&["lab", "clean"]);
            assert_eq!(clean.code, Some(0), "{}", clean.err);
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder");
            return Some(Self {
                _lock: lock,
                folder,
            });
        };
        say_skipped(test, lacking);
        None
    }

    /// Returns a path in the test's folder.
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Writes a file in the test's folder and returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the file can be written");
        path
    }
}

/// Prints what was skipped and why.
pub fn say_skipped(skipped: &str, reason: &str) {
    writeln!(std::io::stderr(), "skipped {skipped}: {reason}").expect("a terminal or a file");
}

/// Traces that a testbed can leave on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Files under `/run/duetime`.
    files: BTreeSet<String>,
    /// Network interfaces of this namespace.
    interfaces: BTreeSet<String>,
    /// Number of network namespaces that a process holds open or that have a name.
    namespaces: usize,
    /// Congestion controllers that the kernel offers.
    controllers: String,
}

impl Traces {
    /// Returns the current traces.
    pub fn now() -> Self {
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries
                .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
                .collect()
        };
        let named = names("/run/netns").len();
        let controllers = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        Self {
            files: names("/run/duetime"),
            interfaces: names("/sys/class/net"),
            namespaces: open_namespaces() + named,
            controllers: fs::read_to_string(controllers).expect("the kernel has TCP"),
        }
    }
}

impl Traces {
    /// Returns these traces with the files of `other`.
    pub fn with_files_of(self, other: &Self) -> Self {
        Self {
            files: other.files.clone(),
            ..self
        }
    }
}

/// Counts the network namespaces that processes of the testbed hold open.
fn open_namespaces() -> usize {
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc").expect("proc").filter_map(Result::ok) {
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        if name.trim() != "duetime" {
            continue;
        }
        let open = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten();
        for descriptor in open.filter_map(Result::ok) {
            let target = fs::read_link(descriptor.path()).unwrap_or_default();
            if target.to_string_lossy().starts_with("net:") {
                found.insert(target);
            }
        }
    }
    found.len()
}

/// Waits until the traces that `now` returns equal `before`, for at most 2 minutes: the kernel removes namespaces and
/// programs in the background.
pub fn wait_for(before: &Traces, now: impl Fn() -> Traces) {
    let start = Instant::now();
    while now() != *before {
        assert!(
            start.elapsed() < Duration::from_mins(2),
            "before: {before:?}, now: {:?}",
            now()
        );
        sleep(Duration::from_millis(50));
    }
}
