//! Styles and names of the transports in figures.

use duetime_figures::{Colour, Dash, Look, Marker, Palette};

use crate::bound::NO_TRANSPORT;

/// Returns the styles of the named transports and of the best possible. The style of any other name is derived from the
/// name.
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

/// Returns the usual spelling of a transport's name, such as `D2TCP`. Unknown names are returned unchanged.
pub fn known_as(transport: &str) -> String {
    let mut known = duetime_scenario::SPELLINGS.iter();
    let found = known.find(|(name, _)| *name == transport);
    found.map_or(transport, |(_, spelling)| spelling).to_owned()
}
