//! The papers' campaign: every experiment under `papers/`, run, measured and judged against what its paper says.
//!
//! ```text
//! papers/PAPER/NAME/ ──read──> Experiment ──expand──> Point × seeds ──run──> Sums in OUT/points ──> Results
//!     Results ──> rows (table, JSON lines) · drawings (SVG, PNG) · one page (HTML) · docs/papers.md
//! ```
//!
//! An experiment is data: a scenario, what is varied, what the paper published, what must hold. Runs are many and short,
//! so that of each only [`Sums`] are kept. What a campaign leaves is decided by its files and by the number of
//! repetitions: not by the number of jobs, nor by how often it was stopped.

#![forbid(unsafe_code)]

mod campaign;
mod docs;
mod drawings;
mod expand;
mod experiment;
mod file;
mod ideal;
mod keep;
mod line;
mod metric;
mod origin;
mod page;
mod raster;
mod read;
mod results;
mod rows;
mod section;
mod spread;
mod sums;
mod verdict;

pub use campaign::{Campaign, run_campaign};
pub use docs::papers_md;
pub use drawings::{Drawn, drawings};
pub use experiment::{Experiment, Method};
pub use keep::keep;
pub use line::Line;
pub use page::campaign_page;
pub use read::{built_in_library, choose, library};
pub use results::Results;
pub use rows::{Bound, Bounded, Counts, Row as PaperRow, Share, rows};
pub use section::{Section, Sections, keep_sections, sections};
pub use sums::Sums;
pub use verdict::{Kind, Verdict};
