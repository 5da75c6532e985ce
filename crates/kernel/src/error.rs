//! What can go wrong.

use std::io;
use std::path::PathBuf;

/// Why the congestion controls were not attached, or their sockets not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not root, and without the capabilities that would do.
    #[error(
        "loading programs into the kernel needs root (or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)"
    )]
    NotPermitted,
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no BTF at {}: it was built without CONFIG_DEBUG_INFO_BTF, and a stock kernel of Debian 12 or newer has it",
        path.display()
    )]
    NoBtf {
        /// Where it would be.
        path: PathBuf,
    },
    /// The kernel is older than the oldest that has what the programs need, and refuses them.
    #[error(
        "this kernel is Linux {release}, too old for the programs: they need Linux {oldest} or newer, such as Debian 12's"
    )]
    TooOld {
        /// The running kernel's release.
        release: String,
        /// The oldest kernel that will do.
        oldest: String,
    },
    /// No cgroup of version 2 to attach the deadline option to.
    #[error("no cgroup2 file system is mounted: mount -t cgroup2 none /sys/fs/cgroup/unified")]
    NoCgroup,
    /// A name of a congestion control is taken.
    #[error(
        "this kernel has {name} already: another process has attached it (duetime kernel detach)"
    )]
    Attached {
        /// The name.
        name: String,
    },
    /// The kernel refused a program or a map.
    #[error("the kernel refused {what}: {reason}")]
    Refused {
        /// What was loaded or attached.
        what: String,
        /// The kernel's error, with the last lines of its log.
        reason: String,
    },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}; allowed: {allowed}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
}
