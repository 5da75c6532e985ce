//! How the transports look in every figure.

use duetime_figures::{Colour, Dash, Look, Marker, Palette};

use crate::bound::NO_TRANSPORT;

/// The looks of the transports that a scenario names, and of the best possible. Those of other names follow from the name
/// alone.
pub fn palette() -> Palette {
    let mut palette = Palette::of_transports();
    let best = Look {
        colour: Colour::Page,
        marker: Marker::Square,
        dash: Dash::Short,
    };
    palette
        .add(NO_TRANSPORT, best)
        .expect("no transport has its look");
    palette
}

/// A transport as a reader knows it; other names are their own.
pub fn known_as(transport: &str) -> String {
    let known = [
        ("tcp", "TCP"),
        ("cubic", "CUBIC"),
        ("dctcp", "DCTCP"),
        ("d2tcp", "D2TCP"),
        ("d3", "D3"),
        ("rcpdc", "RCPdc"),
        ("tcp-prio", "TCP with priorities"),
    ];
    let found = known.iter().find(|(name, _)| *name == transport);
    found.map_or(transport, |(_, words)| words).to_owned()
}
