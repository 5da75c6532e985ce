//! Names of the built-in transports, and the keys with which a file names a variant of one.

use crate::keys::{Key, Kind, declare};

/// Names of the built-in transports.
// Not computed from `BUILT_IN`, because its tables contain them.
pub const TRANSPORTS: &[&str] = &[
    "tcp",
    "dctcp",
    "d2tcp",
    "cubic",
    "rcpdc",
    "d3",
    "due",
    "pfabric",
    "homa",
    "pdq",
    "sird",
    "tcp-prio",
    "rcpdc-prio",
];

/// Usual spellings of names in texts and figures, where they differ.
pub const SPELLINGS: &[(&str, &str)] = &[
    ("tcp", "TCP"),
    ("cubic", "CUBIC"),
    ("dctcp", "DCTCP"),
    ("d2tcp", "D2TCP"),
    ("d3", "D3"),
    ("rcpdc", "RCPdc"),
    ("pfabric", "pFabric"),
    ("homa", "Homa"),
    ("pdq", "PDQ"),
    ("sird", "SIRD"),
    ("tcp-prio", "TCP with priorities"),
];

/// Documentation of `transport`, with all names.
pub(crate) const NAMED: &str = "Transports to compare: `tcp`, `dctcp`, `d2tcp`, `cubic`, `d3`, `rcpdc`, `due`, `pfabric`, `homa`, `pdq`, `sird`, `tcp-prio`, `rcpdc-prio`, or the name of a `[[variant]]`.";

/// Keys of a variant in addition to the options of its base.
pub(super) const VARIANT_KEYS: &[Key] = declare! {
    /// Name in `transport`, tables and folders.
    name: Kind::Text;
    /// Transport that the variant changes.
    base: Kind::Choice(TRANSPORTS);
    /// Strict-priority classes at every port.
    classes: Kind::Integer(1, 8), otherwise "those of its base";
};
