//! Errors of the kernel crate.

use std::io;
use std::path::PathBuf;

/// Error of attaching the congestion controls or of reading their sockets.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither root nor the required capabilities.
    #[error(
        "loading programs into the kernel requires root (or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)"
    )]
    NotPermitted,
    /// Kernel without type information.
    #[error(
        "this kernel has no BTF at {}: it was built without CONFIG_DEBUG_INFO_BTF; stock kernels of Debian 12 or newer have it",
        path.display()
    )]
    NoBtf {
        /// Expected path.
        path: PathBuf,
    },
    /// Kernel that is too old for the programs and refuses them.
    #[error(
        "this kernel is Linux {release}, too old for the programs: they need Linux {oldest} or newer, such as Debian 12's"
    )]
    TooOld {
        /// Release of the running kernel.
        release: String,
        /// Oldest supported kernel.
        oldest: String,
    },
    /// No cgroup v2 file system for the deadline option.
    #[error("no cgroup2 file system is mounted; run mount -t cgroup2 none /sys/fs/cgroup/unified")]
    NoCgroup,
    /// Congestion control that is already registered.
    #[error(
        "{name} is already registered: another process has attached it (duetime kernel detach)"
    )]
    Attached {
        /// Name of the congestion control.
        name: String,
    },
    /// Program or map that the kernel refused.
    #[error("the kernel refused {what}: {reason}")]
    Refused {
        /// Attempted action or rejected object.
        what: String,
        /// Error of the kernel, with the last lines of its log.
        reason: String,
    },
    /// Kernel that refuses the program that lists the sockets, but no other.
    #[error(
        "the kernel permits no tracing programs (lockdown or a security module), so sockets cannot be listed"
    )]
    NoList,
    /// User of a policy's rule that does not exist.
    #[error("the policy names the user `{name}`, whom this host does not have")]
    NoUser {
        /// Name of the user.
        name: String,
    },
    /// Unreadable file.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Parameter out of range.
    #[error("{name} is {value}; allowed: {allowed}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Value of the parameter.
        value: String,
        /// Allowed range.
        allowed: &'static str,
    },
}
