//! Output files of a campaign other than its runs: rows, figures and the page of all experiments in the folder.

use std::path::{Path, PathBuf};

use duetime_store::replace_file;
use duetime_study::StudyError;

use crate::{PaperRow, Results, campaign_page, drawings, sections, store_sections};

/// Writes the figures of this campaign, and the rows and the page of all experiments in the folder `out`. Returns the
/// kind and path of each output.
pub fn keep(
    results: &Results<'_>,
    rows: &[PaperRow],
    out: &Path,
) -> Result<Vec<(&'static str, PathBuf)>, StudyError> {
    let drawn = drawings(results);
    let new = sections(results, rows, &drawn);
    let sections = store_sections(out, &results.campaign.experiments, &new)?;
    let mut lines = Vec::new();
    for row in sections.rows() {
        lines.extend(serde_json::to_vec(row).expect("plain data"));
        lines.push(b'\n');
    }
    let (verdicts, page) = (out.join("verdicts.jsonl"), out.join("papers.html"));
    replace_file(&verdicts, &lines)?;
    let figures = out.join("figures");
    for figure in &drawn {
        let place = |ending: &str| figures.join(format!("{}.{ending}", figure.file));
        replace_file(&place("svg"), figure.svg.as_bytes())?;
        replace_file(&place("png"), &figure.png())?;
    }
    let of_papers = results
        .campaign
        .experiments
        .iter()
        .filter(|experiment| !experiment.is_beyond());
    let html = campaign_page(&sections, of_papers.count())?;
    replace_file(&page, html.as_bytes())?;
    Ok(vec![
        ("page", page),
        ("figures", figures),
        ("rows", verdicts),
    ])
}
