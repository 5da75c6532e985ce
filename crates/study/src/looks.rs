//! How the transports look in every figure.

use duetime_figures::Palette;

/// The looks of the transports that a scenario names. Those of other names follow from the name alone.
pub fn palette() -> Palette {
    Palette::of_transports()
}

/// A transport as a reader knows it; other names are their own.
pub fn known_as(transport: &str) -> String {
    let known = [
        ("tcp", "TCP"),
        ("dctcp", "DCTCP"),
        ("d2tcp", "D2TCP"),
        ("d3", "D3"),
        ("rcpdc", "RCPdc"),
        ("tcp-prio", "TCP with priorities"),
    ];
    let found = known.iter().find(|(name, _)| *name == transport);
    found.map_or(transport, |(_, words)| words).to_owned()
}
