//! Why a switch cannot be opened or go on.

use crate::config::ConfigError;
use std::io;

/// Why a switch cannot be opened or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The network makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Packet sockets need a privilege.
    #[error("no permission for packet sockets: run as root or with CAP_NET_RAW and CAP_NET_ADMIN")]
    Permission,
    /// There is no such device in this network namespace.
    #[error("interface `{name}`: there is no such device in this network namespace (ip link)")]
    NoInterface {
        /// Its name.
        name: String,
    },
    /// The device is not set up.
    #[error("interface `{name}` is down: ip link set {name} up")]
    Down {
        /// Its name.
        name: String,
    },
    /// The device carries no Ethernet frames.
    #[error("interface `{name}` is no Ethernet device")]
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// The device's MTU is too large for the switch.
    #[error("interface `{name}` has an MTU of {mtu}; at most {allowed} is possible")]
    Mtu {
        /// Its name.
        name: String,
        /// Its MTU in bytes.
        mtu: usize,
        /// The largest possible.
        allowed: usize,
    },
    /// The device went away while the switch ran.
    #[error("interface `{name}` went away")]
    Gone {
        /// Its name.
        name: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// A failed system call. A missing privilege is said in words.
    pub(crate) fn of(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.kind() == io::ErrorKind::PermissionDenied {
            return Self::Permission;
        }
        Self::System {
            what: what.into(),
            source,
        }
    }
}
