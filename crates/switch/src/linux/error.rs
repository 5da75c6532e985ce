//! Errors of the switch.

use crate::config::ConfigError;
use std::io;

/// Error of a switch on real interfaces.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Missing privilege for packet sockets.
    #[error("no permission for packet sockets: run as root or with CAP_NET_RAW and CAP_NET_ADMIN")]
    Permission,
    /// Device not found in this network namespace.
    #[error("interface `{name}`: no such device in this network namespace (ip link)")]
    NoInterface {
        /// Device name.
        name: String,
    },
    /// Device not set up.
    #[error("interface `{name}` is down: ip link set {name} up")]
    Down {
        /// Device name.
        name: String,
    },
    /// Not an Ethernet device.
    #[error("interface `{name}` is not an Ethernet device")]
    NotEthernet {
        /// Device name.
        name: String,
    },
    /// MTU too large for the switch.
    #[error("interface `{name}` has an MTU of {mtu}; at most {allowed} is supported")]
    Mtu {
        /// Device name.
        name: String,
        /// MTU in bytes.
        mtu: usize,
        /// Maximum MTU in bytes.
        allowed: usize,
    },
    /// Device removed while the switch was running.
    #[error("interface `{name}` was removed")]
    Gone {
        /// Device name.
        name: String,
    },
    /// System call failed.
    #[error("{what}: {source}")]
    System {
        /// Attempted action.
        what: String,
        /// Error of the system call.
        source: io::Error,
    },
}

impl Error {
    /// Creates the error of a failed system call. A missing privilege becomes [`Self::Permission`].
    pub(crate) fn of(action: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.kind() == io::ErrorKind::PermissionDenied {
            return Self::Permission;
        }
        Self::System {
            what: action.into(),
            source,
        }
    }
}
