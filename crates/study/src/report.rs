//! HTML report of a study in a self-contained page: the main result in one sentence, queries in time, tables, figures,
//! and the command that reproduces it.

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

/// Style sheet of the report, shared with similar pages.
pub const PAGE_STYLE: &str = include_str!("report/page.css");

/// Returns the script of the report, shared with similar pages. It makes the page's figures and tables interactive.
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

/// Writes `report.html` into the folder. Returns the gathered results and the path of the page.
pub fn report(plan: &Plan, folder: &RunFolder) -> Result<(Gathered, PathBuf), StudyError> {
    let mut samples = samples::Samples::new(plan);
    let gathered = gather(plan, folder, |job, records| samples.take(job, records))?;
    let html = page::html(plan, &gathered, &samples)?;
    let path = folder.write_file("report.html", html.as_bytes())?;
    Ok((gathered, path))
}
