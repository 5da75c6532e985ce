//! What the page holds of one experiment. It is kept in the campaign's folder, so that the page has every experiment
//! that was ever made there, whichever the last command asked for.

use std::path::Path;

use duetime_store::{Journal, StoreError};
use serde::{Deserialize, Serialize};

use super::drawings::Drawn;
use super::experiment::Experiment;
use super::results::Results;
use super::rows::Row;
use duetime_study::StudyError;

/// The folder of the sections, within that of the campaign.
const FOLDER: &str = "experiments";

/// One experiment, as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// `d3` or `d2tcp`.
    pub paper: String,
    /// Such as `fig10`.
    pub experiment: String,
    /// What it shows.
    pub title: String,
    /// Where the paper has it.
    pub source: String,
    /// Fewer repetitions and points.
    pub quick: bool,
    /// The version of Duetime that made it.
    pub version: String,
    /// Of the experiment's files.
    checksum: String,
    /// The interpretation notes, `reading.md`.
    pub reading: String,
    /// Its part of the table.
    pub rows: Vec<Row>,
    /// Its figures.
    pub figures: Vec<Drawn>,
}

/// The sections of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    /// In the order of the library.
    pub all: Vec<Section>,
    /// By `PAPER/NAME`, those whose experiment is no longer what it was when they were made.
    pub outdated: Vec<String>,
    /// Why some are missing.
    pub unreadable: Vec<String>,
}

impl Sections {
    /// All rows of all sections.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.all.iter().flat_map(|section| &section.rows)
    }
}

impl Section {
    /// `d3/fig10`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.paper, self.experiment)
    }

    /// As a reader knows it: `D2TCP, Figure 10`.
    pub fn known_as(&self) -> String {
        format!("{}, {}", paper(&self.paper), of_paper(&self.experiment))
    }
}

fn paper(name: &str) -> String {
    name.to_uppercase()
}

/// `fig06` as `Figure 6`, `table1-per-aggregator` as `Table 1 per aggregator`, others in words.
fn of_paper(name: &str) -> String {
    let (first, rest) = name.split_once('-').unwrap_or((name, ""));
    let numbered = [("fig", "Figure"), ("table", "Table")]
        .iter()
        .find_map(|(short, word)| {
            let number: u32 = first.strip_prefix(short)?.parse().ok()?;
            Some(format!("{word} {number}"))
        });
    let words = format!(
        "{} {}",
        numbered.unwrap_or_else(|| first.to_owned()),
        rest.replace('-', " ")
    );
    words.trim_end().to_owned()
}

/// One section for each experiment that the campaign was asked for.
pub fn sections(results: &Results<'_>, rows: &[Row], drawn: &[Drawn]) -> Vec<Section> {
    let campaign = results.campaign;
    let section = |&index: &usize| {
        let of = results.experiment(index);
        let own = |row: &&Row| row.paper == of.paper && row.experiment == of.name;
        let figures = drawn.iter().filter(|figure| figure.experiment == index);
        Section {
            paper: of.paper.clone(),
            experiment: of.name.clone(),
            title: of.title.clone(),
            source: of.source.clone(),
            quick: campaign.quick,
            version: duetime_store::VERSION.to_owned(),
            checksum: checksum(of),
            reading: of.reading.clone(),
            rows: rows.iter().filter(own).cloned().collect(),
            figures: figures.cloned().collect(),
        }
    };
    campaign.chosen.iter().map(section).collect()
}

/// Keeps `new` sections in the campaign's folder, and gives them with all others that it holds. A full campaign's is
/// replaced by a quick one's too: the page shows what was made last.
pub fn keep_sections(
    out: &Path,
    library: &[Experiment],
    new: &[Section],
) -> Result<Sections, StudyError> {
    let folder = Journal::open(&out.join(FOLDER)).map_err(StoreError::after_results)?;
    let file = |paper: &str, name: &str| format!("{paper}-{name}.json");
    for section in new {
        folder.write(&file(&section.paper, &section.experiment), section)?;
    }
    let mut sections = Sections::default();
    for of in library {
        match folder.read::<Section>(&file(&of.paper, &of.name)) {
            Ok(None) => {}
            Ok(Some(section)) => {
                if section.checksum != checksum(of) || section.version != duetime_store::VERSION {
                    sections.outdated.push(of.id());
                }
                sections.all.push(section);
            }
            Err(error @ StoreError::Damaged { .. }) => {
                sections.unreadable.push(format!("{}: {error}", of.id()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sections)
}

/// Of what an experiment's files say, but for its interpretation notes, which decide nothing.
fn checksum(of: &Experiment) -> String {
    let bytes = [of.text.as_str(), &of.scenario].concat();
    duetime_store::checksum(bytes.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_called_what_their_paper_calls_them() {
        assert_eq!(of_paper("fig06"), "Figure 6");
        assert_eq!(of_paper("table1-per-aggregator"), "Table 1 per aggregator");
        assert_eq!(of_paper("worst-case"), "worst case");
        assert_eq!(of_paper("figures"), "figures");
        assert_eq!(paper("d2tcp"), "D2TCP");
    }
}
