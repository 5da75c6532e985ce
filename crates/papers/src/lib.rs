//! Reproduction of the D3 and D2TCP papers: runs the experiments under `papers/` and compares them with the published
//! results.
//!
//! ```text
//! papers/PAPER/NAME/ ──read──> Experiment ──expand──> Point × seeds ──run──> Sums in OUT/points ──> Results
//!     Results ──> rows (table, JSON lines) · drawings (SVG, PNG) · one page (HTML) · docs/papers.md
//! ```
//!
//! An experiment is data: a scenario, a varied setting, published values and checks. Runs are many and short, so only
//! [`Sums`] of each are stored. The output of a campaign depends only on its files and its number of repetitions, not
//! on the number of jobs or on interruptions.

#![forbid(unsafe_code)]

mod campaign;
mod docs;
mod drawings;
mod expand;
mod experiment;
mod file;
mod ideal;
mod line;
mod metric;
mod origin;
mod outputs;
mod page;
mod raster;
mod read;
mod results;
mod rows;
mod section;
mod spread;
mod sums;
mod verdict;

pub use campaign::{Campaign, Extent, run_campaign};
pub use docs::papers_md;
pub use drawings::{Drawn, drawings};
pub use experiment::{Experiment, Method};
pub use line::Line;
pub use outputs::keep;
pub use page::campaign_page;
pub use read::{built_in_library, choose, library};
pub use results::Results;
pub use rows::{Bound, Bounded, Counts, Row as PaperRow, Share, rows};
pub use section::{Section, Sections, sections, store_sections};
pub use sums::Sums;
pub use verdict::{Kind, Verdict};
