//! One file per family of subcommands.

pub mod bound;
pub mod capacity;
pub mod check;
pub mod explain;
pub mod export;
pub mod paper;
pub mod report;
pub mod run;
pub mod show;

use std::path::Path;

use duetime_study::Request;

use crate::args::Choice;
use crate::failure::Failure;

/// What was asked about the scenario file at `path`.
fn request(
    path: &Path,
    choice: &Choice,
    points: Vec<Vec<(String, String)>>,
) -> Result<Request, Failure> {
    let text = std::fs::read_to_string(path).map_err(|why| {
        Failure::Input(format!(
            "{}: cannot read the scenario: {why}",
            path.display()
        ))
    })?;
    let mut settings = choice.settings.clone();
    settings.extend(
        choice
            .seeds
            .map(|seeds| ("seeds".to_owned(), seeds.to_string())),
    );
    settings.extend(
        choice
            .seed
            .map(|seed| ("seed".to_owned(), seed.to_string())),
    );
    Ok(Request {
        text,
        file: path.to_path_buf(),
        settings,
        transports: choice.transport.clone(),
        points,
    })
}
