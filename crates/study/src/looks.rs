//! How the transports look in every figure.

use duetime_figures::Palette;

/// The looks of the transports that a scenario names. Those of other names follow from the name alone.
pub fn palette() -> Palette {
    Palette::of_transports()
}
