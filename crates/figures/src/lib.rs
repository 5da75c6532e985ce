//! Figures as SVG text: lines with interval bands, bars with error bars, CDFs and time series.
//!
//! A figure is a title and a vertical sequence of panels, readable on a phone. Text and axes use the page's colour
//! (`currentColor`). Series have colours that stand out on light and dark pages and that colour-blind readers can
//! distinguish; a [`Palette`] assigns them. This crate reads no files, clocks or fonts: equal figures give equal bytes
//! on every machine.

#![forbid(unsafe_code)]

mod axis;
mod data;
mod figure;
mod format;
mod frame;
mod layout;
mod legend;
mod marks;
mod overlap;
mod palette;
mod panel;
mod reach;
mod series;
mod shapes;
mod strip;
mod svg;

pub use figure::Figure;
pub use palette::{Colour, Dash, Look, Marker, Palette};
pub use panel::{Axis, Guide, Panel, Scale};
pub use reach::share_axes;
pub use series::{Point, Series, Style};
pub use strip::Strip;

#[cfg(test)]
mod tests;
