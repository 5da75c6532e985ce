//! Keys of earlier versions, which are refused with advice.

use crate::keys::Table;

/// Key that was removed.
struct Removed {
    key: &'static str,
    /// Transports whose tables and variants had the key.
    tables: &'static [&'static str],
    advice: &'static str,
}

const REMOVED: &[Removed] = &[
    Removed {
        key: "initial_ssthresh",
        tables: &["tcp", "dctcp", "d2tcp", "cubic"],
        advice: "delete it: slow start begins without a threshold",
    },
    Removed {
        key: "c",
        tables: &["cubic"],
        advice: "delete it: C is 0.4 (RFC 9438 §5)",
    },
    Removed {
        key: "beta",
        tables: &["cubic"],
        advice: "delete it: β is 0.7 (RFC 9438 §4.6)",
    },
    Removed {
        key: "fast_convergence",
        tables: &["cubic"],
        advice: "delete it: fast convergence is always on (RFC 9438 §4.7)",
    },
];

/// Message about a removed key.
pub(crate) const MESSAGE: &str = "this key was removed";

/// Returns advice if `key` was once a key of `table`.
pub(crate) fn advice(key: &str, table: &Table) -> Option<&'static str> {
    let name = table.name;
    let name = name.strip_prefix("variant of ").unwrap_or(name);
    let found = REMOVED
        .iter()
        .find(|removed| removed.key == key && removed.tables.contains(&name));
    found.map(|removed| removed.advice)
}
