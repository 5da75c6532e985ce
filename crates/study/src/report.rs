//! One self-contained HTML page about a study: what it answers in one sentence, how many queries were in time, tables,
//! figures, and how to make it again.

mod curves;
mod draw;
mod page;
mod queries;
mod samples;
mod tables;

use std::path::PathBuf;

use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::gather::{Gathered, gather};
use crate::plan::Plan;

pub use page::capacity::html as capacity_page;

/// The style sheet of the page, for pages like it.
pub const PAGE_STYLE: &str = include_str!("report/page.css");

/// The script of the page, for pages like it: what it does to the figures that stand there.
pub fn page_script() -> String {
    [
        include_str!("report/page/axis.js"),
        include_str!("report/page/drawing.js"),
        include_str!("report/page/values.js"),
        include_str!("report/page/chart.js"),
        include_str!("report/page.js"),
    ]
    .concat()
}

/// Writes `report.html` into the folder; gives what the runs amount to, and the page's path.
pub fn report(plan: &Plan, folder: &RunFolder) -> Result<(Gathered, PathBuf), StudyError> {
    let mut samples = samples::Samples::new(plan);
    let gathered = gather(plan, folder, |job, records| samples.take(job, records))?;
    let html = page::html(plan, &gathered, &samples)?;
    let path = folder.write_file("report.html", html.as_bytes())?;
    Ok((gathered, path))
}
